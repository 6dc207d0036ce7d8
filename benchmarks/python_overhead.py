"""Measure the overhead of Python for small problems: single calls, and diagonalize_many."""

import argparse
import statistics
import time

import numpy as np

import codiag
from codiag import _core


def microseconds(n, p, repeats):
    """Return the median times of the Python call and of the Rust solve, interleaved."""
    C, _ = codiag.datasets.synthetic(n, p)
    calls, inside = [], []
    for _ in range(repeats):
        start = time.perf_counter()
        result = codiag.diagonalize(C)
        calls.append(time.perf_counter() - start)
        inside.append(_core.solve(C, None, {}, None).seconds)
    return 1e6 * statistics.median(calls), 1e6 * statistics.median(inside), result.n_iter


def microseconds_each(n, p, count, n_jobs, repeats):
    """Return the median time per problem of diagonalize_many for each number of threads."""
    sets = [codiag.datasets.synthetic(n, p, random_state=seed)[0] for seed in range(count)]
    times = {number: [] for number in n_jobs}
    for _ in range(repeats):
        for number, taken in times.items():
            start = time.perf_counter()
            codiag.diagonalize_many(sets, n_jobs=number)
            taken.append((time.perf_counter() - start) / count)
    return [1e6 * statistics.median(taken) for taken in times.values()]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5000)
    repeats = parser.parse_args().repeats
    print(f"codiag {codiag.__version__}, NumPy {np.__version__}; medians of {repeats} calls, in µs")
    print(f"{'n':>5} {'p':>4} {'iterations':>10} {'call':>9} {'Rust':>9} {'overhead':>9}")
    for n, p in ((10, 3), (100, 3), (10, 10), (100, 10)):
        call, inside, iterations = microseconds(n, p, repeats)
        print(f"{n:>5} {p:>4} {iterations:>10} {call:>9.1f} {inside:>9.1f} {call - inside:>9.1f}")
    print(f"diagonalize_many: medians of {repeats // 100} calls with 200 problems each")
    print("in µs per problem")
    print(f"{'n':>5} {'p':>4} {'one thread':>12} {'two threads':>12} {'speedup':>9}")
    for n, p in ((10, 3), (50, 4), (100, 10)):
        one, two = microseconds_each(n, p, 200, (1, 2), repeats // 100)
        print(f"{n:>5} {p:>4} {one:>12.1f} {two:>12.1f} {one / two:>9.2f}")


if __name__ == "__main__":
    main()
