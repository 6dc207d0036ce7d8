"""U-WEDGE, stopped by the rule of the packages that have it."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import numpy as np

from .. import _core
from .._input import Floats, usable_threads

# Their rule is about the energy off the diagonals; ours, about the gradient, is out of reach.
_NEVER = sys.float_info.min


class Steps(NamedTuple):
    """What a solve by steps of U-WEDGE gave."""

    V: Floats
    D: Floats
    finished: bool
    fields: dict[str, Any]


def steps(X: Floats, start: Floats, eps: float, max_iter: int) -> Steps:
    """Step until the energy off the diagonals settles within eps, |V X[0] V'| of unit diagonal."""
    energies: list[float] = []

    def settled(iteration: int, B: Floats, **_: Any) -> bool:
        # The rows of the start are theirs.
        V = start if iteration == 0 else _scaled(B, X[0])
        D = _transformed(X, V)
        on_diagonals = np.sum(np.diagonal(D, axis1=1, axis2=2) ** 2)
        energies.append(float(np.sum(D**2) - on_diagonals))
        return iteration > 0 and abs(energies[-1] - energies[-2]) < eps

    options = {
        "criterion": "least-squares",
        "method": "uwedge",
        "start": start,
        "tol": _NEVER,
        "max_iter": max_iter,
        "canonical": False,
        "symmetrize": True,
        "threads": usable_threads(None),
        "show_iterates": True,
    }
    fields = _core.solve(X, None, options, settled)
    V = start.copy() if fields["n_iter"] == 0 else _scaled(fields["B"], X[0])
    finished = fields["status"] != "iteration limit"
    return Steps(V, _transformed(X, V), finished, fields)


def _scaled(V: Floats, first: Floats) -> Floats:
    powers = np.einsum("ac,cd,ad->a", V, first, V, optimize=True)
    return V / np.sqrt(np.abs(powers))[:, None]


def _transformed(X: Floats, V: Floats) -> Floats:
    # V X V' of symmetric X, as two large products.
    half = X @ V.T
    return half.transpose(0, 2, 1) @ V.T
