"""Results and fitted estimators in files: arrays and JSON, nothing that is run when it is read."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._core import __version__
from ._files import write_whole
from ._result import _FORMAT, Result, from_arrays

_MODEL_FORMAT = 1
# What load makes again; a file cannot name anything else.
_ESTIMATORS = ("SourceSeparation", "SOBI", "AMUSE", "JADE", "JointDiagonalizer", "CSP")
# Made again from the result, or kept in a form of their own.
_APART = ("result_", "info_", "B_", "A_", "stability_", "n_iter_")


class Savable:
    """An estimator that can be written to a file."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to an npz file, whole or not at all. :func:`codiag.load` reads it.

        The file holds filters, patterns and all else that was found, the names, types and places of
        the channels, if they are known, the settings, and how the solve went. It can be read
        without running any code of the file's: by ``numpy.load``, too, as a table of arrays.

        Parameters
        ----------
        path : str or path-like
            The file, replaced if it exists.
        """
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        arrays: dict[str, Any] = {}
        for name, array in self.result_._arrays().items():  # type: ignore[attr-defined]
            arrays[f"result_{name}"] = array
        own = {name: value for name, value in vars(self).items() if name not in _APART}
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
        write_whole(path, lambda file: np.savez(file, **arrays))


def load(path: str | os.PathLike[str]) -> Any:
    """Read what :meth:`Result.save` or the ``save`` of an estimator wrote.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    Result, SourceSeparation, SOBI, AMUSE, JADE, JointDiagonalizer or CSP
        Whichever it holds. A model knows the channels that it was fitted on, and refuses
        recordings that do not have them.

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
            loaded = np.load(file, allow_pickle=False)
            if isinstance(loaded, np.ndarray):
                raise ValueError("it holds a single array")
            stored = dict(loaded.items())
        except (ValueError, EOFError, OSError) as problem:
            raise ValueError(f"{name} is not a codiag result or model: {problem}") from None
    for kind, latest in (("codiag_result", _FORMAT), ("codiag_model", _MODEL_FORMAT)):
        if kind in stored and int(stored[kind]) > latest:
            raise ValueError(f"{name} was written by a later version of codiag")
    if "codiag_result" in stored:
        return from_arrays(stored)
    if "codiag_model" in stored:
        return _model(stored, name)
    raise ValueError(f"{name} is not a codiag result or model: it holds other arrays")


def _model(stored: dict[str, NDArray[Any]], name: str) -> Any:
    """Return the estimator that a file holds."""
    import codiag

    estimator = stored["estimator"].item()
    if estimator not in _ESTIMATORS:
        raise ValueError(f"{name} holds an estimator that there is not: {estimator!r}")
    settings = _read(stored["settings"].item(), stored)
    model = getattr(codiag, estimator)(**settings)
    prefix = "result_"
    results = {key.removeprefix(prefix): a for key, a in stored.items() if key.startswith(prefix)}
    result: Result = from_arrays(results)
    model.result_, model.stability_ = result, result.stability
    model.B_, model.A_, model.n_iter_ = result.B, result.A, result.n_iter
    found = _read(stored["found"].item(), stored)
    vars(model).update(found)
    model._restore()
    if "info" in stored:
        model.info_ = _info(stored["info"], name)
    return model


def _written(values: Mapping[str, Any], prefix: str, arrays: dict[str, Any]) -> str:
    """Return values as JSON; arrays go among the others, and are named in it."""

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


def _read(text: str, arrays: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    def whole(value: Any) -> Any:
        if isinstance(value, dict):
            if "objects" in value:
                return np.array(value["objects"], dtype=object)
            return arrays[value["array"]]
        return [whole(one) for one in value] if isinstance(value, list) else value

    values: dict[str, Any] = {key: whole(value) for key, value in json.loads(text).items()}
    return values


def _info_bytes(info: Any) -> NDArray[np.uint8]:
    """Return what MNE knows of the channels as the bytes of a .fif file of its own."""
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
            f"{name} was fitted on one of MNE's objects, whose channels MNE reads: "
            "pip install 'codiag[mne]'"
        ) from None

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "channels-info.fif")
        stored.astype(np.uint8).tofile(path)
        return mne.io.read_info(path, verbose="error")
