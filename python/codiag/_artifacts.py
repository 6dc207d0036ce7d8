"""Scores of the similarity of sources to blinks, heartbeats, line noise and muscle activity."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from . import _core
from ._arrays import real_array
from ._typing import Floats, References
from ._validation import check_sfreq

# Seconds needed to recognize slow heartbeats and to estimate spectra.
_MIN_SECONDS = 4.0
# Sampling frequency needed to score blinks, which use frequencies up to 10 Hz.
_MIN_SFREQ = 20.0


class Artifact(NamedTuple):
    """A kind of artifact that a source resembles."""

    kind: str
    """Kind of the artifact: "blink", "heartbeat", "line noise" or "muscle"."""
    score: float
    """Score from 0 to 1."""
    reason: str
    """Explanation of the score."""
    reference: str | None = None
    """Name of the reference channel; None if the waveform of the source was scored."""
    measure: str | None = None
    """Measure of the similarity with the reference channel: "correlation" or "phase"."""


class ArtifactScores:
    """Table of the scores of each source for each kind of artifact.

    Attributes
    ----------
    columns : list of str
        Kinds of artifact by the waveform of the source, such as "blink", then by reference
        channels, such as "blink: EOG 061" (correlation around the blinks of that channel) and
        "heartbeat: ECG, phase" (consistency of the phase of the source at all beats).
    scores : ndarray, shape (sources, columns)
        Scores from 0 to 1; nan if a score is undefined, as for a source that is zero.
    thresholds : ndarray, shape (columns,)
        Smallest score of each column at which a source is flagged.
    reasons : list of list of str
        Explanation of the score, for each source and column.
    found : dict of int to list of Artifact
        Sources that are flagged, the one with the highest score first, and the artifacts that they
        resemble, by descending score. If a reference channel shows a kind of artifact, waveforms do
        not flag sources for that kind.

    Examples
    --------
    >>> import codiag, numpy as np
    >>> time = np.arange(5000) / 250
    >>> hum = np.sin(2 * np.pi * 50 * time)
    >>> noise = np.random.default_rng(0).standard_normal(5000)
    >>> X = np.array([[1, 0.2], [0.3, 1]]) @ [hum * (1 + 0.5 * np.sin(time)), noise]
    >>> table = codiag.SourceSeparation(sfreq=250).fit(X).score_artifacts(X)
    >>> table.columns
    ['blink', 'heartbeat', 'line noise', 'muscle']
    >>> [kinds[0].kind for kinds in table.found.values()]
    ['line noise']
    """

    columns: list[str]
    scores: Floats
    thresholds: Floats
    reasons: list[list[str]]
    found: dict[int, list[Artifact]]

    def __init__(self, scored: list[tuple[list[Any], list[Any]]]) -> None:
        rows = [
            {_heading(Artifact(*values)): (Artifact(*values), limit) for values, limit in scores}
            for scores, _ in scored
        ]
        # A source that is zero has fewer scores.
        widest = max(rows, key=len, default={})
        self.columns = list(widest)
        self.thresholds = np.array([limit for _, limit in widest.values()])
        self.scores = np.full((len(rows), len(widest)), np.nan)
        self.reasons = []
        for k, row in enumerate(rows):
            for c, name in enumerate(self.columns):
                if name in row:
                    self.scores[k, c] = row[name][0].score
            self.reasons.append([row[n][0].reason if n in row else "" for n in self.columns])
        flagged = {
            k: [Artifact(*values) for values in found]
            for k, (_, found) in enumerate(scored)
            if found
        }
        self.found = dict(sorted(flagged.items(), key=lambda item: -item[1][0].score))

    def __getitem__(self, column: str) -> Floats:
        """Return the scores of one column, one per source."""
        if column not in self.columns:
            raise KeyError(f"there is no column {column!r}: columns are {self.columns}")
        scores: Floats = self.scores[:, self.columns.index(column)]
        return scores

    def to_dict(self) -> dict[str, Floats]:
        """Return one array of scores per column, as ``pandas.DataFrame`` takes it."""
        return {name: self.scores[:, k].copy() for k, name in enumerate(self.columns)}

    def __repr__(self) -> str:
        """Return the table, with a star after each score that reaches its threshold."""
        widths = [max(len(name), 5) for name in self.columns]
        head = "  ".join(f"{n:>{w}}" for n, w in zip(self.columns, widths, strict=True))
        limits = "  ".join(f"{t:>{w}.2f}" for t, w in zip(self.thresholds, widths, strict=True))
        lines = [f"source     {head}", f"threshold  {limits}"]
        for k, row in enumerate(self.scores):
            over = row >= self.thresholds
            cells = [f"{x:.2f}{'*' if high else ' '}" for x, high in zip(row, over, strict=True)]
            text = "  ".join(f"{c:>{w}}" for c, w in zip(cells, widths, strict=True))
            kinds = ", ".join(artifact.kind for artifact in self.found.get(k, []))
            lines.append(f"S{k:02}        {text}  {kinds}".rstrip())
        return "\n".join(lines)


def _heading(artifact: Artifact) -> str:
    if artifact.reference is None:
        return artifact.kind
    phase = ", phase" if artifact.measure == "phase" else ""
    return f"{artifact.kind}: {artifact.reference}{phase}"


def signals(references: References | None, samples: int) -> dict[str, tuple[str, Floats]]:
    """Return reference channels as arrays of this number of samples."""
    shown = {}
    for name, given in (references or {}).items():
        if isinstance(given, str):
            raise TypeError(
                f"the reference {name!r} needs samples: for an array X, pass (kind, samples)"
            )
        try:
            kind, signal = given
        except (TypeError, ValueError):
            raise TypeError(
                f"the reference {name!r} must be a kind and its samples, (kind, samples)"
            ) from None
        array = real_array(signal, f"the reference {name!r}")
        if array.shape != (samples,):
            raise ValueError(
                f"the reference {name!r} must have {samples} samples, got shape {array.shape}"
            )
        shown[name] = (kind, array)
    return shown


def check_references(references: Any) -> None:
    """Raise unless `references` is a mapping of names."""
    if references is None or isinstance(references, Mapping):
        return
    raise TypeError(
        'references must be a mapping of channel names to kinds, such as {"Fp1": "blink"}, or for '
        f'arrays {{"ecg": ("heartbeat", samples)}}, got {type(references).__name__}'
    )


def scores(
    sources: Floats,
    sfreq: float | None,
    references: Mapping[str, tuple[str, Floats]],
    thresholds: Mapping[str, float] | None,
) -> ArtifactScores:
    """Return the scores of sources as artifacts."""
    if sfreq is None:
        raise ValueError("pass sfreq, the sampling frequency in hertz, to recognize artifacts")
    check_sfreq(sfreq)
    if sfreq < _MIN_SFREQ:
        raise ValueError(
            f"sfreq={sfreq:g} is too low to recognize artifacts: at least {_MIN_SFREQ:g} Hz are "
            "needed. sfreq is in hertz, not in kilohertz"
        )
    seconds = sources.shape[1] / sfreq
    if seconds < _MIN_SECONDS:
        warnings.warn(
            f"a recording of {seconds:.2g} s is too short to recognize artifacts reliably: at "
            f"least {_MIN_SECONDS:g} s are needed",
            UserWarning,
            stacklevel=5,
        )
    shown = [
        (name, kind, np.ascontiguousarray(signal)) for name, (kind, signal) in references.items()
    ]
    limits = dict(thresholds or {})
    scored = _core.find_artifacts(np.ascontiguousarray(sources), sfreq, shown, limits)
    return ArtifactScores(scored)
