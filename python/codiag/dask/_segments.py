"""Covariances of the segments of a recording, computed where its chunks are."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .._covariances import segment_covariances as covariances_here
from .._typing import Floats
from ._spans import check_length, check_recording, joined, spans_of

try:
    import dask
    import dask.array
except ImportError:
    raise ImportError("codiag.dask needs Dask: pip install 'dask[array]' distributed") from None


def segment_covariances(
    signals: Any, *, segment_length: int, overlap: float = 0.0, center: bool = True
) -> Any:
    """Return the covariances of the segments of a recording as a lazy dask array.

    Each chunk of matrices is computed where its samples are, with a segment's length of samples
    from the next chunks, so that segments across chunk borders are included.

    Parameters
    ----------
    signals : dask array, shape (channels, samples)
        Recording, chunked in time; from a Zarr store, ``dask.array.from_zarr(...)``.
    segment_length : int
        Samples of a segment. Samples left over at the end are not used.
    overlap : float
        Fraction of a segment that the next one repeats, at least 0 and below 1 (default 0).
    center : bool
        Whether the mean of each channel over the segment is subtracted (default True).

    Returns
    -------
    dask array, shape (n, channels, channels)
        One covariance X Xᵀ / segment_length per segment, for :func:`codiag.diagonalize`.

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
            n_jobs=1,
        ),
    )


def of_segments(
    signals: Any,
    segment_length: int,
    overlap: float,
    make: Callable[[Floats], Floats],
    per_segment: int = 1,
) -> Any:
    """Return the matrices that `make` computes from segments, `per_segment` for each."""
    channels, samples = check_recording(signals)
    check_length("segment_length", segment_length, samples)
    if not 0 <= overlap < 1:
        raise ValueError(f"overlap must be at least 0 and below 1, got {overlap}")
    made = dask.delayed(of_span, pure=True)
    arrays = []
    for blocks, span, count in spans_of(signals, segment_length, overlap):
        shape = (count * per_segment, channels, channels)
        matrices = made(blocks, span, make)
        arrays.append(dask.array.from_delayed(matrices, shape, dtype=np.float64))
    return dask.array.concatenate(arrays)


def of_span(blocks: list[Any], span: tuple[int, int], make: Callable[[Floats], Floats]) -> Floats:
    """Return the matrices that `make` computes from a span, which may cover several chunks."""
    return make(joined(blocks, span))
