"""The Frobenius criterion, for matrices that need not be positive definite."""

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
