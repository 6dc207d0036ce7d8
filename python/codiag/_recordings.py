"""Recordings of all kinds for ``codiag separate``: what MNE reads, the program is handed."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from . import _mne
from ._input import Floats

# The program reads these itself.
_OWN = {"", ".npy", ".csv", ".txt", ".tsv"}
# What follows these is a file too, but no recording.
_OTHER_FILES = {"-o", "--output", "--start", "--names", "--info"}


def recording_among(arguments: list[str]) -> int | None:
    """Return which of the arguments is a recording that the program cannot read by itself."""
    for k, argument in enumerate(arguments):
        before = arguments[k - 1] if k > 0 else ""
        suffix = Path(argument).suffix.lower()
        # Numbers may look like names with a suffix, but of digits.
        foreign = suffix not in _OWN and any(letter.isalpha() for letter in suffix)
        if foreign and not argument.startswith("-") and before not in _OTHER_FILES:
            return k
    return None


@contextmanager
def handed_over(arguments: list[str], which: int) -> Iterator[list[str]]:
    """Return arguments with which the program reads the recording from files it knows."""
    path = arguments[which]
    for option in ("--names", "--info"):
        if any(a == option or a.startswith(option + "=") for a in arguments):
            raise ValueError(f"{option} is for .npy and .csv: MNE knows the channels of this file")
    with tempfile.TemporaryDirectory(prefix="codiag-") as folder:
        rate = _hand_over(path, Path(folder))
        info = os.path.join(folder, "info.json")
        own = [*arguments, "--info", info]
        own[which] = os.path.join(folder, "recording.npy")
        if not any(a == "--rate" or a.startswith("--rate=") for a in arguments):
            own += ["--rate", repr(rate)]
        yield own


def _hand_over(path: str, folder: Path) -> float:
    if not os.path.exists(path):
        raise FileNotFoundError("no such file")
    try:
        import mne
    except ImportError:
        raise ValueError("reading it needs MNE: pip install 'codiag[mne]'") from None
    try:
        raw = mne.io.read_raw(path, preload=False, verbose="error")
    except Exception as problem:  # readers of broken files raise anything
        raise ValueError(f"MNE cannot read it: {problem}") from None
    # Many formats know no types: all is EEG. Names then say what shows the eyes and the heart.
    types = zip(raw.ch_names, raw.get_channel_types(), strict=True)
    named = {name: _type_by_name(name) for name, kind in types if kind == "eeg"}
    raw.set_channel_types({name: kind for name, kind in named.items() if kind is not None})
    read = _mne.read(raw, None)
    np.save(folder / "recording.npy", read.data)
    shown = _mne.references(raw)
    if shown:
        np.save(folder / "references.npy", np.array([signal for _, signal in shown.values()]))
    known = {
        "name": os.path.basename(path),
        "names": read.info["ch_names"],
        "positions": positions(read.info, read.types),
        "groups": np.unique(read.types, return_inverse=True)[1].tolist(),
        "bad": read.bad_spans,
        "references": [{"name": name, "kind": kind} for name, (kind, _) in shown.items()],
        "reference_file": "references.npy" if shown else None,
    }
    (folder / "info.json").write_text(json.dumps(known), encoding="utf-8")
    return read.rate


def _type_by_name(name: str) -> str | None:
    words = {"EOG": "eog", "ECG": "ecg", "EKG": "ecg"}
    return next((kind for word, kind in words.items() if word in name.upper()), None)


def positions(info: Any, types: list[str]) -> list[tuple[float, float] | None]:
    """Return where channels are on the head seen from above, each place once.

    Only channels of one type have a place, that of which a map says most: values of several would
    not go together. Of a pair of gradiometers the first has it.
    """
    mapped = _mne.type_to_map(types)
    places = np.array([channel["loc"][:3] for channel in info["chs"]], dtype=float)
    known = np.array([kind == mapped for kind in types]) & np.isfinite(places).all(axis=1)
    known &= places.any(axis=1)
    flat: list[tuple[float, float] | None] = [None] * len(types)
    if not known.any():
        return flat
    seen: set[tuple[float, ...]] = set()
    for k, (x, y, z) in zip(np.flatnonzero(known), _about_the_middle(places[known]), strict=True):
        # To the millimetre.
        place = tuple(np.round(places[k], 3))
        if place not in seen:
            seen.add(place)
            # As far from the top as along the sphere, so that low channels are not crowded.
            angle, around = np.arctan2(np.hypot(x, y), z), np.arctan2(y, x)
            flat[k] = (float(angle * np.cos(around)), float(angle * np.sin(around)))
    return flat


def _about_the_middle(places: Floats) -> Floats:
    """Return places from the middle of the sphere that fits them best."""
    # |x − c|² = r² is linear in c and r² − |c|².
    design = np.column_stack([2 * places, np.ones(len(places))])
    middle = np.linalg.lstsq(design, (places**2).sum(axis=1), rcond=None)[0][:3]
    centred: Floats = places - middle
    return centred


def complain(path: str, problem: Exception) -> int:
    """Say what is wrong with a recording as the program does, and return its exit code."""
    text = " ".join(str(problem).split()) or type(problem).__name__
    print(f"error: {path}: {text}", file=sys.stderr)
    return 2
