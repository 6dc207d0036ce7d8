"""Spectra of recordings in frequency bands, by Welch's method."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core
from ._input import Floats, usable_threads
from ._signals import Bands, Spans, band_list, of_dimensions, scale_choice, span_list

Complexes = NDArray[np.complex128]


def cospectra(
    X: ArrayLike,
    bands: Bands,
    rate: float,
    *,
    window_length: int | None = None,
    window: str = "hann",
    overlap: float = 0.5,
    segments: int | None = None,
    segment_length: int | str | None = None,
    center: bool = True,
    scale: str | ArrayLike | None = None,
    shrinkage: float | str = 0.0,
    exclude: Spans | None = None,
    threads: int | None = None,
) -> Floats:
    """Return the cospectra of a recording, the real parts of cross-spectra: one matrix per band.

    With segments, one per segment and band. By Welch's method. The diagonals are the channels'
    powers in the bands; the cospectra of bands that cover all frequencies sum to the covariance of
    the tapered windows.

    Parameters
    ----------
    X : array-like, shape (channels, samples)
        The recording. A float64 array is read in place, in any order; it is never changed.
    bands : sequence of (float, float), or int
        From one frequency to below the other, in hertz; or how many bands of equal width, from 1 Hz
        to half the rate.
    rate : float
        Samples per second.
    window_length : int, optional
        The samples of a window: by default the power of two that is a second or a little more.
    window : {"hann", "hamming", "rectangular"}
        The taper.
    overlap : float
        The share of a window that the next one repeats, from 0 to below 1.
    segments, segment_length
        How many segments, or how long they are, as in :func:`codiag.segment_covariances`: time x
        frequency. Each segment must have several windows.
    center : bool
        Whether the mean of every window is taken off.
    exclude : iterable of (int, int), optional
        Spans of samples that no window touches.
    scale, shrinkage, threads
        As in :func:`codiag.segment_covariances`.

    Returns
    -------
    ndarray, shape (bands, channels, channels)
        With segments, one set of bands after the other along the first axis.

    Examples
    --------
    >>> import codiag, numpy as np
    >>> X = np.random.default_rng(0).standard_normal((4, 10_000))
    >>> codiag.cospectra(X, [(1, 4), (4, 8), (8, 13)], rate=250).shape
    (3, 4, 4)
    >>> codiag.cospectra(X, [(1, 4), (4, 8), (8, 13)], rate=250, segment_length="5s").shape
    (24, 4, 4)
    """
    cut = (segments, segment_length)
    choices = (window_length, window, overlap, *cut, center, scale, shrinkage, exclude, threads)
    return _core.cospectra(*_arguments(X, bands, rate, *choices))[0]


def cross_spectra(
    X: ArrayLike,
    bands: Bands,
    rate: float,
    *,
    window_length: int | None = None,
    window: str = "hann",
    overlap: float = 0.5,
    segments: int | None = None,
    segment_length: int | str | None = None,
    center: bool = True,
    scale: str | ArrayLike | None = None,
    shrinkage: float | str = 0.0,
    exclude: Spans | None = None,
    threads: int | None = None,
) -> Complexes:
    """Return the cross-spectra of a recording: one Hermitian matrix per band.

    By Welch's method. The real parts are :func:`codiag.cospectra`; the imaginary parts tell what
    reaches one channel later than another: a delay by t seconds at f hertz is a phase of -2 pi f t.
    Sources that reach the channels with delays have complex patterns, which differ between
    frequencies: diagonalize one set per frequency, of many segments.

    Parameters
    ----------
    X : array-like, shape (channels, samples)
        The recording, of real numbers. A float64 array is read in place, in any order; it is never
        changed.
    bands, rate, window_length, window, overlap, segments, segment_length
        As in :func:`codiag.cospectra`.
    center, exclude, scale, shrinkage, threads
        As in :func:`codiag.cospectra`.

    Returns
    -------
    ndarray of complex128, shape (bands, channels, channels)

    Examples
    --------
    The second channel hears the first, 10 ms later:

    >>> import codiag, numpy as np
    >>> noise = np.random.default_rng(0).standard_normal(10_000)
    >>> X = np.stack([noise, np.roll(noise, 10)])
    >>> C = codiag.cross_spectra(X, [(9.5, 10.5), (19.5, 20.5)], rate=1000, window_length=1000)
    >>> np.round(np.angle(C[:, 1, 0]) / (-2 * np.pi * np.array([10, 20])), 3)
    array([0.01, 0.01])
    """
    cut = (segments, segment_length)
    choices = (window_length, window, overlap, *cut, center, scale, shrinkage, exclude, threads)
    return _core.cross_spectra(*_arguments(X, bands, rate, *choices))[0]


def _arguments(
    X: ArrayLike,
    bands: Bands,
    rate: float,
    window_length: int | None,
    window: str,
    overlap: float,
    segments: int | None,
    segment_length: int | str | None,
    center: bool,
    scale: str | ArrayLike | None,
    shrinkage: float | str,
    exclude: Spans | None,
    threads: int | None,
) -> tuple[Floats, dict[str, Any]]:
    """Return the recording and the choices as the extension wants them."""
    options = {
        "bands": band_list(bands, rate),
        "rate": rate,
        "window_length": window_length,
        "window": window,
        "window_overlap": overlap,
        "segments": segments,
        "segment_length": segment_length,
        "center": center,
        "scale": scale_choice(scale),
        "shrinkage": shrinkage,
        "exclude": span_list(exclude),
        "threads": usable_threads(threads),
    }
    return of_dimensions(X, 2, "(channels, samples)"), options
