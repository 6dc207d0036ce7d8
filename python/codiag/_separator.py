"""What all separations of recordings have in common."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from . import _core, _doubts, _mne
from ._errors import check_choice, describe, failed, report
from ._input import Floats, start_choice, usable_threads
from ._inspected import Inspected
from ._result import Result, from_fields
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


class Separator(Inspected, Savable, TransformerMixin, BaseEstimator):  # type: ignore[misc]
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

    def _require_fit(self) -> None:
        check_is_fitted(self)

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

    def _restore(self) -> None:
        """Bring what a file held to its own types."""
        self.rivals_ = [None if rival is None else Rival(*rival) for rival in self.rivals_]
        self.segments_ = [[(start, stop) for start, stop in piece] for piece in self.segments_]
        kind, samples = self._fitted_on
        self._fitted_on = (kind, samples)

    def _resampled(self, X: Any, n: int, fit: dict[str, Any]) -> Floats:
        """Return how like the sources are those of n draws of what tells them apart."""
        check_is_fitted(self)
        choices = {"start": self.B_, "restarts": 0, "order": "contrast", "on_failure": "ignore"}
        own = {name: choice for name, choice in choices.items() if name in self.get_params()}
        again = clone(self).set_params(stability=n, **own)
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
            raise ValueError(f"channels that were fitted are not there: {_some(missing)}")
        now = inst.get_channel_types(names)
        types = zip(names, self.info_.get_channel_types(), now, strict=True)
        others = [f"{name} is {now}, not {then}" for name, then, now in types if now != then]
        if others:
            raise ValueError(f"channels are not of the types that were fitted: {_some(others)}")
        return names

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


def _some(names: list[str], most: int = 8) -> str:
    """Return names, the first of them if they are many."""
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} others"


def _unit_rows(B: Floats) -> Floats:
    rows: Floats = B / np.linalg.norm(B, axis=1, keepdims=True)
    return rows
