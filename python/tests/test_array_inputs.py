"""Arrays of other packages: objects with __array__ or __dlpack__."""

import copy
import pickle
import sys
import types

import numpy as np
import pytest

import codiag


class WithArray:
    """An object that NumPy converts, as xarray and pandas have them."""

    def __init__(self, array):
        self.array = np.asarray(array)

    def __array__(self, dtype=None, copy=None):
        return self.array if dtype is None else self.array.astype(dtype)


@pytest.fixture(params=["fake", "torch"])
def package(request, monkeypatch):
    """A package of arrays that are exchanged by DLPack alone: its constructor, and its class."""
    if request.param == "torch":
        torch = pytest.importorskip("torch")
        return torch.from_numpy, torch.Tensor
    module = types.ModuleType("arraypackage")

    class Array:
        def __init__(self, array):
            self._array = np.asarray(array)

        def __dlpack__(self, **options):
            return self._array.__dlpack__(**options)

        def __dlpack_device__(self):
            return self._array.__dlpack_device__()

        # The operations of NumPy are not available.
        __array_ufunc__ = None

    Array.__module__ = "arraypackage.arrays"
    module.Array = Array
    module.from_dlpack = lambda array: Array(np.from_dlpack(array))
    monkeypatch.setitem(sys.modules, "arraypackage", module)
    return Array, Array


def numbers(array):
    return np.from_dlpack(array)


@pytest.mark.parametrize("is_complex", [False, True])
def test_dlpack_arrays_give_results_of_their_package(package, is_complex):
    wrap, kind = package
    C, A = codiag.datasets.synthetic(30, 4, complex=is_complex)
    expected = codiag.diagonalize(C)
    result = codiag.diagonalize(wrap(C), sample_weight=wrap(np.ones(30)), init=wrap(np.eye(4)))
    assert isinstance(result.B, kind) and isinstance(result.A, kind)
    assert numbers(result.B).dtype == C.dtype
    assert np.allclose(numbers(result.B) @ expected.A, np.eye(4), atol=1e-6)
    assert np.allclose(numbers(result.B) @ numbers(result.A), np.eye(4))
    distance = codiag.amari_distance(expected.B, A)
    assert codiag.amari_distance(result.B, wrap(A)) == pytest.approx(distance)
    # Everything else is NumPy's, and works as ever.
    assert isinstance(result.powers, np.ndarray)
    assert np.allclose(result.transform(wrap(C)), expected.transform(C), atol=1e-5)
    assert result.condition_number == pytest.approx(expected.condition_number)
    assert "30 of 4 x 4" in repr(result) and "30 of 4 × 4" in result._repr_html_()


def test_results_of_dlpack_arrays_are_copied_and_saved(package, tmp_path):
    wrap, kind = package
    C, _ = codiag.datasets.synthetic(30, 4)
    result = codiag.diagonalize(wrap(C))
    for again in (pickle.loads(pickle.dumps(result)), copy.deepcopy(result)):
        assert isinstance(again.B, kind)
        assert np.array_equal(numbers(again.B), numbers(result.B))
    result.save(tmp_path / "result.npz")
    assert np.array_equal(codiag.load(tmp_path / "result.npz").B, numbers(result.B))


@pytest.mark.parametrize("kind", ["array", "dlpack"])
def test_functions_accept_arrays_of_other_packages(kind, package):
    wrap = WithArray if kind == "array" else package[0]
    C, _ = codiag.datasets.synthetic(30, 4)
    B = codiag.diagonalize(C).B
    assert codiag.loss(wrap(C), wrap(B)) == codiag.loss(C, B)
    assert np.array_equal(codiag.gradient(wrap(C), wrap(B)), codiag.gradient(C, B))
    several, expected = codiag.diagonalize_many([wrap(C)]), codiag.diagonalize_many([C])
    assert np.array_equal(several[0].B, expected[0].B)
    assert codiag.bootstrap(wrap(C), 3).confidence.shape == (4,)
    tracker = codiag.Tracker()
    tracker.push(wrap(C[0]), wrap(np.ones(1)))
    tracker.push(wrap(C[1:5]))
    assert len(tracker) == 5


@pytest.mark.parametrize("kind", ["array", "dlpack"])
def test_recordings_may_be_arrays_of_other_packages(kind, package):
    wrap = WithArray if kind == "array" else package[0]
    X = np.random.default_rng(0).standard_normal((3, 2000))
    E = X.reshape(3, 20, 100).transpose(1, 0, 2).copy()
    y = np.repeat([0, 1], 10)
    expected = codiag.segment_covariances(X, n_segments=10)
    assert np.array_equal(codiag.segment_covariances(wrap(X), n_segments=10), expected)
    assert codiag.epoch_covariances(wrap(E), wrap(y)).shape == (2, 3, 3)
    bands = wrap(np.array([[1.0, 4.0], [4.0, 8.0]]))
    assert codiag.cospectra(wrap(X), bands, 100).shape == (2, 3, 3)
    assert codiag.lagged_covariances(wrap(X), 3, scale=wrap(np.ones(3))).shape == (3, 3, 3)


@pytest.mark.parametrize("kind", ["array", "dlpack"])
def test_estimators_accept_arrays_of_other_packages(kind, package):
    pytest.importorskip("sklearn")
    wrap = WithArray if kind == "array" else package[0]
    rng = np.random.default_rng(0)
    powers = np.repeat(rng.uniform(0.1, 3, (3, 40)), 100, axis=1)
    X = rng.standard_normal((3, 3)) @ (powers * rng.standard_normal((3, 4000)))
    model = codiag.SourceSeparation().fit(wrap(X))
    assert isinstance(model.components_, np.ndarray)
    assert np.allclose(model.inverse_transform(wrap(model.transform(wrap(X)))), X)
    E = rng.standard_normal((20, 3, 100))
    y = np.repeat([0, 1], 10)
    assert codiag.CSP(2).fit(wrap(E), wrap(y)).transform(wrap(E)).shape == (20, 2)
    C, _ = codiag.datasets.synthetic(30, 4)
    estimator = codiag.JointDiagonalizer().fit(wrap(C), sample_weight=wrap(np.ones(30)))
    assert estimator.transform(wrap(C)).shape == (30, 4)
    assert isinstance(estimator.components_, np.ndarray)


def test_objects_with_array_give_numpy_results():
    C, _ = codiag.datasets.synthetic(30, 4)
    result = codiag.diagonalize(WithArray(C))
    assert type(result.B) is np.ndarray and np.array_equal(result.B, codiag.diagonalize(C).B)


def test_the_callers_array_is_not_changed(package):
    C, _ = codiag.datasets.synthetic(30, 4)
    before = C.copy()
    codiag.diagonalize(package[0](C), shrinkage=0.1)
    assert np.array_equal(C, before)
