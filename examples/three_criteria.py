"""
Compare three criteria
======================

Pham's likelihood requires positive definite matrices. The Frobenius criterion finds a rotation and
accepts any symmetric matrices, usually whitened ones. Least squares accepts any symmetric matrices
without whitening. This example compares them at increasing noise. Run
``python examples/three_criteria.py``.
"""

import matplotlib.pyplot as plt
import numpy as np

import codiag

# %%
# Sets of 100 matrices A Λⁱ Aᵀ of 10 x 10 with noise, whitened for the Frobenius criterion.
levels = np.geomspace(0.01, 1.0, 7)


def distance(criterion, sigma, seed):
    """Return the Amari distance between the result and the true mixing."""
    C, A = codiag.datasets.synthetic(100, 10, sigma, seed)
    if criterion != "frobenius":
        result = codiag.diagonalize(C, criterion=criterion, on_failure="ignore")
        return codiag.amari_distance(result.B, A)
    values, vectors = np.linalg.eigh(C.mean(axis=0))
    W = (vectors / np.sqrt(values)).T
    result = codiag.diagonalize(W @ C @ W.T, criterion=criterion)
    return codiag.amari_distance(result.B @ W, A)


criteria = ("likelihood", "frobenius", "least-squares")
distances = {
    criterion: np.median([[distance(criterion, s, k) for s in levels] for k in range(5)], axis=0)
    for criterion in criteria
}

# %%
# The median over five sets, against the noise.
figure, axis = plt.subplots(figsize=(6, 3.8), layout="constrained")
for criterion, found in distances.items():
    axis.loglog(levels, found, "o-", label=criterion)
axis.set(xlabel="standard deviation of the noise", ylabel="Amari distance to the truth")
axis.legend()
plt.show()
for criterion, found in distances.items():
    print(f"{criterion:14}", " ".join(f"{x:.4f}" for x in found))
