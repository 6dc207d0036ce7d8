"""Generate the tables of two pages in docs/ from results.json: benchmarks/run table.

The tables are between the comments <!-- speed --> and <!-- /speed --> of each page. A test checks
that they match results.json. This script needs only the standard library.
"""

import datetime
import json
import pathlib
import statistics

HERE = pathlib.Path(__file__).parent
OURS, QNDIAG = "codiag newton", "qndiag 0.1"
TWO_THREADS = "codiag newton, 2 threads"
PEERS = [QNDIAG, "pyRiemann pham", "MNE pham"]
START, RANDOMIZED = "codiag spectral start", "He & Kressner"
OPEN, CLOSE = "<!-- speed -->\n", "<!-- /speed -->"


def duration(seconds):
    """Format a time with its unit and two digits."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= 0.9995 * size or unit == "µs":
            return f"{digits(seconds / size)} {unit}"
    raise AssertionError


def digits(number):
    """Format a number with at least two digits and without exponent."""
    return (
        f"{number:.0f}" if number >= 9.95 else f"{number:.2g}" if number >= 1 else f"{number:.1g}"
    )


def times(number):
    return f"{digits(number)}×"


def spread(values, form):
    """Format the median and, for several values, the range in brackets."""
    shape = form.format if isinstance(form, str) else form
    median = shape(statistics.median(values))
    if len(values) == 1:
        return median
    low, high = shape(min(values)), shape(max(values))
    unit = median.split()[-1] if " " in median else ""
    if unit and all(text.endswith(f" {unit}") for text in (low, high)):
        low = low.removesuffix(f" {unit}")
        high = high.removesuffix(f" {unit}")
    return f"{median} ({low.removesuffix('×')}–{high.removesuffix('×')})"


def ratios(columns, ours):
    """Return the times relative to those of codiag, for each seed."""
    return [x / y for x, y in zip(columns["seconds"], ours["seconds"], strict=False)]


def peak_fraction(row, solver):
    """Return the speed of the data passes of a solve relative to a matrix product."""
    columns = row["solvers"][solver]
    if "passes" not in columns:
        return None
    flops = 3 * row["n"] * row["p"] ** 3
    speeds = [flops * p / t for p, t in zip(columns["passes"], columns["seconds"], strict=True)]
    return statistics.median(speeds) / row["peak"]


def cell(columns, ours, seeds):
    """Return a cell: time, time relative to codiag, and loss."""
    if columns is None:
        return "not run"
    if "limit" in columns:
        return f"> {duration(columns['limit'])}"
    few = len(columns["seconds"])
    note = f", {few} seed{'s' if few > 1 else ''}" if few < seeds else ""
    ends = zip(columns["iterations"], columns["converged"], strict=True)
    unconverged = [iterations for iterations, converged in ends if not converged]
    if len(unconverged) == few:
        time = duration(statistics.median(columns["seconds"]))
        least = spread(ratios(columns, ours), times)
        count = unconverged[0]
        return f"not converged after {count} iterations ({time}), > {least}{note}"
    some = f", {len(unconverged)} not converged" if unconverged else ""
    time = duration(statistics.median(columns["seconds"]))
    # The median loss of fewer sets is not comparable with that of all.
    loss = "" if note else f"; loss {statistics.median(columns['losses']):.3g}"
    return f"{time}, {spread(ratios(columns, ours), times)}{note}{some}{loss}"


def rounded_to_zero(losses):
    """Replace losses of the size of rounding errors by zero."""
    return [0.0 if abs(x) < 1e-9 else x for x in losses]


def readme(results):
    """Return the comparison and the grid of ratios."""
    seeds, day = results["seeds"], datetime.date.fromisoformat(results["date"])
    cores = results["machine"].split(" cores, ")[0]
    processor = results["machine"].rsplit(", ", 1)[1]
    lines = [
        "Time to a gradient norm of 10⁻⁶ on one thread: median (range) over",
        f"{seeds} data sets, which are {seeds} random seeds or, for the MEG data, {seeds} channel",
        "permutations. “12×” means 12 times slower than codiag on the same sets; “loss” is the",
        f"median final loss. Measured with `make bench` on {day.day} {day:%B} {day.year},",
        f"on a shared virtual machine with {cores} cores ({processor}).",
        "",
        "| n = 100, p = 40 unless stated | codiag | qndiag 0.1 | pyRiemann, Pham | MNE, Pham |",
        "|---|---|---|---|---|",
    ]
    for name, row in results["experiments"].items():
        solvers = clean(row["solvers"])
        if OURS not in solvers:
            continue
        ours = solvers[OURS]
        many = len(ours["seconds"])
        own = f"{spread(ours['seconds'], duration)}; loss {statistics.median(ours['losses']):.3g}"
        if TWO_THREADS in solvers and name.endswith("n = 1000"):
            own += (
                f"; on two threads {duration(statistics.median(solvers[TWO_THREADS]['seconds']))}"
            )
        peers = [cell(solvers.get(peer), ours, many) for peer in PEERS]
        lines.append(f"| {name} | {own} | {' | '.join(peers)} |")
    lines += ["", *grid_of_ratios(results), "", *starts(results)]
    caption = "Time against the size and the number of matrices, for six solvers"
    # An absolute address, which also works on package registries.
    place = "https://raw.githubusercontent.com/codiag/codiag/main/benchmarks/speed.svg"
    lines += ["", f"![{caption}]({place})"]
    return lines


def clean(solvers):
    """Replace losses of the size of rounding errors by zero in all columns."""
    return {
        name: columns
        if "limit" in columns
        else {**columns, "losses": rounded_to_zero(columns["losses"])}
        for name, columns in solvers.items()
    }


def measured(results, n, p):
    """Return the row of sets of noise 0.1 of this size, or None.

    Some sizes are also experiments and were measured twice: that of the experiment is returned, so
    that all tables have the same number for one size.
    """
    experiments = [row for name, row in results["experiments"].items() if "noise 0.1" in name]
    rows = [row for row in [*experiments, *results["grid"]] if (row["n"], row["p"]) == (n, p)]
    return rows[0] if rows else None


def grid_of_ratios(results):
    """Return the grid of the slowdown of qndiag relative to codiag."""
    sizes = sorted({row["p"] for row in results["grid"]})
    lines = [
        "Slowdown of qndiag 0.1 relative to codiag at noise 0.1 on one thread: median (range) over",
        f"{results['seeds']} sets; [k] means only k sets.",
        "",
        "| | " + " | ".join(f"p = {p}" for p in sizes) + " |",
        "|---" * (len(sizes) + 1) + "|",
    ]
    for n in sorted({row["n"] for row in results["grid"]}):
        cells = []
        for p in sizes:
            row = measured(results, n, p)
            cells.append("–" if row is None else ratio_cell(row, results["seeds"]))
        if any(text != "–" for text in cells):
            lines.append(f"| n = {n} | {' | '.join(cells)} |")
    return lines


def ratio_cell(row, seeds):
    theirs = row["solvers"].get(QNDIAG)
    if theirs is None or "limit" in theirs:
        return "–"
    # A solve that did not converge in 1000 iterations gives a lower bound.
    least = "" if all(theirs["converged"]) else "≥ "
    found = ratios(theirs, row["solvers"][OURS])
    few = f" [{len(found)}]" if len(found) < seeds else ""
    return f"{least}{spread(found, times)}{few}"


def starts(results):
    """Compare the spectral starting point with the randomized diagonalizer."""
    row = next(row for row in results["experiments"].values() if START in row["solvers"])
    ours, theirs = row["solvers"][START], row["solvers"][RANDOMIZED]
    own, other = (
        f"{spread(columns['seconds'], duration)}, loss {spread(columns['losses'], '{:.2f}')}"
        for columns in (ours, theirs)
    )
    return [
        f"Spectral starting point only, on (b): {own}. Randomized diagonalizer of He & Kressner",
        "(2024; generalized eigenvectors of a random combination and the mean, by SciPy):",
        f"{other}.",
    ]


def performance(results):
    """Return the fraction of the peak that solves reach, and growth and memory."""
    sizes = sorted({row["p"] for row in results["grid"]})
    lines = [
        "| | " + " | ".join(f"p = {p}" for p in sizes) + " |",
        "|---" * (len(sizes) + 1) + "|",
    ]
    for n in sorted({row["n"] for row in results["grid"]}):
        cells = []
        for p in sizes:
            row = measured(results, n, p)
            if row is None:
                cells.append("–")
                continue
            seconds = row["solvers"][OURS]["seconds"]
            percent = 100 * peak_fraction(row, OURS)
            cells.append(f"{duration(statistics.median(seconds))}, {percent:.0f} %")
        lines.append(f"| n = {n} | {' | '.join(cells)} |")
    experiments = results["experiments"]
    parts = []
    for name, row in experiments.items():
        if OURS in row["solvers"] and "noise 0.1" not in name:
            parts.append(f"{name} {100 * peak_fraction(row, OURS):.0f} %")
    two = [
        f"{spread(ratios(row['solvers'][OURS], row['solvers'][TWO_THREADS]), times)} on {name}"
        for name, row in experiments.items()
        if TWO_THREADS in row["solvers"]
    ]
    scaling = results["scaling"]
    newton, quasi = (scaling["exponents"][s] for s in (OURS, "codiag quasi-newton"))
    memory, memory_quasi = (scaling["memory"][s] for s in (OURS, "codiag quasi-newton"))
    lines += [
        "",
        f"Other experiments: {', '.join(parts)}. Speedup of two threads: {'; '.join(two)}.",
        f"From n = 1,000 to 100,000 at p = 20, the time per iteration grows as n^{newton:.2f} for",
        f"Newton's method and as n^{quasi:.2f} for the quasi-Newton method. At n = 20,000, p = 40,",
        f"the memory in addition to the input is {memory:.2f} times the input for Newton's method",
        f"and {memory_quasi:.2f} times for the quasi-Newton method.",
    ]
    return lines


PAGES = {"docs/benchmarks.md": readme, "docs/performance.md": performance}


def with_tables(text, lines):
    """Return the page with these lines between its comments."""
    before, rest = text.split(OPEN)
    _, after = rest.split(CLOSE)
    return before + OPEN + "\n".join(lines) + "\n" + CLOSE + after


def main():
    results = json.loads((HERE / "results.json").read_text(encoding="utf-8"))
    for page, lines in PAGES.items():
        path = HERE.parent / page
        path.write_text(
            with_tables(path.read_text(encoding="utf-8"), lines(results)), encoding="utf-8"
        )
        print(f"wrote the tables of {page}")


if __name__ == "__main__":
    main()
