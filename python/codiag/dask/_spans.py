"""Spans of samples of a recording in chunks, which may cross the borders of chunks."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from typing import Any

import numpy as np

from .._typing import Floats

try:
    import dask.array
except ImportError:
    raise ImportError("codiag.dask needs Dask: pip install 'dask[array]' distributed") from None


def check_recording(signals: Any) -> tuple[int, int]:
    """Return the numbers of channels and samples; raise unless it is a dask array of them."""
    if getattr(signals, "ndim", None) != 2 or not isinstance(signals, dask.array.Array):
        raise ValueError("signals must be a dask array of shape (channels, samples)")
    if any(np.isnan(size) for axis in signals.chunks for size in axis):
        raise ValueError("signals have chunks of unknown size: call compute_chunk_sizes() first")
    channels, samples = signals.shape
    return channels, samples


def spans_of(
    signals: Any, length: int, overlap: float
) -> Iterator[tuple[list[Any], tuple[int, int], int]]:
    """Yield, chunk by chunk, the span of samples of all segments that begin in the chunk.

    Each item consists of the chunks that the span covers, its samples within these, and the number
    of its segments.
    """
    samples = signals.shape[1]
    step = max(1, int(np.floor(length * (1 - overlap) + 0.5)))
    total = (samples - length) // step + 1
    signals = signals.rechunk({0: -1})
    blocks = signals.to_delayed().ravel()
    edges = [0, *accumulate(signals.chunks[1])]
    for k, low in enumerate(edges[:-1]):
        first = -(-low // step)
        own = min(-(-edges[k + 1] // step), total) - first
        if own <= 0:
            continue
        start = first * step - low
        end = start + (own - 1) * step + length
        reach = int(np.searchsorted(edges, low + end))
        yield list(blocks[k:reach]), (start, end), own


def check_length(name: str, length: int, samples: int) -> None:
    """Raise unless a segment of that length fits."""
    if not 1 <= length <= samples:
        raise ValueError(
            f"{name} must be from 1 to the {samples} samples of the recording, got {length}"
        )


def joined(blocks: list[Any], span: tuple[int, int]) -> Floats:
    """Return a span of samples of some chunks."""
    block = blocks[0] if len(blocks) == 1 else np.concatenate(blocks, axis=1)
    samples: Floats = block[:, slice(*span)]
    return samples
