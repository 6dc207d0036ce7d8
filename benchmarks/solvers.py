"""Run solvers on sets of one kind in a separate process: python solvers.py JSON-TASK.

All solvers run alternately on one set per seed, because the speed of shared machines varies. All
reach the same gradient norm, measured by `gradient_norm` below: the number of iterations that a
peer needs is determined first, then runs of exactly that many iterations are timed. Prints one line
of JSON.
"""

import contextlib
import json
import signal
import sys
import time
import warnings

import numpy as np

import codiag

GOAL = 1e-6
# A solver that takes less time than FAST runs RUNS times per set; the median is reported.
FAST, RUNS = 1.0, 3


def gradient_norm(C, B):
    """Return ||G||_F / sqrt(p) with the rows of B scaled to unit mean power."""
    D = B @ C @ B.T
    scale = 1 / np.sqrt(np.mean(np.diagonal(D, axis1=1, axis2=2), axis=0))
    D = D * (scale[:, None] * scale)
    G = np.mean(D / np.diagonal(D, axis1=1, axis2=2)[:, :, None], axis=0)
    np.fill_diagonal(G, 0)
    return float(np.linalg.norm(G) / np.sqrt(len(G)))


def loss(C, B):
    """Pham's criterion."""
    powers = np.diagonal(B @ C @ B.T, axis1=1, axis2=2)
    mean_log_det = np.linalg.slogdet(C)[1].mean() + 2 * np.linalg.slogdet(B)[1]
    return float(0.5 * (np.log(powers).sum(axis=1).mean() - mean_log_det))


def load(data, seed):
    if data["kind"] == "meg":
        C = codiag.datasets.meg(data["sensors"])
        # Permuted channels: an equivalent problem with another starting point.
        order = np.random.default_rng(seed).permutation(C.shape[1]) if seed else slice(None)
        return np.ascontiguousarray(C[:, order][:, :, order])
    return codiag.datasets.synthetic(data["n"], data["p"], data["sigma"], seed)[0]


class Prepared:
    """A solver prepared for one set."""

    def __init__(self, run, iterations, converged=True, passes=None):
        self.run, self.iterations, self.converged, self.passes = run, iterations, converged, passes
        self.times = []


def codiag_solver(method, n_jobs=1):
    def prepare(C, _seed):
        init = "spectral" if method == "newton" else "whitener"

        def solve():
            return codiag.diagonalize(
                C,
                method=method,
                init=init,
                tol=GOAL,
                max_iter=1000,
                n_jobs=n_jobs,
                on_failure="ignore",
            )

        result = solve()
        passes = float(result.history["passes"][-1])
        return Prepared(lambda: solve().B, result.n_iter, result.converged, passes)

    return prepare


def qndiag_solver(C, _seed):
    """Run qndiag for as many iterations as codiag, which follows the same iterates."""
    from qndiag import qndiag

    options = {"method": "quasi-newton", "init": "whitener", "tol": GOAL, "on_failure": "ignore"}
    result = codiag.diagonalize(C, max_iter=1000, n_jobs=1, **options)
    steps = max(result.n_iter, 1)

    def run():
        return qndiag(C, max_iter=steps, tol=1e-300)[0]

    return Prepared(run, steps, result.converged)


def pham_solver(function, limit):
    """Run Pham's algorithm in pure Python for as many sweeps as codiag's implementation."""

    def prepare(C, _seed):
        options = {"method": "pham", "init": "identity", "tol": GOAL, "on_failure": "ignore"}
        result = codiag.diagonalize(C, max_iter=1000, n_jobs=1, **options)
        ajd_pham = function()
        run = {"eps": 1e-300, limit: result.n_iter}
        return Prepared(lambda: ajd_pham(C, **run)[0], result.n_iter, result.converged)

    return prepare


def pyriemann_pham():
    from pyriemann.geometry.ajd import ajd_pham

    return ajd_pham


def mne_pham():
    from mne.decoding.csp import _ajd_pham

    return _ajd_pham


def spectral_start(C, _seed):
    def run():
        return codiag.diagonalize(C, max_iter=0, n_jobs=1, on_failure="ignore").B

    return Prepared(run, 0, False)


def randomized(C, seed):
    """H. He & D. Kressner, "Randomized joint diagonalization of symmetric matrices" (2024).

    The non-orthogonal variant: generalized eigenvectors of a random combination of the matrices,
    with standard normal coefficients, and their mean.
    """
    from scipy.linalg import eigh

    rng = np.random.default_rng(seed)

    def run():
        combination = np.tensordot(rng.standard_normal(len(C)), C, axes=1)
        return eigh(combination, C.mean(axis=0))[1].T

    return Prepared(run, 0, False)


SOLVERS = {
    "codiag newton": codiag_solver("newton"),
    "codiag newton, 2 threads": codiag_solver("newton", n_jobs=2),
    "codiag quasi-newton": codiag_solver("quasi-newton"),
    "codiag pham": codiag_solver("pham"),
    "qndiag 0.1": qndiag_solver,
    "pyRiemann pham": pham_solver(pyriemann_pham, "n_iter_max"),
    "MNE pham": pham_solver(mne_pham, "max_iter"),
    "codiag spectral start": spectral_start,
    "He & Kressner": randomized,
}


class OutOfTime(Exception):
    """Raised when a solver exceeds its time limit."""


def _alarm(*_):
    raise OutOfTime


def peak():
    """Return the flops per second of a matrix product, the best of several runs."""
    m = np.ones((500, 500))
    times = []
    for _ in range(4):
        clock = time.perf_counter()
        m @ m
        times.append(time.perf_counter() - clock)
    return 2 * 500**3 / min(times)


class Row:
    """Results of one solver on sets of one kind."""

    def __init__(self, name, plan):
        self.prepare, self.max_seeds, self.left = SOLVERS[name], plan["seeds"], plan["limit"]
        self.limit = plan["limit"]
        self.columns = {
            "seconds": [],
            "losses": [],
            "gradient_norms": [],
            "iterations": [],
            "converged": [],
            "passes": [],
        }

    @contextlib.contextmanager
    def time_limit(self, seconds):
        """Interrupt the block after this many seconds; the solver then skips all further runs."""
        signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-3))
        try:
            yield
        except OutOfTime:
            self.left = 0
            raise
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)

    def runs(self, C, seed, seconds):
        """Generator that runs the solver once per step and finally stores the results."""
        with self.time_limit(self.limit):
            prepared = self.prepare(C, seed)
        B = None
        while not prepared.times or (
            sum(prepared.times) < seconds
            or (prepared.times[0] < FAST and len(prepared.times) < RUNS)
        ):
            clock = time.perf_counter()
            with self.time_limit(self.left):
                B = prepared.run()
            prepared.times.append(time.perf_counter() - clock)
            self.left -= prepared.times[-1]
            if self.left <= 0:
                break
            yield
        B = np.asarray(B)
        found = {
            "seconds": float(np.median(prepared.times)),
            "losses": loss(C, B),
            "gradient_norms": gradient_norm(C, B),
            "iterations": int(prepared.iterations),
            "converged": bool(prepared.converged),
            "passes": prepared.passes,
        }
        for name, value in found.items():
            self.columns[name].append(value)

    def results(self):
        if not self.columns["seconds"]:
            return {"limit": self.limit}
        columns = self.columns
        if columns["passes"][0] is None:
            columns = {name: values for name, values in columns.items() if name != "passes"}
        return columns


def measure(data, plans, seconds):
    """Run all solvers; each plan has the number of seeds and the time limit of one solver."""
    rows = {name: Row(name, plan) for name, plan in plans.items()}
    peaks = []
    for seed in range(max(plan["seeds"] for plan in plans.values())):
        active = [r for r in rows.values() if seed < r.max_seeds and r.left > 0]
        if not active:
            break
        C = load(data, seed)
        runs = [row.runs(C, seed, seconds) for row in active]
        peaks.append(peak())
        while runs:
            unfinished = []
            for run in runs:
                # A solver that is out of time keeps its results of the previous sets.
                with contextlib.suppress(StopIteration, OutOfTime):
                    next(run)
                    unfinished.append(run)
            runs = unfinished
    solvers = {name: row.results() for name, row in rows.items()}
    return {"solvers": solvers, "peak": float(np.median(peaks))}


def main():
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, _alarm)
    task = json.loads(sys.argv[1])
    print(json.dumps(measure(task["data"], task["plans"], task["seconds"])))


if __name__ == "__main__":
    main()
