"""Plots of results and topographies."""

import sys
from dataclasses import replace

import numpy as np
import pytest

import codiag

plt = pytest.importorskip("matplotlib.pyplot")
plt.switch_backend("agg")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def result(noisy):
    return codiag.diagonalize(noisy, n_resamples=5)


def entries(ax):
    return np.asarray(ax.images[0].get_array())


# Results


SIMPLE = ["plot", "plot_residuals", "plot_powers", "plot_stability"]


@pytest.mark.parametrize("name", SIMPLE)
def test_given_axes_are_used(result, name):
    _, ax = plt.subplots()
    assert getattr(result, name)(ax=ax) is ax
    count = len(plt.get_fignums())
    assert getattr(result, name)().figure is not ax.figure
    assert len(plt.get_fignums()) == count + 1


@pytest.mark.parametrize("name", [*SIMPLE, "plot_matrices"])
def test_nothing_is_shown(result, noisy, name, monkeypatch):
    monkeypatch.setattr(plt, "show", lambda: pytest.fail("plt.show was called"))
    getattr(result, name)(*([noisy] if name == "plot_matrices" else []))


@pytest.mark.parametrize("name", [*SIMPLE, "plot_matrices"])
def test_missing_matplotlib_is_explained(result, noisy, name, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install matplotlib"):
        getattr(result, name)(*([noisy] if name == "plot_matrices" else []))


def test_residuals(result):
    ax = result.plot_residuals()
    np.testing.assert_array_equal(ax.patches[0].get_data().values, result.residuals)
    assert ax.get_ylim()[0] == 0
    np.testing.assert_allclose(ax.lines[0].get_ydata(), np.median(result.residuals))


def test_outliers_of_many_matrices_are_visible(result):
    residuals = np.full(5000, 0.1)
    residuals[1234] = 0.9
    ax = codiag.Result(replace(result._stored(), residuals=residuals)).plot_residuals()
    bars = ax.patches[0].get_data()
    assert len(bars.values) <= 500 and bars.edges[[0, -1]].tolist() == [-0.5, 4999.5]
    highest = bars.values.argmax()
    assert bars.values[highest] == 0.9
    assert bars.edges[highest] < 1234 < bars.edges[highest + 1]


def test_powers(result):
    ax = result.plot_powers()
    np.testing.assert_array_equal(entries(ax), result.powers.T)
    assert ax.images[0].norm.__class__.__name__ == "LogNorm"


def test_powers_that_are_not_positive_have_a_symmetric_scale(result):
    powers = result.powers * np.resize([1, -0.5], result.powers.shape)
    norm = codiag.Result(replace(result._stored(), powers=powers)).plot_powers().images[0].norm
    assert norm.__class__.__name__ == "SymLogNorm" and norm.vmin == -norm.vmax
    assert norm.vmax == abs(powers).max()


def test_stability(result):
    ax = result.plot_stability()
    np.testing.assert_array_equal([bar.get_height() for bar in ax.patches], result.stability)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), 0.9)
    unstable = {bar.get_facecolor() for bar in ax.patches if bar.get_height() < 0.9}
    stable = {bar.get_facecolor() for bar in ax.patches if bar.get_height() >= 0.9}
    assert not unstable & stable


def test_stability_must_be_estimated(noisy):
    with pytest.raises(ValueError, match="not estimated: pass n_resamples"):
        codiag.diagonalize(noisy).plot_stability()
    assert not plt.get_fignums()


@pytest.mark.parametrize("name", ["plot_residuals", "plot_powers"])
def test_missing_values_are_explained(result, name):
    stored = replace(result._stored(), residuals=np.zeros(0), powers=np.zeros((0, 0)))
    with pytest.raises(ValueError, match="larger memory="):
        getattr(codiag.Result(stored), name)()


# Matrices before and after


def test_matrices_have_one_scale(result, noisy):
    axes = result.plot_matrices(noisy)
    assert axes.shape == (3,)
    assert len({ax.images[0].get_clim() for ax in axes}) == 1
    assert max(entries(ax).max() for ax in axes) == axes[0].images[0].get_clim()[1]
    for ax, name in zip(axes, ["Channels", "PCA", "B"]):
        assert ax.get_title().startswith(f"{name}: RMS ")


def test_correlations_are_those_of_the_matrices(result, noisy):
    axes = result.plot_matrices(noisy)
    for ax, M in zip(axes[[0, 2]], [np.eye(6), result.B]):
        D = M @ noisy @ M.T
        powers = np.diagonal(D, axis1=1, axis2=2)
        squares = D**2 / (powers[:, :, None] * powers[:, None, :])
        expected = np.sqrt(squares.mean(axis=0)) * (1 - np.eye(6))
        np.testing.assert_allclose(entries(ax), expected, atol=1e-12)


def rms(axes):
    return [np.sqrt((entries(ax) ** 2).mean()) for ax in axes]


@pytest.mark.parametrize("complex", [False, True])
@pytest.mark.parametrize("criterion", ["likelihood", "frobenius", "least-squares"])
def test_exact_sets_are_blank_at_B(criterion, complex):
    C, _ = codiag.datasets.synthetic(20, 5, sigma=0, complex=complex)
    if criterion == "frobenius":
        Q, _ = np.linalg.qr(C[0])
        C = Q @ (np.random.default_rng(0).uniform(1, 2, (20, 5, 1)) * Q.conj().T)
    channels, _, B = rms(codiag.diagonalize(C, criterion=criterion).plot_matrices(C))
    assert B < 1e-6 < channels


def test_energy_of_the_maps_is_the_loss():
    C, _ = codiag.datasets.synthetic(20, 5, sigma=0.3)
    weights = np.arange(1.0, 21.0)
    for criterion in ("frobenius", "least-squares"):
        result = codiag.diagonalize(C, criterion=criterion, sample_weight=weights)
        energy = (entries(result.plot_matrices(C, sample_weight=weights)[2]) ** 2).sum() / 5
        assert energy == pytest.approx(result.loss, rel=1e-6)


def test_shrinkage_is_applied(noisy):
    shrunk = 0.8 * noisy + 0.2 * np.trace(noisy, axis1=1, axis2=2)[:, None, None] / 6 * np.eye(6)
    result = codiag.diagonalize(shrunk)
    given, applied = result.plot_matrices(shrunk), result.plot_matrices(noisy, shrinkage=0.2)
    for one, other in zip(given, applied):
        np.testing.assert_allclose(entries(one), entries(other), atol=1e-12)


def test_reduced_sets(noisy):
    result = codiag.diagonalize(noisy, n_components=3)
    assert [len(entries(ax)) for ax in result.plot_matrices(noisy)] == [6, 3, 3]


def test_matrices_on_given_axes(result, noisy):
    _, given = plt.subplots(1, 3)
    assert list(result.plot_matrices(noisy, axes=given)) == list(given)
    with pytest.raises(ValueError, match="three Axes, got 2"):
        result.plot_matrices(noisy, axes=given[:2])


def test_wrong_matrices(result, noisy):
    with pytest.raises(ValueError, match=r"\(n, 6, 6\), got shape \(40, 5, 5\)"):
        result.plot_matrices(noisy[:, :5, :5])
    with pytest.raises(ValueError, match=r"sample_weight of shape \(40,\)"):
        result.plot_matrices(noisy, sample_weight=[1.0])
    with pytest.raises(ValueError, match="shrinkage must be between 0 and 1"):
        result.plot_matrices(noisy, shrinkage=2)
    fit = codiag.diagonalize(noisy, criterion="least-squares")
    with pytest.raises(ValueError, match="powers of 40 matrices, but C has 39"):
        fit.plot_matrices(noisy[1:])


# Topographies


@pytest.fixture(scope="module")
def model():
    """A model of 12 magnetometers and 12 EEG channels."""
    pytest.importorskip("mne")
    raw = codiag.datasets.recording().pick(["mag", "eeg"]).crop(0, 10)
    names = raw.ch_names
    mags = [name for name in names if name.startswith("MEG")]
    eeg = [name for name in names if name.startswith("EEG")]
    raw.filter(1, None).pick([*mags[::8][:12], *eeg[::4][:12]])
    return codiag.SourceSeparation(22).fit(raw)


def titles(figure):
    return [ax.get_title() for ax in figure.axes if ax.get_title()]


def test_all_components_are_plotted_for_each_type(model):
    figures = model.plot_patterns(show=False, res=8)
    types = [figure.get_suptitle().split(",")[0] for figure in figures]
    assert types == ["magnetometers", "magnetometers", "EEG", "EEG"]
    assert all(len(titles(figure)) <= 20 for figure in figures)
    names = [f"S{k:02}" for k in range(22)]
    assert titles(figures[0]) + titles(figures[1]) == names
    assert titles(figures[2]) + titles(figures[3]) == names


def test_type_can_be_chosen(model):
    figure = model.plot_patterns(["S03", 21], ch_type="eeg", show=False, res=8)
    assert figure.get_suptitle() == "EEG" and titles(figure) == ["S03", "S21"]
    with pytest.raises(ValueError, match="no channels of type 'grad'"):
        model.plot_patterns(ch_type="grad", show=False)


def test_artifacts_are_marked(model):
    blink = codiag.Artifact("blink", 0.9, "")
    found = {1: [blink, blink, codiag.Artifact("muscle", 0.7, "")], 5: [blink]}
    figure = model.plot_patterns([0, 1], artifacts=found, ch_type="mag", show=False, res=8)
    assert titles(figure) == ["S00", "S01\nblink, muscle"]
    plain, flagged = (ax.title.get_color() for ax in figure.axes)
    assert plain != flagged
    with pytest.raises(TypeError, match="dictionary that find_artifacts returns"):
        model.plot_patterns(artifacts=[1], show=False)
    with pytest.raises(ValueError, match="no source 99"):
        model.plot_patterns(artifacts={99: [blink]}, show=False)


def test_no_components_are_an_error(model):
    with pytest.raises(ValueError, match="no components to plot"):
        model.plot_patterns([], show=False)
