"""Which sources look like blinks, heartbeats, line noise or muscles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from . import _core
from ._input import Floats, real_array

References = Mapping[str, str | tuple[str, ArrayLike]]


class Artefact(NamedTuple):
    """What a source looks like, apart from the brain."""

    kind: str
    """"blink", "heartbeat", "line noise" or "muscle"."""
    score: float
    """How much so, from 0 to 1."""
    reason: str
    """Why, in words."""
    reference: str | None = None
    """The reference channel that it goes by, if not by the form of the source."""
    measure: str | None = None
    """What is compared with it: "correlation" or "phase"."""


class ArtefactScores:
    """How much each source looks like each kind of artefact: a table.

    Attributes
    ----------
    columns : list of str
        What is scored: the four kinds by the form of a source, such as "blink", then what reference
        channels show, such as "blink: EOG 061" (the correlation around the blinks of that channel)
        and "heartbeat: ECG, phase" (whether the phase of the source is the same at all its beats).
    scores : ndarray, shape (sources, columns)
        From 0 to 1; nan if nothing can be said, as of a source that is zero.
    thresholds : ndarray, shape (columns,)
        From which score on a source is said to look like it.
    reasons : list of list of str
        Why, in words, for each source and column.
    found : dict of int to list of Artefact
        The sources that look like an artefact, the most certain first, and what they look like, the
        likeliest first. Where a reference channel shows a kind, the form of a source does not
        decide about it.

    Examples
    --------
    >>> import codiag, numpy as np
    >>> time = np.arange(5000) / 250
    >>> hum = np.sin(2 * np.pi * 50 * time)
    >>> noise = np.random.default_rng(0).standard_normal(5000)
    >>> X = np.array([[1, 0.2], [0.3, 1]]) @ [hum * (1 + 0.5 * np.sin(time)), noise]
    >>> table = codiag.SourceSeparation(rate=250).fit(X).score_artefacts(X)
    >>> table.columns
    ['blink', 'heartbeat', 'line noise', 'muscle']
    >>> [kinds[0].kind for kinds in table.found.values()]
    ['line noise']
    """

    columns: list[str]
    scores: Floats
    thresholds: Floats
    reasons: list[list[str]]
    found: dict[int, list[Artefact]]

    def __init__(self, scored: list[tuple[list[Any], list[Any]]]) -> None:
        rows = [
            {_heading(Artefact(*of)): (Artefact(*of), limit) for of, limit in scores}
            for scores, _ in scored
        ]
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
        like = {k: [Artefact(*of) for of in found] for k, (_, found) in enumerate(scored) if found}
        self.found = dict(sorted(like.items(), key=lambda item: -item[1][0].score))

    def __getitem__(self, column: str) -> Floats:
        """Return the scores of one column, one per source."""
        if column not in self.columns:
            raise KeyError(f"there is no column {column!r}, only {self.columns}")
        scores: Floats = self.scores[:, self.columns.index(column)]
        return scores

    def to_dict(self) -> dict[str, Floats]:
        """Return one array of scores per column, as ``pandas.DataFrame`` takes it."""
        return {name: self.scores[:, k].copy() for k, name in enumerate(self.columns)}

    def __repr__(self) -> str:
        """Return the table, with a star behind each score that reaches its threshold."""
        widths = [max(len(name), 5) for name in self.columns]
        head = "  ".join(f"{n:>{w}}" for n, w in zip(self.columns, widths, strict=True))
        limits = "  ".join(f"{t:>{w}.2f}" for t, w in zip(self.thresholds, widths, strict=True))
        lines = [f"source     {head}", f"threshold  {limits}"]
        for k, row in enumerate(self.scores):
            over = row >= self.thresholds
            cells = [f"{x:.2f}{'*' if high else ' '}" for x, high in zip(row, over, strict=True)]
            text = "  ".join(f"{c:>{w}}" for c, w in zip(cells, widths, strict=True))
            kinds = ", ".join(artefact.kind for artefact in self.found.get(k, []))
            lines.append(f"S{k:02}        {text}  {kinds}".rstrip())
        return "\n".join(lines)


def _heading(artefact: Artefact) -> str:
    if artefact.reference is None:
        return artefact.kind
    phase = ", phase" if artefact.measure == "phase" else ""
    return f"{artefact.kind}: {artefact.reference}{phase}"


def signals(references: References | None, samples: int) -> dict[str, tuple[str, Floats]]:
    """Return reference channels as arrays of so many samples."""
    shown = {}
    for name, given in (references or {}).items():
        if isinstance(given, str):
            raise TypeError(
                f"the reference {name!r} is named only: of an array, pass (kind, samples)"
            )
        kind, signal = given
        array = real_array(signal, f"the reference {name!r}")
        if array.shape != (samples,):
            raise ValueError(
                f"the reference {name!r} must have {samples} samples, got shape {array.shape}"
            )
        shown[name] = (kind, array)
    return shown


def look(
    sources: Floats,
    rate: float,
    references: Mapping[str, tuple[str, Floats]],
    thresholds: Mapping[str, float] | None,
) -> ArtefactScores:
    """Return how much sources look like artefacts."""
    shown = [
        (name, kind, np.ascontiguousarray(signal)) for name, (kind, signal) in references.items()
    ]
    limits = dict(thresholds or {})
    scored = _core.artefacts(np.ascontiguousarray(sources), rate, shown, limits)
    return ArtefactScores(scored)
