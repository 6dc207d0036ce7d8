"""Source separation by fourth-order cumulants: JADE."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

from ._base import IterativeSeparation
from ._sklearn import suggests_parameters
from ._typing import Floats, RotationMethod

__all__ = ["JADE"]


class _Fitted:
    kurtosis_: Floats


@suggests_parameters
@dataclass(eq=False, repr=False)
class JADE(IterativeSeparation, _Fitted):
    """Sources of a recording that are not Gaussian, by joint diagonalization of cumulants.

    The recording is whitened. The remaining rotation is the one that makes the matrices of its
    fourth-order cumulants as diagonal as possible [1]_. At most one source may be Gaussian. The
    order of the samples does not matter.

    Parameters
    ----------
    n_components : int or float, optional
        Number r of principal components that are separated, as in :class:`SourceSeparation`. There
        are r(r+1)/2 matrices, which take 4 r⁴ bytes: 50 MB for 60 components, 35 GB for 306.
    sfreq : float, optional
        Sampling frequency in hertz, for :meth:`find_artifacts` (default: that of an MNE object).
    center : bool
        Whether the mean of the recording, or of every epoch, is subtracted (default True).
    scale : "rms" or array-like, shape (channels,), optional
        Unit of each channel, as in :class:`SourceSeparation`.
    method : {"newton", "quasi-newton", "jacobi"}
        Algorithm that finds the rotation (default "newton"); "jacobi" are the Jacobi angles of the
        original publication.
    init : {"spectral", "whitener", "identity"} or array-like, shape (n_components, channels)
        Starting point of the iteration (default "spectral"), for instance ``components_`` of
        another recording, which are replaced by the nearest rotation of the whitened components.
    n_resamples : int
        Number of bootstrap resamples of blocks of time used to estimate how reproducible each
        source is, see ``stability_`` of :class:`SourceSeparation` (default 0: not estimated).
    sort_by : {"contrast", "stability"}
        Order of the sources, descending: by their kurtosis (default "contrast"), or by
        ``stability_``, which requires `n_resamples`.
    tol, max_iter, n_restarts, n_jobs, verbose, on_failure
        Options of the solver, as in :func:`codiag.diagonalize`.

    Attributes
    ----------
    kurtosis_ : ndarray, shape (n_components,)
        Excess kurtosis of each source, E[s⁴] - 3, in descending order: 0 if it is Gaussian.
    components_, mixing_, filters_, patterns_, result_, stability_, least_separable_
        As in :class:`SourceSeparation`. Sources have unit variance and are uncorrelated.
    explained_variance_ratio_, explained_variance_ratio_total_, scale_, segments_
        As in :class:`SourceSeparation`.
    n_features_in_, n_iter_, info_
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

    _: KW_ONLY
    method: RotationMethod = "newton"

    def _contrast(self, sfreq: float | None, samples: int) -> dict[str, Any]:
        return {"cumulants": True}

    def _set_own(self, found: dict[str, Any]) -> None:
        self.kurtosis_ = found["kurtosis"]
