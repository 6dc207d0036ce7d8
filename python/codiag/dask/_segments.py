"""Covariances of the segments of a recording, made where the recording is."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import accumulate
from typing import Any

import numpy as np

from .._input import Floats
from .._signals import segment_covariances as covariances_here

try:
    import dask
    import dask.array
except ImportError:
    raise ImportError("codiag.dask needs Dask: pip install 'codiag[dask]'") from None


def segment_covariances(
    signals: Any, *, segment_length: int, overlap: float = 0.0, center: bool = True
) -> Any:
    """Return the covariances of the segments of a recording as a dask array, nothing computed yet.

    Each chunk of matrices is made where its samples are, with a segment's length of samples from
    the next chunks, so that segments which straddle chunks are not lost.

    Parameters
    ----------
    signals : dask array, shape (channels, samples)
        The recording, chunked in time; from a Zarr store, ``dask.array.from_zarr(...)``.
    segment_length : int
        The samples of a segment. What is left at the end is not used.
    overlap : float
        The share of a segment that the next one repeats, from 0 to below 1.
    center : bool
        Whether the mean of every segment is taken off, each channel's own.

    Returns
    -------
    dask array, shape (n, channels, channels)
        One covariance X Xᵀ / segment_length a segment, for :func:`codiag.diagonalize`.

    Examples
    --------
    >>> import dask.array, codiag.dask
    >>> signals = dask.array.random.default_rng(0).normal(size=(4, 10_000), chunks=(4, 3_000))
    >>> C = codiag.dask.segment_covariances(signals, segment_length=500, overlap=0.5)
    >>> C.shape
    (39, 4, 4)
    """
    return of_segments(
        signals,
        segment_length,
        overlap,
        partial(
            covariances_here,
            segment_length=segment_length,
            overlap=overlap,
            center=center,
            threads=1,
        ),
    )


def of_segments(
    signals: Any,
    segment_length: int,
    overlap: float,
    make: Callable[[Floats], Floats],
    per_segment: int = 1,
) -> Any:
    """Return what `make` makes of the segments of a recording, so many matrices of each."""
    check_recording(signals)
    channels, samples = signals.shape
    if not 1 <= segment_length <= samples:
        raise ValueError(
            "segment_length must be at least 1 sample and at most as many as there are, "
            f"got {segment_length} for {samples} samples"
        )
    if not 0 <= overlap < 1:
        raise ValueError(f"overlap must be at least 0 and below 1, got {overlap}")
    step = max(1, int(np.floor(segment_length * (1 - overlap) + 0.5)))
    count = (samples - segment_length) // step + 1
    signals = signals.rechunk({0: -1})
    blocks = signals.to_delayed().ravel()
    edges = [0, *accumulate(signals.chunks[1])]
    made = dask.delayed(of_span, pure=True)
    arrays = []
    for k, low in enumerate(edges[:-1]):
        # The segments that begin in this chunk.
        first = -(-low // step)
        own = min(-(-edges[k + 1] // step), count) - first
        if own <= 0:
            continue
        start = first * step - low
        end = start + (own - 1) * step + segment_length
        reach = int(np.searchsorted(edges, low + end))
        matrices = made(list(blocks[k:reach]), (start, end), make)
        shape = (own * per_segment, channels, channels)
        arrays.append(dask.array.from_delayed(matrices, shape, dtype=np.float64))
    return dask.array.concatenate(arrays)


def check_recording(signals: Any) -> None:
    """Raise if it is no dask array of channels x samples of which the chunks are known."""
    if getattr(signals, "ndim", None) != 2 or not isinstance(signals, dask.array.Array):
        raise ValueError("signals must be a dask array of shape (channels, samples)")
    if any(np.isnan(size) for axis in signals.chunks for size in axis):
        raise ValueError("signals have chunks of unknown size: call compute_chunk_sizes() first")


def of_span(blocks: list[Any], span: tuple[int, int], make: Callable[[Floats], Floats]) -> Floats:
    """Return what `make` makes of a span of samples, which may reach over several chunks."""
    block = blocks[0] if len(blocks) == 1 else np.concatenate(blocks, axis=1)
    return make(block[:, slice(*span)])
