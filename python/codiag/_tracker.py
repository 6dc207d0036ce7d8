"""Matrices that keep arriving."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from . import _core
from ._errors import OnFailure, check_choice, describe, failed, report
from ._input import Floats, Numbers, matrix_set, start_choice, usable_threads, weight_vector
from ._result import Result, from_fields


class Tracker:
    r"""Follows the filters of matrices that keep arriving.

    Keeps the last `window` matrices. Each :meth:`push` takes new ones in, lets the oldest go, and
    moves B from where it stands to the minimizer of

    .. math:: L_t(B) = \frac12 \sum_i w_i [\sum_a \log D^i_{aa} - \log\det D^i],
        \quad D^i = B C^i B^H, \quad w_i \propto u_i \lambda^{t-i}, \quad t - m < i \le t,

    the criterion of :func:`codiag.diagonalize` on the window of m matrices, which count the less
    the older they are: :math:`\lambda` is `forgetting`, :math:`u_i` the matrix's own weight.

    An update takes two or three Newton iterations on the window, more where components can hardly
    be told apart. Its cost depends on the window, never on how many matrices came before.
    Components keep their row and sign (if complex, their phase): each is the one whose output
    correlates most with that of its row before. Only their scale follows the window, in which their
    mean power is 1.

    Parameters
    ----------
    window : int
        How many matrices are kept.
    forgetting : float
        Above 0 and at most 1: how much less a matrix counts for each one that came after it. About
        ``1 / (1 - forgetting)`` matrices count. The more do, the less noise there is in B, and the
        later B follows.
    criterion, method, start, orthogonal, rank, shrinkage, symmetrize, threads
        As in :func:`codiag.diagonalize`. `start` is that of the first push; ``rank="auto"`` is
        decided there. With a matrix for `start`, components come in the order of its rows.
    tol : float
        The gradient norm at which an update has converged.
    max_iter : int
        The largest number of iterations of one update. With 1, an update costs one Newton step, and
        B lags a little behind the minimizer.
    on_failure : {"warn", "raise", "ignore"}
        What to do if an update does not converge. The tracker goes on from where it ended.

    Attributes
    ----------
    result : Result or None
        The answer of the last push, for the matrices of the window; None before the first.

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

    def __init__(
        self,
        *,
        window: int = 200,
        forgetting: float = 0.98,
        criterion: str = "likelihood",
        method: str = "newton",
        start: str | ArrayLike = "spectral",
        orthogonal: bool = False,
        rank: str | int = "full",
        shrinkage: float = 0.0,
        symmetrize: bool = False,
        tol: float = 1e-6,
        max_iter: int = 100,
        threads: int | None = None,
        on_failure: OnFailure = "warn",
    ) -> None:
        check_choice(on_failure)
        self._options: dict[str, Any] = {
            "window": window,
            "forgetting": forgetting,
            "criterion": criterion,
            "method": method,
            "start": start_choice(start),
            "orthogonal": orthogonal,
            "rank": rank,
            "shrinkage": shrinkage,
            "symmetrize": symmetrize,
            "tol": tol,
            "max_iter": max_iter,
        }
        self._on_failure = on_failure
        self._threads = threads
        self._used_threads = usable_threads(threads)
        self._tracker: _core.Tracker | None = None
        self.result = None
        # Options are looked at now, whatever size the matrices will have.
        _core.Tracker(1, self._all_options(), False)

    def _all_options(self) -> dict[str, Any]:
        return {**self._options, "threads": self._used_threads}

    def _stand(self, matrices: Numbers, weights: Floats, B: Numbers | None) -> None:
        """Take over a window and its B."""
        self._tracker = _core.Tracker.resume(self._all_options(), matrices, weights, B)

    def _state(self) -> tuple[Numbers, Floats, Numbers | None]:
        """Return the window and its B, for another tracker to take over."""
        if self._tracker is None:
            return np.empty((0, 0, 0)), np.empty(0), None
        return self._tracker.state()

    def push(self, C: ArrayLike, weights: ArrayLike | None = None) -> Result:
        """Take in one matrix or several, and update B once.

        Parameters
        ----------
        C : array-like, shape (p, p) or (n, p, p)
            The new matrices, the oldest first. From the first complex one on, all are taken as
            complex.
        weights : array-like, shape (n,), optional
            How much each of them counts by itself, 1 by default.

        Returns
        -------
        Result
            For the matrices of the window, the oldest first.

        Raises
        ------
        ValueError
            If a matrix is not as it should be. The tracker is then as it was.

        Notes
        -----
        Ctrl-C stops the update: the matrices have been taken in, the next push goes on from the
        best B so far, and `result` is still that of the push before.
        """
        return self._push(C, weights, depth=4)

    def _push(self, C: ArrayLike, weights: ArrayLike | None, depth: int) -> Result:
        shape = np.shape(C)
        data = matrix_set(np.expand_dims(C, 0) if len(shape) == 2 and shape[0] == shape[1] else C)
        vector = None if weights is None else weight_vector(np.atleast_1d(weights))
        is_complex = data.dtype.kind == "c"
        tracker = self._present()
        if tracker is None:
            tracker = _core.Tracker(data.shape[1], self._all_options(), is_complex)
        elif tracker.is_complex and not is_complex:
            data = data.astype(np.complex128)
        elif is_complex and not tracker.is_complex:
            tracker = self._as_complex(tracker)
        try:
            self.result = from_fields(tracker.push(data, vector))
        finally:
            # Matrices that were refused do not decide the size of those to come.
            if len(tracker.decayed_weights()) > 0:
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

    def _present(self) -> _core.Tracker | None:
        threads = usable_threads(self._threads)
        if threads != self._used_threads:
            # This process has been forked from the one that made the tracker.
            self._used_threads = threads
            if self._tracker is not None:
                self._stand(*self._state())
        return self._tracker

    def __len__(self) -> int:
        """Return how many matrices the window holds."""
        return 0 if self._tracker is None else len(self._tracker.decayed_weights())

    @property
    def B(self) -> Numbers:
        """The filters, one per row."""
        return self._last().B

    @property
    def A(self) -> Numbers:
        """The patterns, one per column."""
        return self._last().A

    def _last(self) -> Result:
        if self.result is None:
            raise AttributeError("the tracker has no filters yet: push matrices first")
        return self.result

    @property
    def matrices(self) -> Numbers:
        """The matrices of the window, the oldest first: a copy."""
        return self._state()[0]

    @property
    def weights(self) -> Floats:
        """How much they count, older ones less; the sum is 1."""
        weights = np.empty(0) if self._tracker is None else self._tracker.decayed_weights()
        shares: Floats = weights / weights.sum()
        return shares

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        state["_tracker"] = None if self._tracker is None else self._state()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._used_threads = usable_threads(self._threads)
        if state["_tracker"] is not None:
            self._stand(*state["_tracker"])

    def __repr__(self) -> str:
        window, forgetting = self._options["window"], self._options["forgetting"]
        seen = f"{len(self)} of {window} matrices"
        status = "" if self.result is None else f", {self.result.status}"
        return f"<codiag.Tracker: {seen}, forgetting {forgetting:g}{status}>"
