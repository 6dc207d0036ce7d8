"""Segment lengths: in time, by default, and combined with frequency bands."""

import numpy as np
import pytest

import codiag

pytest.importorskip("sklearn")
RATE = 250.0


def mixed(sources, seed=0):
    rng = np.random.default_rng(seed)
    mixing = rng.standard_normal((len(sources), len(sources)))
    return mixing @ sources, mixing


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(0)
    amplitudes = np.repeat(np.exp(0.6 * rng.standard_normal((5, 60))), int(RATE), axis=1)
    return mixed(amplitudes * rng.standard_normal(amplitudes.shape))[0]


def test_lengths_in_seconds(X):
    for text, samples in (("0.5s", 125), ("500ms", 125), ("2 s", 500)):
        by_time = codiag.segment_covariances(X, segment_length=text, sfreq=RATE)
        np.testing.assert_array_equal(
            by_time, codiag.segment_covariances(X, segment_length=samples)
        )
    model = codiag.SourceSeparation(segment_length="0.5s", sfreq=RATE).fit(X)
    assert model.segments_[1] == [(125, 250)] and len(model.powers_) == 120
    sobi = codiag.SOBI(lags=10, segment_length="10s", sfreq=RATE).fit(X)
    assert len(sobi.autocorrelations_) == 60


def test_default_length_depends_on_sfreq_and_components(X):
    def length(model, data=X):
        spans = model.fit(data).segments_
        assert spans[0][0][0] == 0 and spans[-1][-1][1] == data.shape[1]
        return spans[0][0][1]

    assert length(codiag.SourceSeparation(sfreq=RATE)) == 63  # a quarter of a second
    assert length(codiag.SourceSeparation(sfreq=20.0)) == 10  # two samples per component
    assert length(codiag.SourceSeparation(3, sfreq=20.0)) == 6
    assert length(codiag.SourceSeparation()) == 50  # ten samples per component, as sfreq is unknown
    # The number of components counts, not the number of channels.
    rng = np.random.default_rng(1)
    many = rng.standard_normal((40, 5)) @ X
    assert length(codiag.SourceSeparation(sfreq=RATE), many) == 63
    assert length(codiag.SourceSeparation(0.999, sfreq=RATE), many) == 63
    # A recording of twice the length has twice as many segments.
    twice = np.concatenate([X, X], axis=1)
    assert length(codiag.SourceSeparation(sfreq=RATE), twice) == 63


def test_default_length_separates_the_heart_in_a_long_recording():
    """Much better than 100 segments of six seconds each."""
    rng = np.random.default_rng(3)
    time = np.arange(int(600 * RATE)) / RATE
    beats = np.cumsum(rng.normal(0.9, 0.04, 660))
    heart = np.zeros(len(time))
    for beat in beats[beats < 599]:
        at = np.arange(int(beat * RATE), int(beat * RATE) + 10)
        heart[at] += [0, -1, 4, 10, 4, -3, -1, 0, 0, 0]
    levels = np.exp(0.2 * rng.standard_normal((4, 600)))
    rest = np.repeat(levels, int(RATE), axis=1) * rng.standard_normal((4, len(time)))
    heart = heart / heart.std() + 0.1 * rng.standard_normal(len(time))
    data, _ = mixed(np.vstack([heart, rest]))

    def correlation(model):
        return abs(np.corrcoef(heart, model.fit(data).transform(data))[0, 1:]).max()

    found = correlation(codiag.SourceSeparation(sfreq=RATE))
    assert found > 0.98
    # The remaining power of the other sources is at most a hundredth.
    assert 1 - found < 0.01 * (1 - correlation(codiag.SourceSeparation(n_segments=100)))


def test_intermittent_sources_get_longer_segments():
    rng = np.random.default_rng(6)
    sources = rng.standard_normal((3, int(60 * RATE)))
    sources *= np.repeat(np.exp(0.5 * rng.standard_normal((3, 60))), int(RATE), axis=1)
    sources[0] *= np.repeat(np.arange(60) % 2, int(RATE))  # every other second
    data, _ = mixed(sources)
    model = codiag.SourceSeparation(sfreq=RATE).fit(data)
    assert 20 <= len(model.segments_) < 60
    with pytest.raises(ValueError, match="positive definite"):
        codiag.SourceSeparation(segment_length="0.25s", sfreq=RATE).fit(data)


def test_time_and_frequency_in_one_set():
    """One pair of sources differs in frequency only, another in time only; both need both."""
    rng = np.random.default_rng(2)
    samples = int(240 * RATE)

    def colored(frequency):
        bins = np.fft.rfftfreq(samples, 1 / RATE)
        shape = np.exp(-(((bins - frequency) / 4) ** 2)) + 0.05
        return np.fft.irfft(shape * np.fft.rfft(rng.standard_normal(samples)), n=samples)

    levels = np.repeat(np.exp(0.7 * rng.standard_normal((2, 24))), samples // 24, axis=1)
    sources = np.array([colored(10), colored(25), *(level * colored(40) for level in levels)])
    sources /= sources.std(axis=1, keepdims=True)
    data, mixing = mixed(sources, seed=4)
    bands = [(1, 16), (16, 32), (32, 48), (48, 64)]
    choices = {
        "time": {"segment_length": "10s"},
        "frequency": {"bands": bands},
        "both": {"bands": bands, "segment_length": "10s"},
    }
    distance = {}
    for name, choice in choices.items():
        model = codiag.SourceSeparation(sfreq=RATE, **choice).fit(data)
        distance[name] = codiag.amari_distance(model.filters_, mixing)
    assert len(model.powers_) == 24 * 4 and len(model.segments_) == 24
    assert distance["both"] < 0.03
    assert 2 * distance["both"] < min(distance["time"], distance["frequency"])


def test_cospectra_of_segments_match_single_calls(X):
    bands = [(1, 10), (10, 40)]
    both = codiag.cospectra(X, bands, RATE, segment_length="5s")
    parts = X.reshape(5, 12, -1).transpose(1, 0, 2)
    alone = np.concatenate([codiag.cospectra(part, bands, RATE) for part in parts])
    np.testing.assert_allclose(both, alone, rtol=1e-10, atol=1e-12)
    counted = codiag.cospectra(X, bands, RATE, n_segments=12, shrinkage="auto")
    shrunk = np.concatenate([codiag.cospectra(p, bands, RATE, shrinkage="auto") for p in parts])
    np.testing.assert_allclose(counted, shrunk, rtol=1e-10, atol=1e-12)
    # Epochs, or classes of epochs, count as segments.
    epochs = codiag.SourceSeparation(bands=bands, sfreq=RATE, n_segments=1, shrinkage="auto")
    assert len(epochs.fit(parts).powers_) == 24
    assert len(epochs.fit(parts, y=np.arange(12) % 3).powers_) == 6
    together = codiag.SourceSeparation(bands=bands, sfreq=RATE).fit(parts)
    assert len(together.powers_) == 2
    with pytest.raises(ValueError, match="segment"):
        codiag.cospectra(X, bands, RATE, segment_length="0.5s")
    with pytest.raises(ValueError, match="Fourier coefficients"):
        codiag.cospectra(X, [(1, 2)], RATE, segment_length="2s")
