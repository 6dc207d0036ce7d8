"""Joint diagonalization of one set of matrices, and the criterion at any point."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from . import _core
from ._arrays import (
    dlpack_namespace,
    init_choice,
    is_distributed,
    matrix,
    matrix_set,
    same_type,
    usable_n_jobs,
    weight_vector,
)
from ._disk import Source, source_of
from ._errors import check_on_failure, describe, failed, report
from ._files import checkpoint_options
from ._keywords import suggests_keywords
from ._progress import Progress
from ._result import Record, Result
from ._typing import (
    ArrayInput,
    Criterion,
    Floats,
    Init,
    Memory,
    Method,
    NComponents,
    Numbers,
    OnFailure,
    SortBy,
)

OnRecord = Callable[..., object] | None
OnRead = Callable[[int, int, float], object] | None


@suggests_keywords
def diagonalize(
    C: ArrayInput | os.PathLike[str],
    *,
    sample_weight: ArrayInput | None = None,
    criterion: Criterion = "likelihood",
    method: Method = "newton",
    init: Init | str = "spectral",
    orthogonal: bool = False,
    n_components: NComponents = None,
    shrinkage: float = 0.0,
    symmetrize: bool = False,
    tol: float = 1e-8,
    max_iter: int = 1000,
    n_restarts: int = 0,
    n_resamples: int = 0,
    sort_by: SortBy = "contrast",
    canonical: bool = True,
    n_jobs: int | None = None,
    memory: Memory = None,
    callback: Callable[[Record], object] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_every: float = 5.0,
    verbose: bool = False,
    on_failure: OnFailure = "warn",
) -> Result:
    r"""Find the basis in which many symmetric matrices are as diagonal as possible.

    Minimizes over B, for positive definite matrices, the criterion of Pham [1]_,

    .. math:: L(B) = \frac12 \sum_i w_i [\sum_a \log D^i_{aa} - \log\det D^i],
        \quad D^i = B C^i B^H,

    which is zero exactly when all :math:`D^i` are diagonal. The other criteria accept any symmetric
    matrices.

    Parameters
    ----------
    C : array-like, shape (n, p, p), or path of an npy file
        Matrices, symmetric (Hermitian if complex) and, for the likelihood, positive definite. A
        NumPy array, anything with ``__array__`` or ``__dlpack__`` (such as a torch tensor on the
        CPU), or nested lists. A contiguous float64 or complex128 array is read in place and never
        changed. A dask array chunked along its first axis, or a list of futures of arrays
        (n_i, p, p), is solved where its chunks are: see Notes.
    sample_weight : array-like, shape (n,), optional
        Weight of each matrix (default: equal weights). Weights are normalized to sum to 1.
    criterion : {"likelihood", "frobenius", "least-squares"}
        Criterion to minimize (default "likelihood", the one above). "frobenius": the fraction of
        the energy :math:`\sum_i w_i \|C^i\|^2` that is off the diagonals, over orthogonal B, for
        any symmetric matrices, such as whitened lagged covariances or cumulant matrices [3]_.
        "least-squares": the fraction of the energy that the fit :math:`C^i \approx A \Lambda^i A^T`
        with optimal diagonal :math:`\Lambda^i` does not explain, where :math:`B = A^{-1}` [4]_.
    method : {"newton", "quasi-newton", "pham", "row-wise", "jacobi", "acdc", "uwedge", "ffdiag"}
        Algorithm (default "newton", which every criterion has). "quasi-newton" is Algorithm 1 of
        [2]_ for the likelihood and "frobenius". "pham" (Pham's algorithm [1]_) and "row-wise"
        (alternating minimization over the rows of B) are for the likelihood, "jacobi" (Jacobi
        rotations [3]_) for "frobenius", "acdc" [4]_, "uwedge" [5]_ and "ffdiag" [6]_ for
        "least-squares". "uwedge" and "ffdiag" solve an equation that has the minimizer as its
        solution only if the set can be diagonalized exactly.
    init : {"spectral", "whitener", "identity"}, array-like of shape (p, p), or path
        Starting point of the iteration (default "spectral"). A path is that of an npy file, such as
        a checkpoint.
    orthogonal : bool
        Whether B is kept orthogonal (unitary), as for common principal components (default False).
        Always so with "frobenius"; not available for "least-squares", "pham" and "row-wise".
    n_components : int, "auto" or None
        Number of dimensions to which the set is reduced first: the leading eigenvectors of the mean
        of the matrices (for other criteria than the likelihood, of the mean of their squares).
        "auto" finds the dimension of the range of the mean, for matrices that share a null space.
        None, the default, keeps all dimensions.
    shrinkage : float
        Amount s from 0 to 1 (default 0) by which each matrix is shrunk towards a multiple of the
        identity: C becomes (1 - s) C + s tr(C)/p I.
    symmetrize : bool
        Whether matrices that are not symmetric are replaced by their symmetric parts (default
        False: an asymmetry beyond 1e-8 raises ValueError). Useful for matrices computed in single
        precision.
    tol : float
        Gradient norm below which the solve has converged (default 1e-8). It depends neither on
        units nor on n.
    max_iter : int
        Largest number of iterations (default 1000).
    n_restarts : int
        Number of further starting points, tried in a fixed order (default 0); the result of lowest
        loss is kept. For the likelihood they come in rounds of five, each from the best point so
        far with some of its components mixed; Newton's method stops one early if it is not expected
        to reach a lower loss.
    n_resamples : int
        Number of bootstrap resamples of the matrices used to estimate how reproducible each
        component is (default 0: not estimated), see :attr:`Result.stability`. Twenty cost a few
        times as much as the solve itself. Only for matrices in memory.
    sort_by : {"contrast", "stability"}
        Order of the components, descending. "contrast", the default: by how much the power of a
        component varies over the set; for "frobenius" and "least-squares", by its energy.
        "stability" needs `n_resamples` or `n_restarts`.
    canonical : bool
        Whether B is returned in canonical form (default True): components of unit mean power, in
        the order of `sort_by`, with a real and positive largest entry of each pattern. For
        "frobenius", rows of B have unit norm; for "least-squares", columns of A have.
    n_jobs : int or None
        Number of threads (default None: chosen automatically; -1: all cores). The result does not
        depend on it.
    memory : int or str, optional
        Limit of the memory for matrices in a file, in bytes or as "500MB", "2GB", "1GiB". C is then
        the path of an npy file or a :class:`numpy.memmap` of any size, which is read again in every
        iteration unless it fits. ``residuals`` and ``powers`` are empty if they do not fit. Not for
        "pham" and "jacobi". By default a file is read completely.
    callback : callable, optional
        Function called with a :class:`Record` at the starting point and after each iteration, also
        while a starting point is improved on a sample of the matrices. If it returns True, the
        solve ends with status "interrupted".
    checkpoint : str or path-like, optional
        Path of an npy file in which the best B so far is saved regularly and at the end. A solve
        can be resumed from it by ``init=path``.
    checkpoint_every : float
        Seconds between checkpoints (default 5).
    verbose : bool
        Whether progress is shown (default False): a live line on a terminal or in a notebook,
        otherwise one line at the end; on standard error, in a notebook below the cell.
    on_failure : {"warn", "raise", "ignore"}
        Reaction to a solve that does not converge (default "warn").

    Returns
    -------
    Result
        Filters ``B``, patterns ``A`` and diagnostics of the solve.

    Raises
    ------
    ValueError
        If the matrices or the options are invalid; the message names the matrix or the option.
    ConvergenceError
        If the solve does not converge, with ``on_failure="raise"``.

    Warns
    -----
    ConvergenceWarning
        If the solve does not converge, with ``on_failure="warn"``.

    Notes
    -----
    Ctrl-C interrupts the solve after the current iteration, or while a file is read.

    A dask array or a list of futures is solved on the current ``dask.distributed`` client or, if
    there is none, on a cluster in this process (needs the extra "dask"). Each worker holds
    its chunks; only sums travel. The result does not depend on the number of workers. If a worker
    dies, the others load its chunks again, and no iteration is lost. ``residuals`` and ``powers``
    are empty for sets of more than 25 million powers (n times p).

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
    >>> result.status
    'converged'
    >>> codiag.amari_distance(result.B, A) < 1e-8
    True
    """
    check_on_failure(on_failure)
    options = {
        "criterion": criterion,
        "method": method,
        "init": init_choice(init),
        "orthogonal": orthogonal,
        "n_components": n_components,
        "shrinkage": shrinkage,
        "symmetrize": symmetrize,
        "tol": tol,
        "max_iter": max_iter,
        "n_restarts": n_restarts,
        "n_resamples": n_resamples,
        "sort_by": sort_by,
        "canonical": canonical,
        "n_jobs": usable_n_jobs(n_jobs),
        **checkpoint_options(checkpoint, checkpoint_every),
    }
    solved = solve_with_progress(_solver(C, sample_weight, options, memory), callback, verbose)
    # type() first: small problems should not wait for the general test.
    result = Result(solved, None if type(C) is np.ndarray else dlpack_namespace(C))
    if failed(result):
        report(describe(result, tol), on_failure, result, depth=4)
    return result


_Solver = Callable[[OnRecord, OnRead], _core.SolveResult]


def _solver(C: Any, weights: Any, options: dict[str, Any], memory: Memory) -> _Solver:
    """Return a function that solves for these matrices, wherever they are stored."""
    if type(C) is np.ndarray and memory is None:
        # Fast path for small problems.
        return _in_memory(C, weights, options)
    source = source_of(C, memory)
    if source is not None:
        return _from_disk(source, memory, weight_vector(weights), options)
    if is_distributed(C):
        try:
            from .dask import _parts
        except ImportError as missing:
            raise ImportError(
                "a set on a cluster needs dask.distributed: pip install 'dask[array]' distributed"
            ) from missing
        return lambda on_record, _: _parts.solve(C, weights, options, on_record)
    return _in_memory(C, weights, options)


def _in_memory(C: Any, weights: Any, options: dict[str, Any]) -> _Solver:
    data, vector = matrix_set(C), weight_vector(weights)
    return lambda on_record, _: _core.solve(data, vector, options, on_record)


def _from_disk(
    source: Source, memory: Memory, weights: Floats | None, options: dict[str, Any]
) -> _Solver:
    path, layout = source
    return lambda on_record, on_read: _core.solve_file(
        path, layout, memory, weights, options, on_record, on_read
    )


def solve_with_progress(
    solve: _Solver, callback: Callable[[Record], object] | None, verbose: bool
) -> _core.SolveResult:
    """Return the result of `solve`; meanwhile show progress and call the callback."""
    if not verbose:
        return solve(None if callback is None else _with_records(callback), None)
    progress = Progress()

    def on_record(**fields: Any) -> object:
        record = Record(**fields)
        progress.show(record)
        return callback is not None and callback(record)

    try:
        solved = solve(on_record, progress.reading)
    except BaseException:
        progress.interrupted()
        raise
    progress.end(Result(solved))
    return solved


def _with_records(callback: Callable[[Record], object]) -> Callable[..., object]:
    return lambda **fields: callback(Record(**fields))


@suggests_keywords
def loss(
    C: ArrayInput,
    B: ArrayInput,
    *,
    sample_weight: ArrayInput | None = None,
    criterion: Criterion = "likelihood",
) -> float:
    """Return the criterion at any B: zero if all ``B @ C[i] @ B.conj().T`` are diagonal.

    Parameters
    ----------
    C : array-like, shape (n, p, p)
        Matrices.
    B : array-like, shape (p, p)
        Filters, one per row.
    sample_weight : array-like, shape (n,), optional
        Weight of each matrix (default: equal weights).
    criterion : {"likelihood", "frobenius", "least-squares"}
        Criterion, as in :func:`codiag.diagonalize`; for "frobenius" B should be orthogonal.

    Returns
    -------
    float

    Examples
    --------
    >>> import codiag
    >>> codiag.loss([[[2, 0], [0, 1]], [[1, 0], [0, 3]]], [[1, 0], [0, 1]])
    0.0
    """
    return _criterion(C, B, sample_weight, criterion)[0]


@suggests_keywords
def gradient(
    C: ArrayInput,
    B: ArrayInput,
    *,
    sample_weight: ArrayInput | None = None,
    criterion: Criterion = "likelihood",
) -> Numbers:
    """Return the relative gradient of the criterion at any B.

    The relative gradient G is defined by L((I + E) B) = L(B) + <G, E> + O(E²), where the inner
    product is the real part for complex matrices. For the likelihood its diagonal is zero.

    Parameters
    ----------
    C : array-like, shape (n, p, p)
        Matrices.
    B : array-like, shape (p, p)
        Filters, one per row. They are not rescaled, and G depends on their scale.
    sample_weight : array-like, shape (n,), optional
        Weight of each matrix (default: equal weights).
    criterion : {"likelihood", "frobenius", "least-squares"}
        Criterion, as in :func:`codiag.diagonalize`.

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
    return _criterion(C, B, sample_weight, criterion)[1]


def _criterion(
    C: ArrayInput, B: ArrayInput, weights: ArrayInput | None, name: str
) -> tuple[float, Numbers]:
    data, vector = matrix_set(C), weight_vector(weights)
    data, b = same_type(data, matrix(B, "B"))
    return _core.criterion(data, b, vector, name, usable_n_jobs(None))


def amari_distance(B: ArrayInput, A: ArrayInput) -> float:
    """Return the Amari distance of B A to a scaled permutation.

    Parameters
    ----------
    B : array-like, shape (r, p)
        Estimated filters, one per row.
    A : array-like, shape (p, r)
        True mixing matrix, with one column per filter: the product B A must be square.

    Returns
    -------
    float
        From 0, if B inverts A up to order, scale and phase, to 1.

    Examples
    --------
    >>> import codiag
    >>> codiag.amari_distance([[0, 2], [3, 0]], [[1, 0], [0, 1]])
    0.0
    """
    return _core.amari_distance(*same_type(matrix(B, "B"), matrix(A, "A")))
