"""
Ten sources, mixed at random
============================

Gaussian sources whose powers change over time are mixed to ten channels. Nothing but the changes
tells them apart, and that is enough: run ``python examples/separate_simulated.py``.
"""

import matplotlib.pyplot as plt
import numpy as np

import codiag

rng = np.random.default_rng(0)
p, stretches, length = 10, 100, 500

# %%
# The powers change from one stretch of 500 samples to the next.
amplitudes = np.exp(0.5 * rng.standard_normal((p, stretches)))
sources = np.repeat(amplitudes, length, axis=1) * rng.standard_normal((p, stretches * length))
mixing = rng.standard_normal((p, p))
X = mixing @ sources  # channels x samples

# %%
# The covariances of 100 segments are all made diagonal by one matrix, the inverse of the mixing.
model = codiag.SourceSeparation(n_segments=100).fit(X)
print(model.result_)

# %%
# How far is that from the truth? Amari's distance is zero if every source has been found. Principal
# components, which look at the whole recording only, are as far from it as the channels are.
principal = np.linalg.svd(X, full_matrices=False)[0].T
candidates = {"separated": model.filters_, "principal components": principal, "channels": np.eye(p)}
for name, B in candidates.items():
    print(f"{name:22} Amari distance to the truth {codiag.amari_distance(B, mixing):.4f}")

# %%
# The same as pictures: what each filter passes of each source. One entry per row and column is a
# perfect separation.
figure, axes = plt.subplots(1, 3, figsize=(9, 3.2), layout="constrained")
for axis, (name, B) in zip(axes, candidates.items(), strict=True):
    gains = abs(B @ mixing)
    image = axis.imshow(gains / gains.max(axis=1, keepdims=True), cmap="Blues", vmin=0, vmax=1)
    axis.set(title=name, xlabel="source", ylabel="row of B", xticks=[0, 9], yticks=[0, 9])
figure.colorbar(image, ax=axes, label="gain, of the largest in its row")
plt.show()
