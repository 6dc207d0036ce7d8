"""Recordings of all kinds for ``codiag separate``: what MNE reads, the program is handed."""

from __future__ import annotations

import json
import os
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from . import _core, _mne
from ._input import Floats

# The program reads these itself.
_OWN = {"", ".npy", ".csv", ".txt", ".tsv"}
# What follows these may look like a file, but is no recording.
_OTHER_FILES = {"-o", "--output", "--start", "--names", "--info", "--picks", "--bads"}
_OTHER_FILES |= {"--eog", "--ecg"}
# How a recording of these formats is written again; all others are written as .fif.
_EXPORTED = {".edf": "cleaned.edf", ".set": "cleaned.set", ".vhdr": "cleaned.vhdr"}


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
def handed_over(arguments: list[str], which: int) -> Iterator[tuple[list[str], Callable[[], None]]]:
    """Return arguments with which the program reads the recording from files it knows.

    And what is to be done when it has succeeded.
    """
    path = arguments[which]
    for option in ("--names", "--info"):
        if _value(arguments, option) is not None:
            raise ValueError(f"{option} is for .npy and .csv: MNE knows the channels of this file")
    with tempfile.TemporaryDirectory(prefix="codiag-") as folder:
        own = list(arguments)
        own[which] = os.path.join(folder, "recording.npy")
        picks, bads = (_take(own, option) for option in ("--picks", "--bads"))
        shown = {"blink": _take(own, "--eog"), "heartbeat": _take(own, "--ecg")}
        excluded = _value(arguments, "--exclude")
        cleaned = None if excluded is None else _cleaned_name(path)
        raw, rate = _hand_over(path, Path(folder), picks, bads, shown, arguments, cleaned)
        own += ["--info", os.path.join(folder, "info.json")]
        if _value(arguments, "--rate") is None:
            own += ["--rate", repr(rate)]
        output = _value(arguments, "-o") or _value(arguments, "--output")

        def finish() -> None:
            if cleaned is not None and output is not None and excluded:
                _write_cleaned(raw, Path(output), cleaned, _numbers(excluded))

        yield own, finish


def _value(arguments: list[str], option: str) -> str | None:
    """Return what an option was given, if it was typed."""
    for k, argument in enumerate(arguments):
        if argument == option:
            return arguments[k + 1] if k + 1 < len(arguments) else ""
        if option.startswith("--") and argument.startswith(option + "="):
            return argument[len(option) + 1 :]
    return None


def _take(arguments: list[str], option: str) -> list[str]:
    """Return the names that an option was given, and take it away from the arguments."""
    value = _value(arguments, option)
    if value is None:
        return []
    place = next(k for k, a in enumerate(arguments) if a == option or a.startswith(option + "="))
    del arguments[place : place + (2 if arguments[place] == option else 1)]
    return [name.strip() for name in value.split(",") if name.strip()]


def _numbers(sources: str) -> list[int]:
    """Return the numbers of sources that are given by number or name, as the program reads them."""
    return [int(source.removeprefix("S")) for source in sources.split(",")]


def _cleaned_name(path: str) -> str:
    return _EXPORTED.get(Path(path).suffix.lower(), "cleaned_raw.fif")


def _write_cleaned(raw: Any, output: Path, name: str, excluded: list[int]) -> None:
    """Write the recording as it came, without some of its sources: whole or not at all."""
    import mne

    report = json.loads((output / "report.json").read_text(encoding="utf-8"))
    filters, patterns = np.load(output / "filters.npy"), np.load(output / "patterns.npy")
    change = patterns[:, excluded] @ filters[excluded]
    clean = _mne.changed(raw, report["input"]["names"], lambda x: x - change @ x)
    with tempfile.TemporaryDirectory(prefix=".codiag-", dir=output) as folder:
        if name.endswith(".fif"):
            # No narrower than it came: most recordings are stored in single precision.
            clean.save(Path(folder) / name, fmt="single", verbose="error")
        else:
            mne.export.export_raw(Path(folder) / name, clean, verbose="error")
        # Some formats are several files.
        for file in sorted(Path(folder).iterdir()):
            _core.copy_whole(file, output / file.name)


def _hand_over(
    path: str,
    folder: Path,
    picks: list[str],
    bads: list[str],
    shown_by: dict[str, list[str]],
    typed: list[str],
    cleaned: str | None,
) -> tuple[Any, float]:
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
    for option, names in (("--bads", bads), ("--eog", shown_by["blink"])):
        _check_names(option, names, raw.ch_names)
    _check_names("--ecg", shown_by["heartbeat"], raw.ch_names)
    raw.info["bads"] = [*raw.info["bads"], *(b for b in bads if b not in raw.info["bads"])]
    try:
        read = _mne.read(raw, picks or None)
    except ValueError as problem:
        raise ValueError(f"--picks {','.join(picks)}: {problem}" if picks else problem) from None
    np.save(folder / "recording.npy", read.data)
    further = {name: kind for kind, names in shown_by.items() for name in names}
    shown = {**_mne.references(raw), **_mne.named_references(raw, further)}
    if shown:
        np.save(folder / "references.npy", np.array([signal for _, signal in shown.values()]))
    known = {
        "name": _text(os.path.basename(path)),
        "names": read.info["ch_names"],
        "positions": positions(read.info, read.types),
        "groups": np.unique(read.types, return_inverse=True)[1].tolist(),
        "types": read.types,
        "command": _text(shlex.join(typed)),
        "cleaned": cleaned,
        "bad": read.bad_spans,
        "references": [{"name": name, "kind": kind} for name, (kind, _) in shown.items()],
        "reference_file": "references.npy" if shown else None,
    }
    (folder / "info.json").write_text(json.dumps(known), encoding="utf-8")
    return raw, read.rate


def _text(name: str) -> str:
    """Return a name without the surrogates that stand for bytes that are not UTF-8."""
    return os.fsencode(name).decode("utf-8", "replace")


def _check_names(option: str, names: list[str], known: list[str]) -> None:
    for name in names:
        if name not in known:
            some = ", ".join(known[:5]) + (", ..." if len(known) > 5 else "")
            raise ValueError(
                f"{option} names the channel {name!r}, which is not there: there are {some}"
            )


def _type_by_name(name: str) -> str | None:
    words = {"EOG": "eog", "ECG": "ecg", "EKG": "ecg"}
    return next((kind for word, kind in words.items() if word in name.upper()), None)


def positions(info: Any, types: list[str]) -> list[tuple[float, float] | None]:
    """Return where channels are on the head seen from above, each place once for each type.

    A pair of gradiometers shares its place.
    """
    places = np.array([channel["loc"][:3] for channel in info["chs"]], dtype=float)
    known = np.isfinite(places).all(axis=1) & places.any(axis=1)
    flat: list[tuple[float, float] | None] = [None] * len(types)
    for kind in dict.fromkeys(types):
        own = np.flatnonzero(known & np.array([other == kind for other in types]))
        if kind in _mne.NO_SENSORS or not len(own):
            continue
        seen: dict[tuple[float, ...], tuple[float, float]] = {}
        for k, (x, y, z) in zip(own, _about_the_middle(places[own]), strict=True):
            # To the millimetre.
            place = tuple(np.round(places[k], 3))
            if place in seen:
                flat[k] = seen[place] if kind == "grad" else None
                continue
            # As far from the top as along the sphere, so that low channels are not crowded.
            angle, around = np.arctan2(np.hypot(x, y), z), np.arctan2(y, x)
            seen[place] = (float(angle * np.cos(around)), float(angle * np.sin(around)))
            flat[k] = seen[place]
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
