"""Covariances, lagged covariances and cumulants of recordings."""

from __future__ import annotations

import itertools
import operator
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core, _mne
from ._arrays import real_array, to_numpy, usable_n_jobs
from ._keywords import suggests_keywords
from ._typing import ArrayInput, Floats, Lags, Scale, SegmentLength, Shrinkage, Spans

MAX_BANDS = 1_000_000
"""Largest number of bands of equal width; more are taken for a mistake."""


def recording(X: Any, name: str = "X") -> Floats:
    """Return channels x samples, or epochs of them: itself, if it can be read in place."""
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        raise ValueError(f"{name} has masked entries: fill them, or leave out those samples")
    if isinstance(X, (str, os.PathLike)):
        raise TypeError(
            f"{name} is the name of a file: read it first, as mne.io.read_raw({os.fspath(X)!r}) or "
            "numpy.load do"
        )
    if isinstance(X, (list, tuple)):
        _check_list(X, name)
    array = to_numpy(X)
    if array.dtype.kind == "c":
        raise TypeError(f"{name} is complex: only real recordings are supported")
    if array.ndim not in (2, 3) or 0 in array.shape:
        raise ValueError(
            f"expected {name} of shape (channels, samples) or (epochs, channels, samples), none of "
            f"them 0, got shape {array.shape}{mne_epochs_hint(array)}"
        )
    # A single recording is read in any memory order.
    if array.ndim == 2 and array.dtype == np.float64 and array.flags.aligned:
        return array
    return real_array(array, name)


def _check_list(X: list[Any] | tuple[Any, ...], name: str) -> None:
    """Raise if a list holds MNE's objects, or recordings of different lengths."""
    if any(_mne.is_instance(one) for one in X):
        raise TypeError(
            f"{name} is a list of MNE objects: join them by mne.concatenate_raws or "
            "mne.concatenate_epochs"
        )
    shapes = [np.shape(one) if isinstance(one, np.ndarray) else None for one in X]
    if None not in shapes and len(set(shapes)) > 1 and all(len(s) == 2 for s in shapes if s):
        raise ValueError(
            f"{name} is a list of recordings of different shapes, such as {shapes[0]} and "
            f"{next(s for s in shapes if s != shapes[0])}: join them along time, as "
            f"numpy.concatenate({name}, axis=1) does"
        )


def mne_epochs_hint(array: NDArray[Any]) -> str:
    """Return what to do if scikit-learn has split MNE's Epochs into single ones."""
    if array.ndim == 4 and array.shape[1] == 1:
        return ": pass epochs.get_data() instead of MNE's Epochs to functions of scikit-learn"
    return ""


def of_dimensions(X: ArrayInput, dimensions: int, shape: str) -> Floats:
    """Return a recording that has this number of dimensions."""
    array = recording(X)
    if array.ndim != dimensions:
        raise ValueError(f"expected X of shape {shape}, got shape {array.shape}")
    return array


def scale_choice(scale: Any) -> Any:
    """Return the units of channels as the extension expects them: names become group numbers."""
    if scale is None or isinstance(scale, str):
        return scale
    values = to_numpy(scale)
    if values.ndim != 1:
        raise ValueError(f"scale must be one name or factor per channel, got shape {values.shape}")
    if values.dtype.kind in "US":
        return np.unique(values, return_inverse=True)[1].tolist()
    return [float(factor) for factor in real_array(values, "scale")]


def class_labels(y: Any, count: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the classes, sorted, and the number of the class of each epoch."""
    labels = to_numpy(y)
    if labels.shape != (count,):
        raise ValueError(f"expected one label per epoch, {count}, got y of shape {labels.shape}")
    missing = np.array([one is None or one != one for one in labels.tolist()])
    if missing.any():
        k = int(missing.argmax())
        raise ValueError(f"y has missing labels: that of epoch {k} is {labels[k]}")
    try:
        classes, numbers = np.unique(labels, return_inverse=True)
    except TypeError:
        raise TypeError("y must hold labels of one type that can be sorted") from None
    return classes, numbers


def class_numbers(y: ArrayInput | None, count: int) -> list[int] | None:
    """Return the number of the class of each epoch, in the sorted order of the classes."""
    if y is None:
        return None
    numbers: list[int] = class_labels(y, count)[1].tolist()
    return numbers


def span_list(bad_spans: Spans | None) -> list[tuple[int, int]]:
    """Return spans of samples as pairs of integers that are not negative."""
    spans = []
    for span in () if bad_spans is None else bad_spans:
        try:
            start, stop = span
        except (TypeError, ValueError):
            raise TypeError(
                f"bad_spans must be pairs (start, stop) of samples, got {span!r}"
            ) from None
        pair = _sample(start), _sample(stop)
        if not 0 <= pair[0] <= pair[1]:
            raise ValueError(
                f"bad_spans must be pairs (start, stop) of samples, 0 <= start <= stop, got {pair}"
            )
        spans.append(pair)
    return spans


def _sample(value: Any) -> int:
    """Return the number of a sample."""
    try:
        return operator.index(value)
    except TypeError:
        pass
    if isinstance(value, (float, np.floating)):
        if float(value).is_integer():
            return int(value)
        raise ValueError(
            f"bad_spans must be in samples, integers, got {value}: multiply seconds by the "
            "sampling frequency and round"
        )
    raise TypeError(f"bad_spans must be pairs (start, stop) of samples, got {value!r}")


def band_list(bands: Any, sfreq: float | None) -> list[tuple[float, float]] | None:
    """Return bands as pairs of frequencies; a number of them is of equal width from 1 Hz up."""
    if bands is None:
        return None
    if isinstance(bands, (int, np.integer)):
        if bands < 1:
            raise ValueError(
                f"bands must be pairs of frequencies or a number of at least 1, got {bands}"
            )
        if sfreq is None:
            raise ValueError("bands are in hertz: pass sfreq, the sampling frequency")
        if bands > MAX_BANDS:
            raise ValueError(f"bands must be at most {MAX_BANDS}, got {bands}")
        edges = np.linspace(1.0, 0.5 * sfreq, int(bands) + 1).tolist()
        return list(itertools.pairwise(edges))
    expected = "bands must be pairs of frequencies in hertz such as [(1, 4), (4, 8)], or a number"
    if isinstance(bands, Mapping):
        raise TypeError(f"{expected}, got a mapping: pass list(bands.values())")
    if isinstance(bands, (str, bytes)):
        raise TypeError(f"{expected}, got {bands!r}")
    try:
        pairs = real_array(bands, "bands")
    except (TypeError, ValueError):
        raise TypeError(f"{expected}, got {bands!r}") from None
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise ValueError(f"{expected}, got shape {pairs.shape}")
    return [(low, high) for low, high in pairs.tolist()]


def lag_list(
    lags: Any, samples: int, *, name: str = "lags", some_positive: bool = False
) -> list[int]:
    """Return lags as integers that are not negative; a number stands for all from 1 to it.

    A number of lags must be less than that of the samples. With `some_positive`, lag 0 alone
    raises: after whitening it is the identity, which any rotation diagonalizes.
    """
    if isinstance(lags, (int, np.integer)):
        if lags < 1:
            raise ValueError(f"{name} must be at least 1, or a list of lags, got {lags}")
        if lags >= samples:
            raise ValueError(
                f"{name} must be shorter than the recording and its segments, got {lags} for "
                f"{samples} samples without a gap"
            )
        return list(range(1, int(lags) + 1))
    try:
        numbers = [operator.index(lag) for lag in lags]
    except TypeError:
        shown = lags[0] if name == "lag" else lags
        several = "" if name == "lag" else " or an iterable of integers"
        raise TypeError(f"{name} must be an integer{several}, in samples, got {shown!r}") from None
    for lag in numbers:
        if lag < 0:
            raise ValueError(f"{name} must not be negative, got {lag}")
    if some_positive and numbers and not any(numbers):
        raise ValueError(
            f"{name} must be at least 1, got 0: after whitening, the covariance at lag 0 is the "
            "identity, and does not determine the sources"
        )
    return numbers


def default_n_lags(samples: int) -> int:
    """Return the default number of lags: 100, or a third of the samples."""
    return max(1, min(100, samples // 3))


@suggests_keywords
def segment_covariances(
    X: ArrayInput,
    *,
    n_segments: int | None = None,
    segment_length: SegmentLength = None,
    sfreq: float | None = None,
    overlap: float = 0.0,
    center: bool = True,
    scale: Scale = None,
    shrinkage: Shrinkage = 0.0,
    bad_spans: Spans | None = None,
    n_jobs: int | None = None,
) -> Floats:
    """Return the covariances of the segments of a recording, one matrix per segment.

    Parameters
    ----------
    X : array-like, shape (channels, samples)
        Recording. A float64 array is read in place, in any memory order, and never changed.
    n_segments : int, optional
        Number of segments, of equal length and spread evenly over the recording.
    segment_length : int or str, optional
        Length of a segment, instead of their number: samples, or a time such as ``"0.25s"`` or
        ``"250ms"``, which needs `sfreq`. Samples left over at the end are not used. By default
        segments last a quarter of a second, or two samples per channel if that is longer (ten
        samples per channel if `sfreq` is not given).
    sfreq : float, optional
        Sampling frequency in hertz, for lengths in time.
    overlap : float
        Fraction of a segment that the next one repeats, at least 0 and below 1 (default 0).
    center : bool
        Whether the mean of each channel over the segment is subtracted (default True).
    scale : "rms" or array-like, shape (channels,), optional
        Unit of each channel (default: that of the recording). "rms": its root mean square. One name
        per channel, such as its type: the root mean square of all channels of that name. Numbers:
        a factor for each channel.
    shrinkage : float, "auto", "ledoit-wolf" or "oas"
        Amount, from 0 to 1, by which each matrix is shrunk towards a multiple of the identity
        (default 0), or the estimator that chooses it: Ledoit and Wolf's ("auto", "ledoit-wolf") or
        oracle approximating shrinkage ("oas").
    bad_spans : iterable of (int, int), optional
        Spans of samples (start, stop) that belong to no segment.
    n_jobs : int or None
        Number of threads (default None: chosen automatically; -1: all cores). The result does not
        depend on it.

    Returns
    -------
    ndarray, shape (segments, channels, channels)

    Examples
    --------
    >>> import codiag, numpy as np
    >>> X = np.random.default_rng(0).standard_normal((4, 10_000))
    >>> codiag.segment_covariances(X, n_segments=50).shape
    (50, 4, 4)
    """
    options = {
        "n_segments": n_segments,
        "segment_length": segment_length,
        "sfreq": sfreq,
        "overlap": overlap,
        "center": center,
        "scale": scale_choice(scale),
        "shrinkage": shrinkage,
        "bad_spans": span_list(bad_spans),
        "n_jobs": usable_n_jobs(n_jobs),
    }
    return _core.segment_covariances(of_dimensions(X, 2, "(channels, samples)"), options)[0]


@suggests_keywords
def epoch_covariances(
    X: ArrayInput,
    y: ArrayInput | None = None,
    *,
    center: bool = True,
    scale: Scale = None,
    shrinkage: Shrinkage = 0.0,
    n_jobs: int | None = None,
) -> Floats:
    """Return the covariances of epochs: one matrix per epoch or, with `y`, one per class.

    Parameters
    ----------
    X : array-like, shape (epochs, channels, samples)
        Epochs. A contiguous float64 array is read in place and never changed.
    y : array-like, shape (epochs,), optional
        Class of each epoch. Matrices are in the sorted order of the classes.
    center : bool
        Whether the mean of each channel over the epoch is subtracted (default True).
    scale, shrinkage, n_jobs
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
        "n_jobs": usable_n_jobs(n_jobs),
    }
    epochs = of_dimensions(X, 3, "(epochs, channels, samples)")
    return _core.epoch_covariances(epochs, class_numbers(y, len(epochs)), options)[0]


@suggests_keywords
def lagged_covariances(
    X: ArrayInput,
    lags: Lags = 100,
    *,
    y: ArrayInput | None = None,
    n_segments: int = 1,
    segment_length: SegmentLength = None,
    sfreq: float | None = None,
    overlap: float = 0.0,
    center: bool = True,
    scale: Scale = None,
    bad_spans: Spans | None = None,
    n_jobs: int | None = None,
) -> Floats:
    """Return the lagged covariances of a recording: one matrix per lag.

    A lagged covariance is the symmetric part of the mean product of each sample with the one `lag`
    samples later. No product crosses the border of a segment or an epoch, or a bad span. The
    matrices need not be positive definite: diagonalize those of a whitened recording with
    ``criterion="frobenius"``.

    Parameters
    ----------
    X : array-like, shape (channels, samples) or (epochs, channels, samples)
        Recording or epochs. A float64 array is read in place and never changed.
    lags : int or iterable of int
        Lags in samples; a number stands for all lags from 1 to it (default 100).
    y : array-like, shape (epochs,), optional
        Class of each epoch: one set of matrices per class, in their sorted order.
    n_segments, segment_length, sfreq, overlap
        Segments of a recording, as in :func:`codiag.segment_covariances`, each with its own set of
        matrices, for sources whose powers change as well (default: one segment).
    center : bool
        Whether the mean of each channel over the segment or epoch is subtracted (default True).
    bad_spans : iterable of (int, int), optional
        Spans of samples (start, stop) of a recording that are left out.
    scale, n_jobs
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
    >>> codiag.lagged_covariances(X, [0, 1, 2, 5], n_segments=3).shape
    (12, 4, 4)
    """
    data, spans = _with_spans(X, bad_spans)
    if data.ndim == 2 and y is not None:
        raise ValueError("y holds the classes of epochs, but X is a single recording")
    options = {
        "n_segments": n_segments if segment_length is None else None,
        "segment_length": segment_length,
        "sfreq": sfreq,
        "overlap": overlap,
        "center": center,
        "scale": scale_choice(scale),
        "bad_spans": spans,
        "n_jobs": usable_n_jobs(n_jobs),
    }
    chosen = lag_list(lags, data.shape[-1])
    return _core.lagged_covariances(data, class_numbers(y, len(data)), chosen, options)


@suggests_keywords
def cumulants(
    X: ArrayInput,
    n_components: float | None = None,
    *,
    center: bool = True,
    scale: Scale = None,
    bad_spans: Spans | None = None,
    n_jobs: int | None = None,
) -> tuple[Floats, Floats]:
    """Return the fourth-order cumulant matrices of a whitened recording, and its whitener.

    These are the matrices of JADE: E[z_i z_j z zᵀ] - δ_ij I - e_i e_jᵀ - e_j e_iᵀ of the whitened
    signals z = W x for all pairs j <= i. Those of i > j are multiplied by √2 because they represent
    both orders of the pair.

    Parameters
    ----------
    X : array-like, shape (channels, samples) or (epochs, channels, samples)
        Recording or epochs. A float64 array is read in place and never changed.
    n_components : int or float, optional
        Number of principal components, as in :class:`codiag.SourceSeparation` (default: all).
    center : bool
        Whether the mean of the recording, or of every epoch, is subtracted (default True).
    bad_spans : iterable of (int, int), optional
        Spans of samples (start, stop) of a recording that are left out.
    scale, n_jobs
        As in :func:`codiag.segment_covariances`.

    Returns
    -------
    Q : ndarray, shape (r(r+1)/2, r, r)
        Cumulant matrices of r components, for the pairs of the lower triangle, row by row.
    W : ndarray, shape (r, channels)
        Whitener: the covariance of ``W @ X`` is the identity.

    Examples
    --------
    >>> import codiag, numpy as np
    >>> X = np.random.default_rng(0).laplace(size=(3, 10_000))
    >>> Q, W = codiag.cumulants(X)
    >>> Q.shape
    (6, 3, 3)
    >>> filters = codiag.diagonalize(Q, criterion="frobenius").B @ W
    """
    data, spans = _with_spans(X, bad_spans)
    options = {
        "n_components": n_components,
        "center": center,
        "scale": scale_choice(scale),
        "bad_spans": spans,
        "n_jobs": usable_n_jobs(n_jobs),
    }
    return _core.cumulants(data, options)


def _with_spans(X: ArrayInput, bad_spans: Spans | None) -> tuple[Floats, list[tuple[int, int]]]:
    """Return a recording or epochs, and the bad spans, which epochs do not have."""
    data, spans = recording(X), span_list(bad_spans)
    if data.ndim == 3 and spans:
        raise ValueError("bad_spans are for a single recording: leave epochs out instead")
    return data, spans
