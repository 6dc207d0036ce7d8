"""Files that are written completely or not at all."""

from __future__ import annotations

import io
import math
import os
from collections.abc import Callable
from typing import IO, Any

import numpy as np

from . import _core
from ._input import Floats


def write_whole(path: str | os.PathLike[str], write: Callable[[IO[bytes]], object]) -> None:
    """Write a file, whole or not at all; remove what killed programs left in its folder."""
    path = os.fspath(path)
    _core.try_place(path)
    _write(path, write)


def _write(path: str, write: Callable[[IO[bytes]], object]) -> None:
    content = io.BytesIO()
    write(content)
    _core.write_whole(path, content.getvalue())


def checkpoint_options(path: str | os.PathLike[str] | None, every: float) -> dict[str, Any]:
    """Return the options that have B saved as .npy every so many seconds."""
    if not 0 <= every < math.inf:
        raise ValueError(f"checkpoint_every must be a number that is not negative, got {every}")
    if path is None:
        return {}
    place = os.fspath(path)

    def save(B: Floats) -> None:
        _write(place, lambda file: np.save(file, B))

    # Where nothing can be written is said now, not after hours of work.
    _core.try_place(place)
    return {"checkpoint": save, "checkpoint_every": every}
