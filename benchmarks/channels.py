"""Time solves of few large matrices: benchmarks/run channels [RECORDING] [--orders 7].

The matrices are covariances of a few segments of all channels of a recording that MNE reads: fewer
matrices than dimensions, with hardly identifiable components. Such solves take many iterations, and
their number depends on the order of the channels. Each line therefore summarizes several orders:
median and range of data passes and of seconds, and the mean loss.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np

import codiag

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
DEFAULT_RECORDING = SHARED / "meg_sample_24s_raw.fif"
# Channel type, largest number of channels, number of segments.
SETS = [("grad", 100, 40), ("grad", 200, 40), ("meg", 306, 25)]


def covariances(raw, kind, channels, segments, seed=0):
    """Return the covariances of segments of randomly chosen channels, each of unit variance."""
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
    parser.add_argument("recording", nargs="?", type=Path, default=DEFAULT_RECORDING)
    parser.add_argument("--orders", type=int, default=7)
    parser.add_argument("--n-jobs", type=int)
    options = parser.parse_args()
    if not options.recording.exists():
        parser.error(f"{options.recording} does not exist; pass the path of a recording")

    import mne

    warnings.filterwarnings("ignore", category=RuntimeWarning, module="mne")
    raw = mne.io.read_raw(options.recording, preload=True, verbose="error")
    if options.recording == DEFAULT_RECORDING:
        raw.info["bads"] = ["MEG 2443"]
    raw.filter(1, None, picks="meg", verbose="error")
    for kind, channels, segments in SETS:
        matrices = covariances(raw, kind, channels, segments)
        n, p, _ = matrices.shape
        runs = []
        for seed in range(options.orders):
            order = np.random.default_rng(seed).permutation(p) if seed else np.arange(p)
            permuted = np.ascontiguousarray(matrices[:, order][:, :, order])
            begin = time.perf_counter()
            found = codiag.diagonalize(permuted, tol=1e-6, n_jobs=options.n_jobs)
            seconds = time.perf_counter() - begin
            runs.append((found.history["passes"][-1], seconds, found.loss))
        passes, seconds, losses = zip(*runs, strict=True)
        print(
            f"n = {n}, p = {p}, {options.orders} orders: data passes {spread(passes)},"
            f" seconds {spread(seconds)}, loss {np.mean(losses):.4f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
