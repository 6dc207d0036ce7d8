"""Data sets: synthetic matrices and MEG covariances of the paper, and a recording.

The paper is Ablin, Cardoso & Gramfort (2019).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np

from . import _core
from ._keywords import suggests_keywords
from ._random import seed_of
from ._typing import Floats, Numbers

__all__ = ["synthetic", "meg", "recording"]


@suggests_keywords
def synthetic(
    n: int,
    p: int,
    sigma: float = 0.1,
    random_state: int | np.random.Generator | None = 0,
    *,
    complex: bool = False,
) -> tuple[Numbers, Numbers]:
    """Return the matrices of the paper's experiment (a), ``sigma=0``, or (b), ``sigma=0.1``.

    C[i] = A diag(uniform) A' + sigma² R R', with standard normal entries of A and R.

    Parameters
    ----------
    n, p : int
        Number of matrices and their size.
    sigma : float
        Standard deviation of the noise (default 0.1). Without noise the set can be diagonalized
        exactly.
    random_state : int, numpy Generator or None
        Seed of the random numbers (default 0). The Rust library and the program return the same
        matrices for the same seed. A Generator draws the seed; None draws a new one in each call.
    complex : bool
        Whether the entries of A and R are complex, and the matrices Hermitian (default False).

    Returns
    -------
    C : ndarray, shape (n, p, p)
        Matrices.
    A : ndarray, shape (p, p)
        Mixing matrix, whose inverse diagonalizes the set without noise.

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
        raise ValueError(f"sigma must be finite and not negative, got {sigma}")
    return _core.synthetic_set(n, p, sigma, seed_of(random_state), complex)


@suggests_keywords
def meg(sensors: Literal["magnetometers", "gradiometers"] = "magnetometers") -> Floats:
    """Return the covariances of the paper's experiment (c).

    The covariances of 100 segments of 0.24 s of the MNE sample recording, in the coordinates of 40
    principal components of unit variance (from MNE-Python's test data, BSD-3-Clause).

    Parameters
    ----------
    sensors : {"magnetometers", "gradiometers"}
        Type of the sensors (default "magnetometers").

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


def recording() -> Any:
    """Return a recording of EEG and MEG, as MNE's ``Raw``. Needs MNE.

    24 s of MNE-Python's sample recording (BSD-3-Clause) at 200 Hz: 102 magnetometers, 60 EEG
    channels, one EOG channel and the events of an auditory and visual experiment ("STI 014"). It
    contains blinks and heartbeats.

    Returns
    -------
    mne.io.Raw
        The recording, loaded into memory.

    Examples
    --------
    >>> import codiag
    >>> raw = codiag.datasets.recording()
    >>> model = codiag.SourceSeparation(n_components=20).fit(raw.filter(1, 40), picks="eeg")
    >>> artifacts = model.find_artifacts(raw)
    >>> any(found[0].kind == "blink" for found in artifacts.values())
    True
    """
    try:
        import mne
    except ImportError:
        raise ImportError("recording() needs MNE: pip install mne") from None

    path = Path(__file__).parent / "data" / "sample_raw.fif"
    return mne.io.read_raw_fif(path, preload=True, verbose="error")
