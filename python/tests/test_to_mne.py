"""Conversion of a separation to mne.preprocessing.ICA."""

import numpy as np
import pytest

import codiag

pytest.importorskip("sklearn")
mne = pytest.importorskip("mne")
mne.set_log_level("WARNING")

RATE = 200.0


def make_raw(types=("eeg",) * 16, seconds=40):
    """Ten sources, the first with blinks, mixed to channels of these types, and an EOG channel."""
    rng = np.random.default_rng(0)
    montage = mne.channels.make_standard_montage("biosemi16")
    names = [*montage.ch_names[: len(types)], "EOG"]
    time = np.arange(int(seconds * RATE)) / RATE
    amplitudes = np.exp(0.6 * rng.standard_normal((10, seconds)))
    sources = np.repeat(amplitudes, int(RATE), axis=1) * rng.standard_normal((10, len(time)))
    blinks = np.arange(2, seconds, 3.3)
    sources[0] = 8 * np.exp(-(((time[:, None] - blinks) / 0.1) ** 2)).sum(axis=1)
    units = np.array([{"eeg": 1e-6, "mag": 1e-13, "grad": 1e-11}[kind] for kind in types])
    mixing = rng.standard_normal((len(types), 10))
    noise = 0.05 * rng.standard_normal((len(types), len(time)))
    data = units[:, None] * (mixing @ sources + noise)
    eog = 1e-5 * (sources[0] + 0.2 * rng.standard_normal(len(time)))
    info = mne.create_info(names, RATE, [*types, "eog"])
    raw = mne.io.RawArray(np.vstack([data, eog]), info)
    if set(types) == {"eeg"}:
        raw.set_montage(montage)
    return raw


def models():
    return [
        codiag.SourceSeparation(8, n_segments=40),
        codiag.SourceSeparation(8, bands=10),
        codiag.SOBI(8, lags=20),
        codiag.AMUSE(8),
        codiag.JADE(8),
    ]


def assert_same(ica, model, inst):
    ours, theirs = model.transform(inst), ica.get_sources(inst).get_data()
    scale = ours.std(axis=-1, keepdims=True)
    np.testing.assert_allclose(theirs / scale, ours / scale, atol=1e-10)
    clean = ica.apply(inst.copy(), exclude=[0, 3])
    expected = model.apply(inst, exclude={0, 3, *ica.exclude})  # MNE unites both sets
    names = model.info_["ch_names"]
    difference = clean.get_data(names) - expected.get_data(names)
    assert np.abs(difference).max() < 1e-10 * np.abs(expected.get_data(names)).max()


@pytest.mark.parametrize("model", models(), ids=lambda model: type(model).__name__)
def test_same_sources_and_removal(model):
    raw = make_raw()
    model.fit(raw)
    ica = model.to_mne()
    assert_same(ica, model, raw)
    patterns = ica.get_components() * ica.pre_whitener_
    np.testing.assert_allclose(patterns, model.mixing_, atol=1e-10 * abs(model.mixing_).max())
    assert ica.current_fit == "raw" and ica.n_samples_ == raw.n_times and ica.n_components_ == 8


def test_epochs():
    raw = make_raw()
    epochs = mne.make_fixed_length_epochs(raw, 1.0, preload=True)
    model = codiag.SourceSeparation(8).fit(epochs)
    ica = model.to_mne()
    assert ica.current_fit == "epochs"
    assert_same(ica, model, epochs)
    assert_same(ica, model, raw)


def test_several_types_of_channels():
    raw = make_raw(("eeg",) * 6 + ("mag",) * 5 + ("grad",) * 5)
    for model in (codiag.SourceSeparation(8), codiag.SOBI(8, lags=10), codiag.SourceSeparation()):
        model.fit(raw)
        assert_same(model.to_mne(), model, raw)
    rms = codiag.SourceSeparation(8, scale="rms").fit(raw)
    assert_same(rms.to_mne(), rms, raw)


def test_projections_and_references():
    raw = make_raw()
    average = raw.copy().set_eeg_reference("average", projection=True)
    model = codiag.SourceSeparation().fit(average.copy().apply_proj())
    assert len(model.filters_) == 15
    assert_same(model.to_mne(), model, average.copy().apply_proj())
    # Fitted on some of the channels after a projection of all channels.
    few = codiag.SourceSeparation(6).fit(average.copy().apply_proj(), picks=raw.ch_names[:9])
    assert_same(few.to_mne(), few, average.copy().apply_proj())


def test_ica_file(tmp_path):
    raw = make_raw()
    model = codiag.SourceSeparation(8, n_segments=40).fit(raw)
    ica = model.to_mne(exclude=[2])
    path = tmp_path / "blink-ica.fif"
    ica.save(path)
    again = mne.preprocessing.read_ica(path)
    assert again.exclude == [2] and again.ch_names == ica.ch_names
    assert again.method == "codiag SourceSeparation"
    assert_same(again, model, raw)
    cleaned = again.apply(raw.copy())
    expected = model.apply(raw, exclude=[2])
    np.testing.assert_allclose(cleaned.get_data("eeg"), expected.get_data("eeg"), atol=1e-15)
    one = codiag.SourceSeparation(1).fit(raw)
    one.to_mne().save(path, overwrite=True)
    assert mne.preprocessing.read_ica(path).n_components_ == 1


def test_mne_finds_the_blink():
    raw = make_raw()
    model = codiag.SourceSeparation(10, n_segments=40).fit(raw)
    found, scores = model.to_mne().find_bads_eog(
        raw, ch_name="EOG", measure="correlation", threshold=0.5
    )
    expected = np.abs(np.corrcoef(model.transform(raw), raw.get_data("eog"))[-1, :-1]).argmax()
    assert found == [expected] and len(scores) == 10


def test_plots():
    pytest.importorskip("matplotlib").use("Agg")
    raw = make_raw()
    model = codiag.SourceSeparation(5, n_segments=40, n_resamples=5).fit(raw)
    ica = model.to_mne()
    assert ica.plot_components(show=False)
    assert ica.plot_overlay(raw, exclude=[0], show=False)
    assert ica.plot_properties(raw, picks=[0], show=False, verbose="error")
    titles = [ax.get_title() for ax in model.plot_patterns(show=False).axes]
    assert titles[0].startswith(f"S00 ({model.stability_[0]:.2f}")


def test_arrays_need_an_info():
    raw = make_raw()
    model = codiag.SourceSeparation(8).fit(raw.get_data("eeg"))
    with pytest.raises(ValueError, match=r"info=raw\.info.*16 channels"):
        model.to_mne()
    ica = model.to_mne(raw.copy().pick("eeg").info)
    np.testing.assert_allclose(
        ica.get_sources(raw).get_data(), model.transform(raw.get_data("eeg"))
    )


def test_meg_recording(shared, tmp_path):
    path = shared / "meg_sample_24s_raw.fif"
    if not path.exists():
        pytest.skip(f"{path.name} is not available")
    raw = mne.io.read_raw_fif(path, preload=True)
    picks = [name for name in raw.ch_names if name.startswith("MEG")]
    raw.filter(1, None, picks=picks, verbose="error")
    model = codiag.SourceSeparation(40).fit(raw, picks="mag")
    ica = model.to_mne()
    assert_same(ica, model, raw)
    ica.save(tmp_path / "meg-ica.fif")
    assert_same(mne.preprocessing.read_ica(tmp_path / "meg-ica.fif"), model, raw)
    found, scores = ica.find_bads_eog(raw, measure="correlation", threshold=0.5)
    assert len(found) >= 1 and np.abs(scores).max() > 0.5
