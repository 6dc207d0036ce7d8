"""SOBI, AMUSE and JADE."""

import numpy as np
import pytest

import codiag

pytest.importorskip("sklearn")
signal = pytest.importorskip("scipy.signal")
from sklearn.base import clone  # noqa: E402
from sklearn.utils.estimator_checks import parametrize_with_checks  # noqa: E402
from sklearn.utils.validation import check_is_fitted, validate_data  # noqa: E402

SAMPLES = 20_000
POLES = (0.95, 0.7, 0.3, -0.4, -0.8)


def colored(seed, poles=POLES):
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal((len(poles), SAMPLES))
    sources = np.array([signal.lfilter([1], [1, -a], x) for a, x in zip(poles, noise, strict=True)])
    mixing = rng.standard_normal((len(poles), len(poles)))
    return mixing @ sources, mixing, sources


def non_gaussian(seed):
    rng = np.random.default_rng(seed)
    sources = np.vstack([rng.laplace(size=(3, SAMPLES)), rng.uniform(-1, 1, (3, SAMPLES))])
    mixing = rng.standard_normal((6, 6))
    return mixing @ sources, mixing, sources


MODELS = [codiag.SOBI(lags=20), codiag.AMUSE(), codiag.JADE()]


class OnRows:
    """Transposes the arrays (samples, channels) that scikit-learn's checks generate."""

    def fit(self, X, y=None):
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


class SOBIOnRows(OnRows, codiag.SOBI):
    pass


class AMUSEOnRows(OnRows, codiag.AMUSE):
    pass


class JADEOnRows(OnRows, codiag.JADE):
    pass


ON_ROWS = [SOBIOnRows(on_failure="ignore"), AMUSEOnRows(), JADEOnRows(on_failure="ignore")]


@parametrize_with_checks([*MODELS, *ON_ROWS])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_sobi_on_autoregressive_sources():
    X, mixing, _ = colored(0)
    model = codiag.SOBI(lags=20).fit(X)
    assert codiag.amari_distance(model.filters_, mixing) < 0.03
    assert model.lags_ == list(range(1, 21)) and model.autocorrelations_.shape == (20, 5)
    # Components are sorted by the sum of their squared autocorrelations.
    expected = np.array([0.95, -0.8, 0.7, -0.4, 0.3]) ** np.arange(1, 21)[:, None]
    np.testing.assert_allclose(model.autocorrelations_, expected, atol=0.08)
    strength = (model.autocorrelations_**2).sum(axis=0)
    assert (np.diff(strength) <= 0).all()
    # `autocorrelations_` are the autocorrelations of the sources.
    found = model.transform(X)
    found = found - found.mean(axis=1, keepdims=True)
    lagged = (found[:, 3:] * found[:, :-3]).mean(axis=1)
    np.testing.assert_allclose(model.autocorrelations_[2], lagged, atol=1e-3)


def test_sobi_by_least_squares():
    """White noise on one channel affects lag 0, and thereby the whitening, but no other lag."""
    X, mixing, _ = colored(6)
    noisy = X.copy()
    noisy[0] += np.random.default_rng(7).standard_normal(SAMPLES)
    fitted = codiag.SOBI(lags=10, orthogonal=False).fit(noisy)
    rotated = codiag.SOBI(lags=10).fit(noisy)
    assert fitted.result_.converged
    distances = [codiag.amari_distance(m.filters_, mixing) for m in (fitted, rotated)]
    assert distances[0] < 0.5 * distances[1]
    np.testing.assert_allclose(fitted.transform(noisy).var(axis=1), 1, atol=1e-9)
    strength = (fitted.autocorrelations_**2).sum(axis=0)
    assert (np.diff(strength) <= 0).all()
    uwedge = codiag.SOBI(lags=10, orthogonal=False, method="uwedge").fit(X)
    assert codiag.amari_distance(uwedge.filters_, mixing) < 0.03


def test_amuse_solves_a_generalized_eigenvalue_problem():
    X, mixing, _ = colored(1)
    model = codiag.AMUSE(lag=2).fit(X)
    assert codiag.amari_distance(model.filters_, mixing) < 0.1
    C0, C2 = codiag.lagged_covariances(X, [0, 2])
    from scipy.linalg import eigh

    values = eigh(C2, C0, eigvals_only=True)[::-1]
    np.testing.assert_allclose(model.autocorrelations_[0], values, atol=1e-10)


def test_sobi_separates_sources_of_equal_autocorrelation_at_lag_1():
    distances = {"AMUSE": [], "SOBI": []}
    for seed in range(6):
        rng = np.random.default_rng(seed)
        noise = rng.standard_normal((2, SAMPLES))
        # Both have the autocorrelation 0.5 at lag 1; all others differ. AMUSE uses lag 1 only.
        first = signal.lfilter([1], [1, -0.5], noise[0])
        second = signal.lfilter([1], [1, -0.9, 0.8], noise[1])
        mixing = rng.standard_normal((2, 2))
        X = mixing @ [first, second]
        for model in (codiag.AMUSE(), codiag.SOBI(lags=10)):
            model.fit(X)
            name = type(model).__name__
            distances[name].append(codiag.amari_distance(model.filters_, mixing))
    assert max(distances["SOBI"]) < 0.02 and np.mean(distances["AMUSE"]) > 0.2


def test_jade_on_uniform_and_laplace_sources():
    X, mixing, _ = non_gaussian(0)
    model = codiag.JADE().fit(X)
    assert codiag.amari_distance(model.filters_, mixing) < 0.05
    np.testing.assert_allclose(model.kurtosis_[:3], 3, atol=0.6)
    np.testing.assert_allclose(model.kurtosis_[3:], -1.2, atol=0.05)
    found = model.transform(X)
    found = found - found.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(model.kurtosis_, (found**4).mean(axis=1) - 3, atol=1e-10)


def test_fit_diagonalizes_cumulants_and_lagged_covariances():
    X, _, _ = non_gaussian(1)
    Q, W = codiag.cumulants(X)
    B = codiag.diagonalize(Q, criterion="frobenius").B @ W
    gain = abs(B @ codiag.JADE().fit(X).mixing_)
    np.testing.assert_allclose(np.sort(gain, axis=1)[:, -1], 1, atol=1e-6)
    np.testing.assert_allclose(np.sort(gain, axis=1)[:, :-1], 0, atol=1e-5)
    X, _, _ = colored(2)
    values, vectors = np.linalg.eigh(np.cov(X, bias=True))
    W = vectors.T / values[:, None] ** 0.5
    C = codiag.lagged_covariances(W @ X, 30)
    result = codiag.diagonalize(C, criterion="frobenius")
    model = codiag.SOBI(lags=30).fit(X)
    np.testing.assert_allclose(abs(result.B @ W @ model.mixing_), np.eye(5), atol=1e-5)
    jacobi = codiag.SOBI(lags=30, method="jacobi").fit(X)
    np.testing.assert_allclose(jacobi.filters_, model.filters_, atol=1e-5)


@pytest.mark.parametrize("model", MODELS)
def test_sources_are_white_and_sum_to_the_recording(model):
    X, _, _ = colored(3)
    sources = model.fit_transform(X)
    np.testing.assert_allclose(np.cov(sources, bias=True), np.eye(5), atol=1e-9)
    np.testing.assert_allclose(model.inverse_transform(sources), X, atol=1e-9)
    assert model.explained_variance_ratio_.sum() == pytest.approx(1)
    assert model.explained_variance_ratio_total_ == 1
    rest = model.apply(X, [0, 2])
    np.testing.assert_allclose(rest, model.inverse_transform(sources, [0, 2]), atol=1e-9)
    assert all(pair.margin >= 0 for pair in model.least_separable_)
    # The largest entry of each pattern is positive.
    largest = abs(model.patterns_).argmax(axis=1)
    assert (model.patterns_[range(5), largest] > 0).all()


@pytest.mark.parametrize("model", MODELS)
def test_n_components_and_init(model):
    X, _, _ = colored(4)
    reduced = clone(model).fit(np.vstack([X, X[0] + X[1]]))
    assert reduced.filters_.shape == (5, 6)
    fewer = clone(model).set_params(n_components=3).fit(X)
    assert fewer.filters_.shape == (3, 5) and fewer.explained_variance_ratio_total_ < 1
    most = clone(model).set_params(n_components=0.9).fit(X)
    assert most.explained_variance_ratio_total_ >= 0.9
    if not isinstance(model, codiag.AMUSE):
        again = clone(model).set_params(init=model.fit(X).filters_).fit(X)
        np.testing.assert_allclose(again.filters_, model.filters_, atol=1e-6)


def test_bad_spans_and_epochs():
    X, mixing, _ = colored(5)
    corrupted = X.copy()
    corrupted[:, 5000:5100] = 1e6
    for model in MODELS:
        kept = clone(model).fit(corrupted, bad_spans=[(5000, 5100)])
        other = X.copy()
        other[:, 5000:5100] = np.nan
        same = clone(model).fit(other, bad_spans=[(5000, 5100)])
        np.testing.assert_array_equal(kept.filters_, same.filters_)
    epochs = X.reshape(5, 40, 500).transpose(1, 0, 2)
    model = codiag.SOBI(lags=20).fit(epochs)
    assert codiag.amari_distance(model.filters_, mixing) < 0.05
    assert model.autocorrelations_.shape == (20, 5)
    classes = codiag.SOBI(lags=20).fit(epochs, y=["a", "b"] * 20)
    assert classes.autocorrelations_.shape == (40, 5)
    segments = codiag.SOBI(lags=[0, 1, 2, 5], n_segments=10).fit(X)
    assert segments.autocorrelations_.shape == (40, 5) and len(segments.segments_) == 10
    assert codiag.JADE().fit(epochs).kurtosis_.shape == (5,)


def test_lagged_covariances_match_their_definition():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4, 300)) + np.arange(4)[:, None]
    lags = [0, 1, 7, 100]
    x = X - X.mean(axis=1, keepdims=True)

    def lagged(x, lag):
        product = x[:, lag:] @ x[:, : x.shape[1] - lag].T / (x.shape[1] - lag)
        return 0.5 * (product + product.T)

    expected = [lagged(x, lag) for lag in lags]
    np.testing.assert_allclose(codiag.lagged_covariances(X, lags), expected, atol=1e-12)
    # Fortran order, single precision, and a gap.
    np.testing.assert_allclose(
        codiag.lagged_covariances(np.asfortranarray(X), lags), expected, atol=1e-12
    )
    C = codiag.lagged_covariances(X.astype(np.float32), lags)
    np.testing.assert_allclose(C, expected, atol=1e-5)
    left, right = X[:, :120], X[:, 150:]
    mean = np.hstack([left, right]).mean(axis=1, keepdims=True)
    left, right = left - mean, right - mean
    for lag, found in zip(
        (1, 7), codiag.lagged_covariances(X, [1, 7], bad_spans=[(120, 150)]), strict=True
    ):
        sums = lagged(left, lag) * (120 - lag) + lagged(right, lag) * (150 - lag)
        np.testing.assert_allclose(found, sums / (270 - 2 * lag), atol=1e-12)


def test_cumulants_match_their_definition():
    rng = np.random.default_rng(0)
    X = rng.laplace(size=(3, 2000)) + 5
    Q, W = codiag.cumulants(X)
    z = W @ (X - X.mean(axis=1, keepdims=True))
    np.testing.assert_allclose(z @ z.T / 2000, np.eye(3), atol=1e-12)
    pairs = [(i, j) for i in range(3) for j in range(i + 1)]
    one = np.eye(3)
    for matrix, (i, j) in zip(Q, pairs, strict=True):
        expected = (z[i] * z[j] * z) @ z.T / 2000 - (i == j) * one
        expected -= np.outer(one[i], one[j]) + np.outer(one[j], one[i])
        np.testing.assert_allclose(matrix, expected * (1 if i == j else 2**0.5), atol=1e-10)
    Q, W = codiag.cumulants(X, 2)
    assert Q.shape == (3, 2, 2) and W.shape == (2, 3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda X: codiag.lagged_covariances(X, []), "lags must be at least one"),
        (lambda X: codiag.lagged_covariances(X, [-1]), "lags must not be negative"),
        (lambda X: codiag.lagged_covariances(X, 0), "lags must be at least 1"),
        (lambda X: codiag.lagged_covariances(X, [100]), "100 for 100 samples without a gap"),
        (lambda X: codiag.lagged_covariances(X, 2, y=[1]), "y"),
        (lambda X: codiag.lagged_covariances(X[None], 2, bad_spans=[(0, 1)]), "leave epochs out"),
        (lambda X: codiag.cumulants(X, 4), "n_components must be"),
        (lambda X: codiag.SOBI(lags=[200]).fit(X), "lags must be shorter"),
        (lambda X: codiag.JADE(method="pham").fit(X), "does not support method=.pham"),
        (lambda X: codiag.JADE(init=np.eye(4)).fit(X), "init must be 3 x 3"),
        (lambda X: codiag.SOBI().fit(X * np.nan), "nan|NaN"),
    ],
)
def test_bad_input(call, message):
    X = np.random.default_rng(0).standard_normal((3, 100))
    with pytest.raises(ValueError, match=message):
        call(X)
    with pytest.raises(TypeError):
        codiag.lagged_covariances(X, [1.5])
