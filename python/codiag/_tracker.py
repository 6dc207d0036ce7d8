"""Joint diagonalization of matrices that arrive one after the other."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _core
from ._arrays import init_choice, matrix_set, to_numpy, usable_n_jobs, weight_vector
from ._errors import check_on_failure, describe, failed, report
from ._keywords import suggests_keywords
from ._result import Result
from ._typing import (
    ArrayInput,
    Criterion,
    Floats,
    Init,
    Method,
    NComponents,
    Numbers,
    OnFailure,
)


class Tracker:
    r"""Filters of matrices that arrive one after the other.

    Keeps the last `window` matrices. Each :meth:`push` adds new ones, drops the oldest, and updates
    B, starting from its last value, to the minimizer of

    .. math:: L_t(B) = \frac12 \sum_i w_i [\sum_a \log D^i_{aa} - \log\det D^i],
        \quad D^i = B C^i B^H, \quad w_i \propto u_i \lambda^{t-i}, \quad t - m < i \le t,

    the criterion of :func:`codiag.diagonalize` on the window of m matrices, with weights that
    decrease with age: :math:`\lambda` is `forgetting`, :math:`u_i` the weight given to the matrix.

    An update takes two or three Newton iterations on the window, more if components are nearly
    unidentifiable. Its cost depends on the window, not on the number of earlier matrices.
    Components keep their row and sign (if complex, their phase): each is the one whose output
    correlates most with that of the component in its row before. Their scale is such that their
    mean power over the window is 1.

    Parameters
    ----------
    window : int
        Number of matrices that are kept (default 200).
    forgetting : float
        Factor, above 0 and at most 1, by which the weight of a matrix decreases with each later
        matrix (default 0.98). The effective number of matrices is about ``1 / (1 - forgetting)``.
        A larger one reduces the noise of B, and delays it.
    criterion, method, init, orthogonal, n_components, shrinkage, symmetrize, n_jobs
        As in :func:`codiag.diagonalize`. `init` and ``n_components="auto"`` concern the first push.
        If `init` is a matrix, components are in the order of its rows.
    tol : float
        Gradient norm below which an update has converged (default 1e-6).
    max_iter : int
        Largest number of iterations of an update (default 100). With 1, an update costs one Newton
        step, and B lags slightly behind the minimizer.
    on_failure : {"warn", "raise", "ignore"}
        Reaction to an update that does not converge (default "warn"). The next update starts where
        it ended.

    Attributes
    ----------
    result : Result or None
        Result of the last push, for the matrices of the window; None before the first.

    Examples
    --------
    >>> import codiag
    >>> C, A = codiag.datasets.synthetic(100, 5, sigma=0)
    >>> tracker = codiag.Tracker(window=50)
    >>> for matrix in C:
    ...     result = tracker.push(matrix)
    >>> len(tracker)
    50
    >>> codiag.amari_distance(tracker.B, A) < 1e-6
    True
    """

    result: Result | None

    @suggests_keywords
    def __init__(
        self,
        *,
        window: int = 200,
        forgetting: float = 0.98,
        criterion: Criterion = "likelihood",
        method: Method = "newton",
        init: Init = "spectral",
        orthogonal: bool = False,
        n_components: NComponents = None,
        shrinkage: float = 0.0,
        symmetrize: bool = False,
        tol: float = 1e-6,
        max_iter: int = 100,
        n_jobs: int | None = None,
        on_failure: OnFailure = "warn",
    ) -> None:
        check_on_failure(on_failure)
        self._options: dict[str, Any] = {
            "window": window,
            "forgetting": forgetting,
            "criterion": criterion,
            "method": method,
            "init": init_choice(init),
            "orthogonal": orthogonal,
            "n_components": n_components,
            "shrinkage": shrinkage,
            "symmetrize": symmetrize,
            "tol": tol,
            "max_iter": max_iter,
        }
        self._on_failure = on_failure
        self._n_jobs = n_jobs
        self._used_n_jobs = usable_n_jobs(n_jobs)
        self._tracker: _core.Tracker | None = None
        self.result = None
        # Check the options now, for matrices of any size.
        _core.Tracker(1, self._all_options(), False)

    def _all_options(self) -> dict[str, Any]:
        return {**self._options, "n_jobs": self._used_n_jobs}

    def _resume(self, matrices: Numbers, weights: Floats, B: Numbers | None) -> None:
        """Continue from a window and its B."""
        self._tracker = _core.Tracker.resume(self._all_options(), matrices, weights, B)

    def _state(self) -> tuple[Numbers, Floats, Numbers | None]:
        """Return the window and its B, from which another tracker can continue."""
        if self._tracker is None:
            return np.empty((0, 0, 0)), np.empty(0), None
        return self._tracker.state()

    @suggests_keywords
    def push(self, C: ArrayInput, sample_weight: ArrayInput | None = None) -> Result:
        """Add one matrix or several, and update B once.

        Parameters
        ----------
        C : array-like, shape (p, p) or (n, p, p)
            New matrices, the oldest first. From the first complex one on, all are treated as
            complex.
        sample_weight : array-like, shape (n,), optional
            Weight of each matrix, without the forgetting (default 1).

        Returns
        -------
        Result
            Result for the matrices of the window, the oldest first.

        Raises
        ------
        ValueError
            If a matrix is invalid. The tracker is then unchanged.

        Notes
        -----
        Ctrl-C interrupts the update: the matrices have been added, the next push continues from the
        best B so far, and `result` is still that of the previous push.
        """
        return self._push(C, sample_weight, depth=5)

    def _push(self, C: ArrayInput, weights: ArrayInput | None, depth: int) -> Result:
        array = C if isinstance(C, np.ndarray) else to_numpy(C)
        is_single = array.ndim == 2 and array.shape[0] == array.shape[1]
        data = matrix_set(array[None] if is_single else array)
        vector = None if weights is None else weight_vector(np.atleast_1d(to_numpy(weights)))
        is_complex = data.dtype.kind == "c"
        tracker = self._current()
        if tracker is None:
            tracker = _core.Tracker(data.shape[1], self._all_options(), is_complex)
        elif tracker.is_complex and not is_complex:
            data = data.astype(np.complex128)
        elif is_complex and not tracker.is_complex:
            tracker = self._as_complex(tracker)
        added = True
        try:
            self.result = Result(tracker.push(data, vector))
        except ValueError:
            added = False
            raise
        finally:
            # Invalid matrices do not determine the size and type of later ones.
            if added and len(tracker.decayed_weights()) > 0:
                self._tracker = tracker
        if failed(self.result):
            message = describe(self.result, self._options["tol"])
            report(message, self._on_failure, self.result, depth=depth)
        return self.result

    def _as_complex(self, tracker: _core.Tracker) -> _core.Tracker:
        matrices, weights, B = tracker.state()
        B = None if B is None else B.astype(np.complex128)
        matrices = matrices.astype(np.complex128)
        return _core.Tracker.resume(self._all_options(), matrices, weights, B)

    def _current(self) -> _core.Tracker | None:
        n_jobs = usable_n_jobs(self._n_jobs)
        if n_jobs != self._used_n_jobs:
            # This process was forked from the one that made the tracker.
            self._used_n_jobs = n_jobs
            if self._tracker is not None:
                self._resume(*self._state())
        return self._tracker

    def __len__(self) -> int:
        """Return the number of matrices in the window."""
        return 0 if self._tracker is None else len(self._tracker.decayed_weights())

    @property
    def B(self) -> Numbers:
        """Filters, one per row."""
        return self._last().B

    @property
    def A(self) -> Numbers:
        """Patterns, one per column."""
        return self._last().A

    def _last(self) -> Result:
        if self.result is None:
            raise AttributeError("the tracker has no filters yet: push matrices first")
        return self.result

    @property
    def matrices(self) -> Numbers:
        """Copy of the matrices of the window, the oldest first."""
        return self._state()[0]

    @property
    def weights(self) -> Floats:
        """Weights of the matrices of the window, including the forgetting; their sum is 1."""
        weights = np.empty(0) if self._tracker is None else self._tracker.decayed_weights()
        normalized: Floats = weights / weights.sum()
        return normalized

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        state["_tracker"] = None if self._tracker is None else self._state()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._used_n_jobs = usable_n_jobs(self._n_jobs)
        if state["_tracker"] is not None:
            self._resume(*state["_tracker"])

    def __repr__(self) -> str:
        window, forgetting = self._options["window"], self._options["forgetting"]
        seen = f"{len(self)} of {window} matrices"
        status = "" if self.result is None else f", {self.result.status}"
        return f"<codiag.Tracker: {seen}, forgetting {forgetting:g}{status}>"
