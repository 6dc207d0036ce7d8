"""Compare times, data passes and losses of two builds of the program.

    python benchmarks/compare_builds.py OLD NEW [--seeds 8] [--rows 0,1,2]

OLD and NEW are ``codiag`` executables. Copy both into one folder, because the location of a file on
the disk affects its startup time. Both solve each set alternately, three times on one thread, and
the shortest times are compared. Prints the median and range of the ratios over the seeds.
"""

import argparse
import json
import statistics
import subprocess
import tempfile
from pathlib import Path

import numpy as np

ROWS = [
    (100, 40, 0.0),
    (100, 40, 0.1),
    (100, 40, 0.3),
    (100, 40, "magnetometers"),
    (100, 40, "gradiometers"),
    (100, 5, 0.1),
    (1000, 40, 0.1),
    (20, 5, 0.1),
    (20, 10, 0.1),
    (20, 20, 0.1),
    (20, 40, 0.1),
    (20, 80, 0.1),
    (20, 160, 0.1),
    (100, 10, 0.1),
    (100, 20, 0.1),
    (100, 80, 0.1),
    (100, 160, 0.1),
    (1000, 5, 0.1),
    (1000, 10, 0.1),
    (1000, 20, 0.1),
    (1000, 80, 0.1),
    (10000, 20, 0.1),
]


def write_set(program, folder, row, seed):
    """Write a set; for MEG, 85 of the matrices with permuted channels."""
    n, p, kind = row
    path = folder / "set.npy"
    generate = [program, "generate", "-q", "-o", path]
    if isinstance(kind, str):
        subprocess.run([*generate, "--meg", kind], check=True)
        rng = np.random.default_rng(seed)
        chosen, order = rng.choice(100, 85, replace=False), rng.permutation(40)
        np.save(path, np.ascontiguousarray(np.load(path)[chosen][:, order][:, :, order]))
    else:
        numbers = ["-n", n, "-p", p, "--sigma", kind, "--seed", seed]
        subprocess.run([*generate, *map(str, numbers)], check=True)
    return path


def solve(program, folder, path):
    command = [program, "diagonalize", path, "-o", folder / "result", "-q", "--n-jobs", "1"]
    subprocess.run(command, check=True, capture_output=True)
    report = json.loads((folder / "result" / "report.json").read_text())
    return report["seconds"], report["history"][-1]["passes"], report["loss"]


def compare(old, new, folder, row, seeds):
    times, passes, losses = [], [], []
    for seed in range(seeds):
        path = write_set(new, folder, row, seed)
        runs = [(solve(old, folder, path), solve(new, folder, path)) for _ in range(3)]
        before, after = (min(run) for run in zip(*runs, strict=True))
        times.append(after[0] / before[0])
        passes.append(after[1] / max(before[1], 1))
        losses.append(after[2] - before[2])
    median = statistics.median
    n, p, kind = row
    print(
        f"n = {n}, p = {p}, {kind}: time {median(times):.2f} ({min(times):.2f}-{max(times):.2f}), "
        f"data passes {median(passes):.2f}, mean loss difference {statistics.mean(losses):.1g}",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--rows", help="numbers of rows, separated by commas; all by default")
    options = parser.parse_args()
    chosen = range(len(ROWS)) if options.rows is None else map(int, options.rows.split(","))
    with tempfile.TemporaryDirectory() as folder:
        for k in chosen:
            old, new = options.old.resolve(), options.new.resolve()
            compare(old, new, Path(folder), ROWS[k], options.seeds)


if __name__ == "__main__":
    main()
