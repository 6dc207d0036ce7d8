"""Files that are written atomically."""

from __future__ import annotations

import io
import math
import os
from collections.abc import Callable
from typing import IO, Any

import numpy as np

from . import _core
from ._typing import Floats


def write_atomically(path: str | os.PathLike[str], write: Callable[[IO[bytes]], object]) -> None:
    """Write a file atomically; remove temporary files of killed processes from its folder."""
    path = os.fspath(path)
    _core.check_writable(path)
    _write(path, write)


def _write(path: str, write: Callable[[IO[bytes]], object]) -> None:
    content = io.BytesIO()
    write(content)
    _core.write_file(path, content.getvalue())


def checkpoint_options(path: str | os.PathLike[str] | None, every: float) -> dict[str, Any]:
    """Return the options that save B as an npy file every few seconds."""
    if not 0 <= every < math.inf:
        raise ValueError(f"checkpoint_every must be finite and not negative, got {every}")
    if path is None:
        return {}
    place = os.fspath(path)

    def save(B: Floats) -> None:
        _write(place, lambda file: np.save(file, B))

    # An unwritable file raises before the solve begins.
    _core.check_writable(place)
    return {"checkpoint": save, "checkpoint_every": every}
