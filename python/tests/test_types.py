"""The type hints of the installed package, checked by mypy."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mypy")
EXAMPLE = Path(__file__).with_name("typed_example.py")


def python(*arguments, cwd):
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, cwd=cwd)


@pytest.fixture(scope="module")
def mypy(tmp_path_factory):
    """Returns a function that checks a file; the cache is shared between files."""
    cache = tmp_path_factory.mktemp("mypy")
    arguments = ["-m", "mypy", "--strict", "--config-file=", "--cache-dir", str(cache)]
    return lambda file, cwd: python(*arguments, str(file), cwd=cwd)


def test_example_is_strictly_typed(mypy, tmp_path):
    checked = mypy(EXAMPLE, tmp_path)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_errors_are_found(mypy, tmp_path):
    wrong = tmp_path / "wrong.py"
    wrong.write_text("import codiag\ncodiag.diagonalize([[[1.0]]], on_failure='explode').C\n")
    checked = mypy(wrong, tmp_path)
    assert "arg-type" in checked.stdout and "attr-defined" in checked.stdout


# Allowed differences for stubtest:
UNKNOWN = """
# a Literal, which it takes for a union
codiag._errors.OnFailure
# made by scikit-learn's base class
codiag.estimator.JointDiagonalizer.set_(partial_)?fit_request
codiag._csp.CSP.set_fit_request
codiag._separator.Separator.set_(fit|inverse_transform)_request
codiag.(separation|_rotations).[A-Za-z]+.set_(fit|inverse_transform)_request
"""


def test_stubs_match_the_package(tmp_path):
    config = tmp_path / "mypy.ini"
    # scikit-learn and pyRiemann have no types of their own.
    config.write_text("[mypy]\nignore_missing_imports = True\n")
    allowed = tmp_path / "allowed"
    allowed.write_text(UNKNOWN)
    arguments = ["-m", "mypy.stubtest", "codiag", "--mypy-config-file", str(config)]
    arguments += ["--allowlist", str(allowed), "--ignore-unused-allowlist"]
    checked = python(*arguments, cwd=tmp_path)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_example_runs(tmp_path):
    ended = python(str(EXAMPLE), cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
