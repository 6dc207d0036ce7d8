"""What is looked at in sources: what they look like, where they are, and as MNE's own objects."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from . import _artefacts, _mne, _to_mne
from ._artefacts import Artefact, ArtefactScores, References
from ._input import Floats
from ._result import STABLE


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


class Inspected:
    """Artefacts, topographies and MNE's objects of whatever has filters and patterns."""

    B_: Floats
    A_: Floats
    scale_: Floats
    stability_: Floats | None
    kept_variance_: float
    n_features_in_: int
    n_iter_: int
    info_: Any
    rate: float | None
    _fitted_on: tuple[str, int]

    def _require_fit(self) -> None:
        """Raise if nothing was fitted."""
        raise NotImplementedError

    def transform(self, X: Any) -> Floats:
        """Return the sources of a recording."""
        raise NotImplementedError

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
        self._require_fit()
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
        self._require_fit()
        chosen = range(min(20, len(self.B_))) if components is None else components
        info = _mne.info_to_plot(info, getattr(self, "info_", None), self.n_features_in_)
        numbers = self._numbers(chosen)
        names = self._source_names()
        patterns = {self._marked(names[k], k): self.A_[:, k] for k in numbers}
        return _mne.plot_patterns(patterns, info, ch_type, columns, show, topomap)

    def _marked(self, name: str, k: int) -> str:
        """Return the name of a source with its stability; one that may not come again has a ?."""
        if self.stability_ is None:
            return name
        return f"{name} ({self.stability_[k]:.2f}{'' if self.stability_[k] >= STABLE else ' ?'})"

    def _numbers(self, exclude: Iterable[int | str]) -> list[int]:
        return source_numbers(exclude, self._source_names())

    def _source_names(self) -> list[str]:
        width = max(2, len(str(len(self.B_) - 1)))
        return [f"S{k:0{width}}" for k in range(len(self.B_))]
