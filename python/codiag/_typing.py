"""Types of arguments that several functions share, with the choices of all string options."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "ArrayInput",
    "Bands",
    "ClassWeights",
    "Criterion",
    "Floats",
    "Init",
    "InitChoice",
    "Lags",
    "Memory",
    "Method",
    "NComponents",
    "Numbers",
    "OnFailure",
    "Rank",
    "References",
    "RotationMethod",
    "Scale",
    "SegmentLength",
    "Shrinkage",
    "SortBy",
    "Spans",
    "Window",
]

Floats: TypeAlias = NDArray[np.float64]
# float64 or complex128, depending on the matrices.
Numbers: TypeAlias = NDArray[Any]

Criterion = Literal["likelihood", "frobenius", "least-squares"]
Method = Literal["newton", "quasi-newton", "pham", "row-wise", "jacobi", "acdc", "uwedge", "ffdiag"]
RotationMethod = Literal["newton", "quasi-newton", "jacobi", "acdc", "uwedge", "ffdiag"]
InitChoice = Literal["spectral", "whitener", "identity"]
SortBy = Literal["contrast", "stability"]
OnFailure = Literal["warn", "raise", "ignore"]
ClassWeights = Literal["observed", "equal"]
Window = Literal["hann", "hamming", "rectangular"]


class SupportsArray(Protocol):
    """Objects that NumPy converts by their ``__array__`` method."""

    def __array__(self) -> NDArray[Any]:
        """Return the object as a NumPy array."""


class SupportsDLPack(Protocol):
    """Objects that export their memory by DLPack, such as torch tensors."""

    def __dlpack__(self, *, stream: Any = None) -> Any:
        """Return a DLPack capsule."""


ArrayInput: TypeAlias = ArrayLike | SupportsDLPack
# Without strings, which an ArrayLike may be: names of choices can then be checked.
_Matrix: TypeAlias = SupportsArray | SupportsDLPack | Sequence[Sequence[complex]]
_Vector: TypeAlias = SupportsArray | SupportsDLPack | Sequence[float]

Init: TypeAlias = InitChoice | os.PathLike[str] | _Matrix
NComponents: TypeAlias = int | Literal["auto"] | None
Rank: TypeAlias = int | Literal["auto", "full"]
Shrinkage: TypeAlias = float | Literal["auto", "ledoit-wolf", "oas"]
Scale: TypeAlias = Literal["rms"] | Sequence[str] | _Vector | None
SegmentLength: TypeAlias = int | str | None
Memory: TypeAlias = int | str | None
Spans: TypeAlias = Iterable[tuple[int, int]]
Bands: TypeAlias = Sequence[tuple[float, float]] | int
Lags: TypeAlias = int | Iterable[int]
References: TypeAlias = Mapping[str, str | tuple[str, ArrayLike]]
