"""The Dask client, and the time limit for its workers."""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import dask
import distributed
from distributed.scheduler import KilledWorker

_POLL = 1.0


@contextmanager
def current_client(futures: Sequence[Any], n_jobs: int | None) -> Iterator[distributed.Client]:
    """Yield the client of the futures, the current one, or that of a cluster in this process."""
    if futures:
        client = futures[0].client
    else:
        try:
            client = distributed.Client.current()
        except ValueError:
            with distributed.Client(
                processes=False,
                n_workers=1,
                threads_per_worker=n_jobs or os.cpu_count() or 1,
                memory_limit=0,
                dashboard_address=None,
                set_as_default=False,
            ) as own:
                yield own
            return
    if client.asynchronous:
        raise TypeError(
            "diagonalize waits for the result: it needs a client that is not asynchronous. Call it "
            "in another thread, with Client(..., asynchronous=False)"
        )
    yield client


def worker_timeout() -> float:
    """Return the seconds to wait for a worker before raising (``codiag.worker-timeout``)."""
    return float(dask.utils.parse_timedelta(dask.config.get("codiag.worker-timeout", "60s")))


@contextmanager
def explained(client: distributed.Client) -> Iterator[None]:
    """Explain the errors of tasks that Dask has cancelled."""
    try:
        yield
    except KilledWorker as killed:
        raise RuntimeError(
            f"{killed.allowed_failures + 1} workers died one after the other while they worked on "
            "the same chunks, most often for lack of memory: use more or larger workers, or "
            "smaller chunks"
        ) from killed
    except (asyncio.CancelledError, concurrent.futures.CancelledError) as lost:
        if client.status not in ("running", "connecting"):
            raise RuntimeError("the connection to the Dask scheduler was lost") from lost
        raise RuntimeError(
            "chunks were lost with the worker that held them, and cannot be computed again (they "
            "were scattered, or their futures cancelled): pass a dask array, or futures of the "
            "tasks that compute the chunks"
        ) from lost


class HomeLostError(Exception):
    """The worker that a task was bound to has died."""


def gather(
    client: distributed.Client, futures: Sequence[Any], homes: Sequence[str | None] = ()
) -> list[Any]:
    """Return the results in order; raise instead of waiting forever if there are no workers.

    Dask repeats the tasks of workers that died, except tasks that were bound to one worker, their
    home. HomeLostError tells the caller to repeat those.
    """

    async def collect() -> Any:
        return await client.gather(list(futures), asynchronous=True)

    loop: Any = client.loop
    waiting = asyncio.run_coroutine_threadsafe(collect(), loop.asyncio_loop)
    idle: float | None = None
    try:
        while True:
            try:
                return list(waiting.result(timeout=_POLL))
            except (TimeoutError, concurrent.futures.TimeoutError):
                if waiting.done():
                    raise
            if lost_homes(client, futures, homes):
                raise HomeLostError
            if _at_work(client):
                idle = None
                continue
            idle = idle or time.monotonic()
            if time.monotonic() - idle > worker_timeout():
                raise RuntimeError(
                    f"no worker of the cluster has been available for {worker_timeout():g} s: "
                    "all died, or paused for lack of memory. To wait longer, use "
                    'dask.config.set({"codiag.worker-timeout": "10min"})'
                )
    finally:
        waiting.cancel()


def lost_homes(
    client: distributed.Client, futures: Sequence[Any], homes: Sequence[str | None]
) -> list[int]:
    """Return the tasks that cannot be completed because the worker they are bound to has died."""
    bound = [k for k, home in enumerate(homes) if home is not None and not futures[k].done()]
    if not bound:
        return []
    try:
        alive = client.nthreads()
    except OSError:
        return []
    return [k for k in bound if homes[k] not in alive]


def _at_work(client: distributed.Client) -> bool:
    """Whether any worker is executing a task, or will start one."""
    try:
        processing = client.processing()
        workers = client.scheduler_info()["workers"]
    except OSError:
        return False
    for address, tasks in processing.items():
        worker = workers.get(address, {})
        if worker.get("metrics", {}).get("executing", 0):
            return True
        # A worker that has paused does not start tasks.
        if tasks and worker.get("status", "running") == "running":
            return True
    return False
