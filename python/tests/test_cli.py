"""The command line program of the Python package, which shares its code with the Rust binary."""

import json
import os
import signal
import subprocess
import sys
import sysconfig
import time

import numpy as np
import pytest

import codiag

MODULE = [sys.executable, "-m", "codiag"]
SCRIPT = [os.path.join(sysconfig.get_path("scripts"), "codiag")]


def run(command, *arguments, **options):
    return subprocess.run(
        [*command, *arguments], capture_output=True, text=True, timeout=500, **options
    )


@pytest.mark.parametrize("command", [MODULE, SCRIPT])
def test_version_and_help(command):
    done = run(command, "--version")
    assert done.returncode == 0
    assert done.stdout.split() == ["codiag", codiag.__version__]
    assert "diagonalize" in run(command, "--help").stdout


def test_npy_file_gives_the_result_of_the_python_function(tmp_path):
    C, _ = codiag.datasets.synthetic(50, 6, 0.1, 0)
    np.save(tmp_path / "covs.npy", C)
    done = run(MODULE, "diagonalize", str(tmp_path / "covs.npy"), "-o", str(tmp_path / "result"))
    assert done.returncode == 0, done.stderr
    B = np.load(tmp_path / "result" / "B.npy")
    np.testing.assert_array_equal(B, codiag.diagonalize(C).B)
    report = json.loads((tmp_path / "result" / "report.json").read_text())
    assert "converged" in json.dumps(report)


def test_bad_input_is_one_line_and_exit_code_2(tmp_path):
    missing = tmp_path / "missing.npy"
    done = run(MODULE, "diagonalize", str(missing), "-o", str(tmp_path / "result"))
    assert done.returncode == 2
    assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1
    assert "missing.npy" in done.stderr


@pytest.mark.skipif(os.name != "posix", reason="signals as on POSIX")
def test_ctrl_c_ends_with_130(tmp_path):
    C, _ = codiag.datasets.synthetic(200, 20, 0.1)
    np.save(tmp_path / "covs.npy", C)
    # This solve cannot converge.
    arguments = ["--method", "quasi-newton", "--tol", "1e-300", "--n-restarts", "100000"]
    checkpoint = tmp_path / "b.npy"
    arguments += ["--checkpoint", str(checkpoint), "--checkpoint-every", "0"]
    process = subprocess.Popen(
        [*MODULE, "diagonalize", str(tmp_path / "covs.npy"), "-o", str(tmp_path / "r"), *arguments],
        stderr=subprocess.PIPE,
        text=True,
    )
    # The first checkpoint shows that it is solving.
    deadline = time.monotonic() + 250
    while not checkpoint.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=250)
    assert process.returncode == 130, errors
    assert (tmp_path / "r" / "B.npy").exists()
    assert "Traceback" not in errors
