"""HTML reports of results and separations."""

import re

import numpy as np
import pytest

import codiag


def headings(path):
    """Return the headings of a report whose links all lead to an element."""
    page = path.read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert "NaN" not in page
    assert "<script" not in page
    for target in re.findall(r'href="#([^"]*)"', page):
        assert page.count(f'id="{target}"') == 1, target
    return re.findall(r"<h2>(.*?)</h2>", page)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "report.html"


@pytest.fixture(scope="module")
def recording():
    rng = np.random.default_rng(0)
    powers = np.repeat(rng.uniform(0.1, 3, (4, 100)), 100, axis=1)
    return rng.standard_normal((4, 4)) @ (powers * rng.laplace(size=(4, 10_000)))


@pytest.mark.parametrize("is_complex", [False, True])
def test_result_with_and_without_matrices(path, is_complex):
    C, _ = codiag.datasets.synthetic(20, 4, sigma=0.1, complex=is_complex)
    result = codiag.diagonalize(C, n_resamples=5)
    result.report(path, C, title="my <matrices>")
    assert headings(path) == [
        "Convergence",
        "Comparison with channels and PCA",
        "Residual of each matrix",
        "Components",
    ]
    page = path.read_text(encoding="utf-8")
    assert "my &lt;matrices&gt;" in page
    assert "<td>PCA</td>" in page
    assert "S03" in page
    assert "5 resamples" in page
    result.report(path)
    page = path.read_text(encoding="utf-8")
    assert "Not available" in page
    assert "<td>PCA</td>" not in page


def test_reduced_and_reloaded_results(path, tmp_path):
    C, _ = codiag.datasets.synthetic(20, 5, sigma=0.1)
    result = codiag.diagonalize(C, n_components=3, criterion="least-squares")
    result.save(tmp_path / "result.npz")
    codiag.load(tmp_path / "result.npz").report(path, C)
    assert "Comparison with channels and PCA" in headings(path)


def test_other_matrices_raise_and_leave_the_file(path):
    C, _ = codiag.datasets.synthetic(20, 4, sigma=0.1)
    result = codiag.diagonalize(C)
    path.write_text("before")
    with pytest.raises(ValueError, match="C has matrices of 3 rows"):
        result.report(path, C[:, :3, :3])
    assert path.read_text() == "before"
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(
    ("model", "figure"),
    [
        (lambda: codiag.SourceSeparation(sfreq=250), "Power over time"),
        (lambda: codiag.SourceSeparation(sfreq=250, bands=5), "Power over the bands"),
        (lambda: codiag.SOBI(sfreq=250, lags=10), "Autocorrelation"),
        (lambda: codiag.AMUSE(sfreq=250), "Autocorrelation"),
        (lambda: codiag.JADE(sfreq=250), "Distribution"),
    ],
)
def test_separations(path, recording, model, figure):
    model = model().fit(recording)
    model.report(path, recording, exclude=["S01"])
    found = headings(path)
    for heading in ["Before and after", "Suspected artifacts", "All sources", "Convergence"]:
        assert heading in found
    page = path.read_text(encoding="utf-8")
    assert figure in page
    assert type(model).__name__ + "(" in page
    assert "S01 is removed" in page
    assert "Spectrum" in page


def test_separation_without_sampling_frequency(path, recording):
    model = codiag.SourceSeparation().fit(recording)
    model.report(path, recording)
    found = headings(path)
    assert "Before and after" not in found
    assert "Artifact scores" not in found
    with pytest.raises(ValueError, match="there is no source"):
        model.report(path, recording, exclude=["S09"])


def test_epochs(path, recording):
    epochs = recording.reshape(4, 20, 500).transpose(1, 0, 2)
    model = codiag.SourceSeparation(sfreq=250).fit(epochs)
    model.report(path, epochs)
    assert "All sources" in headings(path)


def test_mne_recording_has_maps_and_reference_channels(path, recording):
    mne = pytest.importorskip("mne")
    names = ["Fp1", "Fp2", "Cz", "Oz", "EOG"]
    info = mne.create_info(names, 250, ["eeg"] * 4 + ["eog"])
    rows = np.vstack([recording, recording[:1]]) * 1e-5
    raw = mne.io.RawArray(rows, info, verbose="error")
    raw.set_montage("standard_1020", on_missing="ignore", verbose="error")
    raw.set_annotations(mne.Annotations([1], [2], ["BAD"]))
    model = codiag.SourceSeparation().fit(raw)
    model.report(path, raw, exclude=[0])
    assert "Overview" in headings(path)
    page = path.read_text(encoding="utf-8")
    assert "correlation, EOG" in page
    assert "µV" in page
