"""What runs on the workers: each holds its chunks as blocks of the extension, and answers for them.

All of these are plain tasks. A part keeps where it stands from one question to the next, but only
to save work: every question says where it should stand, so a part that was just loaded again on
another worker gives the same answer.
"""

from __future__ import annotations

from typing import Any

import distributed
import numpy as np

from .. import _core
from .._input import Floats, Numbers, matrix_set, real_set, usable_threads


def look_at(array: Any) -> tuple[tuple[int, ...], bool]:
    """Return the shape of an array that is only known where it is, and whether it is complex."""
    return tuple(array.shape), np.asarray(array).dtype.kind == "c"


def chunk(
    array: Any, first: int, weights: Floats | None, options: dict[str, Any], is_complex: bool
) -> _core.Chunk:
    """Check some consecutive matrices; the first has the number `first` in the whole set.

    They are complex if any of the set are.
    """
    matrices = matrix_set(array).astype(np.complex128) if is_complex else real_set(array)
    # Several chunks are made at a time: one thread each.
    return _core.Chunk(matrices, first, weights, {**options, "threads": 1})


def size_of(piece: _core.Chunk) -> int:
    """Return the number of matrices of a chunk."""
    return len(piece)


def range_sum_of(piece: _core.Chunk) -> tuple[float, Numbers]:
    """Return the weight of a chunk, and what a set is reduced in rank by."""
    return piece.weight, piece.range_sum()


def part(chunks: list[_core.Chunk], filters: Numbers | None, threads: int | None) -> _core.Part:
    """Make one part of chunks; it is held here from now on."""
    if threads is None:
        threads = distributed.get_worker().state.nthreads
    return _core.Part(chunks, filters, usable_threads(threads))


def describe(held: _core.Part) -> bytes:
    """Return what the solver has to know of a part."""
    return held.describe()


def answer(held: _core.Part, question: bytes) -> bytes:
    """Answer a question about the matrices of a part."""
    return held.answer(question)
