"""Spectra of recordings in frequency bands, by Welch's method."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._arrays import usable_n_jobs
from ._covariances import band_list, of_dimensions, scale_choice, span_list
from ._keywords import suggests_keywords
from ._typing import ArrayInput, Bands, Floats, Scale, SegmentLength, Shrinkage, Spans, Window
from ._validation import check_sfreq

Complexes = NDArray[np.complex128]


@suggests_keywords
def cospectra(
    X: ArrayInput,
    bands: Bands,
    sfreq: float,
    *,
    window_length: int | None = None,
    window: Window = "hann",
    overlap: float = 0.5,
    n_segments: int | None = None,
    segment_length: SegmentLength = None,
    center: bool = True,
    scale: Scale = None,
    shrinkage: Shrinkage = 0.0,
    bad_spans: Spans | None = None,
    n_jobs: int | None = None,
) -> Floats:
    """Return the cospectra of a recording, the real parts of cross-spectra: one matrix per band.

    With segments, one matrix per segment and band. Computed by Welch's method. The diagonals are
    the powers of the channels in the bands. The cospectra of bands that cover all frequencies sum
    to the covariance of the tapered windows.

    Parameters
    ----------
    X : array-like, shape (channels, samples)
        Recording. A float64 array is read in place, in any memory order, and never changed.
    bands : sequence of (float, float), or int
        Bands (low, high) in hertz, without the upper edge; or a number of bands of equal width from
        1 Hz to half the sampling frequency.
    sfreq : float
        Sampling frequency in hertz.
    window_length : int, optional
        Samples of a window (default: the power of two that lasts a second or a little more).
    window : {"hann", "hamming", "rectangular"}
        Taper (default "hann").
    overlap : float
        Fraction of a window that the next one repeats, at least 0 and below 1 (default 0.5).
    n_segments, segment_length
        Number or length of segments, as in :func:`codiag.segment_covariances`, each with its own
        cospectra. A segment must have several windows.
    center : bool
        Whether the mean of each channel over the window is subtracted (default True).
    bad_spans : iterable of (int, int), optional
        Spans of samples (start, stop) that no window touches.
    scale, shrinkage, n_jobs
        As in :func:`codiag.segment_covariances`.

    Returns
    -------
    ndarray, shape (bands, channels, channels)
        With segments, the bands of one segment after the other along the first axis.

    Examples
    --------
    >>> import codiag, numpy as np
    >>> X = np.random.default_rng(0).standard_normal((4, 10_000))
    >>> codiag.cospectra(X, [(1, 4), (4, 8), (8, 13)], sfreq=250).shape
    (3, 4, 4)
    >>> codiag.cospectra(X, [(1, 4), (4, 8), (8, 13)], sfreq=250, segment_length="5s").shape
    (24, 4, 4)
    """
    cut = (n_segments, segment_length)
    choices = (window_length, window, overlap, *cut, center, scale, shrinkage, bad_spans, n_jobs)
    return _core.cospectra(*_arguments(X, bands, sfreq, *choices))[0]


@suggests_keywords
def cross_spectra(
    X: ArrayInput,
    bands: Bands,
    sfreq: float,
    *,
    window_length: int | None = None,
    window: Window = "hann",
    overlap: float = 0.5,
    n_segments: int | None = None,
    segment_length: SegmentLength = None,
    center: bool = True,
    scale: Scale = None,
    shrinkage: Shrinkage = 0.0,
    bad_spans: Spans | None = None,
    n_jobs: int | None = None,
) -> Complexes:
    """Return the cross-spectra of a recording: one Hermitian matrix per band.

    Computed by Welch's method. The real parts are the :func:`codiag.cospectra`. The imaginary parts
    show delays between channels: a delay of t seconds at f hertz is a phase of -2 pi f t. Sources
    that reach the channels with delays have complex patterns that depend on the frequency:
    diagonalize one set per frequency, of many segments.

    Parameters
    ----------
    X : array-like, shape (channels, samples)
        Recording of real numbers. A float64 array is read in place, in any memory order, and never
        changed.
    bands, sfreq, window_length, window, overlap, n_segments, segment_length, center
        As in :func:`codiag.cospectra`.
    bad_spans, scale, shrinkage, n_jobs
        As in :func:`codiag.cospectra`.

    Returns
    -------
    ndarray of complex128, shape (bands, channels, channels)
        With segments, the bands of one segment after the other along the first axis.

    Examples
    --------
    The second channel is the first one, delayed by 10 ms:

    >>> import codiag, numpy as np
    >>> noise = np.random.default_rng(0).standard_normal(10_000)
    >>> X = np.stack([noise, np.roll(noise, 10)])
    >>> C = codiag.cross_spectra(X, [(9.5, 10.5), (19.5, 20.5)], sfreq=1000, window_length=1000)
    >>> np.round(np.angle(C[:, 1, 0]) / (-2 * np.pi * np.array([10, 20])), 3)
    array([0.01, 0.01])
    """
    cut = (n_segments, segment_length)
    choices = (window_length, window, overlap, *cut, center, scale, shrinkage, bad_spans, n_jobs)
    return _core.cross_spectra(*_arguments(X, bands, sfreq, *choices))[0]


def _arguments(
    X: ArrayInput,
    bands: Bands,
    sfreq: float,
    window_length: int | None,
    window: Window,
    overlap: float,
    n_segments: int | None,
    segment_length: SegmentLength,
    center: bool,
    scale: Scale,
    shrinkage: Shrinkage,
    bad_spans: Spans | None,
    n_jobs: int | None,
) -> tuple[Floats, dict[str, Any]]:
    """Return the recording and the options as the extension expects them."""
    check_sfreq(sfreq)
    options = {
        "bands": band_list(bands, sfreq),
        "sfreq": sfreq,
        "window_length": window_length,
        "window": window,
        "window_overlap": overlap,
        "n_segments": n_segments,
        "segment_length": segment_length,
        "center": center,
        "scale": scale_choice(scale),
        "shrinkage": shrinkage,
        "bad_spans": span_list(bad_spans),
        "n_jobs": usable_n_jobs(n_jobs),
    }
    return of_dimensions(X, 2, "(channels, samples)"), options
