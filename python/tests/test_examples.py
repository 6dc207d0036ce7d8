"""The scripts in examples/ run, and what they print is as good as it should be."""

import os
import re
import subprocess
import sys

import pytest

pytest.importorskip("sklearn")
pytest.importorskip("matplotlib")


@pytest.fixture
def example(root, tmp_path):
    def run(name, *arguments):
        path = root / "examples" / name
        if not path.exists():
            pytest.skip(f"there is no examples/{name} here")
        command = [sys.executable, str(path), *map(str, arguments)]
        # Figures are drawn, and shown to nobody.
        quiet = {**os.environ, "MPLBACKEND": "agg"}
        ended = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=quiet)
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    return run


def test_simulated(example):
    printed = re.findall(r"Amari distance to the truth ([\d.]+)", example("separate_simulated.py"))
    separated, *others = map(float, printed)
    assert separated < 0.02 and len(others) == 2 and 20 * separated < min(others)


def test_voices(example):
    printed = re.findall(r"is voice (\d), (\d+) dB", example("separate_voices.py"))
    assert sorted(voice for voice, _ in printed) == ["0", "1", "2"]
    assert all(int(ratio) > 20 for _, ratio in printed)


def test_hearts(example):
    printed = re.findall(r"mother ([\d.]+)  child ([\d.]+)", example("separate_hearts.py"))
    assert len(printed) == 4
    assert all(float(likeness) > 0.95 for hearts in printed for likeness in hearts)


def test_compare_methods(example):
    printed = example("compare_methods.py")
    assert re.search(r"newton +converged after \d+ iterations", printed)
    newton, *others = (int(n) for n in re.findall(r"after (\d+) iterations", printed))
    assert len(others) == 2 and newton < min(others)


def test_three_criteria(example):
    printed = example("three_criteria.py")
    rows = {name: [float(x) for x in rest] for name, *rest in map(str.split, printed.splitlines())}
    assert list(rows) == ["likelihood", "frobenius", "least-squares"]
    for found in rows.values():
        assert len(found) == 7 and 0 < found[0] < found[-1] < 1


def test_follow_a_mixing(example):
    followed, kept = re.findall(r"[\d.]+\d", example("follow_a_mixing.py"))
    assert float(followed) < float(kept)


def shown(root, page, script):
    """The output of a script that a page shows, below the command."""
    text = (root / "docs" / page).read_text(encoding="utf-8")
    return text.split(script, 1)[1].split("```text\n", 1)[1].split("```", 1)[0]


def same(printed, shown, whole=2, decimal=0.03):
    """Whether two outputs are the same but for the last digits of numbers."""
    number = r"\d+(?:\.\d+)?"
    # Numbers of fewer digits stand behind more spaces.
    words = [re.sub(" +", " ", re.sub(number, "#", text)) for text in (printed, shown)]
    assert words[0] == words[1]
    for now, then in zip(re.findall(number, printed), re.findall(number, shown), strict=True):
        leeway = decimal if "." in then else whole
        assert float(now) == pytest.approx(float(then), rel=0.08, abs=leeway), (now, then)


def test_stability_meg(example, shared, root):
    pytest.importorskip("mne")
    recording = shared / "meg_sample_24s_raw.fif"
    if not recording.exists():
        pytest.skip(f"needs {recording.name}, which is not here")
    # What it costs depends on the machine.
    price = r"in \d+\.\d+ times the time"
    printed, page = (
        re.sub(price, "in time", text)
        for text in (
            example("stability_meg.py", recording),
            shown(root, "which-components.md", "examples/stability_meg.py"),
        )
    )
    # Which minimum a start of these data ends in depends on rounding, and so on the processor.
    same(printed, page, whole=4, decimal=0.3)


def test_meg(example, shared, root, tmp_path):
    pytest.importorskip("mne")
    pytest.importorskip("matplotlib")
    recording = shared / "meg_sample_24s_raw.fif"
    if not recording.exists():
        pytest.skip(f"needs {recording.name}, which is not here")
    printed = example("separate_meg.py", recording, "patterns.png")
    assert "blink" in printed and "EOG 061" in printed and "heartbeat" in printed
    assert "line noise" in printed and "at 60 Hz" in printed
    # How long the way is, and to which minimum, depends on rounding, and so on the processor.
    varies = r"after \d+ iterations|S\d+ line noise.*"
    printed, page = (
        re.sub(varies, lambda found: re.sub(r"[\d.]+", "some", found[0]), text)
        for text in (printed, shown(root, "remove-artefacts.md", "examples/separate_meg.py"))
    )
    same(printed, page, whole=4, decimal=0.5)
    assert (tmp_path / "patterns.png").stat().st_size > 5000
