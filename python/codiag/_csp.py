"""Common spatial patterns of any number of classes."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core, _mne
from ._arrays import (
    are_symmetric_matrices,
    init_choice,
    real_array,
    to_numpy,
    usable_n_jobs,
    weight_vector,
)
from ._covariances import class_labels, mne_epochs_hint
from ._errors import check_on_failure, describe, failed, report
from ._result import Result
from ._shrinkage import shrunk
from ._sklearn import (
    ClassNamePrefixFeaturesOutMixin,
    Estimator,
    TransformerMixin,
    check_classification_targets,
    check_is_fitted,
    suggests_parameters,
)
from ._solve import diagonalize
from ._typing import ArrayInput, ClassWeights, Floats, Init, Method, OnFailure, Rank, Shrinkage

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["CSP"]


class _Fitted:
    filters_: Floats
    patterns_: Floats
    mutual_information_: Floats
    powers_: Floats
    all_filters_: Floats
    classes_: Any
    result_: Result
    n_features_in_: int
    n_iter_: int
    info_: Any


@suggests_parameters
@dataclass(eq=False, repr=False)
class CSP(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator, _Fitted):
    """Common spatial patterns: filters whose output power differs between classes.

    The covariances of the classes are diagonalized together: exactly for two classes, approximately
    for more [1]_. Filters are ranked by the mutual information of their output power and the class,
    as in MNE's CSP, and the best are kept. :meth:`transform` returns the logarithms of the powers
    of their outputs, as features for any classifier.

    Parameters
    ----------
    n_components : int
        Number of filters that are kept (default 4); all, if there are fewer.
    log : bool
        Whether features are logarithms of powers (default True) or powers.
    shrinkage : float, "auto", "ledoit-wolf" or "oas"
        Amount, from 0 to 1, by which the covariances are shrunk towards a multiple of the identity
        (default 0), for epochs that are short or few; or the estimator that chooses it, as in
        :func:`codiag.epoch_covariances`. If X holds covariances, "auto" is as in
        :class:`codiag.JointDiagonalizer`.
    center : bool
        Whether the mean of each channel over the epoch is subtracted (default True).
    rank : {"auto", "full"} or int
        Number of dimensions to which the covariances are reduced first. "auto", the default, finds
        the dimension of their range, for covariances that share a null space, as after an average
        reference; "full" keeps all.
    class_weights : {"observed", "equal"}
        Weight of a class: its number of epochs (default "observed"), or equal for all.
    init : {"spectral", "whitener", "identity"} or array-like, shape (r, channels)
        Starting point of the iteration (default "spectral"), for instance the ``all_filters_`` of a
        group for one of its subjects.
    method, tol, max_iter, n_restarts, n_jobs, on_failure
        Options of the solver, as in :func:`codiag.diagonalize`.

    Attributes
    ----------
    filters_ : ndarray, shape (n_components, channels)
        Filters, one per row, the most informative first; of unit mean power.
    patterns_ : ndarray, shape (n_components, channels)
        Patterns of the filters, one per row, as in MNE and pyRiemann.
    mutual_information_ : ndarray, shape (n_components,)
        Mutual information of the output of each filter and the class, in nats, in the approximation
        of [1]_: zero if its power is equal in all classes.
    powers_ : ndarray, shape (classes, n_components)
        Power of each output in each class.
    classes_ : ndarray
        Classes, sorted.
    all_filters_ : ndarray, shape (r, channels)
        All filters, the most informative first.
    result_ : Result
        Complete result of the solver, in its own order.
    n_features_in_ : int
        Number of channels.
    n_iter_ : int
        Number of iterations.
    info_ : mne.Info
        Channels, after a fit of MNE's Epochs.

    References
    ----------
    .. [1] M. Grosse-Wentrup and M. Buss, "Multiclass common spatial patterns and information
       theoretic feature extraction", IEEE Transactions on Biomedical Engineering 55, 2008.

    Examples
    --------
    >>> import codiag, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat(["left", "right", "feet"], 20)
    >>> powers = np.array([[4, 1, 1, 1], [1, 4, 1, 1], [1, 1, 4, 1]])[np.repeat([0, 1, 2], 20)]
    >>> sources = np.sqrt(powers)[:, :, None] * rng.standard_normal((60, 4, 200))
    >>> epochs = rng.standard_normal((4, 4)) @ sources
    >>> csp = codiag.CSP(n_components=3).fit(epochs, y)
    >>> csp.transform(epochs).shape
    (60, 3)
    >>> bool(csp.mutual_information_.min() > 0.05)
    True
    """

    n_components: int = 4
    _: KW_ONLY
    log: bool = True
    shrinkage: Shrinkage = 0.0
    center: bool = True
    rank: Rank = "auto"
    class_weights: ClassWeights = "observed"
    method: Method = "newton"
    init: Init = "spectral"
    tol: float = 1e-8
    max_iter: int = 1000
    n_restarts: int = 0
    n_jobs: int | None = None
    on_failure: OnFailure = "warn"

    def fit(self, X: Any, y: ArrayInput, sample_weight: ArrayInput | None = None) -> Self:
        """Find the filters.

        Parameters
        ----------
        X : array-like, shape (epochs, channels, samples) or (epochs, channels, channels), or Epochs
            Epochs, filtered to the band of interest, or their covariances.
        y : array-like, shape (epochs,)
            Class of each epoch.
        sample_weight : array-like, shape (epochs,), optional
            Weight of each epoch (default: equal weights).

        Returns
        -------
        self
        """
        check_on_failure(self.on_failure)
        if self.n_components < 1:
            raise ValueError(f"n_components must be at least 1, got {self.n_components}")
        if self.class_weights not in ("observed", "equal"):
            raise ValueError(
                f'class_weights must be "observed" or "equal", got {self.class_weights!r}'
            )
        data = self._read(X, fit=True)
        classes, numbers = _classes(y, len(data))
        weights = weight_vector(sample_weight, "sample_weight")
        own = np.ones(len(data)) if weights is None else weights
        if len(own) != len(data) or not np.all(own >= 0):
            raise ValueError(
                f"sample_weight must hold {len(data)} nonnegative numbers, one per epoch"
            )
        counted = np.bincount(numbers, weights=own, minlength=len(classes))
        class_weights: Floats = counted.astype(np.float64)
        if not np.all(class_weights > 0):
            empty = classes[~(class_weights > 0)][0]
            raise ValueError(f"the weights of all epochs of class {empty!r} are zero")
        means = self._class_means(data, numbers, own, class_weights)
        if self.class_weights == "equal":
            class_weights = np.ones(len(classes))
        result = diagonalize(
            means, sample_weight=class_weights, **self._options(), on_failure="ignore"
        )
        if failed(result):
            report(describe(result, self.tol), self.on_failure, result)
        self.result_ = result
        self.classes_ = classes
        self.n_features_in_ = data.shape[1]
        self.n_iter_ = max(1, result.n_iter)  # two classes take none
        frequencies = class_weights / class_weights.sum()
        information = _mutual_information(result.powers, frequencies)
        order = np.argsort(-information, kind="stable")
        kept = order[: self.n_components]
        self.all_filters_ = result.B[order]
        self.filters_, self.patterns_ = result.B[kept], result.A.T[kept]
        self.mutual_information_ = information[kept]
        self.powers_ = result.powers[:, kept]
        return self

    def _options(self) -> dict[str, Any]:
        return {
            "method": self.method,
            "init": init_choice(self.init),
            "n_components": None if self.rank == "full" else self.rank,
            "tol": self.tol,
            "max_iter": self.max_iter,
            "n_restarts": self.n_restarts,
            "n_jobs": self.n_jobs,
        }

    def _class_means(
        self, data: Floats, numbers: Any, own: Floats, class_weights: Floats
    ) -> Floats:
        """Return the mean covariance of each class."""
        if are_symmetric_matrices(data):
            covariances = shrunk(data, self.shrinkage)
        else:
            options = {
                "center": self.center,
                "shrinkage": self.shrinkage,
                "n_jobs": usable_n_jobs(self.n_jobs),
            }
            if np.all(own == own[0]):
                return _core.epoch_covariances(data, numbers.tolist(), options)[0]
            # Epochs of different weights have covariances of their own.
            covariances = _core.epoch_covariances(data, None, options)[0]
        weights = np.zeros((len(class_weights), len(data)))
        weights[numbers, np.arange(len(data))] = own / class_weights[numbers]
        means: Floats = np.tensordot(weights, covariances, axes=1)
        return 0.5 * (means + means.transpose(0, 2, 1))

    def transform(self, X: Any) -> Floats:
        """Return the logarithms of the powers of the filters' outputs, or the powers (``log``).

        Parameters
        ----------
        X : array-like, shape (epochs, channels, samples) or (epochs, channels, channels), or Epochs
            Epochs, or their covariances.

        Returns
        -------
        ndarray, shape (epochs, n_components)
        """
        check_is_fitted(self)
        data = self._read(X, fit=False)
        if are_symmetric_matrices(data):
            powers = ((self.filters_ @ data) * self.filters_).sum(axis=-1)
        else:
            outputs = self.filters_ @ data
            powers = outputs.var(axis=-1) if self.center else (outputs**2).mean(axis=-1)
        if not self.log:
            return np.asarray(powers)
        if not (powers > 0).all():
            i, k = np.argwhere(~(powers > 0))[0]
            raise ValueError(f"epoch {i} has zero power in the output of filter {k}")
        logs: Floats = np.log(powers)
        return logs

    def plot_patterns(
        self,
        *,
        info: Any = None,
        ch_type: str | None = None,
        columns: int = 5,
        show: bool = True,
        **topomap: Any,
    ) -> Any:
        """Plot the patterns as topographies, by MNE's function.

        Parameters
        ----------
        info : mne.Info, optional
            Channels with their positions, for a model that was fitted on arrays.
        ch_type, columns, show, **topomap
            As in :meth:`codiag.SourceSeparation.plot_patterns`.

        Returns
        -------
        matplotlib Figure
        """
        check_is_fitted(self)
        info = _mne.info_to_plot(info, getattr(self, "info_", None), self.n_features_in_)
        patterns = {f"CSP{k}": pattern for k, pattern in enumerate(self.patterns_)}
        return _mne.plot_patterns(patterns, info, ch_type, columns, show, topomap)

    def _read(self, X: Any, *, fit: bool) -> Floats:
        """Return epochs or covariances; with `fit` set the channels, otherwise check them."""
        info = None
        if _mne.is_instance(X):
            if X.get_data(picks=[0]).ndim != 3:
                raise TypeError("CSP needs Epochs, not Raw: cut it into epochs first")
            names = None if fit or not hasattr(self, "info_") else self.info_["ch_names"]
            if names is not None:
                missing = sorted(set(names) - set(X.ch_names))
                if missing:
                    raise ValueError(f"fitted channels are missing: {', '.join(missing)}")
            read = _mne.read(X, names)
            X, info = read.data, read.info
        data = real_array(X, "X")
        if data.ndim != 3 or 0 in data.shape:
            raise ValueError(
                "expected X of shape (epochs, channels, samples) or (epochs, channels, channels), "
                f"none of them 0, got shape {data.shape}{_shape_hint(data)}"
            )
        if not np.isfinite(data).all():
            i, channel, sample = np.argwhere(~np.isfinite(data))[0]
            value = data[i, channel, sample]
            raise ValueError(f"X[{i}, {channel}, {sample}] is {value}, not a finite number")
        if fit:
            self.__dict__.pop("info_", None)
            if info is not None:
                self.info_ = info
        elif data.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {data.shape[1]} channels, but CSP is expecting {self.n_features_in_} "
                "channels as input"
            )
        return data

    def _restore(self) -> None:
        """Convert loaded attributes to their types; a CSP needs no conversion."""

    @property
    def _n_features_out(self) -> int:
        return len(self.filters_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        return tags


def _shape_hint(data: Floats) -> str:
    """Return what helps if an array of another shape was passed."""
    if data.ndim == 2:
        return "; for a single epoch pass X[None]"
    return mne_epochs_hint(data)


def _classes(y: Any, count: int) -> tuple[Any, Any]:
    """Return the classes, and the number of the class of each epoch."""
    if y is None:
        raise ValueError(
            "CSP requires y to be passed, but the target y is None: pass one class label per epoch"
        )
    classes, numbers = class_labels(y, count)
    check_classification_targets(to_numpy(y))
    if len(classes) < 2:
        raise ValueError(f"CSP needs at least two classes, got {len(classes)} class")
    return classes, numbers


def _mutual_information(powers: Floats, frequencies: Floats) -> Floats:
    """Return the mutual information of the class and of components of unit mean power.

    For a class c of frequency p_c and power v_c, -sum p_c log(v_c)/2 - 3/16 (sum p_c (v_c² - 1))²:
    the approximation of Grosse-Wentrup and Buss (2008), as in MNE.
    """
    gaussian = 0.5 * frequencies @ np.log(powers)
    other: Floats = frequencies @ (powers**2 - 1)
    information: Floats = -(gaussian + 3 / 16 * other**2)
    return information
