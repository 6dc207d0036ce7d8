"""Solvers side by side on sets of one kind, in a process of its own: python solvers.py JSON-TASK.

For every seed all solvers are given the same set, and run in turns, because the speed of shared
machines changes from moment to moment. All are brought to the same gradient norm, measured by
`gradient_norm` below for all of them: the number of iterations that a peer needs is found first,
without the clock, then runs of just that many are timed. Prints one line of JSON.
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
# A solver that takes less is run several times per set, for the median.
FAST, RUNS = 1.0, 3


def gradient_norm(C, B):
    """||G||_F / sqrt(p) with rows of B scaled to unit mean power: free of units, n and scale."""
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
        # The channels in another order: the same problem, whose start meets it by another way.
        order = np.random.default_rng(seed).permutation(C.shape[1]) if seed else slice(None)
        return np.ascontiguousarray(C[:, order][:, :, order])
    return codiag.datasets.synthetic(data["n"], data["p"], data["sigma"], seed)[0]


class Prepared:
    """A solver made ready for one set."""

    def __init__(self, run, iterations, arrives=True, passes=None):
        self.run, self.iterations, self.arrives, self.passes = run, iterations, arrives, passes
        self.times = []


def codiag_solver(method, n_jobs=1):
    def prepare(C, _seed):
        start = "spectral" if method == "newton" else "whitener"

        def solve():
            return codiag.diagonalize(
                C,
                method=method,
                init=start,
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
    """As many iterations as codiag counts, which follows the same iterates; the answer tells."""
    from qndiag import qndiag

    options = {"method": "quasi-newton", "init": "whitener", "tol": GOAL, "on_failure": "ignore"}
    result = codiag.diagonalize(C, max_iter=1000, n_jobs=1, **options)
    steps = max(result.n_iter, 1)

    def run():
        return qndiag(C, max_iter=steps, tol=1e-300)[0]

    return Prepared(run, steps, result.converged)


def pham_solver(function, limit):
    """Pham's algorithm in pure Python; codiag's own, from the same start, counts the sweeps."""

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

    For a basis that is not orthogonal: the generalized eigenvectors of a combination of the
    matrices, whose coefficients are standard normal, and their mean.
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
    """A solver has used the time it may take."""


def _alarm(*_):
    raise OutOfTime


def peak():
    """Flops per second of a matrix product, the best of a few."""
    m = np.ones((500, 500))
    times = []
    for _ in range(4):
        clock = time.perf_counter()
        m @ m
        times.append(time.perf_counter() - clock)
    return 2 * 500**3 / min(times)


class Row:
    """What is known of one solver on sets of one kind."""

    def __init__(self, name, plan):
        self.prepare, self.most_seeds, self.left = SOLVERS[name], plan["seeds"], plan["limit"]
        self.limit = plan["limit"]
        self.columns = {
            "seconds": [],
            "losses": [],
            "gradient_norms": [],
            "iterations": [],
            "arrives": [],
            "passes": [],
        }

    @contextlib.contextmanager
    def at_most(self, seconds):
        """Ends what is done within after so many seconds, and the solver's part in what follows."""
        signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-3))
        try:
            yield
        except OutOfTime:
            self.left = 0
            raise
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)

    def runs(self, C, seed, seconds):
        """A generator that runs the solver once at each turn, and writes down what it found."""
        with self.at_most(self.limit):
            prepared = self.prepare(C, seed)
        B = None
        while not prepared.times or (
            sum(prepared.times) < seconds
            or (prepared.times[0] < FAST and len(prepared.times) < RUNS)
        ):
            clock = time.perf_counter()
            with self.at_most(self.left):
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
            "arrives": bool(prepared.arrives),
            "passes": prepared.passes,
        }
        for name, value in found.items():
            self.columns[name].append(value)

    def answer(self):
        if not self.columns["seconds"]:
            return {"limit": self.limit}
        columns = self.columns
        if columns["passes"][0] is None:
            columns = {name: values for name, values in columns.items() if name != "passes"}
        return columns


def measure(data, plans, seconds):
    """All solvers on all seeds; each plan says on how many of them, and for how long in all."""
    rows = {name: Row(name, plan) for name, plan in plans.items()}
    peaks = []
    for seed in range(max(plan["seeds"] for plan in plans.values())):
        taking_part = [r for r in rows.values() if seed < r.most_seeds and r.left > 0]
        if not taking_part:
            break
        C = load(data, seed)
        turns = [row.runs(C, seed, seconds) for row in taking_part]
        peaks.append(peak())
        while turns:
            going_on = []
            for turn in turns:
                # Out of time: the sets before it count.
                with contextlib.suppress(StopIteration, OutOfTime):
                    next(turn)
                    going_on.append(turn)
            turns = going_on
    answers = {name: row.answer() for name, row in rows.items()}
    return {"answers": answers, "peak": float(np.median(peaks))}


def main():
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, _alarm)
    task = json.loads(sys.argv[1])
    print(json.dumps(measure(task["data"], task["plans"], task["seconds"])))


if __name__ == "__main__":
    main()
