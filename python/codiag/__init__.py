"""Joint diagonalization of symmetric or Hermitian matrices.

Given matrices C[0] ... C[n-1], :func:`diagonalize` finds the one B for which all
``B @ C[i] @ B.conj().T`` are as diagonal as can be.

>>> import codiag
>>> C, A = codiag.datasets.synthetic(100, 10)
>>> result = codiag.diagonalize(C)
>>> result.status
'converged'
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import compat, datasets
from ._bootstrap import BootstrapResult, bootstrap
from ._core import __version__
from ._errors import ConvergenceError, ConvergenceWarning
from ._many import diagonalize_many
from ._result import Identifiability, Record, Result
from ._saved import load
from ._signals import (
    cumulants,
    epoch_covariances,
    lagged_covariances,
    segment_covariances,
)
from ._solve import amari_distance, diagonalize, gradient, loss
from ._spectra import cospectra, cross_spectra
from ._tracker import Tracker

if TYPE_CHECKING:
    from . import dask
    from ._csp import CSP
    from .estimator import JointDiagonalizer
    from .separation import (
        AMUSE,
        JADE,
        SOBI,
        Artefact,
        ArtefactScores,
        Rival,
        SourceSeparation,
    )

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
    "Rival",
    "Artefact",
    "ArtefactScores",
    "ConvergenceWarning",
    "ConvergenceError",
    "compat",
    "dask",
    "datasets",
    "__version__",
]


def __getattr__(name: str) -> Any:
    # scikit-learn and Dask are optional, and slow to import.
    if name == "JointDiagonalizer":
        from .estimator import JointDiagonalizer

        globals()[name] = JointDiagonalizer
        return JointDiagonalizer
    if name == "CSP":
        from ._csp import CSP

        globals()[name] = CSP
        return CSP
    if name in (
        "SourceSeparation",
        "SOBI",
        "AMUSE",
        "JADE",
        "Rival",
        "Artefact",
        "ArtefactScores",
    ):
        from . import separation

        globals()[name] = getattr(separation, name)
        return globals()[name]
    if name == "dask":
        return import_module(".dask", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
