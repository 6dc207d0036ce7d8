"""Source separation by autocorrelations: SOBI and AMUSE."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

from ._base import IterativeSeparation, Separation
from ._covariances import default_n_lags, lag_list
from ._sklearn import suggests_parameters
from ._typing import Floats, Lags, RotationMethod, SegmentLength

__all__ = ["AMUSE", "SOBI"]


class _FittedSobi:
    lags_: list[int]
    autocorrelations_: Floats


class _FittedAmuse:
    autocorrelations_: Floats


@suggests_parameters
@dataclass(eq=False, repr=False)
class SOBI(IterativeSeparation, _FittedSobi):
    """Sources of a recording, by their autocorrelations: second-order blind identification.

    The recording is whitened. The remaining rotation is the one that makes its lagged covariances
    as diagonal as possible [1]_. Sources must differ in their autocorrelations, and therefore in
    their spectra; they may be Gaussian.

    Parameters
    ----------
    n_components : int or float, optional
        Number of principal components that are separated, as in :class:`SourceSeparation`.
    lags : int or iterable of int, optional
        Lags in samples; a number stands for all lags from 1 to it. By default 100, or a third of
        the samples if that is less.
    n_segments, segment_length, overlap
        Segments of the recording, each with its own set of lagged covariances, for sources whose
        powers change as well: as in :func:`codiag.lagged_covariances` (default: one segment).
    orthogonal : bool
        Whether sources are uncorrelated, which whitening and a rotation achieve (default True). If
        False, the lagged covariances alone determine them, by least squares [2]_, so that white
        sensor noise, which affects only lag 0, does not bias the result. Methods are then "newton",
        "acdc", "uwedge" and "ffdiag".
    sfreq : float, optional
        Sampling frequency in hertz, for :meth:`find_artifacts` and times (default: that of an MNE
        object).
    center : bool
        Whether the mean of the recording, of every segment, or of every epoch is subtracted
        (default True).
    scale : "rms" or array-like, shape (channels,), optional
        Unit of each channel, as in :class:`SourceSeparation`.
    method : {"newton", "quasi-newton", "jacobi"}
        Algorithm that finds the rotation (default "newton"); "jacobi" uses the Jacobi
        rotations of the original publication.
    init : {"spectral", "whitener", "identity"} or array-like, shape (n_components, channels)
        Starting point of the iteration (default "spectral"), for instance ``components_`` of
        another recording. A matrix is replaced by the nearest rotation of the whitened components.
    n_resamples : int
        Number of bootstrap resamples of blocks of time used to estimate how reproducible each
        source is, see ``stability_`` of :class:`SourceSeparation` (default 0: not estimated).
    sort_by : {"contrast", "stability"}
        Order of the sources, descending: by the sum of their squared autocorrelations (default
        "contrast"), or by ``stability_``, which requires `n_resamples`.
    tol, max_iter, n_restarts, n_jobs, verbose, on_failure
        Options of the solver, as in :func:`codiag.diagonalize`.

    Attributes
    ----------
    lags_ : list of int
        Lags in samples.
    autocorrelations_ : ndarray, shape (lags, n_components)
        Autocorrelation of each source at each lag; with several segments, one segment after the
        other.
    segments_ : list of list of (int, int)
        Spans of samples of each segment or class.
    components_, mixing_, filters_, patterns_, result_, stability_, least_separable_
        As in :class:`SourceSeparation`. Sources have unit variance and are uncorrelated.
    explained_variance_ratio_, explained_variance_ratio_total_, scale_
        As in :class:`SourceSeparation`.
    n_features_in_, n_iter_, info_
        As in :class:`SourceSeparation`.

    References
    ----------
    .. [1] A. Belouchrani, K. Abed-Meraim, J.-F. Cardoso and E. Moulines, "A blind source separation
       technique using second-order statistics", IEEE Transactions on Signal Processing 45, 1997.
    .. [2] A. Yeredor, "Non-orthogonal joint diagonalization in the least-squares sense with
       application in blind source separation", IEEE Transactions on Signal Processing 50, 2002.

    Examples
    --------
    >>> import codiag, numpy as np
    >>> from scipy.signal import lfilter
    >>> rng = np.random.default_rng(0)
    >>> noise = rng.standard_normal((3, 10_000))
    >>> poles = [0.9, 0.2, -0.6]
    >>> sources = [lfilter([1], [1, -pole], x) for pole, x in zip(poles, noise)]
    >>> model = codiag.SOBI(lags=20).fit(rng.standard_normal((3, 3)) @ sources)
    >>> model.autocorrelations_[0].round(1)
    array([ 0.9, -0.6,  0.2])
    """

    _: KW_ONLY
    lags: Lags | None = None
    n_segments: int = 1
    segment_length: SegmentLength = None
    overlap: float = 0.0
    orthogonal: bool = True
    method: RotationMethod = "newton"

    def _contrast(self, sfreq: float | None, samples: int) -> dict[str, Any]:
        lags = default_n_lags(samples) if self.lags is None else self.lags
        self.lags_ = lag_list(lags, samples, some_positive=True)
        return {
            "lags": self.lags_,
            "n_segments": self.n_segments if self.segment_length is None else None,
            "segment_length": self.segment_length,
            "sfreq": sfreq,
            "overlap": self.overlap,
            "orthogonal": self.orthogonal,
        }

    def _set_own(self, found: dict[str, Any]) -> None:
        self.autocorrelations_ = self.result_.powers


@suggests_parameters
@dataclass(eq=False, repr=False)
class AMUSE(Separation, _FittedAmuse):
    """Sources of a recording, by their autocorrelations at a single lag.

    :class:`SOBI` with one lag: after whitening, the eigenvectors of one lagged covariance [1]_.
    Sources of equal autocorrelation at that lag cannot be separated, even if they differ at other
    lags: ``least_separable_`` shows them.

    Parameters
    ----------
    n_components : int or float, optional
        Number of principal components that are separated, as in :class:`SourceSeparation`.
    lag : int
        Lag in samples (default 1).
    sfreq : float, optional
        Sampling frequency in hertz, for :meth:`find_artifacts` (default: that of an MNE object).
    center : bool
        Whether the mean of the recording, or of every epoch, is subtracted (default True).
    scale : "rms" or array-like, shape (channels,), optional
        Unit of each channel, as in :class:`SourceSeparation`.
    n_resamples, sort_by
        As in :class:`SOBI`.
    n_jobs : int or None
        Number of threads (default None: chosen automatically; -1: all cores). The result does not
        depend on it.

    Attributes
    ----------
    autocorrelations_ : ndarray, shape (1, n_components)
        Autocorrelation of each source at the lag, in descending order. For epochs with
        classes, one row per class, in the sorted order of the classes; sources are sorted by the
        mean of the rows.
    components_, mixing_, filters_, patterns_, result_, stability_, least_separable_
        As in :class:`SourceSeparation`. Sources have unit variance and are uncorrelated.
    explained_variance_ratio_, explained_variance_ratio_total_, scale_, segments_
        As in :class:`SourceSeparation`.
    n_features_in_, n_iter_, info_
        As in :class:`SourceSeparation`.

    References
    ----------
    .. [1] L. Tong, V. C. Soon, Y. F. Huang and R. Liu, "AMUSE: a new blind identification
       algorithm", IEEE International Symposium on Circuits and Systems, 1990.

    Examples
    --------
    >>> import codiag, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> slow, fast = rng.standard_normal((2, 5000)).cumsum(axis=1)[0], rng.standard_normal(5000)
    >>> X = rng.standard_normal((2, 2)) @ [slow, fast]
    >>> codiag.AMUSE().fit(X).autocorrelations_.round(1)
    array([[1., 0.]])
    """

    _: KW_ONLY
    lag: int = 1

    def _contrast(self, sfreq: float | None, samples: int) -> dict[str, Any]:
        lags = lag_list([self.lag], samples, name="lag", some_positive=True)
        return {"lags": lags, "n_segments": 1}

    def _set_own(self, found: dict[str, Any]) -> None:
        self.autocorrelations_ = self.result_.powers
