"""Functions with the signatures of other packages.

``import codiag.compat as qndiag`` lets code written for qndiag run unchanged;
:mod:`codiag.compat.pyriemann` has the functions of pyRiemann's ``pyriemann.geometry.ajd``;
:func:`accelerate` makes pyRiemann and MNE themselves use codiag.
"""

from .._core import __version__
from . import pyriemann
from ._accelerate import accelerate
from ._qndiag import ajd_pham, gradient, loss, qndiag, transform_set

__all__ = [
    "qndiag",
    "ajd_pham",
    "transform_set",
    "loss",
    "gradient",
    "accelerate",
    "pyriemann",
    "__version__",
]
