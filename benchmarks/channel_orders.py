"""Count the components of a recording that do not depend on the order of its channels.

    python benchmarks/channel_orders.py recording_raw.fif

For each channel type and several numbers of components, the sources for four random orders of the
channels are correlated with those for the original order; |r| > 0.999 counts as reproduced.
"""

import sys

import mne
import numpy as np

import codiag


def sources(X, n_components):
    model = codiag.SourceSeparation(n_components, n_segments=100, on_failure="ignore")
    return model.fit(X).transform(X)


def main():
    raw = mne.io.read_raw_fif(sys.argv[1], preload=True, verbose=False)
    raw.info["bads"] = sorted({*raw.info["bads"], "MEG 2443"} & set(raw.ch_names))
    for kind in ("mag", "grad", "eeg"):
        if kind not in raw:
            continue
        data = raw.copy().pick(kind, exclude="bads").filter(1, None, verbose=False).get_data()
        for r in (20, 30, 40, 50):
            expected = sources(data, r)
            found = []
            for seed in range(4):
                order = np.random.default_rng(seed).permutation(len(data))
                correlations = np.corrcoef(expected, sources(data[order], r))[:r, r:]
                found.append(int((abs(correlations).max(axis=1) > 0.999).sum()))
            print(f"{kind}, {r} components: {', '.join(map(str, found))} reproduced", flush=True)


if __name__ == "__main__":
    main()
