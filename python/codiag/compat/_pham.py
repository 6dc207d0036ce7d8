"""Pham's algorithm, stopped by the rule of the packages that have it."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

from .. import _core
from .._input import Floats, Numbers, usable_threads

# Their rule is about the decrease that a sweep predicts; ours, about the gradient, is out of reach.
_NEVER = sys.float_info.min


class Sweeps(NamedTuple):
    """What a solve by sweeps gave."""

    V: Numbers
    finished: bool
    fields: dict[str, Any]


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
        "start": start,
        "tol": _NEVER,
        "max_iter": max_iter,
        "canonical": False,
        "rescale": False,
        "threads": usable_threads(None),
        "stop_decrement": threshold,
        "keep_iterates": keep_iterates,
    }
    fields = _core.solve(X, weights, options, show)
    finished = fields["status"] in ("stopped", "converged")
    return Sweeps(fields["B"], finished, fields)
