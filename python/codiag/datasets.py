"""The data sets of Ablin, Cardoso & Gramfort (2019): two generators and MEG covariances."""

from __future__ import annotations

from . import _core
from ._input import Floats, Numbers

__all__ = ["synthetic", "meg"]


def synthetic(
    n: int, p: int, sigma: float = 0.1, seed: int = 0, *, complex: bool = False
) -> tuple[Numbers, Numbers]:
    """Return the paper's experiments (a), ``sigma=0``, and (b), ``sigma=0.1``.

    C[i] = A diag(uniform) A' + sigma² R R', with standard normal entries of A and R.

    Parameters
    ----------
    n, p : int
        The number of matrices and their size.
    sigma : float
        The standard deviation of the noise; without noise the set can be diagonalized exactly.
    seed : int
        Chooses the numbers; the same in the Rust library and the program.
    complex : bool
        Whether the entries of A and R are complex, and the matrices Hermitian.

    Returns
    -------
    C : ndarray, shape (n, p, p)
        The matrices.
    A : ndarray, shape (p, p)
        The mixing: its inverse diagonalizes the noiseless set.

    Examples
    --------
    >>> from codiag import datasets
    >>> C, A = datasets.synthetic(100, 40)
    >>> C.shape
    (100, 40, 40)
    """
    if n < 1 or p < 1:
        raise ValueError(f"n and p must be at least 1, got n={n}, p={p}")
    if not 0 <= sigma < float("inf"):
        raise ValueError(f"sigma must be a number that is not negative, got {sigma}")
    if seed < 0:
        raise ValueError(f"seed must not be negative, got {seed}")
    return _core.synthetic_set(n, p, sigma, seed, complex)


def meg(sensors: str = "magnetometers") -> Floats:
    """Return the covariances of experiment (c).

    They are of 100 segments of 0.24 s of the MNE sample recording, reduced to 40 principal
    components of unit variance (from MNE-Python's test data, BSD-3-Clause).

    Parameters
    ----------
    sensors : {"magnetometers", "gradiometers"}
        Which.

    Returns
    -------
    ndarray, shape (100, 40, 40)

    Examples
    --------
    >>> from codiag import datasets
    >>> datasets.meg("gradiometers").shape
    (100, 40, 40)
    """
    if sensors not in ("magnetometers", "gradiometers"):
        raise ValueError(f'sensors must be "magnetometers" or "gradiometers", got {sensors!r}')
    return _core.meg(sensors == "magnetometers")
