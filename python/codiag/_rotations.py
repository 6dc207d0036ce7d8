"""Separations that whiten a recording and rotate what is white: SOBI, AMUSE and JADE."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from numpy.typing import ArrayLike

from ._errors import OnFailure
from ._input import Floats, usable_threads
from ._separator import Separator
from ._signals import lag_list, most_lags


class SOBI(Separator):
    """The sources of a recording, by their autocorrelations: second-order blind identification.

    The recording is whitened; the rotation that is left is the one that makes its lagged
    covariances as diagonal as can be [1]_. Sources must differ in their autocorrelations, and so in
    their spectra; that they are not Gaussian is not used.

    Parameters
    ----------
    n_components : int or float, optional
        How many principal components are separated, as in :class:`SourceSeparation`.
    lags : int or iterable of int, optional
        The lags in samples; a number stands for all from 1 to it. By default 100, or a third of the
        samples if that is less.
    segments, segment_length, overlap
        One set of lagged covariances per segment, for sources of which the powers change as well:
        as in :func:`codiag.lagged_covariances`.
    orthogonal : bool
        Whether the sources are to be without correlation, which is what whitening and a rotation
        bring about. Otherwise the lagged covariances alone find them, by least squares [2]_: white
        noise of the sensors, which is in no lag but 0, then does not mislead. Methods are "newton",
        "acdc", "uwedge" and "ffdiag".
    rate : float, optional
        Samples per second, for :meth:`find_artefacts`; MNE's objects know theirs.
    center : bool
        Whether the mean is taken off: that of the recording, of every segment, or of every epoch.
    scale : "rms" or array-like, shape (channels,), optional
        The unit in which each channel counts in principal components and shares of variance, as in
        :class:`SourceSeparation`.
    method : {"newton", "quasi-newton", "jacobi"}
        How the rotation is found: by Newton's method, or by the Jacobi angles of the original.
    start : {"spectral", "whitener", "identity"} or array-like, shape (components, channels)
        Where the iteration starts: for instance the filters of another recording, of which the
        nearest rotation of the whitened components is taken.
    stability : int
        How many times the blocks of time that the lagged covariances are means of are weighed anew,
        to learn how surely each source comes again: ``stability_``, as in
        :class:`SourceSeparation`.
    order : {"contrast", "stability"}
        Whether sources come as said below, or by how surely they come again.
    tol, max_iter, restarts, threads, verbose, on_failure
        As in :func:`codiag.diagonalize`.

    Attributes
    ----------
    lags_ : list of int
        The lags.
    autocorrelations_ : ndarray, shape (lags, components)
        The autocorrelation of each source at each lag (segment after segment, if there are
        several). Those sources come first of which the sum of squares is largest.
    segments_ : list of list of (int, int)
        The spans of samples of each segment or class; with one, those of the recording.
    B_, A_, filters_, patterns_, result_, variance_share_, rivals_, stability_, kept_variance_
        As in :class:`SourceSeparation`. Sources have unit variance and no correlation.
    scale_, n_features_in_, n_iter_, info_
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

    lags_: list[int]
    autocorrelations_: Floats

    def __init__(
        self,
        n_components: float | None = None,
        *,
        lags: int | Iterable[int] | None = None,
        segments: int = 1,
        segment_length: int | str | None = None,
        overlap: float = 0.0,
        orthogonal: bool = True,
        rate: float | None = None,
        center: bool = True,
        scale: str | ArrayLike | None = None,
        method: str = "newton",
        start: str | ArrayLike = "spectral",
        tol: float = 1e-8,
        max_iter: int = 1000,
        restarts: int = 0,
        stability: int = 0,
        order: str = "contrast",
        threads: int | None = None,
        verbose: bool = False,
        on_failure: OnFailure = "warn",
    ) -> None:
        self.n_components = n_components
        self.lags = lags
        self.segments = segments
        self.segment_length = segment_length
        self.overlap = overlap
        self.orthogonal = orthogonal
        self.rate = rate
        self.center = center
        self.scale = scale
        self.method = method
        self.start = start
        self.tol = tol
        self.max_iter = max_iter
        self.restarts = restarts
        self.stability = stability
        self.order = order
        self.threads = threads
        self.verbose = verbose
        self.on_failure = on_failure

    def _contrast(self, rate: float | None, samples: int) -> dict[str, Any]:
        self.lags_ = lag_list(most_lags(samples) if self.lags is None else self.lags, samples)
        return {
            "lags": self.lags_,
            "segments": self.segments if self.segment_length is None else None,
            "segment_length": self.segment_length,
            "rate": rate,
            "overlap": self.overlap,
            "orthogonal": self.orthogonal,
        }

    def _take(self, fields: dict[str, Any]) -> None:
        self.autocorrelations_ = self.result_.powers


class AMUSE(Separator):
    """The sources of a recording, by their autocorrelations at a single lag.

    As :class:`SOBI` with one lag: after whitening, the eigenvectors of one lagged covariance [1]_.
    Sources of the same autocorrelation at that lag cannot be told apart, however much they differ
    at others: ``rivals_`` tells of them.

    Parameters
    ----------
    n_components : int or float, optional
        How many principal components are separated, as in :class:`SourceSeparation`.
    lag : int
        The lag in samples.
    rate : float, optional
        Samples per second, for :meth:`find_artefacts`; MNE's objects know theirs.
    center : bool
        Whether the mean is taken off: that of the whole recording, or of every epoch.
    scale : "rms" or array-like, shape (channels,), optional
        The unit in which each channel counts in principal components and shares of variance, as in
        :class:`SourceSeparation`.
    stability, order
        As in :class:`SOBI`.
    threads : int, optional
        The number of threads, as many as pay by default. The answer does not depend on it.

    Attributes
    ----------
    autocorrelations_ : ndarray, shape (1, components)
        The autocorrelation of each source at the lag, in descending order (of epochs with labels,
        one row per class, in the order of the means).
    B_, A_, filters_, patterns_, result_, variance_share_, rivals_, stability_, kept_variance_
        As in :class:`SourceSeparation`. Sources have unit variance and no correlation.
    scale_, n_features_in_, n_iter_, info_
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

    autocorrelations_: Floats

    def __init__(
        self,
        n_components: float | None = None,
        *,
        lag: int = 1,
        rate: float | None = None,
        center: bool = True,
        scale: str | ArrayLike | None = None,
        stability: int = 0,
        order: str = "contrast",
        threads: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.lag = lag
        self.rate = rate
        self.center = center
        self.scale = scale
        self.stability = stability
        self.order = order
        self.threads = threads

    def _contrast(self, rate: float | None, samples: int) -> dict[str, Any]:
        return {"lags": lag_list([self.lag], samples), "segments": 1}

    def _solver(self) -> dict[str, Any]:
        # There is nothing to choose in how eigenvectors are found.
        return {
            "stability": self.stability,
            "order": self.order,
            "threads": usable_threads(self.threads),
        }

    def _take(self, fields: dict[str, Any]) -> None:
        self.autocorrelations_ = self.result_.powers


class JADE(Separator):
    """The sources of a recording, by not being Gaussian: joint diagonalization of cumulants.

    The recording is whitened; the rotation that is left is the one that makes the matrices of its
    fourth-order cumulants as diagonal as can be [1]_. At most one source may be Gaussian. When
    samples were taken is not used.

    Parameters
    ----------
    n_components : int or float, optional
        How many principal components are separated, as in :class:`SourceSeparation`. There are
        r(r+1)/2 matrices for r components.
    rate : float, optional
        Samples per second, for :meth:`find_artefacts`; MNE's objects know theirs.
    center : bool
        Whether the mean is taken off: that of the whole recording, or of every epoch.
    scale : "rms" or array-like, shape (channels,), optional
        The unit in which each channel counts in principal components and shares of variance, as in
        :class:`SourceSeparation`.
    method : {"newton", "quasi-newton", "jacobi"}
        How the rotation is found: by Newton's method, or by the Jacobi angles of the original.
    start : {"spectral", "whitener", "identity"} or array-like, shape (components, channels)
        Where the iteration starts: for instance the filters of another recording, of which the
        nearest rotation of the whitened components is taken.
    stability : int
        How many times the blocks of time that the cumulants are means of are weighed anew, to learn
        how surely each source comes again: ``stability_``, as in :class:`SourceSeparation`.
    order : {"contrast", "stability"}
        Whether sources come as said below, or by how surely they come again.
    tol, max_iter, restarts, threads, verbose, on_failure
        As in :func:`codiag.diagonalize`.

    Attributes
    ----------
    kurtosis_ : ndarray, shape (components,)
        The kurtosis of each source, E[s⁴] - 3, in descending order: 0 if it is Gaussian.
    B_, A_, filters_, patterns_, result_, variance_share_, rivals_, stability_, kept_variance_
        As in :class:`SourceSeparation`. Sources have unit variance and no correlation.
    scale_, n_features_in_, n_iter_, info_
        As in :class:`SourceSeparation`.

    References
    ----------
    .. [1] J.-F. Cardoso and A. Souloumiac, "Blind beamforming for non-Gaussian signals",
       IEE Proceedings F 140, 1993.

    Examples
    --------
    >>> import codiag, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> sources = [rng.laplace(size=20_000), rng.uniform(-1, 1, 20_000)]
    >>> model = codiag.JADE().fit(rng.standard_normal((2, 2)) @ sources)
    >>> bool(model.kurtosis_[0] > 2 and model.kurtosis_[1] < -1)
    True
    """

    kurtosis_: Floats

    def __init__(
        self,
        n_components: float | None = None,
        *,
        rate: float | None = None,
        center: bool = True,
        scale: str | ArrayLike | None = None,
        method: str = "newton",
        start: str | ArrayLike = "spectral",
        tol: float = 1e-8,
        max_iter: int = 1000,
        restarts: int = 0,
        stability: int = 0,
        order: str = "contrast",
        threads: int | None = None,
        verbose: bool = False,
        on_failure: OnFailure = "warn",
    ) -> None:
        self.n_components = n_components
        self.rate = rate
        self.center = center
        self.scale = scale
        self.method = method
        self.start = start
        self.tol = tol
        self.max_iter = max_iter
        self.restarts = restarts
        self.stability = stability
        self.order = order
        self.threads = threads
        self.verbose = verbose
        self.on_failure = on_failure

    def _contrast(self, rate: float | None, samples: int) -> dict[str, Any]:
        return {"cumulants": True}

    def _take(self, fields: dict[str, Any]) -> None:
        self.kurtosis_ = fields["kurtosis"]
