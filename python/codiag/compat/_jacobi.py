"""Jacobi rotations, stopped by the rule of the packages that have them."""

from __future__ import annotations

import sys
from typing import Any

from .. import _core
from .._input import Floats, usable_threads

# Their rule is about the angles of a sweep; ours, about the gradient, is out of reach.
_NEVER = sys.float_info.min


def rotations(
    X: Floats, start: Floats, eps: float, max_iter: int
) -> tuple[Floats, bool, dict[str, Any]]:
    """Sweep until no |sin θ| exceeds eps; return B, whether that was reached, and all fields."""
    options = {
        "criterion": "frobenius",
        "method": "jacobi",
        "start": start,
        "tol": _NEVER,
        "max_iter": max_iter,
        "canonical": False,
        "threads": usable_threads(None),
        "stop_step": eps,
    }
    fields = _core.solve(X, None, options, None)
    # A sweep that rotates nothing at all ends the solve by itself.
    return fields["B"], fields["status"] != "iteration limit", fields
