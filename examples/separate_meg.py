"""
Blinks and heartbeats in an MEG recording
=========================================

The recording is 24 s of MNE-Python's sample recording, which comes with codiag. Any other recording
that MNE reads can be given: ``python examples/separate_meg.py [RECORDING [PICTURE]]``. Requires
MNE and matplotlib.
"""

import sys

import mne
import numpy as np

import codiag

mne.set_log_level("WARNING")
if len(sys.argv) > 1:
    raw = mne.io.read_raw(sys.argv[1], preload=True)
else:
    raw = codiag.datasets.recording()
if "MEG 2443" in raw.ch_names:  # bad in the sample recording of MNE
    raw.info["bads"] = ["MEG 2443"]
raw.filter(1.0, None)

# %%
# Separate 40 principal components of the magnetometers, by the covariances of short segments.
model = codiag.SourceSeparation(n_components=40).fit(raw, picks="mag")
explained = model.explained_variance_ratio_total_
print(
    f"{raw.times[-1]:.0f} s, {len(model.info_['ch_names'])} magnetometers, "
    f"{len(model.filters_)} components with {explained:.1%} of the variance: "
    f"{model.result_.status} after {model.n_iter_} iterations"
)
# %%
# Detect artifacts among the sources, with the reasons.
found = model.find_artifacts(raw)
for source, kinds in found.items():
    ratio = model.explained_variance_ratio_[source]
    print(f"S{source:02} {kinds[0].kind}, {ratio:.1%} of the variance: {kinds[0].reason}")

# %%
# Remove these sources from a copy of the recording.
cleaned = model.apply(raw, exclude=found)
before, after = raw.get_data("mag"), cleaned.get_data("mag")
print(f"removing these sources removes {1 - after.var() / before.var():.0%} of the variance")

# %%
# Verify the detected kinds by patterns that need no separation: the product of the channels with
# the EOG during blinks, and the mean field at the heartbeats that MNE detects.
eog = raw.get_data("eog")[0]
eog = eog - np.median(eog)
wide = abs(eog) > 0.5 * abs(eog).max()
beats = mne.preprocessing.find_ecg_events(raw)[0][:, 0] - raw.first_samp
fields = {"blink": before[:, wide] @ eog[wide], "heartbeat": before[:, beats].mean(axis=1)}
for source, kinds in found.items():
    if kinds[0].kind in fields:
        field = fields[kinds[0].kind]
        correlation = abs(np.corrcoef(field, model.patterns_[source])[0, 1])
        print(
            f"correlation of the pattern of S{source:02} with the mean field of a "
            f"{kinds[0].kind}: {correlation:.2f}"
        )

# %%
# Plot the patterns of the artifacts.
figure = model.plot_patterns(list(found), show=False)
if len(sys.argv) > 2:
    figure.savefig(sys.argv[2])
