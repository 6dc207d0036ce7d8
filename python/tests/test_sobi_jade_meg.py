"""SOBI, AMUSE and JADE separate blinks and heartbeats of an MEG recording."""

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


@pytest.mark.parametrize("model", [codiag.SOBI(40), codiag.JADE(40), codiag.AMUSE(40)])
def test_blink_and_heartbeat(raw, model):
    model.fit(raw, picks="mag")
    assert model.result_.converged and model.filters_.shape == (40, 102)
    found = model.find_artifacts(raw)

    def best(kind):
        scores = {k: kinds[0].score for k, kinds in found.items() if kinds[0].kind == kind}
        return max(scores, key=scores.get)

    blink, heart = best("blink"), best("heartbeat")
    assert "EOG 061" in found[blink][0].reason

    # The topography of blinks: the product of the channels with the EOG during blinks.
    data, eog = raw.get_data(model.info_["ch_names"]), raw.get_data("EOG 061")[0]
    eog = eog - np.median(eog)
    wide = abs(eog) > 0.5 * abs(eog).max()
    topography = data[:, wide] @ eog[wide]
    assert abs(np.corrcoef(topography, model.patterns_[blink])[0, 1]) > 0.9

    # The heart source is strong at the beats that MNE detects without an ECG channel.
    beats = mne.preprocessing.find_ecg_events(raw)[0][:, 0] - raw.first_samp
    source = model.transform(raw)[heart]
    around = np.mean([abs(source[beats + k]) for k in range(-30, 31)], axis=1)
    assert around.max() > 2.5 * abs(source).mean()

    # Removing both sources reduces the product of the channels with the EOG.
    cleaned = model.apply(raw, [blink, heart]).get_data(model.info_["ch_names"])
    followed = [abs(x[:, wide] @ eog[wide]).max() for x in (data, cleaned)]
    assert followed[1] < 0.5 * followed[0]


def test_projections_reduce_the_rank(raw):
    projected = raw.copy().apply_proj()
    for model in (codiag.SOBI(lags=20), codiag.AMUSE()):
        model.fit(projected, picks="mag")
        assert model.filters_.shape == (99, 102)


def test_bad_spans_and_sources_as_raw(raw):
    marked = raw.copy()
    marked.set_annotations(mne.Annotations([2.0], [1.0], ["BAD_move"]))
    model = codiag.SOBI(10, lags=20).fit(marked, picks="mag")
    assert len(model.segments_[0]) == 2
    sources = model.get_sources(marked)
    assert sources.ch_names[0] == "S00" and len(sources.ch_names) == 10
