"""Warnings and errors of solves that do not converge."""

from __future__ import annotations

import sys
import warnings
from typing import TYPE_CHECKING

from ._typing import OnFailure

if TYPE_CHECKING:
    from ._result import Result

__all__ = [
    "ConvergenceError",
    "ConvergenceWarning",
    "OnFailure",
    "check_on_failure",
    "describe",
    "failed",
    "report",
    "share_warning_with_sklearn",
    "warn_not_converged",
]


class _CodiagWarning(UserWarning):
    """Base class that lets ConvergenceWarning be given a second base later.

    Python allows that only for classes whose bases are all defined in Python.
    """


class ConvergenceWarning(_CodiagWarning):
    """Warning that a solve ended before its gradient norm fell to the tolerance.

    Once scikit-learn is imported, it is also a ``sklearn.exceptions.ConvergenceWarning``.
    """


def share_warning_with_sklearn() -> None:
    """Make ConvergenceWarning a subclass of scikit-learn's, if that has been imported.

    Importing scikit-learn takes longer than all of codiag, so that ``import codiag`` must not do
    it. Only a program that has imported scikit-learn can mention its class, in a filter or in
    ``pytest.warns``. The base class is therefore added as soon as scikit-learn is found among the
    imported modules: when codiag is imported, when ``codiag.ConvergenceWarning`` is read, and
    before each warning. The class itself stays the same object, so filters that were set earlier
    keep working.
    """
    exceptions = sys.modules.get("sklearn.exceptions")
    base = getattr(exceptions, "ConvergenceWarning", None)
    if base is not None and not issubclass(ConvergenceWarning, base):
        ConvergenceWarning.__bases__ = (_CodiagWarning, base)


class ConvergenceError(RuntimeError):
    """Error raised instead of a :class:`ConvergenceWarning` with ``on_failure="raise"``.

    Attributes
    ----------
    result : Result
        The best result that was reached.
    """

    def __init__(self, message: str, result: Result | None = None) -> None:
        super().__init__(message)
        self.result = result


def check_on_failure(on_failure: str) -> None:
    """Raise unless `on_failure` is one of its choices."""
    if on_failure not in ("warn", "raise", "ignore"):
        raise ValueError(f'on_failure must be "warn", "raise" or "ignore", got {on_failure!r}')


def failed(result: Result) -> bool:
    """Whether the solve did not converge, and was not stopped by its callback."""
    return not result.converged and result.status != "interrupted"


def describe(result: Result, tol: float) -> str:
    """Return one sentence with the status, the gradient norm and the number of iterations."""
    return (
        f"no convergence: status {result.status!r} after {result.n_iter} iterations, "
        f"gradient norm {result.gradient_norm:.2e} (tol={tol:g})"
    )


def report(message: str, on_failure: str, result: Result | None = None, depth: int = 3) -> None:
    """Warn, raise or do nothing, as the caller of a public function has chosen."""
    if on_failure == "raise":
        raise ConvergenceError(message, result)
    if on_failure == "warn":
        warn_not_converged(message, depth + 1)


def warn_not_converged(message: str, stacklevel: int) -> None:
    """Issue a ConvergenceWarning."""
    share_warning_with_sklearn()
    warnings.warn(message, ConvergenceWarning, stacklevel=stacklevel)
