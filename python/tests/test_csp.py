"""Common spatial patterns."""

import numpy as np
import pytest

import codiag

pytest.importorskip("sklearn")
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks


@pytest.fixture(scope="module")
def motor():
    """Epochs of three classes; in each class, the power of another one of ten sources is lower."""
    rng = np.random.default_rng(1)
    labels = rng.permutation(np.repeat(["left", "right", "feet"], [30, 40, 50]))
    numbers = np.unique(labels, return_inverse=True)[1]
    powers = np.exp(0.3 * rng.standard_normal((120, 10)))
    powers[np.arange(120), numbers] *= 0.1
    mixing = rng.standard_normal((10, 10))
    return mixing @ (np.sqrt(powers)[:, :, None] * rng.standard_normal((120, 10, 150))), labels


def test_sources_that_differ_between_classes_are_found(motor):
    X, y = motor
    csp = codiag.CSP(n_components=3).fit(X, y)
    assert csp.filters_.shape == (3, 10) and csp.patterns_.shape == (3, 10)
    np.testing.assert_allclose(csp.filters_ @ csp.patterns_.T, np.eye(3), atol=1e-10)
    assert sorted(csp.powers_.argmin(axis=0)) == [0, 1, 2]  # one for each class
    assert (np.diff(csp.mutual_information_) <= 0).all()
    everything = codiag.CSP(n_components=99).fit(X, y)
    assert everything.filters_.shape == (10, 10)
    assert everything.mutual_information_[3] < 0.2 * everything.mutual_information_[2]
    np.testing.assert_array_equal(everything.all_filters_, everything.filters_)
    assert list(csp.get_feature_names_out()) == ["csp0", "csp1", "csp2"]


def test_mutual_information_matches_mne(motor):
    pytest.importorskip("mne")
    ged = pytest.importorskip("mne.decoding._mod_ged")
    X, y = motor
    csp = codiag.CSP(n_components=10, rank="full").fit(X, y)
    covs = codiag.epoch_covariances(X, y)
    counts = np.unique(y, return_counts=True)[1]
    expected = ged._compute_mutual_info(covs, counts, csp.filters_.T)
    np.testing.assert_allclose(csp.mutual_information_, expected, rtol=1e-8)


def test_two_classes_are_generalized_eigenvectors(motor):
    linalg = pytest.importorskip("scipy.linalg")
    X, y = motor
    X, y = X[y != "feet"], y[y != "feet"]
    csp = codiag.CSP(n_components=10).fit(X, y)
    one, other = codiag.epoch_covariances(X, y)
    values = linalg.eigh(one, one + other, eigvals_only=True)
    ratios = csp.powers_[0] / csp.powers_.sum(axis=0)
    np.testing.assert_allclose(np.sort(ratios), np.sort(values), rtol=1e-6)


def test_features(motor):
    X, y = motor
    csp = codiag.CSP(n_components=4).fit(X, y)
    features = csp.transform(X)
    np.testing.assert_allclose(features, np.log((csp.filters_ @ X).var(axis=-1)))
    powers = codiag.CSP(n_components=4, log=False).fit_transform(X, y)
    np.testing.assert_allclose(np.log(powers), features)
    C = codiag.epoch_covariances(X)
    same = codiag.CSP(n_components=4).fit(C, y)
    np.testing.assert_allclose(same.filters_, csp.filters_, rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(same.transform(C), features, rtol=1e-5, atol=1e-6)


def test_sample_weight_and_class_weights(motor):
    X, y = motor
    twice = codiag.CSP(3).fit(np.concatenate([X, X[:20]]), np.concatenate([y, y[:20]]))
    weighted = codiag.CSP(3).fit(X, y, sample_weight=1.0 + (np.arange(120) < 20))
    np.testing.assert_allclose(weighted.filters_, twice.filters_, rtol=1e-6, atol=1e-9)
    equal = codiag.CSP(3, class_weights="equal").fit(X, y)
    np.testing.assert_allclose(equal.powers_.mean(axis=0), 1, rtol=1e-6)


def test_reduced_rank_and_few_samples(motor):
    X, y = motor
    referenced = X - X.mean(axis=1, keepdims=True)
    csp = codiag.CSP(3).fit(referenced, y)
    assert csp.all_filters_.shape == (9, 10)
    short = X[:9, :, :4]
    labels = ["a", "b", "c"] * 3
    with pytest.raises(ValueError):
        codiag.CSP(3, rank="full").fit(short[:3], labels[:3])
    assert np.isfinite(codiag.CSP(3, shrinkage="auto").fit(short, labels).transform(short)).all()


def test_pipeline_and_grid(motor):
    X, y = motor
    pipeline = make_pipeline(codiag.CSP(), LinearDiscriminantAnalysis())
    assert cross_val_score(pipeline, X, y, cv=4).mean() > 0.8
    parameters = {"csp__n_components": [1, 3], "csp__shrinkage": [0.0, "auto"]}
    grid = GridSearchCV(pipeline, parameters, cv=3)
    assert grid.fit(X, y).best_params_["csp__n_components"] == 3


def test_init_from_a_group(motor):
    X, y = motor
    group = codiag.CSP(10).fit(X, y)
    subject = codiag.CSP(3, init=group.all_filters_).fit(X[::2], y[::2])
    alone = codiag.CSP(3).fit(X[::2], y[::2])
    np.testing.assert_allclose(subject.filters_, alone.filters_, rtol=1e-4, atol=1e-6)


def test_mne_epochs(motor):
    mne = pytest.importorskip("mne")
    X, y = motor
    info = mne.create_info([f"C{k}" for k in range(10)] + ["EOG"], 100.0, ["eeg"] * 10 + ["eog"])
    both = np.concatenate([X, X[:, :1]], axis=1)
    epochs = mne.EpochsArray(both, info, verbose="error")
    csp = codiag.CSP(3).fit(epochs, y)
    assert csp.info_["ch_names"] == [f"C{k}" for k in range(10)]
    np.testing.assert_allclose(csp.transform(epochs), codiag.CSP(3).fit_transform(X, y), rtol=1e-6)
    with pytest.raises(ValueError, match="fitted channels are missing: C3"):
        csp.transform(epochs.copy().drop_channels(["C3"]))


def test_topographies(motor):
    mne, plt = pytest.importorskip("mne"), pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("agg")
    X, y = motor
    names = mne.channels.make_standard_montage("biosemi16").ch_names[:10]
    info = mne.create_info(names, 100.0, "eeg").set_montage("biosemi16")
    csp = codiag.CSP(3).fit(mne.EpochsArray(X, info, verbose="error"), y)
    titles = [ax.get_title() for ax in csp.plot_patterns(show=False).axes]
    assert titles == ["CSP0", "CSP1", "CSP2"]
    array = codiag.CSP(3).fit(X, y)
    assert len(array.plot_patterns(info=info, show=False).axes) == 3
    with pytest.raises(ValueError, match=r"info=raw\.info"):
        array.plot_patterns()
    plt.close("all")


def test_bad_input(motor):
    X, y = motor
    for wrong, match in [
        ((X, y[:-1]), "one label per epoch"),
        ((X, ["a"] * 120), "at least two classes"),
        ((X[0], y), "got shape"),
        ((np.full_like(X, np.nan), y), r"X\[0, 0, 0\] is nan"),
    ]:
        with pytest.raises(ValueError, match=match):
            codiag.CSP().fit(*wrong)
    with pytest.raises(ValueError, match="n_components must be at least 1"):
        codiag.CSP(0).fit(X, y)
    with pytest.raises(ValueError, match="class_weights"):
        codiag.CSP(class_weights="even").fit(X, y)
    with pytest.raises(ValueError, match="9 channels, but CSP is expecting 10"):
        codiag.CSP().fit(X, y).transform(X[:, :9])


class AsTable(codiag.CSP):
    """Converts the rows that scikit-learn's checks generate to covariances."""

    def fit(self, X, y=None, sample_weight=None):
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None"
            )
        X, y = self._validate(X, y)
        self.n_features_in_ = X.shape[1]
        super().fit(self._cube(X), y, sample_weight)
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X):
        from sklearn.utils.validation import check_is_fitted, validate_data

        check_is_fitted(self)
        X = validate_data(self, X, reset=False)
        return super().transform(self._cube(X))

    def _validate(self, X, y):
        from sklearn.utils.multiclass import check_classification_targets
        from sklearn.utils.validation import validate_data

        X, y = validate_data(self, X, y, ensure_min_samples=2)
        check_classification_targets(y)
        return X, y

    @staticmethod
    def _cube(X):
        # The outer product of each row with itself, plus the identity.
        return X[:, :, None] * X[:, None, :] + np.eye(X.shape[1])

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = True
        tags.input_tags.three_d_array = False
        return tags


# The adapter lets scikit-learn's checks of two-dimensional arrays run. They compare two fits of 30
# channels to seven digits, which needs a smaller tolerance than the default.
@parametrize_with_checks([codiag.CSP(), AsTable(on_failure="ignore", tol=1e-10)])
def test_scikit_learn(estimator, check):
    check(estimator)
