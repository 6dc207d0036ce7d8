"""Shrinkage of covariances towards a multiple of the identity, of estimated amount."""

from __future__ import annotations

import numpy as np

from ._typing import Floats, Numbers, Shrinkage

# Shrinkage that makes positive semidefinite matrices definite for the first solve.
_PRELIMINARY = 0.05


def shrunk(C: Numbers, shrinkage: Shrinkage, weights: Floats | None = None) -> Numbers:
    """Return each matrix as (1 - s) C + s tr(C)/p I, s a number or "auto"."""
    amounts = amounts_for(C, shrinkage, weights)
    if not amounts.any():
        return C
    p = C.shape[1]
    levels = np.trace(C, axis1=1, axis2=2).real / p
    shrunk_matrices: Numbers = (1 - amounts)[:, None, None] * C
    shrunk_matrices[:, np.arange(p), np.arange(p)] += (amounts * levels)[:, None]
    return shrunk_matrices


def amounts_for(C: Numbers, shrinkage: Shrinkage, weights: Floats | None = None) -> Floats:
    """Return the shrinkage of each matrix.

    "auto" is the oracle approximating shrinkage of Chen, Wiesel, Eldar and Hero (2010). Its number
    of samples is estimated: in the basis that diagonalizes all matrices, the off-diagonal entries
    of D = B C B' are sampling noise of mean square D_aa D_bb / (samples).
    """
    if shrinkage != "auto":
        if isinstance(shrinkage, str) or not 0 <= shrinkage <= 1:
            raise ValueError(
                f'shrinkage must be "auto" or a number between 0 and 1, got {shrinkage!r}'
            )
        return np.full(len(C), float(shrinkage))
    from ._solve import diagonalize

    p = C.shape[1]
    if p == 1:
        return np.zeros(len(C))
    lifted = shrunk(C, _PRELIMINARY)
    B = diagonalize(lifted, sample_weight=weights, tol=1e-4, on_failure="ignore").B
    D = B @ C @ B.conj().T
    powers = np.diagonal(D, axis1=1, axis2=2).real
    off = np.abs(D) ** 2
    off[:, np.arange(p), np.arange(p)] = 0
    expected = powers[:, :, None] * powers[:, None, :]
    expected[:, np.arange(p), np.arange(p)] = 0
    noise = off.sum() / expected.sum()
    samples = 1 / max(noise, 1e-12)
    squares = (np.abs(C) ** 2).sum(axis=(1, 2))
    traces = np.trace(C, axis1=1, axis2=2).real ** 2
    spread = squares - traces / p
    top = (1 - 2 / p) * squares + traces
    amounts: Floats = np.minimum(1.0, top / np.maximum((samples + 1 - 2 / p) * spread, 1e-300))
    return amounts
