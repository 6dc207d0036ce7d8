"""Conversion of arguments to arrays that the extension reads in place."""

from __future__ import annotations

import importlib
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._npz import read_npy
from ._typing import ArrayInput, Floats, Numbers

_DOUBLE = np.dtype(np.float64)
_forked = False
_MAX_N_JOBS = max(64, os.cpu_count() or 1)


def _after_fork() -> None:
    global _forked
    _forked = True


# A forked process inherits the thread pools of its parent, but not their threads: work handed to
# them would never be done.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def usable_n_jobs(n_jobs: int | None) -> int | None:
    """Return the number of threads to use; None leaves the choice to the library."""
    if n_jobs is None:
        return 1 if _forked else None
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, (int, np.integer)):
        raise TypeError(f"n_jobs must be None, -1 or a positive integer, got {n_jobs!r}")
    if n_jobs < 1 and n_jobs != -1:
        raise ValueError(
            "n_jobs must be None (chosen automatically), -1 (all cores) or a positive integer, "
            f"got {n_jobs}"
        )
    if _forked:
        return 1
    if n_jobs == -1:
        return available_cores()
    # Results do not depend on it, so an absurd number need not bring the machine down.
    return min(int(n_jobs), _MAX_N_JOBS)


def available_cores() -> int:
    """Return the number of cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def to_numpy(values: Any) -> NDArray[Any]:
    """Return anything array-like as a NumPy array: by ``__array__``, DLPack or as a sequence."""
    if isinstance(values, np.ndarray):
        return np.asarray(values)
    if not hasattr(values, "__array__") and hasattr(values, "__dlpack__"):
        return np.from_dlpack(values)
    return np.asarray(values)


def dlpack_namespace(values: Any) -> str | None:
    """Return the name of the module whose arrays `values` are, if it exchanges them by DLPack.

    None for NumPy's arrays, and for packages without ``from_dlpack``.
    """
    if isinstance(values, (np.ndarray, np.generic, list, tuple)):
        return None
    if not hasattr(values, "__dlpack__"):
        return None
    name = type(values).__module__.partition(".")[0]
    return name if hasattr(importlib.import_module(name), "from_dlpack") else None


def from_dlpack(array: NDArray[Any], namespace: str) -> Any:
    """Return a NumPy array as one of another package, which shares its memory."""
    return importlib.import_module(namespace).from_dlpack(array)


def real_array(values: ArrayInput, name: str) -> Floats:
    """Return `values` as a contiguous float64 array: itself, if it is one."""
    array = to_numpy(values)
    if array.dtype == np.float64 and array.flags.c_contiguous and array.flags.aligned:
        return array
    if array.dtype.kind == "c":
        raise TypeError(f"{name} is complex, but must be real")
    if array.dtype.kind not in "fiub":
        array = _from_objects(array, name, np.float64)
    # A copy, unless it is contiguous already; misaligned arrays are copied in any case.
    array = np.require(array, np.float64, ["C", "A"])
    return array


def _from_objects(array: NDArray[Any], name: str, kind: type) -> Numbers:
    """Return an array of Python numbers as one of NumPy's; strings and dates raise."""
    strings = (str, bytes)
    if array.dtype != object or any(isinstance(x, strings) for x in array.flat):
        held = "strings" if array.dtype.kind in "OUS" else array.dtype
        raise TypeError(f"{name} must hold numbers, got {held}")
    try:
        return array.astype(kind)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must hold numbers, got {array.dtype}") from None


def number_array(values: ArrayInput, name: str) -> Numbers:
    """Return `values` as a contiguous float64 or, if they are complex, complex128 array."""
    array = to_numpy(values)
    if array.dtype == object and any(isinstance(x, complex) for x in array.flat):
        array = _from_objects(array, name, np.complex128)
    if array.dtype.kind == "c":
        return np.require(array, np.complex128, ["C", "A"])
    return real_array(array, name)


def same_type(x: Numbers, y: Numbers) -> tuple[Numbers, Numbers]:
    """Return both as complex arrays if one of them is complex."""
    if x.dtype == y.dtype:
        return x, y
    return x.astype(np.complex128), y.astype(np.complex128)


def matrix_set(C: Any, name: str = "C") -> Numbers:
    """Return `C`, real or complex, as a contiguous array of shape (n, p, p)."""
    # Fast path: small sets are solved in less time than the general checks take.
    if type(C) is np.ndarray and C.ndim == 3 and C.dtype == _DOUBLE:
        (n, p, q), flags = C.shape, C.flags
        if n > 0 and p == q > 0 and flags.c_contiguous and flags.aligned:
            return C
    if isinstance(C, np.ma.MaskedArray) and np.ma.is_masked(C):
        raise ValueError(f"{name} has masked entries: fill them, or drop those matrices")
    array = to_numpy(C)
    if array.dtype.kind == "b":
        raise TypeError(f"{name} must hold numbers, got booleans")
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


def matrix(values: ArrayInput, name: str) -> Numbers:
    """Return `values`, real or complex, as a contiguous matrix."""
    array = number_array(values, name)
    if array.ndim != 2:
        raise ValueError(f"expected {name} of two dimensions, got shape {array.shape}")
    return array


def weight_vector(weights: ArrayInput | None, name: str = "sample_weight") -> Floats | None:
    """Return the weights as a vector, None if there are none."""
    if weights is None:
        return None
    array = real_array(weights, name)
    if array.ndim != 1:
        raise ValueError(f"expected {name} of one dimension, got shape {array.shape}")
    return array


def init_choice(init: Any) -> str | Numbers:
    """Return the starting point as a name or as a matrix."""
    if type(init) is str and not init.endswith(".npy"):
        return init
    if init is None:
        raise ValueError('init must be "spectral", "whitener", "identity" or a matrix, got None')
    if isinstance(init, os.PathLike) or (isinstance(init, str) and init.endswith(".npy")):
        return matrix(read_npy(init), "init")
    return init if isinstance(init, str) else matrix(init, "init")


def are_symmetric_matrices(data: Floats) -> bool:
    """Whether an array of three dimensions holds symmetric matrices, as no epochs are."""
    if data.shape[1] != data.shape[2]:
        return False
    size = np.abs(data).max(axis=(1, 2))
    return bool((np.abs(data - data.transpose(0, 2, 1)).max(axis=(1, 2)) <= 1e-8 * size).all())


def is_distributed(C: Any) -> bool:
    """Whether `C` is a dask array or a list of futures; neither is imported to find out."""
    one = C[0] if isinstance(C, (list, tuple)) and C else C
    return type(one).__module__.partition(".")[0] in ("dask", "distributed")
