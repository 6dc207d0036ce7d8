"""MNE's recordings: what is read of them, and what is made."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._input import Floats

_SHOWN_BY = {"eog": "blink", "ecg": "heartbeat"}
# These have no place on the head.
NO_SENSORS = {"eog", "ecg", "emg", "stim", "misc", "resp", "bio"}
# Triggers, head positions and states of the machine.
_NO_SIGNALS = {"stim", "chpi", "syst", "ias", "exci"}


def is_instance(X: Any) -> bool:
    """Whether `X` is a Raw or Epochs. MNE is not imported for it: whoever has one has done so."""
    mne = sys.modules.get("mne")
    return mne is not None and isinstance(X, (mne.io.BaseRaw, mne.epochs.BaseEpochs))


def is_evoked(X: Any) -> bool:
    """Whether `X` is an Evoked, which has too few samples to be fitted, but can be transformed."""
    mne = sys.modules.get("mne")
    return mne is not None and isinstance(X, mne.Evoked)


def refuse_evoked(X: Any) -> None:
    """Raise if `X` is an average, in which sources no longer differ."""
    if is_evoked(X):
        raise TypeError(
            "an Evoked is an average, too short to tell sources apart: fit the Raw or the Epochs "
            "it comes from; transform and apply take it"
        )


class Read(NamedTuple):
    """What a separation needs of one of MNE's objects."""

    data: Floats
    rate: float
    types: list[str]
    bad_spans: list[tuple[int, int]]
    info: Any


def read(inst: Any, picks: Any) -> Read:
    """Return the data of the channels picked, with what is known about them."""
    import mne

    names = chosen_names(inst.info, picks)
    if not names:
        raise ValueError("there are no channels to separate: none are picked, or all are bad")
    numbers = [inst.ch_names.index(name) for name in names]
    types = [mne.channel_type(inst.info, number) for number in numbers]
    coded = [name for name, kind in zip(names, types, strict=True) if kind in _NO_SIGNALS]
    if coded:
        raise ValueError(
            f"{', '.join(coded)}: such channels hold codes, not signals of sensors; without picks, "
            'or with picks="data", they are left out'
        )
    return Read(
        data=inst.get_data(picks=names),
        rate=float(inst.info["sfreq"]),
        types=types,
        bad_spans=spans(~good_samples(inst)),
        info=mne.pick_info(inst.info, numbers),
    )


def chosen_names(info: Any, picks: Any) -> list[str]:
    """Return the names of the channels picked: by default those that hold data and are not bad."""
    import mne

    # MNE's own reading of picks, on a recording of one sample.
    sample = mne.io.RawArray(np.zeros((len(info["ch_names"]), 1)), info, verbose="error")
    picks = "data" if picks is None else picks
    names: list[str] = sample.pick(picks, exclude="bads", verbose="error").ch_names
    return names


def good_samples(inst: Any) -> NDArray[np.bool_]:
    """Return which samples of a Raw are not annotated as bad; those of epochs all are good."""
    import mne

    if not isinstance(inst, mne.io.BaseRaw) or not len(inst.annotations):
        return np.ones(len(inst.times), dtype=bool)
    marked: Any = inst.get_data(picks=[0], reject_by_annotation="NaN", verbose="error")
    good: NDArray[np.bool_] = ~np.isnan(marked[0])
    return good


def spans(chosen: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return the spans of samples that are chosen."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], chosen, [False]])))
    return [(int(start), int(stop)) for start, stop in edges.reshape(-1, 2)]


def references(raw: Any) -> dict[str, tuple[str, Floats]]:
    """Return the channels of a Raw that show an artefact by themselves: EOG and ECG."""
    import mne

    kinds = {
        name: _SHOWN_BY.get(mne.channel_type(raw.info, k))
        for k, name in enumerate(raw.ch_names)
        if name not in raw.info["bads"]
    }
    shown = [(name, kind) for name, kind in kinds.items() if kind is not None]
    return {name: (kind, raw.get_data(picks=[name])[0]) for name, kind in shown}


def named_references(raw: Any, given: Any) -> dict[str, Any]:
    """Return references with the samples of those that are channels of a Raw, named only."""
    references = {}
    for name, shown in (given or {}).items():
        if isinstance(shown, str):
            if name not in raw.ch_names:
                raise ValueError(f"the reference {name!r} is no channel of the recording")
            shown = (shown, raw.get_data(picks=[name])[0])
        references[name] = shown
    return references


def changed(inst: Any, names: list[str], change: Callable[[Floats], Floats]) -> Any:
    """Return a copy of which some channels are changed together."""
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
    """Return sources as channels of an object like the one that they are from."""
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
    """Return the sphere that MNE draws heads by: fitted to the digitized points, if there are some.

    ``mne.viz.plot_topomap`` does not bring it to the helmet, where sensors of MEG are, as the plots
    of MNE's ICA do.
    """
    from mne.bem import fit_sphere_to_headshape
    from mne.transforms import apply_trans, invert_transform

    if len(info["dig"] or ()) < 4:
        return None
    try:
        radius, middle, _ = fit_sphere_to_headshape(info, units="m", verbose="error")
    except (RuntimeError, ValueError):
        return None
    x, y, z = map(float, middle)
    if ch_type in ("mag", "grad") and info["dev_head_t"] is not None:
        x, y, _ = map(float, apply_trans(invert_transform(info["dev_head_t"]), middle))
        z = 0.0  # seen from above
    return x, y, z, float(radius)


def info_to_plot(given: Any, fitted: Any, channels: int) -> Any:
    """Return what is known of the places of the channels, or raise."""
    info = fitted if given is None else given
    if info is None:
        raise ValueError(
            "fitted on an array, of which the places of channels are not known: pass "
            f"info=raw.info, an mne.Info of the {channels} channels fitted"
        )
    count = len(info["ch_names"])
    if count != channels:
        raise ValueError(
            f"info must be an mne.Info of the {channels} channels fitted, got one of {count} "
            "channels"
        )
    return info


def type_to_map(types: list[str]) -> str:
    """Return the type of channels of which a topography says most."""
    return next((kind for kind in ("mag", "eeg", "grad") if kind in types), types[0])


def plot_patterns(
    patterns: Mapping[str, Floats],
    info: Any,
    ch_type: str | None,
    columns: int,
    show: bool,
    topomap: dict[str, Any],
) -> Any:
    """Return a figure with one topography a pattern."""
    import matplotlib.pyplot as plt
    import mne

    types = [mne.channel_type(info, k) for k in range(len(info["ch_names"]))]
    ch_type = type_to_map(types) if ch_type is None else ch_type
    numbers = [k for k, kind in enumerate(types) if kind == ch_type]
    if not numbers:
        raise ValueError(f"there are no channels of type {ch_type!r}, only {sorted(set(types))}")
    places = mne.pick_info(info, numbers)
    topomap = {"sphere": head(info, ch_type), **topomap}
    rows = -(-len(patterns) // columns)
    size = (1.6 * min(columns, len(patterns)), 1.8 * rows)
    fig, axes = plt.subplots(
        rows, min(columns, len(patterns)), figsize=size, squeeze=False, layout="constrained"
    )
    for ax in axes.flat:
        ax.set_axis_off()
    for ax, (name, pattern) in zip(axes.flat, patterns.items(), strict=False):
        mne.viz.plot_topomap(pattern[numbers], places, axes=ax, show=False, **topomap)
        ax.set_title(name)
    if show:
        plt.show()
    return fig
