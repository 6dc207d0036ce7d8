"""Source separation by the covariances of segments, or the cospectra of frequency bands."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

from ._base import IterativeSeparation
from ._covariances import band_list
from ._sklearn import suggests_parameters
from ._typing import Bands, Floats, Method, SegmentLength, Shrinkage

__all__ = ["SourceSeparation"]


class _Fitted:
    powers_: Floats
    nonstationarity_: Floats
    shrinkages_: Floats


@suggests_parameters
@dataclass(eq=False, repr=False)
class SourceSeparation(IterativeSeparation, _Fitted):
    """Sources of a recording, by joint diagonalization of its covariances.

    A recording x = A s mixes sources s. If the powers of the sources change over time, each in its
    own way, one matrix B diagonalizes the covariances of all segments, and s = B x. If their
    spectra differ, it diagonalizes the cospectra of frequency bands (`bands`). Stationary sources
    of equal spectra cannot be separated in this way; :class:`JADE` separates them if they are not
    Gaussian.

    Recordings are arrays of channels x samples (the transpose of scikit-learn's convention), arrays
    of epochs x channels x samples, or MNE's ``Raw`` and ``Epochs``.

    Parameters
    ----------
    n_components : int or float, optional
        Number of principal components that are separated, or the fraction of the variance that they
        explain, above 0 and below 1. By default all, or the rank of the recording if that is
        less, as after an average reference or a projection.
    n_segments : int, optional
        Number of segments of equal length, an alternative to `segment_length`.
    segment_length : int or str, optional
        Length of a segment in samples, or as a time such as ``"0.25s"``. By default a quarter of a
        second, or two samples per component if that is longer; ten samples per component if the
        sampling frequency is unknown; longer in long recordings, so that the matrices need at most
        256 MB. Epochs are segments themselves.
    overlap : float, optional
        Overlap of consecutive segments as a fraction of their length (default 0). With `bands`,
        the overlap of the windows of the spectra (default 0.5).
    bands : sequence of (float, float), or int, optional
        Frequency bands in hertz, or a number of bands of equal width from 1 Hz to half the sampling
        frequency: one matrix per band. With `n_segments` or `segment_length`, one per segment and
        band.
    sfreq : float, optional
        Sampling frequency in hertz, for bands, times and :meth:`find_artifacts` (default: that of
        an MNE object).
    window_length : int, optional
        Samples of a window of the spectra, as in :func:`codiag.cospectra`.
    shrinkage : float, "auto", "ledoit-wolf" or "oas"
        Amount by which each matrix is shrunk towards a multiple of the identity (default 0), as in
        :func:`codiag.segment_covariances`, in the coordinates of the components.
    center : bool
        Whether the mean of every segment (or window) is subtracted (default True).
    scale : "rms" or array-like, shape (channels,), optional
        Unit of each channel for principal components, shrinkage and fractions of variance, as in
        :func:`codiag.segment_covariances`. By default channels of MNE's objects have the unit of
        their type. Filters and patterns are always in the units of the recording.
    init : {"spectral", "whitener", "identity"} or array-like, shape (n_components, channels)
        Starting point of the iteration (default "spectral"), for instance ``components_`` of
        another recording.
    n_resamples : int
        Number of bootstrap resamples of the segments (epochs, classes) used to estimate how
        reproducible each source is, see ``stability_`` (default 0: not estimated). For bands of the
        whole recording, blocks of time are resampled.
    sort_by : {"contrast", "stability"}
        Order of the sources, descending: by how much their power varies (default "contrast"), or by
        ``stability_``, which requires `n_resamples`.
    method, tol, max_iter, n_restarts, n_jobs, verbose, on_failure
        Options of the solver, as in :func:`codiag.diagonalize`.

    Attributes
    ----------
    components_ : ndarray, shape (n_components, channels)
        Filters, one per row: the sources are ``components_ @ X``, of unit mean power.
    mixing_ : ndarray, shape (channels, n_components)
        Mixing matrix, one pattern per column.
    filters_, patterns_ : ndarray, shape (n_components, channels)
        ``components_`` and the transpose of ``mixing_``: one component per row, as in MNE and
        pyRiemann.
    result_ : Result
        Complete result of the solver.
    powers_ : ndarray, shape (segments or bands, n_components)
        Power of each source in each segment, epoch, class or band; with segments and bands, one
        segment after the other.
    explained_variance_ratio_ : ndarray, shape (n_components,)
        Fraction of the variance of the recording that each source explains. The sum need not be 1,
        because patterns need not be orthogonal.
    explained_variance_ratio_total_ : float
        Fraction of the variance of the recording that all components together explain.
    nonstationarity_ : ndarray, shape (n_components,)
        Variation of the power of each source over segments or bands: standard deviation divided by
        mean. Segments of L independent normal samples of constant variance have
        ``(2 / L) ** 0.5`` by chance.
    least_separable_ : list of SeparabilityMargin or None
        For each source, the other source that is least separable from it, and the margin; None if
        there is only one source.
    stability_ : ndarray, shape (n_components,), or None
        Stability of each source from 0 to 1: the median absolute correlation with the matching
        source over the resamples. None unless `n_resamples` was given.
    scale_ : ndarray, shape (channels,)
        Factor of each channel in the principal component analysis.
    shrinkages_ : ndarray, shape (segments or bands,)
        Amount by which each matrix was shrunk.
    segments_ : list of list of (int, int)
        Spans of samples of each segment, epoch or class; empty for bands alone.
    n_features_in_ : int
        Number of channels.
    n_iter_ : int
        Number of iterations.
    info_ : mne.Info
        Channels that were separated, after a fit of one of MNE's objects.

    Examples
    --------
    >>> import codiag, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> powers = np.repeat(rng.uniform(0.1, 3, (4, 100)), 200, axis=1)
    >>> X = rng.standard_normal((4, 4)) @ (powers * rng.standard_normal((4, 20_000)))
    >>> model = codiag.SourceSeparation().fit(X)
    >>> model.transform(X).shape
    (4, 20000)
    >>> without_the_first = model.apply(X, exclude=[0])
    """

    _: KW_ONLY
    n_segments: int | None = None
    segment_length: SegmentLength = None
    overlap: float | None = None
    bands: Bands | None = None
    window_length: int | None = None
    shrinkage: Shrinkage = 0.0
    method: Method = "newton"

    def _contrast(self, sfreq: float | None, samples: int) -> dict[str, Any]:
        return {
            "n_segments": self.n_segments,
            "segment_length": self.segment_length,
            "overlap": self.overlap,
            "window_overlap": self.overlap,
            "bands": band_list(self.bands, sfreq),
            "sfreq": sfreq,
            "window_length": self.window_length,
            "shrinkage": self.shrinkage,
        }

    def _set_own(self, found: dict[str, Any]) -> None:
        self.powers_ = self.result_.powers
        self.nonstationarity_ = found["nonstationarity"]
        self.shrinkages_ = found["shrinkages"]
