"""
Track a changing mixing
=======================

Matrices arrive one by one, and their mixing drifts. :class:`codiag.Tracker` updates B from a window
of the last matrices with exponential forgetting. Run ``python examples/track_mixing.py``.
"""

import matplotlib.pyplot as plt
import numpy as np

import codiag

# %%
# Six sources whose mixing changes slightly with every matrix.
rng = np.random.default_rng(1)
p, steps = 6, 400
drift = rng.standard_normal((p, p)) * 0.004
mixing = [rng.standard_normal((p, p))]
for _ in range(steps - 1):
    mixing.append(mixing[-1] + drift @ mixing[-1])


def matrix(A):
    """Simulate the covariance of one segment."""
    noise = rng.standard_normal((p, p))
    return (A * rng.uniform(0.1, 2.0, p)) @ A.T + 1e-4 * noise @ noise.T


matrices = np.array([matrix(A) for A in mixing])

# %%
# A tracker with a window of 60 matrices, in which older matrices have smaller weights, is compared
# with a fixed B computed from the first 60 matrices.
tracker = codiag.Tracker(window=60, forgetting=0.95)
first_B = codiag.diagonalize(matrices[:60]).B
tracked, fixed = [], []
for C, A in zip(matrices, mixing, strict=True):
    tracker.push(C)
    tracked.append(codiag.amari_distance(tracker.B, A))
    fixed.append(codiag.amari_distance(first_B, A))
print(f"at the end: tracked {tracked[-1]:.3f}, fixed {fixed[-1]:.3f}")

# %%
figure, axis = plt.subplots(figsize=(7, 3.4), layout="constrained")
axis.semilogy(tracked, label="tracked")
axis.semilogy(fixed, label="fixed")
axis.set(xlabel="matrix", ylabel="Amari distance to the current mixing")
axis.legend()
plt.show()
