"""Reference implementation of JADE in NumPy, after Cardoso and Souloumiac (1993).

`benchmarks/run separation` compares codiag's JADE with it: a loop over cumulant matrices, and
sweeps of Jacobi rotations.
"""

import numpy as np


def cumulant_matrices(z):
    """Return the p(p+1)/2 cumulant matrices of whitened signals."""
    p, samples = z.shape
    one = np.eye(p)
    matrices = []
    for i in range(p):
        for j in range(i + 1):
            moments = (z[i] * z[j] * z) @ z.T / samples
            cumulants = moments - np.outer(one[i], one[j]) - np.outer(one[j], one[i])
            matrices.append(cumulants - one if i == j else np.sqrt(2) * cumulants)
    return np.array(matrices)


def rotations(Q, tol, max_sweeps=200):
    """Return the orthogonal joint diagonalizer of the matrices, by Jacobi rotations."""
    Q = Q.copy()
    p = Q.shape[1]
    V = np.eye(p)
    for _ in range(max_sweeps):
        largest = 0.0
        for a in range(p - 1):
            for b in range(a + 1, p):
                difference, sum_ = Q[:, a, a] - Q[:, b, b], Q[:, a, b] + Q[:, b, a]
                on, off = difference @ difference - sum_ @ sum_, 2 * (difference @ sum_)
                angle = 0.5 * np.arctan2(off, on + np.hypot(on, off))
                largest = max(largest, abs(np.sin(angle)))
                if abs(angle) < 1e-15:
                    continue
                R = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
                pair = [a, b]
                Q[:, pair] = R @ Q[:, pair]
                Q[:, :, pair] = Q[:, :, pair] @ R.T
                V[pair] = R @ V[pair]
        if largest < tol:
            break
    return V


def jade(X, tol=1e-8):
    """Return the filters of all sources, one per row."""
    X = X - X.mean(axis=1, keepdims=True)
    values, vectors = np.linalg.eigh(X @ X.T / X.shape[1])
    W = vectors.T / np.sqrt(values)[:, None]
    return rotations(cumulant_matrices(W @ X), tol) @ W
