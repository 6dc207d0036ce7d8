"""Conversion from and to MNE's objects."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._typing import Floats

_SHOWN_BY = {"eog": "blink", "ecg": "heartbeat"}
# Channel types without a position on the head.
NO_SENSORS = {"eog", "ecg", "emg", "stim", "misc", "resp", "bio"}
# Channel types that hold triggers, head positions or states of the machine.
_NO_SIGNALS = {"stim", "chpi", "syst", "ias", "exci"}


def is_instance(X: Any) -> bool:
    """Whether `X` is a Raw or Epochs. MNE is not imported: such objects exist only after that."""
    mne = sys.modules.get("mne")
    return mne is not None and isinstance(X, (mne.io.BaseRaw, mne.epochs.BaseEpochs))


def is_evoked(X: Any) -> bool:
    """Whether `X` is an Evoked, which can be transformed, but is too short to be fitted."""
    mne = sys.modules.get("mne")
    return mne is not None and isinstance(X, mne.Evoked)


def check_not_evoked(X: Any) -> None:
    """Raise if `X` is an Evoked."""
    if is_evoked(X):
        raise TypeError(
            "an Evoked is an average, too short to separate sources: fit the Raw or the Epochs "
            "that it was computed from; transform and apply accept it"
        )


class Read(NamedTuple):
    """Data and description of the channels of an MNE object."""

    data: Floats
    sfreq: float
    types: list[str]
    bad_spans: list[tuple[int, int]]
    info: Any


def read(inst: Any, picks: Any) -> Read:
    """Return the data of the picked channels, with their description."""
    import mne

    try:
        names = chosen_names(inst.info, picks)
    except ValueError:
        # MNE raises for its own default, "data", if there are no data channels.
        if picks is not None:
            raise
        names = []
    if not names:
        bads = set(inst.info["bads"])
        if bads and set(inst.ch_names) <= bads:
            raise ValueError("no channels are left: all channels are marked as bad")
        marked = f" ({len(bads)} are marked as bad)" if bads else ""
        raise ValueError(f"no channels are left: there are no good data channels{marked}")
    numbers = [inst.ch_names.index(name) for name in names]
    types = [mne.channel_type(inst.info, number) for number in numbers]
    coded = [name for name, kind in zip(names, types, strict=True) if kind in _NO_SIGNALS]
    if coded:
        raise ValueError(
            f"{', '.join(coded)}: these channels hold codes, not signals of sensors; without "
            'picks, or with picks="data", they are left out'
        )
    return Read(
        data=inst.get_data(picks=names),
        sfreq=float(inst.info["sfreq"]),
        types=types,
        bad_spans=spans(~good_samples(inst)),
        info=mne.pick_info(inst.info, numbers),
    )


def chosen_names(info: Any, picks: Any) -> list[str]:
    """Return the names of the picked channels: by default the data channels that are not bad."""
    import mne

    # Let MNE interpret picks, on a recording of one sample.
    sample = mne.io.RawArray(np.zeros((len(info["ch_names"]), 1)), info, verbose="error")
    picks = "data" if picks is None else picks
    names: list[str] = sample.pick(picks, exclude="bads", verbose="error").ch_names
    return names


def good_samples(inst: Any) -> NDArray[np.bool_]:
    """Return a mask of the samples that are not annotated as bad; for epochs, all samples."""
    import mne

    if not isinstance(inst, mne.io.BaseRaw) or not len(inst.annotations):
        return np.ones(len(inst.times), dtype=bool)
    marked: Any = inst.get_data(picks=[0], reject_by_annotation="NaN", verbose="error")
    good: NDArray[np.bool_] = ~np.isnan(marked[0])
    return good


def spans(chosen: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return the spans of consecutive chosen samples."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], chosen, [False]])))
    return [(int(start), int(stop)) for start, stop in edges.reshape(-1, 2)]


def references(raw: Any) -> dict[str, tuple[str, Floats]]:
    """Return the reference channels of a Raw, EOG and ECG, with the artifact that they show."""
    import mne

    kinds = {
        name: _SHOWN_BY.get(mne.channel_type(raw.info, k))
        for k, name in enumerate(raw.ch_names)
        if name not in raw.info["bads"]
    }
    shown = [(name, kind) for name, kind in kinds.items() if kind is not None]
    return {name: (kind, raw.get_data(picks=[name])[0]) for name, kind in shown}


def named_references(raw: Any, given: Any) -> dict[str, Any]:
    """Return references, with the samples of those that are channels of a Raw."""
    references = {}
    for name, shown in (given or {}).items():
        if isinstance(shown, str):
            if name not in raw.ch_names:
                raise ValueError(f"the reference {name!r} is not a channel of the recording")
            shown = (shown, raw.get_data(picks=[name])[0])
        references[name] = shown
    return references


def changed(inst: Any, names: list[str], change: Callable[[Floats], Floats]) -> Any:
    """Return a copy of an MNE object in which `change` is applied to the named channels."""
    from mne.utils import use_log_level

    if is_evoked(inst):
        copy = inst.copy()
        rows = [copy.ch_names.index(name) for name in names]
        copy.data[rows] = change(copy.data[rows])
        return copy
    with use_log_level("error"):
        copy = inst.copy().load_data()
        return copy.apply_function(change, picks=names, channel_wise=False)


def as_instance(inst: Any, sources: Floats, names: list[str]) -> Any:
    """Return sources as the channels of an object of the same kind as `inst`."""
    import mne

    info = mne.create_info(names, inst.info["sfreq"], "misc")
    if isinstance(inst, mne.io.BaseRaw):
        raw = mne.io.RawArray(sources, info, first_samp=inst.first_samp, verbose="error")
        raw.set_meas_date(inst.info["meas_date"])
        return raw.set_annotations(inst.annotations)
    epochs = mne.EpochsArray(
        sources,
        info,
        events=inst.events,
        tmin=inst.tmin,
        event_id=inst.event_id,
        metadata=inst.metadata,
        baseline=None,
        verbose="error",
    )
    return epochs


def head(info: Any, ch_type: str) -> tuple[float, float, float, float] | None:
    """Return the sphere of the head for MNE's plots, fitted to the digitized points if any.

    Unlike the plots of MNE's ICA, ``mne.viz.plot_topomap`` does not convert it to the coordinates
    of MEG sensors.
    """
    from mne.bem import fit_sphere_to_headshape
    from mne.transforms import apply_trans, invert_transform

    if len(info["dig"] or ()) < 4:
        return None
    try:
        radius, center, _ = fit_sphere_to_headshape(info, units="m", verbose="error")
    except (RuntimeError, ValueError):
        return None
    x, y, z = map(float, center)
    if ch_type in ("mag", "grad") and info["dev_head_t"] is not None:
        x, y, _ = map(float, apply_trans(invert_transform(info["dev_head_t"]), center))
        z = 0.0  # seen from above
    return x, y, z, float(radius)


def info_to_plot(given: Any, fitted: Any, channels: int) -> Any:
    """Return the info with the positions of the channels, or raise."""
    info = fitted if given is None else given
    if info is None:
        raise ValueError(
            "the model was fitted on an array and does not know the positions of the channels: "
            f"pass info=raw.info, an mne.Info of the {channels} channels fitted"
        )
    count = len(info["ch_names"])
    if count != channels:
        raise ValueError(
            f"info must be an mne.Info of the {channels} channels fitted, got one of {count} "
            "channels"
        )
    return info
