"""Solves of many sets: independent problems, and bootstrap resamples of one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from . import _core
from ._arrays import init_choice, matrix_set, same_type, usable_n_jobs, weight_vector
from ._errors import check_on_failure, describe, failed, report
from ._keywords import suggests_keywords
from ._random import generator
from ._result import Result
from ._shrinkage import shrunk
from ._typing import (
    ArrayInput,
    Criterion,
    Floats,
    Init,
    Method,
    NComponents,
    Numbers,
    OnFailure,
)

MAX_RESAMPLES = 1_000_000
"""Largest number of resamples; more are taken for a mistake."""


@suggests_keywords
def diagonalize_many(
    sets: Iterable[ArrayInput],
    *,
    sample_weight: Sequence[ArrayInput | None] | None = None,
    criterion: Criterion = "likelihood",
    method: Method = "newton",
    init: Init | Literal["group"] = "spectral",
    orthogonal: bool = False,
    n_components: NComponents = None,
    shrinkage: float = 0.0,
    symmetrize: bool = False,
    tol: float = 1e-8,
    max_iter: int = 1000,
    n_restarts: int = 0,
    n_resamples: int = 0,
    canonical: bool = True,
    n_jobs: int | None = None,
    on_failure: OnFailure = "warn",
) -> list[Result]:
    """Solve many independent problems, several at a time.

    Each problem is solved on one thread, so that no result depends on the number of threads.

    Parameters
    ----------
    sets : iterable of array-like, each of shape (n, p, p)
        Sets of matrices; n and p may differ between them.
    sample_weight : sequence of array-like or None, optional
        For each set the weights of its matrices (default: equal weights).
    init : {"spectral", "whitener", "identity", "group"} or array-like, shape (p, p)
        Starting point of all solves, as in :func:`codiag.diagonalize`. "group" is the result for
        the matrices of all sets together, with each set of equal weight: corresponding components
        then have the same number and sign in all results. The sets must have one size p, and
        results are not brought to canonical form.
    criterion, method, orthogonal, n_components, shrinkage, symmetrize, tol, max_iter
        Options of all solves, as in :func:`codiag.diagonalize`.
    n_restarts, n_resamples, canonical
        Options of all solves, as in :func:`codiag.diagonalize`.
    n_jobs : int or None
        Number of sets that are solved at a time (default None: one per hardware thread; -1: one per
        core).
    on_failure : {"warn", "raise", "ignore"}
        Reaction to solves that do not converge (default "warn"): one warning or error names all.

    Returns
    -------
    list of Result
        One per set, in their order.

    Examples
    --------
    >>> import codiag
    >>> subjects = [codiag.datasets.synthetic(50, 6, random_state=k)[0] for k in range(4)]
    >>> results = codiag.diagonalize_many(subjects)
    >>> [result.converged for result in results]
    [True, True, True, True]
    """
    check_on_failure(on_failure)
    data = [matrix_set(C, f"set {k}") for k, C in enumerate(sets)]
    if sample_weight is None:
        vectors: list[Floats | None] = [None] * len(data)
    else:
        vectors = [
            weight_vector(w, f"sample_weight of set {k}") for k, w in enumerate(sample_weight)
        ]
        if len(vectors) != len(data):
            raise ValueError(
                f"sample_weight must hold weights for {len(data)} sets, got {len(vectors)}"
            )
    grouped = isinstance(init, str) and init == "group"
    options: dict[str, Any] = {
        "criterion": criterion,
        "method": method,
        "init": "spectral" if grouped else init_choice(init),
        "orthogonal": orthogonal,
        "n_components": n_components,
        "shrinkage": shrinkage,
        "symmetrize": symmetrize,
        "tol": tol,
        "max_iter": max_iter,
        "n_restarts": n_restarts,
        "n_resamples": n_resamples,
        "canonical": canonical,
    }
    if grouped and data:
        group = _group_result(data, vectors, options, n_jobs, on_failure)
        options.update(init=group.B, canonical=False)
    return solve_many(data, vectors, options, n_jobs, on_failure)


def _group_result(
    data: list[Numbers],
    weights: list[Floats | None],
    options: dict[str, Any],
    n_jobs: int | None,
    on_failure: str,
) -> Result:
    """Return the result for the matrices of all sets together, with each set of equal weight."""
    sizes = sorted({C.shape[1] for C in data})
    if len(sizes) > 1:
        raise ValueError(f'init="group" needs sets of one size p, got sizes {sizes}')
    if options["n_components"] is not None:
        raise ValueError(
            'init="group" needs n_components=None: sets that are reduced separately have no common '
            "coordinates"
        )
    own = [np.ones(len(C)) if w is None else w for C, w in zip(data, weights, strict=True)]
    together = np.concatenate([w / w.sum() for w in own])
    options = {**options, "n_resamples": 0}
    return solve_many([np.concatenate(data)], [together], options, n_jobs, on_failure)[0]


def solve_many(
    data: list[Numbers],
    weights: list[Floats | None],
    options: dict[str, Any],
    n_jobs: int | None,
    on_failure: str,
) -> list[Result]:
    """Solve for sets and options that have been checked."""
    solved = _core.solve_many(data, weights, options, usable_n_jobs(n_jobs))
    results = [Result(one) for one in solved]
    which = [k for k, result in enumerate(results) if failed(result)]
    if which:
        first = which[0]
        report(
            f"{len(which)} of {len(results)} solves did not converge ({_listed(which)}); "
            f"set {first}: {describe(results[first], options['tol'])}",
            on_failure,
            results[first],
            depth=5,
        )
    return results


def _listed(which: list[int]) -> str:
    shown = ", ".join(str(k) for k in which[:10])
    return f"sets {shown}" + (", …" if len(which) > 10 else "")


@dataclass(frozen=True, eq=False, repr=False)
class BootstrapResult:
    """Result of :func:`codiag.bootstrap`.

    Attributes
    ----------
    result : Result
        Result for the whole set, or that of the model, with the ``stability`` of the resamples.
    similarity : ndarray, shape (n_resamples, r)
        Correlation, from 0 to 1, of each component of ``result`` with the matching component of
        each resample.
    confidence : ndarray, shape (r,)
        Mean of ``similarity`` over the resamples: 1 for a component that does not depend on the
        choice of the matrices.
    stability : ndarray, shape (r,)
        Median of ``similarity`` over the resamples, as in :class:`codiag.Result`.
    results : list of Result
        Results of the resamples; empty for resamples of a recording.
    """

    result: Result
    similarity: Floats
    confidence: Floats
    results: list[Result]

    @property
    def stability(self) -> Floats:
        """Median of ``similarity`` over the resamples."""
        median: Floats = np.median(self.similarity, axis=0)
        return median

    def __repr__(self) -> str:
        count, components = self.similarity.shape
        low, high = self.confidence.min(), self.confidence.max()
        return (
            f"<codiag.BootstrapResult: {count} resamples, {components} components, "
            f"confidence {low:.3f} to {high:.3f}>"
        )


@suggests_keywords
def bootstrap(
    C: Any,
    n_resamples: int = 100,
    *,
    model: Any = None,
    sample_weight: ArrayInput | None = None,
    random_state: int | np.random.Generator | None = 0,
    criterion: Criterion = "likelihood",
    method: Method = "newton",
    init: Init = "spectral",
    orthogonal: bool = False,
    n_components: NComponents = None,
    shrinkage: float = 0.0,
    symmetrize: bool = False,
    tol: float = 1e-6,
    max_iter: int = 1000,
    fit: Mapping[str, Any] | None = None,
    n_jobs: int | None = None,
    on_failure: OnFailure = "warn",
) -> BootstrapResult:
    """Estimate how reproducible components are, by solving bootstrap resamples of the matrices.

    Each resample draws matrices with replacement and is solved starting from the result for the
    whole set. For a model of a recording, segments or blocks of time are drawn, as by its parameter
    `n_resamples`. Components are compared by the correlation of their filters' outputs under the
    mean matrix; for criteria whose matrices need not be positive definite, by the cosine of their
    patterns.

    Parameters
    ----------
    C : array-like, shape (n_matrices, p, p)
        Matrices; with a model, the data that it was fitted on.
    n_resamples : int
        Number of resamples (default 100).
    model : Result, JointDiagonalizer, SourceSeparation, SOBI, AMUSE or JADE, optional
        Earlier result for C, which is then not solved for again. Its own options apply instead of
        those below, except `sample_weight`, `random_state`, `fit`, `n_jobs` and `on_failure`. The
        ``stability_`` of an estimator is set.
    sample_weight : array-like, shape (n_matrices,), optional
        Weight of each matrix (default: equal weights).
    random_state : int, numpy Generator or None
        Seed of the draws (default 0); None draws differently in each call. Resamples of a recording
        do not depend on it.
    criterion, method, init, orthogonal, n_components, shrinkage, symmetrize, max_iter
        Options of the solves, as in :func:`codiag.diagonalize`.
    tol : float
        Gradient norm at which a solve has converged (default 1e-6).
    fit : mapping, optional
        Further arguments of the ``fit`` of a model of a recording: y, picks, bad_spans.
    n_jobs : int or None
        Number of resamples that are solved at a time (default None: chosen automatically; -1: all
        cores). The result does not depend on it.
    on_failure : {"warn", "raise", "ignore"}
        Reaction to solves that do not converge (default "warn").

    Returns
    -------
    BootstrapResult
        ``confidence`` and ``stability`` of each component.

    Examples
    --------
    >>> import codiag
    >>> C, _ = codiag.datasets.synthetic(100, 5)
    >>> found = codiag.bootstrap(C, n_resamples=20)
    >>> found.confidence.shape
    (5,)
    >>> bool(found.confidence.min() > 0.9)
    True

    Stability of an earlier result:

    >>> result = codiag.diagonalize(C)
    >>> codiag.bootstrap(C, n_resamples=20, model=result).stability.shape
    (5,)
    """
    check_on_failure(on_failure)
    if not 1 <= n_resamples <= MAX_RESAMPLES:
        raise ValueError(f"n_resamples must be from 1 to {MAX_RESAMPLES}, got {n_resamples}")
    if model is not None and hasattr(model, "_resampled"):
        return _attached(model, model._resampled(C, n_resamples, dict(fit or {})), [])
    data, vector = matrix_set(C), weight_vector(sample_weight)
    _core.check_resamples(n_resamples, len(data), data.shape[1])
    options: dict[str, Any] = {
        "criterion": criterion,
        "method": method,
        "orthogonal": orthogonal,
        "n_components": n_components,
        "shrinkage": shrinkage,
        "symmetrize": symmetrize,
        "tol": tol,
        "max_iter": max_iter,
    }
    if model is None:
        first = {**options, "init": init_choice(init), "n_jobs": usable_n_jobs(n_jobs)}
        whole = Result(_core.solve(data, vector, first, None))
        if failed(whole):
            report(describe(whole, tol), on_failure, whole, depth=4)
    elif isinstance(model, Result):
        whole = model
        options["criterion"] = whole.criterion
    else:
        whole = model.result_
        options.update({**model._options(), "tol": max(tol, model.tol)})
        options.pop("init", None)
        if isinstance(options["shrinkage"], str):
            data, options["shrinkage"] = shrunk(data, model.shrinkage, vector), 0.0
    B = whole._data.B
    if B.shape[1] != data.shape[1]:
        raise ValueError(f"the model has {B.shape[1]} channels, but C has {data.shape[1]}")
    if model is not None and len(B) < data.shape[1]:
        options["n_components"] = len(B)
    draws = _draws(generator(random_state), len(data), n_resamples, vector)
    options["n_jobs"] = usable_n_jobs(n_jobs)
    data, B = same_type(data, np.ascontiguousarray(B))
    solved = _core.resample(data, B, vector, draws, options)
    results = [Result(one) for one, _ in solved]
    which = [k for k, result in enumerate(results) if failed(result)]
    if which:
        message = (
            f"{len(which)} of {n_resamples} resamples did not converge; resample {which[0]}: "
            f"{describe(results[which[0]], options['tol'])}"
        )
        report(message, on_failure, results[which[0]], depth=4)
    similarity = np.array([matches for _, matches in solved])
    return _attached(whole if model is None else model, similarity, results)


def _draws(
    generator: np.random.Generator, count: int, n_resamples: int, weights: Floats | None
) -> list[Floats]:
    """Return how often each matrix is drawn in each resample."""
    own = np.ones(count) if weights is None else weights
    draws: list[Floats] = []
    while len(draws) < n_resamples:
        drawn = generator.multinomial(count, np.full(count, 1 / count)).astype(np.float64)
        # Matrices of weight zero alone cannot be solved for.
        if (own * drawn).any():
            draws.append(drawn)
    return draws


def _attached(model: Any, similarity: Floats, results: list[Result]) -> BootstrapResult:
    """Return the bootstrap's result; set the stability of an estimator."""
    result = model if isinstance(model, Result) else model.result_
    stability: Floats = np.median(similarity, axis=0)
    result = result._with_stability(stability, similarity)
    if not isinstance(model, Result):
        model.result_ = result
        model.stability_ = stability
    return BootstrapResult(result, similarity, similarity.mean(axis=0), results)
