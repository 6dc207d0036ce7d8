"""What is said when a solve does not converge."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from ._result import Result

OnFailure = Literal["warn", "raise", "ignore"]


class ConvergenceWarning(UserWarning):
    """A solve ended before its gradient fell to the tolerance."""


class ConvergenceError(RuntimeError):
    """The same as an error, on request (``on_failure="raise"``).

    Attributes
    ----------
    result : Result
        What was reached.
    """

    def __init__(self, message: str, result: Result | None = None) -> None:
        super().__init__(message)
        self.result = result


def check_choice(on_failure: str) -> None:
    """Raise unless `on_failure` is one of its choices."""
    if on_failure not in ("warn", "raise", "ignore"):
        raise ValueError(f'on_failure must be "warn", "raise" or "ignore", got {on_failure!r}')


def failed(result: Result) -> bool:
    """Whether the solve ended against the caller's will."""
    return not result.converged and result.status != "stopped"


def describe(result: Result, tol: float) -> str:
    """Return one sentence with status, gradient norm and iterations."""
    return (
        f"no convergence: {result.status} after {result.n_iter} iterations, "
        f"gradient norm {result.gradient_norm:.2e} (tol={tol:g})"
    )


def report(message: str, on_failure: str, result: Result | None = None, depth: int = 3) -> None:
    """Warn or raise, as the caller wants it."""
    if on_failure == "raise":
        raise ConvergenceError(message, result)
    if on_failure == "warn":
        warnings.warn(message, ConvergenceWarning, stacklevel=depth)
