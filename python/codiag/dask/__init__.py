"""Sets of matrices on a cluster, with Dask (``pip install 'dask[array]' distributed``).

:func:`codiag.diagonalize` accepts a dask array of shape (n, p, p), chunked along its first axis, or
a list of futures of such arrays, and leaves the chunks on their workers. The functions of this
module compute such sets from recordings.
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
