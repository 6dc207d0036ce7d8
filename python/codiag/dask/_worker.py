"""What runs on the workers: each holds its chunks as blocks of the extension, and answers for them.

All of these are plain tasks. A part keeps where it stands from one question to the next, but only
to save work: every question says where it should stand, so a part that was just loaded again on
another worker gives the same answer.
"""

from __future__ import annotations

from typing import Any

import distributed

from .. import _core
from .._input import Floats, real_set, usable_threads


def shape_of(array: Any) -> tuple[int, ...]:
    """Return the shape of an array that is only known where it is."""
    return tuple(array.shape)


def chunk(array: Any, first: int, weights: Floats | None, options: dict[str, Any]) -> _core.Chunk:
    """Check some consecutive matrices; the first has the number `first` in the whole set."""
    # Several chunks are made at a time: one thread each.
    return _core.Chunk(real_set(array), first, weights, {**options, "threads": 1})


def size_of(piece: _core.Chunk) -> int:
    """Return the number of matrices of a chunk."""
    return len(piece)


def range_sum_of(piece: _core.Chunk) -> tuple[float, Floats]:
    """Return the weight of a chunk, and what a set is reduced in rank by."""
    return piece.weight, piece.range_sum()


def part(chunks: list[_core.Chunk], filters: Floats | None, threads: int | None) -> _core.Part:
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
