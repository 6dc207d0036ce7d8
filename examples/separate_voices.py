"""
Separate three voices
=====================

Three microphones record three voices. Each voice is active at different times, so the covariances
of short segments identify them. Run ``python examples/separate_voices.py``.
"""

import matplotlib.pyplot as plt
import numpy as np

import codiag

rng = np.random.default_rng(0)
sfreq, seconds = 8000, 8
time = np.arange(sfreq * seconds) / sfreq


def voice(pitch):
    """Simulate tonal and noisy syllables of 0.12 to 0.32 s, with pauses."""
    sound = 1e-3 * rng.standard_normal(len(time))  # background noise
    at = 0.0
    while at < seconds:
        duration = rng.uniform(0.12, 0.32)
        within = (time >= at) & (time < at + duration)
        t = time[within] - at
        tone = sum(np.sin(2 * np.pi * h * pitch * t) / h for h in range(1, 8))
        syllable = tone if rng.random() < 0.7 else rng.standard_normal(len(t))
        loudness = rng.choice([0.0, 1.0], p=[0.25, 0.75]) * np.exp(0.5 * rng.standard_normal())
        sound[within] += loudness * np.sin(np.pi * t / duration) ** 2 * syllable
        at += duration
    return sound


# %%
# Three voices of different pitch; each microphone records all of them.
sources = np.array([voice(pitch) for pitch in (110, 155, 220)])
mixing = rng.standard_normal((3, 3))
X = mixing @ sources

# %%
# Segments of 50 ms are shorter than syllables and long enough for covariances of three channels.
model = codiag.SourceSeparation(segment_length=sfreq // 20).fit(X)
gains = (model.filters_ @ mixing) ** 2 * (sources**2).mean(axis=1)
strongest = gains.max(axis=1)
ratios = 10 * np.log10(strongest / (gains.sum(axis=1) - strongest))
for k, (voice_number, ratio) in enumerate(zip(gains.argmax(axis=1), ratios, strict=True)):
    print(f"source {k} is voice {voice_number}, {ratio:.0f} dB above the others")

# %%
# Two seconds of the recording and of the separated sources.
figure, axes = plt.subplots(3, 2, figsize=(9, 4), sharex=True, sharey="col", layout="constrained")
part = slice(0, 2 * sfreq)
for row, heard, found in zip(axes, X, model.transform(X), strict=True):
    for axis, signal in zip(row, (heard, found), strict=True):
        axis.plot(time[part], signal[part] / abs(signal).max(), linewidth=0.4)
        axis.set_yticks([])
axes[0, 0].set_title("microphones")
axes[0, 1].set_title("sources found")
for axis in axes[-1]:
    axis.set_xlabel("time (s)")
plt.show()
