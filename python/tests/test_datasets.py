"""The recording that the package carries."""

import numpy as np
import pytest

import codiag

mne = pytest.importorskip("mne")


def test_recording_has_its_channels_events_and_no_subject():
    raw = codiag.datasets.recording()
    types = raw.get_channel_types()
    assert (types.count("mag"), types.count("eeg"), types.count("eog")) == (102, 60, 1)
    assert abs(raw.times[-1] - 24) < 0.1
    events = mne.find_events(raw, shortest_event=1, verbose="error")
    assert {1, 2, 3, 4} <= set(events[:, 2])
    assert raw.info["subject_info"] is None or "his_id" not in raw.info["subject_info"]


@pytest.mark.parametrize("picks", ["eeg", "mag"])
def test_usual_filter_leaves_a_recording_whose_blinks_and_beats_are_found(picks):
    raw = codiag.datasets.recording().filter(1, 40, picks="all", verbose="error")
    model = codiag.SourceSeparation(n_components=20).fit(raw, picks=picks)
    assert model.result_.converged
    kinds = {found[0].kind for found in model.find_artifacts(raw).values()}
    assert {"blink", "heartbeat"} <= kinds
    eog = raw.get_data(picks="eog")[0]
    correlation = [abs(np.corrcoef(source, eog)[0, 1]) for source in model.transform(raw)]
    assert max(correlation) > 0.8
