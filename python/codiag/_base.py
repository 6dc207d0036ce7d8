"""Base class of the separations of recordings."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from . import _core, _mne, _validation
from ._arrays import init_choice, usable_n_jobs
from ._covariances import class_numbers, recording, scale_choice, span_list
from ._errors import check_on_failure, describe, failed, report
from ._inspection import Inspection
from ._keywords import suggests_keywords
from ._result import Result
from ._sklearn import Estimator, TransformerMixin, check_is_fitted, clone
from ._solve import solve_with_progress
from ._typing import ArrayInput, Floats, Init, OnFailure, Scale, SortBy, Spans

if TYPE_CHECKING:
    from typing_extensions import Self


class SeparabilityMargin(NamedTuple):
    """How well a source is separated from the source that is least separable from it."""

    partner: int
    """Number of the least separable other source."""
    margin: float
    """Zero if any mixture of the two sources would fit equally well.

    That is the case if their powers are proportional (:class:`SourceSeparation`), if they have
    equal autocorrelations (:class:`SOBI`, :class:`AMUSE`: the sum of squared differences), or if
    both are Gaussian (:class:`JADE`)."""


@dataclass(eq=False, repr=False)
class SeparationParameters:
    """Parameters that all separations have."""

    n_components: float | None = None
    _: KW_ONLY
    sfreq: float | None = None
    center: bool = True
    scale: Scale = None
    n_resamples: int = 0
    sort_by: SortBy = "contrast"
    n_jobs: int | None = None


@dataclass(eq=False, repr=False)
class SolverParameters:
    """Parameters of the solver, except the method."""

    _: KW_ONLY
    init: Init = "spectral"
    tol: float = 1e-8
    max_iter: int = 1000
    n_restarts: int = 0
    verbose: bool = False
    on_failure: OnFailure = "warn"


# Not the `set_output` of scikit-learn, because sources are components x samples.
class Separation(
    SeparationParameters,
    Inspection,
    TransformerMixin,
    Estimator,
    auto_wrap_output_keys=None,
):
    """Base class of the separations of recordings."""

    components_: Floats
    mixing_: Floats
    result_: Result
    explained_variance_ratio_: Floats
    explained_variance_ratio_total_: float
    least_separable_: list[SeparabilityMargin | None]
    stability_: Floats | None
    segments_: list[list[tuple[int, int]]]
    scale_: Floats
    n_features_in_: int
    n_iter_: int
    info_: Any

    def _contrast(self, sfreq: float | None, samples: int) -> dict[str, Any]:
        """Return the options of the matrices that are diagonalized, given the number of samples."""
        raise NotImplementedError

    def _solver(self) -> dict[str, Any]:
        """Return the options of the solver."""
        return {
            "sort_by": self.sort_by,
            "n_resamples": self.n_resamples,
            "n_jobs": usable_n_jobs(self.n_jobs),
        }

    def _set_own(self, found: dict[str, Any]) -> None:
        """Set the attributes that are specific to this class."""

    def _require_fit(self) -> None:
        check_is_fitted(self)

    @property
    def _tol(self) -> float:
        return float(getattr(self, "tol", 1e-8))

    @property
    def filters_(self) -> Floats:
        """Filters, one component per row: another name of ``components_``."""
        return self.components_

    @property
    def patterns_(self) -> Floats:
        """Patterns, one component per row: the transpose of ``mixing_``."""
        return self.mixing_.T

    @suggests_keywords
    def fit(
        self,
        X: Any,
        y: ArrayInput | None = None,
        *,
        picks: Any = None,
        bad_spans: Spans | None = None,
    ) -> Self:
        """Find the sources of a recording.

        Parameters
        ----------
        X : array-like, shape (channels, samples) or (epochs, channels, samples), Raw or Epochs
            Recording. For MNE objects, channels marked as bad and spans annotated as bad are
            excluded. A float64 array is read in place and never changed.
        y : array-like, shape (epochs,), optional
            Class of each epoch: :class:`SourceSeparation` then has one matrix per class instead of
            one per epoch, :class:`SOBI` and :class:`AMUSE` one set of lags per class instead of one
            for all epochs. :class:`JADE` and frequency bands do not use it.
        picks : str, list or slice, optional
            Channels of an MNE object, as in functions of MNE (default: all data channels).
        bad_spans : iterable of (int, int), optional
            Spans of samples (start, stop) of a single recording that are excluded from the fit.

        Returns
        -------
        self
        """
        check_on_failure(getattr(self, "on_failure", "warn"))
        _validation.check_sfreq(self.sfreq)
        scale, sfreq, spans = scale_choice(self.scale), self.sfreq, span_list(bad_spans)
        info, names = None, None
        _mne.check_not_evoked(X)
        if _mne.is_instance(X):
            read = _mne.read(X, picks)
            X, info, names = read.data, read.info, read.info["ch_names"]
            sfreq = read.sfreq if sfreq is None else sfreq
            scale = scale_choice(read.types) if scale is None else scale
            spans += read.bad_spans
        elif picks is not None:
            raise TypeError("picks is for MNE's objects: index an array instead")
        advices = [_validation.several_runs(X, y)]
        data = recording(X)
        _validation.check_axes(data)
        if data.ndim == 2 and y is not None:
            raise ValueError("y holds the classes of epochs, but X is a single recording")
        if data.ndim == 3 and spans:
            raise ValueError("bad_spans are for a single recording: leave epochs out instead")
        options = {
            **self._contrast(sfreq, data.shape[-1]),
            "n_components": self.n_components,
            "center": self.center,
            "scale": scale,
            "bad_spans": spans,
            "names": names,
            "n_jobs": usable_n_jobs(self.n_jobs),
        }
        classes, solver = class_numbers(y, len(data)), self._solver()
        found: dict[str, Any] = {}

        def solve(on_record: Any, _: Any) -> _core.SolveResult:
            solved, details = _core.separate(data, classes, options, solver, on_record)
            found.update(details)
            return solved

        solved = solve_with_progress(solve, None, getattr(self, "verbose", False))
        self._fitted_on = ("epochs" if data.ndim == 3 else "raw", data.size // data.shape[-2])
        self._set_fitted(Result(solved), found, data.shape[-2], info)
        advices.extend(_validation.warnings_of_fit(self, data, sfreq, spans))
        for advice in advices:
            if advice is not None:
                warnings.warn(advice, UserWarning, stacklevel=3)
        return self

    def _set_fitted(self, result: Result, found: dict[str, Any], channels: int, info: Any) -> None:
        self.result_ = result
        self.components_ = result.B
        self.mixing_ = result.A
        self.n_iter_ = result.n_iter
        self.explained_variance_ratio_ = found["explained_variance_ratio"]
        self.explained_variance_ratio_total_ = found["explained_variance_ratio_total"]
        self.least_separable_ = _margins(found["least_separable"])
        self.stability_ = result.stability
        self.segments_ = found["segments"]
        self.scale_ = found["scale"]
        self.n_features_in_ = channels
        self._set_own(found)
        self.__dict__.pop("info_", None)
        if info is not None:
            self.info_ = info
        if failed(result):
            message = describe(result, self._tol) + _validation.convergence_advice(self)
            report(message, getattr(self, "on_failure", "warn"), result, depth=5)

    def transform(self, X: Any) -> Any:
        """Return the sources of a recording, which need not be the fitted one.

        Parameters
        ----------
        X : array-like, shape (channels, samples) or (epochs, channels, samples), Raw or Epochs
            Recording of the channels that were fitted.

        Returns
        -------
        ndarray, shape (n_components, samples) or (epochs, n_components, samples)
            Sources. After ``set_output(transform="pandas")`` or ``"polars"``, a table with one row
            per sample and one column per component.
        """
        sources = self._sources(X)
        library = self._output_library()
        if library == "default":
            return sources
        if sources.ndim != 2:
            raise ValueError(
                f'transform_output="{library}" is for a single recording, not for epochs'
            )
        return _table(sources, self.get_feature_names_out(), library)

    def _sources(self, X: Any) -> Floats:
        data = self._known_channels(X)
        return self._each(data, len(self.components_), _core.apply, self.components_)

    def set_output(
        self, *, transform: Literal["default", "pandas", "polars"] | None = None
    ) -> Self:
        """Set the type of the output of :meth:`transform`.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"}, optional
            Array of components x samples, or a table with one row per sample and one column per
            component (default: no change).

        Returns
        -------
        self
        """
        if transform is not None:
            if transform not in ("default", "pandas", "polars"):
                raise ValueError(
                    f'transform must be "default", "pandas" or "polars", got {transform!r}'
                )
            # Stored under scikit-learn's name, so that clones have it too.
            self._sklearn_output_config = {
                **getattr(self, "_sklearn_output_config", {}),
                "transform": transform,
            }
        return self

    def _output_library(self) -> str:
        from sklearn import get_config

        own: str | None = getattr(self, "_sklearn_output_config", {}).get("transform")
        return get_config()["transform_output"] if own is None else own

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return the names of the components, which :meth:`apply` accepts: "S00", "S01" and so on.

        They are the names of the rows of the array that :meth:`transform` returns, or of the
        columns of its table.

        Parameters
        ----------
        input_features : ignored
            Exists for compatibility with scikit-learn.

        Returns
        -------
        ndarray of str, shape (n_components,)
        """
        check_is_fitted(self)
        return np.array(self._source_names(), dtype=object)

    def inverse_transform(self, sources: ArrayInput, exclude: Iterable[int | str] = ()) -> Floats:
        """Return the recording that consists of the given sources, without the excluded ones.

        With fewer components than channels, the part of the recording outside of the components is
        lost; :meth:`apply` keeps it.

        Parameters
        ----------
        sources : array-like, shape (n_components, samples) or (epochs, n_components, samples)
            Sources, as returned by :meth:`transform`.
        exclude : iterable of int or str
            Components that are left out, by number or name (default: none).

        Returns
        -------
        ndarray, shape (channels, samples) or (epochs, channels, samples)
        """
        check_is_fitted(self)
        data = recording(sources, "sources")
        r = len(self.components_)
        if data.shape[-2] != r:
            raise ValueError(f"expected {r} sources, got shape {data.shape}")
        mixing = self.mixing_.copy()
        mixing[:, self._numbers(exclude)] = 0.0
        return self._each(data, self.n_features_in_, _core.apply, mixing)

    def apply(self, X: Any, exclude: Iterable[int | str] | None = None) -> Any:
        """Return a copy of a recording without some sources. Unlike MNE's ICA, `X` is not changed.

        The result is x - A_e B_e x for the excluded sources e. The part of the recording outside of
        the components is not changed.

        Parameters
        ----------
        X : array-like, shape (channels, samples) or (epochs, channels, samples), or MNE's object
            Recording of the channels that were fitted; also a Raw, Epochs or Evoked.
        exclude : iterable of int or str
            Components to remove, by number or name (``"S00"``), such as those that
            :meth:`find_artifacts` returned and you have inspected.

        Returns
        -------
        ndarray, Raw, Epochs or Evoked
            Same type as `X`; other channels of MNE's objects are unchanged.
        """
        check_is_fitted(self)
        if exclude is None:
            raise TypeError(
                f"{type(self).__name__}.apply() needs exclude, the components to remove, such as "
                "exclude=[0]"
            )
        numbers = self._numbers(exclude)
        if _mne.is_instance(X) or _mne.is_evoked(X):
            names = self._fitted_names(X)
            return _mne.changed(X, names, lambda data: self._without(recording(data), numbers))
        return self._without(self._known_channels(X), numbers)

    def report(
        self,
        path: str | os.PathLike[str],
        X: Any,
        *,
        exclude: Iterable[int | str] = (),
        bad_spans: Spans | None = None,
        title: str = "the recording",
    ) -> None:
        """Write an HTML report for a web browser, the page that ``codiag separate`` writes.

        It shows every source with its waveform, spectrum and pattern, what can be said about its
        reliability, and suspected artifacts.

        Parameters
        ----------
        path : str or path-like
            HTML file, replaced atomically if it exists.
        X : array-like, shape (channels, samples) or (epochs, channels, samples), Raw or Epochs
            Recording of the channels that were fitted. Epochs are shown one after the other. Of a
            Raw, EOG and ECG channels are used as references, and its spans annotated as bad are
            ignored.
        exclude : iterable of int or str
            Components whose removal is shown, by number or name: channels and spectra before and
            after (default: none).
        bad_spans : iterable of (int, int), optional
            Spans of samples (start, stop) to ignore.
        title : str
            Name of the recording in the title (default "the recording").
        """
        from ._report import report_separation

        report_separation(self, path, X, exclude=exclude, bad_spans=bad_spans, title=title)

    def _without(self, data: Floats, numbers: list[int]) -> Floats:
        matrices = self.components_, self.mixing_
        return self._each(data, self.n_features_in_, _core.remove, *matrices, numbers)

    def _restore(self) -> None:
        """Convert attributes that were read from a file to their types."""
        self.least_separable_ = _margins(self.least_separable_)
        self.segments_ = [[(start, stop) for start, stop in piece] for piece in self.segments_]
        kind, samples = self._fitted_on
        self._fitted_on = (kind, samples)

    def _resampled(self, X: Any, n_resamples: int, fit: dict[str, Any]) -> Floats:
        """Return the similarity of the sources with those of resamples of the recording."""
        check_is_fitted(self)
        choices = {
            "init": self.components_,
            "n_restarts": 0,
            "sort_by": "contrast",
            "on_failure": "ignore",
        }
        own = {name: choice for name, choice in choices.items() if name in self.get_params()}
        again = clone(self).set_params(n_resamples=n_resamples, **own)
        if _mne.is_instance(X):
            fit.setdefault("picks", self._fitted_names(X))
        again.fit(X, **fit)
        # Match the sources, whose order may differ.
        cosines = np.abs(_unit_rows(self.components_) @ _unit_rows(again.components_).T)
        places = cosines.argmax(axis=1)
        if cosines.max(axis=1).min() < 0.99 or again.result_.matches is None:
            raise ValueError(
                "X is not the recording that the model was fitted on, or was changed since"
            )
        matches: Floats = again.result_.matches[:, places]
        return matches

    def _known_channels(self, X: Any) -> Floats:
        """Return the channels of a recording that were fitted."""
        check_is_fitted(self)
        if _mne.is_instance(X) or _mne.is_evoked(X):
            X = X.get_data(picks=self._fitted_names(X))
        data = recording(X)
        if data.shape[-2] != self.n_features_in_:
            raise ValueError(
                f"X has {data.shape[-2]} channels, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} channels as input"
            )
        return data

    def _fitted_names(self, inst: Any) -> list[str]:
        if not hasattr(self, "info_"):
            raise ValueError(
                "the model was fitted on an array and does not know the names of the channels: "
                "pass inst.get_data(picks=...) instead"
            )
        names: list[str] = self.info_["ch_names"]
        missing = sorted(set(names) - set(inst.ch_names))
        if missing:
            raise ValueError(f"fitted channels are missing: {_first_of(missing)}")
        now = inst.get_channel_types(names)
        types = zip(names, self.info_.get_channel_types(), now, strict=True)
        others = [f"{name} is {now}, not {then}" for name, then, now in types if now != then]
        if others:
            raise ValueError(f"channels of X have changed their type: {_first_of(others)}")
        return names

    def _each(self, data: Floats, rows: int, compute: Any, *arguments: Any) -> Floats:
        """Return an array computed from a recording, epoch by epoch."""
        out = np.empty((*data.shape[:-2], rows, data.shape[-1]))
        n_jobs = usable_n_jobs(self.n_jobs)
        for x, y in zip(data, out, strict=True) if data.ndim == 3 else [(data, out)]:
            compute(*arguments, x, y, n_jobs)
        return out

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        return tags


class IterativeSeparation(SolverParameters, Separation):
    """Base class of the separations with an iterative solver."""

    method: Any

    def _solver(self) -> dict[str, Any]:
        return {
            **super()._solver(),
            "method": self.method,
            "init": init_choice(self.init),
            "tol": self.tol,
            "max_iter": self.max_iter,
            "n_restarts": self.n_restarts,
        }


def _margins(pairs: list[Any]) -> list[SeparabilityMargin | None]:
    return [None if pair is None else SeparabilityMargin(*pair) for pair in pairs]


def _table(sources: Floats, names: Any, library: str) -> Any:
    """Return sources as a table of pandas or polars, one row per sample."""
    if library == "pandas":
        import pandas  # type: ignore[import-untyped,unused-ignore]

        return pandas.DataFrame(sources.T, columns=names)
    import polars  # type: ignore[import-not-found,unused-ignore]

    return polars.DataFrame(dict(zip(names, sources, strict=True)))


def _first_of(names: list[str], most: int = 8) -> str:
    """Return names as text; of a long list, the first `most` names."""
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} others"


def _unit_rows(B: Floats) -> Floats:
    rows: Floats = B / np.linalg.norm(B, axis=1, keepdims=True)
    return rows
