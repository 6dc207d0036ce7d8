"""The extension module. Everything here is called by the package; its signatures may change."""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Self

__all__ = [
    "Answer",
    "Chunk",
    "Part",
    "Tracker",
    "__version__",
    "amari_distance",
    "apply",
    "artefacts",
    "check_resamples",
    "copy_whole",
    "cospectra",
    "criterion",
    "cross_spectra",
    "cumulants",
    "drift_share",
    "epoch_covariances",
    "lagged_covariances",
    "meg",
    "program",
    "reducing_filters",
    "remove",
    "resample",
    "segment_covariances",
    "separate",
    "solve",
    "solve_file",
    "solve_many",
    "solve_parts",
    "synthetic_set",
    "try_place",
    "write_whole",
]

__version__: str

@final
class Answer:
    """What of an answer has not been asked for yet."""

    @property
    def seconds(self) -> float:
        """What of the time of a call was the library's own."""
    @property
    def mean_log_det(self) -> float:
        """Of the set, the mean of log det C."""
    def get(self, name: str) -> Any:
        """Return a field of the result that is not among those handed over at once."""

def solve(
    c: NDArray[np.float64] | NDArray[np.complex128],
    weights: Sequence[float] | NDArray[np.float64] | None,
    options: Mapping[str, Any],
    callback: Callable[..., object] | None,
) -> dict[str, Any]:
    """Solve one problem; return the attributes of a result by name."""

def solve_file(
    path: str,
    layout: tuple[int, str, int, int] | None,
    memory: int | str | None,
    weights: Sequence[float] | NDArray[np.float64] | None,
    options: Mapping[str, Any],
    callback: Callable[..., object] | None,
    progress: Callable[[int, int, float], object] | None,
) -> dict[str, Any]:
    """Solve one problem whose matrices are in a file, within a budget of memory if there is one."""

def solve_many(
    sets: Sequence[NDArray[np.float64] | NDArray[np.complex128]],
    weights: Sequence[Sequence[float] | NDArray[np.float64] | None],
    options: Mapping[str, Any],
    threads: int | None,
) -> list[dict[str, Any]]:
    """Solve many problems, each on one thread, `threads` of them at a time."""

def check_resamples(count: int, n: int, p: int) -> None:
    """Raise MemoryError if the resamples of n matrices of size p do not fit into memory."""

def resample(
    c: NDArray[np.float64] | NDArray[np.complex128],
    b: NDArray[np.float64] | NDArray[np.complex128],
    weights: Sequence[float] | NDArray[np.float64] | None,
    draws: Sequence[Sequence[float] | NDArray[np.float64]],
    options: Mapping[str, Any],
) -> list[tuple[dict[str, Any], NDArray[np.float64]]]:
    """Solve the sets that were drawn, each from B; return results and likenesses with B."""

@final
class Chunk:
    """Consecutive matrices of a larger set, checked but for their definiteness."""

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
        """Return what a set is reduced by: the weighted mean of the matrices, or their squares."""

    def __len__(self) -> int: ...
    def __sizeof__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class Part:
    """The matrices of some chunks, and where they stand."""

    def __new__(
        cls,
        chunks: Sequence[Chunk],
        filters: NDArray[np.float64] | NDArray[np.complex128] | None,
        threads: int | None,
    ) -> Self: ...
    def describe(self) -> bytes:
        """Return what the solver has to know of the part."""

    def answer(self, question: bytes) -> bytes:
        """Return the answer to a question."""

    def __sizeof__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

def solve_parts(
    ask: Callable[[bytes], Sequence[bytes]],
    parts: Sequence[bytes],
    mean: NDArray[np.float64] | NDArray[np.complex128] | None,
    options: Mapping[str, Any],
    callback: Callable[..., object] | None,
) -> dict[str, Any]:
    """Solve for a set in parts, as they describe themselves; `ask` puts a question to all."""

def reducing_filters(
    mean: NDArray[np.float64] | NDArray[np.complex128], options: Mapping[str, Any]
) -> NDArray[Any]:
    """Return the filters to which a set with this mean of its chunks' range sums is reduced."""

def criterion(
    c: NDArray[np.float64] | NDArray[np.complex128],
    b: NDArray[np.float64] | NDArray[np.complex128],
    weights: Sequence[float] | NDArray[np.float64] | None,
    name: str,
    threads: int | None,
) -> tuple[float, Any]:
    """Return the loss and the relative gradient at B."""

@final
class Tracker:
    """Matrices that keep arriving, and the B that follows them."""

    def __new__(cls, p: int, options: Mapping[str, Any], complex: bool) -> Tracker: ...
    @staticmethod
    def resume(
        options: Mapping[str, Any],
        c: NDArray[np.float64] | NDArray[np.complex128],
        weights: NDArray[np.float64],
        b: NDArray[np.float64] | NDArray[np.complex128] | None,
    ) -> Tracker:
        """Go on from a state, or from any other window and B."""

    def push(
        self,
        c: NDArray[np.float64] | NDArray[np.complex128],
        weights: Sequence[float] | NDArray[np.float64] | None,
    ) -> dict[str, Any]:
        """Take matrices in and update B; return the fields of a result by name."""

    def state(
        self,
    ) -> tuple[NDArray[Any], NDArray[np.float64], NDArray[Any] | None]:
        """Return the matrices of the window, their own weights, and B."""

    def decayed_weights(self) -> NDArray[np.float64]:
        """Return the weights with which the matrices of the window count."""

    @property
    def is_complex(self) -> bool:
        """Whether the matrices are complex."""

def segment_covariances(
    x: NDArray[np.float64], options: Mapping[str, Any]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return one covariance per segment, and by how much each was shrunk."""

def epoch_covariances(
    x: NDArray[np.float64], labels: Sequence[int] | None, options: Mapping[str, Any]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return one covariance per epoch or class, and by how much each was shrunk."""

def cospectra(
    x: NDArray[np.float64], options: Mapping[str, Any]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return one cospectrum per band, and by how much each was shrunk."""

def cross_spectra(
    x: NDArray[np.float64], options: Mapping[str, Any]
) -> tuple[NDArray[np.complex128], NDArray[np.float64]]:
    """Return one cross-spectrum per band, and by how much each was shrunk."""

def drift_share(x: NDArray[np.float64], rate: float, exclude: Sequence[tuple[int, int]]) -> float:
    """Return the share of the variance that slow drifts have."""

def lagged_covariances(
    x: NDArray[np.float64],
    labels: Sequence[int] | None,
    lags: Sequence[int],
    options: Mapping[str, Any],
) -> NDArray[np.float64]:
    """Return one matrix per lag, segment after segment or class after class."""

def cumulants(
    x: NDArray[np.float64], options: Mapping[str, Any]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the cumulant matrices of the whitened signals, and the whitener."""

def separate(
    x: NDArray[np.float64],
    labels: Sequence[int] | None,
    options: Mapping[str, Any],
    solver: Mapping[str, Any],
    callback: Callable[..., object] | None,
) -> dict[str, Any]:
    """Separate a recording, or epochs; return the fields of a result by name, and more."""

def apply(
    matrix: NDArray[np.float64],
    x: NDArray[np.float64],
    out: NDArray[np.float64],
    threads: int | None,
) -> None:
    """Write the product of a matrix and a recording to `out`."""

def remove(
    filters: NDArray[np.float64],
    patterns: NDArray[np.float64],
    exclude: Sequence[int],
    x: NDArray[np.float64],
    out: NDArray[np.float64],
    threads: int | None,
) -> None:
    """Write a recording without some of its sources to `out`."""

def artefacts(
    sources: NDArray[np.float64],
    rate: float,
    references: Sequence[tuple[str, str, NDArray[np.float64]]],
    thresholds: Mapping[str, float],
) -> list[tuple[list[Any], list[Any]]]:
    """Return all scores of each source with their thresholds, and what it looks like."""

def amari_distance(
    b: NDArray[np.float64] | NDArray[np.complex128],
    a: NDArray[np.float64] | NDArray[np.complex128],
) -> float:
    """Return Amari's distance of B A to a scaled permutation."""

def synthetic_set(n: int, p: int, sigma: float, seed: int, complex: bool) -> tuple[Any, Any]:
    """Return the paper's synthetic matrices and the mixing that made them, or complex ones."""

def meg(magnetometers: bool) -> NDArray[np.float64]:
    """Return the MEG covariances."""

def program(args: Sequence[str], closed_output: bool = False) -> int:
    """Run the command line program; `args` begin with its name. Return the exit code.

    `closed_output` says that the process has no standard output.
    """

def try_place(path: str) -> None:
    """Raise what the system says to a file there; remove what killed programs left beside it."""

def write_whole(path: str, content: bytes) -> None:
    """Write a file, completely or not at all."""

def copy_whole(source: str | PathLike[str], target: str | PathLike[str]) -> None:
    """Copy a file, completely or not at all."""
