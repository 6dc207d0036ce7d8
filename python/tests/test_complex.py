"""Complex Hermitian matrices."""

import numpy as np
import pytest

import codiag
from codiag.compat import pyriemann

METHODS = ["newton", "quasi-newton", "pham"]


@pytest.fixture(scope="module")
def made():
    return codiag.datasets.synthetic(60, 5, sigma=0.1, random_state=1, complex=True)


@pytest.fixture(scope="module")
def C(made):
    return made[0]


@pytest.fixture(scope="module")
def result(C):
    return codiag.diagonalize(C)


def adjoint(X):
    return np.conj(np.swapaxes(X, -1, -2))


def test_synthetic_sets_are_hermitian_and_seeded(C):
    assert C.dtype == np.complex128 and C.shape == (60, 5, 5)
    np.testing.assert_array_equal(C, adjoint(C))
    again, _ = codiag.datasets.synthetic(60, 5, sigma=0.1, random_state=1, complex=True)
    np.testing.assert_array_equal(again, C)


def test_exact_sets_are_recovered():
    C, A = codiag.datasets.synthetic(50, 6, sigma=0, random_state=2, complex=True)
    for method in METHODS:
        B = codiag.diagonalize(C, method=method, tol=1e-12).B
        assert codiag.amari_distance(B, A) < 1e-9


@pytest.mark.parametrize("method", METHODS)
def test_all_methods_reach_equal_losses(C, result, method):
    other = codiag.diagonalize(C, method=method)
    assert other.converged
    assert other.loss == pytest.approx(result.loss, abs=1e-9)


def test_result_is_consistent(C, result):
    B, A = result.B, result.A
    assert B.dtype == A.dtype == np.complex128
    np.testing.assert_allclose(B @ A, np.eye(5), atol=1e-12)
    D = result.transform(C)
    np.testing.assert_allclose(D, B @ C @ adjoint(B), atol=1e-12)
    np.testing.assert_allclose(np.einsum("iaa->ia", D), result.powers, atol=1e-12)
    assert result.powers.dtype == result.residuals.dtype == np.float64
    np.testing.assert_allclose(result.powers.mean(axis=0), 1, atol=1e-6)
    largest = A[np.abs(A).argmax(axis=0), range(5)]
    assert (largest.imag == 0).all() and (largest.real > 0).all()
    logs = np.log(result.powers).sum(1) - np.linalg.slogdet(D)[1]
    assert result.loss == pytest.approx(0.5 * logs.mean(), abs=1e-12)
    np.testing.assert_allclose(result.residuals, 0.5 * logs, atol=1e-11)


def test_loss_and_gradient(C, result):
    assert codiag.loss(C, result.B) == pytest.approx(result.loss, abs=1e-12)
    assert np.abs(codiag.gradient(C, result.B)).max() < 1e-7
    rng = np.random.default_rng(0)
    B = rng.standard_normal((5, 5)) + 1j * rng.standard_normal((5, 5))
    E = rng.standard_normal((5, 5)) + 1j * rng.standard_normal((5, 5))
    h = 1e-6
    up, down = (codiag.loss(C, (np.eye(5) + s * E) @ B) for s in (h, -h))
    slope = np.real(np.sum(codiag.gradient(C, B) * E.conj()))
    assert (up - down) / (2 * h) == pytest.approx(slope, rel=1e-6)
    # Real and complex arguments may be mixed.
    assert codiag.loss(C, np.eye(5)) == codiag.loss(C, np.eye(5, dtype=complex))
    assert codiag.loss(C.real, np.eye(5) + 0j) == pytest.approx(codiag.loss(C.real, np.eye(5)))
    assert codiag.amari_distance(np.eye(2), [[0, 1j], [2, 0]]) == 0


def test_real_matrices_as_complex_give_the_real_result():
    C, _ = codiag.datasets.synthetic(40, 6, sigma=0.1)
    for options in ({}, {"method": "pham"}, {"orthogonal": True}):
        real = codiag.diagonalize(C, tol=1e-11, **options)
        other = codiag.diagonalize(C.astype(complex), tol=1e-11, **options)
        assert other.B.dtype == np.complex128
        assert other.loss == pytest.approx(real.loss, abs=1e-11)
        if "orthogonal" not in options:
            np.testing.assert_allclose(other.B, real.B, atol=1e-8)


def test_single_precision_and_other_layouts(C, result):
    expected = codiag.diagonalize(C.astype(np.complex64).astype(complex), symmetrize=True)
    single = codiag.diagonalize(C.astype(np.complex64), symmetrize=True)
    np.testing.assert_array_equal(single.B, expected.B)
    for other in (np.asfortranarray(C), C.astype(">c16"), C.tolist()):
        np.testing.assert_array_equal(codiag.diagonalize(other).B, result.B)


def test_init_and_unitary_results(C, result):
    assert codiag.diagonalize(C, init=result.B, tol=1e-7).n_iter == 0
    assert codiag.diagonalize(C, init=np.eye(5)).converged
    B = codiag.diagonalize(C, orthogonal=True).B
    np.testing.assert_allclose(B @ adjoint(B), np.eye(5), atol=1e-12)
    with pytest.raises(ValueError, match="init must be real, as the matrices are"):
        codiag.diagonalize(C.real, init=result.B)


def test_frobenius_criterion(C):
    X = C - C.mean(axis=0)
    losses = [
        codiag.diagonalize(X, criterion="frobenius", method=method).loss
        for method in ("newton", "quasi-newton", "jacobi")
    ]
    assert max(losses) - min(losses) < 1e-8


def test_save_repr_and_checkpoint(C, result, tmp_path):
    result.save(tmp_path / "result.npz")
    again = codiag.load(tmp_path / "result.npz")
    np.testing.assert_array_equal(again.B, result.B)
    assert "5 x 5" in repr(result) and "svg" in result._repr_html_()
    codiag.diagonalize(C, checkpoint=tmp_path / "b.npy")
    assert codiag.diagonalize(C, init=tmp_path / "b.npy", tol=1e-7).n_iter == 0


def test_diagonalize_many(C, result):
    results = codiag.diagonalize_many([C, C.real + np.eye(5), C])
    assert [one.B.dtype.kind for one in results] == ["c", "f", "c"]
    np.testing.assert_array_equal(results[0].B, results[2].B)
    assert results[0].loss == pytest.approx(result.loss, abs=1e-12)
    assert codiag.bootstrap(C, n_resamples=5).confidence.min() > 0.9


@pytest.mark.parametrize("dtype", ["<c16", ">c16", "<c8", ">c8"])
def test_from_disk(C, result, tmp_path, dtype):
    path = tmp_path / "spectra.npy"
    many = np.tile(C, (60, 1, 1)).astype(dtype)
    np.save(path, many)
    options = {"symmetrize": dtype.endswith("8")}
    here = codiag.diagonalize(many, **options)
    whole = codiag.diagonalize(path, **options)
    there = codiag.diagonalize(path, memory="3MB", **options)
    np.testing.assert_array_equal(whole.B, here.B)
    np.testing.assert_allclose(there.B, here.B, atol=1e-6)
    assert there.loss == pytest.approx(result.loss, abs=1e-6)


def test_estimator(C, result):
    estimator = codiag.JointDiagonalizer().fit(C)
    logs = estimator.transform(C)
    np.testing.assert_allclose(logs, np.log(result.powers), atol=1e-10)
    assert estimator.score(C) == pytest.approx(-result.loss, abs=1e-10)
    back = estimator.inverse_transform(logs)
    np.testing.assert_allclose(back, adjoint(back), atol=1e-12)
    np.testing.assert_allclose(estimator.transform(back), logs, atol=1e-10)


def test_pyriemann_signatures(C):
    V, D = pyriemann.ajd_pham(C, n_iter_max=100)
    np.testing.assert_allclose(D, V @ C @ adjoint(V), atol=1e-12)
    W, _ = pyriemann.ajd_newton(C)
    assert codiag.amari_distance(V, np.linalg.inv(W)) < 1e-2


def broken(C, change):
    X = C.copy()
    change(X)
    return X


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X: X[3].imag.__setitem__((1, 2), np.nan), "matrix 3: the imaginary part of entry"),
        (lambda X: X[3].__setitem__((1, 1), 1 + 1j), r"not Hermitian: entry \(1, 1\) and its conj"),
        (lambda X: X[3].__setitem__((1, 2), 9j), r"matrix 3 is not Hermitian: entries"),
        (lambda X: X[3].__setitem__((0, 0), -1), "matrix 3 is not positive definite"),
    ],
)
def test_bad_matrices(C, change, message):
    with pytest.raises(ValueError, match=message):
        codiag.diagonalize(broken(C, change))


def test_complex_weights_and_features_raise(C):
    with pytest.raises(TypeError, match="sample_weight is complex"):
        codiag.diagonalize(C, sample_weight=np.ones(60) + 0j)
    with pytest.raises(TypeError, match="X is complex"):
        codiag.JointDiagonalizer().fit(C).inverse_transform(np.zeros((1, 5)) + 0j)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"init": np.eye(4) + 0j}, "must be 5 x 5"),
        ({"init": np.ones((5, 5)) * 1j}, "singular"),
        ({"init": np.eye(5) * complex(1, np.nan)}, "must be finite.*NaN"),
        ({"init": np.triu(np.ones((5, 5))) + 0j, "orthogonal": True}, "orthogonal"),
        ({"method": "jacobi"}, "does not support method=.jacobi"),
        ({"sample_weight": np.ones(3)}, "weights"),
        ({"sample_weight": np.full(60, np.nan)}, "weight 0"),
        ({"sample_weight": np.zeros(60)}, "zero"),
        ({"tol": 0}, "tol"),
    ],
)
def test_bad_options(C, options, message):
    with pytest.raises(ValueError, match=message):
        codiag.diagonalize(C, **options)


def test_shapes_layouts_and_unmodified_input(C, result, tmp_path):
    for bad in (C[0], C[:0], C[:, :3], C[None]):
        with pytest.raises(ValueError, match=r"expected C of shape \(n, p, p\)"):
            codiag.diagonalize(bad)
    with pytest.raises(TypeError, match="must hold numbers"):
        codiag.diagonalize(C.astype(str))
    kept = C.copy()
    kept.flags.writeable = False
    np.testing.assert_array_equal(codiag.diagonalize(kept).B, result.B)
    np.testing.assert_array_equal(kept, C)
    wide = np.repeat(C, 2, axis=0)[::2]
    np.testing.assert_array_equal(codiag.diagonalize(wide).B, result.B)
    # Rounding errors in the asymmetry and in imaginary diagonals are accepted.
    nearly = C.copy()
    nearly[:, 0, 1] += 1e-13j
    nearly[:, 2, 2] += 1e-13j
    np.testing.assert_allclose(codiag.diagonalize(nearly).B, result.B, atol=1e-6)
    # A single matrix, and a single channel.
    assert codiag.diagonalize(C[:1]).converged
    assert codiag.diagonalize(C[:, :1, :1]).B.shape == (1, 1)
    with pytest.warns(codiag.ConvergenceWarning, match="max_iter"):
        codiag.diagonalize(C, max_iter=0)
    with pytest.raises(FileNotFoundError):
        codiag.diagonalize(tmp_path / "nowhere.npy")


@pytest.mark.parametrize("memory", [None, "3MB"])
def test_bad_matrices_in_files(C, tmp_path, memory):
    many = np.tile(C, (60, 1, 1))
    path = tmp_path / "spectra.npy"
    for change, message in [
        (lambda X: X[7].imag.__setitem__((1, 2), np.inf), "matrix 7: the imaginary part of entry"),
        (lambda X: X[70].__setitem__((1, 2), 9j), "matrix 70 is not Hermitian"),
        (lambda X: X[70].__setitem__((1, 1), 1 + 1j), "matrix 70 is not Hermitian"),
        (lambda X: X[70].__setitem__((0, 0), -1), "matrix 70 is not positive definite"),
    ]:
        np.save(path, broken(many, change))
        with pytest.raises(ValueError, match=message):
            codiag.diagonalize(path, memory=memory)
