"""How long segments should be: benchmarks/run segments [RECORDING].

Two tables. The first is of simulations, of which the truth is known: an eye that blinks, a heart,
rhythms that come and go and rhythms that are steady, in white noise, at two rates and two
durations. The second is of a recording that MNE reads, by default the carried one if it is there.
Each line is one way to cut the recording; each number is the correlation of what was simulated (or
of the reference channel) with the source that is most like it, at the median of several mixings.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np

import codiag

CARRIED = Path(__file__).resolve().parents[2] / "shared" / "data" / "meg_sample_24s_raw.fif"
BANDS = [(1, 4), (4, 8), (8, 13), (13, 30), (30, 45)]
CUTS = {
    "default": {},
    "0.12 s": {"segment_length": "0.12s"},
    "0.25 s": {"segment_length": "0.25s"},
    "0.5 s": {"segment_length": "0.5s"},
    "1 s": {"segment_length": "1s"},
    "2 s": {"segment_length": "2s"},
    "100 segments": {"segments": 100},
    "0.25 s, half overlapping": {"segment_length": "0.25s", "overlap": 0.5},
    "5 bands": {"bands": BANDS},
    "5 bands x 10 s": {"bands": BANDS, "segment_length": "10s"},
    "30 bands": {"bands": [(k, k + 1.5) for k in np.arange(1, 46, 1.5)]},
}


def rhythm(rng, frequency, samples, rate):
    """Noise about one frequency, of unit power."""
    bins = np.fft.rfftfreq(samples, 1 / rate)
    shape = np.exp(-(((bins - frequency) / 1.5) ** 2))
    x = np.fft.irfft(shape * np.fft.rfft(rng.standard_normal(samples)), n=samples)
    return x / x.std()


def pulses(moments, width, samples, rate):
    """Bumps at some moments."""
    out = np.zeros(samples)
    reach = int(4 * width * rate)
    for moment in moments:
        at = np.arange(max(0, int(moment * rate) - reach), min(samples, int(moment * rate) + reach))
        out[at] += np.exp(-(((at / rate - moment) / width) ** 2))
    return out


def simulate(rng, seconds, rate, channels=30):
    """A recording, and its sources by kind."""
    samples = int(seconds * rate)
    blinks = pulses(np.cumsum(rng.uniform(2, 7, int(seconds))), 0.1, samples, rate)
    beats = np.cumsum(rng.normal(0.9, 0.04, int(2 * seconds)))
    heart = pulses(beats, 0.015, samples, rate) - 0.3 * pulses(beats + 0.04, 0.02, samples, rate)
    levels = np.cumsum(rng.standard_normal((5, int(seconds) + 1)), axis=1)
    levels -= np.array([np.convolve(x, np.ones(30) / 30, "same") for x in levels])
    levels /= levels.std(axis=1, keepdims=True)
    clock = np.arange(samples) / rate
    envelopes = np.exp(0.6 * np.array([np.interp(clock, np.arange(len(x)), x) for x in levels]))
    frequencies = (6, 9, 10.5, 17, 24)
    waxing = envelopes * [rhythm(rng, f, samples, rate) for f in frequencies]
    steady = np.array([rhythm(rng, f, samples, rate) for f in (5, 12, 20)])
    sources = np.vstack([blinks, heart, waxing, steady])
    sources = (sources - sources.mean(axis=1, keepdims=True)) / sources.std(axis=1, keepdims=True)
    strengths = np.r_[3, 0.15, np.ones(5), np.ones(3)]
    X = rng.standard_normal((channels, 10)) * strengths @ sources
    X += 0.5 * rng.standard_normal(X.shape)
    kinds = {"blink": [0], "heart": [1], "rhythms that wax": range(2, 7), "steady": range(7, 10)}
    return X, {kind: sources[list(rows)] for kind, rows in kinds.items()}


def fitted(cut, components, rate):
    return codiag.SourceSeparation(components, rate=rate, on_failure="ignore", **cut)


def likeness(found, truth):
    """The correlation of each true source with the one that is most like it: the least of them."""
    return abs(np.corrcoef(truth, found)[: len(truth), len(truth) :]).max(axis=1).min()


def simulations(seeds):
    settings = [(60, 250.0), (60, 1000.0), (600, 250.0)]
    for seconds, rate in settings:
        print(f"\n{seconds} s at {rate:.0f} Hz, 30 channels, 15 components, {seeds} mixings\n")
        print("| segments | number | blink | heart | rhythms that wax | steady | time |")
        print("|---|---|---|---|---|---|---|")
        rows = {name: [] for name in CUTS}
        for seed in range(seeds):
            X, kinds = simulate(np.random.default_rng(seed), seconds, rate)
            for name, cut in CUTS.items():
                clock = time.perf_counter()
                model = fitted(cut, 15, rate).fit(X)
                seconds_taken = time.perf_counter() - clock
                found = model.transform(X)
                scores = [likeness(found, truth) for truth in kinds.values()]
                rows[name].append([len(model.powers_), *scores, seconds_taken])
        for name, row in rows.items():
            number, *scores, taken = np.median(row, axis=0)
            cells = " | ".join(f"{score:.2f}" for score in scores)
            print(f"| {name} | {number:.0f} | {cells} | {1e3 * taken:.0f} ms |", flush=True)


def recording(path):
    """The eye, the heart and the alpha rhythm of a recording, by type of channels."""
    import mne

    mne.set_log_level("ERROR")
    raw = mne.io.read_raw(path, preload=True)
    if "MEG 2443" in raw.ch_names:  # bad in the sample recording of MNE
        raw.info["bads"] = ["MEG 2443"]
    raw.filter(1.0, None)
    rate = raw.info["sfreq"]
    eog = raw.copy().pick("eog").filter(1, 10, picks="eog").get_data()[0]
    # There is no ECG: the mean field of the beats that MNE finds, over the magnetometers.
    beats = mne.preprocessing.find_ecg_events(raw)[0][:, 0] - raw.first_samp
    mags = raw.copy().pick("mag").filter(5, 35)
    field = mags.get_data()[:, beats].mean(axis=1)
    ecg = field @ mags.get_data()
    near = np.zeros(len(raw.times), dtype=bool)
    for beat in beats:
        near[max(0, beat - int(0.1 * rate)) : beat + int(0.1 * rate)] = True
    for picks, components in [("mag", 40), ("grad", 40), ("eeg", 30)]:
        print(f"\n{Path(path).name}: {picks}, {components} components\n")
        print("| segments | number | eye | heart | alpha | converged |")
        print("|---|---|---|---|---|---|")
        for name, cut in CUTS.items():
            try:
                model = fitted(cut, components, None).fit(raw, picks=picks)
            except ValueError as problem:
                print(f"| {name} | {str(problem).split(':')[0]} | | | | |")
                continue
            sources = model.get_sources(raw)
            slow = sources.copy().filter(1, 10, picks="all").get_data()
            fast = sources.copy().filter(5, 35, picks="all").get_data()
            found = sources.get_data()
            spectra = abs(np.fft.rfft(found)) ** 2
            bins = np.fft.rfftfreq(found.shape[1], 1 / rate)
            alpha = spectra[:, (bins > 8) & (bins < 12)].sum(axis=1) / spectra.sum(axis=1)
            scores = [
                likeness(slow, eog[None]),
                likeness(fast[:, near], ecg[None, near]),
                alpha.max(),
            ]
            cells = " | ".join(f"{score:.2f}" for score in scores)
            status = model.result_.status
            print(f"| {name} | {len(model.powers_)} | {cells} | {status} |", flush=True)


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("recording", nargs="?", default=CARRIED, help="a file that MNE reads")
    arguments.add_argument("--seeds", type=int, default=5, help="how many mixings of each kind")
    chosen = arguments.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if Path(chosen.recording).exists():
            recording(chosen.recording)
        else:
            print(f"{chosen.recording} is not here: simulations only")
        simulations(chosen.seeds)
