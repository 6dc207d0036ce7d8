"""Mistakes that would pass in silence: what is refused, and what is doubted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from . import _core
from ._input import Floats

if TYPE_CHECKING:
    from ._separator import Separator

# The share of the variance that drifts may have without a word.
_DRIFT = 0.1


def refuse_transposed(data: Floats) -> None:
    """Raise if a recording has more channels than samples."""
    if data.ndim == 2 and data.shape[0] > data.shape[1]:
        raise ValueError(
            f"expected channels x samples, got shape {data.shape}, more channels than samples: is "
            "it transposed? X.T has the channels first"
        )


def of_fit(
    model: Separator, data: Floats, rate: float | None, spans: list[tuple[int, int]]
) -> Iterator[str]:
    """Return what the user of a separation should know, in words."""
    if model.result_.criterion == "likelihood" and len(model.result_.powers) == 1:
        what = "class" if data.ndim == 3 else "segment"
        yield (
            f"there is only one {what}, and so one matrix: many bases diagonalize it, and the "
            "sources found are arbitrary"
        )
    if rate is not None and data.ndim == 2:
        share = _core.drift_share(data, rate, spans)
        if share > _DRIFT:
            yield (
                f"drifts over several seconds are {share:.0%} of the variance of the channels, and "
                "hide what tells sources apart: filter above 1 Hz first, as raw.filter(1, None) "
                "does; the filters found can be applied to the recording as it was"
            )


def advice(model: Separator) -> str:
    """Return what helps a separation that does not converge."""
    if model.result_.criterion != "likelihood" or model.result_.status != "iteration limit":
        return ""
    return (
        "; matrices of few samples have many local minima: longer segments (segment_length), fewer "
        'components (n_components) or shrinkage="auto" help more than a larger max_iter'
    )
