"""
Remove blinks and heartbeats from an EEG recording
==================================================

From a recording to a cleaned one: separate the sources, look for those that are artifacts, and
remove them. The recording is 24 s of MNE-Python's sample recording, which comes with codiag.
``python examples/clean_recording.py PICTURE`` writes the picture of the README.
"""

import sys

import matplotlib.pyplot as plt
import mne
import numpy as np

import codiag

# %%
# A high-pass filter removes drifts, a low-pass filter line noise.

raw = codiag.datasets.recording().pick(["eeg", "eog"])
raw.filter(1, 40, picks="all", verbose="error")

# %%
# The sources are found by the covariances of short segments.

model = codiag.SourceSeparation(n_components=20, n_resamples=20).fit(raw, picks="eeg")
found = model.find_artifacts(raw)
for source, artifacts in found.items():
    print(f"S{source:02}: {artifacts[0].kind} ({artifacts[0].score:.2f}), {artifacts[0].reason}")

# %%
# Look at the sources before you remove them: the blinks are strongest at the forehead, and the
# heartbeats are spread over the whole head.

cleaned = model.apply(raw, exclude=list(found))

# %%
# The topographies of these sources, and the recording at the forehead before and after.

figure = plt.figure(figsize=(9, 3.6), layout="constrained")
left, right = figure.subfigures(1, 2, width_ratios=[1, 2.4])
maps = left.subplots(len(found), 1, squeeze=False)[:, 0]
info = mne.pick_info(raw.info, mne.pick_types(raw.info, eeg=True))
for axes, (source, artifacts) in zip(maps, found.items(), strict=True):
    mne.viz.plot_topomap(model.patterns_[source], info, axes=axes, show=False, contours=4)
    axes.set_title(f"S{source:02}: {artifacts[0].kind}", fontsize=10)

axes = right.subplots(1, 1)
channels = ["EEG 001", "EEG 002", "EEG 003"]
before, after = (1e6 * signals.get_data(picks=channels) for signals in (raw, cleaned))
step = 1.2 * np.ptp(before, axis=1).max()
for k in range(len(channels)):
    axes.plot(
        raw.times, before[k] - k * step, color="0.7", lw=1, label="before" if k == 0 else None
    )
    axes.plot(raw.times, after[k] - k * step, color="C0", lw=1, label="after" if k == 0 else None)
axes.set_yticks([-k * step for k in range(len(channels))], channels)
axes.set(xlabel="time (s)", xlim=(0, raw.times[-1]))
axes.spines[["top", "right", "left"]].set_visible(False)
axes.tick_params(axis="y", length=0)
axes.legend(loc="upper right", frameon=False, ncols=2, bbox_to_anchor=(1, 1.12))

if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=160)
plt.show()
