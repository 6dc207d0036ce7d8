"""Compare segment lengths: benchmarks/run segments [RECORDING].

The simulations mix sources whose powers change at very different rates with many background
sources, more than the number of components. The other tables are of a recording that MNE reads.
Each row is one choice of segments; each number is the correlation of a simulated source (or of a
reference channel) with the best matching separated source, as the median over several mixings.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np

import codiag

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
DEFAULT_RECORDING = SHARED / "meg_sample_24s_raw.fif"
BANDS = [(1, 4), (4, 8), (8, 13), (13, 30), (30, 45)]
COMPONENTS = 30
CUTS = {
    "default": {},
    "0.06 s": {"segment_length": "0.06s"},
    "0.12 s": {"segment_length": "0.12s"},
    "0.25 s": {"segment_length": "0.25s"},
    "0.5 s": {"segment_length": "0.5s"},
    "1 s": {"segment_length": "1s"},
    "2 s": {"segment_length": "2s"},
    "4 s": {"segment_length": "4s"},
    "100 segments": {"n_segments": 100},
    "0.25 s, half overlapping": {"segment_length": "0.25s", "overlap": 0.5},
    "5 bands": {"bands": BANDS},
    "5 bands x 10 s": {"bands": BANDS, "segment_length": "10s"},
    "30 bands": {"bands": [(k, k + 1.5) for k in np.arange(1, 46, 1.5)]},
}


def noise(rng, shape, samples, sfreq):
    """Gaussian noise with the given spectrum and unit power."""
    bins = np.fft.rfftfreq(samples, 1 / sfreq)
    x = np.fft.irfft(shape(bins) * np.fft.rfft(rng.standard_normal(samples)), n=samples)
    return x / x.std()


def rhythm(rng, frequency, width, samples, sfreq):
    """Narrow-band noise."""
    return noise(rng, lambda f: np.exp(-(((f - frequency) / width) ** 2)), samples, sfreq)


def background(rng, samples, sfreq):
    """Pink noise above 1 Hz."""
    return noise(rng, lambda f: (f > 1) / np.sqrt(np.maximum(f, 1)), samples, sfreq)


def level(rng, seconds, samples, sfreq, strength=0.5):
    """A slowly varying amplitude with the given time constant."""
    log_amplitude = noise(rng, lambda f: np.exp(-((f * seconds) ** 2)), samples, sfreq)
    return np.exp(strength * log_amplitude)


def pulses(times, width, samples, sfreq):
    """Gaussian pulses at the given times."""
    out = np.zeros(samples)
    reach = int(4 * width * sfreq)
    for time_ in times:
        at = np.arange(max(0, int(time_ * sfreq) - reach), min(samples, int(time_ * sfreq) + reach))
        out[at] += np.exp(-(((at / sfreq - time_) / width) ** 2))
    return out


# Rhythms: time constant of the amplitude, frequency, bandwidth.
RHYTHMS = [(8, 2, 0.4), (8, 2.2, 0.4), (2, 10, 1.5), (2, 10.5, 1.5), (4, 20, 2)]
KINDS = {
    "blink, 0.3 s": [0],
    "heart, 0.1 s of 0.9": [1],
    "2 Hz, in 8 s": [2, 3],
    "10 Hz, in 2 s": [4, 5],
    "20 Hz, in 4 s": [6],
}


def simulate(rng, seconds, sfreq, channels=48, others=60):
    """Simulate a recording; return it with the sources of interest by kind."""
    samples = int(seconds * sfreq)
    size = (samples, sfreq)
    blinks = pulses(np.cumsum(rng.uniform(2, 7, int(seconds))), 0.1, *size)
    beats = np.cumsum(rng.normal(0.9, 0.04, int(2 * seconds)))
    heart = pulses(beats, 0.015, *size) - 0.3 * pulses(beats + 0.04, 0.02, *size)
    rhythms = [level(rng, slow, *size) * rhythm(rng, f, width, *size) for slow, f, width in RHYTHMS]
    other_sources = [
        level(rng, slow, *size, strength=0.3) * background(rng, *size)
        for slow in rng.uniform(0.5, 10, others)
    ]
    sources = np.vstack([blinks, heart, *rhythms, *other_sources])
    sources = (sources - sources.mean(axis=1, keepdims=True)) / sources.std(axis=1, keepdims=True)
    strengths = np.r_[3, 0.7, np.ones(len(rhythms)), np.full(others, 0.5)]
    X = rng.standard_normal((channels, len(sources))) * strengths @ sources
    X += 0.1 * rng.standard_normal(X.shape)
    return X, {kind: sources[rows] for kind, rows in KINDS.items()}


def separation(cut, components, sfreq):
    return codiag.SourceSeparation(components, sfreq=sfreq, on_failure="ignore", **cut)


def correlation(found, truth):
    """Return the lowest correlation of the true sources with their best matches."""
    return abs(np.corrcoef(truth, found)[: len(truth), len(truth) :]).max(axis=1).min()


def simulations(seeds):
    for seconds, sfreq in [(60, 250.0), (60, 1000.0), (240, 250.0)]:
        title = (
            f"{seconds} s at {sfreq:.0f} Hz, 48 channels, {COMPONENTS} components, {seeds} mixings"
        )
        print(f"\n{title}\n")
        print("| segments | number | " + " | ".join(KINDS) + " | lowest | time |")
        print("|---" * (len(KINDS) + 4) + "|")
        rows = {name: [] for name in CUTS}
        for seed in range(seeds):
            X, kinds = simulate(np.random.default_rng(seed), seconds, sfreq)
            for name, cut in CUTS.items():
                clock = time.perf_counter()
                try:
                    model = separation(cut, COMPONENTS, sfreq).fit(X)
                except ValueError:  # fewer samples than components
                    continue
                seconds_taken = time.perf_counter() - clock
                found = model.transform(X)
                scores = [correlation(found, truth) for truth in kinds.values()]
                rows[name].append([len(model.powers_), *scores, seconds_taken])
        for name, row in rows.items():
            if not row:
                print(f"| {name} | fewer samples than components |" + " |" * (len(KINDS) + 2))
                continue
            number, *scores, taken = np.median(row, axis=0)
            cells = " | ".join(f"{score:.2f}" for score in [*scores, min(scores)])
            print(f"| {name} | {number:.0f} | {cells} | {1e3 * taken:.0f} ms |", flush=True)


def recording(path):
    """Print how well eye, heart and alpha rhythm are separated, for each channel type."""
    import mne

    mne.set_log_level("ERROR")
    raw = mne.io.read_raw(path, preload=True)
    if "MEG 2443" in raw.ch_names:  # bad in the sample recording of MNE
        raw.info["bads"] = ["MEG 2443"]
    raw.filter(1.0, None)
    sfreq = raw.info["sfreq"]
    eog = raw.copy().pick("eog").filter(1, 10, picks="eog").get_data()[0]
    # There is no ECG channel. Use the mean field at the beats that MNE detects instead.
    beats = mne.preprocessing.find_ecg_events(raw)[0][:, 0] - raw.first_samp
    mags = raw.copy().pick("mag").filter(5, 35)
    field = mags.get_data()[:, beats].mean(axis=1)
    ecg = field @ mags.get_data()
    near = np.zeros(len(raw.times), dtype=bool)
    for beat in beats:
        near[max(0, beat - int(0.1 * sfreq)) : beat + int(0.1 * sfreq)] = True
    for picks, components in [("mag", 40), ("grad", 40), ("eeg", 30)]:
        print(f"\n{Path(path).name}: {picks}, {components} components\n")
        print("| segments | number | eye | heart | alpha | converged |")
        print("|---|---|---|---|---|---|")
        for name, cut in CUTS.items():
            try:
                model = separation(cut, components, None).fit(raw, picks=picks)
            except ValueError as problem:
                print(f"| {name} | {str(problem).split(':')[0]} | | | | |")
                continue
            sources = model.get_sources(raw)
            slow = sources.copy().filter(1, 10, picks="all").get_data()
            fast = sources.copy().filter(5, 35, picks="all").get_data()
            found = sources.get_data()
            spectra = abs(np.fft.rfft(found)) ** 2
            bins = np.fft.rfftfreq(found.shape[1], 1 / sfreq)
            alpha = spectra[:, (bins > 8) & (bins < 12)].sum(axis=1) / spectra.sum(axis=1)
            scores = [
                correlation(slow, eog[None]),
                correlation(fast[:, near], ecg[None, near]),
                alpha.max(),
            ]
            cells = " | ".join(f"{score:.2f}" for score in scores)
            status = model.result_.status
            print(f"| {name} | {len(model.powers_)} | {cells} | {status} |", flush=True)


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument(
        "recording", nargs="?", default=DEFAULT_RECORDING, help="a file that MNE reads"
    )
    arguments.add_argument("--seeds", type=int, default=3, help="number of mixings of each kind")
    chosen = arguments.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if Path(chosen.recording).exists():
            recording(chosen.recording)
        else:
            print(f"{chosen.recording} does not exist: simulations only")
        simulations(chosen.seeds)
