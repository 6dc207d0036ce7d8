"""Random numbers, with seeds as in scikit-learn and SciPy."""

from __future__ import annotations

import numpy as np


def generator(random_state: int | np.random.Generator | None) -> np.random.Generator:
    """Return a generator: the given one, or a new one with this seed (None: a random seed)."""
    _check(random_state)
    return np.random.default_rng(random_state)


def seed_of(random_state: int | np.random.Generator | None) -> int:
    """Return an integer seed: the given one, or one drawn by the generator."""
    _check(random_state)
    if isinstance(random_state, (int, np.integer)):
        return int(random_state)
    return int(generator(random_state).integers(2**63))


def _check(random_state: object) -> None:
    if isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool):
        if random_state < 0:
            raise ValueError(f"random_state must not be negative, got {random_state}")
    elif random_state is not None and not isinstance(random_state, np.random.Generator):
        raise TypeError(
            "random_state must be an integer, a numpy.random.Generator or None, "
            f"got {random_state!r}"
        )
