"""Tasks on the workers: each holds its chunks as blocks of the extension.

A part keeps the transformed matrices from one request to the next, but only to save work: every
request contains B, so that a part which was just loaded again on another worker responds equally.
"""

from __future__ import annotations

from typing import Any

import distributed
import numpy as np

from .. import _core
from .._arrays import matrix_set, real_set, usable_n_jobs
from .._typing import Floats, Numbers


def look_at(array: Any) -> tuple[tuple[int, ...], bool]:
    """Return the shape of an array, and whether it is complex."""
    return tuple(array.shape), np.asarray(array).dtype.kind == "c"


def chunk(
    array: Any, first: int, weights: Floats | None, options: dict[str, Any], is_complex: bool
) -> _core.Chunk:
    """Check some consecutive matrices; the first has the number `first` in the whole set.

    They are complex if any of the set are.
    """
    matrices = matrix_set(array).astype(np.complex128) if is_complex else real_set(array)
    # Several chunks are made at a time, each on one thread.
    return _core.Chunk(matrices, first, weights, {**options, "n_jobs": 1})


def size_of(piece: _core.Chunk) -> int:
    """Return the number of matrices of a chunk."""
    return len(piece)


def range_sum_of(piece: _core.Chunk) -> tuple[float, Numbers]:
    """Return the weight of a chunk, and its mean that determines the reduction of the set."""
    return piece.weight, piece.range_sum()


def part(chunks: list[_core.Chunk], filters: Numbers | None, n_jobs: int | None) -> _core.Worker:
    """Combine chunks to one part, which this worker holds."""
    if n_jobs is None:
        n_jobs = distributed.get_worker().state.nthreads
    return _core.Worker(chunks, filters, usable_n_jobs(n_jobs))


def describe(held: _core.Worker) -> bytes:
    """Return the description of a part for the solver."""
    return held.describe()


def respond(held: _core.Worker, request: bytes) -> bytes:
    """Respond to a request about the matrices of a part."""
    return held.respond(request)
