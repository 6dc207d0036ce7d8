"""B saved along the way, and read back as a start."""

import os

import numpy as np
import pytest

import codiag

SLOW = {"method": "quasi-newton", "start": "whitener", "tol": 1e-9}


def stopped(C, path, **options):
    """A solve that ends after the checkpoint of its sixth iteration."""
    return codiag.diagonalize(
        C,
        **{**SLOW, **options},
        checkpoint=path,
        checkpoint_every=0,
        callback=lambda record: record.iteration == 6,
    )


def assert_goes_on(rest, whole):
    """The rest of a solve begins where its sixth iteration was, and ends where the whole does."""
    assert rest.converged and whole.converged
    assert rest.history["loss"][0] == pytest.approx(whole.history["loss"][6], abs=1e-10)
    np.testing.assert_allclose(rest.B, whole.B, atol=1e-6)


def test_a_solve_goes_on_from_its_checkpoint(noisy, tmp_path):
    path = tmp_path / "b.npy"
    assert stopped(noisy, path).status == "stopped"
    assert os.listdir(tmp_path) == ["b.npy"]
    whole = codiag.diagonalize(noisy, **SLOW)
    for start in (path, str(path), np.load(path)):
        rest = codiag.diagonalize(noisy, **{**SLOW, "start": start})
        assert_goes_on(rest, whole)


def test_of_a_reduced_set_it_is_for_the_channels(noisy, tmp_path):
    path = tmp_path / "b.npy"
    stopped(noisy, path, rank=4)
    assert np.load(path).shape == (4, 6)
    rest = codiag.diagonalize(noisy, rank=4, **{**SLOW, "start": path})
    whole = codiag.diagonalize(noisy, rank=4, **SLOW)
    assert_goes_on(rest, whole)


def test_what_was_interrupted_is_saved(noisy, tmp_path):
    path = tmp_path / "b.npy"

    def interrupt(record):
        if record.iteration == 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        codiag.diagonalize(noisy, **SLOW, checkpoint=path, callback=interrupt)
    rest = codiag.diagonalize(noisy, **{**SLOW, "start": path})
    assert_goes_on(rest, codiag.diagonalize(noisy, **SLOW))


def test_of_several_starts_the_best_is_kept(tmp_path):
    # Some starts of this set end in a worse minimum.
    C, _ = codiag.datasets.synthetic(8, 6, sigma=2.0, seed=3)
    path = tmp_path / "b.npy"
    for every in (0, 60):
        result = codiag.diagonalize(C, restarts=4, checkpoint=path, checkpoint_every=every)
        assert codiag.loss(C, np.load(path)) <= result.loss + 1e-9


def test_one_that_cannot_be_written_is_said_before_the_solve(noisy, tmp_path):
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


def test_what_a_killed_program_left_is_removed(noisy, tmp_path):
    def leave():
        (tmp_path / ".codiag-Ab3xYz.tmp").write_bytes(b"half")
        (tmp_path / ".codiag-my-notes").write_text("kept")

    leave()
    result = codiag.diagonalize(noisy, checkpoint=tmp_path / "b.npy")
    assert sorted(os.listdir(tmp_path)) == [".codiag-my-notes", "b.npy"]
    leave()
    result.save(tmp_path / "result.npz")
    assert sorted(os.listdir(tmp_path)) == [".codiag-my-notes", "b.npy", "result.npz"]


def test_it_comes_every_few_seconds_and_at_the_end(noisy, tmp_path):
    path = tmp_path / "b.npy"
    seen = []
    codiag.diagonalize(noisy, checkpoint=path, callback=lambda _: seen.append(path.exists()))
    assert not any(seen)
    assert codiag.diagonalize(noisy, start=path, tol=1e-7).n_iter == 0
    with pytest.raises(ValueError, match="checkpoint_every"):
        codiag.diagonalize(noisy, checkpoint=tmp_path / "b.npy", checkpoint_every=-1)
