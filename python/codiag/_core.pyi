"""The extension module. Everything here is called by the package; its signatures may change."""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Self

__all__ = [
    "Chunk",
    "SolveResult",
    "Tracker",
    "Worker",
    "__version__",
    "amari_distance",
    "apply",
    "check_resamples",
    "check_writable",
    "copy_file",
    "cospectra",
    "criterion",
    "cross_spectra",
    "cumulants",
    "drift_fraction",
    "epoch_covariances",
    "find_artifacts",
    "lagged_covariances",
    "meg",
    "program",
    "reducing_filters",
    "remove",
    "resample",
    "result_report",
    "segment_covariances",
    "separate",
    "separation_report",
    "solve",
    "solve_file",
    "solve_many",
    "solve_parts",
    "synthetic_set",
    "write_file",
]

__version__: str

@final
class SolveResult:
    """Result of a solve, whose arrays are made when they are first read."""

    @property
    def criterion(self) -> str:
        """Criterion that was minimized."""
    @property
    def status(self) -> str:
        """Why the solve ended."""
    @property
    def converged(self) -> bool:
        """Whether the gradient norm fell to the tolerance."""
    @property
    def n_iter(self) -> int:
        """Number of iterations."""
    @property
    def loss(self) -> float:
        """Value of the criterion."""
    @property
    def gradient_norm(self) -> float:
        """Norm of the relative gradient."""
    @property
    def B(self) -> NDArray[Any]:
        """Filters, one per row."""
    @property
    def A(self) -> NDArray[Any]:
        """Patterns, one per column."""
    @property
    def history(self) -> dict[str, NDArray[Any]]:
        """One array per field of a record."""
    @property
    def residuals(self) -> NDArray[np.float64]:
        """Contribution of each matrix to the loss."""
    @property
    def powers(self) -> NDArray[np.float64]:
        """Diagonals of the transformed matrices."""
    @property
    def identifiability(self) -> tuple[float, tuple[int, int]] | None:
        """Margin and numbers of the least separable pair of components."""
    @property
    def start_losses(self) -> NDArray[np.float64]:
        """Losses reached from all starting points."""
    @property
    def stability(self) -> NDArray[np.float64] | None:
        """Stability of each component."""
    @property
    def matches(self) -> NDArray[np.float64] | None:
        """Correlations whose median is the stability."""
    @property
    def seconds(self) -> float:
        """Seconds that the library took, without the conversion of arrays."""
    @property
    def mean_log_det(self) -> float:
        """Weighted mean of log det C over the set."""
    @property
    def iterates(self) -> list[NDArray[Any]] | None:
        """Every B along the way; None unless ``keep_iterates`` was set."""

def solve(
    c: NDArray[np.float64] | NDArray[np.complex128],
    weights: Sequence[float] | NDArray[np.float64] | None,
    options: Mapping[str, Any],
    callback: Callable[..., object] | None,
) -> SolveResult:
    """Solve one problem whose matrices are in memory."""

def solve_file(
    path: str,
    layout: tuple[int, str, int, int] | None,
    memory: int | str | None,
    weights: Sequence[float] | NDArray[np.float64] | None,
    options: Mapping[str, Any],
    callback: Callable[..., object] | None,
    progress: Callable[[int, int, float], object] | None,
) -> SolveResult:
    """Solve one problem whose matrices are in a file, with an optional limit of memory."""

def solve_many(
    sets: Sequence[NDArray[np.float64] | NDArray[np.complex128]],
    weights: Sequence[Sequence[float] | NDArray[np.float64] | None],
    options: Mapping[str, Any],
    n_jobs: int | None,
) -> list[SolveResult]:
    """Solve many problems, each on one thread, `n_jobs` of them at a time."""

def check_resamples(count: int, n: int, p: int) -> None:
    """Raise MemoryError if the resamples of n matrices of size p do not fit into memory."""

def resample(
    c: NDArray[np.float64] | NDArray[np.complex128],
    b: NDArray[np.float64] | NDArray[np.complex128],
    weights: Sequence[float] | NDArray[np.float64] | None,
    draws: Sequence[Sequence[float] | NDArray[np.float64]],
    options: Mapping[str, Any],
) -> list[tuple[SolveResult, NDArray[np.float64]]]:
    """Solve resampled sets starting from B; return results and similarities with B."""

@final
class Chunk:
    """Consecutive matrices of a larger set, checked except for definiteness."""

    def __new__(
        cls,
        matrices: NDArray[np.float64] | NDArray[np.complex128],
        first: int,
        weights: Sequence[float] | NDArray[np.float64] | None,
        options: Mapping[str, Any],
    ) -> Self: ...
    @property
    def weight(self) -> float:
        """The sum of the weights, the number of matrices without weights."""

    def range_sum(self) -> NDArray[Any]:
        """Return the weighted mean of the matrices, or of their squares."""

    def __len__(self) -> int: ...
    def __sizeof__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class Worker:
    """The matrices of some chunks, with their transforms."""

    def __new__(
        cls,
        chunks: Sequence[Chunk],
        filters: NDArray[np.float64] | NDArray[np.complex128] | None,
        n_jobs: int | None,
    ) -> Self: ...
    def describe(self) -> bytes:
        """Return the description of the part for the solver."""

    def respond(self, request: bytes) -> bytes:
        """Return the response to a request."""

    def __sizeof__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

def solve_parts(
    send: Callable[[bytes], Sequence[bytes]],
    parts: Sequence[bytes],
    mean: NDArray[np.float64] | NDArray[np.complex128] | None,
    options: Mapping[str, Any],
    callback: Callable[..., object] | None,
) -> SolveResult:
    """Solve for a set in parts, given their descriptions; `send` sends a request to all."""

def reducing_filters(
    mean: NDArray[np.float64] | NDArray[np.complex128], options: Mapping[str, Any]
) -> NDArray[Any]:
    """Return the filters that reduce a set with this mean of its chunks' range sums."""

def criterion(
    c: NDArray[np.float64] | NDArray[np.complex128],
    b: NDArray[np.float64] | NDArray[np.complex128],
    weights: Sequence[float] | NDArray[np.float64] | None,
    name: str,
    n_jobs: int | None,
) -> tuple[float, Any]:
    """Return the loss and the relative gradient at B."""

@final
class Tracker:
    """Matrices that arrive one after the other, and their B."""

    def __new__(cls, p: int, options: Mapping[str, Any], complex: bool) -> Tracker: ...
    @staticmethod
    def resume(
        options: Mapping[str, Any],
        c: NDArray[np.float64] | NDArray[np.complex128],
        weights: NDArray[np.float64],
        b: NDArray[np.float64] | NDArray[np.complex128] | None,
    ) -> Tracker:
        """Resume from a state, or from any other window and B."""

    def push(
        self,
        c: NDArray[np.float64] | NDArray[np.complex128],
        weights: Sequence[float] | NDArray[np.float64] | None,
    ) -> SolveResult:
        """Add matrices to the window and update B."""

    def state(
        self,
    ) -> tuple[NDArray[Any], NDArray[np.float64], NDArray[Any] | None]:
        """Return the matrices of the window, their own weights, and B."""

    def decayed_weights(self) -> NDArray[np.float64]:
        """Return the weights of the matrices of the window, including the forgetting."""

    @property
    def is_complex(self) -> bool:
        """Whether the matrices are complex."""

def segment_covariances(
    x: NDArray[np.float64], options: Mapping[str, Any]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return one covariance per segment, and the shrinkage of each."""

def epoch_covariances(
    x: NDArray[np.float64], y: Sequence[int] | None, options: Mapping[str, Any]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return one covariance per epoch or class, and the shrinkage of each."""

def cospectra(
    x: NDArray[np.float64], options: Mapping[str, Any]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return one cospectrum per band, and the shrinkage of each."""

def cross_spectra(
    x: NDArray[np.float64], options: Mapping[str, Any]
) -> tuple[NDArray[np.complex128], NDArray[np.float64]]:
    """Return one cross-spectrum per band, and the shrinkage of each."""

def drift_fraction(
    x: NDArray[np.float64], sfreq: float, bad_spans: Sequence[tuple[int, int]]
) -> float:
    """Return the fraction of the variance that slow drifts have."""

def lagged_covariances(
    x: NDArray[np.float64],
    y: Sequence[int] | None,
    lags: Sequence[int],
    options: Mapping[str, Any],
) -> NDArray[np.float64]:
    """Return one matrix per lag, segment after segment or class after class."""

def cumulants(
    x: NDArray[np.float64], options: Mapping[str, Any]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the cumulant matrices of the whitened signals, and the whitener."""

def result_report(
    result: Mapping[str, Any],
    c: NDArray[np.float64] | NDArray[np.complex128] | None,
    options: Mapping[str, Any],
) -> str:
    """Return the report of a result as HTML."""

def separation_report(
    x: NDArray[np.float64],
    result: Mapping[str, Any],
    found: Mapping[str, Any],
    options: Mapping[str, Any],
) -> str:
    """Return the report of a separation as HTML."""

def separate(
    x: NDArray[np.float64],
    y: Sequence[int] | None,
    options: Mapping[str, Any],
    solver: Mapping[str, Any],
    callback: Callable[..., object] | None,
) -> tuple[SolveResult, dict[str, Any]]:
    """Separate a recording or epochs; return the solver's result, and further attributes."""

def apply(
    matrix: NDArray[np.float64],
    x: NDArray[np.float64],
    out: NDArray[np.float64],
    n_jobs: int | None,
) -> None:
    """Write the product of a matrix and a recording to `out`."""

def remove(
    filters: NDArray[np.float64],
    patterns: NDArray[np.float64],
    exclude: Sequence[int],
    x: NDArray[np.float64],
    out: NDArray[np.float64],
    n_jobs: int | None,
) -> None:
    """Write a recording without some of its sources to `out`."""

def find_artifacts(
    sources: NDArray[np.float64],
    sfreq: float,
    references: Sequence[tuple[str, str, NDArray[np.float64]]],
    thresholds: Mapping[str, float],
) -> list[tuple[list[Any], list[Any]]]:
    """Return for each source all scores with their thresholds, and the artifacts it resembles."""

def amari_distance(
    b: NDArray[np.float64] | NDArray[np.complex128],
    a: NDArray[np.float64] | NDArray[np.complex128],
) -> float:
    """Return the Amari distance of B A to a scaled permutation."""

def synthetic_set(n: int, p: int, sigma: float, seed: int, complex: bool) -> tuple[Any, Any]:
    """Return the synthetic matrices of the paper, real or complex, and their mixing matrix."""

def meg(magnetometers: bool) -> NDArray[np.float64]:
    """Return the MEG covariances."""

def program(args: Sequence[str], closed_output: bool = False) -> int:
    """Run the command line program; `args` begin with its name. Return the exit code.

    `closed_output` says that the process has no standard output.
    """

def check_writable(path: str) -> None:
    """Raise OSError if the file cannot be written; remove temporary files of killed processes."""

def write_file(path: str, content: bytes) -> None:
    """Write a file, atomically."""

def copy_file(source: str | PathLike[str], target: str | PathLike[str]) -> None:
    """Copy a file, atomically."""
