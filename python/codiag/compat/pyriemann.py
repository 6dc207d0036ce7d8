"""Joint diagonalizers of ``pyriemann.geometry.ajd``, with its signatures and return values.

:func:`ajd_pham`, :func:`ajd_newton` and :func:`jade` also serve as ``CSP(ajd_method=...)`` and
``pyriemann.geometry.ajd.ajd(X, method=...)``. Known defects of pyRiemann's functions are corrected:
`init` is the starting point of the iteration, and integer matrices are not truncated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import _core
from .._arrays import (
    matrix,
    matrix_set,
    real_set,
    usable_n_jobs,
    weight_vector,
)
from .._errors import warn_not_converged
from .._typing import Floats, Numbers
from ._jacobi import rotations
from ._pham import sweeps
from ._qndiag import _check_positive
from ._uwedge import steps

__all__ = ["ajd", "ajd_newton", "ajd_pham", "jade", "rjd", "uwedge"]


def ajd_pham(
    X: ArrayLike,
    *,
    init: ArrayLike | None = None,
    eps: float = 1e-6,
    n_iter_max: int = 20,
    sample_weight: ArrayLike | None = None,
) -> tuple[Numbers, Numbers]:
    """Joint diagonalization by Pham's algorithm, as ``pyriemann.geometry.ajd.ajd_pham``.

    On real matrices, sweeps and result are equal to those of pyRiemann. On Hermitian matrices,
    pyRiemann divides by ω instead of ω - 1 and needs many more sweeps.

    Parameters
    ----------
    X : array-like, shape (n_matrices, n, n)
        Matrices, real symmetric or complex Hermitian.
    init : array-like, shape (n, n), optional
        Starting point (default: the identity).
    eps : float
        The solve stops when the predicted decrease of the loss by a sweep, summed over pairs and
        matrices, is below n (n - 1) eps.
    n_iter_max : int
        Maximum number of sweeps.
    sample_weight : array-like, shape (n_matrices,), optional
        Weight of each matrix (default: equal weights).

    Returns
    -------
    V : ndarray, shape (n, n)
        Filters, one per row.
    D : ndarray, shape (n_matrices, n, n)
        Transformed matrices V X Vᴴ.

    Examples
    --------
    >>> import codiag
    >>> from codiag.compat.pyriemann import ajd_pham
    >>> X, _ = codiag.datasets.synthetic(50, 5)
    >>> V, D = ajd_pham(X)
    >>> V.shape, D.shape
    ((5, 5), (50, 5, 5))
    """
    _check_positive("eps", eps)
    data = matrix_set(X, "X")
    start = np.eye(data.shape[1]) if init is None else matrix(init, "init")
    weights = weight_vector(sample_weight, "sample_weight")
    if weights is not None and (weights == 0).any() and (weights > 0).any():
        raise ValueError("Weights must be strictly positive.")
    found = sweeps(data, weights, start, eps, n_iter_max)
    if not found.finished:
        _warn(found.solved)
    return found.V, found.V @ data @ found.V.conj().T


def ajd_newton(
    X: ArrayLike,
    *,
    init: ArrayLike | None = None,
    eps: float = 1e-6,
    n_iter_max: int = 100,
    sample_weight: ArrayLike | None = None,
) -> tuple[Numbers, Numbers]:
    """Joint diagonalization by Newton's method, with the signature of :func:`ajd_pham`.

    Newton's method needs far fewer passes over the matrices than Pham's algorithm, and stops when
    the gradient norm is below `eps`. Filters have the order, scale and signs of
    :func:`codiag.diagonalize`.

    Parameters
    ----------
    X, sample_weight
        As in :func:`ajd_pham`.
    init : array-like, shape (n, n), optional
        Starting point (default: the spectral one).
    eps : float
        Gradient norm below which the solve has converged.
    n_iter_max : int
        Maximum number of iterations.

    Returns
    -------
    V, D
        As in :func:`ajd_pham`.

    Examples
    --------
    >>> import codiag
    >>> from codiag.compat.pyriemann import ajd_newton
    >>> X, _ = codiag.datasets.synthetic(50, 5)
    >>> V, D = ajd_newton(X)
    >>> bool(abs(codiag.gradient(X, V)).max() < 1e-5)
    True
    """
    data = matrix_set(X, "X")
    options = {
        "init": "spectral" if init is None else matrix(init, "init"),
        "tol": eps,
        "max_iter": n_iter_max,
        "n_jobs": usable_n_jobs(None),
    }
    weights = weight_vector(sample_weight, "sample_weight")
    solved = _core.solve(data, weights, options, None)
    if not solved.converged:
        _warn(solved)
    V: Numbers = solved.B
    return V, V @ data @ V.conj().T


def rjd(
    X: ArrayLike,
    *,
    init: ArrayLike | None = None,
    eps: float = 1e-8,
    n_iter_max: int = 100,
) -> tuple[Floats, Floats]:
    """Orthogonal joint diagonalization by Jacobi rotations, as ``pyriemann.geometry.ajd.rjd``.

    Parameters
    ----------
    X : array-like, shape (n_matrices, n, n)
        Matrices, symmetric; they need not be positive definite.
    init : array-like, shape (n, n), optional
        Starting point, an orthogonal matrix (default: the identity).
    eps : float
        The solve stops after a sweep in which no sine of a rotation angle exceeds it.
    n_iter_max : int
        Maximum number of sweeps.

    Returns
    -------
    V : ndarray, shape (n, n)
        Orthogonal, one component per *column*.
    D : ndarray, shape (n_matrices, n, n)
        V' X V.

    Examples
    --------
    >>> import numpy as np
    >>> from codiag.compat.pyriemann import rjd
    >>> V, D = rjd([[[2.0, 1.0], [1.0, 3.0]], [[5.0, 5.0], [5.0, 10.0]]])
    >>> bool(np.allclose(D[:, 0, 1], 0))
    True
    """
    B, D = jade(
        X, init=None if init is None else np.transpose(init), eps=eps, n_iter_max=n_iter_max
    )
    return B.T, D


def jade(
    X: ArrayLike,
    *,
    init: ArrayLike | None = None,
    eps: float = 1e-8,
    n_iter_max: int = 100,
) -> tuple[Floats, Floats]:
    """Orthogonal joint diagonalization with one component per row.

    The algorithm is that of :func:`rjd`, which returns one component per column.

    Parameters
    ----------
    X, eps, n_iter_max
        As in :func:`rjd`.
    init : array-like, shape (n, n), optional
        Starting point, an orthogonal matrix with one component per row (default: the identity).

    Returns
    -------
    V : ndarray, shape (n, n)
        Orthogonal, one component per row.
    D : ndarray, shape (n_matrices, n, n)
        V X V'.

    Examples
    --------
    >>> import numpy as np
    >>> from codiag.compat.pyriemann import jade
    >>> V, D = jade([[[2.0, 1.0], [1.0, 3.0]], [[5.0, 5.0], [5.0, 10.0]]])
    >>> bool(np.allclose(V @ [[2.0, 1.0], [1.0, 3.0]] @ V.T, D[0]))
    True
    """
    _check_positive("eps", eps)
    data = real_set(X, "X")
    start = np.eye(data.shape[1]) if init is None else matrix(init, "init")
    V, finished, solved = rotations(data, start, eps, n_iter_max)
    if not finished:
        _warn(solved)
    return V, V @ data @ V.T


def uwedge(
    X: ArrayLike,
    *,
    init: ArrayLike | None = None,
    eps: float = 1e-7,
    n_iter_max: int = 100,
) -> tuple[Floats, Floats]:
    """Joint diagonalization by U-WEDGE, as ``pyriemann.geometry.ajd.uwedge``.

    Steps and result are equal to those of pyRiemann.

    Parameters
    ----------
    X : array-like, shape (n_matrices, n, n)
        Matrices, which need not be positive definite; their symmetric parts are used.
    init : array-like, shape (n, n), optional
        Starting point (default: the eigenvectors of X[0] divided by the roots of its eigenvalues).
    eps : float
        The solve stops when the off-diagonal energy of D changes by less than this.
    n_iter_max : int
        Maximum number of iterations.

    Returns
    -------
    V : ndarray, shape (n, n)
        Filters, one per row; V X[0] V' has a diagonal of ones, up to their signs.
    D : ndarray, shape (n_matrices, n, n)
        V X V'.

    Examples
    --------
    >>> import codiag
    >>> from codiag.compat.pyriemann import uwedge
    >>> X, A = codiag.datasets.synthetic(50, 5, sigma=0)
    >>> V, D = uwedge(X)
    >>> bool(codiag.amari_distance(V, A) < 1e-5)
    True
    """
    _check_positive("eps", eps)
    data = real_set(X, "X")
    if init is None:
        # `eig` instead of `eigh`, because pyRiemann's eigenvectors are in the order of `eig`.
        values, vectors = np.linalg.eig(data[0].T)
        start = np.ascontiguousarray(np.real(vectors).T / np.sqrt(np.abs(values))[:, None])
    else:
        start = matrix(init, "init")
    found = steps((data + data.transpose(0, 2, 1)) / 2, start, eps, n_iter_max)
    if not found.finished:
        _warn(found.solved)
    return found.V, found.D


def ajd(
    X: ArrayLike,
    method: str | Callable[..., tuple[Any, Any]] = "ajd_pham",
    init: ArrayLike | None = None,
    eps: float = 1e-6,
    n_iter_max: int = 100,
    **kwargs: Any,
) -> tuple[Numbers, Numbers]:
    """Joint diagonalization by the given method, as ``pyriemann.geometry.ajd.ajd``.

    Parameters
    ----------
    X : array-like, shape (n_matrices, n, n)
        Matrices.
    method : {"ajd_pham", "ajd_newton", "rjd", "jade", "uwedge"} or callable
        Method (default "ajd_pham").
    init : array-like, shape (n, n), optional
        Starting point (default: that of the method).
    eps : float
        Tolerance of the method.
    n_iter_max : int
        Maximum number of iterations.
    **kwargs
        Further arguments of the method.

    Returns
    -------
    V : ndarray, shape (n, n)
        Filters.
    D : ndarray, shape (n_matrices, n, n)
        Transformed matrices.

    Examples
    --------
    >>> import codiag
    >>> from codiag.compat.pyriemann import ajd
    >>> X, _ = codiag.datasets.synthetic(50, 5)
    >>> V, D = ajd(X, method="ajd_newton")
    """
    function = _named(method) if isinstance(method, str) else method
    V, D = function(X, init=init, eps=eps, n_iter_max=n_iter_max, **kwargs)
    return V, D


def _named(method: str) -> Callable[..., tuple[Any, Any]]:
    functions: dict[str, Callable[..., tuple[Any, Any]]] = {
        "ajd_pham": ajd_pham,
        "ajd_newton": ajd_newton,
        "rjd": rjd,
        "jade": jade,
        "uwedge": uwedge,
    }
    if method not in functions:
        names = ", ".join(f'"{name}"' for name in functions)
        raise ValueError(f"method must be {names} or a callable, got {method!r}")
    return functions[method]


def _warn(solved: _core.SolveResult) -> None:
    warn_not_converged(
        f"Convergence not reached: {solved.status} after {solved.n_iter} iterations, "
        f"gradient norm {solved.gradient_norm:.2e}",
        stacklevel=4,
    )
