"""Lagged covariances and cumulants of a recording, computed on the workers that hold it."""

from __future__ import annotations

from functools import partial
from itertools import accumulate
from typing import Any

import dask
import dask.array
import numpy as np

from .._covariances import cumulants as cumulants_here
from .._covariances import lag_list
from .._covariances import lagged_covariances as lagged_here
from .._typing import Floats, Lags
from ._segments import of_segments, of_span
from ._spans import check_recording

# Number of samples for which the products of pairs are formed at once.
_BLOCK = 4096


def lagged_covariances(
    signals: Any,
    lags: Lags = 100,
    *,
    segment_length: int | None = None,
    overlap: float = 0.0,
    center: bool = True,
) -> Any:
    """Return the lagged covariances of a recording as a lazy dask array.

    Equal to :func:`codiag.lagged_covariances`. The products of a chunk are computed on its worker,
    which receives as many samples of the next chunks as the largest lag, so that products across
    chunk borders are included.

    Parameters
    ----------
    signals : dask array, shape (channels, samples)
        Recording, chunked in time; from a Zarr store, ``dask.array.from_zarr(...)``.
    lags : int or iterable of int
        Lags in samples; a number stands for all lags from 1 to it (default 100).
    segment_length, overlap
        Segments, each with its own set of matrices, as in :func:`codiag.dask.segment_covariances`
        (default: the whole recording).
    center : bool
        Whether the mean of the recording, or of every segment, is subtracted (default True).

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
            n_jobs=1,
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
            means = lagged_here(piece, chosen, center=False, n_jobs=1)
            counts = np.array([samples - lag for lag in chosen], dtype=float)
            out[within] = means * counts[:, None, None]
        return out

    def difference(piece: Floats) -> Floats:
        # Subtract the products that begin in the samples of the next chunks.
        return sums(piece) - sums(piece[:, own:])

    return of_span(blocks, (0, length), difference)[None]


def whitener(signals: Any, n_components: float | None = None, *, center: bool = True) -> Floats:
    """Return a matrix W such that the covariance of ``W @ signals`` is the identity.

    The covariance is computed immediately, in one pass over the recording.

    Parameters
    ----------
    signals : dask array, shape (channels, samples)
        Recording, chunked in time.
    n_components : int or float, optional
        Number of principal components, as in :class:`codiag.SourceSeparation` (default: all).
    center : bool
        Whether the mean of the recording is subtracted (default True).

    Returns
    -------
    ndarray, shape (components, channels)

    Examples
    --------
    SOBI of a recording that does not fit in the memory of one machine:

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
    # Compute the whitener from a short recording that has this covariance.
    if not np.isfinite(covariance).all():
        raise ValueError("signals have entries that are not finite numbers")
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(len(values) * np.maximum(values, 0))
    return cumulants_here(np.hstack([root, -root]), n_components, center=False, n_jobs=1)[1]


def cumulants(
    signals: Any, n_components: float | None = None, *, center: bool = True
) -> tuple[Any, Floats]:
    """Return the cumulants of a whitened recording as a dask array, and its whitener.

    Equal to :func:`codiag.cumulants`, the matrices of JADE. The whitener is computed immediately,
    in one pass over the recording; the cumulants are lazy. Fourth moments are computed on the
    workers that hold the chunks.

    Parameters
    ----------
    signals, n_components, center
        As in :func:`codiag.dask.whitener`.

    Returns
    -------
    Q : dask array, shape (r(r+1)/2, r, r)
        Cumulant matrices of r components, for the pairs of the lower triangle, row by row.
    W : ndarray, shape (r, channels)
        Whitener.

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
    for start in range(0, block.shape[1], _BLOCK):
        z = W @ np.asarray(block[:, start : start + _BLOCK], dtype=np.float64)
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
