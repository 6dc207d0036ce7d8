"""A recording in chunks, cut in stretches that may reach over several of them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from typing import Any

import numpy as np

from .._input import Floats

try:
    import dask.array
except ImportError:
    raise ImportError("codiag.dask needs Dask: pip install 'codiag[dask]'") from None


def check_recording(signals: Any) -> tuple[int, int]:
    """Return the channels and samples of what must be a dask array of them."""
    if getattr(signals, "ndim", None) != 2 or not isinstance(signals, dask.array.Array):
        raise ValueError("signals must be a dask array of shape (channels, samples)")
    if any(np.isnan(size) for axis in signals.chunks for size in axis):
        raise ValueError("signals have chunks of unknown size: call compute_chunk_sizes() first")
    channels, samples = signals.shape
    return channels, samples


def stretches(
    signals: Any, length: int, overlap: float
) -> Iterator[tuple[list[Any], tuple[int, int], int]]:
    """Yield, chunk by chunk, what the stretches of that length that begin in it are made of.

    That is the chunks that they reach into, their samples within these, and how many there are.
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
    """Raise if no stretch of that length fits."""
    if not 1 <= length <= samples:
        raise ValueError(
            f"{name} must be at least 1 sample and at most as many as there are, "
            f"got {length} for {samples} samples"
        )


def joined(blocks: list[Any], span: tuple[int, int]) -> Floats:
    """Return a span of samples of some chunks."""
    block = blocks[0] if len(blocks) == 1 else np.concatenate(blocks, axis=1)
    samples: Floats = block[:, slice(*span)]
    return samples
