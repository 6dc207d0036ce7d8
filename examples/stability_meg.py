"""
Reproducible sources of an MEG recording
========================================

Sources are matched with those found with 20 % fewer and 20 % more segments and with another
starting point, as in a repeated analysis. The stability that ``n_resamples=20`` estimates by
bootstrap, without these solves, predicts which of them are reproduced.

The recording is 24 s of MNE-Python's sample recording, which comes with codiag. Any other recording
with magnetometers can be given: ``python examples/stability_meg.py [RECORDING]``.
"""

import sys
import time
import warnings

import matplotlib.pyplot as plt
import mne
import numpy as np

import codiag

mne.set_log_level("WARNING")
if len(sys.argv) > 1:
    raw = mne.io.read_raw(sys.argv[1], preload=True)
else:
    raw = codiag.datasets.recording()
raw.pick("mag").filter(1, None)
X = raw.get_data()
X = X / X.std()
M = np.cov(X)

# %%
# A segment has at least three samples per component, so that its covariance is well conditioned.
p = 40
n_segments = min(100, X.shape[1] // (3 * p))
other_numbers = round(0.8 * n_segments), round(1.2 * n_segments)


def matches(one, other):
    """Absolute correlation of each source with the best matching source of another model."""

    def scaled(B):
        return B / np.sqrt(np.einsum("ac,cd,ad->a", B, M, B))[:, None]

    return np.abs(scaled(one) @ M @ scaled(other).T).max(axis=1)


def fit(n_segments=n_segments, init="spectral", **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = codiag.SourceSeparation(p, n_segments=n_segments, init=init, **options)
        return model.fit(X)


def seconds(**options):
    """Return the time of the fastest of three fits."""
    moments = [time.perf_counter()]
    for _ in range(3):
        fit(**options)
        moments.append(time.perf_counter())
    return np.diff(moments).min()


# %%
# Sources that a repeated analysis finds again have an absolute correlation of more than 0.9 with
# one of its sources.
plain = fit()
B, loss = plain.filters_, plain.result_.loss
print(f"{p} sources of {X.shape[0]} magnetometers: {plain.result_.status}, loss {loss:.4f}")
repeated = {f"{count} segments": matches(B, fit(count).filters_) for count in other_numbers}
other = fit(init="whitener")
excess = 100 * (other.result_.loss / loss - 1)
repeated[f"another init (loss {excess:+.2f} %)"] = matches(B, other.filters_)
for name, found in repeated.items():
    print(f"  {name:36} {np.sum(found > 0.9):2} of {p} reproduced (|r| > 0.9)")

# %%
# The stability predicts these correlations. With restarts the result may be another minimum, so it
# is matched with the repeated analyses again.
figure, panels = plt.subplots(1, 2, figsize=(9, 4), sharey=True, layout="constrained")
for axes, options in zip(
    panels, ({"n_resamples": 20}, {"n_resamples": 20, "n_restarts": 10}), strict=True
):
    model, price = fit(**options), seconds(**options) / seconds()
    found = np.mean([matches(model.filters_, fit(k).filters_) for k in other_numbers], axis=0)
    stable = model.stability_ >= 0.9
    correlation = np.corrcoef(model.stability_, found)[0, 1]
    print(
        f"{options}: {stable.sum()} of {p} stable, in {price:.1f} times the time; reproduced: "
        f"{np.sum(found[stable] > 0.9)} of these, {np.sum(found[~stable] > 0.9)} of the others; "
        f"correlation with the stability {correlation:.2f}"
    )
    axes.axhline(0.9, color="0.8", lw=1)
    axes.axvline(0.9, color="0.8", lw=1)
    axes.scatter(model.stability_, found, s=20)
    axes.set(xlabel="stability", title=", ".join(f"{k}={v}" for k, v in options.items()))
panels[0].set_ylabel("correlation with the best match\n(mean of two repeated analyses)")
plt.show()
