"""From a recording to its sources and back, as scikit-learn transformers."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from ._artefacts import Artefact, ArtefactScores
from ._errors import OnFailure
from ._input import Floats
from ._rotations import AMUSE, JADE, SOBI
from ._separator import Rival, Separator
from ._signals import Bands, band_list

__all__ = [
    "AMUSE",
    "JADE",
    "SOBI",
    "Artefact",
    "ArtefactScores",
    "Rival",
    "SourceSeparation",
]


class SourceSeparation(Separator):
    """The sources of a recording, by joint diagonalization of its covariances.

    A recording x = A s mixes sources s. Where their powers change over time, each in its own way,
    the covariances of segments have one joint diagonalizer B, and s = B x; where their spectra
    differ, cospectra in frequency bands have it too (`bands`). That sources are not Gaussian is not
    used: stationary sources of one spectrum cannot be told apart in this way, but by :class:`JADE`.

    Recordings are channels x samples, as everywhere in the field (and unlike scikit-learn's tables,
    of which the rows are samples), epochs x channels x samples, or MNE's ``Raw`` and ``Epochs``.

    Parameters
    ----------
    n_components : int or float, optional
        How many principal components are separated: a number, or the share of the variance that
        they must have. By default all, or the rank of the recording if that is less, as after an
        average reference or a projection.
    segments, segment_length, overlap
        As in :func:`codiag.segment_covariances`: how many segments, or how long they are, in
        samples or in time (``"0.25s"``). By default a quarter of a second, or two samples per
        component if that is longer. Epochs are segments themselves. With bands, the overlap is that
        of the windows, as in :func:`codiag.cospectra`.
    bands : sequence of (float, float), or int, optional
        Frequency bands in hertz, or how many of equal width, as in :func:`codiag.cospectra`:
        sources are told apart by their spectra instead or, with `segments` or `segment_length`
        given too, by both: one matrix per segment and band.
    rate : float, optional
        Samples per second, for bands, times and :meth:`find_artefacts`; MNE's objects know theirs.
    window_length : int, optional
        The samples of a window of the spectra, as in :func:`codiag.cospectra`.
    shrinkage : float, "auto", "ledoit-wolf" or "oas"
        As in :func:`codiag.segment_covariances`, in the coordinates of the components.
    center : bool
        Whether the mean of every segment (or window) is taken off.
    scale : "rms" or array-like, shape (channels,), optional
        The unit in which each channel counts in principal components, shrinkage and shares of
        variance, as in :func:`codiag.segment_covariances`. The channels of MNE's objects count in
        the unit of their type by default. Filters and patterns are in the recording's own units.
    start : {"spectral", "whitener", "identity"} or array-like, shape (components, channels)
        Where the iteration starts: for instance the filters of another recording.
    stability : int
        How many times the segments (epochs, classes) are drawn anew, with replacement, to learn
        how surely each source comes again: ``stability_``. For bands of the whole recording, blocks
        of its time are weighed anew instead.
    order : {"contrast", "stability"}
        Whether sources come by how much their power varies, or by how surely they come again.
    method, tol, max_iter, restarts, threads, verbose, on_failure
        As in :func:`codiag.diagonalize`.

    Attributes
    ----------
    B_ : ndarray, shape (components, channels)
        The filters, one per row; sources are ``B_ @ X``, of unit mean power. Those come first of
        which the power varies most.
    A_ : ndarray, shape (channels, components)
        The patterns, one per column: how a source appears on the channels.
    filters_, patterns_ : ndarray
        The same as ``B_`` and ``A_``: the names that MNE's spatial filters have for them.
    result_ : Result
        The solver's whole answer.
    powers_ : ndarray, shape (segments or bands, components)
        The power of each source in each segment, epoch, class or band; of segments and bands, one
        segment after the other.
    variance_share_ : ndarray, shape (components,)
        Each source's share of the variance of the recording. They need not sum to 1: patterns need
        not be orthogonal.
    nonstationarity_ : ndarray, shape (components,)
        How much the power of each source varies over segments or bands: the standard deviation
        divided by the mean. Segments of L independent normal samples of constant variance show
        ``(2 / L) ** 0.5`` by chance.
    rivals_ : list of Rival or None
        For each source the one that is hardest to tell from it; None if there is only one source.
    stability_ : ndarray, shape (components,), or None
        How surely each source comes again, from 0 to 1: the median, over the restarts whose loss is
        within 0.1 % of the lowest and over the segments drawn anew, of the correlation with the
        source that matches it there. None, and not 1, if it was not asked for.
    kept_variance_ : float
        The share of the recording's variance that all components together have.
    scale_ : ndarray, shape (channels,)
        The factor by which each channel was multiplied when principal components were found.
    shrinkages_ : ndarray, shape (segments or bands,)
        By how much each matrix was shrunk.
    segments_ : list of list of (int, int)
        The spans of samples of each segment, epoch or class; empty for bands alone.
    n_features_in_ : int
        The number of channels.
    n_iter_ : int
        The number of iterations.
    info_ : mne.Info
        The channels separated, if fitted on one of MNE's objects.

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

    powers_: Floats
    nonstationarity_: Floats
    shrinkages_: Floats

    def __init__(
        self,
        n_components: float | None = None,
        *,
        segments: int | None = None,
        segment_length: int | str | None = None,
        overlap: float | None = None,
        bands: Bands | None = None,
        rate: float | None = None,
        window_length: int | None = None,
        shrinkage: float | str = 0.0,
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
        self.segments = segments
        self.segment_length = segment_length
        self.overlap = overlap
        self.bands = bands
        self.rate = rate
        self.window_length = window_length
        self.shrinkage = shrinkage
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
        return {
            "segments": self.segments,
            "segment_length": self.segment_length,
            "overlap": self.overlap,
            "window_overlap": self.overlap,
            "bands": band_list(self.bands, rate),
            "rate": rate,
            "window_length": self.window_length,
            "shrinkage": self.shrinkage,
        }

    def _take(self, fields: dict[str, Any]) -> None:
        self.powers_ = self.result_.powers
        self.nonstationarity_ = fields["nonstationarity"]
        self.shrinkages_ = fields["shrinkages"]
