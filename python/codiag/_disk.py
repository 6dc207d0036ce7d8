"""Matrices in files."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np


class Source(NamedTuple):
    """A file, and the layout of its numbers if it is not an npy file: offset, type, n, p."""

    path: str
    layout: tuple[int, str, int, int] | None


def source_of(C: Any, memory: int | str | None) -> Source | None:
    """Return the file that `C` names or maps; None if `C` is used as an array.

    A memory-mapped array is used as an array unless `memory` is given.
    """
    if isinstance(C, (str, os.PathLike)):
        return Source(os.fspath(C), None)
    if memory is None:
        return None
    if not isinstance(C, np.memmap) or C.filename is None:
        raise ValueError(
            "memory= needs matrices in a file: C must be the path of a .npy file or a "
            f"numpy.memmap, got {type(C).__name__}"
        )
    return Source(os.fspath(C.filename), _layout(C))


def _layout(C: np.memmap[Any, Any]) -> tuple[int, str, int, int]:
    shape = C.shape
    if len(shape) != 3 or shape[1] != shape[2] or 0 in shape:
        raise ValueError(f"expected C of shape (n, p, p) with n, p > 0, got shape {shape}")
    if not C.flags.c_contiguous:
        raise ValueError(
            "memory= needs matrices that are contiguous in their file, but those of C are not: "
            "take consecutive matrices, C[i:j], of an array in C order"
        )
    # A slice keeps the offset of the array it was taken from: compute its own from the addresses.
    root = C
    while isinstance(root.base, np.memmap):
        root = root.base
    offset = root.offset + _address(C) - _address(root)
    return offset, C.dtype.str, shape[0], shape[1]


def _address(array: np.memmap[Any, Any]) -> int:
    address: int = array.__array_interface__["data"][0]
    return address
