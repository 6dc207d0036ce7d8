"""U-WEDGE, with the stopping rule of pyRiemann."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import numpy as np

from .. import _core
from .._arrays import usable_n_jobs
from .._typing import Floats

# Tolerance that disables codiag's own rule, which concerns the gradient.
_NEVER = sys.float_info.min


class Steps(NamedTuple):
    """Result of a solve by steps of U-WEDGE."""

    V: Floats
    D: Floats
    finished: bool
    solved: _core.SolveResult


def steps(X: Floats, start: Floats, eps: float, max_iter: int) -> Steps:
    """Step until the off-diagonal energy changes by less than eps, with |diag(V X[0] V')| = 1."""
    energies: list[float] = []

    def settled(iteration: int, B: Floats, **_: Any) -> bool:
        # The starting point is not rescaled.
        V = start if iteration == 0 else _scaled(B, X[0])
        D = _transformed(X, V)
        on_diagonals = np.sum(np.diagonal(D, axis1=1, axis2=2) ** 2)
        energies.append(float(np.sum(D**2) - on_diagonals))
        return iteration > 0 and abs(energies[-1] - energies[-2]) < eps

    options = {
        "criterion": "least-squares",
        "method": "uwedge",
        "init": start,
        "tol": _NEVER,
        "max_iter": max_iter,
        "canonical": False,
        "symmetrize": True,
        "n_jobs": usable_n_jobs(None),
        "show_iterates": True,
    }
    solved = _core.solve(X, None, options, settled)
    V = start.copy() if solved.n_iter == 0 else _scaled(solved.B, X[0])
    finished = solved.status != "max_iter"
    return Steps(V, _transformed(X, V), finished, solved)


def _scaled(V: Floats, first: Floats) -> Floats:
    powers = np.einsum("ac,cd,ad->a", V, first, V, optimize=True)
    scaled: Floats = V / np.sqrt(np.abs(powers))[:, None]
    return scaled


def _transformed(X: Floats, V: Floats) -> Floats:
    # V X V' of symmetric X, as two large products.
    half = X @ V.T
    return half.transpose(0, 2, 1) @ V.T
