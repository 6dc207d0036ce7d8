"""Recordings for ``codiag separate``: MNE reads the formats that the program cannot read."""

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
from ._typing import Floats

# Formats that the program reads itself.
_NATIVE = {"", ".npy", ".csv", ".txt", ".tsv"}
# Options whose values may be names of files, but not of recordings.
_OTHER_FILES = {"-o", "--output", "--init", "--names", "--info", "--picks", "--bads"}
_OTHER_FILES |= {"--eog", "--ecg"}
# Names of exported recordings by format; other formats are written as .fif.
_EXPORTED = {".edf": "cleaned.edf", ".set": "cleaned.set", ".vhdr": "cleaned.vhdr"}


def recording_among(arguments: list[str]) -> int | None:
    """Return the position of an argument that is a recording which the program cannot read."""
    for k, argument in enumerate(arguments):
        before = arguments[k - 1] if k > 0 else ""
        suffix = Path(argument).suffix.lower()
        # Numbers may look like names with a suffix of digits.
        foreign = suffix not in _NATIVE and any(letter.isalpha() for letter in suffix)
        if foreign and not argument.startswith("-") and before not in _OTHER_FILES:
            return k
    return None


@contextmanager
def converted(arguments: list[str], which: int) -> Iterator[tuple[list[str], Callable[[], None]]]:
    """Yield arguments with the recording converted to files that the program can read.

    Also yield a function to call after the program has succeeded.
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
        raw, sfreq = _convert(path, Path(folder), picks, bads, shown, arguments, cleaned)
        own += ["--info", os.path.join(folder, "info.json")]
        if _value(arguments, "--sfreq") is None:
            own += ["--sfreq", repr(sfreq)]
        output = _value(arguments, "-o") or _value(arguments, "--output")

        def finish() -> None:
            if cleaned is not None and output is not None and excluded:
                _write_cleaned(raw, Path(output), cleaned, _numbers(excluded))

        yield own, finish


def _value(arguments: list[str], option: str) -> str | None:
    """Return the value of an option, if it was given."""
    for k, argument in enumerate(arguments):
        if argument == option:
            return arguments[k + 1] if k + 1 < len(arguments) else ""
        if option.startswith("--") and argument.startswith(option + "="):
            return argument[len(option) + 1 :]
    return None


def _take(arguments: list[str], option: str) -> list[str]:
    """Return the names that are the value of an option, and remove it from the arguments."""
    value = _value(arguments, option)
    if value is None:
        return []
    place = next(k for k, a in enumerate(arguments) if a == option or a.startswith(option + "="))
    del arguments[place : place + (2 if arguments[place] == option else 1)]
    return [name.strip() for name in value.split(",") if name.strip()]


def _numbers(sources: str) -> list[int]:
    """Return the numbers of sources that are given by number or name."""
    return [int(source.removeprefix("S")) for source in sources.split(",")]


def _cleaned_name(path: str) -> str:
    return _EXPORTED.get(Path(path).suffix.lower(), "cleaned_raw.fif")


def _write_cleaned(raw: Any, output: Path, name: str, excluded: list[int]) -> None:
    """Write the recording without some of its sources, atomically."""
    import mne

    report = json.loads((output / "report.json").read_text(encoding="utf-8"))
    filters, patterns = np.load(output / "filters.npy"), np.load(output / "patterns.npy")
    change = patterns[:, excluded] @ filters[excluded]
    clean = _mne.changed(raw, report["input"]["names"], lambda x: x - change @ x)
    with tempfile.TemporaryDirectory(prefix=".codiag-", dir=output) as folder:
        if name.endswith(".fif"):
            # Most recordings are stored in single precision.
            clean.save(Path(folder) / name, fmt="single", verbose="error")
        else:
            mne.export.export_raw(Path(folder) / name, clean, verbose="error")
        # Some formats are several files.
        for file in sorted(Path(folder).iterdir()):
            _core.copy_file(file, output / file.name)


def _convert(
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
        raise ValueError("this format needs MNE: pip install mne") from None
    try:
        raw = mne.io.read_raw(path, preload=False, verbose="error")
    except Exception as problem:  # readers of broken files raise anything
        raise ValueError(f"MNE cannot read it: {problem}") from None
    # In formats without channel types everything is EEG: EOG and ECG are recognized by name.
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
        "cleaned_file": cleaned,
        "bad_spans": read.bad_spans,
        "reference_channels": [{"name": name, "kind": kind} for name, (kind, _) in shown.items()],
        "reference_file": "references.npy" if shown else None,
    }
    (folder / "info.json").write_text(json.dumps(known), encoding="utf-8")
    return raw, read.sfreq


def _text(name: str) -> str:
    """Return a name without surrogates, which represent bytes that are not UTF-8."""
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
    """Return the positions of channels on the head seen from above, each once per type.

    A pair of gradiometers shares its position.
    """
    places = np.array([channel["loc"][:3] for channel in info["chs"]], dtype=float)
    known = np.isfinite(places).all(axis=1) & places.any(axis=1)
    flat: list[tuple[float, float] | None] = [None] * len(types)
    for kind in dict.fromkeys(types):
        own = np.flatnonzero(known & np.array([other == kind for other in types]))
        if kind in _mne.NO_SENSORS or not len(own):
            continue
        seen: dict[tuple[float, ...], tuple[float, float]] = {}
        for k, (x, y, z) in zip(own, _centered(places[own]), strict=True):
            # Rounded to a millimeter.
            place = tuple(np.round(places[k], 3))
            if place in seen:
                flat[k] = seen[place] if kind == "grad" else None
                continue
            # Distances from the top are along the sphere, so that low channels are not crowded.
            angle, around = np.arctan2(np.hypot(x, y), z), np.arctan2(y, x)
            seen[place] = (float(angle * np.cos(around)), float(angle * np.sin(around)))
            flat[k] = seen[place]
    return flat


def _centered(places: Floats) -> Floats:
    """Return positions relative to the center of the sphere that fits them best."""
    # |x − c|² = r² is linear in c and r² − |c|².
    design = np.column_stack([2 * places, np.ones(len(places))])
    center = np.linalg.lstsq(design, (places**2).sum(axis=1), rcond=None)[0][:3]
    centered: Floats = places - center
    return centered


def print_error(path: str, problem: Exception) -> int:
    """Print what is wrong with a recording as the program does, and return its exit code."""
    text = " ".join(str(problem).split()) or type(problem).__name__
    print(f"error: {path}: {text}", file=sys.stderr)
    return 2
