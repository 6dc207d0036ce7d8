"""A scikit-learn estimator on sets of matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ._errors import OnFailure
from ._input import (
    Floats,
    Numbers,
    matrix_set,
    real_array,
    start_choice,
    weight_vector,
)
from ._result import Result
from ._saved import Savable
from ._shrinkage import Shrinkage, shrunk
from ._solve import diagonalize, loss
from ._tracker import Tracker

try:
    from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
    from sklearn.utils.validation import check_is_fitted
except ImportError:
    raise ImportError(
        "JointDiagonalizer needs scikit-learn: pip install 'codiag[sklearn]'"
    ) from None

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["JointDiagonalizer"]


class JointDiagonalizer(Savable, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Joint diagonalization as a transformer of symmetric matrices.

    Learns the filters that make a set of matrices as diagonal as can be; turns each matrix into the
    logarithms of its diagonal in that basis or, for criteria whose matrices need not be positive
    definite, into the diagonal itself. With pyRiemann's ``Covariances`` before it and any
    classifier after it, it makes a pipeline from epochs to labels.

    Parameters
    ----------
    criterion, method, start, orthogonal, rank, symmetrize, tol, max_iter, restarts
        As in :func:`codiag.diagonalize`.
    shrinkage : float or "auto"
        From 0 to 1: each matrix becomes (1 - s) C + s tr(C)/p I. "auto" finds s for each matrix, by
        the oracle approximating shrinkage, for as many samples as the set itself shows: how far
        its matrices are from being diagonal together tells. It is for covariances, and for
        :meth:`fit`.
    stability, order
        As in :func:`codiag.diagonalize`, for :meth:`fit`.
    threads, on_failure
        As in :func:`codiag.diagonalize`.
    window, forgetting
        As in :class:`codiag.Tracker`: what :meth:`partial_fit` remembers. :meth:`fit` does without.

    Attributes
    ----------
    B_ : ndarray, shape (r, p)
        The filters, one per row, as in :class:`codiag.Result`.
    A_ : ndarray, shape (p, r)
        The patterns, one per column: ``B_ @ A_`` is the identity.
    components_ : ndarray, shape (r, p)
        The same as ``B_``: scikit-learn's name for it.
    patterns_ : ndarray, shape (p, r)
        The same as ``A_``: the name that pyRiemann and MNE have for it.
    result_ : Result
        The whole answer; after :meth:`partial_fit`, that of the window.
    stability_ : ndarray, shape (r,), or None
        How surely each component comes again, as in :class:`codiag.Result`; None if nothing was
        tried.
    n_features_in_ : int
        The size p of the matrices.
    n_iter_ : int
        The number of iterations.
    n_samples_seen_ : int
        The number of matrices seen.

    Examples
    --------
    >>> import codiag
    >>> C, _ = codiag.datasets.synthetic(100, 5)
    >>> codiag.JointDiagonalizer().fit_transform(C).shape
    (100, 5)
    """

    B_: Floats
    A_: Floats
    result_: Result
    stability_: Floats | None
    n_features_in_: int
    n_iter_: int
    n_samples_seen_: int

    def __init__(
        self,
        *,
        criterion: str = "likelihood",
        method: str = "newton",
        start: str | ArrayLike = "spectral",
        orthogonal: bool = False,
        rank: str | int = "full",
        shrinkage: Shrinkage = 0.0,
        symmetrize: bool = False,
        tol: float = 1e-8,
        max_iter: int = 1000,
        restarts: int = 0,
        stability: int = 0,
        order: str = "contrast",
        window: int = 200,
        forgetting: float = 0.98,
        threads: int | None = None,
        on_failure: OnFailure = "warn",
    ) -> None:
        self.criterion = criterion
        self.method = method
        self.start = start
        self.orthogonal = orthogonal
        self.rank = rank
        self.shrinkage = shrinkage
        self.symmetrize = symmetrize
        self.tol = tol
        self.max_iter = max_iter
        self.restarts = restarts
        self.stability = stability
        self.order = order
        self.window = window
        self.forgetting = forgetting
        self.threads = threads
        self.on_failure = on_failure

    @property
    def components_(self) -> Floats:
        """The same as ``B_``: scikit-learn's name for it."""
        return self.B_

    @property
    def patterns_(self) -> Floats:
        """The same as ``A_``: the name that pyRiemann and MNE have for it."""
        return self.A_

    def fit(self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Diagonalize a set of matrices.

        Parameters
        ----------
        X : array-like, shape (n, p, p)
            The matrices.
        y : ignored
            For scikit-learn.
        sample_weight : array-like, shape (n,), optional
            How much each matrix counts.

        Returns
        -------
        self
        """
        data = matrix_set(X, "X")
        weights = weight_vector(sample_weight, "sample_weight")
        options, matrices = self._options(), data
        if isinstance(self.shrinkage, str):
            matrices, options["shrinkage"] = shrunk(data, self.shrinkage, weights), 0.0
        result = diagonalize(
            matrices,
            weights=weights,
            **options,
            restarts=self.restarts,
            stability=self.stability,
            order=self.order,
            threads=self.threads,
            on_failure=self.on_failure,
        )
        # What partial_fit goes on with.
        own = np.ones(len(data)) if weights is None else weights
        self._window = (data[-self.window :].copy(), own[-self.window :].copy())
        return self._accept(result, data, before=0)

    def partial_fit(
        self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Take in new matrices and update the filters, as :class:`codiag.Tracker` does.

        Minimizes the criterion over the last `window` matrices, those of :meth:`fit` included, with
        weights that fall by the factor `forgetting` for each matrix that came later, starting from
        the present filters: their order and signs stay. The cost does not depend on how many
        matrices came before. On a fresh estimator it is the first solve, as :meth:`fit`.

        Parameters
        ----------
        X : array-like, shape (n, p, p)
            The new matrices, the oldest first.
        y : ignored
            For scikit-learn.
        sample_weight : array-like, shape (n,), optional
            How much each matrix counts by itself.

        Returns
        -------
        self
        """
        data = matrix_set(X, "X")
        weights = weight_vector(sample_weight, "sample_weight")
        if isinstance(self.shrinkage, str):
            raise ValueError(
                "partial_fit takes a number for shrinkage: it sees few matrices at once"
            )
        tracker = Tracker(
            **self._options(),
            window=self.window,
            forgetting=self.forgetting,
            threads=self.threads,
            on_failure=self.on_failure,
        )
        before = 0
        if hasattr(self, "B_"):
            self._check_size(data)
            tracker._stand(*self._window, self.B_)
            before = self.n_samples_seen_
        result = tracker._push(data, weights, depth=4)
        self._window = tracker._state()[:2]
        return self._accept(result, data, before)

    def _options(self) -> dict[str, Any]:
        return {
            "criterion": self.criterion,
            "method": self.method,
            "start": start_choice(self.start),
            "orthogonal": self.orthogonal,
            "rank": self.rank,
            "shrinkage": self.shrinkage,
            "symmetrize": self.symmetrize,
            "tol": self.tol,
            "max_iter": self.max_iter,
        }

    def _accept(self, result: Result, data: Numbers, before: int) -> Self:
        self.result_ = result
        self.stability_ = result.stability
        self.n_features_in_ = data.shape[1]
        self.n_samples_seen_ = before + len(data)
        self.B_ = result.B
        self.A_ = result.A
        self.n_iter_ = result.n_iter
        return self

    def transform(self, X: ArrayLike) -> Floats:
        """Return the logarithms of the matrices' diagonals in the basis found.

        With another criterion than the likelihood, diagonals may be negative: it is they that are
        returned.

        Parameters
        ----------
        X : array-like, shape (n, p, p)
            The matrices.

        Returns
        -------
        ndarray, shape (n, r)
        """
        check_is_fitted(self)
        data = self._check_size(matrix_set(X, "X"))
        powers: Floats = ((self.B_ @ data) * self.B_.conj()).sum(axis=-1).real
        if not self._logarithmic:
            return powers
        if not (powers > 0).all():
            i, a = np.argwhere(~(powers > 0))[0]
            raise ValueError(
                f"matrix {i}: component {a} has power {powers[i, a]:.3e}, which has no logarithm; "
                "matrices must be positive definite"
            )
        logs: Floats = np.log(powers)
        return logs

    def inverse_transform(self, X: ArrayLike) -> Numbers:
        """Return the matrices that are diagonal in the basis found, with these diagonals.

        Parameters
        ----------
        X : array-like, shape (n, r)
            What :meth:`transform` returns.

        Returns
        -------
        ndarray, shape (n, p, p)
        """
        check_is_fitted(self)
        diagonals = real_array(X, "X")
        r = self._n_features_out
        if diagonals.ndim != 2 or diagonals.shape[1] != r:
            raise ValueError(f"expected X of shape (n, {r}), got shape {diagonals.shape}")
        if self._logarithmic:
            diagonals = np.exp(diagonals)
        matrices: Numbers = (self.A_ * diagonals[:, None, :]) @ self.A_.conj().T
        return matrices

    def score(self, X: ArrayLike, y: Any = None) -> float:
        """Return minus the loss of these matrices in the basis found: at most zero.

        Parameters
        ----------
        X : array-like, shape (n, p, p)
            The matrices, for instance ones that were not fitted.
        y : ignored
            For scikit-learn.

        Returns
        -------
        float
        """
        check_is_fitted(self)
        data = self._check_size(matrix_set(X, "X"))
        if not self._logarithmic:
            return -loss(data, self.B_, criterion=self.criterion)
        transformed = self.result_.transform(data)
        logs = np.log(np.diagonal(transformed, axis1=1, axis2=2).real).sum(axis=1)
        return float(-0.5 * np.mean(logs - np.linalg.slogdet(transformed)[1]))

    def _restore(self) -> None:
        """Bring what a file held to its own types."""
        matrices, weights = self._window
        self._window = (matrices, weights)

    def _check_size(self, data: Numbers) -> Numbers:
        if data.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {data.shape[1]} features, but JointDiagonalizer is expecting "
                f"{self.n_features_in_} features as input"
            )
        return data

    @property
    def _logarithmic(self) -> bool:
        """Whether diagonals are positive, so that their logarithms are the features."""
        return self.criterion == "likelihood"

    @property
    def _n_features_out(self) -> int:
        return len(self.B_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        tags.input_tags.positive_only = False
        return tags
