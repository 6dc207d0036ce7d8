"""Compare the separation of recordings with FastICA and Picard: `benchmarks/run separation`.

One thread. The first table shows accuracy and time of all methods for six kinds of sources, also
where the model of a method does not hold. The second shows the time of a separation compared with
the singular value decomposition of the recording, and JADE compared with plain NumPy.
"""

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[name] = "1"

import argparse  # noqa: E402
import time  # noqa: E402
import warnings  # noqa: E402

import numpy as np  # noqa: E402
from numpy_jade import jade  # noqa: E402
from picard import picard  # noqa: E402
from sklearn.decomposition import FastICA  # noqa: E402

import codiag  # noqa: E402

P, SEGMENTS, LENGTH, RATE = 10, 100, 500, 500.0
SAMPLES = SEGMENTS * LENGTH
BANDS = [(low, low + 10) for low in range(0, 250, 10)]


def powers(rng):
    """Return piecewise constant amplitudes, independent for each source."""
    return np.repeat(np.exp(0.5 * rng.standard_normal((P, SEGMENTS))), LENGTH, axis=1)


def shape_spectra(sources):
    """Give each source a broad spectral peak at its own frequency."""
    frequencies = np.fft.rfftfreq(SAMPLES, 1 / RATE)
    peaks = np.linspace(15, 230, P)[:, None]
    shapes = 0.1 + 1 / (1 + ((frequencies - peaks) / 15) ** 2)
    return np.fft.irfft(shapes * np.fft.rfft(sources), n=SAMPLES)


def gaussian(rng):
    return rng.standard_normal((P, SAMPLES))


def heavy_tails(rng):
    return rng.laplace(size=(P, SAMPLES))


def of_each_kind(rng):
    """Mix changing powers, colored spectra and heavy tails; one source is white and Gaussian."""
    sources = gaussian(rng)
    changing, colored = powers(rng) * sources, shape_spectra(sources)
    changing, colored = (x / x.std(axis=1, keepdims=True) for x in (changing, colored))
    return np.vstack([changing[:3], colored[3:6], heavy_tails(rng)[6:9] / 2**0.5, sources[9:]])


KINDS = {
    "powers change": lambda rng: powers(rng) * gaussian(rng),
    "spectra differ": lambda rng: shape_spectra(gaussian(rng)),
    "heavy tails": heavy_tails,
    "powers change, spectra differ": lambda rng: powers(rng) * shape_spectra(gaussian(rng)),
    "powers change, heavy tails": lambda rng: powers(rng) * heavy_tails(rng),
    "some of each kind": of_each_kind,
}


def by_both(X):
    """Jointly diagonalize covariances of segments and cospectra."""
    segments = codiag.segment_covariances(X, n_segments=SEGMENTS, n_jobs=1)
    bands = codiag.cospectra(X, BANDS, RATE, n_jobs=1)
    # Each band has only a fraction of the power.
    return codiag.diagonalize(np.concatenate([segments, len(bands) * bands]), n_jobs=1).B


METHODS = {
    "segments": lambda X: codiag.SourceSeparation(n_segments=SEGMENTS, n_jobs=1).fit(X).filters_,
    "bands": lambda X: codiag.SourceSeparation(bands=BANDS, sfreq=RATE, n_jobs=1).fit(X).filters_,
    "both": by_both,
    "SOBI": lambda X: codiag.SOBI(n_jobs=1).fit(X).filters_,
    "JADE": lambda X: codiag.JADE(n_jobs=1).fit(X).filters_,
    "FastICA": lambda X: FastICA(whiten="unit-variance", random_state=0).fit(X.T).components_,
    "Picard": lambda X: np.matmul(*picard(X, random_state=0)[1::-1]),
    "PCA": lambda X: np.linalg.eigh(X @ X.T)[1].T,
}


def best_of(runs, work):
    """Return the shortest time of several runs, and the last result."""
    shortest = np.inf
    for _ in range(runs):
        clock = time.perf_counter()
        result = work()
        shortest = min(shortest, time.perf_counter() - clock)
    return shortest, result


def accuracy(seeds):
    """Print the table of docs/which-method.md."""
    print(f"{P} sources, {P} channels, {SAMPLES:,} samples, one thread. Median Amari distance")
    print(f"over {seeds} mixings (range in brackets), and median time.\n")
    print("| sources | " + " | ".join(METHODS) + " |")
    print("|---" * (len(METHODS) + 1) + "|")
    times = {name: [] for name in METHODS}
    for kind, make in KINDS.items():
        distances = {name: [] for name in METHODS}
        for seed in range(seeds):
            rng = np.random.default_rng(seed)
            mixing = rng.standard_normal((P, P))
            X = mixing @ make(rng)
            for name, method in METHODS.items():
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # some may not converge
                    seconds, B = best_of(1, lambda X=X, method=method: method(X))
                distances[name].append(codiag.amari_distance(B, mixing))
                times[name].append(seconds)
        cells = [f"{np.median(d):.3f} ({min(d):.3f}–{max(d):.3f})" for d in distances.values()]
        print(f"| {kind} | " + " | ".join(cells) + " |", flush=True)
    cells = [f"{1e3 * np.median(t):.0f} ms" for t in times.values()]
    print("| time | " + " | ".join(cells) + " |")


def recording(channels=306, samples=14_400, sources=60):
    """Simulate a recording of the size of 24 s of MEG: sources of changing power, and noise."""
    rng = np.random.default_rng(0)
    amplitudes = np.repeat(
        np.exp(0.5 * rng.standard_normal((sources, 100))), samples // 100, axis=1
    )
    X = rng.standard_normal((channels, sources)) @ (
        amplitudes * rng.standard_normal(amplitudes.shape)
    )
    X += 0.5 * rng.standard_normal(X.shape)
    return X


def memory(kind):
    """Return a memory statistic of this process in bytes (Linux only)."""
    with open("/proc/self/status", encoding="ascii") as status:
        line = next(line for line in status if line.startswith(kind))
    return 1024 * int(line.split()[1])


def cost(runs):
    X = recording()
    print(f"\n{X.shape[0]} channels x {X.shape[1]:,} samples, one thread, median of {runs} runs")

    def separate():
        return codiag.SourceSeparation(40, n_segments=100, n_jobs=1).fit(X).transform(X)

    def sobi():
        return codiag.SOBI(40, lags=100, n_jobs=1).fit(X).transform(X)

    def loop(X):
        parts = X.reshape(len(X), 100, -1)
        return np.array([parts[:, k] @ parts[:, k].T / parts.shape[2] for k in range(100)])

    def covariances(X):
        # Segments with fewer samples than channels require some shrinkage.
        return codiag.segment_covariances(X, n_segments=100, center=False, shrinkage=1e-9, n_jobs=1)

    def product(X, Y):
        # For X_i @ X_i.T NumPy would compute only one triangle (dsyrk).
        parts, others = (x.reshape(len(x), 100, -1) for x in (X, Y))
        return [parts[:, k] @ others[:, k].T / parts.shape[2] for k in range(100)]

    peak_memory(X, separate)
    few, copy = X[:40].copy(), X.copy()
    for data in (X, few):
        assert np.allclose(covariances(data), loop(data), rtol=1e-5, atol=1e-6 * X.var())
    white = X[:40] - X[:40].mean(axis=1, keepdims=True)
    later = np.roll(white, 1, axis=1)
    tails = np.random.default_rng(1).laplace(size=(20, X.shape[1]))
    tails = np.random.default_rng(2).standard_normal((20, 20)) @ tails
    assert_equal_filters(codiag.JADE(n_jobs=1).fit(tails).mixing_, jade(tails))
    works = {
        "numpy.linalg.svd(X, full_matrices=False)": lambda: np.linalg.svd(X, full_matrices=False),
        "array to 40 sources, 100 segments": separate,
        "array to 40 sources, SOBI, 100 lags": sobi,
        "40 channels: 100 products X @ Y.T (dgemm)": lambda: [white @ later.T for _ in range(100)],
        "40 channels: lagged_covariances, 100 lags": lambda: codiag.lagged_covariances(
            white, 100, n_jobs=1
        ),
        "40 channels: cumulants": lambda: codiag.cumulants(white, n_jobs=1),
        "20 sources: JADE in plain NumPy": lambda: jade(tails),
        "20 sources: JADE": lambda: codiag.JADE(n_jobs=1).fit(tails),
        "NumPy loop, X_i @ Y_i.T (dgemm)": lambda: product(X, copy),
        "NumPy loop, X_i @ X_i.T (dsyrk)": lambda: loop(X),
        "segment_covariances": lambda: covariances(X),
        "40 channels: NumPy loop, X_i @ Y_i.T (dgemm)": lambda: product(few, copy[:40]),
        "40 channels: NumPy loop, X_i @ X_i.T (dsyrk)": lambda: loop(few),
        "40 channels: segment_covariances": lambda: covariances(few),
    }
    square = np.random.default_rng(3).standard_normal((1000, 1000))
    works["a large product, 1000 x 1000 x 1000"] = lambda: square @ square
    # All are timed in each round, so that changes of the machine's speed affect all equally.
    rounds = [[best_of(1, work)[0] for work in works.values()] for _ in range(runs)]
    for name, seconds in zip(works, np.median(rounds, axis=0), strict=True):
        print(f"{name:46}{1e3 * seconds:9.1f} ms")
    times = dict(zip(works, np.array(rounds).T, strict=True))
    peak = 2e9 / times["a large product, 1000 x 1000 x 1000"]
    samples = X.shape[1]
    flops = {
        "40 channels: lagged_covariances, 100 lags": 100 * 2 * 40**2 * samples,
        "40 channels: cumulants": samples * (40 * 41 // 2) ** 2,
    }
    for name, count in flops.items():
        print(f"{name:46}{spread(100 * count / times[name] / peak):>20} % of the peak")
    for ours, theirs in (
        ("array to 40 sources, 100 segments", "numpy.linalg.svd(X, full_matrices=False)"),
        ("array to 40 sources, SOBI, 100 lags", "numpy.linalg.svd(X, full_matrices=False)"),
        ("20 sources: JADE", "20 sources: JADE in plain NumPy"),
    ):
        ratio = spread(times[theirs] / times[ours])
        print(f"{ours:46}{ratio:>20} times as fast as {theirs.split(': ')[-1]}")


def spread(values):
    return f"{np.median(values):.3g} ({min(values):.3g}–{max(values):.3g})"


def assert_equal_filters(mixing, filters):
    """Check that two separations are equal up to sign, order and scale."""
    gain = abs(filters @ mixing)
    gain /= gain.max(axis=1, keepdims=True)
    assert np.sort(gain, axis=1)[:, :-1].max() < 1e-6, np.sort(gain, axis=1)[:, -2]


def peak_memory(X, work):
    try:
        with open("/proc/self/clear_refs", "w", encoding="ascii") as reset:
            reset.write("5")
        before = memory("VmRSS")
        work()
        peak = (memory("VmHWM") - before + X.nbytes) / X.nbytes
        print(f"{'peak memory, the recording included':46}{peak:9.2f} x the recording")
    except OSError:
        print("peak memory: measured on Linux only")


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--seeds", type=int, default=5, help="number of mixings of each kind")
    arguments.add_argument("--runs", type=int, default=5, help="number of timed runs")
    chosen = arguments.parse_args()
    accuracy(chosen.seeds)
    cost(chosen.runs)
