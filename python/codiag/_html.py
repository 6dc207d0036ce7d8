"""HTML representation of a result: a table, and the convergence curve as inline SVG."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._result import Result

_WIDTH, _HEIGHT, _MARGIN = 360, 150, 34


def result_html(result: Result) -> str:
    """Return the result as HTML."""
    r, p = result._data.B.shape
    rows = [
        ("status", result.status),
        (
            "matrices",
            f"{len(result.residuals) or 'many'} of {p} × {p}" + (f", rank {r}" if r < p else ""),
        ),
        ("iterations", str(result.n_iter)),
        ("loss", f"{result.loss:.6g}{result._loss_unit()}"),
        ("gradient norm", f"{result.gradient_norm:.2e}"),
        ("condition number", f"{result.condition_number:.3g}"),
    ]
    if result.identifiability is not None:
        margin, (a, b) = result.identifiability
        rows.append(("least separable", f"components {a} and {b} (margin {margin:.2g})"))
    if result.stability is not None:
        rows.append(("stability", result._stability_summary()))
    table = "".join(
        f"<tr><th style='text-align:left'>{escape(name)}</th>"
        f"<td style='text-align:left'>{escape(value)}</td></tr>"
        for name, value in rows
    )
    curve = convergence_svg([float(g) for g in result.history["gradient_norm"]])
    return (
        "<div style='display:flex;gap:2em;align-items:center;flex-wrap:wrap'>"
        f"<table><caption><b>codiag.Result</b></caption>{table}</table>{curve}</div>"
    )


def convergence_svg(norms: list[float]) -> str:
    """Return the gradient norms over the iterations, on a logarithmic scale."""
    finite = [(k, math.log10(g)) for k, g in enumerate(norms) if g > 0 and math.isfinite(g)]
    if not finite:
        return ""
    bottom = math.floor(min(y for _, y in finite))
    top = max(math.ceil(max(y for _, y in finite)), bottom + 1)
    last = max(len(norms) - 1, 1)

    def place(k: float, y: float) -> tuple[float, float]:
        right = _MARGIN + k / last * (_WIDTH - 2 * _MARGIN)
        down = _MARGIN / 2 + (top - y) / (top - bottom) * (_HEIGHT - 1.5 * _MARGIN)
        return right, down

    lines = []
    stride = max(1, math.ceil((top - bottom) / 5))
    for decade in range(bottom, top + 1, stride):
        (left, y), (right, _) = place(0, decade), place(last, decade)
        lines.append(
            f"<line x1='{left:.0f}' x2='{right:.0f}' y1='{y:.1f}' y2='{y:.1f}' opacity='.2'/>"
            f"<text x='{left - 4:.0f}' y='{y + 3:.1f}' text-anchor='end' stroke='none'>"
            f"1e{decade}</text>"
        )
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in (place(k, v) for k, v in finite))
    dots = ""
    if len(finite) <= 60:
        places = (place(k, v) for k, v in finite)
        dots = "".join(f"<circle cx='{x:.1f}' cy='{y:.1f}' r='2'/>" for x, y in places)
    (left, foot), (right, _) = place(0, bottom), place(last, bottom)
    # currentColor adapts to light and dark notebooks.
    return (
        f"<svg width='{_WIDTH}' height='{_HEIGHT}' role='img' "
        "aria-label='gradient norm over iterations' stroke='currentColor' fill='currentColor' "
        "font-size='9' font-family='sans-serif'><g stroke='none'>"
        f"<text x='{left:.0f}' y='10'>gradient norm</text>"
        f"<text x='{left:.0f}' y='{foot + 14:.0f}'>0</text>"
        f"<text x='{right:.0f}' y='{foot + 14:.0f}' text-anchor='end'>iteration {len(norms) - 1}"
        f"</text></g>{''.join(lines)}"
        f"<polyline points='{points}' fill='none' stroke-width='1.5'/>{dots}</svg>"
    )
