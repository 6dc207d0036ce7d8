"""Replace the joint diagonalization inside pyRiemann and MNE."""

from __future__ import annotations

import importlib
import importlib.util
import warnings
from collections.abc import Callable, Iterable
from functools import partial
from types import TracebackType
from typing import Any

import numpy as np

from .._errors import ConvergenceWarning
from . import pyriemann as ours

# Where pyRiemann keeps the name of the function: "geometry" was called "utils" up to 0.11.
_PYRIEMANN = ("pyriemann.{}.ajd", "pyriemann.{}.mean", "pyriemann.spatialfilters")
_MNE = ("mne.decoding.csp",)


def _is_ours(X: Any) -> bool:
    # Other arrays (tensors on a device) and Hermitian matrices stay with the original.
    return isinstance(X, np.ndarray) and X.dtype.kind in "fiu"


def _for_pyriemann(original: Callable[..., Any]) -> Callable[..., Any]:
    def ajd_pham(X: Any, **kwargs: Any) -> Any:
        return ours.ajd_pham(X, **kwargs) if _is_ours(X) else original(X, **kwargs)

    ajd_pham.__doc__ = original.__doc__
    return ajd_pham


def _for_mne(original: Callable[..., Any]) -> Callable[..., Any]:
    def _ajd_pham(X: Any, eps: float = 1e-6, max_iter: int = 15) -> Any:
        if not _is_ours(X):
            return original(X, eps=eps, max_iter=max_iter)
        with warnings.catch_warnings():
            # MNE stops after its fifteen sweeps without a word.
            warnings.simplefilter("ignore", ConvergenceWarning)
            return ours.ajd_pham(X, eps=eps, n_iter_max=max_iter)

    _ajd_pham.__doc__ = original.__doc__
    return _ajd_pham


class accelerate:
    """Make pyRiemann's AJDC, CSP and ALE mean and MNE's multiclass CSP use codiag.

    Their Pham algorithm is replaced by codiag's, which takes the same steps and stops by the same
    rule, from the call on until :meth:`undo`, or for a ``with`` block. Complex matrices and arrays
    other than NumPy's are left to the originals; singular matrices, for which those return NaN,
    raise a ValueError that names them.

    Parameters
    ----------
    packages : iterable of {"pyriemann", "mne"}, optional
        Which packages; by default those that are installed.

    Examples
    --------
    >>> import codiag
    >>> with codiag.compat.accelerate():
    ...     pass  # fit pyriemann.spatialfilters.AJDC, mne.decoding.CSP ...
    >>> fast = codiag.compat.accelerate()
    >>> fast.undo()
    """

    def __init__(self, packages: Iterable[str] | None = None) -> None:
        self._undo: list[Callable[[], None]] = []
        if packages is None:
            installed = [p for p in ("pyriemann", "mne") if importlib.util.find_spec(p)]
            if not installed:
                raise ImportError("neither pyriemann nor mne is installed")
        elif isinstance(packages, str):
            installed = [packages]
        else:
            installed = list(packages)
        for package in installed:
            if package == "pyriemann":
                self._pyriemann()
            elif package == "mne":
                self._replace(_MNE, "_ajd_pham", _for_mne)
            else:
                raise ValueError(f'packages must be "pyriemann" or "mne", got {package!r}')

    def _pyriemann(self) -> None:
        where = "geometry" if importlib.util.find_spec("pyriemann.geometry") else "utils"
        self._replace((name.format(where) for name in _PYRIEMANN), "ajd_pham", _for_pyriemann)
        table = importlib.import_module(f"pyriemann.{where}.ajd").ajd_functions
        original = table["ajd_pham"]
        table["ajd_pham"] = _for_pyriemann(original)
        self._undo.append(partial(table.__setitem__, "ajd_pham", original))

    def _replace(
        self, modules: Iterable[str], name: str, wrap: Callable[[Any], Callable[..., Any]]
    ) -> None:
        # All are imported before any is changed: they import the function from each other.
        for module in [importlib.import_module(path) for path in modules]:
            original = getattr(module, name, None)
            if original is not None:
                setattr(module, name, wrap(original))
                self._undo.append(partial(setattr, module, name, original))

    def undo(self) -> None:
        """Put everything back; calling it again does nothing."""
        while self._undo:
            self._undo.pop()()

    def __enter__(self) -> accelerate:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.undo()
