"""Common spatial patterns of any number of classes, as classifiers use them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from . import _core, _mne
from ._errors import OnFailure
from ._input import Floats, real_array, start_choice, usable_threads, weight_vector
from ._result import Result
from ._saved import Savable
from ._shrinkage import Shrinkage, shrunk
from ._signals import scale_choice
from ._solve import diagonalize

try:
    from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
    from sklearn.utils.validation import check_is_fitted
except ImportError:
    raise ImportError("CSP needs scikit-learn: pip install 'codiag[sklearn]'") from None

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["CSP"]


class CSP(Savable, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Common spatial patterns: filters whose output has another power in each class.

    The covariances of the classes are diagonalized together: exactly for two classes, as well as
    can be for more [1]_. Filters are ranked by how much their output tells about the class (the
    mutual information, as in MNE's CSP), and the best are kept; :meth:`transform` returns the
    logarithms of the powers of their outputs, for any classifier.

    Parameters
    ----------
    n_filters : int
        How many filters are kept; all, if there are fewer.
    log : bool
        Whether features are logarithms of powers, or powers.
    shrinkage : float, "auto", "ledoit-wolf" or "oas"
        How far the covariances are drawn towards a multiple of the identity, for epochs that are
        short or few: a share from 0 to 1, or as :func:`codiag.epoch_covariances` finds it. "auto"
        for covariances, instead of epochs, is as in :class:`codiag.JointDiagonalizer`.
    center : bool
        Whether the mean of every epoch is taken off. Filtered epochs have none.
    rank : {"auto", "full"} or int
        Whether covariances are reduced first, as in :func:`codiag.diagonalize`: "auto" if they
        share a null space, as after an average reference.
    class_weights : {"observed", "equal"}
        Whether classes count by their numbers of epochs or all alike.
    method, tol, max_iter, restarts, threads, on_failure
        As in :func:`codiag.diagonalize`.
    start : {"spectral", "whitener", "identity"} or array-like, shape (r, channels)
        Where the iteration starts: ``all_filters_`` of a group, for one of its subjects.

    Attributes
    ----------
    filters_ : ndarray, shape (n_filters, channels)
        The filters kept, one per row, the one that tells most first; of unit mean power.
    patterns_ : ndarray, shape (channels, n_filters)
        Their patterns, one per column.
    mutual_information_ : ndarray, shape (n_filters,)
        How much the output of each filter tells about the class, in nats, in the approximation of
        [1]_: zero if its power is the same in all.
    powers_ : ndarray, shape (classes, n_filters)
        The power of each output in each class.
    classes_ : ndarray
        The classes, sorted.
    all_filters_ : ndarray, shape (r, channels)
        All filters, in the same order.
    result_ : Result
        The solver's whole answer, in its own order.
    n_features_in_ : int
        The number of channels.
    n_iter_ : int
        The number of iterations.
    info_ : mne.Info
        The channels, if fitted on MNE's Epochs.

    References
    ----------
    .. [1] M. Grosse-Wentrup and M. Buss, "Multiclass common spatial patterns and information
       theoretic feature extraction", IEEE Transactions on Biomedical Engineering 55, 2008.

    Examples
    --------
    >>> import codiag, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> labels = np.repeat(["left", "right", "feet"], 20)
    >>> powers = np.array([[4, 1, 1, 1], [1, 4, 1, 1], [1, 1, 4, 1]])[np.repeat([0, 1, 2], 20)]
    >>> sources = np.sqrt(powers)[:, :, None] * rng.standard_normal((60, 4, 200))
    >>> epochs = rng.standard_normal((4, 4)) @ sources
    >>> csp = codiag.CSP(n_filters=3).fit(epochs, labels)
    >>> csp.transform(epochs).shape
    (60, 3)
    >>> bool(csp.mutual_information_.min() > 0.05)
    True
    """

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

    def __init__(
        self,
        n_filters: int = 4,
        *,
        log: bool = True,
        shrinkage: Shrinkage = 0.0,
        center: bool = True,
        rank: str | int = "auto",
        class_weights: str = "observed",
        method: str = "newton",
        start: str | ArrayLike = "spectral",
        tol: float = 1e-8,
        max_iter: int = 1000,
        restarts: int = 0,
        threads: int | None = None,
        on_failure: OnFailure = "warn",
    ) -> None:
        self.n_filters = n_filters
        self.log = log
        self.shrinkage = shrinkage
        self.center = center
        self.rank = rank
        self.class_weights = class_weights
        self.method = method
        self.start = start
        self.tol = tol
        self.max_iter = max_iter
        self.restarts = restarts
        self.threads = threads
        self.on_failure = on_failure

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Find the filters.

        Parameters
        ----------
        X : array-like, shape (epochs, channels, samples) or (epochs, channels, channels), or Epochs
            The epochs, filtered to the band of interest, or their covariances.
        y : array-like, shape (epochs,)
            The class of each epoch.
        sample_weight : array-like, shape (epochs,), optional
            How much each epoch counts.

        Returns
        -------
        self
        """
        if self.n_filters < 1:
            raise ValueError(f"n_filters must be at least 1, got {self.n_filters}")
        if self.class_weights not in ("observed", "equal"):
            raise ValueError(
                f'class_weights must be "observed" or "equal", got {self.class_weights!r}'
            )
        data = self._read(X, fit=True)
        classes, numbers = _labels(y, len(data))
        weights = weight_vector(sample_weight, "sample_weight")
        own = np.ones(len(data)) if weights is None else weights
        if len(own) != len(data) or not np.all(own >= 0):
            raise ValueError(
                f"sample_weight must be {len(data)} numbers that are not negative, one per epoch"
            )
        counted = np.bincount(numbers, weights=own, minlength=len(classes))
        shares: Floats = counted.astype(np.float64)
        if not np.all(shares > 0):
            empty = classes[~(shares > 0)][0]
            raise ValueError(f"the weights of all epochs of class {empty!r} are zero")
        means = self._class_means(data, numbers, own, shares)
        if self.class_weights == "equal":
            shares = np.ones(len(classes))
        result = diagonalize(means, weights=shares, **self._options(), on_failure=self.on_failure)
        self.result_ = result
        self.classes_ = classes
        self.n_features_in_ = data.shape[1]
        self.n_iter_ = max(1, result.n_iter)  # two classes take none
        information = _mutual_information(result.powers, shares / shares.sum())
        order = np.argsort(-information, kind="stable")
        kept = order[: self.n_filters]
        self.all_filters_ = result.B[order]
        self.filters_, self.patterns_ = result.B[kept], result.A[:, kept]
        self.mutual_information_ = information[kept]
        self.powers_ = result.powers[:, kept]
        return self

    def _options(self) -> dict[str, Any]:
        return {
            "method": self.method,
            "start": start_choice(self.start),
            "rank": self.rank,
            "tol": self.tol,
            "max_iter": self.max_iter,
            "restarts": self.restarts,
            "threads": self.threads,
        }

    def _class_means(self, data: Floats, numbers: Any, own: Floats, shares: Floats) -> Floats:
        """Return the mean covariance of each class."""
        if _are_covariances(data):
            covariances = shrunk(data, self.shrinkage)
        else:
            options = {
                "center": self.center,
                "scale": scale_choice(None),
                "shrinkage": self.shrinkage,
                "threads": usable_threads(self.threads),
            }
            if np.all(own == own[0]):
                return _core.epoch_covariances(data, numbers.tolist(), options)[0]
            # Epochs that count differently have covariances of their own.
            covariances = _core.epoch_covariances(data, None, options)[0]
        weights = np.zeros((len(shares), len(data)))
        weights[numbers, np.arange(len(data))] = own / shares[numbers]
        means: Floats = np.tensordot(weights, covariances, axes=1)
        return 0.5 * (means + means.transpose(0, 2, 1))

    def transform(self, X: Any) -> Floats:
        """Return the logarithms of the powers of the filters' outputs, or the powers.

        Parameters
        ----------
        X : array-like, shape (epochs, channels, samples) or (epochs, channels, channels), or Epochs
            The epochs, or their covariances.

        Returns
        -------
        ndarray, shape (epochs, n_filters)
        """
        check_is_fitted(self)
        data = self._read(X, fit=False)
        if _are_covariances(data):
            powers = ((self.filters_ @ data) * self.filters_).sum(axis=-1)
        else:
            outputs = self.filters_ @ data
            powers = outputs.var(axis=-1) if self.center else (outputs**2).mean(axis=-1)
        if not self.log:
            return np.asarray(powers)
        if not (powers > 0).all():
            i, k = np.argwhere(~(powers > 0))[0]
            raise ValueError(f"epoch {i} has no power in the output of filter {k}")
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
        """Plot the patterns of the filters kept as topographies, by MNE's own function.

        Parameters
        ----------
        info : mne.Info, optional
            The channels and their places, if it was fitted on arrays.
        ch_type, columns, show, **topomap
            As in :meth:`codiag.SourceSeparation.plot_patterns`.

        Returns
        -------
        matplotlib Figure
        """
        check_is_fitted(self)
        info = _mne.info_to_plot(info, getattr(self, "info_", None), self.n_features_in_)
        patterns = {f"CSP{k}": pattern for k, pattern in enumerate(self.patterns_.T)}
        return _mne.plot_patterns(patterns, info, ch_type, columns, show, topomap)

    def _read(self, X: Any, *, fit: bool) -> Floats:
        """Return epochs or covariances; what they were fitted on is kept or compared with."""
        info = None
        if _mne.is_instance(X):
            if X.get_data(picks=[0]).ndim != 3:
                raise TypeError("CSP takes Epochs, not Raw: cut it into epochs first")
            names = None if fit or not hasattr(self, "info_") else self.info_["ch_names"]
            if names is not None:
                missing = sorted(set(names) - set(X.ch_names))
                if missing:
                    raise ValueError(
                        f"channels that were fitted are not there: {', '.join(missing)}"
                    )
            read = _mne.read(X, names)
            X, info = read.data, read.info
        data = real_array(X, "X")
        if data.ndim != 3 or 0 in data.shape:
            raise ValueError(
                "expected X of shape (epochs, channels, samples) or (epochs, channels, channels), "
                f"none of them 0, got shape {data.shape}"
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
        """Nothing is kept in another form in files."""

    @property
    def _n_features_out(self) -> int:
        return len(self.filters_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        return tags


def _are_covariances(data: Floats) -> bool:
    """Whether these are symmetric matrices, as no epochs are."""
    if data.shape[1] != data.shape[2]:
        return False
    size = np.abs(data).max(axis=(1, 2))
    return bool((np.abs(data - data.transpose(0, 2, 1)).max(axis=(1, 2)) <= 1e-8 * size).all())


def _labels(y: ArrayLike, count: int) -> tuple[Any, Any]:
    """Return the classes, and the number of that of each epoch."""
    labels = np.asarray(y)
    if labels.shape != (count,):
        raise ValueError(f"expected one label per epoch, {count}, got y of shape {labels.shape}")
    classes, numbers = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"CSP needs at least two classes, got {len(classes)} class")
    return classes, numbers


def _mutual_information(powers: Floats, shares: Floats) -> Floats:
    """Return how much components of unit mean power tell about the class.

    For a class c of probability p_c and power v_c, -sum p_c log(v_c)/2 - 3/16 (sum p_c (v_c² -
    1))²: the approximation of Grosse-Wentrup and Buss (2008), as in MNE.
    """
    gaussian = 0.5 * shares @ np.log(powers)
    other: Floats = shares @ (powers**2 - 1)
    information: Floats = -(gaussian + 3 / 16 * other**2)
    return information
