"""What a solve returns."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._files import write_whole
from ._html import result_html
from ._input import Floats, Numbers, number_array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FORMAT = 1
STABLE = 0.9
"""Components of at least this stability are said to come again."""

# With the kinds of their arrays in files.
_SCALARS = {
    "criterion": "U",
    "converged": "b",
    "status": "U",
    "n_iter": "iu",
    "loss": "iuf",
    "gradient_norm": "iuf",
}
_ARRAYS = ("B", "A", "residuals", "powers", "start_losses")
# What the extension hands over at once, and what it makes, as `_answer`, when it is asked for.
_AT_ONCE = (*_SCALARS, "B", "_answer")
_LATER = frozenset(("A", "residuals", "powers", "start_losses", "identifiability", "history"))


class Record(NamedTuple):
    """Where a solve stands after some iterations; what a callback is given."""

    start: int
    """Which start it belongs to: 0 for the one asked for, then those of ``restarts``."""
    stage: str
    """The stage of the solve: "sample", "single precision" or "full".

    On a sample, or combinations, of the matrices the loss lacks a constant; such points are not in
    :attr:`Result.history`."""
    iteration: int
    """0 for the start."""
    seconds: float
    """Since the solve began."""
    loss: float
    """The loss here."""
    gradient_norm: float
    """What is compared with ``tol``."""
    decrement: float
    """The decrease of the loss that the quadratic model predicts from here."""
    kind: str
    """The step that led here: "start", "quasi-newton", "newton", "sweep" or "wedge"."""
    step: float
    """Its length: the share of its direction that was taken."""
    cg_iterations: int
    """The conjugate gradient iterations it took."""
    passes: float
    """What the solve has cost so far, in transforms of the whole set."""


class Identifiability(NamedTuple):
    """The two components that are hardest to tell apart."""

    margin: float
    """Zero if their powers are proportional over the set: any mixture would serve as well."""
    pair: tuple[int, int]
    """The two, as rows of ``B``."""


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """The answer of :func:`codiag.diagonalize`.

    Attributes
    ----------
    criterion : str
        What was minimized, as in :func:`codiag.diagonalize`.
    B : ndarray, shape (r, p)
        The filters, one per row: ``B @ C[i] @ B.conj().T`` is as diagonal as can be. r is p, unless
        the set was reduced in rank. Complex, as A is, if the matrices are.
    A : ndarray, shape (p, r)
        The patterns, one per column: ``B @ A`` is the identity.
    converged : bool
        Whether the gradient norm fell to ``tol``.
    status : str
        "converged", "iteration limit", "no further decrease" or "stopped" (by the callback);
        "collinear columns" if a least-squares fit has no minimum where it ended: two components
        grow and cancel each other.
    n_iter : int
        The number of iterations.
    loss : float
        Zero if all ``B @ C[i] @ B.conj().T`` are diagonal; for "frobenius" the share of the energy
        that is off the diagonals.
    gradient_norm : float
        The norm of the relative gradient divided by the square root of r, in the gauge of unit mean
        powers: it depends neither on units nor on n.
    history : dict of str to ndarray
        One entry per iteration, the start included, for each field of :class:`codiag.Record`;
        ``pandas.DataFrame(result.history)`` makes a table of it.
    residuals : ndarray, shape (n,)
        Each matrix's own share of the loss, to find the ones that do not fit; empty, as are the
        powers, if matrices on disk were too many for the memory allowed.
    powers : ndarray, shape (n, r)
        The diagonals of ``B @ C[i] @ B.conj().T``; for least squares those of the fit.
    identifiability : Identifiability or None
        The pair of components that is hardest to tell apart; None if there is only one component.
    start_losses : ndarray
        The losses reached from all starts tried, the first being the one asked for; of one that was
        given up, the loss where it was.
    stability : ndarray, shape (r,), or None
        How surely each component comes again, from 0 to 1: the median, over the resamples that
        ``stability=`` asks for and over the restarts whose loss is within 0.1 % of the lowest, of
        the correlation with the component that matches it there. None if it was not asked for.
    matches : ndarray, shape (trials, r), or None
        These correlations, those of the restarts first; their median is the stability.
    """

    B: Numbers
    A: Numbers
    converged: bool
    status: str
    n_iter: int
    loss: float
    gradient_norm: float
    history: dict[str, NDArray[Any]]
    residuals: Floats
    powers: Floats
    identifiability: Identifiability | None
    start_losses: Floats = field(default_factory=lambda: np.empty(0))
    criterion: str = "likelihood"
    stability: Floats | None = None
    matches: Floats | None = None

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Make an attribute that nobody has asked for yet, of what the solve left behind."""
            answer = self.__dict__.get("_answer")
            if answer is None or name not in _LATER:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            value = answer.get(name)
            if name == "history":
                # Arrays but for the names.
                value = {column: np.asarray(numbers) for column, numbers in value.items()}
            elif name == "identifiability" and value is not None:
                value = Identifiability(*value)
            return self.__dict__.setdefault(name, value)

    def __getstate__(self) -> dict[str, Any]:
        """Return all attributes, made or not, as copies and pickles hold them."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def condition_number(self) -> float:
        """The ratio of the largest to the smallest singular value of ``B``."""
        return float(np.linalg.cond(self.B))

    def transform(self, C: ArrayLike) -> Numbers:
        """Return ``B @ C[i] @ B.conj().T`` for all matrices.

        Parameters
        ----------
        C : array-like, shape (..., p, p)
            One matrix or many, the ones that were diagonalized or others.

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
        array = number_array(C, "C")
        p = self.B.shape[1]
        if array.ndim < 2 or array.shape[-2:] != (p, p):
            raise ValueError(f"expected C of shape (..., {p}, {p}), got shape {array.shape}")
        transformed: Numbers = self.B @ array @ self.B.conj().T
        return transformed

    def plot(self, ax: Axes | None = None) -> Axes:
        """Plot the gradient norm and the loss over the iterations (needs matplotlib).

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to plot; a new figure by default.

        Returns
        -------
        matplotlib Axes
            Those of the gradient norm; the loss has the axis on the right.
        """
        try:
            import matplotlib.pyplot as plt
        except ImportError as missing:
            raise ImportError("plots need matplotlib: pip install 'codiag[plot]'") from missing
        if ax is None:
            _, ax = plt.subplots(layout="constrained")
        iterations = self.history["iteration"]
        ax.semilogy(iterations, np.maximum(self.history["gradient_norm"], 1e-300), "o-", ms=3)
        ax.set(xlabel="iteration", ylabel="gradient norm", title=self.status)
        right = ax.twinx()
        right.plot(iterations, self.history["loss"], "--", color="tab:orange")
        right.set_ylabel("loss", color="tab:orange")
        return ax

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the result to an npz file, whole or not at all. :func:`codiag.load` reads it.

        Parameters
        ----------
        path : str or path-like
            The file, replaced if it exists. Symbolic links are followed, the mode of an existing
            file is kept, and a device or a FIFO is written to.
        """
        arrays = self._arrays()
        write_whole(path, lambda file: np.savez(file, codiag_result=_FORMAT, **arrays))

    def _arrays(self) -> dict[str, Any]:
        """Return all there is as arrays by name, as files hold them."""
        arrays: dict[str, Any] = {name: getattr(self, name) for name in (*_SCALARS, *_ARRAYS)}
        arrays.update({f"history_{name}": column for name, column in self.history.items()})
        if self.identifiability is not None:
            arrays["margin"] = self.identifiability.margin
            arrays["pair"] = self.identifiability.pair
        if self.stability is not None:
            arrays.update(stability=self.stability, matches=self.matches)
        return arrays

    def __repr__(self) -> str:
        r, p = self.B.shape
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
            lines.append(f"  hardest to tell   components {a} and {b} (margin {margin:.2g})")
        if self.stability is not None:
            lines.append(f"  stability         {self._stability_words()}")
        return "\n".join(lines)

    def _loss_unit(self) -> str:
        """Return what the loss is a share of, if it is one."""
        return "" if self.criterion == "likelihood" else " of the energy"

    def _stability_words(self) -> str:
        values = [] if self.stability is None else list(self.stability)
        stable = sum(value >= STABLE for value in values)
        return f"{stable} of {len(values)} components at least {STABLE}"

    def _repr_html_(self) -> str:
        return result_html(self)


def from_fields(described: dict[str, Any]) -> Result:
    """Return the result that the extension describes."""
    # The rest is made when it is asked for: all of it takes longer than a small problem's solve.
    result = object.__new__(Result)
    own = result.__dict__
    if len(described) == len(_AT_ONCE):
        own.update(described)
        return result
    for name in _AT_ONCE:
        own[name] = described[name]
    if "stability" in described:
        own["stability"], own["matches"] = described["stability"], described["matches"]
    return result


def from_arrays(stored: Arrays, prefix: str = "") -> Result:
    """Return the result that a file holds, in arrays whose names begin with `prefix`.

    A ValueError says which array is missing, or is not as it should be.
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
    scalars = {
        name: array(name, kinds, ()).item()
        for name, kinds in _SCALARS.items()
        # Results of the first versions were all of the likelihood.
        if name != "criterion" or given(name)
    }
    if scalars["n_iter"] < 0:
        raise ValueError(f"{prefix}n_iter is negative: {scalars['n_iter']}")
    residuals = array("residuals", "iuf", ("n",))
    powers = array("powers", "iuf", ("n", "r" if len(residuals) else "any"))
    hardest = None
    if given("margin"):
        pair = array("pair", "iu", (2,)).tolist()
        if not all(0 <= k < r for k in pair):
            raise ValueError(f"{prefix}pair names components {pair}, but there are {r}")
        hardest = Identifiability(array("margin", "iuf", ()).item(), (pair[0], pair[1]))
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
        B=B,
        A=A,
        residuals=residuals,
        powers=powers,
        start_losses=array("start_losses", "iuf", ("starts",)),
        **scalars,
        history=history,
        identifiability=hardest,
        stability=stability,
        matches=matches,
    )


class Arrays(Protocol):
    """Arrays by name, as of a file."""

    def __contains__(self, name: str, /) -> bool: ...

    def __getitem__(self, name: str, /) -> NDArray[Any]: ...


def checked_array(
    value: Any, name: str, kinds: str, shape: tuple[int | str, ...], sizes: dict[str, int]
) -> NDArray[Any]:
    """Return an array of these kinds and this shape, or raise a ValueError.

    Lengths with a name are those in `sizes`, or are entered there.
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
