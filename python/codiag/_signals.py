"""From recordings to matrices."""

from __future__ import annotations

import itertools
import operator
import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from . import _core
from ._input import Floats, real_array, usable_threads

Spans = Iterable[tuple[int, int]]
Bands = Sequence[tuple[float, float]] | int

MAX_BANDS = 1_000_000
"""More bands of equal width are taken for a mistake."""


def recording(X: Any, name: str = "X") -> Floats:
    """Return channels x samples, or epochs of them: itself, if it can be read as it is."""
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        raise ValueError(f"{name} has masked entries: fill them, or exclude those samples")
    if isinstance(X, (str, os.PathLike)):
        raise TypeError(
            f"{name} is the name of a file: read it first, as mne.io.read_raw({os.fspath(X)!r}) or "
            "numpy.load do"
        )
    array = np.asarray(X)
    if array.dtype.kind == "c":
        raise TypeError(f"{name} is complex: only real recordings are supported")
    if array.ndim not in (2, 3) or 0 in array.shape:
        raise ValueError(
            f"expected {name} of shape (channels, samples) or (epochs, channels, samples), none of "
            f"them 0, got shape {array.shape}"
        )
    # A single recording is read in any order of its numbers.
    if array.ndim == 2 and array.dtype == np.float64 and array.flags.aligned:
        return array
    return real_array(array, name)


def of_dimensions(X: ArrayLike, dimensions: int, shape: str) -> Floats:
    """Return a recording that has so many dimensions."""
    array = recording(X)
    if array.ndim != dimensions:
        raise ValueError(f"expected X of shape {shape}, got shape {array.shape}")
    return array


def scale_choice(scale: Any) -> Any:
    """Return the unit of channels as the extension wants it: names become numbers of groups."""
    if scale is None or isinstance(scale, str):
        return scale
    values = np.asarray(scale)
    if values.ndim != 1:
        raise ValueError(f"scale must be one name or factor per channel, got shape {values.shape}")
    if values.dtype.kind in "US":
        return np.unique(values, return_inverse=True)[1].tolist()
    return [float(factor) for factor in real_array(values, "scale")]


def class_numbers(labels: ArrayLike | None) -> list[int] | None:
    """Return the labels as numbers from 0 on, in their sorted order."""
    if labels is None:
        return None
    values = np.asarray(labels)
    if values.ndim != 1:
        raise ValueError(f"expected labels of one dimension, got shape {values.shape}")
    numbers: list[int] = np.unique(values, return_inverse=True)[1].tolist()
    return numbers


def span_list(exclude: Spans | None) -> list[tuple[int, int]]:
    """Return spans of samples as pairs of numbers that are not negative."""
    spans = [(int(start), int(stop)) for start, stop in (() if exclude is None else exclude)]
    for start, stop in spans:
        if not 0 <= start <= stop:
            raise ValueError(f"exclude has spans (start, stop) of samples, got ({start}, {stop})")
    return spans


def band_list(bands: Bands | None, rate: float | None) -> list[tuple[float, float]] | None:
    """Return bands as pairs of frequencies; a number of them is of equal width from 1 Hz up."""
    if bands is None:
        return None
    if isinstance(bands, (int, np.integer)):
        if bands < 1 or rate is None:
            problem = "at least 1" if rate is not None else "with a rate, in samples per second"
            raise ValueError(f"bands must be pairs of frequencies, or a number {problem}")
        if bands > MAX_BANDS:
            raise ValueError(f"bands must be at most {MAX_BANDS}, got {bands}")
        edges = np.linspace(1.0, 0.5 * rate, int(bands) + 1).tolist()
        return list(itertools.pairwise(edges))
    pairs = real_array(bands, "bands")
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise ValueError(
            f"bands must be pairs of frequencies such as [(1, 4), (4, 8)], got shape {pairs.shape}"
        )
    return [(low, high) for low, high in pairs.tolist()]


def lag_list(lags: int | Iterable[int], samples: int) -> list[int]:
    """Return lags as numbers that are not negative; a number stands for all from 1 to it.

    None of them can be as long as the recording, or an epoch.
    """
    if isinstance(lags, (int, np.integer)):
        if lags < 1:
            raise ValueError(f"lags must be at least 1, or a list of lags, got {lags}")
        if lags >= samples:
            raise ValueError(
                f"lags must be shorter than the recording and its segments, got {lags} for "
                f"{samples} samples without a gap"
            )
        return list(range(1, int(lags) + 1))
    numbers = [operator.index(lag) for lag in lags]
    for lag in numbers:
        if lag < 0:
            raise ValueError(f"lags must not be negative, got {lag}")
    return numbers


def most_lags(samples: int) -> int:
    """Return how many lags are taken by default: 100, or a third of the samples."""
    return max(1, min(100, samples // 3))


def segment_covariances(
    X: ArrayLike,
    *,
    segments: int | None = None,
    segment_length: int | str | None = None,
    rate: float | None = None,
    overlap: float = 0.0,
    center: bool = True,
    scale: str | ArrayLike | None = None,
    shrinkage: float | str = 0.0,
    exclude: Spans | None = None,
    threads: int | None = None,
) -> Floats:
    """Return the covariances of the segments of a recording, one matrix per segment.

    Parameters
    ----------
    X : array-like, shape (channels, samples)
        The recording. A float64 array is read in place, in any order; it is never changed.
    segments : int, optional
        How many segments, of equal length and spread evenly over the recording.
    segment_length : int or str, optional
        The length of a segment instead of their number: samples, or a time such as ``"0.25s"`` or
        ``"250ms"``, which needs a rate. What is left at the end is not used. If neither is given,
        segments are as short as serves: a quarter of a second, or two samples per channel if that
        is longer (ten, if the rate is not known).
    rate : float, optional
        Samples per second, for lengths in time.
    overlap : float
        The share of a segment that the next one repeats, from 0 to below 1.
    center : bool
        Whether the mean of every segment is taken off, each channel's own.
    scale : "rms" or array-like, shape (channels,), optional
        The unit in which each channel counts: its own root mean square; that of its group, if one
        name per channel is given, such as its type; or a factor for each channel.
    shrinkage : float, "auto", "ledoit-wolf" or "oas"
        How far each matrix is drawn towards a multiple of the identity: a share from 0 to 1, or the
        one that Ledoit and Wolf ("auto") or the oracle approximating estimator find.
    exclude : iterable of (int, int), optional
        Spans of samples, from the first to below the second, that belong to no segment.
    threads : int, optional
        The number of threads, as many as pay by default. The numbers do not depend on it.

    Returns
    -------
    ndarray, shape (segments, channels, channels)

    Examples
    --------
    >>> import codiag, numpy as np
    >>> X = np.random.default_rng(0).standard_normal((4, 10_000))
    >>> codiag.segment_covariances(X, segments=50).shape
    (50, 4, 4)
    """
    options = {
        "segments": segments,
        "segment_length": segment_length,
        "rate": rate,
        "overlap": overlap,
        "center": center,
        "scale": scale_choice(scale),
        "shrinkage": shrinkage,
        "exclude": span_list(exclude),
        "threads": usable_threads(threads),
    }
    return _core.segment_covariances(of_dimensions(X, 2, "(channels, samples)"), options)[0]


def epoch_covariances(
    X: ArrayLike,
    labels: ArrayLike | None = None,
    *,
    center: bool = True,
    scale: str | ArrayLike | None = None,
    shrinkage: float | str = 0.0,
    threads: int | None = None,
) -> Floats:
    """Return the covariances of epochs: one matrix per epoch or, with labels, one per class.

    Parameters
    ----------
    X : array-like, shape (epochs, channels, samples)
        The epochs. A contiguous float64 array is read in place; it is never changed.
    labels : array-like, shape (epochs,), optional
        The class of each epoch. Matrices come in the sorted order of the classes.
    center : bool
        Whether the mean of every epoch is taken off, each channel's own.
    scale, shrinkage, threads
        As in :func:`codiag.segment_covariances`.

    Returns
    -------
    ndarray, shape (epochs or classes, channels, channels)

    Examples
    --------
    >>> import codiag, numpy as np
    >>> X = np.random.default_rng(0).standard_normal((20, 4, 300))
    >>> codiag.epoch_covariances(X).shape
    (20, 4, 4)
    >>> codiag.epoch_covariances(X, ["left", "right"] * 10).shape
    (2, 4, 4)
    """
    options = {
        "center": center,
        "scale": scale_choice(scale),
        "shrinkage": shrinkage,
        "threads": usable_threads(threads),
    }
    epochs = of_dimensions(X, 3, "(epochs, channels, samples)")
    return _core.epoch_covariances(epochs, class_numbers(labels), options)[0]


def lagged_covariances(
    X: ArrayLike,
    lags: int | Iterable[int] = 100,
    *,
    labels: ArrayLike | None = None,
    segments: int = 1,
    segment_length: int | str | None = None,
    rate: float | None = None,
    overlap: float = 0.0,
    center: bool = True,
    scale: str | ArrayLike | None = None,
    exclude: Spans | None = None,
    threads: int | None = None,
) -> Floats:
    """Return the lagged covariances of a recording: one matrix per lag.

    That is the symmetric part of the sum of the products of each sample with the one `lag` samples
    later, divided by the number of products. No product reaches across the border of a segment or
    an epoch, or over samples that are excluded. The matrices need not be positive definite:
    diagonalize them, of a whitened recording, with ``criterion="frobenius"``.

    Parameters
    ----------
    X : array-like, shape (channels, samples) or (epochs, channels, samples)
        The recording, which is read in place, or epochs. It is never changed.
    lags : int or iterable of int
        The lags in samples; a number stands for all from 1 to it.
    labels : array-like, shape (epochs,), optional
        The class of each epoch: one set of matrices per class, in their sorted order.
    segments, segment_length, rate, overlap
        One set of matrices per segment of a recording, as in :func:`codiag.segment_covariances`,
        for sources that are both coloured and of changing power. One segment by default.
    center : bool
        Whether the mean of every segment or epoch is taken off, each channel's own.
    exclude : iterable of (int, int), optional
        Spans of samples of a recording, from the first to below the second, to be left out.
    scale, threads
        As in :func:`codiag.segment_covariances`.

    Returns
    -------
    ndarray, shape (lags, channels, channels)
        With several segments or classes, one set after the other along the first axis.

    Examples
    --------
    >>> import codiag, numpy as np
    >>> X = np.random.default_rng(0).standard_normal((4, 10_000))
    >>> codiag.lagged_covariances(X, 20).shape
    (20, 4, 4)
    >>> codiag.lagged_covariances(X, [0, 1, 2, 5], segments=3).shape
    (12, 4, 4)
    """
    data, spans = _with_spans(X, exclude)
    if data.ndim == 2 and labels is not None:
        raise ValueError("labels are for epochs: there is one recording only")
    options = {
        "segments": segments if segment_length is None else None,
        "segment_length": segment_length,
        "rate": rate,
        "overlap": overlap,
        "center": center,
        "scale": scale_choice(scale),
        "exclude": spans,
        "threads": usable_threads(threads),
    }
    chosen = lag_list(lags, data.shape[-1])
    return _core.lagged_covariances(data, class_numbers(labels), chosen, options)


def cumulants(
    X: ArrayLike,
    n_components: float | None = None,
    *,
    center: bool = True,
    scale: str | ArrayLike | None = None,
    exclude: Spans | None = None,
    threads: int | None = None,
) -> tuple[Floats, Floats]:
    """Return the fourth-order cumulants of a whitened recording, and its whitener: JADE's matrices.

    Of the whitened signals z = W x these are E[z_i z_j z zᵀ] - δ_ij I - e_i e_jᵀ - e_j e_iᵀ for all
    pairs j <= i, those of i > j multiplied by √2 so that they count for both orders.

    Parameters
    ----------
    X : array-like, shape (channels, samples) or (epochs, channels, samples)
        The recording, which is read in place, or epochs. It is never changed.
    n_components : int or float, optional
        To how many principal components it is reduced, as in :class:`codiag.SourceSeparation`.
    center : bool
        Whether the mean of the recording, or of every epoch, is taken off.
    exclude : iterable of (int, int), optional
        Spans of samples of a recording, from the first to below the second, to be left out.
    scale, threads
        As in :func:`codiag.segment_covariances`.

    Returns
    -------
    Q : ndarray, shape (r(r+1)/2, r, r)
        The cumulants of r components, row after row of the lower triangle of pairs.
    W : ndarray, shape (r, channels)
        The whitener: the covariance of ``W @ X`` is the identity.

    Examples
    --------
    >>> import codiag, numpy as np
    >>> X = np.random.default_rng(0).laplace(size=(3, 10_000))
    >>> Q, W = codiag.cumulants(X)
    >>> Q.shape
    (6, 3, 3)
    >>> filters = codiag.diagonalize(Q, criterion="frobenius").B @ W
    """
    data, spans = _with_spans(X, exclude)
    options = {
        "n_components": n_components,
        "center": center,
        "scale": scale_choice(scale),
        "exclude": spans,
        "threads": usable_threads(threads),
    }
    return _core.cumulants(data, options)


def _with_spans(X: ArrayLike, exclude: Spans | None) -> tuple[Floats, list[tuple[int, int]]]:
    """Return a recording or epochs, and the spans to exclude, of which epochs have none."""
    data, spans = recording(X), span_list(exclude)
    if data.ndim == 3 and spans:
        raise ValueError("spans to exclude are for a single recording: leave epochs out instead")
    return data, spans
