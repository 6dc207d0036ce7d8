"""Which components can be trusted: solves of matrices drawn anew."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from . import _core
from ._errors import OnFailure, check_choice, describe, failed, report
from ._input import (
    Floats,
    alike,
    matrix_set,
    start_choice,
    usable_threads,
    weight_vector,
)
from ._result import Result, from_fields
from ._shrinkage import shrunk

MAX_RESAMPLES = 1_000_000
"""More resamples are taken for a mistake."""


@dataclass(frozen=True, eq=False, repr=False)
class BootstrapResult:
    """The answer of :func:`codiag.bootstrap`.

    Attributes
    ----------
    result : Result
        The solve of the whole set, or that of the model; its ``stability`` is that of the
        resamples.
    similarity : ndarray, shape (n, r)
        For each resample and each component of ``result``, the correlation (from 0 to 1) with the
        component of the resample that matches it.
    confidence : ndarray, shape (r,)
        The mean of ``similarity`` over the resamples: 1 for a component that does not depend on
        which matrices were seen.
    stability : ndarray, shape (r,)
        The median of ``similarity``, as in :class:`codiag.Result`.
    results : list of Result
        The solves of the resamples; empty if they were resamples of a recording.
    """

    result: Result
    similarity: Floats
    confidence: Floats
    results: list[Result]

    @property
    def stability(self) -> Floats:
        """The median of ``similarity``, as in :class:`codiag.Result`."""
        median: Floats = np.median(self.similarity, axis=0)
        return median

    def __repr__(self) -> str:
        count, components = self.similarity.shape
        low, high = self.confidence.min(), self.confidence.max()
        return (
            f"<codiag.BootstrapResult: {count} resamples, {components} components, "
            f"confidence {low:.3f} to {high:.3f}>"
        )


def bootstrap(
    C: Any,
    n: int = 100,
    *,
    model: Any = None,
    weights: ArrayLike | None = None,
    seed: int | np.random.Generator = 0,
    criterion: str = "likelihood",
    method: str = "newton",
    start: str | ArrayLike = "spectral",
    orthogonal: bool = False,
    rank: str | int = "full",
    shrinkage: float = 0.0,
    symmetrize: bool = False,
    tol: float = 1e-6,
    max_iter: int = 1000,
    fit: Mapping[str, Any] | None = None,
    threads: int | None = None,
    on_failure: OnFailure = "warn",
) -> BootstrapResult:
    """Find out which components can be trusted, by solving resamples of the matrices.

    Each resample draws the matrices (of a model of a recording, what its ``stability`` draws) with
    replacement and is solved from the answer of the whole
    set. Components are compared by the correlation of their filters' outputs under the mean matrix;
    for criteria whose matrices need not be positive definite, by the cosine of their patterns.

    Parameters
    ----------
    C : array-like, shape (n_matrices, p, p)
        The matrices; with a model, what it was fitted on.
    n : int
        The number of resamples.
    model : Result, JointDiagonalizer, SourceSeparation, SOBI, AMUSE or JADE, optional
        What was found before: it is not solved for again, all that follows but `n`, `weights`,
        `seed`, `fit`, `threads` and `on_failure` is its own, and an estimator's ``stability_`` is
        set.
    weights : array-like, shape (n_matrices,), optional
        How much each matrix counts.
    seed : int or numpy Generator
        Chooses the resamples; those of a recording are always the same.
    criterion, method, start, orthogonal, rank, shrinkage, symmetrize, tol, max_iter, on_failure
        As in :func:`codiag.diagonalize`.
    fit : mapping, optional
        What else the ``fit`` of a model of a recording was given: labels, exclude.
    threads : int, optional
        How many resamples are solved at a time. The answer does not depend on it.

    Returns
    -------
    BootstrapResult
        With the ``confidence`` and ``stability`` of each component.

    Examples
    --------
    >>> import codiag
    >>> C, _ = codiag.datasets.synthetic(100, 5)
    >>> stable = codiag.bootstrap(C, n=20)
    >>> stable.confidence.shape
    (5,)
    >>> bool(stable.confidence.min() > 0.9)
    True

    For what has been found already:

    >>> result = codiag.diagonalize(C)
    >>> codiag.bootstrap(C, n=20, model=result).stability.shape
    (5,)
    """
    check_choice(on_failure)
    if not 1 <= n <= MAX_RESAMPLES:
        raise ValueError(f"n must be from 1 to {MAX_RESAMPLES}, got {n}")
    if model is not None and hasattr(model, "_resampled"):
        return _attached(model, model._resampled(C, n, dict(fit or {})), [])
    data, vector = matrix_set(C), weight_vector(weights)
    _core.check_resamples(n, len(data), data.shape[1])
    options: dict[str, Any] = {
        "criterion": criterion,
        "method": method,
        "orthogonal": orthogonal,
        "rank": rank,
        "shrinkage": shrinkage,
        "symmetrize": symmetrize,
        "tol": tol,
        "max_iter": max_iter,
    }
    if model is None:
        first = {**options, "start": start_choice(start), "threads": usable_threads(threads)}
        whole = from_fields(_core.solve(data, vector, first, None))
        if failed(whole):
            report(describe(whole, tol), on_failure, whole)
    elif isinstance(model, Result):
        whole = model
        options["criterion"] = whole.criterion
    else:
        whole = model.result_
        options.update({**model._options(), "tol": max(tol, model.tol)})
        options.pop("start", None)
        if isinstance(options["shrinkage"], str):
            data, options["shrinkage"] = shrunk(data, options["shrinkage"], vector), 0.0
    if whole.B.shape[1] != data.shape[1]:
        raise ValueError(
            f"the model has {whole.B.shape[1]} channels, but C has matrices of {data.shape[1]}"
        )
    if model is not None and len(whole.B) < data.shape[1]:
        options["rank"] = len(whole.B)
    generator = np.random.default_rng(seed)
    draws = _draws(generator, len(data), n, vector)
    options["threads"] = usable_threads(threads)
    data, B = alike(data, np.ascontiguousarray(whole.B))
    solved = _core.resample(data, B, vector, draws, options)
    results = [from_fields(fields) for fields, _ in solved]
    which = [k for k, result in enumerate(results) if failed(result)]
    if which:
        message = (
            f"{len(which)} of {n} resamples did not converge; resample {which[0]}: "
            f"{describe(results[which[0]], options['tol'])}"
        )
        report(message, on_failure, results[which[0]])
    similarity = np.array([matches for _, matches in solved])
    return _attached(whole if model is None else model, similarity, results)


def _draws(
    generator: np.random.Generator, count: int, n: int, weights: Floats | None
) -> list[Floats]:
    """Return how often each matrix is drawn in each resample."""
    own = np.ones(count) if weights is None else weights
    draws: list[Floats] = []
    while len(draws) < n:
        drawn = generator.multinomial(count, np.full(count, 1 / count)).astype(np.float64)
        # A draw of nothing but matrices of weight zero is no resample.
        if (own * drawn).any():
            draws.append(drawn)
    return draws


def _attached(model: Any, similarity: Floats, results: list[Result]) -> BootstrapResult:
    """Return the answer; an estimator learns of it, too."""
    result = model if isinstance(model, Result) else model.result_
    stability = np.median(similarity, axis=0)
    result = replace(result, stability=stability, matches=similarity)
    if not isinstance(model, Result):
        model.result_ = result
        model.stability_ = stability
    return BootstrapResult(result, similarity, similarity.mean(axis=0), results)
