"""Jacobi rotations, with the stopping rule of pyRiemann."""

from __future__ import annotations

import sys

from .. import _core
from .._arrays import usable_n_jobs
from .._typing import Floats

# Tolerance that disables codiag's own rule, which concerns the gradient.
_NEVER = sys.float_info.min


def rotations(
    X: Floats, start: Floats, eps: float, max_iter: int
) -> tuple[Floats, bool, _core.SolveResult]:
    """Sweep until no |sin θ| exceeds eps; return B, whether that was reached, and the result."""
    options = {
        "criterion": "frobenius",
        "method": "jacobi",
        "init": start,
        "tol": _NEVER,
        "max_iter": max_iter,
        "canonical": False,
        "n_jobs": usable_n_jobs(None),
        "stop_step": eps,
    }
    solved = _core.solve(X, None, options, None)
    # A sweep without rotations ends the solve.
    return solved.B, solved.status != "max_iter", solved
