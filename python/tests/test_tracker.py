"""codiag.Tracker."""

import pickle
from itertools import pairwise

import numpy as np
import pytest

import codiag


def rotating_set(n, p, random_state=0):
    """Matrices whose mixing rotates by 90 degrees in total, and the mixing of each."""
    C, A = codiag.datasets.synthetic(n, p, sigma=0.05, random_state=random_state)
    plane = np.linalg.qr(np.random.default_rng(random_state).standard_normal((p, p)))[0][:2]
    (x, y), rest = plane, np.eye(p) - plane.T @ plane
    angles = np.linspace(0, np.pi / 2, n)
    turns = np.array(
        [
            rest
            + np.cos(t) * (np.outer(x, x) + np.outer(y, y))
            + np.sin(t) * (np.outer(x, y) - np.outer(y, x))
            for t in angles
        ]
    )
    return turns @ C @ turns.transpose(0, 2, 1), turns @ A


@pytest.fixture(scope="module")
def drift():
    return rotating_set(1000, 5, random_state=1)


@pytest.fixture(scope="module")
def followed(drift):
    """Results of pushing one matrix after the other."""
    tracker = codiag.Tracker(window=100, forgetting=0.95)
    return tracker, [tracker.push(C) for C in drift[0]]


def test_filters_follow_the_mixing(drift, followed):
    C, A = drift
    tracked = [codiag.amari_distance(r.B, a) for r, a in zip(followed[1], A)][100:]
    batch = codiag.diagonalize(C).B
    fixed = [codiag.amari_distance(batch, a) for a in A][100:]
    assert max(tracked) < 0.05
    assert min(fixed) > 0.2


def test_cost_per_matrix_is_bounded(followed):
    tracker, results = followed
    assert len(tracker) == 100 and tracker.matrices.shape == (100, 5, 5)
    passes = np.array([r.history["passes"][-1] for r in results])
    assert passes[100:].mean() < 10
    assert passes[-200:].mean() < 1.25 * passes[100:300].mean()
    assert max(len(r.residuals) for r in results) == 100


def test_components_keep_order_and_sign(followed):
    results = followed[1][20:]
    for before, after in pairwise(results):
        np.testing.assert_allclose(after.B @ before.A, np.eye(5), atol=0.25)


def test_components_are_not_exchanged_on_real_data():
    C = codiag.datasets.meg("gradiometers")
    tracker = codiag.Tracker(window=60, forgetting=0.97)
    before = tracker.push(C[:60])
    for matrix in C[60:]:
        after = tracker.push(matrix)
        mean = np.average(tracker.matrices, axis=0, weights=tracker.weights)
        scale = np.sqrt(np.einsum("ac,cd,ad->a", before.B, mean, before.B))
        correlations = after.B @ mean @ (before.B / scale[:, None]).T
        kept = np.diag(correlations)
        assert (kept > 0).all()
        # Exchanging two components would not increase the larger of their correlations.
        assert (np.maximum.outer(kept, kept) >= abs(correlations) - 1e-12).all()
        before = after


def test_push_minimizes_over_the_window(drift, followed):
    C, _ = drift
    tracker, results = followed
    weights = 0.95 ** np.arange(99, -1, -1.0)
    np.testing.assert_allclose(tracker.weights, weights / weights.sum(), atol=1e-14)
    assert (tracker.matrices == C[-100:]).all()
    batch = codiag.diagonalize(C[-100:], sample_weight=weights)
    assert results[-1].loss == pytest.approx(batch.loss, abs=1e-10)
    assert codiag.amari_distance(tracker.B, batch.A) < 1e-6
    assert (tracker.B == results[-1].B).all() and (tracker.A == results[-1].A).all()


def test_sample_weight(noisy, weights):
    tracker = codiag.Tracker(forgetting=1)
    for C, weight in zip(noisy, weights):
        tracker.push(C, weight)
    batch = codiag.diagonalize(noisy, sample_weight=weights)
    assert codiag.amari_distance(tracker.B, batch.A) < 1e-6


def test_init_determines_the_order_of_rows(noisy):
    shuffled = codiag.diagonalize(noisy[:20]).B[[3, 1, 5, 0, 2, 4]]
    tracker = codiag.Tracker(init=-shuffled, forgetting=1)
    relative = tracker.push(noisy).B @ np.linalg.inv(-shuffled)
    assert (np.abs(relative).argmax(axis=1) == np.arange(6)).all()
    assert (np.diag(relative) > 0).all()


def test_pickled_tracker_continues(drift, followed):
    C, _ = drift
    whole = codiag.Tracker(window=100, forgetting=0.95)
    for matrix in C[:150]:
        whole.push(matrix)
    again = pickle.loads(pickle.dumps(whole))
    assert (again.B == whole.B).all() and len(again) == 100
    assert repr(again) == repr(whole)
    for matrix in C[150:250]:
        again.push(matrix)
    assert (again.B == followed[1][249].B).all()
    empty = pickle.loads(pickle.dumps(codiag.Tracker(window=3)))
    assert len(empty) == 0 and empty.result is None and empty.weights.shape == (0,)
    assert "0 of 3 matrices" in repr(empty)


def test_reading_filters_before_the_first_push_raises():
    with pytest.raises(AttributeError, match="push matrices first"):
        codiag.Tracker().B  # noqa: B018


@pytest.mark.parametrize(
    "choices, message",
    [
        ({"window": 0}, "window must be at least 1"),
        ({"window": -1}, "window must not be negative"),
        ({"forgetting": 0.0}, "forgetting must be above 0"),
        ({"forgetting": 1.5}, "forgetting must be above 0"),
        ({"tol": 0}, "tol must be"),
        ({"max_iter": -1}, "max_iter"),
        ({"method": "magic"}, 'method .*"newton"'),
        ({"n_components": 0}, "n_components must be"),
        ({"on_failure": "explode"}, "on_failure must be"),
        ({"n_jobs": 0}, "n_jobs must be"),
        ({"init": None}, "init must be"),
    ],
)
def test_bad_choices(choices, message):
    with pytest.raises(ValueError, match=message):
        codiag.Tracker(**choices)


def test_bad_matrices_change_nothing(noisy):
    tracker = codiag.Tracker()
    with pytest.raises(ValueError, match="matrix 0: entry"):
        tracker.push(np.full((4, 4), np.nan))
    tracker.push(noisy[:30])  # another size than that of the bad matrices
    before = tracker.B.copy()
    broken = noisy[30:33].copy()
    broken[1, 2, 3] = np.inf
    skewed = noisy[30].copy()
    skewed[0, 1] += 1
    bad = [
        (broken, "matrix 1: entry \\(2, 3\\) is inf"),
        (skewed, "matrix 0 is not symmetric"),
        (-noisy[30:32], "matrix 0 is not positive definite"),
        (noisy[0, :4, :4], "of size 6 x 6, as before, got 4 x 4"),
        (noisy[0, :4], "got shape \\(4, 6\\)"),
        (np.empty((0, 6, 6)), "got shape \\(0, 6, 6\\)"),
        (np.ma.masked_less(noisy[0], 0.0), "masked"),
    ]
    for matrices, message in bad:
        with pytest.raises(ValueError, match=message):
            tracker.push(matrices)
    with pytest.raises(ValueError, match="matrix 0 is not Hermitian"):
        tracker.push(noisy[0] + 1j)
    assert tracker.matrices.dtype == np.float64
    for weights, message in [
        ([1.0, 2.0], "expected 1 weights"),
        ([-1.0], "weight 0 is -1"),
        ([[1.0]], "one dimension"),
    ]:
        with pytest.raises(ValueError, match=message):
            tracker.push(noisy[30], weights)
    assert len(tracker) == 30 and (tracker.B == before).all()
    assert tracker.push(noisy[30].astype(np.float32).tolist()).converged


def test_push_copies_the_array(noisy):
    mine = noisy.copy()
    tracker = codiag.Tracker()
    tracker.push(mine)
    assert (mine == noisy).all()
    mine[:] = 0
    assert (tracker.matrices == noisy).all()


def test_update_that_does_not_converge_warns(noisy):
    with pytest.warns(codiag.ConvergenceWarning, match="max_iter") as warned:
        codiag.Tracker(max_iter=1).push(noisy)
    assert warned[0].filename == __file__
    with pytest.raises(codiag.ConvergenceError):
        codiag.Tracker(max_iter=1, on_failure="raise").push(noisy)
    lazy = codiag.Tracker(max_iter=1, on_failure="ignore", forgetting=1)
    for matrix in noisy:
        lazy.push(matrix)
    # One Newton step per update; all updates together converge.
    assert codiag.amari_distance(lazy.B, codiag.diagonalize(noisy).A) < 0.01
