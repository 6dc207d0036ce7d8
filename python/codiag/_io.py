"""Results and fitted estimators in files: arrays and JSON, without executable code."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._core import __version__
from ._files import write_atomically
from ._npz import Npz
from ._result import _FORMAT, checked_array, from_arrays

_MODEL_FORMAT = 1
# Classes that a file may name.
_ESTIMATORS = ("SourceSeparation", "SOBI", "AMUSE", "JADE", "JointDiagonalizer", "CSP")
# Attributes that are restored from the result, or stored in a form of their own.
_STORED_APART = ("result_", "info_", "components_", "mixing_", "stability_", "n_iter_")


class Savable:
    """An estimator that can be written to a file."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to an npz file, which :func:`codiag.load` reads.

        The file holds the fitted attributes, the names, types and positions of the channels if they
        are known, the parameters, and the result of the solver. It holds no code. ``numpy.load``
        also reads it, as a dictionary of arrays.

        Parameters
        ----------
        path : str or path-like
            File, replaced atomically if it exists. Symbolic links are followed, the mode of an
            existing file is kept, and a device or a FIFO is written to. Names that end in ``.fif``
            raise ValueError; ``to_mne().save(path)`` writes such files.
        """
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        if os.fspath(path).endswith((".fif", ".fif.gz")):
            save = "to_mne().save(path) writes an ICA of MNE; "
            raise ValueError(
                f"{os.fspath(path)!r}: codiag's own files are npz, not fif: "
                f"{save if hasattr(self, 'to_mne') else ''}choose a name that ends in .npz"
            )
        arrays: dict[str, Any] = {}
        for name, array in self.result_._arrays().items():  # type: ignore[attr-defined]
            arrays[f"result_{name}"] = array
        own = {
            name: value
            for name, value in vars(self).items()
            if name not in _STORED_APART and not name.startswith("_sklearn")
        }
        settings = self.get_params(deep=False)  # type: ignore[attr-defined]
        found = {name: value for name, value in own.items() if name not in settings}
        info = getattr(self, "info_", None)
        if info is not None:
            arrays["channel_names"] = np.array(info["ch_names"])
            arrays["channel_types"] = np.array(info.get_channel_types())
            arrays["info"] = _info_bytes(info)
        arrays.update(
            codiag_model=_MODEL_FORMAT,
            estimator=type(self).__name__,
            version=__version__,
            settings=_written(settings, "setting", arrays),
            found=_written(found, "found", arrays),
        )
        write_atomically(path, lambda file: np.savez(file, **arrays))


def load(path: str | os.PathLike[str]) -> Any:
    """Read a file that :meth:`Result.save` or the ``save`` of an estimator wrote.

    Parameters
    ----------
    path : str or path-like
        File that was written by codiag.

    Returns
    -------
    Result, SourceSeparation, SOBI, AMUSE, JADE, JointDiagonalizer or CSP
        Content of the file. A model knows the names of the channels that it was fitted on, and
        raises ValueError for recordings without them.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file is damaged, was not written by codiag, or was written by a later version.

    Notes
    -----
    No code of a file is executed, and the memory is limited by the size of the file.

    Examples
    --------
    >>> import codiag, os, tempfile
    >>> C, _ = codiag.datasets.synthetic(20, 3)
    >>> result = codiag.diagonalize(C)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "result.npz")
    ...     result.save(path)
    ...     again = codiag.load(path)
    >>> bool((again.B == result.B).all())
    True
    """
    name = repr(os.fspath(path))
    with open(path, "rb") as file:
        try:
            return _stored(Npz(file), name)
        except _UnsupportedFile as problem:
            raise ValueError(f"{name} {problem}") from None
        except ImportError:
            raise
        except Exception as problem:  # the exceptions for damaged archives are not documented
            hint = ""
            if name.rstrip("'\"").endswith((".fif", ".fif.gz")):
                hint = "; mne.preprocessing.read_ica reads the ICA files of MNE"
            raise ValueError(f"{name} is not a codiag result or model: {problem}{hint}") from None


class _UnsupportedFile(Exception):
    """A file that is valid, but cannot be loaded."""


def _stored(arrays: Npz, name: str) -> Any:
    """Return the content of a file."""
    if "codiag_result" in arrays:
        _check_version(arrays, "codiag_result", _FORMAT)
        return from_arrays(arrays)
    if "codiag_model" in arrays:
        _check_version(arrays, "codiag_model", _MODEL_FORMAT)
        return _model(arrays, name)
    raise ValueError("it holds other arrays")


def _check_version(arrays: Npz, kind: str, latest: int) -> None:
    version = checked_array(arrays[kind], kind, "iu", (), {}).item()
    if version > latest:
        raise _UnsupportedFile(f"was written by a later version of codiag (format {version})")
    if version < 1:
        raise ValueError(f"its format {version} is unknown")


def _model(arrays: Npz, name: str) -> Any:
    """Return the estimator that a file holds."""
    import codiag

    def text(key: str) -> str:
        value: str = checked_array(arrays[key], key, "U", (), {}).item()
        return value

    estimator = text("estimator")
    if estimator not in _ESTIMATORS:
        raise _UnsupportedFile(f"holds an unknown estimator: {estimator!r}")
    kind = getattr(codiag, estimator)
    settings = _read(text("settings"), "settings", set(kind._get_param_names()), arrays)
    result = from_arrays(arrays, "result_")
    r, p = result.B.shape
    checks = _FOUND[estimator]
    found = _read(text("found"), "found", set(checks), arrays)
    sizes = {"r": r, "p": p}
    for key, check in checks.items():
        if key not in found:
            raise ValueError(f"{key} is missing")
        check(found[key], key, sizes)
    if found["n_features_in_"] != p:
        raise ValueError(f"n_features_in_ is {found['n_features_in_']}, but B has {p} columns")
    model = kind(**settings)
    model.result_ = result
    if estimator != "CSP":
        model.components_, model.mixing_ = result.B, result.A
        model.stability_ = result.stability
    model.n_iter_ = result.n_iter
    vars(model).update(found)
    model._restore()
    if "info" in arrays:
        model.info_ = _info(checked_array(arrays["info"], "info", "u", ("bytes",), {}), name)
        if len(model.info_["ch_names"]) != p:
            raise ValueError(f"info has {len(model.info_['ch_names'])} channels, but B has {p}")
    return model


Check = Callable[[Any, str, dict[str, int]], object]


def _array(kinds: str, *shape: int | str) -> Check:
    def check(value: Any, name: str, sizes: dict[str, int]) -> None:
        checked_array(value, name, kinds, shape, sizes)

    return check


def _where(test: Callable[[Any, dict[str, int]], bool], expected: str) -> Check:
    def check(value: Any, name: str, sizes: dict[str, int]) -> None:
        if not test(value, sizes):
            raise ValueError(f"{name} is not {expected}")

    return check


def _is_int(value: Any) -> bool:
    return type(value) is int and value >= 0


def _is_number(value: Any) -> bool:
    return type(value) in (int, float)


def _are_ints(value: Any, length: int | None = None) -> bool:
    fits = isinstance(value, list) and (length is None or len(value) == length)
    return fits and all(_is_int(k) for k in value)


def _are_margins(value: Any, sizes: dict[str, int]) -> bool:
    def is_margin(one: Any) -> bool:
        if not (isinstance(one, list) and len(one) == 2):
            return one is None
        return _is_int(one[0]) and one[0] < sizes["r"] and _is_number(one[1])

    return isinstance(value, list) and len(value) == sizes["r"] and all(map(is_margin, value))


def _are_segments(value: Any, sizes: dict[str, int]) -> bool:
    return isinstance(value, list) and all(
        isinstance(piece, list) and all(_are_ints(span, 2) for span in piece) for piece in value
    )


def _is_origin(value: Any, sizes: dict[str, int]) -> bool:
    if not (isinstance(value, list) and len(value) == 2):
        return False
    return value[0] in ("raw", "epochs") and _is_int(value[1])


def _is_window(value: Any, sizes: dict[str, int]) -> bool:
    if not (isinstance(value, list) and len(value) == 2):
        return False
    checked_array(value[0], "the matrices of _window", "fc", ("window", "p", "p"), sizes)
    checked_array(value[1], "the weights of _window", "f", ("window",), sizes)
    return True


_COUNT = _where(lambda value, _: _is_int(value), "a number of channels or samples")
_SEPARATION: dict[str, Check] = {
    "_fitted_on": _where(_is_origin, "a kind of recording and its number of samples"),
    "explained_variance_ratio_": _array("f", "r"),
    "least_separable_": _where(_are_margins, "a list of one source and margin per component"),
    "explained_variance_ratio_total_": _where(
        lambda value, _: _is_number(value) and value >= 0, "a fraction"
    ),
    "segments_": _where(_are_segments, "a list of spans of samples"),
    "scale_": _array("f", "p"),
    "n_features_in_": _COUNT,
}
_LAGGED: dict[str, Check] = {**_SEPARATION, "autocorrelations_": _array("f", "lags", "r")}
# Attributes that a file must hold for each estimator, in addition to its result. Others are
# ignored.
_FOUND: dict[str, dict[str, Check]] = {
    "SourceSeparation": {
        **_SEPARATION,
        "powers_": _array("f", "n", "r"),
        "nonstationarity_": _array("f", "any"),
        "shrinkages_": _array("f", "matrices"),
    },
    "SOBI": {**_LAGGED, "lags_": _where(lambda value, _: _are_ints(value), "a list of lags")},
    "AMUSE": _LAGGED,
    "JADE": {**_SEPARATION, "kurtosis_": _array("f", "r")},
    "JointDiagonalizer": {
        "_window": _where(_is_window, "matrices and their weights"),
        "n_features_in_": _COUNT,
        "n_samples_seen_": _COUNT,
    },
    "CSP": {
        "classes_": _array("biufUSO", "classes"),
        "n_features_in_": _COUNT,
        "all_filters_": _array("f", "r", "p"),
        "filters_": _array("f", "filters", "p"),
        "patterns_": _array("f", "filters", "p"),
        "mutual_information_": _array("f", "filters"),
        "powers_": _array("f", "classes", "filters"),
    },
}


def _written(values: Mapping[str, Any], prefix: str, arrays: dict[str, Any]) -> str:
    """Return values as JSON, which refers to arrays by name; the arrays are added to `arrays`."""

    def plain(value: Any, place: str) -> Any:
        if isinstance(value, np.ndarray):
            if value.dtype == object and all(isinstance(x, (str, int)) for x in value.flat):
                return {"objects": value.tolist()}
            if value.dtype.kind not in "biufcUS":
                raise TypeError(f"{place} cannot be saved: it is an array of {value.dtype}")
            arrays[place] = value
            return {"array": place}
        if isinstance(value, np.generic):
            return value.item()
        if isinstance(value, os.PathLike):
            return os.fspath(value)
        if isinstance(value, (list, tuple, range)):
            return [plain(one, f"{place}_{k}") for k, one in enumerate(value)]
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        raise TypeError(f"{place} cannot be saved: it is of {type(value)}")

    return json.dumps({key: plain(value, f"{prefix}_{key}") for key, value in values.items()})


def _read(text: str, name: str, wanted: set[str], arrays: Npz) -> dict[str, Any]:
    """Return the values of a JSON text, with the arrays that they refer to."""

    def whole(value: Any) -> Any:
        if isinstance(value, dict):
            objects = value.get("objects")
            if isinstance(objects, list) and all(isinstance(x, (str, int)) for x in objects):
                return np.array(objects, dtype=object)
            place = value.get("array")
            if not (isinstance(place, str) and place.startswith(("setting_", "found_"))):
                raise ValueError(f"{name} has an invalid entry: {str(value)[:60]}")
            return arrays[place]
        return [whole(one) for one in value] if isinstance(value, list) else value

    try:
        values = json.loads(text)
        if not isinstance(values, dict):
            raise ValueError("it is not an object")
        unknown = sorted(set(values) - wanted)
        if unknown and name == "settings":
            raise ValueError(f"the estimator has no parameter {unknown[0]!r}")
        return {key: whole(value) for key, value in values.items() if key in wanted}
    except RecursionError:
        raise ValueError(f"{name} is nested too deeply") from None


def _info_bytes(info: Any) -> NDArray[np.uint8]:
    """Return the description of the channels as the bytes of a fif file."""
    import mne

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "channels-info.fif")
        mne.io.write_info(path, info)
        return np.fromfile(path, dtype=np.uint8)


def _info(stored: NDArray[np.uint8], name: str) -> Any:
    try:
        import mne
    except ImportError:
        raise ImportError(
            f"{name} was fitted on an object of MNE, which is needed to read its channels: "
            "pip install mne"
        ) from None

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "channels-info.fif")
        stored.astype(np.uint8).tofile(path)
        try:
            return mne.io.read_info(path, verbose="error")
        except Exception as problem:  # readers of broken files raise anything
            raise ValueError(f"MNE cannot read its channels: {problem}") from None
