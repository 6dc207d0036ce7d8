"""python -m codiag separate, on files that MNE reads."""

import json
import subprocess
import sys

import numpy as np
import pytest

import codiag

mne = pytest.importorskip("mne")
mne.set_log_level("WARNING")
MODULE = [sys.executable, "-m", "codiag", "separate"]


def run(*arguments, cwd):
    command = [*MODULE, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=cwd)


@pytest.fixture
def raw(tmp_path):
    """16 EEG channels with blinks, an EOG channel, a bad channel and a bad span."""
    rng = np.random.default_rng(0)
    montage = mne.channels.make_standard_montage("biosemi16")
    time = np.arange(60 * 200) / 200
    amplitudes = np.repeat(np.exp(0.6 * rng.standard_normal((8, 60))), 200, axis=1)
    sources = amplitudes * rng.standard_normal((8, len(time)))
    sources[0] = 8 * np.exp(-(((time[:, None] - np.arange(2, 60, 3.3)) / 0.1) ** 2)).sum(axis=1)
    data = rng.standard_normal((16, 8)) @ sources + 0.05 * rng.standard_normal((16, len(time)))
    data[:, 3000:3400] *= 100
    info = mne.create_info([*montage.ch_names, "EOG"], 200, ["eeg"] * 16 + ["eog"])
    eog = 10 * sources[0] + rng.standard_normal(len(time))
    raw = mne.io.RawArray(1e-6 * np.vstack([data, eog]), info).set_montage(montage)
    raw.info["bads"] = ["T7"]
    raw.set_annotations(mne.Annotations([15.0], [2.0], ["BAD_moved"]))
    raw.save(tmp_path / "subject_raw.fif", fmt="double")
    return raw


def test_fif_file_gives_the_result_of_the_python_class(raw, tmp_path):
    pytest.importorskip("sklearn")
    before = sorted(tmp_path.iterdir())
    arguments = ["subject_raw.fif", "--n-components", "8", "--n-segments", "50", "-o", "sources"]
    done = run(*arguments, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert sorted(tmp_path.iterdir()) == sorted([*before, tmp_path / "sources"])
    model = codiag.SourceSeparation(8, n_segments=50).fit(raw)
    folder = tmp_path / "sources"
    np.testing.assert_allclose(np.load(folder / "filters.npy"), model.filters_, rtol=1e-6)
    np.testing.assert_allclose(
        np.load(folder / "sources.npy"), model.transform(raw), rtol=1e-6, atol=1e-9
    )
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "subject_raw.fif" in page and "codiag-" not in page
    assert "its correlation with EOG is" in page
    assert 'class="topography"' in page and "Fp1" in page
    text = (folder / "report.json").read_text()
    assert json.loads(text) and "blink" in text


def test_options_before_the_file_and_excluded_sources(raw, tmp_path):
    done = run("-o", "out", "--n-components=8", "--exclude", "0", "subject_raw.fif", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "out"
    assert not (folder / "cleaned.npy").exists() and not list(folder.glob(".codiag*"))
    # The cleaned file has all channels and the format of the input, without the source.
    cleaned = mne.io.read_raw_fif(folder / "cleaned_raw.fif")
    assert cleaned.ch_names == raw.ch_names and cleaned.info["bads"] == ["T7"]
    assert cleaned.annotations == raw.annotations
    names = [name for name in raw.ch_names if name not in ("T7", "EOG")]
    B, A = np.load(folder / "filters.npy"), np.load(folder / "patterns.npy")
    before = raw.get_data(names)
    expected = before - np.outer(A[:, 0], B[0] @ before)
    np.testing.assert_allclose(cleaned.get_data(names), expected, rtol=1e-5, atol=1e-10)
    np.testing.assert_allclose(cleaned.get_data("T7"), raw.get_data("T7"), rtol=1e-6)
    report = json.loads((folder / "report.json").read_text())
    command = "codiag separate -o out --n-components=8 --exclude 0 subject_raw.fif"
    assert report["command"] == command
    assert report["settings"]["scale"] == "types"
    assert "cleaned_raw.fif" in (folder / "report.html").read_text(encoding="utf-8")


def test_picks_bads_and_reference_channels(raw, tmp_path):
    options = ["--picks", "eeg", "--bads", "Cz,Pz", "--eog=Fp1", "--highpass", "1", "-o", "out"]
    done = run("subject_raw.fif", "--n-components", "8", *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert report["input"]["channels"] == 13 and "Cz" not in report["input"]["names"]
    assert report["input"]["reference_channels"] == ["EOG", "Fp1"]
    assert report["settings"]["highpass"] == 1.0
    done = run("subject_raw.fif", "--picks", "Fp1,Fp2,Cz,Oz", "-o", "few", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert np.load(tmp_path / "few" / "filters.npy").shape == (4, 4)
    for options, words in [
        (["--picks", "nose"], "--picks nose"),
        (["--bads", "nose"], "--bads names the channel 'nose', which is not there: there are Fp1"),
        (["--ecg", "nose"], "--ecg names"),
        (["--names", "x.txt"], "--names is for .npy and .csv"),
    ]:
        done = run("subject_raw.fif", *options, cwd=tmp_path)
        assert done.returncode == 2 and words in done.stderr, done.stderr
        assert done.stderr.count("\n") == 1 and "--info" not in done.stderr


def test_help_names_the_formats():
    done = run("--help", cwd=None)
    assert done.returncode == 0
    for format in (".fif", ".edf", ".vhdr", ".set", ".cnt", ".mff"):
        assert format in done.stdout


def test_edf(raw, tmp_path):
    pytest.importorskip("edfio")
    mne.export.export_raw(tmp_path / "subject.edf", raw.copy().drop_channels("T7"), overwrite=True)
    done = run("subject.edf", "--n-components", "8", "-o", "out", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "subject.edf" in done.stdout and "blink" in done.stdout
    assert np.load(tmp_path / "out" / "filters.npy").shape == (8, 15)
    done = run("subject.edf", "--n-components", "8", "--exclude", "S00", "-o", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    cleaned = mne.io.read_raw_edf(tmp_path / "out" / "cleaned.edf")
    assert cleaned.ch_names == mne.io.read_raw_edf(tmp_path / "subject.edf").ch_names


def test_unreadable_file_is_one_line_and_exit_code_2(tmp_path):
    (tmp_path / "broken.fif").write_bytes(b"no recording at all")
    (tmp_path / "short.fif").write_bytes(b"x")
    (tmp_path / "letter.docx").write_bytes(b"dear reader")
    for name in ("broken.fif", "short.fif", "letter.docx", "missing.fif", "missing.npy"):
        done = run(name, "-o", "out", cwd=tmp_path)
        assert done.returncode == 2, done.stdout
        assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1, done.stderr
        assert name in done.stderr
    assert not list((tmp_path / "out").glob("*"))


def test_options_that_mne_files_answer_are_errors(raw, tmp_path):
    (tmp_path / "names").write_text("Cz\n")
    done = run("subject_raw.fif", "--names", "names", "-o", "out", cwd=tmp_path)
    assert done.returncode == 2 and "MNE knows the channels" in done.stderr


def test_recording_is_found_among_the_arguments():
    from codiag._recordings import recording_among

    for arguments, expected in [
        (["separate", "a.fif", "-o", "b.d"], 1),
        (["-q", "separate", "-o", "b.d", "--n-components", "0.99", "x/a.EDF"], 6),
        (["separate", "a.npy", "--init", "old.fif", "-o", "b"], None),
        (["separate", "a.csv", "--bands", "1-4,4.5-8"], None),
        (["separate"], None),
    ]:
        assert recording_among(arguments) == expected


def test_channel_positions(raw):
    from codiag import _recordings

    kinds = ["eeg"] * 16 + ["eog"]
    places = _recordings.positions(raw.info, kinds)
    at = dict(zip(raw.ch_names, places))
    assert at["EOG"] is None and all(at[name] is not None for name in raw.ch_names[:16])
    assert at["Fp1"][0] < 0 < at["Fp2"][0] and at["Oz"][1] < 0 < at["Fz"][1]
    assert np.hypot(*at["Cz"]) == min(np.hypot(*place) for place in places[:16])
    # Of two channels at one position only the first keeps it.
    raw.info["chs"][3]["loc"][:3] = raw.info["chs"][2]["loc"][:3]
    assert _recordings.positions(raw.info, kinds)[3] is None
    bare = mne.create_info(3, 100, "eeg")
    assert _recordings.positions(bare, ["eeg"] * 3) == [None] * 3


def test_a_meg_recording(shared, tmp_path):
    recording = shared / "meg_sample_24s_raw.fif"
    if not recording.exists():
        pytest.skip(f"{recording.name} is not available")
    done = run(recording, "--n-components", "40", "-o", "sources", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    report = (tmp_path / "sources" / "report.json").read_text()
    assert "heartbeat" in report and "its correlation with EOG 061 is" in report
