"""Covariances, lagged covariances and cumulants of recordings in Dask arrays."""

import signal

import numpy as np
import pytest

import codiag

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
pytest.importorskip("distributed")
pytestmark = [
    pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="alarms"),
    pytest.mark.usefixtures("never_hangs"),
]


class TestSegments:
    @staticmethod
    def covariances(signals, length, step):
        starts = range(0, signals.shape[1] - length + 1, step)
        return np.array([np.cov(signals[:, s : s + length], bias=True) for s in starts])

    @pytest.mark.parametrize("chunks", [1000, 170, 64, (300, 1, 699)], ids=str)
    @pytest.mark.parametrize(("overlap", "step"), [(0.0, 150), (0.5, 75), (0.99, 2)])
    def test_segments_across_chunks(self, chunks, overlap, step):
        signals = np.random.default_rng(0).normal(size=(3, 1000))
        lazy = da.from_array(signals, chunks=(2, chunks))
        made = codiag.dask.segment_covariances(lazy, segment_length=150, overlap=overlap)
        expected = self.covariances(signals, 150, step)
        assert made.shape == expected.shape
        np.testing.assert_allclose(made.compute(scheduler="sync"), expected, atol=1e-12)

    def test_without_centering(self):
        signals = np.random.default_rng(0).normal(1, size=(3, 100))
        lazy = da.from_array(signals, chunks=(3, 30))
        made = codiag.dask.segment_covariances(lazy, segment_length=100, center=False)
        expected = signals @ signals.T / 100
        np.testing.assert_allclose(made.compute(scheduler="sync")[0], expected, atol=1e-12)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"segment_length": 0}, "segment_length must be .*100 samples.* got 0"),
            ({"segment_length": 101}, "segment_length must be .*100 samples.* got 101"),
            ({"segment_length": 10, "overlap": 1.0}, "overlap must be"),
        ],
    )
    def test_bad_options(self, options, message):
        with pytest.raises(ValueError, match=message):
            codiag.dask.segment_covariances(da.zeros((3, 100)), **options)

    def test_not_a_dask_array(self):
        with pytest.raises(ValueError, match="dask array"):
            codiag.dask.segment_covariances(np.zeros((3, 100)), segment_length=10)


class TestMoments:
    @staticmethod
    def recording():
        rng = np.random.default_rng(0)
        sources = np.array(
            [np.convolve(rng.laplace(size=1000), [1, a], "same") for a in (0.9, -0.5)]
        )
        return 3 + rng.normal(size=(3, 2)) @ sources + 0.1 * rng.normal(size=(3, 1000))

    @pytest.mark.parametrize("chunks", [1000, 170, 9, (300, 1, 699)], ids=str)
    @pytest.mark.parametrize("center", [True, False])
    def test_lags_across_chunks(self, chunks, center):
        X, lags = self.recording(), [0, 1, 5, 40]
        made = codiag.dask.lagged_covariances(
            da.from_array(X, chunks=(2, chunks)), lags, center=center
        )
        expected = codiag.lagged_covariances(X, lags, center=center)
        assert made.shape == expected.shape
        np.testing.assert_allclose(made.compute(scheduler="sync"), expected, atol=1e-11)

    def test_one_set_of_lags_per_segment(self):
        X = self.recording()
        options = {"segment_length": 150, "overlap": 0.5}
        made = codiag.dask.lagged_covariances(da.from_array(X, chunks=(3, 170)), 10, **options)
        expected = codiag.lagged_covariances(X, 10, **options)
        assert made.shape == expected.shape
        np.testing.assert_allclose(made.compute(scheduler="sync"), expected, atol=1e-12)

    @pytest.mark.parametrize("n_components", [None, 2, 0.9])
    def test_cumulants(self, n_components):
        X = self.recording()
        with dask.config.set(scheduler="sync"):
            Q, W = codiag.dask.cumulants(da.from_array(X, chunks=(2, 170)), n_components)
            Q = Q.compute()
        expected, whitener = codiag.cumulants(X, n_components)
        signs = np.sign(np.sum(W * whitener, axis=1))
        np.testing.assert_allclose(signs[:, None] * W, whitener, atol=1e-8)
        # Changing the sign of a component changes its rows, columns and pairs.
        first, second = np.tril_indices(len(W))
        turned = Q * np.multiply.outer(signs[first] * signs[second], np.outer(signs, signs))
        np.testing.assert_allclose(turned, expected, atol=1e-8)

    def test_sobi_on_a_cluster(self, client):
        X = self.recording()
        lazy = da.from_array(X, chunks=(3, 170))
        W = codiag.dask.whitener(lazy, 2)
        np.testing.assert_allclose(np.cov(W @ X, bias=True), np.eye(2), atol=1e-9)
        C = codiag.dask.lagged_covariances(W @ lazy, 20)
        filters = codiag.diagonalize(C, criterion="frobenius").B @ W
        expected = codiag.SOBI(2, lags=20).fit(X).filters_
        agreement = np.abs(np.corrcoef(np.vstack([filters @ X, expected @ X]))[:2, 2:])
        np.testing.assert_allclose(agreement.max(axis=0), 1, atol=1e-6)

    def test_bad_input(self):
        lazy = da.zeros((3, 100))
        with pytest.raises(ValueError, match=r"lags must be shorter .* got 100 for 100 samples"):
            codiag.dask.lagged_covariances(lazy, 100)
        with pytest.raises(ValueError, match="dask array"):
            codiag.dask.cumulants(np.zeros((3, 100)))
        with pytest.raises(ValueError, match="not finite"):
            codiag.dask.whitener(da.full((3, 100), np.nan, chunks=(3, 50)))
