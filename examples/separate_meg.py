"""
The eye and the heart in a MEG recording
========================================

Any recording that MNE reads will do: ``python examples/separate_meg.py RECORDING [PICTURE]``.
Needs MNE, and matplotlib for the picture of the patterns. What is shown here was made from 24
seconds of MNE's sample recording.
"""

import sys

import mne
import numpy as np

import codiag

mne.set_log_level("WARNING")
raw = mne.io.read_raw(sys.argv[1], preload=True)
if "MEG 2443" in raw.ch_names:  # bad in the sample recording of MNE
    raw.info["bads"] = ["MEG 2443"]
raw.filter(1.0, None)

# %%
# Forty principal components of the magnetometers, separated by the powers of short segments.
model = codiag.SourceSeparation(n_components=40).fit(raw, picks="mag")
print(
    f"{raw.times[-1]:.0f} s, {len(model.info_['ch_names'])} magnetometers, "
    f"{len(model.filters_)} components with {model.explained_variance_ratio_total_:.1%} of the variance: "
    f"{model.result_.status} after {model.n_iter_} iterations"
)
# %%
# Which of the sources look like artifacts, and why?
found = model.find_artifacts(raw)
for source, kinds in found.items():
    share = model.explained_variance_ratio_[source]
    print(f"S{source:02} {kinds[0].kind}, {share:.1%} of the variance: {kinds[0].reason}")

# %%
# The recording without them, as a copy.
cleaned = model.apply(raw, exclude=found)
before, after = raw.get_data("mag"), cleaned.get_data("mag")
print(f"without them {1 - after.var() / before.var():.0%} of the variance is gone")

# %%
# Are they what they are said to be? How the channels follow the EOG during blinks, and the mean
# field at the beats that MNE finds, are patterns that no separation was needed for.
eog = raw.get_data("eog")[0]
eog = eog - np.median(eog)
wide = abs(eog) > 0.5 * abs(eog).max()
beats = mne.preprocessing.find_ecg_events(raw)[0][:, 0] - raw.first_samp
fields = {"blink": before[:, wide] @ eog[wide], "heartbeat": before[:, beats].mean(axis=1)}
for source, kinds in found.items():
    if kinds[0].kind in fields:
        field = fields[kinds[0].kind]
        likeness = abs(np.corrcoef(field, model.patterns_[source])[0, 1])
        print(
            f"the pattern of S{source:02} and the mean field of a {kinds[0].kind}: {likeness:.2f}"
        )

# %%
# Their patterns: the eyes in front, the heart across, and whatever else was found.
figure = model.plot_patterns(list(found), show=False)
if len(sys.argv) > 2:
    figure.savefig(sys.argv[2])
