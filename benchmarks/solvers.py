"""One solver on one data set, in a process of its own: python solvers.py JSON-TASK.

Prints one line of JSON. All solvers are brought to the same gradient norm, measured by
`gradient_norm` below for all of them: the number of iterations a peer needs is found first, without
the clock, then a run of just that many is timed.
"""

import json
import resource
import sys
import time

import numpy as np

GOAL = 1e-6


def gradient_norm(C, B):
    """||G||_F / sqrt(p) with rows of B scaled to unit mean power: free of units, n and scale."""
    D = B @ C @ B.T
    scale = 1 / np.sqrt(np.mean(np.diagonal(D, axis1=1, axis2=2), axis=0))
    D = D * (scale[:, None] * scale)
    G = np.mean(D / np.diagonal(D, axis1=1, axis2=2)[:, :, None], axis=0)
    np.fill_diagonal(G, 0)
    return float(np.linalg.norm(G) / np.sqrt(len(G)))


def load(data):
    import codiag

    if data["kind"] == "meg":
        return codiag.datasets.meg(data["sensors"])
    return codiag.datasets.synthetic(data["n"], data["p"], data["sigma"], data.get("seed", 0))[0]


def codiag_solver(method):
    def prepare(C, threads):
        import codiag

        start = "spectral" if method == "newton" else "whitener"
        options = {"method": method, "start": start, "tol": GOAL, "threads": threads}

        def run():
            return codiag.diagonalize(C, max_iter=1000, on_failure="ignore", **options).B

        result = codiag.diagonalize(C, max_iter=1000, on_failure="ignore", **options)
        return run, result.n_iter, result.converged

    return prepare


def qndiag_solver(C, _threads):
    from qndiag import qndiag

    _, infos = qndiag(C, max_iter=1000, tol=1e-9, return_B_list=True)
    # The list holds the point before each step; bisection, since the norm falls (nearly) steadily.
    points = infos["B_list"]
    first = next((k for k in candidates(len(points)) if gradient_norm(C, points[k]) <= GOAL), None)
    if first is not None:
        low, high = 0, first
        while low < high:
            middle = (low + high) // 2
            low, high = (
                (low, middle) if gradient_norm(C, points[middle]) <= GOAL else (middle + 1, high)
            )
        first = low
    steps = len(points) if first is None else max(first, 1)
    return (lambda: qndiag(C, max_iter=steps, tol=1e-300)[0]), steps, first is not None


def candidates(length):
    """Indices to look at: closely at first, then every tenth."""
    return [k for k in range(length) if k < 60 or k % 10 == 0 or k == length - 1]


def pham_sweeps(C):
    """The sweeps that Pham's algorithm takes from the identity: codiag's own, to count only."""
    import codiag

    options = {"method": "pham", "start": "identity", "tol": GOAL, "on_failure": "ignore"}
    result = codiag.diagonalize(C, max_iter=1000, **options)
    return result.n_iter, result.converged


def pyriemann_solver(C, _threads):
    from pyriemann.geometry.ajd import ajd_pham

    sweeps, arrives = pham_sweeps(C)
    return (lambda: ajd_pham(C, eps=1e-300, n_iter_max=sweeps)[0]), sweeps, arrives


def mne_solver(C, _threads):
    from mne.decoding.csp import _ajd_pham

    sweeps, arrives = pham_sweeps(C)
    return (lambda: _ajd_pham(C, eps=1e-300, max_iter=sweeps)[0]), sweeps, arrives


SOLVERS = {
    "codiag newton": codiag_solver("newton"),
    "codiag quasi-newton": codiag_solver("quasi-newton"),
    "codiag pham": codiag_solver("pham"),
    "qndiag 0.1": qndiag_solver,
    "pyRiemann pham": pyriemann_solver,
    "MNE pham": mne_solver,
}


def main():
    import warnings

    warnings.simplefilter("ignore")
    task = json.loads(sys.argv[1])
    C = load(task["data"])
    run, iterations, arrives = SOLVERS[task["solver"]](C, task["threads"])
    peak_before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    times = []
    begin = time.perf_counter()
    while len(times) < 3 or (time.perf_counter() - begin < task["seconds"] and len(times) < 200):
        clock = time.perf_counter()
        B = run()
        times.append(time.perf_counter() - clock)
        if time.perf_counter() - begin > 5 * task["seconds"]:
            break
    answer = {
        "median": float(np.median(times)),
        "best": min(times),
        "runs": len(times),
        "iterations": iterations,
        "arrives": bool(arrives),
        "gradient_norm": gradient_norm(C, np.asarray(B)),
        "bytes": C.nbytes,
        "peak_growth": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak_before) * 1024,
    }
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
