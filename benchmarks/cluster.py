"""Compare a Dask cluster on this machine with threads in memory.

python benchmarks/cluster.py [--matrices 50000] [--size 40] [--runs 3] [--workers 1 2]

Workers have one thread each; k workers are compared with k threads. The runs are interleaved, and
the best of each is taken. Chunks are generated on the workers, so that only sums pass through the
client. The script also prints the number of requests, the amount of data that they transfer, and
the time predicted by the model of docs/scaling.md: the time in memory plus, for each request, the
latency measured on a very small set.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter

import dask.array
import distributed
import numpy as np

import codiag
from codiag.dask import _parts

# The protocol of core/src/cluster.
HEADER = 16
KINDS = dict(
    enumerate(
        "sample balance correlate reset mean statistics hessian product probe point advance".split()
    )
)
KINDS |= {11: "final sums", 13: "wedge", 14: "matrices"}


def matrices_between(first: int, last: int, p: int) -> np.ndarray:
    """Generate matrices `first` to `last` of a set, of which each process can generate a part."""
    mixing = np.random.default_rng(0).standard_normal((p, p))
    matrices = np.empty((last - first, p, p))
    for i in range(first, last):
        rng = np.random.default_rng(i + 1)
        noise = 0.3 * rng.standard_normal((p, p))
        matrices[i - first] = (mixing * rng.uniform(size=p)) @ mixing.T + noise @ noise.T
    return matrices


def lazy(n: int, p: int, chunk: int) -> dask.array.Array:
    def block(block_info=None):
        (first, last), *_ = block_info[None]["array-location"]
        return matrices_between(first, last, p)

    sizes = [min(chunk, n - k) for k in range(0, n, chunk)]
    return dask.array.map_blocks(block, chunks=(tuple(sizes), p, p), dtype=float)


class RequestCounter:
    """Counts requests, and the numbers and time that they take."""

    def __init__(self) -> None:
        self.send = _parts.Parts.send
        self.reset()

    def reset(self) -> None:
        self.requests: Counter[str] = Counter()
        self.sent = self.received = self.largest = 0
        self.began = 0.0
        self.loaded = 0.0

    def __enter__(self) -> RequestCounter:
        def counting(parts, request):
            if not self.requests:
                self.loaded = time.perf_counter() - self.began
            responses = self.send(parts, request)
            # Numbers of eight bytes follow the header. The matrices of a sample and the final
            # tables are not sums and are not counted.
            kind = KINDS.get(request[3], str(request[3]))
            self.requests[kind] += 1
            if kind not in ("matrices", "final sums"):
                received = (len(responses[0]) - HEADER) // 8
                self.sent += (len(request) - HEADER) // 8
                self.received += received
                self.largest = max(self.largest, received)
            return responses

        _parts.Parts.send = counting
        return self

    def __exit__(self, *_: object) -> None:
        _parts.Parts.send = self.send


def timed(matrices, **options) -> tuple[float, codiag.Result]:
    began = time.perf_counter()
    result = codiag.diagonalize(matrices, **options)
    return time.perf_counter() - began, result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--matrices", type=int, default=50_000)
    parser.add_argument("--size", type=int, default=40)
    parser.add_argument("--chunk", type=int, default=2500)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    args = parser.parse_args()
    n, p = args.matrices, args.size
    C = matrices_between(0, n, p)
    print(f"n = {n:,}, p = {p}; seconds, best of {args.runs}")
    print("| workers | threads, solve | cluster | speed | model | threads, all | cluster | speed |")
    print("|---|---|---|---|---|---|---|---|")
    notes = []
    for workers in args.workers:
        best = dict.fromkeys(("memory", "memory all", "cluster", "cluster all"), np.inf)
        with (
            RequestCounter() as counted,
            distributed.LocalCluster(
                n_workers=workers, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
            ) as cluster,
            distributed.Client(cluster) as client,
        ):
            matrices = lazy(n, p, args.chunk).persist()
            distributed.wait(matrices)
            small = lazy(32 * workers, p, 32).persist()
            latency = np.inf
            for _ in range(args.runs):
                counted.reset()
                seconds = codiag.diagonalize(small, max_iter=10, on_failure="ignore").history[
                    "seconds"
                ][-1]
                latency = min(latency, seconds / counted.requests.total())
                counted.reset()
                counted.began = time.perf_counter()
                whole, result = timed(matrices)
                best["cluster all"] = min(best["cluster all"], whole)
                best["cluster"] = min(best["cluster"], result.history["seconds"][-1])
                whole, expected = timed(C, n_jobs=workers)
                best["memory all"] = min(best["memory all"], whole)
                best["memory"] = min(best["memory"], expected.history["seconds"][-1])
                difference = abs(result.B - expected.B).max()
            version = client.get_versions()["client"]["packages"]["distributed"]
        row = [best[name] for name in ("memory", "cluster", "memory all", "cluster all")]
        model = row[0] + latency * counted.requests.total()
        print(
            f"| {workers} | {row[0]:.2f} | {row[1]:.2f} | {row[0] / row[1]:.2f} | {model:.2f} "
            f"| {row[2]:.2f} | {row[3]:.2f} | {row[2] / row[3]:.2f} |"
        )
        passes = expected.history["passes"][-1]
        rates = [3e-9 * passes * n * p**3 / seconds / workers for seconds in row[:2]]
        notes.append(
            f"{workers} workers: {1e3 * latency:.1f} ms per request, {passes:.1f} data passes, "
            f"{rates[0]:.1f} Gflop/s per thread in memory, {rates[1]:.1f} per worker"
        )
    print("\n" + "\n".join(notes))
    print(f"\n{result.n_iter} iterations, distributed {version}; last run, for each worker:")
    print(f"requests: {dict(counted.requests)}")
    print(
        f"numbers sent {counted.sent:,}, received {counted.received:,}, "
        f"largest response {counted.largest:,} (p²(p+1)/2 = {p * p * (p + 1) // 2:,})"
    )
    print(f"largest difference from the B computed in memory {difference:.1e}")
    print(f"loaded and checked in {counted.loaded:.2f} s")


if __name__ == "__main__":
    main()
