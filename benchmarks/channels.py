"""Few large matrices: benchmarks/run channels [RECORDING] [--orders 7].

Covariances of a few segments of all channels of a recording that MNE reads, by default the carried
one if it is there: fewer matrices than dimensions, and components that can hardly be told apart.
The way to a minimum is long there, and depends on the order of the channels, so each line is of
several orders: medians and ranges of passes over the set and of seconds, and the mean loss.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np

import codiag

CARRIED = Path(__file__).resolve().parents[2] / "shared" / "data" / "meg_sample_24s_raw.fif"
# Which channels, how many of them at most, and how many segments.
SETS = [("grad", 100, 40), ("grad", 200, 40), ("meg", 306, 25)]


def covariances(raw, kind, channels, segments, seed=0):
    """Of so many channels, chosen at random, each of unit variance."""
    x = raw.copy().pick(kind, exclude="bads").get_data()
    chosen = np.random.default_rng(seed).permutation(len(x))[:channels]
    x = x[np.sort(chosen)]
    x = x - x.mean(axis=1, keepdims=True)
    x /= x.std(axis=1, keepdims=True)
    pieces = np.array_split(x, segments, axis=1)
    return np.array([piece @ piece.T / piece.shape[1] for piece in pieces])


def spread(numbers):
    return f"{np.median(numbers):.3g} ({min(numbers):.3g} to {max(numbers):.3g})"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("recording", nargs="?", type=Path, default=CARRIED)
    parser.add_argument("--orders", type=int, default=7)
    parser.add_argument("--threads", type=int)
    options = parser.parse_args()
    if not options.recording.exists():
        parser.error(f"{options.recording} is not there: name a recording that MNE reads")

    import mne

    warnings.filterwarnings("ignore", category=RuntimeWarning, module="mne")
    raw = mne.io.read_raw(options.recording, preload=True, verbose="error")
    if options.recording == CARRIED:
        raw.info["bads"] = ["MEG 2443"]
    raw.filter(1, None, picks="meg", verbose="error")
    for kind, channels, segments in SETS:
        matrices = covariances(raw, kind, channels, segments)
        n, p, _ = matrices.shape
        runs = []
        for seed in range(options.orders):
            order = np.random.default_rng(seed).permutation(p) if seed else np.arange(p)
            turned = np.ascontiguousarray(matrices[:, order][:, :, order])
            begin = time.perf_counter()
            found = codiag.diagonalize(turned, tol=1e-6, n_jobs=options.threads)
            seconds = time.perf_counter() - begin
            runs.append((found.history["passes"][-1], seconds, found.loss))
        passes, seconds, losses = zip(*runs, strict=True)
        print(
            f"n = {n}, p = {p}, {options.orders} orders: passes {spread(passes)},"
            f" seconds {spread(seconds)}, loss {np.mean(losses):.4f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
