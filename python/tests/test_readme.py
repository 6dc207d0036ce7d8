"""The Python code of the README and of the pages in docs/ runs and gives the stated results."""

import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

import codiag

# Pages of several blocks, each of which runs alone. Pages of one block have their own tests below.
ALONE = [
    "README.md",
    "docs/choosing.md",
    "docs/clean-recording.md",
    "docs/coming-from.md",
    "docs/common-principal-components.md",
    "docs/matrices.md",
    "docs/multiclass-csp.md",
    "docs/reading-a-result.md",
    "docs/remove-artifacts.md",
    "docs/scaling.md",
    "docs/separate-sources.md",
    "docs/theory.md",
    "docs/troubleshooting.md",
    "docs/which-components.md",
]


@pytest.fixture
def run(root, tmp_path, monkeypatch):
    """Run the Python blocks of a page in order; return the names they leave behind."""

    def run(page):
        path = root / page
        if not path.exists():
            pytest.skip(f"{page} is not available")
        monkeypatch.chdir(tmp_path)
        text = path.read_text(encoding="utf-8")
        scope = {"__name__": "page"}
        blocks = list(re.finditer(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
        assert blocks
        for block in blocks:
            # Leading blank lines keep the line numbers of the page in error messages.
            before = "\n" * text.count("\n", 0, block.start(1))
            exec(compile(before + block.group(1), str(path), "exec"), scope)
        return scope

    return run


@pytest.fixture
def picture(root):
    """Check that a page has just drawn a picture of the size of the one that it shows."""
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("agg")

    def check(name):
        sizes = []
        for file in (Path(name), root / "docs" / name):
            drawing = ElementTree.parse(file).getroot()
            assert drawing.tag.endswith("svg")
            sizes.append([float(x) for x in drawing.attrib["viewBox"].split()])
        assert sizes[0] == pytest.approx(sizes[1], rel=0.1, abs=1)

    with plt.rc_context():
        yield check
    plt.close("all")


@pytest.mark.parametrize("page", ALONE)
def test_each_block_runs_alone(root, page, tmp_path):
    for package in ("sklearn", "mne", "matplotlib", "pyriemann", "dask.array", "distributed"):
        pytest.importorskip(package)
    path = root / page
    if not path.exists():
        pytest.skip(f"there is no {page} here")
    blocks = re.findall(r"^```python\n(.*?)^```", path.read_text(encoding="utf-8"), re.M | re.S)
    assert blocks
    for block in blocks:
        done = subprocess.run(
            [sys.executable, "-c", block],
            cwd=tmp_path,
            env={**os.environ, "MPLBACKEND": "agg"},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, f"{block}\n{done.stderr}"


def test_tracking(run):
    page = run("docs/tracking.md")
    assert max(page["tracked"][100:]) < 0.05 and 0.18 < min(page["fixed"][100:])


def test_multiclass_csp(run, picture):
    pytest.importorskip("sklearn")
    pytest.importorskip("pyriemann")
    pytest.importorskip("mne")
    page = run("docs/multiclass-csp.md")
    result, best, mixing = page["result"], page["best"], page["mixing"]
    quiet = result.powers[:, best].argmin(axis=0)
    assert sorted(quiet) == [0, 1, 2, 3]
    for component, k in zip(best, quiet):
        assert abs(np.corrcoef(result.A[:, component], mixing[:, k])[0, 1]) > 0.98
    ranked = np.sort(page["separability"])[::-1]
    assert ranked[-1] > -1e-12 and ranked[3] > 3 * ranked[4]
    pham, newton, uwedge, own, unlabeled = page["accuracy"].values()
    assert abs(own - newton) < 0.05 and own > 0.65
    assert sorted(page["csp"].powers_.argmin(axis=0)) == [0, 1, 2, 3]
    assert page["grid"].best_params_["csp__n_components"] > 2 and page["grid"].best_score_ > 0.6
    assert np.sort(page["correlations"])[-4:].min() > 0.9
    assert abs(pham - newton) < 0.02 and abs(uwedge - newton) < 0.02
    assert newton > 0.65 > 0.25 and newton > unlabeled + 0.02
    picture("multiclass-csp.svg")


def test_common_principal_components(run, picture):
    pytest.importorskip("sklearn")
    page = run("docs/common-principal-components.md")
    assert (page["B"][0] > 0).all()
    variances = page["variances"]
    assert (variances[:, 0] == variances.max(axis=1)).all()
    assert 4 < variances[2, 0] / variances[0, 0] < 5
    assert page["test"]([0, 1, 2])[0] == pytest.approx(63.9, abs=0.05)
    assert page["test"]([1, 2]) == pytest.approx((13.5, 0.04), abs=0.05)
    assert page["result"].residuals.argmax() == 0
    losses = dict(page["losses"], free=codiag.diagonalize(page["C"]).loss)
    assert list(losses.values()) == pytest.approx([0.92, 0.29, 0.22, 0.04], abs=0.006)
    separate, pooled, common = (np.mean(angles) for angles in page["angles"].values())
    assert common < 18 and min(separate, pooled) > 35
    picture("common-principal-components.svg")


def test_separate_sources(run, picture):
    pytest.importorskip("sklearn")
    pytest.importorskip("mne")
    page = run("docs/separate-sources.md")
    model, best, mixing = page["model"], page["best"], page["mixing"]
    assert codiag.amari_distance(model.filters_, mixing) < 0.02
    assert len(set(best)) == 12
    for k in range(12):
        assert abs(np.corrcoef(model.patterns_[best[k]], mixing[:, k])[0, 1]) > 0.99
    assert codiag.amari_distance(page["again"].filters_, mixing) < 0.04
    # A warm start begins near the result.
    warm, cold = (page[name].result_.history["gradient_norm"][0] for name in ("again", "cold"))
    assert warm < cold
    np.testing.assert_allclose(page["back"], page["raw"].get_data(), atol=3e-6)
    picture("separate-sources.svg")


def test_remove_artifacts(run, picture):
    """After removal, the variance of each channel is that without artifacts, within 5 %."""
    pytest.importorskip("sklearn")
    pytest.importorskip("mne")
    page = run("docs/remove-artifacts.md")
    kinds = sorted(found[0].kind for found in page["found"].values())
    assert kinds == ["blink", "heartbeat", "line noise"]
    assert abs(page["change"]).max() < 0.05
    clean, after, before = page["clean"], page["after"], page["before"]
    assert (after - clean).std() < 0.1 * clean.std() < 0.1 * (before - clean).std()
    picture("remove-artifacts.svg")


def test_clean_recording(run, picture):
    """The blink and the heartbeat are found and reproducible, and no epoch keeps a blink."""
    pytest.importorskip("sklearn")
    mne = pytest.importorskip("mne")
    page = run("docs/clean-recording.md")
    raw, cleaned, found, model = (page[name] for name in ("raw", "cleaned", "found", "model"))
    assert sorted(artifacts[0].kind for artifacts in found.values()) == ["blink", "heartbeat"]
    assert page["scores"].found.keys() == found.keys()
    eog = raw.get_data(picks="eog")[0]
    blink = next(k for k, artifacts in found.items() if artifacts[0].kind == "blink")
    assert abs(np.corrcoef(model.transform(raw)[blink], eog)[0, 1]) > 0.9
    events, epochs = page["events"], page["epochs"]
    assert len(epochs) == np.isin(events[:, 2], [1, 2, 3, 4]).sum()
    before = mne.Epochs(
        raw, events, [1, 2, 3, 4], -0.1, 0.4, picks="eeg", reject={"eeg": 100e-6}, preload=True
    )
    assert len(before) < len(epochs)
    assert page["average"].nave == len(epochs)
    assert cleaned.get_data("eeg").var() < raw.get_data("eeg").var()
    picture("clean-recording.svg")


def test_convolutive_mixtures(run, picture):
    """Cross-spectra separate delayed mixtures; their real parts alone do not."""
    page = run("docs/convolutive-mixtures.md")
    assert all(result.converged for result in page["results"])
    assert page["complex_ratios"].min() > 9 and page["recorded"].max() < 0
    assert page["real_ratios"].min() < 0 < page["real_ratios"].max() < 8
    wrong = np.abs(np.angle(page["pattern"] / page["true"][1:-1])) > 0.5
    assert wrong.mean() < 0.1
    picture("convolutive-mixtures.svg")


def test_coming_from(run):
    pytest.importorskip("sklearn")
    pytest.importorskip("mne")
    pytest.importorskip("pyriemann")
    page = run("docs/coming-from.md")
    assert codiag.amari_distance(page["result"].B, page["A"]) < 0.1
    assert codiag.amari_distance(page["B"], page["A"]) < 0.1
    assert page["cleaned"] is not page["raw"] and page["X"].shape == (8, 10_000)


def test_which_components(run, picture):
    pytest.importorskip("sklearn")
    pytest.importorskip("mne")
    page = run("docs/which-components.md")
    stability, found = page["model"].stability_, page["found"]
    alone = found.argmax(axis=1) < 6
    assert alone.sum() == 6
    assert stability[alone].min() > 0.95 > 0.9 > np.median(stability[~alone])
    assert found.max(axis=1)[alone].min() > 0.95 > found.max(axis=1)[~alone].max()
    assert (np.diff(page["ordered"].stability_) <= 0).all()
    assert len(page["before"].result_.matches) == 100
    picture("which-components.svg")


def test_which_method(run):
    pytest.importorskip("sklearn")
    pytest.importorskip("scipy")
    scope = run("docs/which-method.md")
    assert codiag.amari_distance(scope["model"].filters_, scope["mixing"]) < 0.03
