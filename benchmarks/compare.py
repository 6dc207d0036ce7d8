"""Compares codiag with its peers: same data, same accuracy, same number of threads.

    benchmarks/run            everything (about half an hour on two cores)
    benchmarks/run --quick    the paper's experiments only

Prints tables, writes results.json and draws speed.svg beside this file.
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import subprocess
import sys

import numpy as np

HERE = pathlib.Path(__file__).parent
OURS = "codiag newton"
PEERS = ["qndiag 0.1", "pyRiemann pham", "MNE pham"]
ALL = [OURS, "codiag quasi-newton", "codiag pham", *PEERS]

EXPERIMENTS = {
    "(a) exact": {"kind": "synthetic", "n": 100, "p": 40, "sigma": 0.0},
    "(b) noise 0.1": {"kind": "synthetic", "n": 100, "p": 40, "sigma": 0.1},
    "(c) MEG magnetometers": {"kind": "meg", "sensors": "magnetometers", "n": 100, "p": 40},
    "(c) MEG gradiometers": {"kind": "meg", "sensors": "gradiometers", "n": 100, "p": 40},
    "p = 5, n = 100": {"kind": "synthetic", "n": 100, "p": 5, "sigma": 0.1},
    "p = 40, n = 1000": {"kind": "synthetic", "n": 1000, "p": 40, "sigma": 0.1},
}
SIZES_P = [5, 10, 20, 40, 80, 160]
SIZES_N = [20, 100, 1000, 10000]
# A cell of the grid is run while its matrices hold at most this many numbers.
LARGEST = 2.6e7


PURE_PYTHON = ["pyRiemann pham", "MNE pham"]


def hopeless(solver, data):
    """Pairs in pure Python: p²/2 NumPy calls of size n p per sweep only meet the time limit."""
    return solver in PURE_PYTHON and data["n"] * data["p"] ** 3 > 1e7


def measure(solver, data, threads, limit, seconds=1.0):
    """The answer of solvers.py, or {'limit': seconds} if it took too long."""
    task = {"solver": solver, "data": data, "threads": threads, "seconds": seconds}
    variables = ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"]
    environment = {**os.environ, **dict.fromkeys(variables, str(threads))}
    command = [sys.executable, str(HERE / "solvers.py"), json.dumps(task)]
    try:
        done = subprocess.run(
            command, env=environment, timeout=limit, capture_output=True, text=True, check=False
        )
    except subprocess.TimeoutExpired:
        return {"limit": limit}
    if done.returncode != 0:
        return {"error": done.stderr.strip().splitlines()[-1:] or ["no message"]}
    return json.loads(done.stdout.splitlines()[-1])


def shown(answer):
    """A time as one reads it."""
    if "skipped" in answer:
        return "not run"
    if "limit" in answer:
        return f"> {answer['limit']:.0f} s"
    if "error" in answer:
        return "error"
    seconds = answer["best"]
    text = f"{1e6 * seconds:.0f} µs" if seconds < 1e-3 else f"{1e3 * seconds:.3g} ms"
    return text if answer["arrives"] else f"{text} *"


def ratio(answer, ours):
    if "best" in answer and "best" in ours:
        return answer["best"] / ours["best"]
    if "limit" in answer and "best" in ours:
        return answer["limit"] / ours["best"]
    return float("nan")


def experiments(threads, limit):
    rows = {}
    for name, data in EXPERIMENTS.items():
        rows[name] = {
            solver: {"skipped": True}
            if hopeless(solver, data) or (threads > 1 and solver in PURE_PYTHON)
            else measure(solver, data, threads, limit)
            for solver in ALL
        }
        ours = rows[name][OURS]
        print(f"\n{name}, {threads} thread{'s' if threads > 1 else ''}")
        for solver, answer in rows[name].items():
            print(
                f"  {solver:20} {shown(answer):>12}  {answer.get('iterations', ''):>5} iterations"
                f"  gradient {answer.get('gradient_norm', float('nan')):8.1e}"
                f"  {ratio(answer, ours):8.1f} x newton",
                flush=True,
            )
    print("\n* not at 1e-6 after 1000 iterations: the time of these")
    return rows


def grid(limit):
    cells = []
    print(f"\ngrid, noise 0.1, 1 thread: best time, {', '.join(ALL)}")
    for p in SIZES_P:
        for n in SIZES_N:
            if n * p * p > LARGEST:
                continue
            data = {"kind": "synthetic", "n": n, "p": p, "sigma": 0.1}
            cell = {"n": n, "p": p, "answers": {}}
            for solver in ALL:
                cell["answers"][solver] = (
                    {"skipped": True}
                    if hopeless(solver, data)
                    else measure(solver, data, 1, limit, seconds=0.3)
                )
            cells.append(cell)
            times = "  ".join(f"{shown(cell['answers'][s]):>10}" for s in ALL)
            print(f"  p {p:4} n {n:6}  {times}", flush=True)
    return cells


def scaling():
    """Time per iteration against n at p = 20, and memory beyond the caller's array."""
    rows = []
    for n in (1000, 10000, 100000):
        data = {"kind": "synthetic", "n": n, "p": 20, "sigma": 0.1}
        for solver in (OURS, "codiag quasi-newton"):
            answer = measure(solver, data, 1, 600)
            rows.append({"n": n, "p": 20, "solver": solver, **answer})
    for solver in (OURS, "codiag quasi-newton"):
        own = [row for row in rows if row["solver"] == solver]
        logs = [(np.log(r["n"]), np.log(r["best"] / (r["iterations"] + 1))) for r in own]
        exponent = np.polyfit(*zip(*logs, strict=True), 1)[0]
        print(f"\n{solver}: time per iteration grows as n^{exponent:.2f} at p = 20")
    data = {"kind": "synthetic", "n": 20000, "p": 40, "sigma": 0.1}
    memory = {}
    for solver in (OURS, "codiag quasi-newton"):
        memory[solver] = memory_growth(solver, data)
        print(f"{solver}: peak memory {memory[solver]:.2f} x the set, beyond the caller's array")
    return {"rows": rows, "memory": memory}


def memory_growth(solver, data):
    """Peak growth of a first solve, in sizes of the set, in a process of its own."""
    method = solver.split()[1]
    code = f"""
import codiag

def kilobytes(name):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith(name))

C = codiag.datasets.synthetic({data["n"]}, {data["p"]}, {data["sigma"]}, 0)[0]
open("/proc/self/clear_refs", "w").write("5")  # making the set had a peak of its own
before = kilobytes("VmRSS")
codiag.diagonalize(C, method={method!r}, tol=1e-6, max_iter=5, threads=1, on_failure="ignore")
print((kilobytes("VmHWM") - before) * 1024 / C.nbytes)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="the experiments only, one thread")
    parser.add_argument("--limit", type=float, default=45, help="seconds a solver may take")
    arguments = parser.parse_args()
    results = {
        "date": datetime.date.today().isoformat(),
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, {processor()}",
        "goal": 1e-6,
        "experiments": {"1": experiments(1, arguments.limit)},
    }
    print(f"\n{results['machine']}, {results['date']}")
    if not arguments.quick:
        results["experiments"]["2"] = experiments(2, arguments.limit)
        one, two = (results["experiments"][t]["p = 40, n = 1000"][OURS]["best"] for t in "12")
        print(f"\ntwo threads against one, n = 1000, p = 40: {one / two:.2f} x")
        results["scaling"] = scaling()
        results["grid"] = grid(arguments.limit / 3)
        (HERE / "results.json").write_text(json.dumps(results, indent=1) + "\n")
        import figure

        figure.draw(results, HERE / "speed.svg")


def processor():
    try:
        with open("/proc/cpuinfo") as lines:
            names = (line.split(":")[1].strip() for line in lines if "model name" in line)
            return next(names)
    except (OSError, StopIteration):
        return platform.processor()


if __name__ == "__main__":
    main()
