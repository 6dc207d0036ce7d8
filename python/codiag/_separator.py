"""What all separations of recordings have in common."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from . import _artefacts, _core, _doubts, _mne, _to_mne
from ._artefacts import Artefact, ArtefactScores, References
from ._errors import check_choice, describe, failed, report
from ._input import Floats, start_choice, usable_threads
from ._result import STABLE, Result, from_fields
from ._saved import Savable
from ._signals import Spans, class_numbers, recording, scale_choice, span_list
from ._solve import follow

try:
    from sklearn.base import BaseEstimator, TransformerMixin, clone
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


def source_numbers(chosen: Iterable[int | str], names: list[str]) -> list[int]:
    """Return the numbers of sources that are given by number or by name, such as S00."""
    if isinstance(chosen, str):
        chosen = [chosen]
    numbers = []
    for source in chosen if np.iterable(chosen) else [chosen]:
        if isinstance(source, str):
            if source not in names:
                raise ValueError(
                    f"there is no source {source!r}: there are {names[0]} to {names[-1]}"
                )
            numbers.append(names.index(source))
            continue
        k = operator.index(source)
        if not 0 <= k < len(names):
            raise ValueError(f"there is no source {k}: there are {len(names)}, from 0")
        numbers.append(k)
    return numbers


class Separator(Savable, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A recording's sources, by whatever tells them apart."""

    B_: Floats
    A_: Floats
    result_: Result
    variance_share_: Floats
    rivals_: list[Rival | None]
    stability_: Floats | None
    kept_variance_: float
    segments_: list[list[tuple[int, int]]]
    scale_: Floats
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
    stability: int
    order: str
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
        info, names = None, None
        _mne.refuse_evoked(X)
        if _mne.is_instance(X):
            read = _mne.read(X, picks)
            X, info, names = read.data, read.info, read.info["ch_names"]
            rate = read.rate if rate is None else rate
            scale = scale_choice(read.types) if scale is None else scale
            spans += read.bad_spans
        elif picks is not None:
            raise TypeError("picks are for MNE's objects: index an array instead")
        data = recording(X)
        _doubts.refuse_transposed(data)
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
            "names": names,
            "threads": usable_threads(self.threads),
        }
        classes = class_numbers(labels)
        fields = follow(
            lambda seen, _: _core.separate(data, classes, options, self._solver(), seen),
            None,
            self.verbose,
        )
        self._fitted_on = ("epochs" if data.ndim == 3 else "raw", data.size // data.shape[-2])
        self._accept(fields, data.shape[-2], info)
        for doubt in _doubts.of_fit(self, data, rate, spans):
            warnings.warn(doubt, UserWarning, stacklevel=2)
        return self

    def _solver(self) -> dict[str, Any]:
        return {
            "method": self.method,
            "start": start_choice(self.start),
            "tol": self.tol,
            "max_iter": self.max_iter,
            "restarts": self.restarts,
            "stability": self.stability,
            "order": self.order,
            "threads": usable_threads(self.threads),
        }

    def _accept(self, fields: dict[str, Any], channels: int, info: Any) -> Self:
        self.result_ = from_fields(fields)
        self.B_ = self.result_.B
        self.A_ = self.result_.A
        self.n_iter_ = self.result_.n_iter
        self.variance_share_ = fields["variance_share"]
        self.rivals_ = [None if rival is None else Rival(*rival) for rival in fields["rivals"]]
        self.stability_ = self.result_.stability
        self.kept_variance_ = fields["kept_variance"]
        self.segments_ = fields["segments"]
        self.scale_ = fields["scale"]
        self.n_features_in_ = channels
        self._take(fields)
        self.__dict__.pop("info_", None)
        if info is not None:
            self.info_ = info
        if failed(self.result_):
            message = describe(self.result_, self.tol) + _doubts.advice(self)
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

    def inverse_transform(self, sources: ArrayLike, exclude: Iterable[int | str] = ()) -> Floats:
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

    def apply(self, X: Any, exclude: Iterable[int | str]) -> Any:
        """Return a copy without some sources: unlike in MNE's ICA, `X` itself stays as it is.

        That is x - A_e B_e x for the sources e excluded: what lies outside the components stays.

        Parameters
        ----------
        X : array-like, shape (channels, samples) or (epochs, channels, samples), or MNE's object
            The recording, the one that was fitted or another of the same channels: also as Raw,
            Epochs or Evoked. It is not changed.
        exclude : iterable of int or str
            The sources to be removed, by number or name (``"S00"``), such as the answer of
            :meth:`find_artefacts`.

        Returns
        -------
        ndarray, Raw, Epochs or Evoked
            As `X`; other channels of MNE's objects are untouched.
        """
        check_is_fitted(self)
        numbers = self._numbers(exclude)
        if _mne.is_instance(X) or _mne.is_evoked(X):
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
        references: References | None = None,
        thresholds: Mapping[str, float] | None = None,
    ) -> dict[int, list[Artefact]]:
        """Say which sources look like blinks, heartbeats, line noise or muscles, and why.

        Those of which a score of :meth:`score_artefacts` reaches its threshold. They draw the eye
        to a source; they do not decide.

        Parameters
        ----------
        X, rate, references, thresholds
            As in :meth:`score_artefacts`.

        Returns
        -------
        dict of int to list of Artefact
            For each source that looks like any of these what it looks like, the likeliest first;
            the most certain source comes first.
        """
        return self.score_artefacts(
            X, rate=rate, references=references, thresholds=thresholds
        ).found

    def score_artefacts(
        self,
        X: Any,
        *,
        rate: float | None = None,
        references: References | None = None,
        thresholds: Mapping[str, float] | None = None,
    ) -> ArtefactScores:
        """Score every source for every kind of artefact.

        Rules of thumb on one source at a time. By its form: its spectrum, kurtosis and periodicity.
        By reference channels: for eyes the correlation around their blinks, from 1 to 10 Hz; for
        the heart also whether the phase of the source, from 8 to 16 Hz, is the same at all its
        beats (Kuiper's test), which finds hearts too weak for a correlation.

        Parameters
        ----------
        X : array-like, shape (channels, samples), or Raw
            The recording. The EOG and ECG channels of a Raw are its references; the spans annotated
            as bad are not looked at.
        rate : float, optional
            Samples per second; by default that of the estimator, or of the Raw.
        references : mapping, optional
            Further channels by name: what each shows, such as "blink", and its samples, as in
            ``{"ecg": ("heartbeat", ecg)}``. Of a channel of the Raw only what it shows:
            ``{"Fp1": "blink"}`` serves where there is no EOG.
        thresholds : mapping of str to float, optional
            The scores from which on a source is flagged: by form those of "blink" (0.7),
            "heartbeat" (0.3), "line noise" (0.2) and "muscle" (0.6); by references those of
            "correlation" (0.4) and "phase" (0.2).

        Returns
        -------
        ArtefactScores
            A table, of which :attr:`ArtefactScores.found` are the sources that are flagged.
        """
        sources = self.transform(X)
        if sources.ndim != 2:
            raise ValueError("artefacts are looked for in a single recording, not in epochs")
        rate = self.rate if rate is None else rate
        if _mne.is_instance(X):
            rate = float(X.info["sfreq"]) if rate is None else rate
            given = _mne.named_references(X, references)
            shown = {**_mne.references(X), **_artefacts.signals(given, sources.shape[1])}
            good = _mne.good_samples(X)
            sources = sources[:, good]
            shown = {name: (kind, signal[good]) for name, (kind, signal) in shown.items()}
        else:
            shown = _artefacts.signals(references, sources.shape[1])
        if rate is None:
            raise ValueError("rate, the samples per second, is needed to know artefacts")
        return _artefacts.look(sources, rate, shown, thresholds)

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

    def to_mne(self, info: Any = None, *, exclude: Iterable[int] = ()) -> Any:
        """Return the separation as a fitted ``mne.preprocessing.ICA``, with the same sources.

        All that MNE does with one is then at hand: ``get_sources``, ``apply``, ``plot_components``,
        ``plot_properties``, ``find_bads_eog``, ``find_bads_ecg``, ``save`` as -ica.fif and
        ``mne.preprocessing.read_ica``; and what others do with one, as mne-icalabel does. What lies
        outside the components passes through ``apply``.

        Parameters
        ----------
        info : mne.Info, optional
            The channels, for an estimator that was fitted on an array.
        exclude : iterable of int
            The sources that its ``apply`` removes, such as the answer of :meth:`find_artefacts`.

        Returns
        -------
        mne.preprocessing.ICA
            Its sources are ours, ``B_ @ X``, and its components are the patterns, in units of each
            channel's ``pre_whitener_``.
        """
        check_is_fitted(self)
        info = getattr(self, "info_", None) if info is None else info
        count = 0 if info is None else len(info["ch_names"])
        if count != self.n_features_in_:
            raise ValueError(
                f"info must be an mne.Info of the {self.n_features_in_} channels separated, got "
                f"one of {count} channels"
            )
        return _to_mne.as_ica(
            self.B_,
            self.A_,
            scale=self.scale_,
            kept_variance=self.kept_variance_,
            info=info,
            method=f"codiag {type(self).__name__}",
            settings={"max_iter": int(getattr(self, "max_iter", 1))},
            fitted_on=self._fitted_on,
            iterations=int(self.n_iter_),
            exclude=self._numbers(exclude),
        )

    def plot_patterns(
        self,
        components: Iterable[int | str] | None = None,
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
        if info is None:
            raise ValueError(
                "fitted on an array, of which the places of channels are not known: pass "
                f"info=raw.info, an mne.Info of the {self.n_features_in_} channels separated"
            )
        count = len(info["ch_names"])
        if count != self.n_features_in_:
            raise ValueError(
                f"info must be an mne.Info of the {self.n_features_in_} channels separated, got "
                f"one of {count} channels"
            )
        numbers = self._numbers(chosen)
        names = self._source_names()
        patterns = {self._marked(names[k], k): self.A_[:, k] for k in numbers}
        return _mne.plot_patterns(patterns, info, ch_type, columns, show, topomap)

    def _marked(self, name: str, k: int) -> str:
        """Return the name of a source with its stability; one that may not come again has a ?."""
        if self.stability_ is None:
            return name
        return f"{name} ({self.stability_[k]:.2f}{'' if self.stability_[k] >= STABLE else ' ?'})"

    def _restore(self) -> None:
        """Bring what a file held to its own types."""
        self.rivals_ = [None if rival is None else Rival(*rival) for rival in self.rivals_]
        self.segments_ = [[(start, stop) for start, stop in piece] for piece in self.segments_]
        kind, samples = self._fitted_on
        self._fitted_on = (kind, samples)

    def _resampled(self, X: Any, n: int, fit: dict[str, Any]) -> Floats:
        """Return how like the sources are those of n draws of what tells them apart."""
        check_is_fitted(self)
        again = clone(self).set_params(
            start=self.B_, stability=n, restarts=0, order="contrast", on_failure="ignore"
        )
        if _mne.is_instance(X):
            fit.setdefault("picks", self._names(X))
        again.fit(X, **fit)
        # They may stand in another order.
        cosines = np.abs(_unit_rows(self.B_) @ _unit_rows(again.B_).T)
        places = cosines.argmax(axis=1)
        if cosines.max(axis=1).min() < 0.99 or again.result_.matches is None:
            raise ValueError(
                "this is not the recording that the model was fitted on, or not as it was"
            )
        matches: Floats = again.result_.matches[:, places]
        return matches

    def _known(self, X: Any) -> Floats:
        """Return the channels that were fitted of a recording."""
        check_is_fitted(self)
        if _mne.is_instance(X) or _mne.is_evoked(X):
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
        now = inst.get_channel_types(names)
        types = zip(names, self.info_.get_channel_types(), now, strict=True)
        others = [f"{name} is {now}, not {then}" for name, then, now in types if now != then]
        if others:
            raise ValueError(f"channels are not of the types that were fitted: {', '.join(others)}")
        return names

    def _numbers(self, exclude: Iterable[int | str]) -> list[int]:
        return source_numbers(exclude, self._source_names())

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


def _unit_rows(B: Floats) -> Floats:
    rows: Floats = B / np.linalg.norm(B, axis=1, keepdims=True)
    return rows
