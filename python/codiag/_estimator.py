"""Joint diagonalization as a scikit-learn transformer of matrices."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ._arrays import init_choice, matrix_set, real_array, weight_vector
from ._errors import check_on_failure, describe, failed, report
from ._result import Result
from ._shrinkage import shrunk
from ._sklearn import (
    ClassNamePrefixFeaturesOutMixin,
    Estimator,
    TransformerMixin,
    check_is_fitted,
    suggests_parameters,
)
from ._solve import diagonalize, loss
from ._tracker import Tracker
from ._typing import (
    ArrayInput,
    Criterion,
    Floats,
    Init,
    Method,
    NComponents,
    Numbers,
    OnFailure,
    Shrinkage,
    SortBy,
)

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["JointDiagonalizer"]


class _Fitted:
    components_: Numbers
    mixing_: Numbers
    result_: Result
    stability_: Floats | None
    n_features_in_: int
    n_iter_: int
    n_samples_seen_: int


@suggests_parameters
@dataclass(eq=False, repr=False)
class JointDiagonalizer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator, _Fitted):
    """Joint diagonalization as a transformer of symmetric matrices.

    Learns the filters that make a set of matrices as diagonal as possible. Transforms each matrix
    into the logarithms of its diagonal in that basis or, for criteria whose matrices need not be
    positive definite, into the diagonal itself. Between pyRiemann's ``Covariances`` and any
    classifier, it makes a pipeline from epochs to labels.

    Parameters
    ----------
    criterion, method, init, orthogonal, n_components, symmetrize, tol, max_iter, n_restarts
        Options of the solver, as in :func:`codiag.diagonalize`.
    shrinkage : float or "auto"
        Amount s from 0 to 1 (default 0) by which each matrix is shrunk: C becomes
        (1 - s) C + s tr(C)/p I. "auto", for covariances and :meth:`fit` only, estimates s for each
        matrix by oracle approximating shrinkage. It infers the number of samples from how far the
        matrices are from being jointly diagonal.
    n_resamples, sort_by
        As in :func:`codiag.diagonalize`, for :meth:`fit`.
    n_jobs, on_failure
        As in :func:`codiag.diagonalize`.
    window, forgetting
        As in :class:`codiag.Tracker`, for :meth:`partial_fit`.

    Attributes
    ----------
    components_ : ndarray, shape (r, p)
        Filters, one per row, as ``B`` of :class:`codiag.Result`.
    mixing_ : ndarray, shape (p, r)
        Patterns, one per column: ``components_ @ mixing_`` is the identity.
    filters_, patterns_ : ndarray, shape (r, p)
        ``components_`` and the transpose of ``mixing_``: one component per row, as in MNE and
        pyRiemann.
    result_ : Result
        Complete result; after :meth:`partial_fit`, that of the window.
    stability_ : ndarray, shape (r,), or None
        Stability of each component, as in :class:`codiag.Result`; None without resamples and
        restarts.
    n_features_in_ : int
        Size p of the matrices.
    n_iter_ : int
        Number of iterations.
    n_samples_seen_ : int
        Number of matrices seen.

    Examples
    --------
    >>> import codiag
    >>> C, _ = codiag.datasets.synthetic(100, 5)
    >>> codiag.JointDiagonalizer().fit_transform(C).shape
    (100, 5)
    """

    _: KW_ONLY
    criterion: Criterion = "likelihood"
    method: Method = "newton"
    init: Init = "spectral"
    orthogonal: bool = False
    n_components: NComponents = None
    shrinkage: Shrinkage = 0.0
    symmetrize: bool = False
    tol: float = 1e-8
    max_iter: int = 1000
    n_restarts: int = 0
    n_resamples: int = 0
    sort_by: SortBy = "contrast"
    window: int = 200
    forgetting: float = 0.98
    n_jobs: int | None = None
    on_failure: OnFailure = "warn"

    @property
    def filters_(self) -> Numbers:
        """Filters, one component per row: another name of ``components_``."""
        return self.components_

    @property
    def patterns_(self) -> Numbers:
        """Patterns, one component per row: the transpose of ``mixing_``."""
        return self.mixing_.T

    def fit(self, X: ArrayInput, y: Any = None, sample_weight: ArrayInput | None = None) -> Self:
        """Diagonalize a set of matrices.

        Parameters
        ----------
        X : array-like, shape (n, p, p)
            Matrices.
        y : ignored
            Exists for compatibility with scikit-learn.
        sample_weight : array-like, shape (n,), optional
            Weight of each matrix (default: equal weights).

        Returns
        -------
        self
        """
        check_on_failure(self.on_failure)
        data = matrix_set(X, "X")
        weights = weight_vector(sample_weight, "sample_weight")
        options, matrices = self._options(), data
        if isinstance(self.shrinkage, str):
            matrices, options["shrinkage"] = shrunk(data, self.shrinkage, weights), 0.0
        result = diagonalize(
            matrices,
            sample_weight=weights,
            **options,
            n_restarts=self.n_restarts,
            n_resamples=self.n_resamples,
            sort_by=self.sort_by,
            n_jobs=self.n_jobs,
            on_failure="ignore",
        )
        if failed(result):
            report(describe(result, self.tol), self.on_failure, result)
        # The window from which partial_fit continues.
        own = np.ones(len(data)) if weights is None else weights
        self._window = (data[-self.window :].copy(), own[-self.window :].copy())
        return self._accept(result, data, before=0)

    def partial_fit(
        self, X: ArrayInput, y: Any = None, sample_weight: ArrayInput | None = None
    ) -> Self:
        """Add new matrices to the window and update the filters, as :class:`codiag.Tracker` does.

        Minimizes the criterion over the last `window` matrices, including those of :meth:`fit`. The
        weight of a matrix decreases by the factor `forgetting` with each later matrix. The solve
        starts from the present filters, whose order and signs are kept. Its cost does not depend on
        the number of earlier matrices. On an unfitted estimator it is the first solve.

        Parameters
        ----------
        X : array-like, shape (n, p, p)
            New matrices, the oldest first.
        y : ignored
            Exists for compatibility with scikit-learn.
        sample_weight : array-like, shape (n,), optional
            Weight of each matrix, without the forgetting (default: equal weights).

        Returns
        -------
        self
        """
        data = matrix_set(X, "X")
        weights = weight_vector(sample_weight, "sample_weight")
        if isinstance(self.shrinkage, str):
            raise ValueError(
                "partial_fit needs a number for shrinkage: it has too few matrices to estimate it"
            )
        tracker = Tracker(
            **self._options(),
            window=self.window,
            forgetting=self.forgetting,
            n_jobs=self.n_jobs,
            on_failure=self.on_failure,
        )
        before = 0
        if hasattr(self, "components_"):
            self._check_size(data)
            tracker._resume(*self._window, self.components_)
            before = self.n_samples_seen_
        result = tracker._push(data, weights, depth=4)
        self._window = tracker._state()[:2]
        return self._accept(result, data, before)

    def _options(self) -> dict[str, Any]:
        return {
            "criterion": self.criterion,
            "method": self.method,
            "init": init_choice(self.init),
            "orthogonal": self.orthogonal,
            "n_components": self.n_components,
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
        self.components_ = result.B
        self.mixing_ = result.A
        self.n_iter_ = result.n_iter
        return self

    def transform(self, X: ArrayInput) -> Floats:
        """Return the logarithms of the matrices' diagonals in the basis found.

        With other criteria than the likelihood, diagonals may be negative and are returned
        themselves.

        Parameters
        ----------
        X : array-like, shape (n, p, p)
            Matrices.

        Returns
        -------
        ndarray, shape (n, r)
        """
        check_is_fitted(self)
        data = self._check_size(matrix_set(X, "X"))
        powers: Floats = ((self.components_ @ data) * self.components_.conj()).sum(axis=-1).real
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

    def inverse_transform(self, X: ArrayInput) -> Numbers:
        """Return the matrices that are diagonal in the basis found, with these diagonals.

        Parameters
        ----------
        X : array-like, shape (n, r)
            Features, as returned by :meth:`transform`.

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
        matrices: Numbers = (self.mixing_ * diagonals[:, None, :]) @ self.mixing_.conj().T
        return matrices

    def score(self, X: ArrayInput, y: Any = None) -> float:
        """Return the negative loss of matrices in the basis found, which is at most zero.

        Parameters
        ----------
        X : array-like, shape (n, p, p)
            The matrices, for instance ones that were not fitted.
        y : ignored
            Exists for compatibility with scikit-learn.

        Returns
        -------
        float
        """
        check_is_fitted(self)
        data = self._check_size(matrix_set(X, "X"))
        if not self._logarithmic:
            return -loss(data, self.components_, criterion=self.criterion)
        transformed = self.result_.transform(data)
        logs = np.log(np.diagonal(transformed, axis1=1, axis2=2).real).sum(axis=1)
        return float(-0.5 * np.mean(logs - np.linalg.slogdet(transformed)[1]))

    def _restore(self) -> None:
        """Convert what a file held to its own types."""
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
        """Whether the features are logarithms, because diagonals are positive."""
        return self.criterion == "likelihood"

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        tags.input_tags.positive_only = False
        return tags
