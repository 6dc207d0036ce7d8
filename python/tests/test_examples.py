"""The scripts in examples/ run, and the results that they print are good."""

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
            pytest.skip(f"examples/{name} is not available")
        command = [sys.executable, str(path), *map(str, arguments)]
        # Figures are drawn but not shown.
        environment = {**os.environ, "MPLBACKEND": "agg"}
        done = subprocess.run(
            command, capture_output=True, text=True, cwd=tmp_path, env=environment
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def test_simulated(example):
    printed = re.findall(r"Amari distance to the truth ([\d.]+)", example("separate_simulated.py"))
    separated, *others = map(float, printed)
    assert separated < 0.02 and len(others) == 2 and 20 * separated < min(others)


def test_clean_recording(example, tmp_path):
    pytest.importorskip("mne")
    printed = example("clean_recording.py", tmp_path / "picture.png")
    assert re.search(r"S\d\d: blink", printed) and re.search(r"S\d\d: heartbeat", printed)
    assert (tmp_path / "picture.png").exists()


def test_voices(example):
    printed = re.findall(r"is voice (\d), (\d+) dB", example("separate_voices.py"))
    assert sorted(voice for voice, _ in printed) == ["0", "1", "2"]
    assert all(int(ratio) > 20 for _, ratio in printed)


def test_hearts(example):
    printed = re.findall(r"mother ([\d.]+)  child ([\d.]+)", example("separate_hearts.py"))
    assert len(printed) == 4
    assert all(float(correlation) > 0.95 for hearts in printed for correlation in hearts)


def test_compare_methods(example):
    printed = example("compare_methods.py")
    assert re.search(r"newton +converged after \d+ iterations", printed)
    losses = [float(x) for x in re.findall(r"after \d+ iterations, loss ([\d.]+)", printed)]
    # The set has many minima of nearly equal losses.
    assert len(losses) == 3 and max(losses) < 1.01 * min(losses)
    assert re.search(r"from the default start: \d+ iterations", printed)


def test_three_criteria(example):
    printed = example("three_criteria.py")
    rows = {name: [float(x) for x in rest] for name, *rest in map(str.split, printed.splitlines())}
    assert list(rows) == ["likelihood", "frobenius", "least-squares"]
    for found in rows.values():
        assert len(found) == 7 and 0 < found[0] < found[-1] < 1


def test_track_mixing(example):
    tracked, fixed = re.findall(r"[\d.]+\d", example("track_mixing.py"))
    assert float(tracked) < float(fixed)


@pytest.fixture
def recording(shared):
    pytest.importorskip("mne")
    path = shared / "meg_sample_24s_raw.fif"
    if not path.exists():
        pytest.skip(f"{path.name} is not available")
    return path


def test_stability_meg(example, recording):
    printed = example("stability_meg.py", recording)
    assert re.search(r"^40 sources of 102 magnetometers: converged, loss 1[45]\.", printed)
    # Few of the sources are reproduced with other segments or another starting point.
    again = re.findall(r"^  (80|120|another).* (\d+) of 40 reproduced", printed, re.MULTILINE)
    assert [name for name, _ in again] == ["80", "120", "another"]
    assert all(1 <= int(count) <= 25 for _, count in again)
    excess = float(re.search(r"another init \(loss ([+-][\d.]+) %\)", printed)[1])
    assert abs(excess) < 1
    # Stable sources are reproduced, most others are not.
    line = (
        r"(\d+) of 40 stable, in [\d.]+ times the time; reproduced: (\d+) of these, "
        r"(\d+) of the others; correlation with the stability (-?[\d.]+)"
    )
    lines = re.findall(line, printed)
    assert len(lines) == 2
    for stable, found, others, correlation in lines:
        stable, found, others = int(stable), int(found), int(others)
        assert 1 <= found <= stable <= 20 and found >= 0.6 * stable
        assert others / (40 - stable) < 0.5 * found / stable
        assert 0.6 < float(correlation) <= 1


def test_meg(example, recording, tmp_path):
    pytest.importorskip("matplotlib")
    printed = example("separate_meg.py", recording, "patterns.png")
    components = r"102 magnetometers, 40 components with 9\d\.\d% of the variance: converged"
    assert re.search(components, printed)
    found = re.findall(
        r"^S(\d\d) ([a-z ]+), ([\d.]+)% of the variance: (.*)$", printed, re.MULTILINE
    )
    reasons = {kind: reason for _, kind, _, reason in found}
    assert {"blink", "heartbeat", "line noise"} <= set(reasons)
    correlation = re.search(r"correlation with EOG 061 is (-?[\d.]+)", reasons["blink"])
    assert abs(float(correlation[1])) > 0.8
    assert 50 <= int(re.search(r"(\d+) times a minute", reasons["heartbeat"])[1]) <= 75
    assert "at 60 Hz" in reasons["line noise"]
    removed = int(re.search(r"removes (\d+)% of the variance", printed)[1])
    assert 5 < removed < 50
    correlations = re.findall(r"the mean field of a (blink|heartbeat): ([\d.]+)", printed)
    for kind in ("blink", "heartbeat"):
        assert max(float(value) for name, value in correlations if name == kind) > 0.9
    assert (tmp_path / "patterns.png").stat().st_size > 5000
