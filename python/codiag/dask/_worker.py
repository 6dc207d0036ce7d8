"""Functions that run on the workers, which hold their chunks as objects of the extension.

A part is the set of all chunks of a worker. It keeps the transformed matrices from one request to
the next only to save work: every request contains B, so a part that was loaded again on another
worker returns the same sums.
"""

from __future__ import annotations

from typing import Any

import distributed
import numpy as np

from .. import _core
from .._arrays import matrix_set, real_set, usable_n_jobs
from .._typing import Floats, Numbers


def shape_and_kind(array: Any) -> tuple[tuple[int, ...], bool]:
    """Return the shape of an array, and whether it is complex."""
    return tuple(array.shape), np.asarray(array).dtype.kind == "c"


def chunk(
    array: Any, first: int, weights: Floats | None, options: dict[str, Any], is_complex: bool
) -> _core.Chunk:
    """Return some consecutive matrices of the set, checked.

    `first` is the number of the first one in the whole set. They are made complex if any matrix of
    the set is complex.
    """
    matrices = matrix_set(array).astype(np.complex128) if is_complex else real_set(array)
    # Dask makes several chunks at a time, each on one thread.
    return _core.Chunk(matrices, first, weights, {**options, "n_jobs": 1})


def size_of(piece: _core.Chunk) -> int:
    """Return the number of matrices of a chunk."""
    return len(piece)


def range_sum_of(piece: _core.Chunk) -> tuple[float, Numbers]:
    """Return the weight of a chunk, and its contribution to the mean that reduces the set."""
    return piece.weight, piece.range_sum()


def part(chunks: list[_core.Chunk], filters: Numbers | None, n_jobs: int | None) -> _core.Worker:
    """Return the part that consists of these chunks."""
    if n_jobs is None:
        n_jobs = distributed.get_worker().state.nthreads
    return _core.Worker(chunks, filters, usable_n_jobs(n_jobs))


def describe(held: _core.Worker) -> bytes:
    """Return the description of a part that the solver needs before its first request."""
    return held.describe()


def respond(held: _core.Worker, request: bytes) -> bytes:
    """Return the response of a part to a request."""
    return held.respond(request)
