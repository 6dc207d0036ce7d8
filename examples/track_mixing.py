"""
A mixing that changes
=====================

Matrices keep arriving, and what mixed them drifts. :class:`codiag.Tracker` keeps a window of them,
with forgetting, and its B follows. Run ``python examples/follow_a_mixing.py``.
"""

import matplotlib.pyplot as plt
import numpy as np

import codiag

# %%
# Six sources, whose mixing turns a little with every matrix.
rng = np.random.default_rng(1)
p, steps = 6, 400
turn = rng.standard_normal((p, p)) * 0.004
mixing = [rng.standard_normal((p, p))]
for _ in range(steps - 1):
    mixing.append(mixing[-1] + turn @ mixing[-1])


def matrix(A):
    """The covariance of one stretch of the recording."""
    noise = rng.standard_normal((p, p))
    return (A * rng.uniform(0.1, 2.0, p)) @ A.T + 1e-4 * noise @ noise.T


matrices = np.array([matrix(A) for A in mixing])

# %%
# One tracker with a window of 60 matrices, of which older ones count less; and one B found from the
# first 60 matrices, and kept.
tracker = codiag.Tracker(window=60, forgetting=0.95)
fixed = codiag.diagonalize(matrices[:60]).B
followed, kept = [], []
for C, A in zip(matrices, mixing, strict=True):
    tracker.push(C)
    followed.append(codiag.amari_distance(tracker.B, A))
    kept.append(codiag.amari_distance(fixed, A))
print(f"at the end: followed {followed[-1]:.3f}, kept {kept[-1]:.3f}")

# %%
figure, axis = plt.subplots(figsize=(7, 3.4), layout="constrained")
axis.semilogy(followed, label="followed")
axis.semilogy(kept, label="found once, and kept")
axis.set(xlabel="matrix", ylabel="Amari distance to the mixing of the moment")
axis.legend()
plt.show()
