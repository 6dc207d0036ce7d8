"""
Separate ten simulated sources
==============================

Ten Gaussian sources are mixed to ten channels. The changes of their powers over time suffice to
separate them. Run ``python examples/separate_simulated.py``.
"""

import matplotlib.pyplot as plt
import numpy as np

import codiag

rng = np.random.default_rng(0)
p, segments, length = 10, 100, 500

# %%
# The powers change after every 500 samples.
amplitudes = np.exp(0.5 * rng.standard_normal((p, segments)))
sources = np.repeat(amplitudes, length, axis=1) * rng.standard_normal((p, segments * length))
mixing = rng.standard_normal((p, p))
X = mixing @ sources  # channels x samples

# %%
# The inverse of the mixing diagonalizes the covariances of all 100 segments.
model = codiag.SourceSeparation(n_segments=100).fit(X)
print(model.result_)

# %%
# The Amari distance to the true mixing is zero for a perfect separation. Principal components,
# which use only the covariance of the whole recording, are no better than the channels.
principal = np.linalg.svd(X, full_matrices=False)[0].T
candidates = {"separated": model.filters_, "principal components": principal, "channels": np.eye(p)}
for name, B in candidates.items():
    print(f"{name:22} Amari distance to the truth {codiag.amari_distance(B, mixing):.4f}")

# %%
# The gain of each filter for each source. A perfect separation has one entry per row and column.
figure, axes = plt.subplots(1, 3, figsize=(9, 3.2), layout="constrained")
for axis, (name, B) in zip(axes, candidates.items(), strict=True):
    gains = abs(B @ mixing)
    image = axis.imshow(gains / gains.max(axis=1, keepdims=True), cmap="Blues", vmin=0, vmax=1)
    axis.set(title=name, xlabel="source", ylabel="row of B", xticks=[0, 9], yticks=[0, 9])
figure.colorbar(image, ax=axes, label="gain relative to the largest in its row")
plt.show()
