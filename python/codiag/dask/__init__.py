"""Sets of matrices on a cluster, with Dask (needs ``pip install 'codiag[dask]'``).

:func:`codiag.diagonalize` takes a dask array of shape (n, p, p), chunked along its first axis, or a
list of futures of such arrays, and solves where the chunks are. Here is what makes such sets.
"""

from __future__ import annotations

from ._moments import cumulants, lagged_covariances, whitener
from ._segments import segment_covariances
from ._windows import cospectra, cross_spectra

__all__ = [
    "cospectra",
    "cross_spectra",
    "cumulants",
    "lagged_covariances",
    "segment_covariances",
    "whitener",
]
