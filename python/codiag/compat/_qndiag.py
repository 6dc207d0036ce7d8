"""Functions of qndiag 0.1 and its development version.

Their known defects are corrected: ``diag_only`` computes the diagonal, weights affect the first
loss, a line search that fails ends the solve, and a solve that does not converge warns.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import _core
from .._arrays import matrix, real_set, usable_n_jobs, weight_vector
from .._errors import report
from .._typing import Floats
from ._pham import sweeps


def qndiag(
    C: ArrayLike,
    B0: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    max_iter: int = 1000,
    tol: float = 1e-6,
    lambda_min: float = 1e-4,
    max_ls_tries: int = 10,
    diag_only: bool = False,
    return_B_list: bool = False,
    *,
    check_sympos: bool = True,
    verbose: bool = False,
    ortho: bool = False,
) -> tuple[Floats, dict[str, list[Any]]]:
    """Joint diagonalization by the quasi-Newton method, as ``qndiag.qndiag``.

    Parameters
    ----------
    C : array-like, shape (n_samples, n_features, n_features)
        Matrices, which are always checked.
    B0 : array-like, shape (n_features, n_features), optional
        Starting point (default: a whitener of the mean).
    weights : array-like, shape (n_samples,), optional
        Weight of each matrix (default: equal weights).
    max_iter : int
        Largest number of iterations.
    tol : float
        The solve stops when the norm of the gradient is below tol times the square root of
        n_features.
    lambda_min : float
        Lower bound of the determinants of the blocks of the Hessian.
    max_ls_tries : int
        Largest number of trials of the line search.
    diag_only, check_sympos : bool
        Ignored: the line search needs only diagonals, and the matrices are always checked.
    return_B_list : bool
        Whether ``infos`` contains the iterates.
    verbose : bool
        Whether the loss and the gradient of each iteration are printed.
    ortho : bool
        Whether B is kept orthogonal.

    Returns
    -------
    B : ndarray, shape (n_features, n_features)
        Filters, neither ordered nor scaled.
    infos : dict
        ``t_list``, ``gradient_list``, ``loss_list`` and, with `return_B_list`, ``B_list``.

    Examples
    --------
    >>> import codiag
    >>> import codiag.compat as qndiag
    >>> C, _ = codiag.datasets.synthetic(50, 5)
    >>> B, infos = qndiag.qndiag(C)
    >>> len(infos["t_list"]) == len(infos["loss_list"]) + 1
    True
    """
    if np.ndim(C) != 3:
        raise ValueError(f"C must have 3 dimensions, got shape {np.shape(C)}")
    data = real_set(C)
    vector = weight_vector(weights, "weights")
    options = {
        "method": "quasi-newton",
        "init": _start(data, B0, ortho),
        "orthogonal": ortho,
        "tol": tol,
        "max_iter": max_iter,
        "lambda_min": lambda_min,
        "max_halvings": max_ls_tries,
        "canonical": False,
        "rescale": False,
        "n_jobs": usable_n_jobs(None),
        "keep_iterates": return_B_list,
    }
    p = data.shape[1]
    printer = _Printer(data, vector, p, max_iter) if verbose else None
    solved = _core.solve(data, vector, options, printer)
    history, n_iter = solved.history, solved.n_iter
    # qndiag records the time when it tests the gradient: before each step, but not after the last.
    n_tests = min(n_iter + 1, max_iter)
    infos: dict[str, list[Any]] = {
        "t_list": history["seconds"][:n_tests].tolist(),
        "gradient_list": list(np.sqrt(p) * np.array(history["gradient_norm"][:n_iter])),
        "loss_list": list(np.array(history["loss"][1:]) + 0.5 * solved.mean_log_det),
    }
    if return_B_list:
        infos["B_list"] = (solved.iterates or [])[:n_tests]
    if not solved.converged:
        report(
            f"no convergence: status {solved.status!r} after {n_iter} iterations, "
            f"gradient norm {solved.gradient_norm:.2e} (tol={tol:g})",
            "warn",
        )
    return solved.B, infos


def _start(data: Floats, B0: ArrayLike | None, ortho: bool) -> Floats:
    if B0 is not None:
        given = matrix(B0, "B0")
        if ortho and np.isfinite(given).all() and given.shape[0] == given.shape[1]:
            # The nearest orthogonal matrix.
            left, _, right = np.linalg.svd(given)
            given = left @ right
        return given
    mean = data.mean(axis=0)
    if not np.isfinite(mean).all():
        # The solver raises the error that names the entry.
        return np.eye(data.shape[1])
    values, vectors = np.linalg.eigh(mean)
    if ortho or values[0] <= 0:
        return np.ascontiguousarray(vectors.T)
    return np.ascontiguousarray(vectors.T / np.sqrt(values)[:, None])


class _Printer:
    """Printer of qndiag's progress table: for each step, its loss and the gradient before it."""

    def __init__(self, data: Floats, weights: Floats | None, p: int, max_iter: int) -> None:
        print("Running quasi-Newton for joint diagonalization")
        print(" | ".join(name.center(8) for name in ["iter", "obj", "gradient"]))
        self.offset = 0.5 * np.average(np.linalg.slogdet(data)[1], weights=weights)
        self.p = p
        self.before = 0.0

    def __call__(self, **record: Any) -> bool:
        if record["iteration"] > 0:
            loss = record["loss"] + self.offset
            cells = [str(record["iteration"]), f"{loss:.2e}", f"{self.before:.2e}"]
            print(" | ".join(cell.rjust(8) for cell in cells))
        self.before = np.sqrt(self.p) * record["gradient_norm"]
        return False


def ajd_pham(
    X: ArrayLike,
    tol: float = 1e-14,
    max_iter: int = 1000,
    return_B_list: bool = False,
    verbose: bool = False,
) -> tuple[Floats, dict[str, list[Any]]]:
    """Joint diagonalization by Pham's algorithm, as ``qndiag.ajd_pham``.

    Parameters
    ----------
    X : array-like, shape (n_epochs, n_channels, n_channels)
        Matrices.
    tol : float
        Stops when the decrease of the loss that a sweep predicts, summed over pairs and matrices,
        is below n_channels (n_channels - 1) tol.
    max_iter : int
        The largest number of sweeps.
    return_B_list : bool
        Whether ``infos`` contains the iterates.
    verbose : bool
        Whether to print the decrease of each sweep.

    Returns
    -------
    V : ndarray, shape (n_channels, n_channels)
        Filters.
    infos : dict
        ``t_list`` and, if asked for, ``B_list``, one entry per sweep.

    Examples
    --------
    >>> import codiag
    >>> import codiag.compat as qndiag
    >>> C, _ = codiag.datasets.synthetic(50, 5)
    >>> V, infos = qndiag.ajd_pham(C)
    >>> list(infos)
    ['t_list']
    """
    _check_positive("tol", tol)
    data = real_set(X)
    n = len(data)

    def show(**record: Any) -> bool:
        if record["iteration"] > 0:
            print(f"Iteration {record['iteration'] - 1}, decr : {n * record['decrement']:.2e}")
        return False

    found = sweeps(
        data,
        None,
        _start(data, None, False),
        tol,
        max_iter,
        return_B_list,
        show if verbose else None,
    )
    done = found.solved.n_iter
    seconds = found.solved.history["seconds"]
    infos: dict[str, list[Any]] = {"t_list": seconds[:done].tolist()}
    if return_B_list:
        infos["B_list"] = (found.solved.iterates or [])[:done]
    if not found.finished:
        report(
            f"no convergence: status {found.solved.status!r} after {done} sweeps (tol={tol:g})",
            "warn",
        )
    return found.V, infos


def _check_positive(name: str, value: float) -> None:
    if not 0 < value < float("inf"):
        raise ValueError(f"{name} must be a positive number, got {value}")


def transform_set(M: ArrayLike, D: ArrayLike, diag_only: bool = False) -> Floats:
    """Return M D[i] M' for all i, or only the diagonals, as ``qndiag.transform_set``.

    Parameters
    ----------
    M : array-like, shape (p, p)
        Transform.
    D : array-like, shape (n, p, p)
        Matrices.
    diag_only : bool
        Whether only the diagonals are returned.

    Returns
    -------
    ndarray, shape (n, p, p) or (n, p)

    Examples
    --------
    >>> import codiag.compat as qndiag
    >>> qndiag.transform_set([[1, 1], [0, 1]], [[[2, 0], [0, 1]]], diag_only=True)
    array([[3., 1.]])
    """
    M, D = matrix(M, "M"), real_set(D, "D")
    product: Floats = M @ D
    transformed: Floats = (product * M).sum(axis=-1) if diag_only else product @ M.T
    return transformed


def loss(
    B: ArrayLike, D: ArrayLike, is_diag: bool = False, weights: ArrayLike | None = None
) -> float:
    """Return qndiag's loss at B, given the transformed matrices, as ``qndiag.loss``.

    Parameters
    ----------
    B : array-like, shape (p, p)
        Filters.
    D : array-like, shape (n, p, p), or (n, p) with `is_diag`
        Transformed matrices, or their diagonals.
    is_diag : bool
        Whether D contains only the diagonals.
    weights : array-like, shape (n,), optional
        Weights of mean 1.

    Returns
    -------
    float

    Examples
    --------
    >>> import codiag.compat as qndiag
    >>> qndiag.loss([[1, 0], [0, 1]], [[1, 1]], is_diag=True)
    0.0
    """
    D = np.asarray(D, float)
    logs = np.log(D if is_diag else np.diagonal(D, axis1=1, axis2=2))
    if weights is not None:
        logs = np.asarray(weights, float)[:, None] * logs
    return float(0.5 * logs.sum() / len(D) - np.linalg.slogdet(matrix(B, "B"))[1])


def gradient(D: ArrayLike, weights: ArrayLike | None = None) -> Floats:
    """Return the relative gradient, given the transformed matrices, as ``qndiag.gradient``.

    Parameters
    ----------
    D : array-like, shape (n, p, p)
        Transformed matrices.
    weights : array-like, shape (n,), optional
        Weight of each matrix (default: equal weights).

    Returns
    -------
    ndarray, shape (p, p)

    Examples
    --------
    >>> import codiag.compat as qndiag
    >>> qndiag.gradient([[[2, 1], [1, 1]]])
    array([[0. , 0.5],
           [1. , 0. ]])
    """
    D = real_set(D, "D")
    diagonals = np.diagonal(D, axis1=1, axis2=2)
    mean = np.average(D / diagonals[:, :, None], weights=weight_vector(weights, "weights"), axis=0)
    return mean - np.eye(D.shape[1])
