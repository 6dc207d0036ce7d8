"""
Newton, quasi-Newton, Pham
==========================

Three methods minimize one criterion. Near the minimum Newton's method converges quadratically, the
other two converge linearly. Run ``python examples/compare_methods.py``.
"""

import matplotlib.pyplot as plt

import codiag

# %%
# The package contains 100 covariance matrices (40 x 40) of an MEG recording. All methods start from
# the whitener of the mean and stop at a gradient norm of 1e-9 or after 300 iterations.
C = codiag.datasets.meg("magnetometers")
options = {"init": "whitener", "tol": 1e-9, "max_iter": 300, "on_failure": "ignore"}
results = {
    method: codiag.diagonalize(C, method=method, **options)
    for method in ("newton", "quasi-newton", "pham")
}
for method, result in results.items():
    print(f"{method:13} {result.status} after {result.n_iter} iterations, loss {result.loss:.6f}")

# %%
# The gradient norm against iterations and against data passes. Data passes measure the cost: one
# Newton iteration takes about 1.7 of them.
figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
for method, result in results.items():
    history = result.history
    axes[0].semilogy(history["iteration"], history["gradient_norm"], label=method)
    axes[1].semilogy(history["passes"], history["gradient_norm"], label=method)
axes[0].set(xlabel="iteration", ylabel="gradient norm")
axes[1].set(xlabel="data passes")
axes[0].legend()
plt.show()

# %%
# A good starting point saves most iterations. The default, "spectral", jointly diagonalizes a few
# principal combinations of the whitened matrices by rotations.
result = codiag.diagonalize(C)
print(f"from the default start: {result.n_iter} iterations")
result.plot()
plt.show()
