"""Which sources look like blinks, heartbeats, line noise or muscles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from . import _core
from ._input import Floats, real_array


class Artefact(NamedTuple):
    """What a source looks like, apart from the brain."""

    kind: str
    """"blink", "heartbeat", "line noise" or "muscle"."""
    score: float
    """How much so, from 0 to 1."""
    reason: str
    """Why, in words."""


def signals(
    references: Mapping[str, tuple[str, ArrayLike]] | None, samples: int
) -> dict[str, tuple[str, Floats]]:
    """Return reference channels as arrays of so many samples."""
    shown = {}
    for name, (kind, signal) in (references or {}).items():
        array = real_array(signal, f"the reference {name!r}")
        if array.shape != (samples,):
            raise ValueError(
                f"the reference {name!r} must have {samples} samples, got shape {array.shape}"
            )
        shown[name] = (kind, array)
    return shown


def look(
    sources: Floats, rate: float, references: Mapping[str, tuple[str, Floats]]
) -> dict[int, list[Artefact]]:
    """Return what sources look like, if like anything: the most certain first."""
    shown = [(name, kind, signal) for name, (kind, signal) in references.items()]
    found = _core.artefacts(np.ascontiguousarray(sources), rate, shown)
    like = {k: [Artefact(*artefact) for artefact in kinds] for k, kinds in enumerate(found)}
    certain = sorted((item for item in like.items() if item[1]), key=lambda item: -item[1][0].score)
    return dict(certain)
