"""Inspection of sources: artifacts, topographies, and conversion to MNE's objects."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from . import _artifacts, _mne, _plots, _to_mne
from ._artifacts import Artifact, ArtifactScores
from ._keywords import suggests_keywords
from ._result import STABLE
from ._typing import Floats, References
from ._validation import check_sfreq


def source_numbers(chosen: Iterable[int | str], names: list[str]) -> list[int]:
    """Return the numbers of sources that are given by number or name, such as S00."""
    if isinstance(chosen, str):
        chosen = [chosen]
    numbers = []
    for source in chosen if np.iterable(chosen) else [chosen]:
        if isinstance(source, str):
            if source not in names:
                raise ValueError(
                    f"there is no source {source!r}: names are {names[0]} to {names[-1]}"
                )
            numbers.append(names.index(source))
            continue
        try:
            k = operator.index(source)
        except TypeError:
            raise TypeError(
                f"sources are given by number or name, such as 0 or {names[0]!r}, got {source!r}"
            ) from None
        if not 0 <= k < len(names):
            raise ValueError(f"there is no source {k}: there are {len(names)}, from 0")
        numbers.append(k)
    return numbers


class Inspection:
    """Artifacts, topographies and MNE's objects, for a class that has filters and patterns."""

    components_: Floats
    mixing_: Floats
    scale_: Floats
    stability_: Floats | None
    explained_variance_ratio_total_: float
    n_features_in_: int
    n_iter_: int
    info_: Any
    sfreq: float | None
    _fitted_on: tuple[str, int]

    def _require_fit(self) -> None:
        """Raise unless the model was fitted."""
        raise NotImplementedError

    def _sources(self, X: Any) -> Floats:
        """Return the sources of a recording as an array."""
        raise NotImplementedError

    @suggests_keywords
    def find_artifacts(
        self,
        X: Any,
        *,
        sfreq: float | None = None,
        references: References | None = None,
        thresholds: Mapping[str, float] | None = None,
    ) -> dict[int, list[Artifact]]:
        """Return sources that look like blinks, heartbeats, line noise or muscles, with reasons.

        These are the sources for which a score of :meth:`score_artifacts` reaches its threshold.
        Inspect them before you remove them: the scores are heuristics.

        Parameters
        ----------
        X, sfreq, references, thresholds
            As in :meth:`score_artifacts`.

        Returns
        -------
        dict of int to list of Artifact
            For each source that is flagged, the kinds of artifact that it resembles, by descending
            score; the source with the highest score comes first.
        """
        return self._scores(X, sfreq, references, thresholds).found

    @suggests_keywords
    def score_artifacts(
        self,
        X: Any,
        *,
        sfreq: float | None = None,
        references: References | None = None,
        thresholds: Mapping[str, float] | None = None,
    ) -> ArtifactScores:
        """Return a score of every source for every kind of artifact.

        The scores are heuristics for one source at a time. Its waveform is scored by spectrum,
        kurtosis and periodicity. Reference channels give a correlation with the source around their
        blinks or heartbeats, from 1 to 10 Hz. For heartbeats, they also give the consistency of the
        phase of the source, from 8 to 16 Hz, at all beats (Kuiper's test), which detects heartbeats
        that are too weak for a correlation.

        Parameters
        ----------
        X : array-like, shape (channels, samples), or Raw
            Recording. EOG and ECG channels of a Raw are used as references, and its spans annotated
            as bad are ignored.
        sfreq : float, optional
            Sampling frequency in hertz (default: that of the estimator, or of the Raw).
        references : mapping, optional
            Further reference channels by name, each with the artifact that it shows, such as
            "blink", and its samples: ``{"ecg": ("heartbeat", ecg)}``. For a channel of the Raw, the
            kind is enough: ``{"Fp1": "blink"}`` replaces a missing EOG.
        thresholds : mapping of str to float, optional
            Scores from which on a source is flagged. For waveforms: "blink" (default 0.7),
            "heartbeat" (0.3), "line noise" (0.2) and "muscle" (0.6); for references: "correlation"
            (0.4) and "phase" (0.2).

        Returns
        -------
        ArtifactScores
            Table of the scores; :attr:`ArtifactScores.found` are the sources that are flagged.
        """
        return self._scores(X, sfreq, references, thresholds)

    def _scores(
        self,
        X: Any,
        sfreq: float | None,
        references: References | None,
        thresholds: Mapping[str, float] | None,
    ) -> ArtifactScores:
        check_sfreq(sfreq)
        _artifacts.check_references(references)
        sources = self._sources(X)
        if sources.ndim != 2:
            raise ValueError("artifacts are detected in a single recording, not in epochs")
        sfreq = self.sfreq if sfreq is None else sfreq
        if _mne.is_instance(X):
            sfreq = float(X.info["sfreq"]) if sfreq is None else sfreq
            given = _mne.named_references(X, references)
            shown = {**_mne.references(X), **_artifacts.signals(given, sources.shape[1])}
            good = _mne.good_samples(X)
            sources = sources[:, good]
            shown = {name: (kind, signal[good]) for name, (kind, signal) in shown.items()}
        else:
            shown = _artifacts.signals(references, sources.shape[1])
        return _artifacts.scores(sources, sfreq, shown, thresholds)

    def get_sources(self, inst: Any) -> Any:
        """Return the sources of an MNE object as an MNE object, with channels S00, S01 and so on.

        Parameters
        ----------
        inst : Raw or Epochs
            Recording of the channels that were fitted.

        Returns
        -------
        Raw or Epochs
            Object with channels of type "misc", and the times, annotations and events of `inst`.
        """
        if not _mne.is_instance(inst):
            raise TypeError("get_sources is for MNE's Raw and Epochs: use transform for arrays")
        return _mne.as_instance(inst, self._sources(inst), self._source_names())

    def to_mne(self, info: Any = None, *, exclude: Iterable[int] = ()) -> Any:
        """Return the separation as a fitted ``mne.preprocessing.ICA``, with the same sources.

        It has all methods of MNE, such as ``plot_components``, ``plot_properties``,
        ``plot_overlay``, ``find_bads_eog``, ``find_bads_ecg`` and ``save`` as -ica.fif, and works
        with packages such as mne-icalabel. The part of a recording outside of the components passes
        through ``apply``.

        Parameters
        ----------
        info : mne.Info, optional
            Channels, for a model that was fitted on an array.
        exclude : iterable of int
            Components that its ``apply`` removes (default: none).

        Returns
        -------
        mne.preprocessing.ICA
            ICA whose sources are ``components_ @ X``, and whose components are the patterns, in
            units of the ``pre_whitener_`` of each channel.
        """
        self._require_fit()
        info = getattr(self, "info_", None) if info is None else info
        if info is None:
            raise ValueError(
                "the model was fitted on an array and does not know the names of the channels: "
                f"pass info=raw.info, an mne.Info of the {self.n_features_in_} channels fitted"
            )
        count = len(info["ch_names"])
        if count != self.n_features_in_:
            raise ValueError(
                f"info must be an mne.Info of the {self.n_features_in_} channels fitted, got one "
                f"of {count} channels"
            )
        return _to_mne.as_ica(
            self.components_,
            self.mixing_,
            scale=self.scale_,
            explained_variance_ratio=self.explained_variance_ratio_total_,
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
        artifacts: Mapping[int, Iterable[Artifact]] | None = None,
        columns: int = 5,
        show: bool = True,
        **topomap: Any,
    ) -> Any:
        """Plot patterns as topographies, by MNE's function.

        A figure has at most 20 topographies and shows one type of channels. The title of a source
        contains its stability, if it was estimated, with a ? if it is below 0.9.

        Parameters
        ----------
        components : iterable of int or str, optional
            Sources, by number or name (default: all).
        info : mne.Info, optional
            Channels with their positions, for a model that was fitted on an array.
        ch_type : str, optional
            Type of the channels to plot: "mag", "grad" or "eeg" (default: figures of each type
            that the recording has).
        artifacts : dict of int to list of Artifact, optional
            Artifacts that :meth:`find_artifacts` returns: the titles of flagged sources are red and
            name the kinds of artifact (default: no source is marked).
        columns : int
            Number of topographies per row (default 5).
        show : bool
            Whether the figure is shown (default True).
        **topomap
            Further arguments of ``mne.viz.plot_topomap``.

        Returns
        -------
        matplotlib Figure or list of Figure
            A list if there are several figures.
        """
        self._require_fit()
        chosen = range(len(self.components_)) if components is None else components
        info = _mne.info_to_plot(info, getattr(self, "info_", None), self.n_features_in_)
        numbers = self._numbers(chosen)
        names, kinds = self._source_names(), self._kinds(artifacts)
        maps = []
        for k in numbers:
            title = self._title(names[k], k)
            if k in kinds:
                title += f"\n{', '.join(kinds[k])}"
            maps.append(_plots.Topography(title, self.mixing_[:, k], is_flagged=k in kinds))
        return _plots.plot_topographies(maps, info, ch_type, columns, show, topomap)

    def _kinds(self, artifacts: Mapping[int, Iterable[Artifact]] | None) -> dict[int, list[str]]:
        """Return the kinds of artifact that each flagged source resembles."""
        if artifacts is None:
            return {}
        if not isinstance(artifacts, Mapping):
            raise TypeError(
                "artifacts must be the dictionary that find_artifacts returns, "
                f"got {type(artifacts).__name__}"
            )
        numbers = self._numbers(artifacts)
        found = zip(numbers, artifacts.values(), strict=True)
        return {k: list(dict.fromkeys(one.kind for one in kinds)) for k, kinds in found}

    def _title(self, name: str, k: int) -> str:
        """Return the name of a source with its stability, and a ? if it is not stable."""
        if self.stability_ is None:
            return name
        return f"{name} ({self.stability_[k]:.2f}{'' if self.stability_[k] >= STABLE else ' ?'})"

    def _numbers(self, exclude: Iterable[int | str]) -> list[int]:
        return source_numbers(exclude, self._source_names())

    def _source_names(self) -> list[str]:
        width = max(2, len(str(len(self.components_) - 1)))
        return [f"S{k:0{width}}" for k in range(len(self.components_))]
