"""Draw speed.svg from results.json: time against p and n on log-log axes, a line per solver."""

import json
import pathlib
import statistics

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt

# Medium tones that are readable on white and on black.
COLORS = {
    "codiag newton": "#d6336c",
    "codiag quasi-newton": "#f08c00",
    "codiag pham": "#2f9e44",
    "qndiag 0.1": "#1c7ed6",
    "pyRiemann pham": "#9c6ade",
    "MNE pham": "#868e96",
}
GREY = "#868e96"


def draw(results, path):
    plt.rcParams.update(
        {
            "svg.fonttype": "none",
            "svg.hashsalt": "codiag",
            "text.color": GREY,
            "axes.labelcolor": GREY,
            "axes.edgecolor": GREY,
            "xtick.color": GREY,
            "ytick.color": GREY,
            "font.size": 10,
        }
    )
    figure, axes = plt.subplots(1, 2, figsize=(10, 3.8), sharey=True)
    panels = [
        ("p", "n", 100, "matrix size p  (n = 100)"),
        ("n", "p", 20, "number of matrices n  (p = 20)"),
    ]
    for axis, (variable, other, value, label) in zip(axes, panels, strict=True):
        cells = sorted((c for c in results["grid"] if c[other] == value), key=lambda c: c[variable])
        for solver, color in COLORS.items():
            points = [
                (cell[variable], cell["solvers"][solver])
                for cell in cells
                if all(cell["solvers"].get(solver, {}).get("converged", [False]))
            ]
            if points:
                x, found = zip(*points, strict=True)
                y = [1e3 * statistics.median(columns["seconds"]) for columns in found]
                width = 2.4 if solver == "codiag newton" else 1.4
                axis.loglog(x, y, "o-", color=color, label=solver, lw=width, ms=4)
        axis.set_xlabel(label)
        axis.grid(True, which="major", color=GREY, alpha=0.25, lw=0.6)
        for side in ("top", "right"):
            axis.spines[side].set_visible(False)
    axes[0].set_ylabel("milliseconds to a gradient norm of 1e-6")
    axes[1].legend(frameon=False, fontsize=9, loc="center left", bbox_to_anchor=(1.0, 0.5))
    figure.tight_layout()
    figure.savefig(path, transparent=True, metadata={"Date": None})


if __name__ == "__main__":
    here = pathlib.Path(__file__).parent
    draw(json.loads((here / "results.json").read_text()), here / "speed.svg")
