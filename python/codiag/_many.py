"""Many independent problems: subjects, folds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
    stability: int = 0,
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
    start : {"spectral", "whitener", "identity", "group"} or array-like, shape (p, p)
        As in :func:`codiag.diagonalize`, the same for all sets. "group" starts from the answer for
        all matrices of all sets, each set counting alike: what the sets have in common comes in one
        order and with one sign in all results. The sets are then all of one size p, and are not
        brought to canonical form.
    criterion, method, orthogonal, rank, shrinkage, symmetrize, tol, max_iter, restarts
        As in :func:`codiag.diagonalize`, the same for all sets.
    stability, canonical
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
    grouped = isinstance(start, str) and start == "group"
    options: dict[str, Any] = {
        "criterion": criterion,
        "method": method,
        "start": "spectral" if grouped else start_choice(start),
        "orthogonal": orthogonal,
        "rank": rank,
        "shrinkage": shrinkage,
        "symmetrize": symmetrize,
        "tol": tol,
        "max_iter": max_iter,
        "restarts": restarts,
        "stability": stability,
        "canonical": canonical,
    }
    if grouped and data:
        group = _group(data, vectors, options, threads, on_failure)
        options.update(start=group.B, canonical=False)
    return solve_many(data, vectors, options, threads, on_failure)


def _group(
    data: list[Numbers],
    weights: list[Floats | None],
    options: dict[str, Any],
    threads: int | None,
    on_failure: str,
) -> Result:
    """Return the answer for all matrices of all sets, each set counting alike."""
    sizes = sorted({C.shape[1] for C in data})
    if len(sizes) > 1:
        raise ValueError(f'start="group" is for sets of one size, got sizes {sizes}')
    if options["rank"] != "full":
        raise ValueError('start="group" is for rank="full": sets reduced apart share no axes')
    own = [np.ones(len(C)) if w is None else w for C, w in zip(data, weights, strict=True)]
    together = np.concatenate([w / w.sum() for w in own])
    options = {**options, "stability": 0}
    return solve_many([np.concatenate(data)], [together], options, threads, on_failure)[0]


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
