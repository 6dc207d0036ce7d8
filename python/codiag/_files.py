"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any

import numpy as np

from ._input import Floats


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Yield a file that takes its place under this name once it is written."""
    path = os.fspath(path)
    folder = os.path.dirname(path) or "."
    # Written beside, then renamed, so that no half-written file is ever seen.
    beside = tempfile.NamedTemporaryFile(dir=folder, suffix=".tmp", delete=False)
    try:
        with beside:
            yield beside
        # Temporary files are private; this one gets the mode of any other new file.
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(beside.name, 0o666 & ~mask)
        os.replace(beside.name, path)
    except BaseException:
        os.unlink(beside.name)
        raise


def checkpoint_options(path: str | os.PathLike[str] | None, every: float) -> dict[str, Any]:
    """Return the options that have B saved as .npy every so many seconds."""
    if not 0 <= every < float("inf"):
        raise ValueError(f"checkpoint_every must be a number that is not negative, got {every}")
    if path is None:
        return {}
    # Where nothing can be written is said now, not after hours of work.
    with tempfile.TemporaryFile(dir=os.path.dirname(os.fspath(path)) or "."):
        pass
    return {"checkpoint": _saving(path), "checkpoint_every": every}


def _saving(path: str | os.PathLike[str]) -> Callable[[Floats], None]:
    def save(B: Floats) -> None:
        with whole_file(path) as file:
            np.save(file, B)

    return save
