"""HTML reports of results and separations: the pages that the program writes."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core, _mne
from ._arrays import matrix_set, real_array
from ._covariances import band_list, span_list
from ._files import write_atomically
from ._recordings import positions
from ._result import Result
from ._typing import ArrayInput, Floats, Spans

if TYPE_CHECKING:
    from ._base import Separation


def report_result(
    result: Result,
    path: str | os.PathLike[str],
    C: ArrayInput | None = None,
    *,
    sample_weight: ArrayInput | None = None,
    shrinkage: float = 0.0,
    title: str = "matrices",
) -> None:
    """Write the report of a result to an HTML file, atomically."""

    def page() -> str:
        matrices = None if C is None else matrix_set(C)
        weights = None if sample_weight is None else real_array(sample_weight, "sample_weight")
        options = {
            "title": title,
            "matrices": len(result.residuals) if matrices is None else len(matrices),
            "sample_weight": weights,
            "shrinkage": shrinkage,
            "seconds": _seconds(result),
        }
        fields = _result_fields(result)
        if matrices is not None and fields["complex"]:
            matrices = matrices.astype(np.complex128)
        return _core.result_report(fields, matrices, options)

    write_atomically(path, lambda file: file.write(page().encode()))


def report_separation(
    model: Separation,
    path: str | os.PathLike[str],
    X: Any,
    *,
    exclude: Iterable[int | str] = (),
    bad_spans: Spans | None = None,
    title: str = "the recording",
) -> None:
    """Write the report of a fitted separation to an HTML file, atomically."""
    model._require_fit()

    def page() -> str:
        result = model.result_
        data = model._known_channels(X)
        sfreq, spans = model.sfreq, span_list(bad_spans)
        references: dict[str, tuple[str, Floats]] = {}
        if _mne.is_instance(X) or _mne.is_evoked(X):
            sfreq = float(X.info["sfreq"]) if sfreq is None else sfreq
        if _mne.is_instance(X) and data.ndim == 2:
            spans += _mne.spans(~_mne.good_samples(X))
            references = _mne.references(X)
        if data.ndim == 3:
            # Epochs one after the other.
            data = data.transpose(1, 0, 2).reshape(data.shape[1], -1)
        if any(stop > data.shape[1] for _, stop in spans):
            raise ValueError(f"bad_spans end after the {data.shape[1]} samples of the recording")
        good = np.ones(data.shape[1], dtype=bool)
        for start, stop in spans:
            good[start:stop] = False
        info = getattr(model, "info_", None)
        types = [] if info is None else info.get_channel_types()
        names = map(str, range(len(data))) if info is None else info["ch_names"]
        options = {
            "title": title,
            "sfreq": sfreq,
            "names": list(names),
            "positions": [] if info is None else positions(info, types),
            "types": types,
            "bad_spans": spans,
            "references": [
                (name, kind, np.ascontiguousarray(signal[good]))
                for name, (kind, signal) in references.items()
            ],
            "exclude": sorted(set(model._numbers(exclude))),
            "tol": model._tol,
            "command": " ".join(repr(model).split()),
            "settings": [
                (name, _setting(value)) for name, value in model.get_params(deep=False).items()
            ],
        }
        found = _separation_fields(model, sfreq)
        return _core.separation_report(
            np.ascontiguousarray(data), _result_fields(result), found, options
        )

    write_atomically(path, lambda file: file.write(page().encode()))


def _result_fields(result: Result) -> dict[str, Any]:
    """Return the fields of a result that the extension reads."""
    data, history = result._data, result.history
    matches = result.matches
    return {
        "complex": np.iscomplexobj(data.B),
        "B": data.B,
        "A": data.A,
        "criterion": result.criterion,
        "status": result.status,
        "n_iter": int(result.n_iter),
        "loss": float(result.loss),
        "gradient_norm": float(result.gradient_norm),
        "powers": np.asarray(result.powers, dtype=float),
        "residuals": np.asarray(result.residuals, dtype=float),
        "start_losses": np.asarray(result.start_losses, dtype=float),
        "identifiability": data.identifiability,
        "condition_number": result.condition_number,
        "iterations": [int(k) for k in history.get("iteration", ())],
        "losses": np.asarray(history.get("loss", ()), dtype=float),
        "gradient_norms": np.asarray(history.get("gradient_norm", ()), dtype=float),
        "stability": result.stability,
        "trials": None if matches is None else len(matches),
    }


def _separation_fields(model: Any, sfreq: float | None) -> dict[str, Any]:
    """Return the attributes of a fitted separation that the extension reads."""
    lags = [model.lag] if hasattr(model, "lag") else getattr(model, "lags_", None)
    return {
        "explained_variance_ratio": model.explained_variance_ratio_,
        "explained_variance_ratio_total": float(model.explained_variance_ratio_total_),
        "nonstationarity": getattr(model, "nonstationarity_", None),
        "kurtosis": getattr(model, "kurtosis_", None),
        "least_separable": [
            None if least is None else (least.partner, least.margin)
            for least in model.least_separable_
        ],
        "segments": model.segments_,
        "lags": lags,
        "bands": band_list(getattr(model, "bands", None), sfreq),
        "sort_by": model.sort_by,
    }


def _seconds(result: Result) -> float | None:
    seconds = result.history.get("seconds")
    return None if seconds is None or len(seconds) == 0 else float(seconds[-1])


def _setting(value: Any) -> str:
    """Return the value of a setting as text; of an array only its shape."""
    if isinstance(value, np.ndarray):
        return f"array of shape {value.shape}"
    text = "not given" if value is None else str(value)
    return text if len(text) <= 200 else text[:200] + " ..."
