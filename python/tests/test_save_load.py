"""Fitted estimators are saved and loaded."""

import json

import numpy as np
import pytest

import codiag

pytest.importorskip("sklearn")


@pytest.fixture(scope="module")
def recording():
    rng = np.random.default_rng(0)
    powers = np.repeat(rng.uniform(0.1, 3, (5, 100)), 100, axis=1)
    return rng.standard_normal((5, 5)) @ (powers * rng.standard_normal((5, 10_000)))


def round_trip(model, folder):
    path = folder / "model.npz"
    model.save(path)
    again = codiag.load(path)
    assert type(again) is type(model)
    return again


def same(one, other):
    if isinstance(one, np.ndarray):
        np.testing.assert_array_equal(one, other)
        assert one.dtype == other.dtype
    elif isinstance(one, (list, tuple)):
        assert type(one) is type(other) and len(one) == len(other)
        for x, y in zip(one, other):
            same(x, y)
    else:
        assert type(one) is type(other) and one == other


SEPARATIONS = [
    codiag.SourceSeparation(3, n_segments=50, n_resamples=3, scale=[1.0, 2.0, 1.0, 1.0, 3.0]),
    codiag.SourceSeparation(bands=[(1, 10), (10, 30), (30, 49)], sfreq=100.0),
    codiag.SOBI(4, lags=range(1, 20, 2), n_restarts=1),
    codiag.SOBI(4, lags=np.array([1, 2, 3])),
    codiag.AMUSE(),
    codiag.JADE(3, init=np.eye(3, 5)),
]


@pytest.mark.parametrize("model", SEPARATIONS, ids=lambda model: type(model).__name__)
def test_separations(model, recording, tmp_path):
    model.fit(recording)
    again = round_trip(model, tmp_path)
    found = [name for name in vars(model) if name.endswith("_") and name != "result_"]
    assert {name for name in vars(again) if name.endswith("_")} == {*found, "result_"}
    for name in found:
        same(getattr(model, name), getattr(again, name))
    np.testing.assert_array_equal(model.transform(recording), again.transform(recording))
    np.testing.assert_array_equal(
        model.apply(recording, exclude=[1]), again.apply(recording, exclude=[1])
    )
    assert again.result_.history.keys() == model.result_.history.keys()
    assert again.result_.status == model.result_.status
    assert again.get_params().keys() == model.get_params().keys()
    again.fit(recording)
    np.testing.assert_allclose(again.filters_, model.filters_, rtol=1e-6, atol=1e-9)
    with pytest.raises(ValueError, match="3 channels, but"):
        again.transform(recording[:3])


def test_loaded_joint_diagonalizer_continues(noisy, tmp_path):
    model = codiag.JointDiagonalizer(window=20).fit(noisy)
    again = round_trip(model, tmp_path)
    np.testing.assert_array_equal(again.transform(noisy), model.transform(noisy))
    np.testing.assert_array_equal(
        again.partial_fit(noisy[:5]).filters_, model.partial_fit(noisy[:5]).filters_
    )


@pytest.mark.parametrize("kind", [str, int, object])
def test_csp(epochs, kind, tmp_path):
    X, labels = epochs
    y = np.array([f"class {k}" for k in labels], dtype=object if kind is object else None)
    model = codiag.CSP(3).fit(X, labels if kind is int else y)
    again = round_trip(model, tmp_path)
    np.testing.assert_array_equal(again.transform(X), model.transform(X))
    assert list(again.classes_) == list(model.classes_)


def test_file_has_no_pickled_objects(recording, tmp_path):
    codiag.SourceSeparation(3).fit(recording).save(tmp_path / "model.npz")
    with np.load(tmp_path / "model.npz", allow_pickle=False) as stored:
        assert stored["version"].item() == codiag.__version__
        assert stored["estimator"].item() == "SourceSeparation"
        assert json.loads(stored["settings"].item())["n_components"] == 3
        assert stored["result_B"].shape == (3, 5) and stored["result_A"].shape == (5, 3)
        assert len(stored["result_history_loss"]) > 1


def test_bad_files(recording, tmp_path):
    model = codiag.SourceSeparation(3)
    with pytest.raises(Exception, match="not fitted"):
        model.save(tmp_path / "model.npz")
    assert not list(tmp_path.iterdir())
    model.fit(recording).save(tmp_path / "model.npz")
    with np.load(tmp_path / "model.npz") as stored:
        arrays = dict(stored.items())
    np.savez(tmp_path / "later.npz", **{**arrays, "codiag_model": 99})
    with pytest.raises(ValueError, match="later version"):
        codiag.load(tmp_path / "later.npz")
    np.savez(tmp_path / "other.npz", **{**arrays, "estimator": "os.system"})
    with pytest.raises(ValueError, match="an unknown estimator"):
        codiag.load(tmp_path / "other.npz")
    np.savez(tmp_path / "arrays.npz", x=np.zeros(3))
    with pytest.raises(ValueError, match="not a codiag result or model"):
        codiag.load(tmp_path / "arrays.npz")
    (tmp_path / "text.npz").write_text("not an archive")
    with pytest.raises(ValueError, match="not a codiag result or model"):
        codiag.load(tmp_path / "text.npz")
    with pytest.raises(FileNotFoundError):
        codiag.load(tmp_path / "nowhere.npz")


def test_channel_info_is_saved(recording, tmp_path):
    mne = pytest.importorskip("mne")
    names = ["Fz", "Cz", "Pz", "C3", "C4"]
    info = mne.create_info(names, 100.0, "eeg").set_montage("biosemi32")
    raw = mne.io.RawArray(1e-6 * recording, info, verbose="error")
    model = codiag.SourceSeparation(3).fit(raw)
    again = round_trip(model, tmp_path)
    assert again.info_["ch_names"] == names and again.info_["sfreq"] == 100.0
    places = [channel["loc"][:3] for channel in again.info_["chs"]]
    np.testing.assert_allclose(places, [channel["loc"][:3] for channel in info["chs"]], atol=1e-6)
    np.testing.assert_array_equal(again.transform(raw), model.transform(raw))
    shuffled = raw.copy().reorder_channels(names[::-1])
    np.testing.assert_array_equal(again.transform(shuffled), model.transform(raw))
    with pytest.raises(ValueError, match="fitted channels are missing: C4, Pz"):
        again.transform(raw.copy().drop_channels(["Pz", "C4"]))
    with pytest.raises(ValueError, match="Cz is mag, not eeg"):
        again.apply(raw.copy().set_channel_types({"Cz": "mag"}, verbose="error"), exclude=[0])
    ica = again.to_mne()
    np.testing.assert_allclose(ica.get_sources(raw).get_data(), model.transform(raw), rtol=1e-8)
    with np.load(tmp_path / "model.npz") as stored:
        assert list(stored["channel_names"]) == names and set(stored["channel_types"]) == {"eeg"}
