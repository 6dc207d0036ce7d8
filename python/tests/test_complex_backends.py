"""Complex matrices in Tracker, on a Dask cluster, and as cross-spectra of recordings."""

import pickle

import numpy as np
import pytest

import codiag
from codiag import _core

P = 4


@pytest.fixture(scope="module")
def C():
    return codiag.datasets.synthetic(120, P, sigma=0.1, random_state=3, complex=True)[0]


def adjoint(X):
    return np.conj(np.swapaxes(X, -1, -2))


# A tracker


def test_tracker_minimizes_over_its_window(C):
    tracker = codiag.Tracker(window=50, forgetting=0.95, tol=1e-10)
    for matrix in C:
        result = tracker.push(matrix)
    assert result.converged and result.B.dtype == np.complex128
    np.testing.assert_array_equal(tracker.matrices, C[-50:])
    expected = codiag.diagonalize(C[-50:], sample_weight=tracker.weights, init=tracker.B, tol=1e-9)
    assert expected.n_iter == 0
    np.testing.assert_allclose(tracker.B @ tracker.A, np.eye(P), atol=1e-10)


def test_tracker_keeps_phases_and_is_pickled(C):
    tracker = codiag.Tracker(window=60, forgetting=1.0)
    before = tracker.push(C[:60]).B
    again = pickle.loads(pickle.dumps(tracker))
    after = tracker.push(C[60:63]).B
    np.testing.assert_array_equal(again.push(C[60:63]).B, after)
    # Rows with another order or phase would differ by their own size.
    assert np.abs(after - before).max() < 0.2 * np.abs(before).max()


def test_real_and_complex_matrices_in_one_tracker(C):
    real = C.real + 2 * np.eye(P)
    tracker = codiag.Tracker(window=60)
    assert tracker.push(real[:20]).B.dtype == np.float64
    # From the first complex matrix on, all results are complex.
    assert tracker.push(C[20:40]).B.dtype == np.complex128
    assert tracker.push(real[40:50]).B.dtype == np.complex128
    assert tracker.matrices.dtype == np.complex128
    np.testing.assert_array_equal(tracker.matrices[:20].real, real[:20])
    assert len(tracker) == 50


def test_partial_fit(C):
    estimator = codiag.JointDiagonalizer(window=60, forgetting=0.9).fit(C[:60])
    before = estimator.filters_
    estimator.partial_fit(C[60:65])
    assert estimator.filters_.dtype == np.complex128
    assert np.abs(estimator.filters_ - before).max() < 0.2 * np.abs(before).max()
    tracker = codiag.Tracker(window=60, forgetting=0.9, tol=1e-8, max_iter=1000)
    tracker._resume(C[:60], np.ones(60), before)
    np.testing.assert_array_equal(tracker.push(C[60:65]).B, estimator.filters_)
    fresh = codiag.JointDiagonalizer(window=60).partial_fit(C[:30]).partial_fit(C[30:])
    assert fresh.n_samples_seen_ == 120 and fresh.filters_.dtype == np.complex128


# Results


def test_result_is_plotted_and_transforms_real_matrices(C):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    result = codiag.diagonalize(C)
    assert result.plot().get_xlabel() == "iteration"
    D = result.transform(np.eye(P))
    np.testing.assert_allclose(D, result.B @ adjoint(result.B), atol=1e-12)


# Cross-spectra


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((3, 5000))
    delayed = np.stack([noise[0], np.roll(noise[0], 3) + 0.5 * noise[1], noise[2] + noise[1]])
    return delayed + 0.1 * rng.standard_normal((3, 5000))


def test_cross_spectra_match_scipy(X):
    signal = pytest.importorskip("scipy.signal")
    bands = [(5, 12), (12, 30)]
    found = codiag.cross_spectra(X, bands, 100, window_length=200)
    assert found.dtype == np.complex128
    for a in range(3):
        for b in range(3):
            # SciPy conjugates the first signal.
            f, density = signal.csd(X[b], X[a], fs=100, nperseg=200, window="hann")
            for k, (low, high) in enumerate(bands):
                chosen = (f >= low - 1e-9) & (f < high - 1e-9)
                expected = density[chosen].sum() * (f[1] - f[0])
                np.testing.assert_allclose(found[k, a, b], expected, rtol=1e-6, atol=1e-9)


def test_real_parts_of_cross_spectra_are_cospectra(X):
    found = codiag.cross_spectra(X, 5, 100)
    np.testing.assert_array_equal(found, adjoint(found))
    for options in (
        {},
        {"window": "hamming", "overlap": 0.25, "window_length": 99},
        {"center": False, "bad_spans": [(100, 150)]},
        {"scale": "rms"},
        {"shrinkage": 0.1},
        {"n_jobs": 2},
    ):
        expected = codiag.cospectra(X, 5, 100, **options)
        found = codiag.cross_spectra(X, 5, 100, **options)
        np.testing.assert_allclose(found.real, expected, rtol=1e-10, atol=1e-12)
    for rule in ("auto", "oas"):
        shrunk = codiag.cross_spectra(X, 5, 100, shrinkage=rule)
        assert np.abs(shrunk[0, 0, 1]) <= np.abs(found[0, 0, 1])
        assert np.linalg.eigvalsh(shrunk).min() > 0
    np.testing.assert_array_equal(
        codiag.cross_spectra(np.asfortranarray(X), 5, 100), codiag.cross_spectra(X, 5, 100)
    )
    with pytest.raises(TypeError, match="X is complex"):
        codiag.cross_spectra(X + 0j, 5, 100)
    with pytest.raises(ValueError, match="half the sampling frequency"):
        codiag.cross_spectra(X, [(30, 80)], 100)
    with pytest.raises(TypeError, match="nonsense"):
        _core.cross_spectra(X, {"bands": [(1, 9)], "sfreq": 99.0, "nonsense": 1})


def test_delay_gives_a_phase_shift():
    rng = np.random.default_rng(1)
    noise = rng.standard_normal(20_000)
    X = np.stack([noise, np.roll(noise, 5)])
    bands = [(f - 0.5, f + 0.5) for f in (10, 20, 40)]
    C = codiag.cross_spectra(X, bands, 1000, window_length=1000)
    np.testing.assert_allclose(
        np.angle(C[:, 1, 0]), -2 * np.pi * np.array([10, 20, 40]) * 5e-3, atol=0.02
    )


# On a cluster


@pytest.fixture(scope="module")
def client():
    distributed = pytest.importorskip("distributed")
    with distributed.Client(
        processes=False, n_workers=2, threads_per_worker=1, memory_limit=0, dashboard_address=None
    ) as client:
        yield client


def test_cluster_gives_the_result_in_memory(client, C):
    array = pytest.importorskip("dask.array")
    expected = codiag.diagonalize(C, tol=1e-10)
    chunked = array.from_array(C, chunks=(25, P, P))
    for options in ({}, {"orthogonal": True}, {"method": "quasi-newton"}, {"n_components": 3}):
        here = codiag.diagonalize(C, **options)
        there = codiag.diagonalize(chunked, **options)
        assert there.B.dtype == np.complex128
        np.testing.assert_allclose(there.B, here.B, atol=1e-6)
    there = codiag.diagonalize(chunked.persist(), tol=1e-9, init=expected.B)
    assert there.n_iter == 0
    np.testing.assert_allclose(there.powers, expected.powers, atol=1e-8)
    single = codiag.diagonalize(chunked.astype("c8"), symmetrize=True)
    np.testing.assert_allclose(single.loss, expected.loss, atol=1e-4)


def test_real_and_complex_futures(client, C):
    real = C.real + 2 * np.eye(P)
    futures = client.scatter([real[:40], C[40:80], real[80:]], hash=False)
    mixed = np.concatenate([real[:40], C[40:80], real[80:]])
    weights = np.arange(120.0)
    here = codiag.diagonalize(mixed, sample_weight=weights)
    there = codiag.diagonalize(futures, sample_weight=weights)
    np.testing.assert_allclose(there.B, here.B, atol=1e-6)


def test_bad_chunks_are_named(client, C):
    array = pytest.importorskip("dask.array")
    bad = C.copy()
    bad[77].imag[1, 1] = 0.5
    with pytest.raises(ValueError, match="matrix 77 is not Hermitian"):
        codiag.diagonalize(array.from_array(bad, chunks=(25, P, P)))
    bad = C.copy()
    bad[90] *= -1
    with pytest.raises(ValueError, match="matrix 90 is not positive definite"):
        codiag.diagonalize(array.from_array(bad, chunks=(25, P, P)))
    with pytest.raises(TypeError, match="sample_weight is complex"):
        codiag.diagonalize(array.from_array(C, chunks=(25, P, P)), sample_weight=np.ones(120) + 0j)


def test_workers_and_chunks_are_pickled(C):
    options = {"criterion": "likelihood", "shrinkage": 0.0, "symmetrize": False}
    chunk = _core.Chunk(C[:50], 10, None, options)
    again = pickle.loads(pickle.dumps(chunk))
    assert len(again) == 50 and again.range_sum().dtype == np.complex128
    worker = _core.Worker([chunk], None, 1)
    assert pickle.loads(pickle.dumps(worker)).describe() == worker.describe()
    real = _core.Chunk(np.ascontiguousarray(C[:50].real + 2 * np.eye(P)), 0, None, options)
    assert real.__sizeof__() < chunk.__sizeof__()
    with pytest.raises(TypeError, match="all real or all complex"):
        _core.Worker([chunk, real], None, 1)


def test_cospectra_and_cross_spectra_of_a_dask_array(client, X):
    array = pytest.importorskip("dask.array")
    import codiag.dask

    bands, rate = [(5, 12), (12, 30)], 100
    for chunks in ((3, 700), (2, 137), (3, 5000)):
        signals = array.from_array(X, chunks=chunks)
        for options in ({}, {"window_length": 150, "overlap": 0.7, "window": "hamming"}):
            for name in ("cospectra", "cross_spectra"):
                expected = getattr(codiag, name)(X, bands, rate, **options)
                found = getattr(codiag.dask, name)(signals, bands, rate, **options)
                assert found.dtype == expected.dtype and found.shape == expected.shape
                np.testing.assert_allclose(found.compute(), expected, rtol=1e-10, atol=1e-13)
    many = codiag.dask.cross_spectra(signals, 8, rate)
    assert codiag.diagonalize(many).converged
    with pytest.raises(ValueError, match=r"window_length must be .*5000 samples.* got 9999"):
        codiag.dask.cross_spectra(signals, 8, rate, window_length=9999)
    with pytest.raises(ValueError, match="half the sampling frequency"):
        codiag.dask.cross_spectra(signals, [(1, 99)], rate)
