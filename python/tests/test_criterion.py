"""The Frobenius criterion and least squares, for matrices that need not be positive definite."""

import numpy as np
import pytest

import codiag


def rotated(n, p, sigma, seed):
    """Matrices that a rotation makes diagonal, but for noise."""
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((p, p)))[0]
    noise = rng.standard_normal((n, p, p))
    C = (Q * rng.standard_normal((n, 1, p))) @ Q.T
    return C + sigma * (noise + noise.transpose(0, 2, 1)) / 2, Q


def off_share(C, B):
    D = B @ C @ B.T
    diagonals = np.diagonal(D, axis1=1, axis2=2)
    return 1 - np.sum(diagonals**2) / np.sum(C**2)


@pytest.mark.parametrize("method", ["newton", "quasi-newton", "jacobi"])
def test_the_loss_is_the_share_off_the_diagonals(method):
    C, _ = rotated(60, 8, 0.3, 0)
    result = codiag.diagonalize(C, criterion="frobenius", method=method)
    assert result.converged
    assert np.allclose(result.B @ result.B.T, np.eye(8), atol=1e-12)
    assert result.loss == pytest.approx(off_share(C, result.B), abs=1e-12)
    newton = codiag.diagonalize(C, criterion="frobenius")
    assert result.loss == pytest.approx(newton.loss, abs=1e-9)


def test_exact_sets_are_recovered():
    C, Q = rotated(30, 6, 0.0, 1)
    result = codiag.diagonalize(C, criterion="frobenius")
    assert result.converged and codiag.amari_distance(result.B, Q) < 1e-10


def test_from_a_file_within_a_budget(tmp_path):
    C, _ = rotated(500, 6, 0.3, 2)
    path = tmp_path / "C.npy"
    np.save(path, C)
    expected = codiag.diagonalize(C, criterion="frobenius")
    result = codiag.diagonalize(path, criterion="frobenius", memory="3MB")
    assert result.n_iter == expected.n_iter
    assert np.allclose(result.B, expected.B, atol=1e-10)


def test_what_the_criterion_does_not_have_is_refused():
    C, _ = rotated(10, 4, 0.1, 3)
    with pytest.raises(ValueError, match='has the methods "newton", "quasi-newton", "jacobi"'):
        codiag.diagonalize(C, criterion="frobenius", method="pham")
    with pytest.raises(ValueError, match="criterion must be"):
        codiag.diagonalize(C, criterion="varimax")
    with pytest.raises(ValueError, match="not positive definite"):
        codiag.diagonalize(C)


def mixed(n, p, sigma, seed):
    """Matrices that one matrix makes diagonal, but for noise."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((p, p))
    noise = rng.standard_normal((n, p, p))
    C = (A * rng.standard_normal((n, 1, p))) @ A.T
    return C + sigma * (noise + noise.transpose(0, 2, 1)) / 2, A


def fit(C, A):
    """The best diagonals, and the share of energy that they leave."""
    terms = np.einsum("ka,la->akl", A, A).reshape(A.shape[1], -1)
    flat = C.reshape(len(C), -1)
    diagonals = np.linalg.lstsq(terms.T, flat.T, rcond=None)[0].T
    return diagonals, np.sum((flat - diagonals @ terms) ** 2) / np.sum(C**2)


class TestLeastSquares:
    @pytest.mark.parametrize("method", ["newton", "acdc", "uwedge", "ffdiag"])
    def test_the_loss_is_the_share_that_the_fit_leaves(self, method):
        C, _ = mixed(60, 8, 0.3, 0)
        result = codiag.diagonalize(C, criterion="least-squares", method=method)
        assert result.converged
        diagonals, left = fit(C, result.A)
        assert result.loss == pytest.approx(left, abs=1e-12)
        assert np.mean(result.residuals) == pytest.approx(left, abs=1e-12)
        np.testing.assert_allclose(result.powers, diagonals, atol=1e-8)
        np.testing.assert_allclose(np.linalg.norm(result.A, axis=0), 1, atol=1e-12)
        energies = np.sum(diagonals**2, axis=0)
        assert np.all(energies[:-1] >= energies[1:])
        newton = codiag.diagonalize(C, criterion="least-squares")
        if method == "acdc":
            assert result.loss == pytest.approx(newton.loss, abs=1e-10)
        assert newton.loss <= result.loss + 1e-12

    @pytest.mark.parametrize("method", ["newton", "acdc", "uwedge", "ffdiag"])
    def test_exact_sets_are_recovered(self, method):
        C, A = mixed(30, 6, 0.0, 1)
        result = codiag.diagonalize(C, criterion="least-squares", method=method)
        assert result.converged and codiag.amari_distance(result.B, A) < 1e-10

    def test_weights_callbacks_restarts_and_checkpoints(self, tmp_path):
        C, _ = mixed(40, 5, 0.2, 4)
        weights = np.repeat([1.0, 3.0], 20)
        seen = []
        path = tmp_path / "B.npy"
        result = codiag.diagonalize(
            C,
            criterion="least-squares",
            weights=weights,
            restarts=2,
            callback=lambda record: seen.append(record.loss),
            checkpoint=path,
        )
        rooted = C * np.sqrt(weights)[:, None, None]
        assert result.loss == pytest.approx(fit(rooted, result.A)[1], abs=1e-12)
        assert len(result.start_losses) == 3 and min(seen) == pytest.approx(result.loss, abs=1e-12)
        again = codiag.diagonalize(C, criterion="least-squares", weights=weights, start=path)
        assert again.n_iter == 0 and again.loss == pytest.approx(result.loss, abs=1e-12)

    def test_from_a_file_within_a_budget(self, tmp_path):
        C, _ = mixed(500, 6, 0.3, 2)
        path = tmp_path / "C.npy"
        np.save(path, C)
        for method in ("newton", "uwedge"):
            options = {"criterion": "least-squares", "method": method}
            expected = codiag.diagonalize(C, **options)
            result = codiag.diagonalize(path, memory="3MB", **options)
            assert result.n_iter == expected.n_iter
            assert np.allclose(result.B, expected.B, atol=1e-8)

    def test_two_components_that_cancel_are_reported(self):
        # The limit of a difference of two squares that come ever closer, and one of them.
        C = np.array([[[0.0, 1.0], [1.0, 0.0]], [[1.0, 0.0], [0.0, 0.0]]])
        with pytest.warns(codiag.ConvergenceWarning, match="collinear columns"):
            result = codiag.diagonalize(
                C, criterion="least-squares", start=np.array([[1.0, 0.3], [0.2, 1.0]])
            )
        assert result.status == "collinear columns" and not result.converged

    def test_what_it_does_not_have_is_refused(self):
        C, _ = mixed(10, 4, 0.1, 3)
        with pytest.raises(ValueError, match='methods "newton", "acdc", "uwedge", "ffdiag"'):
            codiag.diagonalize(C, criterion="least-squares", method="pham")
        with pytest.raises(ValueError, match='over rotations it is criterion="frobenius"'):
            codiag.diagonalize(C, criterion="least-squares", orthogonal=True)
        positive, _ = codiag.datasets.synthetic(20, 4)
        with pytest.raises(ValueError, match="reduced by rank="):
            codiag.diagonalize(positive, criterion="least-squares", rank=3)
