"""Joint diagonalization of symmetric or Hermitian matrices.

Given matrices C[0] ... C[n-1], :func:`diagonalize` finds one matrix B for which all
``B @ C[i] @ B.conj().T`` are as diagonal as possible.

>>> import codiag
>>> C, A = codiag.datasets.synthetic(100, 10)
>>> result = codiag.diagonalize(C)
>>> result.status
'converged'
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import _errors, compat, datasets
from ._batch import BootstrapResult, bootstrap, diagonalize_many
from ._core import __version__
from ._covariances import (
    cumulants,
    epoch_covariances,
    lagged_covariances,
    segment_covariances,
)
from ._errors import ConvergenceError
from ._io import load
from ._result import Identifiability, Record, Result
from ._solve import amari_distance, diagonalize, gradient, loss
from ._spectra import cospectra, cross_spectra
from ._tracker import Tracker

if TYPE_CHECKING:
    from . import dask
    from ._artifacts import Artifact, ArtifactScores
    from ._base import SeparabilityMargin
    from ._csp import CSP
    from ._errors import ConvergenceWarning
    from ._estimator import JointDiagonalizer
    from ._jade import JADE
    from ._separation import SourceSeparation
    from ._sobi import AMUSE, SOBI

__all__ = [
    "diagonalize",
    "diagonalize_many",
    "bootstrap",
    "Tracker",
    "segment_covariances",
    "epoch_covariances",
    "cospectra",
    "cross_spectra",
    "lagged_covariances",
    "cumulants",
    "loss",
    "gradient",
    "amari_distance",
    "load",
    "Result",
    "BootstrapResult",
    "Record",
    "Identifiability",
    "JointDiagonalizer",
    "CSP",
    "SourceSeparation",
    "SOBI",
    "AMUSE",
    "JADE",
    "SeparabilityMargin",
    "Artifact",
    "ArtifactScores",
    "ConvergenceWarning",
    "ConvergenceError",
    "compat",
    "dask",
    "datasets",
    "__version__",
]

# scikit-learn and Dask are optional, and slow to import: their users are imported on first use.
_LAZY = {
    "JointDiagonalizer": "_estimator",
    "CSP": "_csp",
    "SourceSeparation": "_separation",
    "SOBI": "_sobi",
    "AMUSE": "_sobi",
    "JADE": "_jade",
    "SeparabilityMargin": "_base",
    "Artifact": "_artifacts",
    "ArtifactScores": "_artifacts",
}

_errors.share_warning_with_sklearn()


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        globals()[name] = getattr(import_module(f".{_LAZY[name]}", __name__), name)
        return globals()[name]
    if name == "ConvergenceWarning":
        # Looked up each time: its base class depends on whether scikit-learn has been imported.
        _errors.share_warning_with_sklearn()
        return _errors.ConvergenceWarning
    if name == "dask":
        return import_module(".dask", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
