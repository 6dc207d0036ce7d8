"""
Maternal and fetal heartbeats
=============================

Eight simulated electrodes record two hearts of different rates, breathing, a muscle, and sensor
noise. Four methods separate both hearts. Run ``python examples/separate_hearts.py``.
"""

import matplotlib.pyplot as plt
import numpy as np

import codiag

RATE, SECONDS, CHANNELS = 500.0, 60.0, 8
time = np.arange(int(SECONDS * RATE)) / RATE


def heart(rng, beats_per_minute, width):
    """Simulate a heart with slightly irregular beats."""
    intervals = 60 / beats_per_minute * (1 + 0.04 * rng.standard_normal(400))
    beats = np.cumsum(intervals)
    beats = beats[beats < SECONDS]
    # Time, width and height of the P, Q, R, S and T waves, for a width of 1.
    waves = [(-8, 2, 0.12), (-1.6, 0.5, -0.15), (0, 0.6, 1.0), (1.7, 0.6, -0.25), (12, 4, 0.25)]
    signal = np.zeros_like(time)
    for shift, spread, height in waves:
        places = (time[:, None] - beats - shift * width) / (spread * width)
        signal += height * np.exp(-0.5 * places**2).sum(axis=1)
    return signal


# %%
# The fetal heart is five times weaker than the maternal heart.
rng = np.random.default_rng(4)
mother, child = heart(rng, 72, 0.02), heart(rng, 138, 0.01)
breathing = np.sin(2 * np.pi * 0.25 * time + 0.8 * np.sin(0.3 * time))
tension = np.repeat(np.exp(rng.standard_normal(60)), int(RATE)) * rng.standard_normal(len(time))
sources = np.array([mother, child, breathing, tension])
sources = (sources - sources.mean(axis=1, keepdims=True)) / sources.std(axis=1, keepdims=True)
strengths = [1.0, 0.2, 0.5, 0.1]
mixing = rng.standard_normal((CHANNELS, 4)) * strengths
X = mixing @ sources + 0.02 * rng.standard_normal((CHANNELS, len(time)))

# %%
# The methods use the powers of segments, spectra, autocorrelations, and non-Gaussianity.
methods = {
    "segments": codiag.SourceSeparation(4, n_segments=200),
    "bands": codiag.SourceSeparation(4, bands=[(k, k + 1) for k in range(30)], sfreq=RATE),
    "SOBI": codiag.SOBI(4, lags=100),
    "JADE": codiag.JADE(4),
}
found_by = {}
for name, model in methods.items():
    found = found_by[name] = model.fit_transform(X)
    correlation = abs(np.corrcoef(found, sources)[:4, 4:]).max(axis=0)
    print(f"{name:9} mother {correlation[0]:.3f}  child {correlation[1]:.3f}")

# %%
# Five seconds of an electrode, and of both hearts: the truth, and the sources found by SOBI.
correlation = np.corrcoef(found_by["SOBI"], sources)[:4, 4:]
which = abs(correlation).argmax(axis=0)[:2]
hearts = np.sign(correlation[which, [0, 1]])[:, None] * found_by["SOBI"][which]
rows = {
    "electrode 0": X[0],
    "mother": sources[0],
    "mother, found": hearts[0],
    "child": sources[1],
    "child, found": hearts[1],
}
figure, axes = plt.subplots(len(rows), 1, figsize=(8, 5), sharex=True, layout="constrained")
part = slice(0, int(5 * RATE))
for axis, (name, signal) in zip(axes, rows.items(), strict=True):
    axis.plot(time[part], signal[part], linewidth=0.8)
    axis.set_ylabel(name, rotation=0, ha="right", va="center")
    axis.set_yticks([])
axes[-1].set_xlabel("time (s)")
plt.show()
