"""Ten sources, mixed at random, found again: python examples/separate_simulated.py."""

import numpy as np

import codiag

rng = np.random.default_rng(0)
p, stretches, length = 10, 100, 500

# Gaussian sources whose powers change from one stretch of 500 samples to the next.
amplitudes = np.exp(0.5 * rng.standard_normal((p, stretches)))
sources = np.repeat(amplitudes, length, axis=1) * rng.standard_normal((p, stretches * length))
mixing = rng.standard_normal((p, p))
X = mixing @ sources  # channels x samples

model = codiag.SourceSeparation(segments=100).fit(X)
print(model.result_)

principal = np.linalg.svd(X, full_matrices=False)[0].T
candidates = {"separated": model.filters_, "principal components": principal, "channels": np.eye(p)}
for name, B in candidates.items():
    print(f"{name:22} Amari distance to the truth {codiag.amari_distance(B, mixing):.4f}")
