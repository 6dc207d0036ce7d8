"""
Which sources of a MEG recording come again
===========================================

And could that be known beforehand? ``python examples/stability_meg.py recording.fif``

Sources that were found from 100 segments are looked for among those of 80 and of 120 segments, and
of another start: what a laboratory would do that repeats an analysis. Beside it stands what
``n_resamples=20`` says, which has seen none of these.
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
    """The |correlation| of each source of one model with the most similar one of another."""

    def scaled(B):
        return B / np.sqrt(np.einsum("ac,cd,ad->a", B, M, B))[:, None]

    return np.abs(scaled(one) @ M @ scaled(other).T).max(axis=1)


def fit(n_segments=100, init="spectral", **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = codiag.SourceSeparation(40, n_segments=segments, init=start, **options)
        return model.fit(X)


def seconds(**options):
    """The shortest of three fits takes so long."""
    moments = [time.perf_counter()]
    for _ in range(3):
        fit(**options)
        moments.append(time.perf_counter())
    return np.diff(moments).min()


plain = fit()
B, loss = plain.filters_, plain.result_.loss
print(f"40 sources of {X.shape[0]} magnetometers: {plain.result_.status}, loss {loss:.4f}")
again = {}
for segments in (80, 120):
    again[f"{segments} segments"] = matches(B, fit(segments).filters_)
other = fit(init="whitener")
again[f"another start (loss {100 * (other.result_.loss / loss - 1):+.2f} %)"] = matches(B, other.filters_)
for name, found in again.items():
    print(f"  {name:36} {np.sum(found > 0.9):2} of 40 come again (|r| > 0.9)")

for options in ({"n_resamples": 20}, {"n_resamples": 20, "n_restarts": 10}):
    model, price = fit(**options), seconds(**options) / seconds()
    # The best of several starts may be another answer.
    come_again = 0.5 * (matches(model.filters_, fit(80).filters_) + matches(model.filters_, fit(120).filters_))
    stable = model.stability_ >= 0.9
    correlation = np.corrcoef(model.stability_, come_again)[0, 1]
    print(
        f"{options}: {stable.sum()} of 40 stable, in {price:.1f} times the time; of these "
        f"{np.sum(come_again[stable] > 0.9)} come again, of the others "
        f"{np.sum(come_again[~stable] > 0.9)}; correlation of the two {correlation:.2f}"
    )
