"""Output files: links are followed, modes are kept, FIFOs and devices are written to."""

import io
import json
import os
import stat
import subprocess
import sys
import threading

import numpy as np
import pytest

import codiag

pytestmark = pytest.mark.skipif(os.name != "posix", reason="links and FIFOs as on POSIX")
MODULE = [sys.executable, "-m", "codiag"]


@pytest.fixture(scope="module")
def result():
    return codiag.diagonalize(codiag.datasets.synthetic(10, 3)[0])


def read_in_thread(path):
    """Returns a function that returns the bytes read from a FIFO."""
    found = []
    reader = threading.Thread(target=lambda: found.append(path.read_bytes()), daemon=True)
    reader.start()

    def finish():
        reader.join(60)
        return found[0]

    return finish


def test_links_are_followed(result, tmp_path):
    (tmp_path / "folder").mkdir()
    for name in ("old", "new"):
        (tmp_path / name).symlink_to(tmp_path / "folder" / f"{name}.npz")
    (tmp_path / "folder" / "old.npz").write_text("old")
    for name in ("old", "new"):
        result.save(tmp_path / name)
        assert (tmp_path / name).is_symlink()
        again = codiag.load(tmp_path / "folder" / f"{name}.npz")
        np.testing.assert_array_equal(again.B, result.B)
    assert sorted(os.listdir(tmp_path / "folder")) == ["new.npz", "old.npz"]


def test_modes_are_kept(result, tmp_path):
    (tmp_path / "old.npz").write_text("old")
    (tmp_path / "old.npz").chmod(0o600)
    before = os.umask(0o027)
    try:
        for name in ("old.npz", "new.npz"):
            result.save(tmp_path / name)
    finally:
        os.umask(before)
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("old.npz", "new.npz")]
    assert modes == [0o600, 0o640]


def test_fifos_are_written_to(result, tmp_path, noisy):
    path = tmp_path / "fifo"
    os.mkfifo(path)
    finish = read_in_thread(path)
    result.save(path)
    with np.load(io.BytesIO(finish())) as stored:
        np.testing.assert_array_equal(stored["B"], result.B)
    finish = read_in_thread(path)
    codiag.diagonalize(noisy, checkpoint=path, checkpoint_every=1e9)
    assert np.load(io.BytesIO(finish())).shape == (6, 6)
    assert stat.S_ISFIFO(path.stat().st_mode)


def test_devices_are_written_to(result, tmp_path, noisy):
    path = tmp_path / "null"
    try:
        # A copy of /dev/null, so that the real one is not touched.
        os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        path.write_bytes(b"x")
    except OSError:
        pytest.skip("creating devices requires root")
    result.save(path)
    codiag.diagonalize(noisy, checkpoint=path)
    found = path.stat()
    assert stat.S_ISCHR(found.st_mode) and found.st_rdev == os.makedev(1, 3)


def test_copied_files_follow_links_too(tmp_path):
    """Cleaned recordings of ``codiag separate`` are written in this way."""
    (tmp_path / "source").write_bytes(b"cleaned")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    codiag._core.copy_file(tmp_path / "source", tmp_path / "link")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "target").read_bytes() == b"cleaned"
    with pytest.raises(FileNotFoundError):
        codiag._core.copy_file(tmp_path / "nowhere", tmp_path / "target")
    assert (tmp_path / "target").read_bytes() == b"cleaned"


def shell(line, folder):
    program = " ".join(MODULE)
    return subprocess.run(
        ["sh", "-c", line.replace("$codiag", program)], cwd=folder, capture_output=True, timeout=120
    )


def test_closed_or_full_standard_output_is_an_error(tmp_path, noisy):
    np.save(tmp_path / "covs.npy", noisy)
    targets = [">&-", "> /dev/full"] if os.path.exists("/dev/full") else [">&-"]
    for target in targets:
        done = shell(f"$codiag diagonalize covs.npy -o - {target}", tmp_path)
        assert done.returncode == 2 and b"standard output" in done.stderr, done.stderr
    assert shell("$codiag diagonalize covs.npy -o - > B.npy", tmp_path).returncode == 0
    assert np.load(tmp_path / "B.npy").shape == (6, 6)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems ask for names in UTF-8")
def test_paths_that_are_not_utf8(tmp_path, noisy):
    path = os.path.join(os.fsencode(tmp_path), b"n\xff.npy")
    with open(path, "wb") as file:
        np.save(file, noisy)
    arguments = ["diagonalize", path, "-o", "result", "--checkpoint", b"c\xff.npy"]
    done = subprocess.run([*MODULE, *arguments], cwd=tmp_path, capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "result" / "report.json").read_text(encoding="utf-8"))
    assert report["input"]["files"][0].endswith("n\ufffd.npy")
    assert len(codiag.diagonalize(os.fsdecode(path)).residuals) == len(noisy)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems ask for names in UTF-8")
def test_recordings_with_paths_that_are_not_utf8(tmp_path):
    mne = pytest.importorskip("mne")
    rng = np.random.default_rng(0)
    info = mne.create_info(4, 100.0, "eeg")
    raw = mne.io.RawArray(1e-6 * rng.standard_normal((4, 2000)), info, verbose="error")
    raw.save(tmp_path / "plain_raw.fif", verbose="error")
    path = os.path.join(os.fsencode(tmp_path), b"n\xff_raw.fif")
    os.rename(tmp_path / "plain_raw.fif", path)
    (tmp_path / "result").mkdir()
    (tmp_path / "result" / "cleaned_raw.fif").symlink_to(tmp_path / "elsewhere_raw.fif")
    arguments = ["separate", path, "-o", "result", "--exclude", "0"]
    done = subprocess.run([*MODULE, *arguments], cwd=tmp_path, capture_output=True, timeout=300)
    assert done.returncode in (0, 1), done.stderr
    report = json.loads((tmp_path / "result" / "report.json").read_text(encoding="utf-8"))
    assert report["input"]["name"] == "n\ufffd_raw.fif"
    assert (tmp_path / "result" / "cleaned_raw.fif").is_symlink()
    assert (tmp_path / "elsewhere_raw.fif").stat().st_size > 1000
