"""Results of solves."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from . import _plots
from ._arrays import from_dlpack, number_array
from ._files import write_atomically
from ._html import result_html
from ._typing import ArrayInput, Floats, Numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FORMAT = 1
STABLE = 0.9
"""Smallest stability of a component that is called stable."""

# Fields of one value, with the kinds of their arrays in files.
_SCALARS = {
    "criterion": "U",
    "converged": "b",
    "status": "U",
    "n_iter": "iu",
    "loss": "iuf",
    "gradient_norm": "iuf",
}
_ARRAYS = ("B", "A", "residuals", "powers", "start_losses")


class Record(NamedTuple):
    """Progress of a solve after an iteration, as a callback receives it."""

    start: int
    """Number of the starting point: 0 for ``init``, then the restarts, then the resamples."""
    stage: str
    """Stage of the solve: "sample", "single precision" or "full".

    On a sample or on combinations of the matrices, the loss lacks a constant; such records are not
    in :attr:`Result.history`."""
    iteration: int
    """Number of the iteration, 0 at the starting point."""
    seconds: float
    """Seconds since the solve began."""
    loss: float
    """Loss after the iteration."""
    gradient_norm: float
    """Norm of the relative gradient, which is compared with ``tol``."""
    decrement: float
    """Decrease of the loss that the quadratic model predicts for the next step."""
    kind: str
    """Kind of the step: "init", "quasi-newton", "newton", "sweep" or "wedge"."""
    step: float
    """Fraction of the search direction that the step took."""
    cg_iterations: int
    """Number of conjugate gradient iterations of the step."""
    passes: float
    """Number of data passes so far: the cost of the solve in transforms of the whole set."""


class Identifiability(NamedTuple):
    """The pair of components that is least separable."""

    margin: float
    """Identifiability margin: zero if the powers of the two are proportional over the set, so that
    any mixture of them fits equally well."""
    pair: tuple[int, int]
    """Numbers of the two components, as rows of ``B``."""


class ResultData(Protocol):
    """Fields of a result: of a solve, computed on first access, or of a file."""

    @property
    def criterion(self) -> str: ...
    @property
    def status(self) -> str: ...
    @property
    def converged(self) -> bool: ...
    @property
    def n_iter(self) -> int: ...
    @property
    def loss(self) -> float: ...
    @property
    def gradient_norm(self) -> float: ...
    @property
    def B(self) -> Numbers: ...
    @property
    def A(self) -> Numbers: ...
    @property
    def history(self) -> dict[str, NDArray[Any]]: ...
    @property
    def residuals(self) -> Floats: ...
    @property
    def powers(self) -> Floats: ...
    @property
    def identifiability(self) -> tuple[float, tuple[int, int]] | None: ...
    @property
    def start_losses(self) -> Floats: ...
    @property
    def stability(self) -> Floats | None: ...
    @property
    def matches(self) -> Floats | None: ...


@dataclass(frozen=True, eq=False)
class StoredResult:
    """Fields of a result that was read from a file, unpickled, or changed."""

    criterion: str
    status: str
    converged: bool
    n_iter: int
    loss: float
    gradient_norm: float
    B: Numbers
    A: Numbers
    history: dict[str, NDArray[Any]]
    residuals: Floats
    powers: Floats
    identifiability: tuple[float, tuple[int, int]] | None
    start_losses: Floats
    stability: Floats | None
    matches: Floats | None


_FIELDS = tuple(field.name for field in fields(StoredResult))


class Result:
    """Result of :func:`codiag.diagonalize`.

    Attributes
    ----------
    criterion : str
        Criterion that was minimized, as in :func:`codiag.diagonalize`.
    B : ndarray, shape (r, p)
        Filters, one per row: ``B @ C[i] @ B.conj().T`` is as diagonal as possible. r is p, unless
        the set was reduced (`n_components`). Complex if the matrices are. For torch tensors and
        other arrays that are exchanged by DLPack, B and A are arrays of that package.
    A : ndarray, shape (p, r)
        Patterns, one per column: ``B @ A`` is the identity.
    converged : bool
        Whether the gradient norm fell to ``tol``.
    status : str
        "converged", "max_iter" (the limit of iterations was reached), "stalled" (rounding prevents
        any further decrease), "interrupted" (by the callback) or "collinear" (two columns of A of a
        least-squares fit grow without limit and cancel each other: the fit has no minimum).
    n_iter : int
        Number of iterations.
    loss : float
        Value of the criterion: zero if all ``B @ C[i] @ B.conj().T`` are diagonal. For "frobenius"
        and "least-squares", a fraction of the energy of the matrices.
    gradient_norm : float
        Norm of the relative gradient, which is compared with ``tol``. It depends neither on units
        nor on n. For the likelihood it is divided by the square root of r, with rows of B that have
        unit mean power; for the other criteria it is relative to the energy of the matrices.
    history : dict of str to ndarray
        One entry per iteration, the starting point included, for each field of
        :class:`codiag.Record`; ``pandas.DataFrame(result.history)`` makes a table of it.
    residuals : ndarray, shape (n,)
        Contribution of each matrix to the loss, which shows matrices that do not fit. Residuals and
        powers are empty if they do not fit into the memory limit of a set on disk.
    powers : ndarray, shape (n, r)
        Diagonals of ``B @ C[i] @ B.conj().T``; for "least-squares" those of the fit.
    identifiability : Identifiability or None
        The least separable pair of components; None if there is only one component.
    start_losses : ndarray
        Losses reached from all starting points, that of ``init`` first. For restarts that were
        stopped early, the loss at that moment.
    stability : ndarray, shape (r,), or None
        Stability of each component from 0 to 1: the median absolute correlation with the matching
        component over the resamples (``n_resamples``), and over the restarts whose loss is within
        0.1 % of the lowest. None unless `n_resamples` or ``sort_by="stability"`` was given.
    matches : ndarray, shape (trials, r), or None
        Correlations whose median is the stability, those of the restarts first.
    """

    _data: ResultData
    _namespace: str | None
    _identifiability: Identifiability | None

    def __init__(self, data: ResultData, namespace: str | None = None) -> None:
        self._data = data
        self._namespace = namespace
        self._identifiability = None

    @property
    def criterion(self) -> str:
        """Criterion that was minimized."""
        return self._data.criterion

    @property
    def B(self) -> Numbers:
        """Filters, one per row."""
        return self._exported(self._data.B)

    @property
    def A(self) -> Numbers:
        """Patterns, one per column."""
        return self._exported(self._data.A)

    @property
    def converged(self) -> bool:
        """Whether the gradient norm fell to ``tol``."""
        return self._data.converged

    @property
    def status(self) -> str:
        """Why the solve ended."""
        return self._data.status

    @property
    def n_iter(self) -> int:
        """Number of iterations."""
        return self._data.n_iter

    @property
    def loss(self) -> float:
        """Value of the criterion."""
        return self._data.loss

    @property
    def gradient_norm(self) -> float:
        """Norm of the relative gradient, which is compared with ``tol``."""
        return self._data.gradient_norm

    @property
    def history(self) -> dict[str, NDArray[Any]]:
        """One array per field of :class:`codiag.Record`, with one entry per iteration."""
        return self._data.history

    @property
    def residuals(self) -> Floats:
        """Contribution of each matrix to the loss."""
        return self._data.residuals

    @property
    def powers(self) -> Floats:
        """Diagonals of the transformed matrices."""
        return self._data.powers

    @property
    def identifiability(self) -> Identifiability | None:
        """The least separable pair of components."""
        if self._identifiability is None and self._data.identifiability is not None:
            self._identifiability = Identifiability(*self._data.identifiability)
        return self._identifiability

    @property
    def start_losses(self) -> Floats:
        """Losses reached from all starting points."""
        return self._data.start_losses

    @property
    def stability(self) -> Floats | None:
        """Stability of each component from 0 to 1."""
        return self._data.stability

    @property
    def matches(self) -> Floats | None:
        """Correlations whose median is the stability."""
        return self._data.matches

    @property
    def condition_number(self) -> float:
        """Ratio of the largest to the smallest singular value of ``B``."""
        return float(np.linalg.cond(self._data.B))

    def _exported(self, array: Numbers) -> Numbers:
        """Return an array as one of the package that the matrices came from."""
        if self._namespace is None:
            return array
        exported: Numbers = from_dlpack(array, self._namespace)
        return exported

    def _stored(self) -> StoredResult:
        """Return all fields, including those that have not been computed yet."""
        return StoredResult(**{name: getattr(self._data, name) for name in _FIELDS})

    def _with_stability(self, stability: Floats, matches: Floats) -> Result:
        """Return a copy with another stability."""
        stored = replace(self._stored(), stability=stability, matches=matches)
        return Result(stored, self._namespace)

    def __reduce__(self) -> tuple[Any, ...]:
        return Result, (self._stored(), self._namespace)

    def transform(self, C: ArrayInput) -> Numbers:
        """Return ``B @ C[i] @ B.conj().T`` for all matrices.

        Parameters
        ----------
        C : array-like, shape (..., p, p)
            One matrix or several: those that were diagonalized, or others.

        Returns
        -------
        ndarray, shape (..., r, r)

        Examples
        --------
        >>> import codiag
        >>> C, _ = codiag.datasets.synthetic(20, 3, sigma=0)
        >>> D = codiag.diagonalize(C).transform(C)
        >>> bool(abs(D[0, 0, 1]) < 1e-6 * D[0, 0, 0])
        True
        """
        array, B = number_array(C, "C"), self._data.B
        p = B.shape[1]
        if array.ndim < 2 or array.shape[-2:] != (p, p):
            raise ValueError(f"expected C of shape (..., {p}, {p}), got shape {array.shape}")
        transformed: Numbers = B @ array @ B.conj().T
        return transformed

    def plot(self, ax: Axes | None = None) -> Axes:
        """Plot the gradient norm and the loss over the iterations (needs matplotlib).

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on (default: those of a new figure).

        Returns
        -------
        matplotlib Axes
            Axes of the gradient norm; the loss has the axis on the right.
        """
        return _plots.plot_history(self, ax)

    def plot_matrices(
        self,
        C: ArrayInput,
        *,
        sample_weight: ArrayInput | None = None,
        shrinkage: float = 0.0,
        axes: Sequence[Axes] | None = None,
    ) -> NDArray[Any]:
        """Plot how far the matrices are from diagonal, for the channels, PCA and B.

        Three heat maps on one scale show the root mean square (RMS) of each entry over the
        matrices; the title of a map has the RMS of all entries. The entries depend on the
        criterion:

        - "likelihood": correlations ``D[a, b] / sqrt(D[a, a] * D[b, b])`` off the diagonal of
          ``D = M @ C[i] @ M.conj().T``;
        - "frobenius": entries of D off the diagonal, relative to the RMS of the eigenvalues of the
          matrices;
        - "least-squares": all entries of the residual ``C[i] - A @ diag(powers[i]) @ A.conj().T``,
          relative to the RMS of the eigenvalues.

        M is the identity for the channels, B for the result, and the eigenvectors of the mean of
        the matrices for PCA (principal component analysis). For least squares, A is the identity,
        the eigenvectors, or A of the result. In each case, zero everywhere means an exact solution.
        If the rank was reduced, the maps are those of the part of the matrices that is in the span
        of A. The report of :meth:`report` has the same maps.

        Of more than 4096 matrices, or of many large ones, evenly spaced ones are used.

        Parameters
        ----------
        C : array-like, shape (n, p, p)
            Matrices that were diagonalized, or for "likelihood" and "frobenius" others.
        sample_weight : array-like, shape (n,), optional
            Weight of each matrix in the solve (default: equal weights).
        shrinkage : float
            Shrinkage of the matrices in the solve (default 0).
        axes : sequence of three matplotlib Axes, optional
            Axes to draw on (default: those of a new figure).

        Returns
        -------
        ndarray of matplotlib Axes, shape (3,)
            Axes of the maps of the channels, of PCA and of B.

        Examples
        --------
        >>> import codiag
        >>> C, _ = codiag.datasets.synthetic(50, 10)
        >>> axes = codiag.diagonalize(C).plot_matrices(C)
        >>> axes[0].figure.savefig("matrices.png")  # doctest: +SKIP
        """
        return _plots.plot_matrices(self, C, sample_weight, shrinkage, axes)

    def plot_residuals(self, ax: Axes | None = None) -> Axes:
        """Plot the contribution of each matrix to the loss (needs matplotlib).

        High bars are matrices that do not fit. A dashed line shows the median. If there are more
        than 500 matrices, each bar is the maximum over several successive matrices.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on (default: those of a new figure).

        Returns
        -------
        matplotlib Axes
        """
        return _plots.plot_residuals(self, ax)

    def plot_powers(self, ax: Axes | None = None) -> Axes:
        """Plot the power of each component in each matrix as a heat map (needs matplotlib).

        Rows are components and columns are matrices. Components whose rows are proportional cannot
        be separated (:attr:`identifiability`). Colors have a logarithmic scale. If not all powers
        are positive, the scale is symmetric, with white at zero and linear for small powers.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on (default: those of a new figure).

        Returns
        -------
        matplotlib Axes
        """
        return _plots.plot_powers(self, ax)

    def plot_stability(self, ax: Axes | None = None) -> Axes:
        """Plot the stability of each component (needs matplotlib).

        Components below 0.9, the dashed line, may not be reproducible; their bars are orange.
        Raises ValueError if the stability was not estimated (`n_resamples`).

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on (default: those of a new figure).

        Returns
        -------
        matplotlib Axes
        """
        return _plots.plot_stability(self, ax)

    def report(
        self,
        path: str | os.PathLike[str],
        C: ArrayInput | None = None,
        *,
        sample_weight: ArrayInput | None = None,
        shrinkage: float = 0.0,
        title: str = "matrices",
    ) -> None:
        """Write an HTML report for a web browser, the page that ``codiag diagonalize`` writes.

        It shows the convergence, the residual of each matrix, and the power of each component in
        each matrix. With the matrices, it also compares B with the channels and with principal
        components: how large the off-diagonal entries are, and the loss.

        Parameters
        ----------
        path : str or path-like
            HTML file, replaced atomically if it exists.
        C : array-like, shape (n, p, p), optional
            Matrices that were diagonalized (default: B is not compared with other bases).
        sample_weight : array-like, shape (n,), optional
            Weight of each matrix in the solve (default: equal weights).
        shrinkage : float
            Shrinkage of the matrices in the solve (default 0).
        title : str
            Name of the matrices in the title (default "matrices").

        Examples
        --------
        >>> import codiag, pathlib, tempfile
        >>> C, _ = codiag.datasets.synthetic(20, 3)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder) / "report.html"
        ...     codiag.diagonalize(C).report(path, C)
        ...     path.read_text(encoding="utf-8")[:15]
        '<!DOCTYPE html>'
        """
        from ._report import report_result

        report_result(self, path, C, sample_weight=sample_weight, shrinkage=shrinkage, title=title)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the result to an npz file, which :func:`codiag.load` reads.

        Parameters
        ----------
        path : str or path-like
            File, replaced atomically if it exists. Symbolic links are followed, the mode of an
            existing file is kept, and a device or a FIFO is written to.
        """
        arrays = self._arrays()
        write_atomically(path, lambda file: np.savez(file, codiag_result=_FORMAT, **arrays))

    def _arrays(self) -> dict[str, Any]:
        """Return all fields as arrays by name, as files hold them."""
        data = self._data
        arrays: dict[str, Any] = {name: getattr(data, name) for name in (*_SCALARS, *_ARRAYS)}
        arrays.update({f"history_{name}": column for name, column in self.history.items()})
        if self.identifiability is not None:
            arrays["margin"] = self.identifiability.margin
            arrays["pair"] = self.identifiability.pair
        if self.stability is not None:
            arrays.update(stability=self.stability, matches=self.matches)
        return arrays

    def __repr__(self) -> str:
        r, p = self._data.B.shape
        n = len(self.residuals) or "many"
        reduced = f", reduced to rank {r}" if r < p else ""
        lines = [
            f"<codiag.Result: {self.status} after {self.n_iter} iterations>",
            f"  matrices          {n} of {p} x {p}{reduced}",
            f"  loss              {self.loss:.6g}{self._loss_unit()}",
            f"  gradient norm     {self.gradient_norm:.2e}",
            f"  condition number  {self.condition_number:.3g}",
        ]
        if self.identifiability is not None:
            margin, (a, b) = self.identifiability
            lines.append(f"  least separable   components {a} and {b} (margin {margin:.2g})")
        if self.stability is not None:
            lines.append(f"  stability         {self._stability_summary()}")
        return "\n".join(lines)

    def _loss_unit(self) -> str:
        """Return the unit of the loss as text."""
        return "" if self.criterion == "likelihood" else " of the energy"

    def _stability_summary(self) -> str:
        values = [] if self.stability is None else list(self.stability)
        stable = sum(value >= STABLE for value in values)
        return f"{stable} of {len(values)} components at least {STABLE}"

    def _repr_html_(self) -> str:
        return result_html(self)


def from_arrays(stored: Arrays, prefix: str = "") -> Result:
    """Return the result that a file holds, in arrays whose names begin with `prefix`.

    Raises ValueError, which names the array, if one is missing or invalid.
    """

    def array(name: str, kinds: str, shape: tuple[int | str, ...]) -> NDArray[Any]:
        return checked_array(stored[prefix + name], prefix + name, kinds, shape, sizes)

    def matrix(name: str, shape: tuple[int | str, ...]) -> Numbers:
        numbers = array(name, "iufc", shape)
        return numbers.astype(np.complex128 if numbers.dtype.kind == "c" else np.float64)

    def given(name: str) -> bool:
        return prefix + name in stored

    sizes: dict[str, int] = {}
    B, A = matrix("B", ("r", "p")), matrix("A", ("p", "r"))
    r, p = B.shape
    if not 0 < r <= p:
        raise ValueError(f"{prefix}B has the impossible shape {B.shape}")
    scalars = {name: array(name, kinds, ()).item() for name, kinds in _SCALARS.items()}
    if scalars["n_iter"] < 0:
        raise ValueError(f"{prefix}n_iter is negative: {scalars['n_iter']}")
    residuals = array("residuals", "iuf", ("n",))
    powers = array("powers", "iuf", ("n", "r" if len(residuals) else "any"))
    least = None
    if given("margin"):
        pair = array("pair", "iu", (2,)).tolist()
        if not all(0 <= k < r for k in pair):
            raise ValueError(f"{prefix}pair names components {pair}, but there are {r}")
        least = Identifiability(array("margin", "iuf", ()).item(), (pair[0], pair[1]))
    stability = matches = None
    if given("stability"):
        stability = array("stability", "iuf", ("r",))
        matches = array("matches", "iuf", ("trials", "r"))
    history = {
        name: array(f"history_{name}", "U" if name in ("stage", "kind") else "iuf", ("records",))
        for name in Record._fields
        if given(f"history_{name}")
    }
    return Result(
        StoredResult(
            B=B,
            A=A,
            residuals=residuals,
            powers=powers,
            start_losses=array("start_losses", "iuf", ("starts",)),
            **scalars,
            history=history,
            identifiability=least,
            stability=stability,
            matches=matches,
        )
    )


class Arrays(Protocol):
    """Arrays by name, as a file holds them."""

    def __contains__(self, name: str, /) -> bool: ...

    def __getitem__(self, name: str, /) -> NDArray[Any]: ...


def checked_array(
    value: Any, name: str, kinds: str, shape: tuple[int | str, ...], sizes: dict[str, int]
) -> NDArray[Any]:
    """Return an array of these kinds and this shape, or raise a ValueError.

    Named lengths are looked up in `sizes`, or entered there.
    """
    if not isinstance(value, np.ndarray) or value.dtype.kind not in kinds:
        found = f"of {value.dtype}" if isinstance(value, np.ndarray) else repr(type(value))
        raise ValueError(f"{name} is {found}, not an array of the right type")
    fits = value.ndim == len(shape)
    for length, expected in zip(value.shape, shape, strict=False):
        known = expected if isinstance(expected, int) else sizes.setdefault(expected, length)
        fits = fits and length == known
    if not fits:
        expected = ", ".join(str(sizes.get(x, x) if isinstance(x, str) else x) for x in shape)
        raise ValueError(f"{name} has shape {value.shape}, not ({expected})")
    return value
