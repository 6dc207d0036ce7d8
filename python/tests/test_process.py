"""Behavior within a process: GIL, signals, forks, memory."""

import os
import signal
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

import codiag


def run(script, **options):
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=500,
        **options,
    )


@pytest.mark.skipif(os.name != "posix", reason="sends a POSIX signal")
def test_other_threads_run_during_a_solve():
    """A thread counts during a solve that cannot converge, and then ends it."""
    ended = run(
        """
        import os, signal, threading
        import codiag
        C = codiag.datasets.meg("magnetometers").repeat(20, axis=0)
        counted = 0

        def count():
            global counted
            while counted < 100_000:
                counted += 1
            os.kill(os.getpid(), signal.SIGINT)

        try:
            threading.Timer(0.2, count).start()
            codiag.diagonalize(C, method="pham", tol=1e-300, max_iter=10**9)
        except KeyboardInterrupt:
            print(counted)
        """
    )
    assert ended.stdout == "100000\n", ended.stderr


def test_solves_in_threads_agree(noisy):
    expected = codiag.diagonalize(noisy).B
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(codiag.diagonalize(noisy).B)) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8 and all((B == expected).all() for B in found)


INTERRUPTED = """
    import os, signal, threading
    import codiag
    C = codiag.datasets.meg("magnetometers").repeat(20, axis=0)
    try:
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        {call}
    except KeyboardInterrupt:
        print("interrupted")
    # The next solve works as before.
    print(codiag.diagonalize(codiag.datasets.synthetic(30, 4)[0]).status)
"""


@pytest.mark.skipif(os.name != "posix", reason="sends a POSIX signal")
@pytest.mark.parametrize(
    "call",
    [
        # An unreachable tolerance: these solves would take minutes.
        "codiag.diagonalize(C, method='pham', tol=1e-300, max_iter=10**9)",
        "codiag.diagonalize_many([C] * 10**5, method='quasi-newton', tol=1e-12)",
        "codiag.bootstrap(C, 2000, method='quasi-newton')",
        "codiag.compat.ajd_pham(C, tol=1e-300, max_iter=10**9)",
        "codiag.diagonalize(C, method='pham', tol=1e-300, max_iter=10**9, verbose=True)",
    ],
    ids=["diagonalize", "many", "bootstrap", "compat", "verbose"],
)
def test_ctrl_c(call):
    ended = run(INTERRUPTED.format(call=call))
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.split() == ["interrupted", "converged"]


@pytest.mark.skipif(os.name != "posix", reason="sends a POSIX signal")
def test_uncaught_ctrl_c_ends_the_process():
    ended = run(
        """
        import os, signal, threading
        import codiag
        C = codiag.datasets.meg("magnetometers").repeat(20, axis=0)
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        codiag.diagonalize(C, method="pham", tol=1e-300, max_iter=10**9)
        """
    )
    assert ended.returncode == -signal.SIGINT
    assert ended.stderr.strip().endswith("KeyboardInterrupt")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_forked_children_do_not_wait_for_threads_of_the_parent():
    ended = run(
        """
        import multiprocessing, warnings
        import numpy as np
        import codiag
        warnings.simplefilter("ignore", DeprecationWarning)
        C = codiag.datasets.meg("magnetometers")
        options = dict(max_iter=3, on_failure="ignore")
        # From here on, the thread pools exist.
        parent = codiag.diagonalize(C, **options).B
        codiag.diagonalize(C, n_jobs=2, **options)
        codiag.diagonalize_many([C[:, :5, :5]] * 4)

        def child(_):
            B = codiag.diagonalize(C, **options).B
            assert (codiag.diagonalize(C, n_jobs=2, **options).B == B).all()
            codiag.diagonalize_many([C[:, :5, :5]] * 4)
            codiag.loss(C, B)
            return B

        with multiprocessing.get_context("fork").Pool(2) as pool:
            for B in pool.map(child, range(2)):
                assert (B == parent).all()
        print("done")
        """
    )
    assert ended.stdout == "done\n", ended.stderr


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="reads memory from /proc")
def test_memory_does_not_grow():
    C, _ = codiag.datasets.synthetic(10, 3)
    w = np.ones(10)

    def resident():
        with open("/proc/self/statm") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def solves(count):
        for _ in range(count):
            codiag.diagonalize(C, sample_weight=w, callback=lambda record: False)
            codiag.gradient(C, np.eye(3))
            with pytest.raises(ValueError):
                codiag.diagonalize(-C)

    solves(1000)
    before = resident()
    solves(10_000)
    # Leaking the B of each result (72 bytes) would add 720 kB; leaking whole results, 20 MB.
    assert resident() - before < 500_000


def test_input_array_is_not_copied():
    """Python allocates a constant number of small temporaries for ten times as many matrices."""
    import tracemalloc

    for n in (100, 1000):
        C = np.broadcast_to(np.eye(30) + 0.1, (n, 30, 30)).copy()
        tracemalloc.start()
        codiag.loss(C, np.eye(30))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 100_000 < C.nbytes


@pytest.mark.skipif("CODIAG_INSTALLED" not in os.environ, reason="run by `make test-python`")
def test_tests_import_the_installed_package():
    assert "site-packages" in codiag.__file__
