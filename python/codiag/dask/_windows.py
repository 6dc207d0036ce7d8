"""Spectra of a recording, computed on the workers that hold it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._covariances import band_list
from .._spectra import cospectra as cospectra_here
from .._spectra import cross_spectra as cross_spectra_here
from .._typing import Bands, Numbers, Window
from ._spans import check_length, check_recording, joined, spans_of

try:
    import dask
    import dask.array
except ImportError:
    raise ImportError("codiag.dask needs Dask: pip install 'dask[array]' distributed") from None

# Number of sums that are added at once, so that no worker holds those of all chunks.
_FAN_IN = 8
# A single chunk may have fewer windows than channels. The check for this is skipped if there is
# shrinkage, here by an amount below rounding errors.
_NEGLIGIBLE_SHRINKAGE = 1e-300


def cospectra(
    signals: Any,
    bands: Bands,
    sfreq: float,
    *,
    window_length: int | None = None,
    window: Window = "hann",
    overlap: float = 0.5,
    center: bool = True,
) -> Any:
    """Return the cospectra of a recording as a lazy dask array.

    Equal to :func:`codiag.cospectra`. A chunk of samples is transformed on its worker, which
    receives as many samples of the next chunks as a window has, so that windows across chunk
    borders are included. Apart from these samples, only sums are transferred.

    Parameters
    ----------
    signals : dask array, shape (channels, samples)
        Recording, chunked in time; from a Zarr store, ``dask.array.from_zarr(...)``.
    bands, sfreq, window_length, window, overlap, center
        As in :func:`codiag.cospectra`.

    Returns
    -------
    dask array, shape (bands, channels, channels)

    Examples
    --------
    >>> import dask.array, codiag.dask
    >>> signals = dask.array.random.default_rng(0).normal(size=(4, 10_000), chunks=(4, 3_000))
    >>> codiag.dask.cospectra(signals, [(1, 4), (4, 8), (8, 13)], sfreq=250).shape
    (3, 4, 4)
    """
    choices = (window_length, window, overlap, center)
    return _spectra(cospectra_here, np.float64, signals, bands, sfreq, *choices)


def cross_spectra(
    signals: Any,
    bands: Bands,
    sfreq: float,
    *,
    window_length: int | None = None,
    window: Window = "hann",
    overlap: float = 0.5,
    center: bool = True,
) -> Any:
    """Return the cross-spectra of a recording as a lazy dask array.

    Equal to :func:`codiag.cross_spectra`. Only sums are transferred between workers, as by
    :func:`codiag.dask.cospectra`.

    Parameters
    ----------
    signals : dask array, shape (channels, samples)
        Recording, chunked in time.
    bands, sfreq, window_length, window, overlap, center
        As in :func:`codiag.cospectra`.

    Returns
    -------
    dask array of complex128, shape (bands, channels, channels)

    Examples
    --------
    >>> import dask.array, codiag.dask
    >>> signals = dask.array.random.default_rng(0).normal(size=(4, 10_000), chunks=(4, 3_000))
    >>> codiag.dask.cross_spectra(signals, [(1, 4), (4, 8), (8, 13)], sfreq=250).dtype
    dtype('complex128')
    """
    choices = (window_length, window, overlap, center)
    return _spectra(cross_spectra_here, np.complex128, signals, bands, sfreq, *choices)


def _spectra(
    here: Callable[..., Numbers],
    dtype: Any,
    signals: Any,
    bands: Bands,
    sfreq: float,
    window_length: int | None,
    window: Window,
    overlap: float,
    center: bool,
) -> Any:
    channels, samples = check_recording(signals)
    pairs = band_list(bands, sfreq)
    assert pairs is not None
    if window_length is None:
        window_length = 1 << max(0, int(np.ceil(sfreq)) - 1).bit_length()
    check_length("window_length", window_length, samples)
    options = {"window_length": window_length, "window": window, "overlap": overlap}
    options.update(center=center, shrinkage=_NEGLIGIBLE_SHRINKAGE, n_jobs=1)
    # Check the options now instead of on a worker.
    here(np.zeros((1, window_length)), pairs, sfreq, **options)
    sums = dask.delayed(_sums, pure=True)
    own = list(spans_of(signals, window_length, overlap))
    windows = sum(count for _, _, count in own)
    parts = [sums(here, *stretch, pairs, sfreq, options) for stretch in own]
    add = dask.delayed(_total, pure=True)
    while len(parts) > 1:
        parts = [add(parts[k : k + _FAN_IN]) for k in range(0, len(parts), _FAN_IN)]
    mean = dask.delayed(np.divide, pure=True)(parts[0], windows)
    return dask.array.from_delayed(mean, (len(pairs), channels, channels), dtype=dtype)


def _sums(
    here: Callable[..., Numbers],
    blocks: list[Any],
    span: tuple[int, int],
    count: int,
    bands: list[tuple[float, float]],
    sfreq: float,
    options: dict[str, Any],
) -> Numbers:
    """Return the sums over the windows of a span of samples."""
    return count * here(joined(blocks, span), bands, sfreq, **options)


def _total(parts: list[Numbers]) -> Numbers:
    total: Numbers = np.sum(parts, axis=0)
    return total
