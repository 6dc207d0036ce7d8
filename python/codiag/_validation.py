"""Checks of recordings and fits: errors for mistakes, warnings for misleading results."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core
from ._arrays import are_symmetric_matrices
from ._typing import Floats

if TYPE_CHECKING:
    from ._base import Separation

# Fraction of the variance that slow drifts may have without a warning.
_MAX_DRIFT = 0.1
# A list of at most this many arrays probably holds runs rather than epochs.
_MAX_RUNS = 8


def check_sfreq(sfreq: Any) -> None:
    """Raise unless `sfreq` is None or a positive number."""
    if sfreq is None:
        return
    if isinstance(sfreq, (str, bytes, bool)) or not isinstance(sfreq, (int, float, np.number)):
        raise TypeError(f"sfreq must be a number, the samples per second, got {sfreq!r}")
    if not 0 < float(sfreq) < math.inf:
        raise ValueError(f"sfreq must be a positive number, the samples per second, got {sfreq}")


def check_axes(data: Floats) -> None:
    """Raise if a recording is transposed, or if epochs are covariances."""
    if data.ndim == 2 and data.shape[0] > data.shape[1]:
        raise ValueError(
            f"expected channels x samples, got shape {data.shape}, more channels than samples: is "
            "it transposed? X.T has the channels first"
        )
    if data.ndim == 3 and len(data) > 1 and are_symmetric_matrices(data):
        raise ValueError(
            f"X of shape {data.shape} holds symmetric matrices, not epochs: covariances are for "
            "diagonalize, JointDiagonalizer or CSP"
        )


def several_runs(X: Any, y: Any) -> str | None:
    """Return a warning if a short list of arrays is read as epochs, but may be runs."""
    if not isinstance(X, (list, tuple)) or y is not None or not 1 < len(X) <= _MAX_RUNS:
        return None
    if any(getattr(one, "ndim", None) != 2 for one in X):
        return None
    return (
        f"X is a list of {len(X)} recordings, which are taken as {len(X)} epochs with one "
        "covariance each: for runs, join them along time, as numpy.concatenate(X, axis=1) does"
    )


def warnings_of_fit(
    model: Separation, data: Floats, sfreq: float | None, spans: list[tuple[int, int]]
) -> Iterator[str]:
    """Yield the warnings about the data and the result of a separation."""
    if model.result_.criterion == "likelihood" and len(model.result_.powers) == 1:
        if getattr(model, "bands", None) is not None:
            what = "frequency band"
        else:
            what = "class" if data.ndim == 3 else "segment"
        yield (
            f"there is only one {what}, and so one matrix: many bases diagonalize it, and the "
            "sources are arbitrary"
        )
    is_flat = data.max(axis=-1) == data.min(axis=-1)
    flat = np.flatnonzero(is_flat if data.ndim == 2 else is_flat.all(axis=0))
    if len(flat):
        names = model.info_["ch_names"] if hasattr(model, "info_") else list(range(data.shape[-2]))
        shown = ", ".join(str(names[k]) for k in flat[:8]) + (", ..." if len(flat) > 8 else "")
        yield f"constant channels contain no information, and reduce the components: {shown}"
    if sfreq is not None and data.ndim == 2:
        fraction = _core.drift_fraction(data, sfreq, spans)
        if fraction > _MAX_DRIFT:
            yield (
                f"drifts over several seconds are {fraction:.0%} of the variance of the channels, "
                "and mask the differences between sources: filter above 1 Hz first, as "
                "raw.filter(1, None) does; the filters can be applied to the unfiltered recording"
            )


def convergence_advice(model: Separation) -> str:
    """Return the end of a warning: what to try if a separation does not converge."""
    if model.result_.criterion != "likelihood" or model.result_.status != "max_iter":
        return ""
    return (
        "; matrices of few samples have many local minima: longer segments (segment_length), fewer "
        'components (n_components) or shrinkage="auto" help more than a larger max_iter'
    )
