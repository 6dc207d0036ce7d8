"""Artifact scores of sources, from their waveforms and from reference channels."""

import numpy as np
import pytest

import codiag

pytest.importorskip("sklearn")
RATE, SECONDS = 250.0, 60
TIME = np.arange(int(RATE * SECONDS)) / RATE


def pulses(times, width):
    return np.exp(-(((TIME[:, None] - times) / width) ** 2)).sum(axis=1)


@pytest.fixture(scope="module")
def made():
    """Eight channels that mix an eye, a heart, line noise and two rhythms; and these sources."""
    rng = np.random.default_rng(5)
    eye = pulses(np.cumsum(rng.uniform(2, 5, 14)), 0.1)
    beats = np.cumsum(rng.normal(0.85, 0.03, 68))
    heart = pulses(beats, 0.015) - 0.3 * pulses(beats + 0.04, 0.02)
    hum = np.sin(2 * np.pi * 50 * TIME) * (1 + 0.5 * np.sin(0.8 * TIME))
    brain = rng.standard_normal((2, len(TIME))) * (1.5 + np.sin([0.7 * TIME, 0.3 * TIME]))
    brain = np.array([np.convolve(x, np.ones(12) / 12, "same") for x in brain])
    sources = np.vstack([eye, heart, hum, brain])
    sources = (sources - sources.mean(axis=1, keepdims=True)) / sources.std(axis=1, keepdims=True)
    X = rng.standard_normal((8, 5)) @ sources + 0.02 * rng.standard_normal((8, len(TIME)))
    return X, sources


@pytest.fixture(scope="module")
def model(made):
    return codiag.SourceSeparation(5, sfreq=RATE).fit(made[0])


def test_all_sources_are_scored_for_all_kinds(made, model):
    X, sources = made
    table = model.score_artifacts(X)
    assert table.columns == ["blink", "heartbeat", "line noise", "muscle"]
    assert table.scores.shape == (5, 4) and (0 <= table.scores).all() and (table.scores <= 1).all()
    assert table.thresholds.tolist() == [0.7, 0.3, 0.2, 0.6]
    assert all(all(reasons) for reasons in table.reasons)
    best = abs(np.corrcoef(model.transform(X), sources)[:5, 5:]).argmax(axis=0)
    for kind, source in zip(table.columns, best[:3]):
        assert table[kind].argmax() == source
    assert table.found == model.find_artifacts(X)
    assert {k: kinds[0].kind for k, kinds in table.found.items()} == dict(
        zip(best, ["blink", "heartbeat", "line noise"])
    )
    # 60 / 0.85 beats per minute.
    beats = table.reasons[best[1]][1]
    assert "sharp peaks 70 times" in beats or "sharp peaks 71 times" in beats, beats
    text = repr(table).splitlines()
    assert len(text) == 7 and text[1].startswith("threshold") and repr(table).count("*") >= 3
    assert sorted(table.to_dict()) == sorted(table.columns)
    with pytest.raises(KeyError, match="sneeze"):
        table["sneeze"]


def test_thresholds_are_options(made, model):
    X, _ = made
    none = model.find_artifacts(
        X, thresholds={"blink": 1.1, "heartbeat": 1.1, "line noise": 1.1, "muscle": 1.1}
    )
    assert none == {}
    assert len(model.find_artifacts(X, thresholds={"blink": 0.0})) == 5
    with pytest.raises(ValueError, match="sneeze"):
        model.find_artifacts(X, thresholds={"sneeze": 0.5})
    with pytest.raises(ValueError, match="number"):
        model.find_artifacts(X, thresholds={"blink": np.nan})


def test_weak_heartbeat_is_found_by_cross_trial_phase_statistics(made):
    """The heart is a small part of its source, as in MNE's cross-trial phase statistics."""
    _, sources = made
    rng = np.random.default_rng(1)
    ecg = sources[1] + 0.1 * rng.standard_normal(len(TIME))
    # The delayed and smeared heart, below rhythms.
    weak = np.convolve(sources[1], np.r_[np.zeros(10), np.ones(8), -np.ones(8)], "full")[
        : len(TIME)
    ]
    rhythms = rng.standard_normal((2, len(TIME))) * (1.2 + np.sin([0.5 * TIME, 0.21 * TIME]))
    mixed = np.vstack([0.25 * weak / weak.std() + rhythms[0], rhythms[1]])
    model = codiag.SourceSeparation(sfreq=RATE, n_segments=60).fit(mixed)
    assert "heartbeat" not in repr(model.find_artifacts(mixed))
    table = model.score_artifacts(mixed, references={"ECG": ("heartbeat", ecg)})
    assert table.columns[4:] == ["heartbeat: ECG", "heartbeat: ECG, phase"]
    with_heart = abs(np.corrcoef(model.transform(mixed), weak)[:2, 2]).argmax()
    assert table["heartbeat: ECG"].max() < 0.4
    phases = table["heartbeat: ECG, phase"]
    assert phases.argmax() == with_heart and phases[with_heart] > 0.2
    artifact = table.found[with_heart][0]
    assert (artifact.kind, artifact.reference, artifact.measure) == ("heartbeat", "ECG", "phase")
    # A reference whose beats are at other times does not match.
    other = np.roll(ecg[::-1], 97)
    shown = model.score_artifacts(mixed, references={"ECG": ("heartbeat", other)})
    assert shown["heartbeat: ECG, phase"].max() < 0.2 and "heartbeat" not in repr(shown.found)


def test_reference_channel_overrides_the_waveform(made, model):
    X, _ = made
    rng = np.random.default_rng(2)
    unrelated = rng.standard_normal(len(TIME))
    shown = model.score_artifacts(X, references={"EOG": ("blink", unrelated)})
    assert "blink" not in [kinds[0].kind for kinds in shown.found.values()]
    # A flat reference channel is ignored.
    flat = model.score_artifacts(X, references={"EOG": ("blink", np.zeros(len(TIME)))})
    assert flat.columns == ["blink", "heartbeat", "line noise", "muscle"]
    assert flat.found == model.find_artifacts(X)
    with pytest.raises(TypeError, match="samples"):
        model.score_artifacts(X, references={"Fp1": "blink"})


def test_heart_rate_is_neither_halved_nor_doubled():
    """A fetal rate of 132 beats per minute is not reported as 66, nor 67 as 134."""
    rng = np.random.default_rng(3)
    for rate in (132, 67):
        beats = np.cumsum(60 / rate * (1 + 0.04 * rng.standard_normal(200)))
        taller = pulses(beats[beats < SECONDS], 0.012) + 0.3 * pulses(beats[::2], 0.012)
        noise = 0.05 * rng.standard_normal((2, len(TIME)))
        X = np.array([[1, 0.3], [0.2, 1]]) @ np.vstack([taller, np.sin(TIME) * noise[0]]) + noise
        table = codiag.SourceSeparation(sfreq=RATE, n_segments=60).fit(X).score_artifacts(X)
        heart = table["heartbeat"].argmax()
        said = float(table.reasons[heart][1].split()[2])
        assert abs(said / rate - 1) < 0.05, table.reasons[heart][1]


def test_reference_channels_of_a_raw_are_named(made):
    mne = pytest.importorskip("mne")
    mne.set_log_level("WARNING")
    X, sources = made
    info = mne.create_info(["Fp1", *map(str, range(7)), "pulse"], RATE, ["eeg"] * 8 + ["misc"])
    X = X.copy()
    X[0] += 20 * sources[0]
    raw = mne.io.RawArray(np.vstack([X, sources[1]]), info)
    model = codiag.SourceSeparation(5).fit(raw, picks="eeg")
    table = model.score_artifacts(raw, references={"Fp1": "blink", "pulse": "heartbeat"})
    assert table.columns[4:] == ["blink: Fp1", "heartbeat: pulse", "heartbeat: pulse, phase"]
    kinds = {kinds[0].kind: kinds[0].reference for kinds in table.found.values()}
    assert kinds == {"blink": "Fp1", "heartbeat": "pulse", "line noise": None}
    with pytest.raises(ValueError, match="Fp2"):
        model.score_artifacts(raw, references={"Fp2": "blink"})
