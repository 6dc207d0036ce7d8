"""
Reproducible sources of an MEG recording
========================================

Sources found with 100 segments are matched with those found with 80 and 120 segments and with
another starting point, as in a repeated analysis. The stability that ``n_resamples=20`` estimates
from the 100 segments alone predicts which of them are reproduced.

Run ``python examples/stability_meg.py recording.fif``.
"""

import sys
import time
import warnings

import mne
import numpy as np

import codiag

mne.set_log_level("WARNING")
path = sys.argv[1]
raw = mne.io.read_raw_fif(path, preload=True).pick("mag").filter(1, None)
X = raw.get_data()
X = X / X.std()
M = np.cov(X)


def matches(one, other):
    """Absolute correlation of each source with the best matching source of another model."""

    def scaled(B):
        return B / np.sqrt(np.einsum("ac,cd,ad->a", B, M, B))[:, None]

    return np.abs(scaled(one) @ M @ scaled(other).T).max(axis=1)


def fit(n_segments=100, init="spectral", **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = codiag.SourceSeparation(40, n_segments=n_segments, init=init, **options)
        return model.fit(X)


def seconds(**options):
    """Return the time of the fastest of three fits."""
    moments = [time.perf_counter()]
    for _ in range(3):
        fit(**options)
        moments.append(time.perf_counter())
    return np.diff(moments).min()


plain = fit()
B, loss = plain.filters_, plain.result_.loss
print(f"40 sources of {X.shape[0]} magnetometers: {plain.result_.status}, loss {loss:.4f}")
repeated = {f"{count} segments": matches(B, fit(count).filters_) for count in (80, 120)}
other = fit(init="whitener")
excess = 100 * (other.result_.loss / loss - 1)
repeated[f"another init (loss {excess:+.2f} %)"] = matches(B, other.filters_)
for name, found in repeated.items():
    print(f"  {name:36} {np.sum(found > 0.9):2} of 40 reproduced (|r| > 0.9)")

for options in ({"n_resamples": 20}, {"n_resamples": 20, "n_restarts": 10}):
    model, price = fit(**options), seconds(**options) / seconds()
    # With restarts the result may be another minimum, so it is matched with both again.
    found = np.mean([matches(model.filters_, fit(count).filters_) for count in (80, 120)], axis=0)
    stable = model.stability_ >= 0.9
    correlation = np.corrcoef(model.stability_, found)[0, 1]
    print(
        f"{options}: {stable.sum()} of 40 stable, in {price:.1f} times the time; reproduced: "
        f"{np.sum(found[stable] > 0.9)} of these, {np.sum(found[~stable] > 0.9)} of the others; "
        f"correlation with the stability {correlation:.2f}"
    )
