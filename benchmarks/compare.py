"""Compare codiag with its peers on equal sets, at equal accuracy, with equal numbers of threads.

    benchmarks/run            everything (about twelve minutes on two cores)
    benchmarks/run --quick    the paper's experiments only, three seeds; nothing is written

Each synthetic row is the median and range over ten seeds, which are equal for all solvers. A slow
solver runs on fewer seeds if its time limit is exceeded. Prints tables, writes results.json and
draws speed.svg in this folder; `benchmarks/run table` then generates the tables of
docs/benchmarks.md and docs/performance.md from results.json.
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
import table

HERE = pathlib.Path(__file__).parent
OURS, QNDIAG = "codiag newton", "qndiag 0.1"
TWO_THREADS = "codiag newton, 2 threads"
SLOWER = ["codiag quasi-newton", "codiag pham"]
# Pure Python loops over pairs: p²/2 NumPy calls of size n p per sweep. Few seeds and small sets.
PURE_PYTHON = ["pyRiemann pham", "MNE pham"]
SEEDS = 10

SIZES_P = [5, 10, 20, 40, 80, 160]
SIZES_N = [20, 100, 1000]
# For the plot of time against n.
LARGE = (10000, 20)
SCALING = [1000, 10000, 100000]


def plan(seeds, limit):
    """Return the number of seeds of a solver and the time limit of all its runs in seconds."""
    return {"seeds": seeds, "limit": limit}


def synthetic(n, p, sigma=0.1):
    return {"kind": "synthetic", "n": n, "p": p, "sigma": sigma}


def meg(sensors):
    return {"kind": "meg", "sensors": sensors, "n": 100, "p": 40}


def experiments(seeds):
    """Return the rows of docs/benchmarks.md: the set, and the plans of its solvers."""
    few = min(seeds, 3)
    ours = {name: plan(seeds, 60) for name in (OURS, *SLOWER, QNDIAG)}
    peers = {name: plan(few, 60) for name in PURE_PYTHON}
    orders = {name: plan(seeds, 60) for name in (OURS, QNDIAG)}
    orders |= {name: plan(1, 20) for name in (*SLOWER, *PURE_PYTHON)}
    starts = {name: plan(seeds, 60) for name in ("codiag spectral start", "He & Kressner")}
    threads = {name: plan(seeds, 60) for name in (OURS, TWO_THREADS, QNDIAG)}
    return {
        "(a) exact": (synthetic(100, 40, 0.0), {**ours, **peers}),
        "(b) noise 0.1": (synthetic(100, 40), {**ours, **peers, TWO_THREADS: plan(seeds, 60)}),
        "noise 0.3": (synthetic(100, 40, 0.3), {name: ours[name] for name in (OURS, QNDIAG)}),
        "(c) MEG magnetometers": (meg("magnetometers"), orders),
        "(c) MEG gradiometers": (meg("gradiometers"), orders),
        "noise 0.1, p = 5": (synthetic(100, 5), {**ours, **peers}),
        "noise 0.1, n = 1000": (synthetic(1000, 40), threads),
        "(b), starting point only": (synthetic(100, 40), starts),
    }


def cells(seeds):
    """Yield n, p and the plans of the solvers for each cell of the grid."""
    few = min(seeds, 3)
    for p in SIZES_P:
        for n in [*SIZES_N, *([LARGE[0]] if p == LARGE[1] else [])]:
            plans = {OURS: plan(seeds, 20), **{name: plan(few, 10) for name in SLOWER}}
            if n * p**3 <= 1e9:
                plans[QNDIAG] = plan(seeds, 40)
            if n * p**3 <= 1e6:
                plans |= {name: plan(1, 10) for name in PURE_PYTHON}
            yield n, p, plans


def measure(data, plans, seconds=0.1):
    """Return the results of solvers.py."""
    task = {"data": data, "plans": plans, "seconds": seconds}
    variables = ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"]
    environment = {**os.environ, **dict.fromkeys(variables, "1")}
    command = [sys.executable, str(HERE / "solvers.py"), json.dumps(task)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{data}: {done.stderr}")
    return {**data, **json.loads(done.stdout.splitlines()[-1])}


def show(name, row):
    """Print a row: times, losses, iterations, and times relative to codiag."""
    print(f"\n{name}")
    base = next(iter(row["solvers"]))
    for solver, columns in row["solvers"].items():
        if "limit" in columns:
            print(f"  {solver:25} > {columns['limit']} s")
            continue
        note = "" if all(columns["converged"]) else "  (not all converged)"
        ratios = table.spread(table.ratios(columns, row["solvers"][base]), "{:.1f}")
        fraction = table.peak_fraction(row, solver)
        used = "" if fraction is None else f"  {100 * fraction:.0f} % of the peak"
        print(
            f"  {solver:25} {table.spread(columns['seconds'], table.duration):28}"
            f"  loss {np.median(columns['losses']):10.4g}"
            f"  {np.median(columns['iterations']):6.0f} iterations  x {ratios}{used}{note}",
            flush=True,
        )


def scaling():
    """Measure time per iteration against n at p = 20, and memory in addition to the input."""
    rows = []
    for n in SCALING:
        plans = {name: plan(1, 60) for name in (OURS, "codiag quasi-newton")}
        rows.append(measure(synthetic(n, 20), plans, seconds=1.0))
    exponents = {}
    for solver in (OURS, "codiag quasi-newton"):
        own = [(row["n"], row["solvers"][solver]) for row in rows]
        times = [columns["seconds"][0] / (columns["iterations"][0] + 1) for _, columns in own]
        exponent = np.polyfit(np.log([n for n, _ in own]), np.log(times), 1)[0]
        exponents[solver] = float(exponent)
        print(f"\n{solver}: time per iteration grows as n^{exponent:.2f} at p = 20")
    memory = {}
    for solver in (OURS, "codiag quasi-newton"):
        memory[solver] = memory_growth(solver, synthetic(20000, 40))
        print(f"{solver}: peak memory {memory[solver]:.2f} x the set, in addition to the input")
    return {"rows": rows, "exponents": exponents, "memory": memory}


def memory_growth(solver, data):
    """Return the peak memory of a first solve in a new process, relative to the set."""
    method = solver.split()[1]
    code = f"""
import codiag

def kilobytes(name):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith(name))

C = codiag.datasets.synthetic({data["n"]}, {data["p"]}, {data["sigma"]}, 0)[0]
open("/proc/self/clear_refs", "w").write("5")  # forget the peak of generating the set
before = kilobytes("VmRSS")
codiag.diagonalize(C, method={method!r}, tol=1e-6, max_iter=5, n_jobs=1, on_failure="ignore")
print((kilobytes("VmHWM") - before) * 1024 / C.nbytes)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="the experiments only, three seeds")
    arguments = parser.parse_args()
    seeds = 3 if arguments.quick else SEEDS
    results = {
        "date": datetime.date.today().isoformat(),
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, {processor()}",
        "goal": 1e-6,
        "seeds": seeds,
        "experiments": {},
    }
    print(f"{results['machine']}, {results['date']}")
    for name, (data, plans) in experiments(seeds).items():
        results["experiments"][name] = measure(data, plans)
        show(name, results["experiments"][name])
    if arguments.quick:
        return
    results["grid"] = []
    for n, p, plans in cells(seeds):
        results["grid"].append(measure(synthetic(n, p), plans))
        show(f"grid: n = {n}, p = {p}, noise 0.1", results["grid"][-1])
    results["scaling"] = scaling()
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
