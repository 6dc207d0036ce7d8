"""The check of the language of comments and documents."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

PATH = Path(__file__).resolve().parents[2] / "tools" / "check_language.py"

if not PATH.exists():
    pytest.skip("needs the source tree", allow_module_level=True)


@pytest.fixture(scope="module")
def language() -> ModuleType:
    spec = importlib.util.spec_from_file_location("check_language", PATH)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("line", "suffix"),
    [
        ("/// The same for few matrices.", ".rs"),
        ("    //! As above, for complex matrices.", ".rs"),
        ("# Whoever calls this waits.", ".py"),
        ('    """The same with weights."""', ".py"),
        ("weights : array\n    The weights are drawn anew.", ".md"),
        ('raise ValueError("these cannot be told apart")', ".py"),
        ("// " + "x" * 98, ".rs"),
        ("% " + "x" * 99, ".m"),
    ],
)
def test_phrases_and_long_comments_are_reported(
    language: ModuleType, line: str, suffix: str
) -> None:
    assert len(language.check(line, suffix)) == 1


@pytest.mark.parametrize(
    ("line", "suffix"),
    [
        ("/// Returns the same result on any number of threads.", ".rs"),
        ("// The same as numpy.linalg.eigh.", ".rs"),
        ("let a_line_of_code = " + "x" * 90 + ";", ".rs"),
        ("A line of prose in Markdown may be long. " * 5, ".md"),
        ("The sources are separated by their spectra.", ".md"),
        ("# Arrival times of the matrices", ".py"),
    ],
)
def test_plain_lines_pass(language: ModuleType, line: str, suffix: str) -> None:
    assert language.check(line, suffix) == []
