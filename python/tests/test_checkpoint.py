"""Checkpoints of B, and solves that resume from them."""

import os

import numpy as np
import pytest

import codiag

SLOW = {"method": "quasi-newton", "init": "whitener", "tol": 1e-9}


def interrupted(C, path, **options):
    """Runs a solve that is interrupted after the checkpoint of its sixth iteration."""
    return codiag.diagonalize(
        C,
        **{**SLOW, **options},
        checkpoint=path,
        checkpoint_every=0,
        callback=lambda record: record.iteration == 6,
    )


def assert_resumes(rest, whole):
    """Checks that the resumed solve starts after iteration 6 and has the same result."""
    assert rest.converged and whole.converged
    assert rest.history["loss"][0] == pytest.approx(whole.history["loss"][6], abs=1e-10)
    np.testing.assert_allclose(rest.B, whole.B, atol=1e-6)


def test_solve_resumes_from_its_checkpoint(noisy, tmp_path):
    path = tmp_path / "b.npy"
    assert interrupted(noisy, path).status == "interrupted"
    assert os.listdir(tmp_path) == ["b.npy"]
    whole = codiag.diagonalize(noisy, **SLOW)
    for start in (path, str(path), np.load(path)):
        rest = codiag.diagonalize(noisy, **{**SLOW, "init": start})
        assert_resumes(rest, whole)


def test_checkpoint_of_a_reduced_set_has_all_channels(noisy, tmp_path):
    path = tmp_path / "b.npy"
    interrupted(noisy, path, n_components=4)
    assert np.load(path).shape == (4, 6)
    rest = codiag.diagonalize(noisy, n_components=4, **{**SLOW, "init": path})
    whole = codiag.diagonalize(noisy, n_components=4, **SLOW)
    assert_resumes(rest, whole)


def test_interrupted_solve_leaves_a_checkpoint(noisy, tmp_path):
    path = tmp_path / "b.npy"

    def interrupt(record):
        if record.iteration == 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        codiag.diagonalize(noisy, **SLOW, checkpoint=path, callback=interrupt)
    rest = codiag.diagonalize(noisy, **{**SLOW, "init": path})
    assert_resumes(rest, codiag.diagonalize(noisy, **SLOW))


def test_checkpoint_keeps_the_best_of_several_starts(tmp_path):
    # Some starting points of this set lead to a worse minimum.
    C, _ = codiag.datasets.synthetic(8, 6, sigma=2.0, random_state=3)
    path = tmp_path / "b.npy"
    for every in (0, 60):
        result = codiag.diagonalize(C, n_restarts=4, checkpoint=path, checkpoint_every=every)
        assert codiag.loss(C, np.load(path)) <= result.loss + 1e-9


def test_unwritable_checkpoint_fails_before_the_solve(noisy, tmp_path):
    calls = []
    (tmp_path / "file").write_text("")
    for path, error in [
        (tmp_path / "none" / "b.npy", FileNotFoundError),
        (tmp_path, OSError),
        (tmp_path / "file" / "b.npy", OSError),
    ]:
        with pytest.raises(error) as caught:
            codiag.diagonalize(noisy, checkpoint=path, callback=calls.append)
        assert caught.value.filename == str(path)
    assert calls == [] and os.listdir(tmp_path) == ["file"]


def test_temporary_files_of_a_killed_process_are_removed(noisy, tmp_path):
    def leave():
        (tmp_path / ".codiag-Ab3xYz.tmp").write_bytes(b"half")
        (tmp_path / ".codiag-my-notes").write_text("kept")

    leave()
    result = codiag.diagonalize(noisy, checkpoint=tmp_path / "b.npy")
    assert sorted(os.listdir(tmp_path)) == [".codiag-my-notes", "b.npy"]
    leave()
    result.save(tmp_path / "result.npz")
    assert sorted(os.listdir(tmp_path)) == [".codiag-my-notes", "b.npy", "result.npz"]


def test_checkpoint_is_written_periodically_and_at_the_end(noisy, tmp_path):
    path = tmp_path / "b.npy"
    seen = []
    codiag.diagonalize(noisy, checkpoint=path, callback=lambda _: seen.append(path.exists()))
    assert not any(seen)
    assert codiag.diagonalize(noisy, init=path, tol=1e-7).n_iter == 0
    with pytest.raises(ValueError, match="checkpoint_every"):
        codiag.diagonalize(noisy, checkpoint=tmp_path / "b.npy", checkpoint_every=-1)
