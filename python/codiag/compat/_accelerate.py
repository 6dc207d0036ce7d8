"""Replace the joint diagonalization inside pyRiemann, MNE, and packages that use qndiag."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import warnings
from collections.abc import Callable, Iterable
from functools import partial, wraps
from types import ModuleType, TracebackType
from typing import Any

import numpy as np

from .._errors import ConvergenceWarning
from . import _qndiag
from . import pyriemann as ours

_PACKAGES = ("pyriemann", "mne", "qndiag")
# Modules of pyRiemann with the functions: "geometry" was called "utils" up to 0.11.
_PYRIEMANN = ("pyriemann.{}.ajd", "pyriemann.{}.mean", "pyriemann.spatialfilters")
_MNE = ("mne.decoding.csp",)

_Function = Callable[..., Any]
# Functions that accept Hermitian matrices, too.
_COMPLEX = (ours.ajd_pham,)


def _replacement(function: _Function, original: _Function) -> _Function:
    """Return a wrapper of `function` that calls the original for input that it does not accept."""
    kinds = "fiuc" if function in _COMPLEX else "fiu"

    @wraps(original)
    def replaced(*args: Any, **kwargs: Any) -> Any:
        matrices = args[0] if args else kwargs.get("X", kwargs.get("C"))
        # Other arrays, such as tensors on a device, are left to the original.
        if not isinstance(matrices, np.ndarray) or matrices.dtype.kind not in kinds:
            return original(*args, **kwargs)
        try:
            return function(*args, **kwargs)
        except (ValueError, TypeError) as error:
            result = original(*args, **kwargs)
            # Reached only if the original accepts this input.
            warnings.warn(
                f"{original.__name__} of {original.__module__} was used instead of codiag's, which "
                f"does not accept this input: {error}",
                RuntimeWarning,
                stacklevel=2,
            )
            return result

    return replaced


def _silent_ajd_pham(X: Any, eps: float = 1e-6, max_iter: int = 15) -> Any:
    with warnings.catch_warnings():
        # MNE stops after fifteen sweeps without a warning.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return ours.ajd_pham(X, eps=eps, n_iter_max=max_iter)


class accelerate:
    """Make pyRiemann, MNE's multiclass CSP, and packages that use qndiag run on codiag.

    In pyRiemann that is all of ``pyriemann.geometry.ajd`` and what is built on it: AJDC, CSP and
    the ALE mean. The functions are replaced by codiag's, which stop by the same rules, from the
    call on until :meth:`undo`, or for a ``with`` block. What ran before still runs: arrays other
    than NumPy's and input that codiag rejects, such as singular matrices, are left to the
    originals, the latter with a warning.

    Parameters
    ----------
    packages : iterable of {"pyriemann", "mne", "qndiag"}, optional
        Packages (default: those that are installed).

    Notes
    -----
    Functions are replaced in this process: workers that joblib or dask start have to call
    :class:`accelerate` themselves, by ``joblib.parallel_config("loky", n_jobs=4,
    initializer=codiag.compat.accelerate)`` or ``client.run(codiag.compat.accelerate)``.

    ``qndiag.qndiag`` is also replaced in modules that have imported it already.

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
            chosen = [name for name in _PACKAGES if importlib.util.find_spec(name)]
            if not chosen:
                raise ImportError("none of pyriemann, mne and qndiag is installed")
        elif isinstance(packages, str):
            chosen = [packages]
        else:
            chosen = list(packages)
        for package in chosen:
            if package not in _PACKAGES:
                names = ", ".join(f'"{name}"' for name in _PACKAGES)
                raise ValueError(f"packages must be of {names}, got {package!r}")
        for package in chosen:
            getattr(self, f"_{package}")()

    def _pyriemann(self) -> None:
        where = "geometry" if importlib.util.find_spec("pyriemann.geometry") else "utils"
        # All are imported before any is changed, because they import functions from each other.
        modules = [importlib.import_module(name.format(where)) for name in _PYRIEMANN]
        table = modules[0].ajd_functions
        for name in ("ajd_pham", "rjd", "jade", "uwedge"):
            function = getattr(ours, name)
            for module in modules:
                self._replace(module, name, function)
            if name in table:
                self._undo.append(partial(table.__setitem__, name, table[name]))
                table[name] = _replacement(function, table[name])

    def _mne(self) -> None:
        for name in _MNE:
            self._replace(importlib.import_module(name), "_ajd_pham", _silent_ajd_pham)

    def _qndiag(self) -> None:
        original = importlib.import_module("qndiag").qndiag
        for module in list(sys.modules.values()):
            if getattr(module, "__dict__", {}).get("qndiag") is original:
                self._replace(module, "qndiag", _qndiag.qndiag)

    def _replace(self, module: ModuleType, name: str, function: _Function) -> None:
        original = getattr(module, name, None)
        if original is not None:
            setattr(module, name, _replacement(function, original))
            self._undo.append(partial(setattr, module, name, original))

    def undo(self) -> None:
        """Restore the original functions; calling it again has no effect."""
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
