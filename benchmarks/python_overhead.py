"""What a call from Python costs beyond the solve itself, for small problems."""

import argparse
import statistics
import time

import numpy as np

import codiag
from codiag import _core


def microseconds(n, p, repeats):
    """Medians of the whole call, and of the library's own time within it, in turns."""
    C, _ = codiag.datasets.synthetic(n, p)
    calls, inside = [], []
    for _ in range(repeats):
        start = time.perf_counter()
        result = codiag.diagonalize(C)
        calls.append(time.perf_counter() - start)
        inside.append(_core.solve(C, None, {}, None)["seconds"])
    return 1e6 * statistics.median(calls), 1e6 * statistics.median(inside), result.n_iter


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5000)
    repeats = parser.parse_args().repeats
    print(f"codiag {codiag.__version__}, NumPy {np.__version__}; medians of {repeats} calls, in µs")
    print(f"{'n':>5} {'p':>4} {'iterations':>10} {'call':>9} {'Rust':>9} {'overhead':>9}")
    for n, p in ((10, 3), (100, 3), (10, 10), (100, 10)):
        call, inside, iterations = microseconds(n, p, repeats)
        print(f"{n:>5} {p:>4} {iterations:>10} {call:>9.1f} {inside:>9.1f} {call - inside:>9.1f}")


if __name__ == "__main__":
    main()
