"""Plots of results and topographies of patterns (by matplotlib, which is imported on demand)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _mne
from ._arrays import matrix_set, real_array
from ._typing import ArrayInput, Floats, Numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ._result import Result

# Limits of the comparison of bases, those of the report (cli/src/page/comparison.rs): number of
# multiplications per basis, and smallest and largest number of matrices.
_MAX_MULTIPLICATIONS = 1 << 30
_MIN_MATRICES = 4
_MAX_MATRICES = 4096
# Number of matrix entries that are transformed at once.
_CHUNK_ENTRIES = 1 << 21
# Largest number of bars of a plot of residuals, that of the report.
_MAX_BARS = 500
# Residuals below this value look small in a plot.
_SMALL_RESIDUAL = 1e-3
# Largest number of topographies in a figure, as in MNE.
_MAX_PER_FIGURE = 20
# Width and height of a topography in inches, and the height of a figure title.
_MAP_SIZE = (1.7, 1.9)
_TITLE_HEIGHT = 0.5
# Types of channels that have topographies, in the order of their figures.
_TYPE_NAMES = {"mag": "magnetometers", "eeg": "EEG", "grad": "gradiometers"}
_FLAGGED = "tab:red"


def pyplot() -> Any:
    """Return the module matplotlib.pyplot, or raise an ImportError that says how to install it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as missing:
        raise ImportError("plots need matplotlib: pip install matplotlib") from missing
    return plt


def _axes(ax: Axes | None, **figure: Any) -> Axes:
    """Return `ax`, or the axes of a new figure."""
    if ax is None:
        ax = pyplot().subplots(layout="constrained", **figure)[1]
    assert ax is not None
    return ax


def _use_whole_ticks(ax: Axes, directions: str = "xy") -> None:
    """Place ticks at whole numbers only."""
    from matplotlib.ticker import MaxNLocator

    for direction in directions:
        axis = ax.xaxis if direction == "x" else ax.yaxis
        axis.set_major_locator(MaxNLocator("auto", integer=True))


def _dashed_line(ax: Axes, y: float) -> None:
    """Draw a horizontal line in the color of the text, which is readable in dark styles too."""
    from matplotlib import rcParams

    ax.axhline(y, color=rcParams["text.color"], lw=1, ls="--")


def _require_values_of_each_matrix(result: Result) -> None:
    if len(result.residuals) == 0:
        raise ValueError(
            "the result has no residuals and powers, because they did not fit into the memory "
            "limit: pass a larger memory= to diagonalize"
        )


def plot_history(result: Result, ax: Axes | None) -> Axes:
    """Plot the gradient norm and the loss over the iterations."""
    ax = _axes(ax)
    iterations = result.history["iteration"]
    ax.semilogy(iterations, np.maximum(result.history["gradient_norm"], 1e-300), "o-", ms=3)
    ax.set(xlabel="iteration", ylabel="gradient norm", title=result.status)
    right = ax.twinx()
    right.plot(iterations, result.history["loss"], "--", color="tab:orange")
    right.set_ylabel("loss", color="tab:orange")
    return ax


def plot_residuals(result: Result, ax: Axes | None) -> Axes:
    """Plot one bar per matrix, or per few successive matrices."""
    _require_values_of_each_matrix(result)
    ax = _axes(ax, figsize=(8, 3.2))
    residuals = np.asarray(result.residuals)
    n, largest, median = len(residuals), int(residuals.argmax()), float(np.median(residuals))
    first = np.arange(0, n, -(-n // _MAX_BARS))
    heights = np.maximum.reduceat(residuals, first)
    ax.stairs(heights, np.append(first, n) - 0.5, fill=True)
    _dashed_line(ax, median)
    ax.set(
        xlabel="matrix",
        ylabel="residual",
        title=f"largest: matrix {largest} ({residuals[largest]:.2g})\nmedian {median:.2g} (dashed)",
        xlim=(-0.5, n - 0.5),
        ylim=(0, 1.05 * max(float(residuals.max()), _SMALL_RESIDUAL)),
    )
    _use_whole_ticks(ax, "x")
    return ax


def plot_powers(result: Result, ax: Axes | None) -> Axes:
    """Plot a heat map of components x matrices."""
    _require_values_of_each_matrix(result)
    from matplotlib.colors import LogNorm, SymLogNorm

    powers = np.asarray(result.powers).T
    ax = _axes(ax, figsize=(8, min(8.0, 1.8 + 0.1 * len(powers))))
    positive = bool((powers > 0).all())
    largest = float(abs(powers).max()) or 1.0
    linear = max(float(np.median(abs(powers))), 1e-3 * largest)
    norm = LogNorm() if positive else SymLogNorm(linear, vmin=-largest, vmax=largest)
    image = ax.imshow(powers, norm=norm, cmap="viridis" if positive else "RdBu_r", aspect="auto")
    ax.set(xlabel="matrix", ylabel="component", title="power of each component in each matrix")
    ax.figure.colorbar(image, ax=ax, label="power (log scale)")
    _use_whole_ticks(ax)
    return ax


def plot_stability(result: Result, ax: Axes | None) -> Axes:
    """Plot one bar per component."""
    from ._result import STABLE

    if result.stability is None:
        raise ValueError(
            "the stability of the components was not estimated: pass n_resamples=20 to the "
            "function or estimator that made this result"
        )
    ax = _axes(ax, figsize=(8, 3.2))
    stability = np.asarray(result.stability)
    r, stable = len(stability), stability >= STABLE
    ax.bar(np.arange(r), stability, color=np.where(stable, "tab:blue", "tab:orange"))
    _dashed_line(ax, STABLE)
    ax.set(
        xlabel="component",
        ylabel="stability",
        title=f"{stable.sum()} of {r} components at least {STABLE} (dashed)",
        xlim=(-0.6, r - 0.4),
        ylim=(0, 1.02),
    )
    _use_whole_ticks(ax, "x")
    return ax


class Basis(NamedTuple):
    """How far the matrices are from diagonal in a basis."""

    name: str
    entries: Floats
    """Root mean square over the matrices of each entry."""
    rms: float
    """Root mean square of all entries."""


def plot_matrices(
    result: Result,
    C: ArrayInput,
    sample_weight: ArrayInput | None,
    shrinkage: float,
    axes: Sequence[Axes] | None,
) -> NDArray[Any]:
    """Plot a heat map for the channels, for PCA and for B."""
    if axes is not None and np.size(np.asarray(axes, dtype=object)) != 3:
        raise ValueError(f"axes must be three Axes, got {np.size(np.asarray(axes, dtype=object))}")
    bases = compare_bases(result, C, sample_weight, shrinkage)
    if axes is None:
        panels = pyplot().subplots(1, 3, figsize=(10, 3.4), layout="constrained")[1]
    else:
        panels = np.asarray(axes, dtype=object).ravel()
    # The maps are blank if all entries are zero.
    largest = max(float(basis.entries.max()) for basis in bases) or 1.0
    is_residual = result.criterion == "least-squares"
    for ax, basis in zip(panels, bases, strict=True):
        image = ax.imshow(basis.entries, cmap="magma_r", vmin=0, vmax=largest)
        components = basis.name != "Channels" and not is_residual
        ax.set(title=f"{basis.name}: RMS {basis.rms:#.3g}")
        ax.set_xlabel("component" if components else "channel")
        _use_whole_ticks(ax)
    units = {"likelihood": "RMS correlation", "least-squares": "RMS residual"}
    unit = units.get(result.criterion, "RMS entry")
    panels[-1].figure.colorbar(image, ax=list(panels), label=unit)
    return np.asarray(panels)


def compare_bases(
    result: Result, C: ArrayInput, sample_weight: ArrayInput | None, shrinkage: float
) -> list[Basis]:
    """Return how far the matrices are from diagonal for the channels, for PCA and for B."""
    B, A, powers = result._data.B, result._data.A, np.asarray(result.powers)
    (r, p), matrices = B.shape, matrix_set(C)
    n, criterion = len(matrices), result.criterion
    if matrices.shape[1] != p:
        raise ValueError(f"expected C of shape (n, {p}, {p}), got shape {matrices.shape}")
    if not 0 <= shrinkage <= 1:
        raise ValueError(f"shrinkage must be between 0 and 1, got {shrinkage}")
    is_residual = criterion == "least-squares"
    if is_residual and len(powers) != n:
        raise ValueError(
            "C must hold the matrices that were diagonalized: the result has powers of "
            f"{len(powers)} matrices, but C has {n}"
        )
    weights = np.ones(n) if sample_weight is None else real_array(sample_weight, "sample_weight")
    if weights.shape != (n,):
        raise ValueError(f"expected sample_weight of shape ({n},), got shape {weights.shape}")
    # Of a set that was reduced, the part in the coordinates of the reduction.
    projector = A @ B if r < p else None

    def prepared(C: Numbers) -> Numbers:
        C = 0.5 * (C + _adjoint(C))
        if shrinkage:
            mean_variance = np.trace(C, axis1=1, axis2=2)[:, None, None] / p
            C = (1 - shrinkage) * C + shrinkage * mean_variance * np.eye(p)
        return C if projector is None else projector @ C @ projector.conj().T

    pca = _leading_eigenvectors(
        prepared(np.tensordot(weights, matrices, axes=1)[None] / weights.sum())[0], A
    )
    used = min(n, max(_MIN_MATRICES, min(_MAX_MATRICES, _MAX_MULTIPLICATIONS // p**3)))
    chosen = np.arange(used) * n // used
    total = weights[chosen].sum()
    size = max(1, _CHUNK_ENTRIES // p**2)

    def chunks() -> Iterator[tuple[NDArray[np.intp], Numbers]]:
        for start in range(0, used, size):
            part = chosen[start : start + size]
            yield part, prepared(matrices[part])

    def mean(function: Callable[[NDArray[np.intp], Numbers], Numbers]) -> Floats:
        """Return the weighted mean of the squared entries."""
        sums: Floats = np.zeros(1)
        for part, C in chunks():
            squares = _squares(function(part, C), criterion)
            sums = sums + np.tensordot(weights[part], squares, axes=1)
        means: Floats = sums / total
        return means

    def transformed(filters: Numbers, C: Numbers) -> Numbers:
        D: Numbers = filters @ C @ filters.conj().T
        if not is_residual:
            return D
        return _residual(C, filters.conj().T, np.diagonal(D, axis1=1, axis2=2).real)

    squares = [
        mean(lambda _, C: transformed(np.eye(p), C)),
        mean(lambda _, C: transformed(pca, C)),
        mean(lambda part, C: _residual(C, A, powers[part]))
        if is_residual
        else mean(lambda _, C: transformed(B, C)),
    ]
    unit = 1.0
    if criterion != "likelihood":
        energies = [weights[part] @ (abs(C) ** 2).sum(axis=(1, 2)) for part, C in chunks()]
        unit = max(float(sum(energies)) / total / r, np.finfo(float).tiny)
    bases = []
    for name, square in zip(("Channels", "PCA", "B"), squares, strict=True):
        # Rounding may make a power of a singular matrix negative.
        entries = np.sqrt(np.maximum(square, 0) / unit)
        count = entries.size
        if not is_residual:
            np.fill_diagonal(entries, 0)
            count -= len(entries)
        bases.append(Basis(name, entries, float(np.linalg.norm(entries) / max(count, 1) ** 0.5)))
    return bases


def _adjoint(C: Numbers) -> Numbers:
    """Return the conjugate transpose of each matrix."""
    return C.conj().swapaxes(-1, -2)


def _leading_eigenvectors(mean: Numbers, A: Numbers) -> Numbers:
    """Return the eigenvectors of the mean in the span of A by descending eigenvalue, in rows."""
    p, r = A.shape
    span = np.eye(p) if r == p else np.linalg.qr(A)[0]
    eigenvectors = np.linalg.eigh(_adjoint(span) @ mean @ span)[1][:, ::-1]
    return _adjoint(span @ eigenvectors)


def _squares(D: Numbers, criterion: str) -> Floats:
    """Return the squares of the entries, or of the correlations for the likelihood."""
    squares: Floats = np.asarray(abs(D) ** 2, dtype=np.float64)
    if criterion == "likelihood":
        powers = np.diagonal(D, axis1=1, axis2=2).real
        with np.errstate(divide="ignore", invalid="ignore"):
            squares = squares / (powers[:, :, None] * powers[:, None, :])
        squares[~np.isfinite(squares)] = 0
    return squares


def _residual(C: Numbers, A: Numbers, powers: Floats) -> Numbers:
    """Return C - A diag(powers) A' for each matrix."""
    residual: Numbers = C - (A * powers[:, None, :]) @ A.conj().T
    return residual


class Topography(NamedTuple):
    """A pattern with its title."""

    title: str
    pattern: Floats
    is_flagged: bool = False
    """Whether the source looks like an artifact."""


def plot_topographies(
    maps: Sequence[Topography],
    info: Any,
    ch_type: str | None,
    columns: int,
    show: bool,
    topomap: Mapping[str, Any],
) -> Any:
    """Return a figure with topographies, or a list of figures if one is not enough."""
    plt = pyplot()
    if not maps:
        raise ValueError("there are no components to plot")
    types = info.get_channel_types()
    if ch_type is not None and ch_type not in types:
        raise ValueError(f"there are no channels of type {ch_type!r}, only {sorted(set(types))}")
    kinds = [kind for kind in _TYPE_NAMES if kind in types] if ch_type is None else [ch_type]
    kinds = kinds or types[:1]
    located = [kind for kind in kinds if _have_positions(info, types, kind)]
    if not located:
        raise ValueError(
            "the channels have no positions: call raw.set_montage(...) before fit, or pass info= "
            "with positions"
        )
    figures = []
    for kind in located:
        starts = range(0, len(maps), _MAX_PER_FIGURE)
        for number, start in enumerate(starts, 1):
            part = maps[start : start + _MAX_PER_FIGURE]
            title = _TYPE_NAMES.get(kind, kind)
            if len(starts) > 1:
                title += f", figure {number} of {len(starts)}"
            figures.append(_figure(part, info, kind, columns, title, topomap))
    if show:
        plt.show()
    return figures if len(figures) > 1 else figures[0]


def _have_positions(info: Any, types: list[str], kind: str) -> bool:
    places = [c["loc"][:3] for c, own in zip(info["chs"], types, strict=True) if own == kind]
    return any(np.isfinite(place).all() and place.any() for place in places)


def _figure(
    maps: Sequence[Topography],
    info: Any,
    kind: str,
    columns: int,
    title: str,
    topomap: Mapping[str, Any],
) -> Any:
    """Return a figure with one topography per pattern, of the channels of one type."""
    import mne

    numbers = [k for k, own in enumerate(info.get_channel_types()) if own == kind]
    places = mne.pick_info(info, numbers)
    columns = min(columns, len(maps))
    rows = -(-len(maps) // columns)
    size = (max(_MAP_SIZE[0] * columns, 2.6), _MAP_SIZE[1] * rows + _TITLE_HEIGHT)
    fig, axes = pyplot().subplots(rows, columns, figsize=size, squeeze=False, layout="constrained")
    for ax in axes.flat:
        ax.set_axis_off()
    options = {"sphere": _mne.head(info, kind), **topomap}
    for ax, one in zip(axes.flat, maps, strict=False):
        mne.viz.plot_topomap(one.pattern[numbers], places, axes=ax, show=False, **options)
        color = {"color": _FLAGGED} if one.is_flagged else {}
        ax.set_title(one.title, fontsize="medium", **color)
    fig.suptitle(title)
    return fig
