"""One set of matrices, one call."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from . import _core
from ._disk import Source, source_of
from ._errors import OnFailure, check_choice, describe, failed, report
from ._files import checkpoint_options
from ._input import (
    Floats,
    Numbers,
    alike,
    is_elsewhere,
    matrix,
    matrix_set,
    start_choice,
    usable_threads,
    weight_vector,
)
from ._progress import Progress
from ._result import Record, Result, from_fields

Seen = Callable[..., object] | None
Reading = Callable[[int, int, float], object] | None


def diagonalize(
    C: ArrayLike | os.PathLike[str],
    *,
    weights: ArrayLike | None = None,
    criterion: str = "likelihood",
    method: str = "newton",
    start: str | os.PathLike[str] | ArrayLike = "spectral",
    orthogonal: bool = False,
    rank: str | int = "full",
    shrinkage: float = 0.0,
    symmetrize: bool = False,
    tol: float = 1e-8,
    max_iter: int = 1000,
    restarts: int = 0,
    stability: int = 0,
    order: str = "contrast",
    canonical: bool = True,
    threads: int | None = None,
    memory: int | str | None = None,
    callback: Callable[[Record], object] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_every: float = 5.0,
    verbose: bool = False,
    on_failure: OnFailure = "warn",
) -> Result:
    r"""Find the one basis in which many symmetric matrices are as diagonal as can be.

    Minimizes over B, for positive definite matrices, the criterion of Pham [1]_,

    .. math:: L(B) = \frac12 \sum_i w_i [\sum_a \log D^i_{aa} - \log\det D^i],
        \quad D^i = B C^i B^H,

    which is zero exactly when all :math:`D^i` are diagonal. Other criteria take any symmetric
    matrices.

    Parameters
    ----------
    C : array-like, shape (n, p, p), or path of a .npy file
        The matrices, symmetric (if complex, Hermitian) and, for the likelihood, positive definite.
        A contiguous float64 or complex128 array is read in place; it is never changed. Of complex
        matrices B and A are complex, and all else is real. A dask array chunked along its first
        axis, or a list of futures of arrays (n_i, p, p), is solved where its chunks are: see Notes.
    weights : array-like, shape (n,), optional
        How much each matrix counts; equally by default. They are normalized to sum to 1.
    criterion : {"likelihood", "frobenius", "least-squares"}
        What is minimized: the likelihood above, for positive definite matrices; or the share of the
        energy :math:`\sum_i w_i \|C^i\|^2` that is off the diagonals, over orthogonal B, for any
        symmetric matrices, such as whitened lagged covariances or cumulant matrices [3]_; or the
        share of it that the fit :math:`C^i \approx A \Lambda^i A^T`, with the best diagonal
        :math:`\Lambda^i` and :math:`B = A^{-1}`, leaves, for any symmetric matrices [4]_.
    method : {"newton", "quasi-newton", "pham", "row-wise", "jacobi", "acdc", "uwedge", "ffdiag"}
        Newton's method, for every criterion. For the first two, Algorithm 1 of [2]_, which for the
        likelihood and from ``start="whitener"`` is followed to the letter. For the likelihood,
        Pham's own algorithm, or alternating minimization over the rows of B, which is slower and
        serves for comparison. For the Frobenius criterion, Jacobi rotations [3]_. For least
        squares, AC-DC [4]_, U-WEDGE [5]_ or FFDIAG [6]_; the last two solve an equation that has
        the same answer on exact sets only.
    start : {"spectral", "whitener", "identity"}, array-like of shape (p, p), or path
        Where the iteration starts; a path is that of an .npy file, such as a checkpoint.
    orthogonal : bool
        Whether B is kept orthogonal (unitary): common principal components. Always so with
        ``criterion="frobenius"``, and not for least squares, ``method="pham"`` and ``"row-wise"``.
    rank : {"full", "auto"} or int
        Whether the set is reduced first: "auto" to the range of its mean, for matrices that share a
        null space; a number to that many leading dimensions. For the other criteria than the
        likelihood they are the leading eigenvectors of the mean square of the matrices.
    shrinkage : float
        From 0 to 1: each matrix becomes (1 - s) C + s tr(C)/p I, for matrices that are singular.
    symmetrize : bool
        Whether matrices that are not symmetric are replaced by their symmetric parts, for instance
        those computed in single precision. Asymmetry beyond 1e-8 is an error otherwise.
    tol : float
        The gradient norm at which the solve has converged. It depends neither on units nor on n.
    max_iter : int
        The largest number of iterations.
    restarts : int
        Number of further starts, tried in a fixed order; the result of lowest loss is kept. For the
        likelihood, they come in rounds of five that begin at the best point so far with some of its
        components mixed, and Newton's method gives one up as soon as it is not expected to win.
    stability : int
        How many resamples of the matrices, drawn with replacement, to solve from the answer, in
        order to learn how surely each component comes again: ``Result.stability``. Twenty cost a
        few times as much as the solve itself. Only for matrices in memory.
    order : {"contrast", "stability"}
        Whether components come by what tells them apart, as `canonical` says, or by how surely they
        come again, for which there must be resamples or restarts.
    canonical : bool
        Whether B comes in canonical form: unit mean powers, components ordered by how much their
        power varies over the set (descending), the largest entry of each pattern real and positive.
        For the other criteria, components are ordered by their energy, and rows of B (Frobenius) or
        columns of A (least squares) have unit norm.
    threads : int, optional
        The number of threads, as many as pay by default. The answer does not depend on it.
    memory : int or str, optional
        How much memory to use for matrices in a file, in bytes or as "500MB", "2GB", "1GiB": C is
        the path of a .npy file or a :class:`numpy.memmap`, of any size, and is read again in every
        iteration, unless there is memory enough for all of it. ``residuals`` and ``powers`` are
        empty if they do not fit. Not for ``method="pham"`` and ``"jacobi"``. Without ``memory``, a
        file is read whole.
    callback : callable, optional
        Called with a :class:`Record` at the start and after each iteration, also while a start is
        being improved on a sample of the matrices; stops the solve by returning True.
    checkpoint : str or path-like, optional
        Save the best B so far here, as .npy, every few seconds and at the end. Should the process
        die, ``start=`` that file goes on from there.
    checkpoint_every : float
        The seconds between checkpoints.
    verbose : bool
        Whether to show progress: a live line on a terminal or in a notebook, otherwise one line at
        the end, on standard error.
    on_failure : {"warn", "raise", "ignore"}
        What to do if the solve does not converge.

    Returns
    -------
    Result
        With the filters ``B``, the patterns ``A``, and how the solve went.

    Raises
    ------
    ValueError
        If the matrices or the options are not as they should be; the message says which and how.
    ConvergenceError
        With ``on_failure="raise"``.

    Notes
    -----
    Ctrl-C stops the solve after the iteration that is under way (or within ten milliseconds, if
    iterations are shorter than that), or while a file is being read.

    A dask array or a list of futures is solved on the current ``dask.distributed`` client, or, if
    there is none, on a cluster in this process (``pip install 'codiag[dask]'``). Each worker holds
    its chunks; only sums travel. The answer is that of one machine, whatever the number of workers;
    a worker that dies is replaced by others, which load its chunks again, and no iteration is lost.
    ``residuals`` and ``powers`` are empty for sets of more than 25 million powers (n times p).

    References
    ----------
    .. [1] D.-T. Pham, "Joint approximate diagonalization of positive definite Hermitian matrices",
       SIAM J. Matrix Anal. Appl. 22(4), 2001.
    .. [2] P. Ablin, J.-F. Cardoso and A. Gramfort, "Beyond Pham's algorithm for joint
       diagonalization", ESANN 2019.
    .. [3] J.-F. Cardoso and A. Souloumiac, "Jacobi angles for simultaneous diagonalization",
       SIAM J. Matrix Anal. Appl. 17(1), 1996.
    .. [4] A. Yeredor, "Non-orthogonal joint diagonalization in the least-squares sense with
       application in blind source separation", IEEE Trans. Signal Process. 50(7), 2002.
    .. [5] P. Tichavsky and A. Yeredor, "Fast approximate joint diagonalization incorporating weight
       matrices", IEEE Trans. Signal Process. 57(3), 2009.
    .. [6] A. Ziehe, P. Laskov, G. Nolte and K.-R. Müller, "A fast algorithm for joint
       diagonalization with non-orthogonal transformations", J. Mach. Learn. Res. 5, 2004.

    Examples
    --------
    >>> import codiag
    >>> C, A = codiag.datasets.synthetic(100, 10, sigma=0)
    >>> result = codiag.diagonalize(C)
    >>> result.converged
    True
    >>> codiag.amari_distance(result.B, A) < 1e-8
    True
    """
    check_choice(on_failure)
    options = {
        "criterion": criterion,
        "method": method,
        "start": start_choice(start),
        "orthogonal": orthogonal,
        "rank": rank,
        "shrinkage": shrinkage,
        "symmetrize": symmetrize,
        "tol": tol,
        "max_iter": max_iter,
        "restarts": restarts,
        "stability": stability,
        "order": order,
        "canonical": canonical,
        "threads": usable_threads(threads),
        **checkpoint_options(checkpoint, checkpoint_every),
    }
    fields = follow(_solver(C, weights, options, memory), callback, verbose)
    result = from_fields(fields)
    if failed(result):
        report(describe(result, tol), on_failure, result)
    return result


_Solver = Callable[[Seen, Reading], dict[str, Any]]


def _solver(C: Any, weights: Any, options: dict[str, Any], memory: int | str | None) -> _Solver:
    """Return what solves for these matrices, wherever they are."""
    if type(C) is np.ndarray and memory is None:
        # Neither a path nor elsewhere, which small problems should not have to wait for.
        return _in_memory(C, weights, options)
    source = source_of(C, memory)
    if source is not None:
        return _from_disk(source, memory, weight_vector(weights), options)
    if is_elsewhere(C):
        try:
            from .dask import _parts
        except ImportError as missing:
            raise ImportError(
                "a set on a cluster needs dask.distributed: pip install 'codiag[dask]'"
            ) from missing
        return lambda seen, _: _parts.solve(C, weights, options, seen)
    return _in_memory(C, weights, options)


def _in_memory(C: Any, weights: Any, options: dict[str, Any]) -> _Solver:
    data, vector = matrix_set(C), weight_vector(weights)
    return lambda seen, _: _core.solve(data, vector, options, seen)


def _from_disk(
    source: Source, memory: int | str | None, weights: Floats | None, options: dict[str, Any]
) -> _Solver:
    path, layout = source
    return lambda seen, reading: _core.solve_file(
        path, layout, memory, weights, options, seen, reading
    )


def follow(
    solve: _Solver,
    callback: Callable[[Record], object] | None,
    verbose: bool,
) -> dict[str, Any]:
    """Return what `solve` does; on the way show progress and call the callback."""
    if not verbose:
        return solve(None if callback is None else _recorded(callback), None)
    progress = Progress()

    def shown(**fields: Any) -> object:
        record = Record(**fields)
        progress.show(record)
        return callback is not None and callback(record)

    try:
        fields = solve(shown, progress.reading)
    except BaseException:
        progress.interrupted()
        raise
    progress.end(from_fields(fields))
    return fields


def _recorded(callback: Callable[[Record], object]) -> Callable[..., object]:
    return lambda **fields: callback(Record(**fields))


def loss(
    C: ArrayLike,
    B: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    criterion: str = "likelihood",
) -> float:
    """Return the criterion at any B: zero if all ``B @ C[i] @ B.conj().T`` are diagonal.

    Parameters
    ----------
    C : array-like, shape (n, p, p)
        The matrices.
    B : array-like, shape (p, p)
        Where.
    weights : array-like, shape (n,), optional
        How much each matrix counts.
    criterion : {"likelihood", "frobenius", "least-squares"}
        As in :func:`codiag.diagonalize`; for "frobenius" B should be orthogonal.

    Returns
    -------
    float

    Examples
    --------
    >>> import codiag
    >>> codiag.loss([[[2, 0], [0, 1]], [[1, 0], [0, 3]]], [[1, 0], [0, 1]])
    0.0
    """
    return _criterion(C, B, weights, criterion)[0]


def gradient(
    C: ArrayLike,
    B: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    criterion: str = "likelihood",
) -> Numbers:
    """Return the relative gradient of the criterion at any B.

    That is G with L((I + E) B) = L(B) + <G, E> + O(E²), of complex matrices the real part of the
    inner product; for the likelihood its diagonal is zero.

    Parameters
    ----------
    C : array-like, shape (n, p, p)
        The matrices.
    B : array-like, shape (p, p)
        Where. It is not rescaled, and G depends on the scale of its rows.
    weights : array-like, shape (n,), optional
        How much each matrix counts.
    criterion : {"likelihood", "frobenius", "least-squares"}
        As in :func:`codiag.diagonalize`.

    Returns
    -------
    ndarray, shape (p, p)

    Examples
    --------
    >>> import codiag
    >>> codiag.gradient([[[2, 1], [1, 1]]], [[1, 0], [0, 1]])
    array([[0. , 0.5],
           [1. , 0. ]])
    """
    return _criterion(C, B, weights, criterion)[1]


def _criterion(
    C: ArrayLike, B: ArrayLike, weights: ArrayLike | None, name: str
) -> tuple[float, Numbers]:
    data, vector = matrix_set(C), weight_vector(weights)
    data, b = alike(data, matrix(B, "B"))
    return _core.criterion(data, b, vector, name, usable_threads(None))


def amari_distance(B: ArrayLike, A: ArrayLike) -> float:
    """Return Amari's distance of B A to a scaled permutation.

    Parameters
    ----------
    B : array-like, shape (p, p)
        The filters found.
    A : array-like, shape (p, p)
        The true mixing.

    Returns
    -------
    float
        0 if B inverts A up to order, scale and phase, at most 1.

    Examples
    --------
    >>> import codiag
    >>> codiag.amari_distance([[0, 2], [3, 0]], [[1, 0], [0, 1]])
    0.0
    """
    return _core.amari_distance(*alike(matrix(B, "B"), matrix(A, "A")))
