"""How many components of a recording are found again when its channels come in another order.

    python benchmarks/orders.py recording_raw.fif

For each type of channel and several numbers of components, the sources of the recording in four
random orders of its channels are correlated with those of the recording as it is; |r| > 0.999
counts as found again.
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
            print(f"{kind}, {r} components: {', '.join(map(str, found))} found again", flush=True)


if __name__ == "__main__":
    main()
