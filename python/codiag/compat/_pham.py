"""Pham's algorithm, with the stopping rule of qndiag and pyRiemann."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

from .. import _core
from .._arrays import usable_n_jobs
from .._typing import Floats, Numbers

# Tolerance that disables codiag's own stopping rule, which uses the gradient norm.
_NEVER = sys.float_info.min


class Sweeps(NamedTuple):
    """Result of a solve by sweeps."""

    V: Numbers
    finished: bool
    solved: _core.SolveResult


def sweeps(
    X: Numbers,
    weights: Floats | None,
    start: Numbers,
    eps: float,
    max_iter: int,
    keep_iterates: bool = False,
    show: Any = None,
) -> Sweeps:
    """Sweep until n times the decrement, summed over pairs, is below p(p - 1) eps."""
    n, p, _ = X.shape
    threshold = p * (p - 1) * eps / n
    options = {
        "method": "pham",
        "init": start,
        "tol": _NEVER,
        "max_iter": max_iter,
        "canonical": False,
        "rescale": False,
        "n_jobs": usable_n_jobs(None),
        "stop_decrement": threshold,
        "keep_iterates": keep_iterates,
    }
    solved = _core.solve(X, weights, options, show)
    finished = solved.status in ("interrupted", "converged")
    return Sweeps(solved.B, finished, solved)
