"""From whatever a caller has to arrays that the extension reads in place."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._npz import read_npy

Floats = NDArray[np.float64]
# float64 or complex128, as the matrices are: only known when they are seen.
Numbers = NDArray[Any]

_DOUBLE = np.dtype(np.float64)
_forked = False
_MOST_THREADS = max(64, os.cpu_count() or 1)


def _after_fork() -> None:
    global _forked
    _forked = True


# A forked process inherits the thread pools of its parent, but not their threads: work handed to
# them would never be done.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def usable_threads(threads: int | None) -> int | None:
    """Return the number of threads to use: the caller's choice, unless this process was forked."""
    if threads is not None and threads < 1:
        raise ValueError(f"threads must be at least 1, got {threads}")
    if _forked:
        return 1
    # Answers do not depend on it, so an absurd number need not bring the machine down.
    return None if threads is None else min(threads, _MOST_THREADS)


def real_array(values: ArrayLike, name: str) -> Floats:
    """Return `values` as a contiguous float64 array: itself, if it is one."""
    array = np.asarray(values)
    if array.dtype == np.float64 and array.flags.c_contiguous and array.flags.aligned:
        return array
    if array.dtype.kind == "c":
        raise TypeError(f"{name} is complex, where real numbers are needed")
    if array.dtype.kind not in "fiub":
        array = _from_objects(array, name, np.float64)
    # A copy, unless it is contiguous already; misaligned arrays are copied in any case.
    array = np.require(array, np.float64, ["C", "A"])
    return array


def _from_objects(array: NDArray[Any], name: str, kind: type) -> Numbers:
    """Return an array of Python's numbers as one of NumPy's; texts and dates are no numbers."""
    texts = (str, bytes)
    if array.dtype != object or any(isinstance(x, texts) for x in array.flat):
        held = "texts" if array.dtype == object else array.dtype
        raise TypeError(f"{name} must hold numbers, got {held}")
    try:
        return array.astype(kind)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must hold numbers, got {array.dtype}") from None


def number_array(values: ArrayLike, name: str) -> Numbers:
    """Return `values` as a contiguous float64 or, if they are complex, complex128 array."""
    array = np.asarray(values)
    if array.dtype == object and any(isinstance(x, complex) for x in array.flat):
        array = _from_objects(array, name, np.complex128)
    if array.dtype.kind == "c":
        return np.require(array, np.complex128, ["C", "A"])
    return real_array(array, name)


def alike(x: Numbers, y: Numbers) -> tuple[Numbers, Numbers]:
    """Return both as complex arrays if one of them is."""
    if x.dtype == y.dtype:
        return x, y
    return x.astype(np.complex128), y.astype(np.complex128)


def matrix_set(C: Any, name: str = "C") -> Numbers:
    """Return `C`, real or complex, as a contiguous array of shape (n, p, p)."""
    # Most are what is needed, and small sets are solved in less time than all that follows takes.
    if type(C) is np.ndarray and C.ndim == 3 and C.dtype == _DOUBLE:
        (n, p, q), flags = C.shape, C.flags
        if n > 0 and p == q > 0 and flags.c_contiguous and flags.aligned:
            return C
    if isinstance(C, np.ma.MaskedArray) and np.ma.is_masked(C):
        raise ValueError(f"{name} has masked entries: fill them, or leave those matrices out")
    array = np.asarray(C)
    if array.dtype.kind == "b":
        raise TypeError(f"{name} must hold numbers, got truth values")
    array = number_array(array, name)
    shape = array.shape
    if len(shape) != 3 or shape[1] != shape[2] or 0 in shape:
        hint = ""
        if len(shape) == 2 and shape[0] == shape[1] and shape[0] > 0:
            hint = f"; for a single matrix pass {name}[None]"
        raise ValueError(
            f"expected {name} of shape (n, p, p) with n, p > 0, got shape {shape}{hint}"
        )
    return array


def real_set(C: Any, name: str = "C") -> Floats:
    """Return `C`, which must be real, as a contiguous array of shape (n, p, p)."""
    return real_array(matrix_set(C, name), name)


def matrix(values: ArrayLike, name: str) -> Numbers:
    """Return `values`, real or complex, as a contiguous matrix."""
    array = number_array(values, name)
    if array.ndim != 2:
        raise ValueError(f"expected {name} of two dimensions, got shape {array.shape}")
    return array


def weight_vector(weights: ArrayLike | None, name: str = "weights") -> Floats | None:
    """Return the weights as a vector, None if there are none."""
    if weights is None:
        return None
    array = real_array(weights, name)
    if array.ndim != 1:
        raise ValueError(f"expected {name} of one dimension, got shape {array.shape}")
    return array


def start_choice(start: Any) -> str | Numbers:
    """Return the start as a name or as a matrix."""
    if type(start) is str and not start.endswith(".npy"):
        return start
    if start is None:
        raise ValueError('start must be "spectral", "whitener", "identity" or a matrix, got None')
    if isinstance(start, os.PathLike) or (isinstance(start, str) and start.endswith(".npy")):
        return matrix(read_npy(start), "start")
    return start if isinstance(start, str) else matrix(start, "start")


def is_elsewhere(C: Any) -> bool:
    """Whether `C` is a dask array or a list of futures; neither is imported to find out."""
    one = C[0] if isinstance(C, (list, tuple)) and C else C
    return type(one).__module__.partition(".")[0] in ("dask", "distributed")
