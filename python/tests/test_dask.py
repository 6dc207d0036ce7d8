"""Sets of matrices on a Dask cluster of two worker processes, some of which are killed.

Tests kill only processes that they have started, by their process objects or ids.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest

import codiag

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")
pytestmark = [
    pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="kills and alarms"),
    pytest.mark.usefixtures("never_hangs"),
]

N, P = 1500, 6


@pytest.fixture(scope="module")
def C():
    return codiag.datasets.synthetic(N, P, sigma=0.1, random_state=1)[0]


class UnsupervisedWorkers:
    """Worker processes without a nanny, which are not replaced when they die."""

    def __init__(self, address):
        self.address = address
        self.processes = []

    def start(self):
        command = ["-m", "distributed.cli.dask_worker", self.address, "--no-nanny"]
        command += ["--nthreads", "1", "--no-dashboard", "--host", "127.0.0.1"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.processes.append(subprocess.Popen([sys.executable, *command], **quiet))

    def kill(self):
        """Kill the oldest worker without notice, as the operating system would."""
        process = self.processes.pop(0)
        process.kill()
        process.wait()


@contextmanager
def unsupervised_workers(count):
    with (
        distributed.LocalCluster(n_workers=0, host="127.0.0.1", dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        workers = UnsupervisedWorkers(cluster.scheduler_address)
        try:
            for _ in range(count):
                workers.start()
            client.wait_for_workers(count, timeout=300)
            yield client, workers
        finally:
            while workers.processes:
                workers.kill()


def assert_same(result, expected):
    """Checks that both results are at one minimum, to the default tolerance."""
    assert result.converged and expected.converged
    assert abs(result.loss - expected.loss) < 1e-10
    for field in ("B", "A", "powers", "residuals"):
        np.testing.assert_allclose(
            getattr(result, field), getattr(expected, field), rtol=1e-6, atol=1e-6
        )


def assert_same_path(result, expected):
    """Checks that both results have equal minima, starting points and first steps."""
    assert_same(result, expected)
    for field in ("iteration", "kind", "loss"):
        first, other = (each.history[field][:2] for each in (result, expected))
        if field == "loss":
            np.testing.assert_allclose(first, other, atol=1e-10)
        else:
            assert (first == other).all()


def indefinite(n, p, sigma):
    """Symmetric matrices that one matrix diagonalizes, up to noise."""
    rng = np.random.default_rng(n)
    A, noise = rng.normal(size=(p, p)), rng.normal(size=(n, p, p))
    return (A * rng.normal(size=(n, 1, p))) @ A.T + sigma * (noise + noise.transpose(0, 2, 1))


class TestSameResult:
    @pytest.mark.parametrize("chunks", [(N, P, P), (400, 3, 4), (97, P, P)], ids=str)
    def test_any_chunks(self, client, C, chunks):
        result = codiag.diagonalize(da.from_array(C, chunks=chunks))
        assert_same_path(result, codiag.diagonalize(C))

    def test_quasi_newton(self, client, C):
        options = {"method": "quasi-newton", "init": "whitener"}
        result = codiag.diagonalize(da.from_array(C, chunks=(500, P, P)), **options)
        assert result.n_iter > 5
        assert_same_path(result, codiag.diagonalize(C, **options))

    def test_orthogonal(self, client, C):
        result = codiag.diagonalize(da.from_array(C, chunks=(500, P, P)), orthogonal=True)
        assert_same_path(result, codiag.diagonalize(C, orthogonal=True))

    def test_restarts(self, client, C):
        # Restarts in memory begin at other points, but lead to the same minimum.
        options = {"n_restarts": 1, "tol": 1e-10}
        result = codiag.diagonalize(da.from_array(C, chunks=(500, P, P)), **options)
        assert_same(result, codiag.diagonalize(C, **options))
        assert len(result.start_losses) == 2

    def test_weights(self, client, C):
        weights = np.random.default_rng(0).uniform(0, 3, N)
        weights[:600] = 0  # all of the first chunk
        expected = codiag.diagonalize(C, sample_weight=weights)
        matrices = da.from_array(C, chunks=(500, P, P))
        assert_same(codiag.diagonalize(matrices, sample_weight=weights), expected)
        lazy = da.from_array(weights, chunks=333)
        assert_same(codiag.diagonalize(matrices, sample_weight=lazy), expected)

    def test_n_components_and_shrinkage(self, client, C):
        lift = np.vstack([np.eye(P), np.ones(P)])
        lifted = lift @ C @ lift.T
        matrices = da.from_array(lifted, chunks=(500, -1, -1))
        # Rounding decides the signs of the reduced dimensions, and thereby the path to the minimum.
        options = {"n_components": "auto", "tol": 1e-10}
        result = codiag.diagonalize(matrices, **options)
        assert result.B.shape == (P, P + 1)
        assert_same(result, codiag.diagonalize(lifted, **options))
        expected = codiag.diagonalize(lifted, shrinkage=0.01)
        assert_same(codiag.diagonalize(matrices, shrinkage=0.01), expected)
        with pytest.raises(ValueError, match=r'n_components="auto"'):
            codiag.diagonalize(matrices)

    @pytest.mark.parametrize(
        ("criterion", "method"),
        [
            ("frobenius", "newton"),
            ("frobenius", "quasi-newton"),
            ("least-squares", "newton"),
            ("least-squares", "acdc"),
            ("least-squares", "uwedge"),
        ],
    )
    def test_other_criteria(self, client, criterion, method):
        C = indefinite(300, P, 0.1)
        options = {"criterion": criterion, "method": method, "tol": 1e-10}
        result = codiag.diagonalize(da.from_array(C, chunks=(80, P, P)), **options)
        expected = codiag.diagonalize(C, **options)
        assert result.criterion == criterion and result.converged
        np.testing.assert_allclose(result.B, expected.B, atol=1e-6)
        np.testing.assert_allclose(result.residuals, expected.residuals, atol=1e-8)

    def test_rank_of_indefinite_matrices(self, client):
        L = np.random.default_rng(1).normal(size=(5, 3))
        C = L @ indefinite(90, 3, 0.1) @ L.T
        for criterion in ("least-squares", "frobenius"):
            options = {"criterion": criterion, "n_components": "auto"}
            result = codiag.diagonalize(da.from_array(C, chunks=(40, 5, 5)), **options)
            expected = codiag.diagonalize(C, **options)
            assert result.B.shape == (3, 5)
            np.testing.assert_allclose(result.B, expected.B, atol=1e-6)

    def test_futures(self, client, C):
        def cut(first, last):
            return codiag.datasets.synthetic(N, P, sigma=0.1, random_state=1)[0][first:last]

        futures = [client.submit(cut, k, min(k + 400, N)) for k in range(0, N, 400)]
        assert_same(codiag.diagonalize(futures), codiag.diagonalize(C))

    def test_persisted(self, client, C):
        kept = da.from_array(C, chunks=(300, P, P)).persist()
        assert_same(codiag.diagonalize(kept), codiag.diagonalize(C))

    def test_zarr_store(self, client, tmp_path):
        pytest.importorskip("zarr")
        rng = np.random.default_rng(3)
        powers = np.repeat(rng.uniform(0.2, 2, (4, 60)), 200, axis=1)
        signals = rng.normal(size=(4, 4)) @ (powers * rng.normal(size=(4, 12_000)))
        store = str(tmp_path / "recording.zarr")
        da.from_array(signals, chunks=(4, 1700)).to_zarr(store)
        lazy = da.from_zarr(store)
        made = codiag.dask.segment_covariances(lazy, segment_length=200)
        cut = np.split(signals, 60, axis=1)
        expected = codiag.diagonalize(np.array([np.cov(x, bias=True) for x in cut]))
        assert_same(codiag.diagonalize(made), expected)

    def test_one_worker(self, C):
        with unsupervised_workers(1):
            result = codiag.diagonalize(da.from_array(C, chunks=(400, P, P)))
        assert_same(result, codiag.diagonalize(C))

    def test_without_a_client_a_local_cluster_is_used(self, C):
        code = """if True:
            import codiag, dask.array, distributed
            C = codiag.datasets.synthetic(1500, 6, sigma=0.1, random_state=1)[0]
            result = codiag.diagonalize(dask.array.from_array(C, chunks=(500, 6, 6)))
            assert abs(result.B - codiag.diagonalize(C).B).max() < 1e-6
            try:
                distributed.Client.current()
            except ValueError:
                print("closed")
        """
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert done.stdout == "closed\n", done.stderr


class TestDyingWorkers:
    def test_one_dies_during_a_solve(self, C):
        options = {"method": "quasi-newton", "init": "whitener"}
        with unsupervised_workers(2) as (client, workers):
            seen = []

            def kill_one(record):
                seen.append(record.iteration)
                if record.iteration == 3:
                    workers.kill()

            matrices = da.from_array(C, chunks=(200, P, P))
            result = codiag.diagonalize(matrices, callback=kill_one, **options)
            assert len(client.nthreads()) == 1
        # No iteration was repeated.
        assert seen == list(range(result.n_iter + 1)) and result.n_iter > 3
        assert_same(result, codiag.diagonalize(C, **options))

    @pytest.mark.parametrize("criterion", ["frobenius", "least-squares"])
    def test_every_criterion(self, criterion):
        C = indefinite(300, P, 0.1)
        options = {"criterion": criterion, "init": "identity", "tol": 1e-9}
        with unsupervised_workers(2) as (client, workers):

            def kill_one(record):
                if record.iteration == 2:
                    workers.kill()

            matrices = da.from_array(C, chunks=(60, P, P))
            result = codiag.diagonalize(matrices, callback=kill_one, **options)
            assert len(client.nthreads()) == 1
        expected = codiag.diagonalize(C, **options)
        assert result.converged and result.n_iter > 2
        np.testing.assert_allclose(result.B, expected.B, atol=1e-6)

    def test_three_die_one_after_the_other(self, C):
        with unsupervised_workers(2) as (_, workers):

            def kill_one(record):
                if record.iteration < 3:
                    workers.start()
                    workers.kill()

            options = {"method": "quasi-newton", "init": "whitener"}
            matrices = da.from_array(C, chunks=(200, P, P))
            result = codiag.diagonalize(matrices, callback=kill_one, **options)
        assert result.n_iter >= 3
        assert_same(result, codiag.diagonalize(C, **options))

    def test_one_dies_during_a_request(self):
        # In memory, larger matrices would be held in single precision during the solve.
        C = codiag.datasets.synthetic(4000, 19, sigma=0.1, random_state=1)[0]
        with unsupervised_workers(2) as (_, workers):
            matrices = da.from_array(C, chunks=(500, 19, 19))
            killer = threading.Timer(0.02, workers.kill)

            def arm(record):
                if record.iteration == 1 and record.stage != "sample":
                    killer.start()

            result = codiag.diagonalize(matrices, callback=arm)
            killer.join()
        assert_same(result, codiag.diagonalize(C))

    def test_nanny_replaces_a_worker(self, C):
        """A LocalCluster starts a new process for each worker that died."""
        with (
            distributed.LocalCluster(
                n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
            ) as cluster,
            distributed.Client(cluster) as client,
        ):
            children = {worker.pid for worker in cluster.workers.values()}

            def kill_all(record):
                if record.iteration == 1 and record.stage != "sample":
                    for child in children:
                        os.kill(child, signal.SIGKILL)

            matrices = da.from_array(C, chunks=(200, P, P))
            result = codiag.diagonalize(matrices, callback=kill_all)
            assert not children & set(client.run(os.getpid).values())
        assert_same(result, codiag.diagonalize(C))

    def test_all_die_and_none_is_replaced(self, C):
        with (
            unsupervised_workers(2) as (_, workers),
            dask.config.set({"codiag.worker-timeout": "2s"}),
        ):

            def kill_all(record):
                workers.kill()
                workers.kill()

            with pytest.raises(
                RuntimeError, match="no worker of the cluster has been available for 2 s"
            ):
                codiag.diagonalize(da.from_array(C, chunks=(200, P, P)), callback=kill_all)

    def test_chunks_that_kill_each_worker(self, C):
        """Four workers that load these chunks die, one after the other."""

        def poison(block):
            os._exit(1)

        with unsupervised_workers(4):
            matrices = da.from_array(C, chunks=(N, P, P)).map_blocks(poison, meta=C[:0])
            with pytest.raises(RuntimeError, match="workers died one after the other"):
                codiag.diagonalize(matrices)

    def test_lost_chunks_that_cannot_be_recomputed(self, C):
        with unsupervised_workers(2) as (client, workers):
            scattered = client.scatter([C[:700], C[700:]])

            def replace_all(record):
                if record.iteration == 1:
                    workers.start()
                    workers.kill()
                    workers.kill()

            with pytest.raises(RuntimeError, match=r"cannot be (computed again|recomputed)"):
                codiag.diagonalize(scattered, callback=replace_all)

    def test_client_dies(self, client, tmp_path):
        """A second process resumes from the checkpoint of the first one."""
        code = """if True:
            import codiag, dask.array, distributed, os, sys
            C = codiag.datasets.synthetic(1500, 6, sigma=0.1, random_state=1)[0]
            address, path, die = sys.argv[1:]
            with distributed.Client(address):
                result = codiag.diagonalize(
                    dask.array.from_array(C, chunks=(500, 6, 6)),
                    method="quasi-newton", init="whitener" if die else path,
                    checkpoint=path, checkpoint_every=0,
                    callback=lambda record: die and record.iteration == 5 and os._exit(3),
                )
            print(result.n_iter, result.converged, result.loss)
        """
        path = str(tmp_path / "b.npy")
        command = [sys.executable, "-c", code, client.scheduler.address, path]
        died = subprocess.run([*command, "die"], capture_output=True, text=True)
        assert died.returncode == 3, died.stderr
        assert os.listdir(tmp_path) == ["b.npy"]
        done = subprocess.run([*command, ""], capture_output=True, text=True)
        C = codiag.datasets.synthetic(1500, 6, sigma=0.1, random_state=1)[0]
        whole = codiag.diagonalize(C, method="quasi-newton", init="whitener")
        iterations, converged, loss = done.stdout.split()
        # The callback of iteration 5 came before its checkpoint.
        assert int(iterations) < whole.n_iter and converged == "True"
        assert abs(float(loss) - whole.loss) < 1e-10


class TestErrors:
    def test_bad_matrix_is_named_by_its_index_in_the_set(self, client, C):
        bad = C.copy()
        bad[1234, 3, 4] = np.nan
        with pytest.raises(ValueError, match=r"^matrix 1234: entry \(3, 4\) is NaN"):
            codiag.diagonalize(da.from_array(bad, chunks=(100, P, P)))
        bad[1234] = -np.eye(P)
        with pytest.raises(ValueError, match=r"^matrix 1234 is not positive definite"):
            codiag.diagonalize(da.from_array(bad, chunks=(100, P, P)))

    @pytest.mark.parametrize(
        ("weights", "message"),
        [
            (np.ones(3), "expected 1500 weights"),
            (np.r_[np.ones(N - 1), -1], "weight 1499 is -1"),
            (np.zeros(N), "all weights are zero"),
        ],
    )
    def test_weights(self, client, C, weights, message):
        matrices = da.from_array(C, chunks=(500, P, P))
        with pytest.raises(ValueError, match=message):
            codiag.diagonalize(matrices, sample_weight=weights)
        with pytest.raises(ValueError, match=message):
            codiag.diagonalize(matrices, sample_weight=da.from_array(weights, chunks=100))

    def test_shapes(self, client, C):
        with pytest.raises(ValueError, match="got shape"):
            codiag.diagonalize(da.zeros((4, 3)))
        with pytest.raises(ValueError, match="got shape"):
            codiag.diagonalize(da.zeros((4, 3, 2)))
        with pytest.raises(ValueError, match="is not Hermitian"):
            codiag.diagonalize(da.full((4, 3, 3), 1j))
        unknown = da.from_array(C, chunks=(500, P, P))
        with pytest.raises(ValueError, match="compute_chunk_sizes"):
            codiag.diagonalize(unknown[unknown[:, 0, 0] > 0])
        with pytest.raises(ValueError, match="from future 1"):
            codiag.diagonalize(client.scatter([C[:10], C[:10, :2, :2]]))

    def test_pham_requires_matrices_in_memory(self, client, C):
        with pytest.raises(ValueError, match="method"):
            codiag.diagonalize(da.from_array(C, chunks=(500, P, P)), method="pham")

    def test_callback_exceptions_propagate(self, client, C):
        def object_(record):
            raise ZeroDivisionError("mine")

        with pytest.raises(ZeroDivisionError, match="mine"):
            codiag.diagonalize(da.from_array(C, chunks=(500, P, P)), callback=object_)

    def test_keyboard_interrupt_during_a_request_propagates(self, client, C):
        def interrupt(record):
            if record.iteration == 1 and not timers:
                timers.append(threading.Timer(0.01, signal.raise_signal, [signal.SIGINT]))
                timers[0].start()

        timers = []
        # This solve cannot converge.
        with pytest.raises(KeyboardInterrupt):
            codiag.diagonalize(
                da.from_array(C, chunks=(500, P, P)),
                method="quasi-newton",
                init="whitener",
                tol=1e-300,
                n_restarts=1000,
                callback=interrupt,
            )

    def test_nothing_is_left_on_the_workers(self, client, C):
        codiag.diagonalize(da.from_array(C, chunks=(500, P, P)))
        for _ in range(2000):
            held = client.run(lambda dask_worker: [str(key) for key in dask_worker.data])
            if not any(key.startswith("part-") for keys in held.values() for key in keys):
                break
            time.sleep(0.05)
        else:
            raise AssertionError(held)


class TestFairGroups:
    @pytest.fixture(autouse=True)
    def function(self):
        from codiag.dask._parts import fair_groups

        self.groups = fair_groups

    def test_balanced_chunks_stay(self):
        assert self.groups("abab", [5, 5, 5, 5], {"a": 1, "b": 1}) == [[0, 2], [1, 3]]

    def test_chunks_move_to_less_loaded_workers(self):
        groups = self.groups(["a"] * 6, [10] * 6, {"a": 1, "b": 1, "c": 1})
        assert sorted(len(group) for group in groups) == [2, 2, 2]
        assert sorted(k for group in groups for k in group) == list(range(6))

    def test_workers_are_weighted_by_their_threads(self):
        groups = self.groups(["a"] * 8, [10] * 8, {"a": 3, "b": 1})
        assert sorted(len(group) for group in groups) == [2, 6]

    def test_single_chunk_gives_one_part(self):
        assert self.groups([None], [100], {"a": 1, "b": 1}) == [[0]]

    def test_uneven_chunks(self):
        groups = self.groups(["gone"] * 4, [7, 1, 4, 2], {"a": 1, "b": 1})
        assert sorted(sum([7, 1, 4, 2][k] for k in group) for group in groups) == [7, 7]
