"""Solves of matrices in a file with limited memory."""

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import codiag

MEMORY_LIMIT = "12MB"  # a solve of these 8 MB in memory would need more


@pytest.fixture(scope="module")
def many():
    return codiag.datasets.synthetic(4000, 16, sigma=0.1, random_state=2)[0]


@pytest.fixture(scope="module")
def path(many, tmp_path_factory):
    path = tmp_path_factory.mktemp("disk") / "covs.npy"
    np.save(path, many)
    return path


# Small, so that one iteration more or fewer hardly changes B.
TOLERANCE = 1e-11


def assert_same(found, expected, within=1e-8):
    assert found.status == expected.status
    largest = np.abs(expected.B).max()
    np.testing.assert_allclose(found.B, expected.B, rtol=0, atol=within * largest)
    np.testing.assert_allclose(found.loss, expected.loss, rtol=1e-10)
    np.testing.assert_allclose(found.powers, expected.powers, rtol=100 * within)
    np.testing.assert_allclose(found.residuals, expected.residuals, rtol=0, atol=10 * within)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"method": "quasi-newton", "init": "whitener", "max_iter": 20, "on_failure": "ignore"},
        {"n_components": 7, "shrinkage": 0.1},
        {"sample_weight": np.arange(4000) % 3},
        {"n_jobs": 1, "orthogonal": True},
    ],
)
def test_path_and_memmap_give_the_result_of_the_array(many, path, options):
    options = {"tol": TOLERANCE, **options}
    expected = codiag.diagonalize(many, **options)
    assert_same(codiag.diagonalize(path, memory=MEMORY_LIMIT, **options), expected)
    mapped = np.load(path, mmap_mode="r")
    assert_same(codiag.diagonalize(mapped, memory=12_000_000, **options), expected)
    # Without `memory`, the file is read and solved in memory.
    assert (codiag.diagonalize(str(path), **options).B == expected.B).all()


def test_slices_and_other_types_of_a_memmap(many, tmp_path):
    mapped = np.memmap(tmp_path / "raw", np.float32, "w+", offset=40, shape=many.shape)
    mapped[:] = many
    mapped.flush()
    expected = codiag.diagonalize(mapped[100:3900].astype(float), tol=TOLERANCE)
    found = codiag.diagonalize(mapped[100:3900], memory=MEMORY_LIMIT, tol=TOLERANCE)
    assert_same(found, expected)
    with pytest.raises(ValueError, match=r"memory= needs matrices that .*C\[i:j\]"):
        codiag.diagonalize(mapped[::2], memory=MEMORY_LIMIT)
    with pytest.raises(ValueError, match="shape"):
        codiag.diagonalize(mapped[0], memory=MEMORY_LIMIT)


def test_bad_input(many, path, tmp_path):
    with pytest.raises(ValueError, match=r"memory= needs matrices in a file.*ndarray"):
        codiag.diagonalize(many, memory=MEMORY_LIMIT)
    with pytest.raises(ValueError, match=r"covs\.npy: memory must be at least"):
        codiag.diagonalize(path, memory=1)
    with pytest.raises(ValueError, match="a number of bytes"):
        codiag.diagonalize(path, memory="much")
    with pytest.raises(ValueError, match="pham"):
        codiag.diagonalize(path, memory=MEMORY_LIMIT, method="pham")
    with pytest.raises(FileNotFoundError, match=r"nowhere\.npy") as caught:
        codiag.diagonalize(tmp_path / "nowhere.npy")
    assert caught.value.filename == str(tmp_path / "nowhere.npy")
    np.save(tmp_path / "words.npy", np.full((1, 2, 2), "one"))
    with pytest.raises(TypeError, match=r"words\.npy: .*float64"):
        codiag.diagonalize(tmp_path / "words.npy")
    bad = many.copy()
    bad[3456, 2, 1] = np.inf
    np.save(tmp_path / "bad.npy", bad)
    for memory in (None, MEMORY_LIMIT):
        with pytest.raises(ValueError, match=r"bad\.npy: matrix 3456: entry \(2, 1\) is inf"):
            codiag.diagonalize(tmp_path / "bad.npy", memory=memory)
    os.truncate(tmp_path / "bad.npy", 4_000_000)
    with pytest.raises(ValueError, match=r"bad\.npy: the file is truncated.*matrix 1953"):
        codiag.diagonalize(tmp_path / "bad.npy", memory=MEMORY_LIMIT)


def test_file_truncated_during_the_solve(many, tmp_path):
    path = tmp_path / "covs.npy"
    np.save(path, many)

    def shrink(record):
        os.truncate(path, 4_000_000)

    with pytest.raises(ValueError, match="truncated"):
        codiag.diagonalize(path, memory=MEMORY_LIMIT, callback=shrink)


@pytest.mark.skipif(os.name != "posix", reason="sends a POSIX signal")
def test_ctrl_c_interrupts(path):
    script = f"""
        import os, signal, threading
        import codiag
        try:
            threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
            codiag.diagonalize({str(path)!r}, memory="12MB", method="quasi-newton", tol=1e-300,
                               n_restarts=100000)
        except KeyboardInterrupt:
            print("heard")
    """
    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert ended.stdout == "heard\n", ended.stderr


def test_memory_stays_within_the_limit(tmp_path):
    """Checks the peak resident size of a process that solves 128 MB with memory="16MB"."""
    if not os.path.exists("/proc/self/status"):
        pytest.skip("the system does not report the peak resident size")
    path = tmp_path / "covs.npy"
    small = codiag.datasets.synthetic(1000, 40, sigma=0.1, random_state=0)[0]
    big = np.lib.format.open_memmap(path, "w+", shape=(10_000, 40, 40))
    for k in range(10):
        big[1000 * k : 1000 * (k + 1)] = small * (k + 1)
    big.flush()
    del big
    script = f"""
        import codiag
        def peak():
            lines = open("/proc/self/status").read().splitlines()
            return next(int(x.split()[1]) for x in lines if x.startswith("VmHWM:")) * 1024
        before = peak()
        result = codiag.diagonalize({str(path)!r}, memory=16_000_000)
        assert result.converged
        print(peak() - before)
    """
    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert ended.returncode == 0, ended.stderr
    assert int(ended.stdout) < 16_000_000 + 50_000_000
