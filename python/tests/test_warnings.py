"""Warnings about common mistakes, and errors that say what helps."""

import warnings

import numpy as np
import pytest

import codiag

pytest.importorskip("sklearn")
RATE = 200.0


@pytest.fixture(scope="module")
def X():
    """Six channels of 60 s that mix sources with changing powers."""
    rng = np.random.default_rng(0)
    amplitudes = np.repeat(np.exp(0.6 * rng.standard_normal((6, 60))), int(RATE), axis=1)
    return rng.standard_normal((6, 6)) @ (amplitudes * rng.standard_normal(amplitudes.shape))


@pytest.fixture
def raw(X):
    mne = pytest.importorskip("mne")
    mne.set_log_level("WARNING")
    montage = mne.channels.make_standard_montage("biosemi16")
    names = ["Fp1", "F4", "Cz", "P3", "O1", "O2"]
    info = mne.create_info([*names, "STI 014"], RATE, ["eeg"] * 6 + ["stim"])
    stim = np.zeros((1, X.shape[1]))
    return mne.io.RawArray(np.vstack([1e-6 * X, stim]), info).set_montage(montage)


def warnings_of(work):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        work()
    return " ".join(str(warning.message) for warning in caught)


def test_one_segment_or_one_class(X):
    assert "one segment" in warnings_of(lambda: codiag.SourceSeparation(n_segments=1).fit(X))
    epochs = X.reshape(6, 60, 200).transpose(1, 0, 2)
    labels = np.zeros(60)
    assert "one class" in warnings_of(lambda: codiag.SourceSeparation().fit(epochs, y=labels))
    for model in (codiag.SourceSeparation(), codiag.AMUSE(), codiag.JADE()):
        assert warnings_of(lambda model=model: model.fit(X)) == ""


def test_a_transposed_recording(X):
    for model in (codiag.SourceSeparation(4), codiag.SOBI(4), codiag.JADE(4)):
        with pytest.raises(ValueError, match=r"transposed\? X\.T"):
            model.fit(X.T)


def test_stimulus_channels(raw):
    with pytest.raises(ValueError, match=r"STI 014.*codes"):
        codiag.SourceSeparation().fit(raw, picks="all")
    assert codiag.SourceSeparation().fit(raw).n_features_in_ == 6


def test_drifts(X, raw):
    drift = np.cumsum(np.random.default_rng(1).standard_normal(X.shape), axis=1)
    drifting = X + 0.1 * drift
    message = warnings_of(lambda: codiag.SourceSeparation(sfreq=RATE).fit(drifting))
    assert "% of the variance" in message and "filter above 1 Hz" in message
    assert warnings_of(lambda: codiag.SourceSeparation(sfreq=RATE).fit(X)) == ""
    raw._data[:6] += 1e-7 * drift
    assert "drifts" in warnings_of(lambda: codiag.SourceSeparation().fit(raw))
    raw.filter(1.0, None)
    assert warnings_of(lambda: codiag.SourceSeparation().fit(raw)) == ""


def test_convergence_warning_gives_advice(X):
    message = warnings_of(lambda: codiag.SourceSeparation(n_segments=100, max_iter=1).fit(X))
    assert "max_iter" in message and 'shrinkage="auto"' in message
    assert "segment_length" in message
    # The advice concerns short segments of a recording with few sources.
    with pytest.raises(codiag.ConvergenceError, match="shrinkage"):
        codiag.SourceSeparation(max_iter=1, on_failure="raise").fit(X)


def test_errors_name_channels(raw):
    raw._data[4, 777] = np.nan
    with pytest.raises(ValueError, match="channel O1, sample 777 is NaN"):
        codiag.SourceSeparation().fit(raw)
    with pytest.raises(ValueError, match="channel 4, sample 777"):
        codiag.SourceSeparation().fit(raw.get_data(picks="eeg"))


def test_bad_segment_lengths(X):
    for wrong in (1.0, 0.25, [100]):
        with pytest.raises(TypeError, match=r'integer number of samples, or a time such as "0\.25s"'):
            codiag.SourceSeparation(segment_length=wrong, sfreq=RATE).fit(X)
    for wrong in ("1", "quick", "0.25"):
        with pytest.raises(ValueError, match=r"0\.25s"):
            codiag.SourceSeparation(segment_length=wrong, sfreq=RATE).fit(X)
    for components in (4, None):
        with pytest.raises(ValueError, match=r"segment 0 has 1 samples, but .* longer segments"):
            codiag.SourceSeparation(components, segment_length=1).fit(X)
    with pytest.raises(ValueError, match="sfreq"):
        codiag.SourceSeparation(segment_length="0.25s").fit(X)
    with pytest.raises(ValueError, match="one of them"):
        codiag.SourceSeparation(n_segments=10, segment_length=100).fit(X)


def test_paths_instead_of_recordings(tmp_path):
    for name in ("recording.fif", tmp_path / "recording.fif"):
        with pytest.raises(TypeError, match=r"read it first, as mne\.io\.read_raw"):
            codiag.SourceSeparation().fit(name)
    np.save(tmp_path / "array.npy", np.eye(3))
    with pytest.raises(ValueError, match="not a codiag result or model: it holds a single array"):
        codiag.load(tmp_path / "array.npy")


def test_evoked(raw):
    mne = pytest.importorskip("mne")
    model = codiag.SourceSeparation().fit(raw)
    epochs = mne.make_fixed_length_epochs(raw, 1.0, preload=True)
    evoked = epochs.average()
    with pytest.raises(TypeError, match=r"Evoked is an average.*Epochs"):
        codiag.SourceSeparation().fit(evoked)
    sources = model.transform(evoked)
    np.testing.assert_allclose(sources, model.transform(epochs).mean(axis=0), atol=1e-9)
    before = evoked.data.copy()
    cleaned = model.apply(evoked, exclude=[0])
    expected = model.apply(epochs, exclude=[0]).average().data
    np.testing.assert_allclose(cleaned.data, expected, atol=1e-15)
    np.testing.assert_array_equal(evoked.data, before)


def test_sources_are_excluded_by_number_or_name(X):
    model = codiag.SourceSeparation().fit(X)
    by_number = model.apply(X, exclude=[0, 2])
    for exclude in (["S00", "S02"], [0, "S02"], np.array([0, 2])):
        np.testing.assert_array_equal(model.apply(X, exclude=exclude), by_number)
    np.testing.assert_array_equal(model.apply(X, exclude="S03"), model.apply(X, exclude=[3]))
    with pytest.raises(ValueError, match="S00 to S05"):
        model.apply(X, exclude=["S06"])
    with pytest.raises(ValueError, match="from 0"):
        model.apply(X, exclude=[6])
    with pytest.raises(TypeError):
        model.apply(X, exclude=[0.5])


def test_plotting_patterns_of_an_array_requires_info(X):
    with pytest.raises(ValueError, match=r"fitted on an array.*info=raw\.info"):
        codiag.SourceSeparation().fit(X).plot_patterns()


def test_head_size_matches_mne(raw):
    """Heads are drawn for the sphere fitted to the digitized points, as in MNE's ICA plots."""
    mne, plt = pytest.importorskip("mne"), pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("agg")

    def head(figure):
        """Returns the width of the head and that of the map."""
        ax = figure.axes[0]
        return np.ptp(ax.lines[0].get_xdata()), np.ptp(ax.images[0].get_extent()[:2])

    model = codiag.SourceSeparation().fit(raw)
    types = {name: "mag" for name in model.info_["ch_names"]}
    helmet = raw.copy().set_channel_types(types, on_unit_change="ignore")
    rotated = mne.transforms.rotation(0.2, 0.1, 0.0)
    rotated[:3, 3] = [0.0, 0.01, 0.04]
    with helmet.info._unlock():
        helmet.info["dev_head_t"] = mne.transforms.Transform("meg", "head", rotated)
    for one in (model, codiag.SourceSeparation().fit(helmet)):
        ours = one.plot_patterns([0], show=False)
        theirs = one.to_mne().plot_components([0], show=False)
        assert head(ours) == pytest.approx(head(theirs), rel=0.05)
    own = model.plot_patterns([0], sphere=0.05, show=False).axes[0].lines[0].get_xdata()
    assert np.ptp(own) == pytest.approx(0.1, rel=0.01)
    plt.close("all")
