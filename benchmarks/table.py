"""Writes the tables of README.md and docs/performance.md from results.json: benchmarks/run table.

They stand between the comments <!-- speed --> and <!-- /speed --> of each page, and a test holds
them to results.json. Nothing but the standard library is needed.
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
    """A time as one reads it, of two digits."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= 0.9995 * size or unit == "µs":
            return f"{digits(seconds / size)} {unit}"
    raise AssertionError


def digits(number):
    """A number of two digits or more, without exponent."""
    return (
        f"{number:.0f}" if number >= 9.95 else f"{number:.2g}" if number >= 1 else f"{number:.1g}"
    )


def times(number):
    return f"{digits(number)}×"


def spread(values, form):
    """The median, and the range in brackets if there is one."""
    shape = form.format if isinstance(form, str) else form
    middle = shape(statistics.median(values))
    if len(values) == 1:
        return middle
    low, high = shape(min(values)), shape(max(values))
    unit = middle.split()[-1] if " " in middle else ""
    if unit and all(text.endswith(f" {unit}") for text in (low, high)):
        low = low.removesuffix(f" {unit}")
        high = high.removesuffix(f" {unit}")
    return f"{middle} ({low.removesuffix('×')}–{high.removesuffix('×')})"


def ratios(answer, ours):
    """How many times as long as ours, seed by seed."""
    return [x / y for x, y in zip(answer["seconds"], ours["seconds"], strict=False)]


def share(row, solver):
    """The share of the speed of a matrix product that the passes of a solve reach."""
    answer = row["answers"][solver]
    if "passes" not in answer:
        return None
    flops = 3 * row["n"] * row["p"] ** 3
    speeds = [flops * p / t for p, t in zip(answer["passes"], answer["seconds"], strict=True)]
    return statistics.median(speeds) / row["peak"]


def cell(answer, ours, seeds):
    """Time, times as long as ours, and loss."""
    if answer is None:
        return "not run"
    if "limit" in answer:
        return f"> {duration(answer['limit'])}"
    few = len(answer["seconds"])
    note = f", {few} seed{'s' if few > 1 else ''}" if few < seeds else ""
    ends = zip(answer["iterations"], answer["arrives"], strict=True)
    late = [iterations for iterations, arrives in ends if not arrives]
    if len(late) == few:
        time = duration(statistics.median(answer["seconds"]))
        least = spread(ratios(answer, ours), times)
        return f"{time} for {late[0]} iterations and not there yet, > {least}{note}"
    some = f", {len(late)} not there yet" if late else ""
    loss = f"loss {statistics.median(answer['losses']):.3g}"
    time = duration(statistics.median(answer["seconds"]))
    return f"{time}, {spread(ratios(answer, ours), times)}{note}{some}; {loss}"


def zero_as_such(losses):
    """Losses of rounding as zero."""
    return [0.0 if abs(x) < 1e-9 else x for x in losses]


def readme(results):
    """The comparison, and the grid of ratios."""
    seeds, day = results["seeds"], datetime.date.fromisoformat(results["date"])
    cores = results["machine"].split(" cores, ")[0]
    processor = results["machine"].rsplit(", ", 1)[1]
    lines = [
        "Time to a gradient norm of 10⁻⁶, measured by the same function for all, on one thread:",
        f"medians over {seeds} sets (seeds; of the MEG sets, orders of the channels), the same",
        "for all, with the range in brackets; times as long as codiag, set by set; the median of",
        "the losses reached.",
        f"`make bench`, {day.day} {day:%B} {day.year}, on a shared virtual machine with",
        f"{cores} cores ({processor}).",
        "",
        "| n = 100, p = 40 unless said | codiag | qndiag 0.1 | pyRiemann, Pham | MNE, Pham |",
        "|---|---|---|---|---|",
    ]
    for name, row in results["experiments"].items():
        answers = clean(row["answers"])
        if OURS not in answers:
            continue
        ours = answers[OURS]
        many = len(ours["seconds"])
        own = f"{spread(ours['seconds'], duration)}; loss {statistics.median(ours['losses']):.3g}"
        if TWO_THREADS in answers and name.endswith("n = 1000"):
            own += (
                f"; on two threads {duration(statistics.median(answers[TWO_THREADS]['seconds']))}"
            )
        peers = [cell(answers.get(peer), ours, many) for peer in PEERS]
        lines.append(f"| {name} | {own} | {' | '.join(peers)} |")
    lines += ["", *grid_of_ratios(results), "", *starts(results)]
    caption = "Time against the size and the number of matrices, for six solvers"
    # An address that holds on the registries, too.
    place = "https://raw.githubusercontent.com/codiag/codiag/main/benchmarks/speed.svg"
    lines += ["", f"![{caption}]({place})"]
    return lines


def clean(answers):
    """The same with losses of rounding as zero."""
    return {
        name: answer if "limit" in answer else {**answer, "losses": zero_as_such(answer["losses"])}
        for name, answer in answers.items()
    }


def grid_of_ratios(results):
    """How many times as long as codiag qndiag takes."""
    sizes = sorted({row["p"] for row in results["grid"]})
    lines = [
        "Times as long as codiag that qndiag 0.1 takes, noise 0.1, one thread: median (range) over",
        f"{results['seeds']} sets, over fewer where that is said in square brackets.",
        "",
        "| | " + " | ".join(f"p = {p}" for p in sizes) + " |",
        "|---" * (len(sizes) + 1) + "|",
    ]
    for n in sorted({row["n"] for row in results["grid"]}):
        cells = []
        for p in sizes:
            found = [row for row in results["grid"] if (row["n"], row["p"]) == (n, p)]
            cells.append(ratio_cell(found[0], results["seeds"]) if found else "–")
        if any(text != "–" for text in cells):
            lines.append(f"| n = {n} | {' | '.join(cells)} |")
    return lines


def ratio_cell(row, seeds):
    theirs = row["answers"].get(QNDIAG)
    if theirs is None or "limit" in theirs:
        return "–"
    # A solve that was not at the goal after 1000 iterations: the time of these, at least.
    least = "" if all(theirs["arrives"]) else "≥ "
    found = ratios(theirs, row["answers"][OURS])
    few = f" [{len(found)}]" if len(found) < seeds else ""
    return f"{least}{spread(found, times)}{few}"


def starts(results):
    """Our start beside the randomized diagonalizer."""
    row = next(row for row in results["experiments"].values() if START in row["answers"])
    ours, theirs = row["answers"][START], row["answers"][RANDOMIZED]
    own, other = (
        f"{spread(answer['seconds'], duration)}, loss {spread(answer['losses'], '{:.2f}')}"
        for answer in (ours, theirs)
    )
    return [
        f"The spectral start alone, on (b): {own}; the randomized diagonalizer of He & Kressner",
        "(2024; generalized eigenvectors of a random combination and the mean, by SciPy):",
        f"{other}.",
    ]


def performance(results):
    """The share of the peak that whole solves reach, and growth and memory."""
    sizes = sorted({row["p"] for row in results["grid"]})
    lines = [
        "| | " + " | ".join(f"p = {p}" for p in sizes) + " |",
        "|---" * (len(sizes) + 1) + "|",
    ]
    for n in sorted({row["n"] for row in results["grid"]}):
        cells = []
        for p in sizes:
            found = [row for row in results["grid"] if (row["n"], row["p"]) == (n, p)]
            if not found:
                cells.append("–")
                continue
            seconds = found[0]["answers"][OURS]["seconds"]
            cells.append(
                f"{duration(statistics.median(seconds))}, {100 * share(found[0], OURS):.0f} %"
            )
        lines.append(f"| n = {n} | {' | '.join(cells)} |")
    experiments = results["experiments"]
    parts = []
    for name, row in experiments.items():
        if OURS in row["answers"]:
            parts.append(f"{name} {100 * share(row, OURS):.0f} %")
    two = [
        f"{spread(ratios(row['answers'][OURS], row['answers'][TWO_THREADS]), times)} on {name}"
        for name, row in experiments.items()
        if TWO_THREADS in row["answers"]
    ]
    scaling = results["scaling"]
    newton, quasi = (scaling["exponents"][s] for s in (OURS, "codiag quasi-newton"))
    memory, memory_quasi = (scaling["memory"][s] for s in (OURS, "codiag quasi-newton"))
    lines += [
        "",
        f"The experiments: {', '.join(parts)}. Two threads against one: {'; '.join(two)}.",
        f"Newton's time per iteration grows as n^{newton:.2f} from n = 1,000 to 100,000 at p = 20,",
        f"that of the quasi-Newton method as n^{quasi:.2f}. Memory at n = 20,000, p = 40:",
        f"{memory:.2f} times the caller's array for Newton, {memory_quasi:.2f} for the",
        "quasi-Newton method.",
    ]
    return lines


PAGES = {"README.md": readme, "docs/performance.md": performance}


def with_tables(text, lines):
    """The page with other lines between its comments."""
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
