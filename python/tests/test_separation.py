"""SourceSeparation on arrays."""

import pickle

import numpy as np
import pytest

import codiag

sklearn = pytest.importorskip("sklearn")
from sklearn.base import clone  # noqa: E402
from sklearn.exceptions import NotFittedError  # noqa: E402
from sklearn.utils.estimator_checks import parametrize_with_checks  # noqa: E402
from sklearn.utils.validation import check_is_fitted, validate_data  # noqa: E402


def mixed(p, stretches, length, seed, channels=None):
    """Gaussian sources with piecewise constant powers, mixed at random."""
    rng = np.random.default_rng(seed)
    amplitudes = np.exp(0.5 * rng.standard_normal((p, stretches)))
    sources = np.repeat(amplitudes, length, axis=1) * rng.standard_normal((p, stretches * length))
    mixing = rng.standard_normal((channels or p, p))
    return mixing @ sources, mixing, sources


@pytest.fixture(scope="module")
def simulated():
    return mixed(6, 60, 200, seed=0)


class OnRows(codiag.SourceSeparation):
    """Transposes the arrays (samples, channels) that scikit-learn's checks generate."""

    def fit(self, X, y=None):
        # A segment needs more samples than there are channels, and a covariance more than one.
        X = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        return super().fit(X.T)

    def transform(self, X):
        check_is_fitted(self)
        return super().transform(validate_data(self, X, dtype=np.float64, reset=False).T).T

    def inverse_transform(self, X):
        return super().inverse_transform(np.asarray(X).T).T

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = True
        tags.input_tags.three_d_array = False
        return tags


# The adapter accepts two-dimensional arrays and passes all checks of scikit-learn. With shrinkage,
# a segment of these arrays may have fewer samples than channels.
@parametrize_with_checks(
    [codiag.SourceSeparation(), OnRows(n_segments=3, shrinkage=0.1, on_failure="ignore")]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_sources_are_recovered():
    """The Amari distance is 20 times smaller than without separation or with PCA."""
    X, mixing, sources = mixed(10, 100, 500, seed=1)
    model = codiag.SourceSeparation().fit(X)
    distance = codiag.amari_distance(model.filters_, mixing)
    principal = np.linalg.svd(X, full_matrices=False)[0].T
    assert distance < 0.02
    assert 20 * distance < codiag.amari_distance(np.eye(10), mixing)
    assert 20 * distance < codiag.amari_distance(principal, mixing)
    # Each separated source matches one true source, up to sign and scale.
    correlations = abs(np.corrcoef(model.transform(X), sources)[:10, 10:])
    assert sorted(correlations.argmax(axis=1)) == list(range(10))
    assert correlations.max(axis=1).min() > 0.99


def test_fit_diagonalizes_segment_covariances(simulated):
    X, _, _ = simulated
    model = codiag.SourceSeparation(n_segments=30, overlap=0.5, shrinkage=0.05).fit(X)
    C = codiag.segment_covariances(X, n_segments=30, overlap=0.5, shrinkage=0.05)
    result = codiag.diagonalize(C)
    np.testing.assert_allclose(model.filters_, result.B, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(model.powers_, result.powers, rtol=1e-6)
    assert model.result_.converged and model.n_iter_ == model.result_.n_iter
    assert model.result_.identifiability.margin == pytest.approx(
        min(pair.margin for pair in model.least_separable_), rel=0.2
    )


def test_fitted_attributes(simulated):
    X, _, _ = simulated
    model = codiag.SourceSeparation(n_segments=60).fit(X)
    np.testing.assert_allclose(model.components_ @ model.mixing_, np.eye(6), atol=1e-9)
    assert (model.filters_ == model.components_).all()
    assert (model.patterns_ == model.mixing_.T).all()
    np.testing.assert_allclose(model.powers_.mean(axis=0), 1)
    deviation = model.powers_.std(axis=0) / model.powers_.mean(axis=0)
    np.testing.assert_allclose(model.nonstationarity_, deviation, rtol=1e-9)
    segments = X.reshape(6, 60, 200)
    total = (segments - segments.mean(axis=2, keepdims=True)).var(axis=(1, 2)).sum()
    ratios = (model.patterns_**2).sum(axis=1) / total
    np.testing.assert_allclose(model.explained_variance_ratio_, ratios, rtol=1e-9)
    # The identifiability margin Γ_ab Γ_ba − 1, from the powers.
    gamma = (model.powers_[:, None, :] / model.powers_[:, :, None]).mean(axis=0)
    margins = gamma * gamma.T - 1 + np.diag([np.inf] * 6)
    assert [pair.partner for pair in model.least_separable_] == margins.argmin(axis=1).tolist()
    found = [pair.margin for pair in model.least_separable_]
    np.testing.assert_allclose(found, margins.min(axis=1), rtol=1e-9)
    assert model.segments_[1] == [(200, 400)] and len(model.segments_) == 60
    assert model.explained_variance_ratio_total_ == 1 and not model.shrinkages_.any()
    assert codiag.SourceSeparation(n_segments=4).fit(X[:1]).least_separable_ == [None]


def test_transform_and_back(simulated):
    X, _, _ = simulated
    model = codiag.SourceSeparation().fit(X)
    sources = model.transform(X)
    np.testing.assert_allclose(sources, model.filters_ @ X, atol=1e-9)
    np.testing.assert_allclose(model.inverse_transform(sources), X, atol=1e-9)
    removed = X - np.outer(model.patterns_[2], sources[2])
    removed -= np.outer(model.patterns_[4], sources[4])
    np.testing.assert_allclose(model.inverse_transform(sources, [2, 4]), removed, atol=1e-9)
    np.testing.assert_allclose(model.apply(X, [2, 4, 2]), removed, atol=1e-9)
    np.testing.assert_array_equal(model.apply(X, []), X)
    for use in (model.apply, lambda X, e: model.inverse_transform(sources, e)):
        with pytest.raises(ValueError, match="no source 6"):
            use(X, [6])
        with pytest.raises(ValueError, match="no source -1"):
            use(X, [-1])


def test_another_recording(simulated):
    X, mixing, _ = simulated
    model = codiag.SourceSeparation().fit(X)
    other = mixing @ np.random.default_rng(3).laplace(size=(6, 999))
    np.testing.assert_allclose(model.transform(other), model.filters_ @ other, atol=1e-9)
    with pytest.raises(ValueError, match="5 channels, but SourceSeparation is expecting 6"):
        model.transform(other[:5])


def test_fewer_components():
    X, mixing, _ = mixed(4, 100, 200, seed=2, channels=12)
    X += 1e-3 * np.random.default_rng(0).standard_normal(X.shape)
    model = codiag.SourceSeparation(4).fit(X)
    assert codiag.amari_distance(model.filters_, mixing) < 0.05
    assert codiag.SourceSeparation(0.99).fit(X).filters_.shape == (4, 12)
    assert 0.999 < model.explained_variance_ratio_total_ < 1
    # `apply` keeps the part outside of the components; `inverse_transform` loses it.
    rest = X - model.mixing_ @ (model.filters_ @ X)
    cleaned = model.apply(X, range(4))
    np.testing.assert_allclose(cleaned, rest, atol=1e-9)
    assert abs(cleaned).max() > 1e-4
    assert not model.inverse_transform(model.transform(X), range(4)).any()
    for wrong in (0, 13, -2, 1.5):
        with pytest.raises(ValueError, match="components"):
            codiag.SourceSeparation(wrong).fit(X)


def test_rank_deficiency_is_detected(simulated):
    """An average reference reduces the rank by one."""
    X, _, _ = simulated
    referenced = X - X.mean(axis=0)
    model = codiag.SourceSeparation().fit(referenced)
    assert model.filters_.shape == (5, 6) and model.result_.converged
    back = model.inverse_transform(model.transform(referenced))
    np.testing.assert_allclose(back, referenced, atol=1e-8)


def test_scale_makes_units_irrelevant(simulated):
    """With `scale`, channels in volts and in teslas are separated as if in one unit."""
    X, _, _ = simulated
    units = np.array([1e-6, 1e-6, 1e-6, 1e-13, 1e-13, 1e-13])
    kinds = ["eeg"] * 3 + ["mag"] * 3
    noisy = X[:, :] * units[:, None]
    choices = {"n_components": 5, "n_segments": 60}
    groups = codiag.SourceSeparation(**choices, scale=kinds).fit(noisy)
    rescaled = codiag.SourceSeparation(**choices, scale=kinds).fit(X)
    np.testing.assert_allclose(groups.filters_ * units, rescaled.filters_, rtol=1e-5, atol=1e-7)
    given = codiag.SourceSeparation(**choices, scale=1 / units).fit(noisy)
    plain = codiag.SourceSeparation(**choices).fit(X)
    np.testing.assert_allclose(given.filters_ * units, plain.filters_, rtol=1e-5, atol=1e-7)
    each = codiag.SourceSeparation(**choices, scale="rms").fit(noisy)
    assert each.explained_variance_ratio_total_ > 0.9
    for wrong, problem in [("volts", "rms"), ([1.0], "1 for 6"), ([[1.0]], "shape")]:
        with pytest.raises(ValueError, match=problem):
            codiag.SourceSeparation(scale=wrong).fit(X)


def test_bands():
    """Separates stationary sources that differ only in their spectra."""
    rng = np.random.default_rng(5)
    rate, frequencies = 200.0, [6, 11, 19, 33]
    spectra = np.fft.rfftfreq(40_000, 1 / rate)
    shapes = [1 / (1 + ((spectra - f) / 3) ** 2) for f in frequencies]
    white = np.fft.rfft(rng.standard_normal((4, 40_000)))
    mixing = rng.standard_normal((4, 4))
    X = mixing @ np.fft.irfft(white * np.array(shapes), n=40_000)
    bands = [(low, low + 4) for low in range(2, 46, 4)]
    model = codiag.SourceSeparation(bands=bands, sfreq=rate).fit(X)
    assert codiag.amari_distance(model.filters_, mixing) < 0.02
    assert model.powers_.shape == (11, 4) and model.segments_ == []
    found = sorted(bands[k] for k in model.powers_.argmax(axis=0))
    assert all(low <= f <= high for f, (low, high) in zip(frequencies, found))
    np.testing.assert_allclose(
        codiag.diagonalize(codiag.cospectra(X, bands, rate)).B, model.filters_, rtol=1e-5, atol=1e-7
    )
    closer = codiag.SourceSeparation(bands=bands, sfreq=rate, overlap=0.75).fit(X)
    C = codiag.cospectra(X, bands, rate, overlap=0.75)
    np.testing.assert_allclose(codiag.diagonalize(C).B, closer.filters_, rtol=1e-5, atol=1e-7)
    assert abs(closer.filters_ - model.filters_).max() > 1e-5
    with pytest.raises(ValueError, match="sfreq"):
        codiag.SourceSeparation(bands=bands).fit(X)
    with pytest.raises(ValueError, match="pairs"):
        codiag.SourceSeparation(bands=[1, 4, 8], sfreq=rate).fit(X)


def test_epochs(simulated):
    X, _, _ = simulated
    epochs = X.reshape(6, 60, 200).transpose(1, 0, 2)
    model = codiag.SourceSeparation().fit(epochs)
    same = codiag.SourceSeparation(n_segments=60).fit(X)
    np.testing.assert_allclose(model.filters_, same.filters_, rtol=1e-6, atol=1e-9)
    sources = model.transform(epochs)
    np.testing.assert_allclose(sources, model.filters_ @ epochs, atol=1e-9)
    np.testing.assert_allclose(model.inverse_transform(sources), epochs, atol=1e-9)
    np.testing.assert_allclose(
        model.apply(epochs, [1]), model.inverse_transform(sources, [1]), atol=1e-9
    )
    classes = np.array(["rest", "left", "right"])[np.arange(60) % 3]
    by_class = codiag.SourceSeparation().fit(epochs, y=classes)
    assert by_class.powers_.shape == (3, 6)
    assert by_class.segments_[0] == [(e * 200, (e + 1) * 200) for e in range(1, 60, 3)]
    with pytest.raises(ValueError, match=r"\by\b.*epochs"):
        codiag.SourceSeparation().fit(X, y=classes)
    with pytest.raises(ValueError, match="leave epochs out"):
        codiag.SourceSeparation().fit(epochs, bad_spans=[(0, 5)])
    with pytest.raises(TypeError, match="picks"):
        codiag.SourceSeparation().fit(X, picks="eeg")


def test_bad_spans(simulated):
    X, _, _ = simulated
    model = codiag.SourceSeparation(n_segments=50).fit(np.delete(X, np.s_[2000:4000], axis=1))
    corrupted = X.copy()
    corrupted[:, 2000:4000] += 1e3
    same = codiag.SourceSeparation(n_segments=50).fit(corrupted, bad_spans=[(2000, 4000)])
    np.testing.assert_allclose(model.filters_, same.filters_, rtol=1e-6, atol=1e-9)


def test_warm_start(simulated):
    """Filters of another subject are a better starting point and lead to the same result."""
    X, _, _ = simulated
    cold = codiag.SourceSeparation(n_segments=60).fit(X)
    rng = np.random.default_rng(8)
    subject = (np.eye(6) + 0.002 * rng.standard_normal((6, 6))) @ X
    first = codiag.SourceSeparation(n_segments=60, init="whitener").fit(subject)
    warm = codiag.SourceSeparation(n_segments=60, init=cold.filters_).fit(subject)
    np.testing.assert_allclose(warm.filters_, first.filters_, rtol=1e-4, atol=1e-6)
    gradients = [model.result_.history["gradient_norm"][0] for model in (warm, first)]
    assert gradients[0] < 0.5 * gradients[1]
    with pytest.raises(ValueError, match="init"):
        codiag.SourceSeparation(init=np.eye(5)).fit(X)


def test_array_layouts_are_accepted_and_not_modified(simulated):
    X, _, _ = simulated
    expected = codiag.SourceSeparation().fit(X)
    wide = np.zeros((12, 2 * X.shape[1]))
    wide[::2, ::2] = X
    variants = [np.asfortranarray(X), X.tolist(), wide[::2, ::2], X[::-1][::-1], X.astype(">f8")]
    for variant in variants:
        before = np.array(variant)
        model = codiag.SourceSeparation().fit(variant)
        np.testing.assert_array_equal(model.filters_, expected.filters_)
        np.testing.assert_array_equal(model.transform(variant), expected.transform(X))
        np.testing.assert_array_equal(before, variant)
    frozen = X.copy()
    frozen.flags.writeable = False
    np.testing.assert_array_equal(expected.apply(frozen, [0]), expected.apply(X, [0]))
    single = codiag.SourceSeparation().fit(X.astype(np.float32))
    np.testing.assert_allclose(single.filters_, expected.filters_, rtol=1e-2, atol=1e-3)


def test_bad_recordings(simulated):
    X, _, _ = simulated
    fit = codiag.SourceSeparation().fit
    corrupted = X.copy()
    corrupted[2, 345] = np.nan
    for wrong, problem in [
        (corrupted, "channel 2.*345"),
        (X[0], r"\(channels, samples\)"),
        (X[:, :0], "shape"),
        (X[:, :4], "samples"),
        (np.ma.masked_greater(X, 1), "masked"),
    ]:
        with pytest.raises(ValueError, match=problem):
            fit(wrong)
    with pytest.raises(TypeError, match="complex"):
        fit(X + 1j)
    with pytest.raises(ValueError, match="shrinkage"):
        codiag.SourceSeparation(shrinkage="much").fit(X)
    with pytest.raises(ValueError, match="on_failure"):
        codiag.SourceSeparation(on_failure="explode").fit(X)


def test_no_convergence(simulated):
    X, _, _ = simulated
    with pytest.warns(codiag.ConvergenceWarning, match="max_iter") as caught:
        codiag.SourceSeparation(max_iter=1, init="whitener").fit(X)
    assert caught[0].filename == __file__
    with pytest.raises(codiag.ConvergenceError):
        codiag.SourceSeparation(max_iter=1, init="whitener", on_failure="raise").fit(X)


def test_sources_do_not_depend_on_n_jobs():
    X, _, _ = mixed(20, 60, 400, seed=3)
    alone = codiag.SourceSeparation(n_jobs=1).fit(X)
    together = codiag.SourceSeparation(n_jobs=4).fit(X)
    assert (alone.filters_ == together.filters_).all()
    assert (alone.transform(X) == together.transform(X)).all()


def test_verbose_pickle_clone_and_not_fitted(simulated, capfd):
    X, _, _ = simulated
    model = codiag.SourceSeparation(n_segments=50, tol=1e-6, verbose=True).fit(X)
    assert "converged" in capfd.readouterr().err
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.transform(X), model.transform(X))
    copy = clone(model)
    assert copy.n_segments == 50 and not hasattr(copy, "filters_")
    for use in (copy.transform, copy.inverse_transform, copy.find_artifacts):
        with pytest.raises(NotFittedError):
            use(X)
    with pytest.raises(NotFittedError):
        copy.apply(X, [0])
    np.testing.assert_array_equal(clone(model).fit_transform(X), model.transform(X))


def test_segment_covariances(simulated):
    X, _, _ = simulated
    C = codiag.segment_covariances(X, n_segments=60)
    for k in (0, 17, 59):
        part = X[:, 200 * k : 200 * (k + 1)]
        np.testing.assert_allclose(C[k], np.cov(part, bias=True), rtol=1e-10, atol=1e-10)
    lengths = codiag.segment_covariances(X, segment_length=500, overlap=0.5, center=False)
    assert lengths.shape == (47, 6, 6)
    np.testing.assert_allclose(lengths[1], X[:, 250:750] @ X[:, 250:750].T / 500, rtol=1e-10)
    from sklearn.covariance import ledoit_wolf, oas

    for name, estimate in [("auto", ledoit_wolf), ("ledoit-wolf", ledoit_wolf), ("oas", oas)]:
        shrunk = codiag.segment_covariances(X, n_segments=60, shrinkage=name)
        np.testing.assert_allclose(shrunk[3], estimate(X[:, 600:800].T)[0], rtol=1e-8)
    with pytest.raises(ValueError, match=r"7 samples|at least 7|needs"):
        codiag.segment_covariances(X, segment_length=6)
    with pytest.raises(ValueError, match=r"\(channels, samples\)"):
        codiag.segment_covariances(C)
    with pytest.raises(ValueError, match="spans"):
        codiag.segment_covariances(X, bad_spans=[(5, 2)])


def test_epoch_covariances(epochs):
    X, labels = epochs
    C = codiag.epoch_covariances(X)
    np.testing.assert_allclose(C[7], np.cov(X[7], bias=True), rtol=1e-10)
    classes = codiag.epoch_covariances(X, labels)
    mean = np.mean([C[e] for e in np.flatnonzero(labels == 2)], axis=0)
    np.testing.assert_allclose(classes[2], mean, rtol=1e-10)
    names = np.array(["b", "a", "d", "c"])[labels]
    np.testing.assert_array_equal(codiag.epoch_covariances(X, names)[0], classes[1])
    with pytest.raises(ValueError, match=r"\by\b"):
        codiag.epoch_covariances(X, labels[:-1])


def test_cospectra(simulated):
    signal = pytest.importorskip("scipy.signal")
    X, _, _ = simulated
    bands = [(0, 10), (10, 30), (30, 50)]
    C = codiag.cospectra(X, bands, 100, window_length=100)
    options = {"fs": 100, "window": "hann", "nperseg": 100, "detrend": "constant"}
    frequencies, cross = signal.csd(X[:, None], X[None], **options)
    for (low, high), found in zip(bands, C):
        chosen = (frequencies >= low) & ((frequencies < high) | (high == 50))
        np.testing.assert_allclose(found, cross[..., chosen].real.sum(-1), rtol=1e-8, atol=1e-10)
    with pytest.raises(ValueError, match="window"):
        codiag.cospectra(X, bands, 100, window="round")
    with pytest.raises(ValueError, match="bands"):
        codiag.cospectra(X, [(30, 80)], 100)
    edges = [(1, 8), (8, 15), (15, 22), (22, 29), (29, 36), (36, 43), (43, 50)]
    np.testing.assert_array_equal(codiag.cospectra(X, 7, 100), codiag.cospectra(X, edges, 100))
    with pytest.raises(ValueError, match="at least 1"):
        codiag.cospectra(X, 0, 100)
    with pytest.raises(ValueError, match="sfreq"):
        codiag.SourceSeparation(bands=7).fit(X)


def test_artifacts_of_arrays():
    rng = np.random.default_rng(4)
    rate, seconds = 250, 60
    time = np.arange(rate * seconds) / rate
    hum = np.sin(2 * np.pi * 50 * time) * (1 + 0.5 * np.sin(time))
    eye = np.exp(-(((time[:, None] - np.arange(2, 60, 3.7)) / 0.1) ** 2)).sum(axis=1)
    brain = rng.standard_normal((2, len(time))) * (1.5 + np.sin([0.7 * time, 0.3 * time]))
    brain = np.array([np.convolve(x, np.ones(12) / 12, "same") for x in brain])
    mixing = rng.standard_normal((4, 4))
    X = mixing @ np.vstack([eye * 3, hum, brain]) + 0.01 * rng.standard_normal((4, len(time)))
    model = codiag.SourceSeparation(n_segments=60, sfreq=rate).fit(X)
    found = model.find_artifacts(X)
    assert sorted(kinds[0].kind for kinds in found.values()) == ["blink", "line noise"]
    blink = next(k for k, kinds in found.items() if kinds[0].kind == "blink")
    assert "kurtosis" in found[blink][0].reason and 0 < found[blink][0].score <= 1
    shown = model.find_artifacts(X, references={"EOG": ("blink", eye + 0.1 * brain[0])})
    assert "correlation with EOG" in shown[blink][0].reason
    cleaned = model.apply(X, found)
    truth = mixing[:, 2:] @ brain
    assert (cleaned - truth).std() < 0.1 * truth.std()
    with pytest.raises(ValueError, match="sfreq"):
        codiag.SourceSeparation(n_segments=60).fit(X).find_artifacts(X)
    with pytest.raises(ValueError, match="sneeze"):
        model.find_artifacts(X, references={"EOG": ("sneeze", eye)})
    with pytest.raises(ValueError, match="samples"):
        model.find_artifacts(X, references={"EOG": ("blink", eye[1:])})
    with pytest.raises(ValueError, match="epochs"):
        model.find_artifacts(X.reshape(4, 60, 250).transpose(1, 0, 2))
