"""What all separations of recordings have in common."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from . import _artefacts, _core, _mne
from ._artefacts import Artefact
from ._errors import check_choice, describe, failed, report
from ._input import Floats, start_choice, usable_threads
from ._result import Result, from_fields
from ._signals import Spans, class_numbers, recording, scale_choice, span_list
from ._solve import follow

try:
    from sklearn.base import BaseEstimator, TransformerMixin
    from sklearn.utils.validation import check_is_fitted
except ImportError:
    raise ImportError(
        "SourceSeparation, SOBI, AMUSE and JADE need scikit-learn: pip install 'codiag[sklearn]'"
    ) from None

if TYPE_CHECKING:
    from typing_extensions import Self


class Rival(NamedTuple):
    """The source that is hardest to tell from another."""

    source: int
    """The other source."""
    margin: float
    """Zero if any mixture of the two would serve as well.

    So it is if their powers are proportional (:class:`SourceSeparation`), if they have the same
    autocorrelations (:class:`SOBI`, :class:`AMUSE`: the sum of squared differences), or if both are
    Gaussian (:class:`JADE`)."""


class Separator(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A recording's sources, by whatever tells them apart."""

    B_: Floats
    A_: Floats
    result_: Result
    variance_share_: Floats
    rivals_: list[Rival | None]
    kept_variance_: float
    segments_: list[list[tuple[int, int]]]
    n_features_in_: int
    n_iter_: int
    info_: Any

    # Parameters that all of them have, or most.
    n_components: float | None
    rate: float | None
    center: bool
    scale: str | ArrayLike | None
    method: str
    start: str | ArrayLike
    max_iter: int
    restarts: int
    threads: int | None
    tol: float = 1e-8
    verbose: bool = False
    on_failure: str = "warn"

    def _contrast(self, rate: float | None, samples: int) -> dict[str, Any]:
        """Return what tells sources apart, for a recording or epochs of so many samples."""
        raise NotImplementedError

    def _take(self, fields: dict[str, Any]) -> None:
        """Set the attributes that only this separation has."""

    @property
    def filters_(self) -> Floats:
        """The same as ``B_``: the name that MNE's spatial filters have for it."""
        return self.B_

    @property
    def patterns_(self) -> Floats:
        """The same as ``A_``: the name that MNE's spatial filters have for it."""
        return self.A_

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        picks: Any = None,
        labels: ArrayLike | None = None,
        exclude: Spans | None = None,
    ) -> Self:
        """Find the sources of a recording.

        Parameters
        ----------
        X : array-like, shape (channels, samples) or (epochs, channels, samples), Raw or Epochs
            The recording; of MNE's objects the channels picked that are not bad, without the spans
            annotated as bad. A float64 array is read in place; it is never changed.
        y : ignored
            For scikit-learn.
        picks : as everywhere in MNE, optional
            Which channels of one of MNE's objects; by default all that hold data.
        labels : array-like, shape (epochs,), optional
            The class of each epoch: :class:`SourceSeparation` then has one matrix per class, not
            one per epoch, :class:`SOBI` and :class:`AMUSE` one set of lags per class, not one of
            all epochs together. :class:`JADE` and frequency bands take all epochs together.
        exclude : iterable of (int, int), optional
            Spans of samples of a single recording to be left out.

        Returns
        -------
        self
        """
        check_choice(self.on_failure)
        scale, rate, spans = scale_choice(self.scale), self.rate, span_list(exclude)
        info = None
        if _mne.is_instance(X):
            read = _mne.read(X, picks)
            X, info = read.data, read.info
            rate = read.rate if rate is None else rate
            scale = scale_choice(read.types) if scale is None else scale
            spans += read.bad_spans
        elif picks is not None:
            raise TypeError("picks are for MNE's objects: index an array instead")
        data = recording(X)
        if data.ndim == 2 and labels is not None:
            raise ValueError("labels are for epochs: there is one recording only")
        if data.ndim == 3 and spans:
            raise ValueError(
                "spans to exclude are for a single recording: leave epochs out instead"
            )
        options = {
            **self._contrast(rate, data.shape[-1]),
            "n_components": self.n_components,
            "center": self.center,
            "scale": scale,
            "exclude": spans,
            "threads": usable_threads(self.threads),
        }
        classes = class_numbers(labels)
        fields = follow(
            lambda seen, _: _core.separate(data, classes, options, self._solver(), seen),
            None,
            self.verbose,
        )
        return self._accept(fields, data.shape[-2], info)

    def _solver(self) -> dict[str, Any]:
        return {
            "method": self.method,
            "start": start_choice(self.start),
            "tol": self.tol,
            "max_iter": self.max_iter,
            "restarts": self.restarts,
            "threads": usable_threads(self.threads),
        }

    def _accept(self, fields: dict[str, Any], channels: int, info: Any) -> Self:
        self.result_ = from_fields(fields)
        self.B_ = self.result_.B
        self.A_ = self.result_.A
        self.n_iter_ = self.result_.n_iter
        self.variance_share_ = fields["variance_share"]
        self.rivals_ = [None if rival is None else Rival(*rival) for rival in fields["rivals"]]
        self.kept_variance_ = fields["kept_variance"]
        self.segments_ = fields["segments"]
        self.n_features_in_ = channels
        self._take(fields)
        self.__dict__.pop("info_", None)
        if info is not None:
            self.info_ = info
        if failed(self.result_):
            message = describe(self.result_, self.tol)
            report(message, self.on_failure, self.result_, depth=4)
        return self

    def transform(self, X: Any) -> Floats:
        """Return the sources of a recording, the one that was fitted or another.

        Parameters
        ----------
        X : array-like, shape (channels, samples) or (epochs, channels, samples), Raw or Epochs
            The recording, of the same channels.

        Returns
        -------
        ndarray, shape (components, samples) or (epochs, components, samples)
        """
        data = self._known(X)
        return self._each(data, len(self.B_), _core.apply, self.B_)

    def inverse_transform(self, sources: ArrayLike, exclude: Iterable[int] = ()) -> Floats:
        """Return the recording that has these sources, or all but some of them.

        What lies outside the components, if there are fewer than channels, is not in it:
        :meth:`apply` keeps that.

        Parameters
        ----------
        sources : array-like, shape (components, samples) or (epochs, components, samples)
            What :meth:`transform` returns.
        exclude : iterable of int
            The sources to be left out.

        Returns
        -------
        ndarray, shape (channels, samples) or (epochs, channels, samples)
        """
        check_is_fitted(self)
        data = recording(sources, "sources")
        r = len(self.B_)
        if data.shape[-2] != r:
            raise ValueError(f"expected {r} sources, got shape {data.shape}")
        patterns = self.A_.copy()
        patterns[:, self._numbers(exclude)] = 0.0
        return self._each(data, self.n_features_in_, _core.apply, patterns)

    def apply(self, X: Any, exclude: Iterable[int]) -> Any:
        """Return a copy without some sources: unlike in MNE's ICA, `X` itself stays as it is.

        That is x - A_e B_e x for the sources e excluded: what lies outside the components stays.

        Parameters
        ----------
        X : array-like, shape (channels, samples) or (epochs, channels, samples), Raw or Epochs
            The recording, the one that was fitted or another of the same channels.
        exclude : iterable of int
            The sources to be removed, such as the answer of :meth:`find_artefacts`.

        Returns
        -------
        ndarray, Raw or Epochs
            As `X`; other channels of MNE's objects are untouched.
        """
        check_is_fitted(self)
        numbers = self._numbers(exclude)
        if _mne.is_instance(X):
            names = self._names(X)
            return _mne.changed(X, names, lambda data: self._without(recording(data), numbers))
        return self._without(self._known(X), numbers)

    def _without(self, data: Floats, numbers: list[int]) -> Floats:
        matrices = self.B_, self.A_
        return self._each(data, self.n_features_in_, _core.remove, *matrices, numbers)

    def find_artefacts(
        self,
        X: Any,
        *,
        rate: float | None = None,
        references: Mapping[str, tuple[str, ArrayLike]] | None = None,
    ) -> dict[int, list[Artefact]]:
        """Say which sources look like blinks, heartbeats, line noise or muscles, and why.

        Rules of thumb on one source at a time: its spectrum, kurtosis and periodicity, and its
        correlation with reference channels. They draw the eye to a source; they do not decide.

        Parameters
        ----------
        X : array-like, shape (channels, samples), or Raw
            The recording. The EOG and ECG channels of a Raw are its references; the spans annotated
            as bad are not looked at.
        rate : float, optional
            Samples per second; by default that of the estimator, or of the Raw.
        references : mapping of str to (str, array-like), optional
            Further channels by name: what each shows, such as "blink", and its samples.

        Returns
        -------
        dict of int to list of Artefact
            For each source that looks like any of these what it looks like, the likeliest first;
            the most certain source comes first.
        """
        sources = self.transform(X)
        if sources.ndim != 2:
            raise ValueError("artefacts are looked for in a single recording, not in epochs")
        rate = self.rate if rate is None else rate
        shown = _artefacts.signals(references, sources.shape[1])
        if _mne.is_instance(X):
            rate = float(X.info["sfreq"]) if rate is None else rate
            shown = {**_mne.references(X), **shown}
            good = _mne.good_samples(X)
            sources = sources[:, good]
            shown = {name: (kind, signal[good]) for name, (kind, signal) in shown.items()}
        if rate is None:
            raise ValueError("rate, the samples per second, is needed to know artefacts")
        return _artefacts.look(sources, rate, shown)

    def get_sources(self, inst: Any) -> Any:
        """Return the sources of one of MNE's objects as another, with channels S00, S01 and so on.

        Parameters
        ----------
        inst : Raw or Epochs
            The recording, of the same channels.

        Returns
        -------
        Raw or Epochs
            With channels of type "misc", the times, annotations and events of `inst`.
        """
        if not _mne.is_instance(inst):
            raise TypeError("get_sources is for MNE's Raw and Epochs: transform takes arrays")
        return _mne.as_instance(inst, self.transform(inst), self._source_names())

    def plot_patterns(
        self,
        components: Iterable[int] | None = None,
        *,
        info: Any = None,
        ch_type: str | None = None,
        columns: int = 5,
        show: bool = True,
        **topomap: Any,
    ) -> Any:
        """Plot patterns as topographies, by MNE's own function.

        Parameters
        ----------
        components : iterable of int, optional
            Which sources; by default the first twenty.
        info : mne.Info, optional
            The channels and their places, for an estimator that was fitted on an array.
        ch_type : str, optional
            The type of channels to plot, if there are several: "mag", "grad" or "eeg".
        columns : int
            How many topographies beside each other.
        show : bool
            Whether the figure is shown.
        **topomap
            Passed to ``mne.viz.plot_topomap``.

        Returns
        -------
        matplotlib Figure
        """
        check_is_fitted(self)
        chosen = range(min(20, len(self.B_))) if components is None else components
        info = getattr(self, "info_", None) if info is None else info
        count = 0 if info is None else len(info["ch_names"])
        if count != self.n_features_in_:
            raise ValueError(
                f"info must be an mne.Info of the {self.n_features_in_} channels separated, got "
                f"one of {count} channels"
            )
        numbers = self._numbers(chosen)
        names = self._source_names()
        patterns = {names[k]: self.A_[:, k] for k in numbers}
        return _mne.plot_patterns(patterns, info, ch_type, columns, show, topomap)

    def _known(self, X: Any) -> Floats:
        """Return the channels that were fitted of a recording."""
        check_is_fitted(self)
        if _mne.is_instance(X):
            X = X.get_data(picks=self._names(X))
        data = recording(X)
        if data.shape[-2] != self.n_features_in_:
            raise ValueError(
                f"X has {data.shape[-2]} channels, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} channels as input"
            )
        return data

    def _names(self, inst: Any) -> list[str]:
        if not hasattr(self, "info_"):
            raise ValueError(
                "fitted on an array, of which the channels have no names: pass "
                "inst.get_data(picks=...) instead"
            )
        names: list[str] = self.info_["ch_names"]
        missing = sorted(set(names) - set(inst.ch_names))
        if missing:
            raise ValueError(f"channels that were fitted are not there: {', '.join(missing)}")
        return names

    def _numbers(self, exclude: Iterable[int]) -> list[int]:
        numbers = [int(k) for k in np.atleast_1d(np.asarray(list(exclude), dtype=np.intp))]
        for k in numbers:
            if not 0 <= k < len(self.B_):
                raise ValueError(f"there is no source {k}: there are {len(self.B_)}, from 0")
        return numbers

    def _source_names(self) -> list[str]:
        width = max(2, len(str(len(self.B_) - 1)))
        return [f"S{k:0{width}}" for k in range(len(self.B_))]

    def _each(self, data: Floats, rows: int, compute: Any, *arguments: Any) -> Floats:
        """Compute a new recording, or one epoch after the other."""
        out = np.empty((*data.shape[:-2], rows, data.shape[-1]))
        threads = usable_threads(self.threads)
        for x, y in zip(data, out, strict=True) if data.ndim == 3 else [(data, out)]:
            compute(*arguments, x, y, threads)
        return out

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        return tags
