"""Many independent problems: subjects, folds, resamples."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from . import _core
from ._errors import OnFailure, check_choice, describe, failed, report
from ._input import Floats, Numbers, matrix_set, start_choice, usable_threads, weight_vector
from ._result import Result, from_fields


def diagonalize_many(
    sets: Iterable[ArrayLike],
    *,
    weights: Sequence[ArrayLike | None] | None = None,
    criterion: str = "likelihood",
    method: str = "newton",
    start: str | ArrayLike = "spectral",
    orthogonal: bool = False,
    rank: str | int = "full",
    shrinkage: float = 0.0,
    symmetrize: bool = False,
    tol: float = 1e-8,
    max_iter: int = 1000,
    restarts: int = 0,
    canonical: bool = True,
    threads: int | None = None,
    on_failure: OnFailure = "warn",
) -> list[Result]:
    """Solve many independent problems, several at a time.

    Each is solved on one thread, so that no result depends on how many run at a time.

    Parameters
    ----------
    sets : iterable of array-like, each of shape (n, p, p)
        The sets; n and p may differ between them.
    weights : sequence of array-like or None, optional
        The weights of each set's matrices.
    criterion, method, start, orthogonal, rank, shrinkage, symmetrize, tol, max_iter, restarts
        As in :func:`codiag.diagonalize`, the same for all sets.
    canonical
        As in :func:`codiag.diagonalize`, the same for all sets.
    threads : int, optional
        How many sets are solved at a time; as many as the machine has threads by default.
    on_failure : {"warn", "raise", "ignore"}
        What to do if solves do not converge: one warning or error names them all.

    Returns
    -------
    list of Result
        In the order of the sets.

    Examples
    --------
    >>> import codiag
    >>> subjects = [codiag.datasets.synthetic(50, 6, seed=seed)[0] for seed in range(4)]
    >>> results = codiag.diagonalize_many(subjects)
    >>> [result.converged for result in results]
    [True, True, True, True]
    """
    check_choice(on_failure)
    data = [matrix_set(C, f"set {k}") for k, C in enumerate(sets)]
    if weights is None:
        vectors: list[Floats | None] = [None] * len(data)
    else:
        vectors = [weight_vector(w, f"weights of set {k}") for k, w in enumerate(weights)]
        if len(vectors) != len(data):
            raise ValueError(f"expected weights for {len(data)} sets, got {len(vectors)}")
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
        "canonical": canonical,
    }
    return solve_many(data, vectors, options, threads, on_failure)


def solve_many(
    data: list[Numbers],
    weights: list[Floats | None],
    options: dict[str, Any],
    threads: int | None,
    on_failure: str,
) -> list[Result]:
    """Solve what has been checked."""
    solved = _core.solve_many(data, weights, options, usable_threads(threads))
    results = [from_fields(fields) for fields in solved]
    which = [k for k, result in enumerate(results) if failed(result)]
    if which:
        first = which[0]
        report(
            f"{len(which)} of {len(results)} solves did not converge ({_listed(which)}); "
            f"set {first}: {describe(results[first], options['tol'])}",
            on_failure,
            results[first],
            depth=4,
        )
    return results


def _listed(which: list[int]) -> str:
    shown = ", ".join(str(k) for k in which[:10])
    return f"sets {shown}" + (", …" if len(which) > 10 else "")


@dataclass(frozen=True, eq=False, repr=False)
class BootstrapResult:
    """The answer of :func:`codiag.bootstrap`.

    Attributes
    ----------
    result : Result
        The solve of the whole set.
    similarity : ndarray, shape (n, r)
        For each resample and each component of ``result``, the correlation (from 0 to 1) with the
        component of the resample that matches it.
    confidence : ndarray, shape (r,)
        The mean of ``similarity`` over the resamples: 1 for a component that does not depend on
        which matrices were seen.
    results : list of Result
        The solves of the resamples.
    """

    result: Result
    similarity: Floats
    confidence: Floats
    results: list[Result]

    def __repr__(self) -> str:
        count, components = self.similarity.shape
        low, high = self.confidence.min(), self.confidence.max()
        return (
            f"<codiag.BootstrapResult: {count} resamples, {components} components, "
            f"confidence {low:.3f} to {high:.3f}>"
        )


def bootstrap(
    C: ArrayLike,
    n: int = 100,
    *,
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
    threads: int | None = None,
    on_failure: OnFailure = "warn",
) -> BootstrapResult:
    """Find out which components can be trusted, by solving resamples of the matrices.

    Each resample draws the matrices with replacement and is solved from the answer of the whole
    set. Components are compared by the correlation of their filters' outputs under the mean matrix;
    for criteria whose matrices need not be positive definite, by the cosine of their patterns.

    Parameters
    ----------
    C : array-like, shape (n_matrices, p, p)
        The matrices.
    n : int
        The number of resamples.
    weights : array-like, shape (n_matrices,), optional
        How much each matrix counts.
    seed : int or numpy Generator
        Chooses the resamples.
    criterion, method, start, orthogonal, rank, shrinkage, symmetrize, tol, max_iter, on_failure
        As in :func:`codiag.diagonalize`.
    threads : int, optional
        How many resamples are solved at a time. The answer does not depend on it.

    Returns
    -------
    BootstrapResult
        With the ``confidence`` of each component.

    Examples
    --------
    >>> import codiag
    >>> C, _ = codiag.datasets.synthetic(100, 5)
    >>> stable = codiag.bootstrap(C, n=20)
    >>> stable.confidence.shape
    (5,)
    >>> bool(stable.confidence.min() > 0.9)
    True
    """
    check_choice(on_failure)
    if n < 1:
        raise ValueError(f"n must be at least 1, got {n}")
    data = matrix_set(C)
    vector = weight_vector(weights)
    shared = {
        "criterion": criterion,
        "method": method,
        "orthogonal": orthogonal,
        "rank": rank,
        "shrinkage": shrinkage,
        "symmetrize": symmetrize,
        "tol": tol,
        "max_iter": max_iter,
    }
    first = {**shared, "start": start_choice(start)}
    whole = solve_many([data], [vector], first, threads, on_failure)[0]
    generator = np.random.default_rng(seed)
    count = len(data)
    own = np.ones(count) if vector is None else vector
    draws: list[Floats | None] = []
    while len(draws) < n:
        drawn = own * generator.multinomial(count, np.full(count, 1 / count))
        # A draw of nothing but matrices of weight zero is no resample.
        if drawn.any():
            draws.append(drawn)
    again = {**shared, "start": whole.B, "canonical": False}
    if rank != "full":
        # A resample may span other dimensions: it starts on its own.
        again["start"] = "spectral"
    results = solve_many([data] * n, draws, again, threads, on_failure)
    if criterion == "likelihood":
        mean = np.average(data, axis=0, weights=vector)
        likeness = [_correlations(whole.B, other.B, mean) for other in results]
    else:
        likeness = [_cosines(whole.A, other.A) for other in results]
    similarity = np.array([_matched(likenesses) for likenesses in likeness])
    return BootstrapResult(whole, similarity, similarity.mean(axis=0), results)


def _correlations(B: Numbers, other: Numbers, mean: Numbers) -> Floats:
    """Return the correlations of the filters' outputs, without their signs and phases."""

    def outputs(filters: Numbers) -> Numbers:
        powers = np.einsum("ac,cd,ad->a", filters, mean, filters.conj()).real
        scaled: Numbers = filters / np.sqrt(powers)[:, None]
        return scaled

    found: Floats = np.abs(outputs(B) @ mean @ outputs(other).conj().T)
    return found


def _cosines(A: Numbers, other: Numbers) -> Floats:
    """Return the cosines of the angles between the patterns, without their signs and phases."""
    found: Floats = np.abs(
        (A / np.linalg.norm(A, axis=0)).conj().T @ (other / np.linalg.norm(other, axis=0))
    )
    return found


def _matched(likenesses: Floats) -> Floats:
    """Return, for each row, the likeness of the column that matches it; each matches once."""
    left = likenesses.copy()
    found = np.zeros(len(left))
    # The best pair first, then the best of what is left, and so on.
    for _ in range(min(left.shape)):
        a, b = np.unravel_index(np.argmax(left), left.shape)
        found[a] = min(left[a, b], 1.0)
        left[a, :] = -1
        left[:, b] = -1
    return found
