"""SourceSeparation of an MEG recording with an EOG channel and no ECG channel."""

import numpy as np
import pytest

import codiag

pytest.importorskip("sklearn")
mne = pytest.importorskip("mne")
mne.set_log_level("WARNING")


@pytest.fixture(scope="module")
def raw(shared):
    path = shared / "meg_sample_24s_raw.fif"
    if not path.exists():
        pytest.skip(f"{path.name} is not available")
    raw = mne.io.read_raw_fif(path, preload=True)
    raw.info["bads"] = ["MEG 2443"]
    return raw.filter(1.0, None)


def of_kind(found, kind):
    return next(k for k, kinds in found.items() if kinds[0].kind == kind)


@pytest.mark.parametrize("picks", ["mag", "grad"])
def test_blink_and_heartbeat(raw, picks):
    model = codiag.SourceSeparation(40, n_segments=100).fit(raw, picks=picks)
    assert model.result_.converged and "MEG 2443" not in model.info_["ch_names"]
    found = model.find_artifacts(raw)
    data = raw.get_data(model.info_["ch_names"])
    blink, heart = of_kind(found, "blink"), of_kind(found, "heartbeat")
    assert found[blink][0].score > 0.75 and "EOG 061" in found[blink][0].reason

    # The topography of blinks: the product of the channels with the EOG during blinks.
    eog = raw.get_data("EOG 061")[0]
    eog = eog - np.median(eog)
    wide = abs(eog) > 0.5 * abs(eog).max()
    assert wide.any()
    topography = data[:, wide] @ eog[wide]
    assert abs(np.corrcoef(topography, model.patterns_[blink])[0, 1]) > 0.95

    # The topography of the heart: the mean at the beats that MNE detects without an ECG channel.
    beats = mne.preprocessing.find_ecg_events(raw)[0][:, 0] - raw.first_samp
    assert 18 <= len(beats) <= 30
    sources = model.transform(raw)
    around = range(-30, 31)
    mean_source = np.mean([sources[heart, beats + k] for k in around], axis=1)
    peak = around[int(abs(mean_source).argmax())]
    topography = data[:, beats + peak].mean(axis=1)
    assert abs(np.corrcoef(topography, model.patterns_[heart])[0, 1]) > 0.9

    # Removing both sources reduces the product with the EOG, and the mean beat.
    cleaned = model.apply(raw, [blink, heart]).get_data(model.info_["ch_names"])
    followed = [abs(x[:, wide] @ eog[wide]).max() for x in (data, cleaned)]
    assert followed[1] < 0.35 * followed[0]
    beating = [np.linalg.norm(x[:, beats + peak].mean(axis=1)) for x in (data, cleaned)]
    assert beating[1] < 0.5 * beating[0]


def test_all_sensors_together(raw):
    """Magnetometers, gradiometers and EEG channels, in three units, are separated together."""
    model = codiag.SourceSeparation(40, n_segments=100).fit(raw)
    assert model.n_features_in_ == 365 and model.explained_variance_ratio_total_ > 0.6
    found = model.find_artifacts(raw)
    assert found[of_kind(found, "blink")][0].score > 0.9
    assert of_kind(found, "heartbeat") < 5


def test_projections_reduce_the_rank(raw):
    short = codiag.SourceSeparation(n_segments=20).fit(raw, picks="mag")
    assert short.filters_.shape == (102, 102)
    projected = raw.copy().apply_proj()
    model = codiag.SourceSeparation(n_segments=20).fit(projected, picks="mag")
    assert model.filters_.shape == (99, 102) and model.result_.converged
    with pytest.raises(ValueError, match=r"144 samples|samples"):
        codiag.SourceSeparation(n_segments=100).fit(raw)
