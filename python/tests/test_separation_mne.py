"""SourceSeparation on MNE's Raw and Epochs."""

import numpy as np
import pytest

import codiag

pytest.importorskip("sklearn")
mne = pytest.importorskip("mne")
mne.set_log_level("WARNING")

RATE = 200.0


@pytest.fixture
def raw():
    """16 EEG channels that mix ten sources, one of them blinks; an EOG and a stimulus channel."""
    rng = np.random.default_rng(0)
    montage = mne.channels.make_standard_montage("biosemi16")
    names = [*montage.ch_names, "EOG", "STI"]
    time = np.arange(int(60 * RATE)) / RATE
    amplitudes = np.exp(0.6 * rng.standard_normal((10, 60)))
    sources = np.repeat(amplitudes, int(RATE), axis=1) * rng.standard_normal((10, len(time)))
    blinks = np.arange(2, 60, 3.3)
    sources[0] = 8 * np.exp(-(((time[:, None] - blinks) / 0.1) ** 2)).sum(axis=1)
    mixing = rng.standard_normal((16, 10))
    data = 1e-6 * (mixing @ sources + 0.05 * rng.standard_normal((16, len(time))))
    eog = 1e-5 * (sources[0] + 0.2 * rng.standard_normal(len(time)))
    stim = np.zeros(len(time))
    stim[100::400] = 1
    info = mne.create_info(names, RATE, ["eeg"] * 16 + ["eog", "stim"])
    raw = mne.io.RawArray(np.vstack([data, eog, stim]), info, first_samp=37)
    raw.set_montage(montage)
    raw.blinks = data - 1e-6 * np.outer(mixing[:, 0], sources[0])  # the truth
    return raw


def blink_of(model, raw):
    found = model.find_artifacts(raw)
    return next(k for k, kinds in found.items() if kinds[0].kind == "blink"), found


def test_fit_uses_good_data_channels(raw):
    raw.info["bads"] = ["T7"]
    model = codiag.SourceSeparation(10).fit(raw)
    assert model.info_["ch_names"] == [n for n in raw.ch_names if n not in ("T7", "EOG", "STI")]
    array = raw.copy().pick("eeg", exclude="bads").get_data()
    same = codiag.SourceSeparation(10, sfreq=RATE).fit(array)
    np.testing.assert_allclose(model.filters_, same.filters_, rtol=1e-6)
    few = codiag.SourceSeparation().fit(raw, picks=["Fp1", "Cz", "O1"])
    assert few.info_["ch_names"] == ["Fp1", "Cz", "O1"] and few.filters_.shape == (3, 3)
    raw.info["bads"] = raw.ch_names
    with pytest.raises(ValueError, match="all channels are marked as bad"):
        codiag.SourceSeparation().fit(raw)


def test_annotated_bad_spans_are_excluded(raw):
    clean = codiag.SourceSeparation(10, n_segments=50).fit(raw)
    corrupted = raw.copy()
    corrupted._data[:16, 3000:4000] += 1e-3 * np.random.default_rng(1).standard_normal(1000)
    start = (3000 + raw.first_samp) / RATE
    affected = codiag.SourceSeparation(10, n_segments=50).fit(corrupted)
    assert abs(clean.filters_ - affected.filters_).max()
    corrupted.set_annotations(
        mne.Annotations([3000 / RATE, 1.0], [1000 / RATE, 2.0], ["BAD_moved", "good"])
    )
    model = codiag.SourceSeparation(10, n_segments=50).fit(corrupted)
    inside = [span for piece in model.segments_ for span in piece]
    assert all(stop <= 3000 or 4000 <= begin for begin, stop in inside)
    assert sum(stop - begin for begin, stop in inside) == 11_000
    data = raw.get_data(picks="eeg")
    same = codiag.SourceSeparation(10, n_segments=50).fit(np.delete(data, np.s_[3000:4000], axis=1))
    np.testing.assert_allclose(model.filters_, same.filters_, rtol=1e-5)
    assert start > 0 and blink_of(model, corrupted)


def test_artifacts_are_found_and_removed(raw):
    model = codiag.SourceSeparation(10, n_segments=60).fit(raw)
    blink, found = blink_of(model, raw)
    assert "EOG" in found[blink][0].reason and found[blink][0].score > 0.9
    before = raw.get_data()
    cleaned = model.apply(raw, exclude=[blink])
    np.testing.assert_array_equal(raw.get_data(), before)
    after = cleaned.get_data()
    np.testing.assert_array_equal(after[16:], before[16:])
    error = (after[:16] - raw.blinks).std(axis=1) / raw.blinks.std(axis=1)
    assert error.max() < 0.05
    assert cleaned.first_samp == raw.first_samp and cleaned.info["nchan"] == 18
    # `apply` keeps the part outside of the ten components.
    everything = model.apply(raw, range(10)).get_data()[:16]
    np.testing.assert_allclose(model.transform(raw), model.filters_ @ before[:16], rtol=1e-9)
    rest = before[:16] - model.mixing_ @ (model.filters_ @ before[:16])
    np.testing.assert_allclose(everything, rest, atol=1e-12)


@pytest.mark.parametrize("projection", [False, True])
def test_average_reference_reduces_the_rank(raw, projection):
    raw.set_eeg_reference("average", projection=projection)
    assert codiag.SourceSeparation(n_segments=20).fit(raw).filters_.shape == (
        16 - (not projection),
        16,
    )
    raw.apply_proj()
    model = codiag.SourceSeparation(n_segments=20).fit(raw)
    assert model.filters_.shape == (15, 16) and model.result_.converged
    cleaned = model.apply(raw, [0]).get_data(picks="eeg")
    np.testing.assert_allclose(cleaned.mean(axis=0), 0, atol=1e-15)


def test_units_of_channel_types(raw):
    """Channels in teslas and in volts count equally."""
    both = raw.copy().pick("eeg")
    both._data[8:] *= 1e-7
    types = dict.fromkeys(both.ch_names[8:], "mag")
    both.set_channel_types(types, on_unit_change="ignore")
    model = codiag.SourceSeparation(8, n_segments=60).fit(both)
    kinds = ["eeg"] * 8 + ["mag"] * 8
    plain = codiag.SourceSeparation(8, n_segments=60, scale=kinds).fit(raw.get_data(picks="eeg"))
    units = np.repeat([1.0, 1e-7], 8)
    # Signs may differ: they follow the largest entry of each pattern, which depends on units.
    np.testing.assert_allclose(abs(model.filters_ * units), abs(plain.filters_), rtol=1e-4, atol=1)
    np.testing.assert_allclose(
        model.explained_variance_ratio_, plain.explained_variance_ratio_, rtol=1e-5
    )


def test_sources_as_raw(raw):
    raw.set_meas_date(1_700_000_000)
    raw.set_annotations(mne.Annotations([3.0], [1.0], ["note"]))
    model = codiag.SourceSeparation(10).fit(raw)
    sources = model.get_sources(raw)
    assert sources.ch_names[:2] == ["S00", "S01"] and len(sources.ch_names) == 10
    assert set(sources.get_channel_types()) == {"misc"} and sources.first_samp == raw.first_samp
    assert sources.info["meas_date"] == raw.info["meas_date"]
    np.testing.assert_array_equal(sources.annotations.onset, raw.annotations.onset)
    np.testing.assert_array_equal(sources.get_data(), model.transform(raw))
    with pytest.raises(TypeError, match="transform"):
        model.get_sources(raw.get_data(picks="eeg"))


def test_epochs(raw):
    events = mne.find_events(raw, stim_channel="STI")
    epochs = mne.Epochs(raw, events, tmin=-0.2, tmax=1.2, baseline=None, preload=True)
    model = codiag.SourceSeparation(10).fit(epochs)
    data = epochs.get_data(picks="eeg")
    np.testing.assert_allclose(
        model.filters_, codiag.SourceSeparation(10).fit(data).filters_, rtol=1e-6
    )
    sources = model.get_sources(epochs)
    np.testing.assert_array_equal(sources.get_data(), model.transform(epochs))
    np.testing.assert_array_equal(sources.events, epochs.events)
    np.testing.assert_allclose(sources.times, epochs.times)
    blink, _ = blink_of(model, raw)
    cleaned = model.apply(epochs, [blink])
    np.testing.assert_allclose(cleaned.get_data(picks="eeg"), model.apply(data, [blink]))
    np.testing.assert_array_equal(cleaned.get_data("eog"), epochs.get_data("eog"))
    by_class = codiag.SourceSeparation(4).fit(epochs, y=np.arange(len(epochs)) % 3)
    assert by_class.powers_.shape == (3, 4)


def test_another_recording(raw):
    model = codiag.SourceSeparation(10).fit(raw)
    shuffled = raw.copy().reorder_channels(raw.ch_names[::-1])
    np.testing.assert_array_equal(model.transform(shuffled), model.transform(raw))
    with pytest.raises(ValueError, match="Cz"):
        model.transform(raw.copy().drop_channels(["Cz"]))
    on_array = codiag.SourceSeparation(10).fit(raw.get_data(picks="eeg"))
    with pytest.raises(ValueError, match="names"):
        on_array.transform(raw)


def test_patterns_are_plotted(raw):
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("agg")
    model = codiag.SourceSeparation(10).fit(raw)
    fig = model.plot_patterns([3, 0], show=False)
    assert [ax.get_title() for ax in fig.axes] == ["S03", "S00"]
    assert all(ax.images or ax.collections for ax in fig.axes)
    assert len(model.plot_patterns(show=False, columns=4).axes) == 12
    on_array = codiag.SourceSeparation(10).fit(raw.get_data(picks="eeg"))
    with pytest.raises(ValueError, match="info"):
        on_array.plot_patterns()
    on_array.plot_patterns(info=model.info_, show=False)
    with pytest.raises(ValueError, match="18 channels"):
        on_array.plot_patterns(info=raw.info)
    with pytest.raises(ValueError, match="grad"):
        model.plot_patterns(ch_type="grad")
    plt.close("all")
