"""The parts of a set, one per worker, and the requests to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any

import dask
import dask.array
import distributed
import numpy as np

from .. import _core
from .._arrays import weight_vector
from .._typing import Numbers
from . import _worker
from ._client import (
    HomeLostError,
    current_client,
    explained,
    gather,
    lost_homes,
    worker_timeout,
)

# Fraction above the mean load from which on chunks are moved to other workers.
_UNEVEN = 0.05
# Minimum number of chunks per worker; larger chunks are split.
_PIECES = 8


def solve(
    C: Any, weights: Any, options: dict[str, Any], callback: Callable[..., object] | None
) -> _core.SolveResult:
    """Solve on the cluster."""
    futures = list(C) if isinstance(C, (list, tuple)) else _persisted(C)
    with current_client(futures, options["n_jobs"]) as client:
        parts = Parts(client)
        try:
            with explained(client):
                parts.load(futures or C, weights, options)
            return _core.solve_parts(parts.send, parts.described, parts.mean, options, callback)
        finally:
            # Free the workers' memory even if an exception refers to this object.
            parts.futures.clear()


def _persisted(C: Any) -> list[Any]:
    """Return the futures of the chunks of an array that is in the workers' memory already."""
    if not isinstance(C, dask.array.Array):
        raise TypeError(f"expected a dask array or a list of futures, got {type(C).__name__}")
    futures = {future.key: future for future in distributed.futures_of(C)}
    if not futures or C.ndim != 3 or C.numblocks[1:] != (1, 1):
        return []
    keys = [(C.name, i, 0, 0) for i in range(C.numblocks[0])]
    return [futures[key] for key in keys] if all(key in futures for key in keys) else []


class Parts:
    """A set in parts, each held by a worker."""

    def __init__(self, client: distributed.Client) -> None:
        self.client = client
        self.futures: list[Any] = []
        # The worker that holds each part, if known.
        self.homes: list[str | None] = []
        self.described: list[bytes] = []
        self.mean: Numbers | None = None

    def load(self, C: Any, weights: Any, options: dict[str, Any]) -> None:
        """Let the workers load and check their chunks."""
        self.client.wait_for_workers(1, timeout=worker_timeout())
        make = self._of_futures if isinstance(C, list) else self._of_array
        # Options of single matrices.
        each = {name: options[name] for name in ("criterion", "shrinkage", "symmetrize")}
        chunks = make(C, weights, each)
        sizes = gather(self.client, self.client.map(_worker.size_of, chunks, pure=False))
        filters = self._reduction(chunks, options)
        # Not bound to a worker, which may die before: Dask makes a part where its chunks are.
        self.futures = [
            self.client.submit(_worker.part, group, filters, options["n_jobs"], pure=False)
            for group in self._groups(chunks, sizes)
        ]
        # Chunks are freed once their part is made; the scheduler can make them again.
        del chunks
        described = self.client.map(_worker.describe, self.futures, pure=False)
        self.described = gather(self.client, described)

    def send(self, request: bytes) -> list[bytes]:
        """Send a request to all parts; return their responses in the order of the parts.

        Each task is bound to the worker that holds the part. Otherwise Dask would sometimes copy a
        part to another worker, which takes longer than any response. If that worker dies, the
        request is sent again, to the worker that loads the part again.
        """
        with explained(self.client):
            if None in self.homes or not self.homes:
                holders = self.client.who_has(self.futures)
                self.homes = [next(iter(holders.get(f.key, ())), None) for f in self.futures]
            responses = [self._submit(request, k) for k in range(len(self.futures))]
            while True:
                try:
                    return gather(self.client, responses, self.homes)
                except HomeLostError:
                    for k in lost_homes(self.client, responses, self.homes):
                        self.homes[k] = None
                        responses[k] = self._submit(request, k)

    def _submit(self, request: bytes, k: int) -> Any:
        home = self.homes[k]
        where = None if home is None else [home]
        part = self.futures[k]
        return self.client.submit(_worker.respond, part, request, workers=where, pure=False)

    def _of_array(self, C: Any, weights: Any, options: dict[str, Any]) -> list[Any]:
        _check_array(C)
        # Pieces small enough for an even distribution.
        most = -(-C.shape[0] // (_PIECES * len(self.client.nthreads())))
        sizes = tuple(piece for size in C.chunks[0] for piece in _split(size, most))
        arrays = C.rechunk({0: sizes, 1: -1, 2: -1}).to_delayed().ravel()
        make = dask.delayed(_worker.chunk, pure=False)
        inputs = zip(arrays, _firsts(sizes), _pieces_of_weights(weights, sizes), strict=True)
        is_complex = C.dtype.kind == "c"
        made = [make(*given, options, is_complex) for given in inputs]
        return list(self.client.compute(made))

    def _of_futures(self, futures: list[Any], weights: Any, options: dict[str, Any]) -> list[Any]:
        looks = gather(self.client, self.client.map(_worker.shape_and_kind, futures))
        shapes = [shape for shape, _ in looks]
        is_complex = any(kind for _, kind in looks)
        for k, shape in enumerate(shapes):
            fits = len(shape) == 3 and shape[0] > 0 and shape[1] == shape[2] == shapes[0][-1] > 0
            if not fits:
                raise ValueError(
                    "expected futures of arrays of shape (n_i, p, p) with one p, "
                    f"got shape {shape} from future {k}"
                )
        sizes = [shape[0] for shape in shapes]
        vectors = _pieces_of_weights(weights, sizes)
        inputs = (futures, _firsts(sizes), vectors, [options] * len(sizes))
        make = self.client.map(_worker.chunk, *inputs, is_complex=is_complex, pure=False)
        return list(make)

    def _groups(self, chunks: list[Any], sizes: list[int]) -> list[list[Any]]:
        """Return the chunks in groups, one per worker: where they are, if the load is balanced."""
        threads = self.client.nthreads()
        holders = self.client.who_has(chunks)
        homes = [next(iter(holders.get(chunk.key, ())), None) for chunk in chunks]
        groups = fair_groups(homes, sizes, threads)
        return [[chunks[k] for k in group] for group in groups]

    def _reduction(self, chunks: list[Any], options: dict[str, Any]) -> Numbers | None:
        """Return the filters that reduce the set, computed from the mean of the whole set."""
        if options["n_components"] is None:
            return None
        means = gather(self.client, self.client.map(_worker.range_sum_of, chunks, pure=False))
        total = sum(weight for weight, _ in means)
        if total <= 0:
            raise ValueError("all weights are zero: at least one must be positive")
        self.mean = sum(weight / total * mean for weight, mean in means)
        assert self.mean is not None
        return _core.reducing_filters(self.mean, options)


def _check_array(C: Any) -> None:
    if C.ndim != 3:
        raise ValueError(f"expected C of shape (n, p, p) with n, p > 0, got shape {C.shape}")
    if any(np.isnan(size) for axis in C.chunks for size in axis):
        raise ValueError("C has chunks of unknown size: call C.compute_chunk_sizes() first")
    if C.shape[1] != C.shape[2] or 0 in C.shape:
        raise ValueError(f"expected C of shape (n, p, p) with n, p > 0, got shape {C.shape}")


def _split(size: int, most: int) -> list[int]:
    """Return equal pieces of at most that size."""
    pieces = -(-size // most)
    return [size * (k + 1) // pieces - size * k // pieces for k in range(pieces)]


def _firsts(sizes: Sequence[int]) -> list[int]:
    return [0, *accumulate(sizes)][:-1]


def fair_groups(
    homes: Sequence[str | None], sizes: Sequence[int], threads: dict[str, int]
) -> list[list[int]]:
    """Return the numbers of the chunks that each worker holds.

    Chunks stay where they are, except that they move from the worker with the highest load per
    thread to the one with the lowest, as long as that reduces the difference.
    """
    groups: dict[str, list[int]] = {worker: [] for worker in threads}
    for k in sorted(range(len(sizes)), key=sizes.__getitem__):
        fallback = min(groups, key=lambda worker: len(groups[worker]))
        home = homes[k]
        groups[home if home in groups else fallback].append(k)

    load = {worker: sum(sizes[k] for k in own) / threads[worker] for worker, own in groups.items()}
    enough = (1 + _UNEVEN) * sum(sizes) / sum(threads.values())
    while True:
        rich, poor = max(load, key=load.__getitem__), min(load, key=load.__getitem__)
        own = groups[rich]
        lighter = [k for k in own if load[poor] + sizes[k] / threads[poor] < load[rich]]
        if load[rich] <= enough or not lighter:
            break
        k = lighter[-1]
        own.remove(k)
        groups[poor].append(k)
        load[rich] -= sizes[k] / threads[rich]
        load[poor] += sizes[k] / threads[poor]
    return sorted(sorted(group) for group in groups.values() if group)


def _pieces_of_weights(weights: Any, sizes: Sequence[int]) -> list[Any]:
    """Return the weights chunk by chunk; a dask array is not computed here."""
    n = sum(sizes)
    if weights is None:
        return [None] * len(sizes)
    if isinstance(weights, dask.array.Array):
        if weights.shape != (n,):
            raise ValueError(f"expected {n} weights, one per matrix, got shape {weights.shape}")
        return list(weights.astype(np.float64).rechunk((tuple(sizes),)).to_delayed())
    vector = weight_vector(weights)
    assert vector is not None
    if len(vector) != n:
        raise ValueError(f"expected {n} weights, one per matrix, got {len(vector)}")
    bad = np.flatnonzero(~((vector >= 0) & np.isfinite(vector)))
    if len(bad):
        raise ValueError(
            f"weight {bad[0]} is {vector[bad[0]]:g}: weights must be finite and nonnegative"
        )
    # Scaled, so that their sum neither overflows nor underflows.
    vector = vector / (vector.max() or 1.0)
    return np.split(vector, np.cumsum(sizes)[:-1])
