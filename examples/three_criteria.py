"""
Three criteria, one set
=======================

Pham's likelihood is for positive definite matrices, the Frobenius criterion for rotations of any
symmetric ones, least squares for any symmetric ones without whitening. Here all three look at the
same matrices, with more and more noise in them. Run
``python examples/three_criteria.py``.
"""

import matplotlib.pyplot as plt
import numpy as np

import codiag

# %%
# Sets of 100 matrices of 10 x 10, A Λ Aᵀ and noise. The Frobenius criterion needs whitened ones.
levels = np.geomspace(0.01, 1.0, 7)


def distance(criterion, sigma, seed):
    """How far the filters found are from the inverse of the mixing."""
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
# The median of five sets each, against the noise. The likelihood is for positive definite matrices
# as these are; the other two take any symmetric ones.
figure, axis = plt.subplots(figsize=(6, 3.8), layout="constrained")
for criterion, found in distances.items():
    axis.loglog(levels, found, "o-", label=criterion)
axis.set(xlabel="standard deviation of the noise", ylabel="Amari distance to the truth")
axis.legend()
plt.show()
for criterion, found in distances.items():
    print(f"{criterion:14}", " ".join(f"{x:.4f}" for x in found))
