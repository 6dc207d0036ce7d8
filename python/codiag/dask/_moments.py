"""Lagged covariances and cumulants of a recording, made where the recording is."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from itertools import accumulate
from typing import Any

import dask
import dask.array
import numpy as np

from .._input import Floats
from .._signals import cumulants as cumulants_here
from .._signals import lag_list
from .._signals import lagged_covariances as lagged_here
from ._segments import of_segments, of_span
from ._stretches import check_recording

# Samples of which the products of pairs are formed at once.
_TOGETHER = 4096


def lagged_covariances(
    signals: Any,
    lags: int | Iterable[int] = 100,
    *,
    segment_length: int | None = None,
    overlap: float = 0.0,
    center: bool = True,
) -> Any:
    """Return the lagged covariances of a recording as a dask array, nothing computed yet.

    Those of :func:`codiag.lagged_covariances`. Each chunk of samples adds its products where it
    is, with as many samples from the next chunks as the largest lag, so that no product is lost
    where two chunks meet.

    Parameters
    ----------
    signals : dask array, shape (channels, samples)
        The recording, chunked in time; from a Zarr store, ``dask.array.from_zarr(...)``.
    lags : int or iterable of int
        The lags in samples; a number stands for all from 1 to it.
    segment_length, overlap
        One set of matrices per segment, as in :func:`codiag.dask.segment_covariances`; by default
        one of the whole recording.
    center : bool
        Whether the mean of the recording, or of every segment, is taken off.

    Returns
    -------
    dask array, shape (lags, channels, channels)
        With segments, one set after the other along the first axis. Diagonalize them with
        ``criterion="least-squares"`` or, if the recording is white (:func:`codiag.dask.whitener`),
        ``criterion="frobenius"``.

    Examples
    --------
    >>> import dask.array, codiag.dask
    >>> signals = dask.array.random.default_rng(0).normal(size=(4, 10_000), chunks=(4, 3_000))
    >>> codiag.dask.lagged_covariances(signals, 20).shape
    (20, 4, 4)
    """
    channels, samples = check_recording(signals)
    chosen = lag_list(lags, samples)
    if segment_length is not None:
        make = partial(
            lagged_here,
            lags=chosen,
            segment_length=segment_length,
            overlap=overlap,
            center=center,
            threads=1,
        )
        return of_segments(signals, segment_length, overlap, make, len(chosen))
    longest = max(chosen)
    if longest >= samples:
        raise ValueError(f"lag {longest} needs more than {longest} samples, got {samples}")
    signals = signals.rechunk({0: -1})
    if center:
        signals = signals - signals.mean(axis=1, keepdims=True)
    blocks = signals.to_delayed().ravel()
    edges = [0, *accumulate(signals.chunks[1])]
    sums = dask.delayed(_lagged_sums, pure=True)
    arrays = []
    for k, low in enumerate(edges[:-1]):
        end = min(edges[k + 1] + longest, samples)
        reach = int(np.searchsorted(edges, end))
        own = sums(list(blocks[k:reach]), end - low, edges[k + 1] - low, chosen)
        shape = (1, len(chosen), channels, channels)
        arrays.append(dask.array.from_delayed(own, shape, dtype=np.float64))
    counts = np.array([samples - lag for lag in chosen], dtype=float)
    return dask.array.concatenate(arrays).sum(axis=0) / counts[:, None, None]


def _lagged_sums(blocks: list[Any], length: int, own: int, lags: list[int]) -> Floats:
    """Return the sums of the products that begin in the first `own` samples, lag by lag."""

    def sums(piece: Floats) -> Floats:
        channels, samples = piece.shape
        within = [k for k, lag in enumerate(lags) if lag < samples]
        out = np.zeros((len(lags), channels, channels))
        if within:
            chosen = [lags[k] for k in within]
            means = lagged_here(piece, chosen, center=False, threads=1)
            counts = np.array([samples - lag for lag in chosen], dtype=float)
            out[within] = means * counts[:, None, None]
        return out

    def difference(piece: Floats) -> Floats:
        # Those of the piece, without those that begin in the next chunks' samples.
        return sums(piece) - sums(piece[:, own:])

    return of_span(blocks, (0, length), difference)[None]


def whitener(signals: Any, n_components: float | None = None, *, center: bool = True) -> Floats:
    """Return the W for which the covariance of ``W @ signals`` is the identity.

    The covariance is computed at once, by a pass over the recording.

    Parameters
    ----------
    signals : dask array, shape (channels, samples)
        The recording, chunked in time.
    n_components : int or float, optional
        To how many principal components it is reduced, as in :class:`codiag.SourceSeparation`.
    center : bool
        Whether the mean of the recording is taken off.

    Returns
    -------
    ndarray, shape (components, channels)

    Examples
    --------
    SOBI of a recording that no machine holds:

    >>> import dask.array, codiag.dask
    >>> signals = dask.array.random.default_rng(0).normal(size=(4, 10_000), chunks=(4, 3_000))
    >>> W = codiag.dask.whitener(signals)
    >>> C = codiag.dask.lagged_covariances(W @ signals, 20).compute()
    >>> filters = codiag.diagonalize(C, criterion="frobenius").B @ W
    """
    check_recording(signals)
    signals = signals.rechunk({0: -1})
    samples = signals.shape[1]
    mean = signals.mean(axis=1, keepdims=True)
    covariance = (signals @ signals.T) / samples
    covariance, mean = dask.compute(covariance, mean)
    if center:
        covariance = covariance - mean @ mean.T
    # The whitener is that of any recording with this covariance: of a short one.
    if not np.isfinite(covariance).all():
        raise ValueError("signals have entries that are not finite numbers")
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(len(values) * np.maximum(values, 0))
    return cumulants_here(np.hstack([root, -root]), n_components, center=False, threads=1)[1]


def cumulants(
    signals: Any, n_components: float | None = None, *, center: bool = True
) -> tuple[Any, Floats]:
    """Return the cumulants of a whitened recording as a dask array, and its whitener.

    Those of :func:`codiag.cumulants`, JADE's matrices. The whitener is computed at once, by a pass
    over the recording; of the cumulants nothing is computed yet. Each chunk of samples adds its
    fourth moments where it is.

    Parameters
    ----------
    signals, n_components, center
        As in :func:`codiag.dask.whitener`.

    Returns
    -------
    Q : dask array, shape (r(r+1)/2, r, r)
        The cumulants of r components, row after row of the lower triangle of pairs.
    W : ndarray, shape (r, channels)
        The whitener.

    Examples
    --------
    >>> import dask.array, codiag.dask
    >>> signals = dask.array.random.default_rng(0).laplace(size=(3, 10_000), chunks=(3, 3_000))
    >>> Q, W = codiag.dask.cumulants(signals)
    >>> filters = codiag.diagonalize(Q.compute(), criterion="frobenius").B @ W
    """
    W = whitener(signals, n_components, center=center)
    signals = signals.rechunk({0: -1})
    if center:
        signals = signals - signals.mean(axis=1, keepdims=True)
    r, samples = len(W), signals.shape[1]
    pairs = r * (r + 1) // 2
    moments = dask.delayed(_fourth_moments, pure=True)
    arrays = [
        dask.array.from_delayed(moments(block, W), (1, pairs, pairs), dtype=np.float64)
        for block in signals.to_delayed().ravel()
    ]
    total = dask.array.concatenate(arrays).sum(axis=0) / samples
    unfolded = dask.delayed(_cumulants, pure=True)(total, r)
    return dask.array.from_delayed(unfolded, (pairs, r, r), dtype=np.float64), W


def _fourth_moments(block: Any, W: Floats) -> Floats:
    """Return Σ_t z_i z_j z_k z_l for all pairs (i, j) and (k, l) of the lower triangle."""
    first, second = np.tril_indices(len(W))
    total = np.zeros((len(first), len(first)))
    for start in range(0, block.shape[1], _TOGETHER):
        z = W @ np.asarray(block[:, start : start + _TOGETHER], dtype=np.float64)
        products = z[first] * z[second]
        total += products @ products.T
    return total[None]


def _cumulants(moments: Floats, r: int) -> Floats:
    """Return the matrices E[z_i z_j z zᵀ] - δ_ij I - e_i e_jᵀ - e_j e_iᵀ, times √2 if i > j."""
    first, second = np.tril_indices(r)
    places = np.zeros((r, r), dtype=int)
    places[first, second] = places[second, first] = np.arange(len(first))
    Q = moments[:, places]
    identity = np.eye(r)
    for pair, (i, j) in enumerate(zip(first, second, strict=True)):
        Q[pair] -= (i == j) * identity + np.outer(identity[i], identity[j])
        Q[pair] -= np.outer(identity[j], identity[i])
    Q[first != second] *= np.sqrt(2)
    return Q
