"""
Newton, quasi-Newton, Pham
==========================

Three methods minimize the same criterion. Far from the answer they are alike; near it Newton's
method converges quadratically, and the others linearly. Run ``python examples/compare_methods.py``.
"""

import matplotlib.pyplot as plt

import codiag

# %%
# A hundred covariances of a MEG recording, 40 x 40, which come with the package. All methods start
# from the whitener of the mean, and stop at the same gradient norm or after 300 iterations.
C = codiag.datasets.meg("magnetometers")
options = {"init": "whitener", "tol": 1e-9, "max_iter": 300, "on_failure": "ignore"}
results = {
    method: codiag.diagonalize(C, method=method, **options)
    for method in ("newton", "quasi-newton", "pham")
}
for method, result in results.items():
    print(f"{method:13} {result.status} after {result.n_iter} iterations, loss {result.loss:.6f}")

# %%
# The gradient norm, iteration by iteration. Passes over the set are the fairer axis: an iteration
# of Newton's method costs about one and two thirds of them.
figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
for method, result in results.items():
    history = result.history
    axes[0].semilogy(history["iteration"], history["gradient_norm"], label=method)
    axes[1].semilogy(history["passes"], history["gradient_norm"], label=method)
axes[0].set(xlabel="iteration", ylabel="gradient norm")
axes[1].set(xlabel="passes over the set")
axes[0].legend()
plt.show()

# %%
# Starting close to the answer saves most of the way: the default start is a rotation that makes a
# few combinations of the whitened matrices diagonal.
result = codiag.diagonalize(C)
print(f"from the default start: {result.n_iter} iterations")
result.plot()
plt.show()
