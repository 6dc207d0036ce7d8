"""JointDiagonalizer, the scikit-learn estimator."""

import pickle

import numpy as np
import pytest

import codiag

sklearn = pytest.importorskip("sklearn")
from sklearn.base import clone  # noqa: E402
from sklearn.exceptions import NotFittedError  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402
from sklearn.model_selection import GridSearchCV, cross_val_score  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.utils.estimator_checks import parametrize_with_checks  # noqa: E402


class OnRows(codiag.JointDiagonalizer):
    """Converts the rows that scikit-learn's checks generate to matrices.

    A row x becomes the positive definite matrix diag(exp t) + 0.1 t t' with t = tanh(x): enough to
    run the checks that are about conduct (parameters, cloning, pickling, state, shapes, input of
    all kinds) rather than about numbers.
    """

    def _matrices(self, X, reset):
        from sklearn.utils.validation import validate_data

        X = validate_data(self, X, dtype=np.float64, reset=reset)
        bounded = np.tanh(X)
        return np.einsum("ia,ab->iab", np.exp(bounded), np.eye(X.shape[1])) + 0.1 * np.einsum(
            "ia,ib->iab", bounded, bounded
        )

    def fit(self, X, y=None, sample_weight=None):
        return super().fit(self._matrices(X, reset=True), y, sample_weight)

    def partial_fit(self, X, y=None, sample_weight=None):
        first = not hasattr(self, "components_")
        matrices = self._matrices(X, reset=first)
        if first:
            return super().fit(matrices, y, sample_weight)
        return super().partial_fit(matrices, y, sample_weight)

    def transform(self, X):
        sklearn.utils.validation.check_is_fitted(self)
        return super().transform(self._matrices(X, reset=False))

    def score(self, X, y=None):
        return super().score(self._matrices(X, reset=False))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = True
        tags.input_tags.three_d_array = False
        return tags


# The estimator takes no two-dimensional arrays, so scikit-learn skips the checks that use them;
# the adapter accepts such arrays and passes all checks.
@parametrize_with_checks([codiag.JointDiagonalizer(), OnRows(on_failure="ignore")])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_fit_is_diagonalize(noisy, weights):
    model = codiag.JointDiagonalizer().fit(noisy, sample_weight=weights)
    result = codiag.diagonalize(noisy, sample_weight=weights)
    assert (model.components_ == result.B).all() and (model.mixing_ == result.A).all()
    assert (model.filters_ == result.B).all() and (model.patterns_ == result.A.T).all()
    assert model.result_.loss == result.loss and model.n_iter_ == result.n_iter
    assert model.n_features_in_ == 6
    features = model.transform(noisy)
    np.testing.assert_allclose(features, np.log(result.powers), atol=1e-10)
    assert list(model.get_feature_names_out())[:2] == ["jointdiagonalizer0", "jointdiagonalizer1"]


def test_inverse_transform():
    C, _ = codiag.datasets.synthetic(30, 5, sigma=0)
    model = codiag.JointDiagonalizer()
    # An exactly diagonalizable set is reconstructed.
    np.testing.assert_allclose(model.inverse_transform(model.fit_transform(C)), C, atol=1e-6)
    with pytest.raises(ValueError, match=r"\(n, 5\)"):
        model.inverse_transform(np.ones((2, 4)))


def test_n_components(noisy):
    lift = np.linalg.qr(np.random.default_rng(0).standard_normal((9, 6)))[0]
    C = lift @ noisy @ lift.T
    model = codiag.JointDiagonalizer(n_components="auto").fit(C)
    assert model.transform(C).shape == (40, 6) and model.components_.shape == (6, 9)
    assert model.inverse_transform(model.transform(C)).shape == (40, 9, 9)
    assert model.score(C) == pytest.approx(-model.result_.loss, abs=1e-9)
    assert len(model.get_feature_names_out()) == 6
    model.partial_fit(C[:3])
    assert model.components_.shape == (6, 9)


def test_partial_fit_is_a_tracker(noisy, weights):
    choices = {"window": 25, "forgetting": 0.95, "tol": 1e-8}
    model = codiag.JointDiagonalizer(**choices)
    tracker = codiag.Tracker(**choices)
    for part, own in zip(np.split(noisy, 8), np.split(weights, 8)):
        assert model.partial_fit(part, sample_weight=own) is model
        assert (model.components_ == tracker.push(part, own).B).all()
    assert (model.mixing_ == tracker.A).all() and model.n_samples_seen_ == 40
    assert len(model.result_.residuals) == 25
    again = pickle.loads(pickle.dumps(model))
    more = noisy[:1] * 2
    assert (again.partial_fit(more).components_ == model.partial_fit(more).components_).all()
    with pytest.raises(ValueError, match="5 features"):
        model.partial_fit(noisy[:, :5, :5])


def test_partial_fit_continues_from_fit(noisy):
    model = codiag.JointDiagonalizer(window=30, forgetting=1.0).fit(noisy[:35])
    fitted = model.components_
    model.partial_fit(noisy[35:])
    assert model.n_samples_seen_ == 40
    # The last 30 matrices; the components keep their order.
    last = codiag.diagonalize(noisy[10:], init=fitted, canonical=False)
    np.testing.assert_allclose(model.components_, last.B, atol=1e-6)
    # Parameters may change between calls.
    model.set_params(window=10, max_iter=0, on_failure="ignore").partial_fit(noisy[:1])
    assert len(model.result_.residuals) == 10 and model.n_iter_ == 0


def test_failed_partial_fit_leaves_the_estimator_unfitted(noisy):
    model = codiag.JointDiagonalizer()
    with pytest.raises(ValueError, match="matrix 0"):
        model.partial_fit(noisy * np.nan)
    with pytest.raises(NotFittedError):
        model.transform(noisy)
    with pytest.raises(ValueError, match="forgetting"):
        codiag.JointDiagonalizer(forgetting=0).partial_fit(noisy)


def test_score_is_minus_the_loss(noisy):
    model = codiag.JointDiagonalizer().fit(noisy[:30])
    assert model.score(noisy[:30]) == pytest.approx(-model.result_.loss, abs=1e-10)
    held_out = codiag.loss(noisy[30:], model.components_)
    assert model.score(noisy[30:]) == pytest.approx(-held_out, abs=1e-10)
    assert np.isfinite(cross_val_score(codiag.JointDiagonalizer(), noisy, cv=4)).all()


def test_unfitted(noisy):
    model = codiag.JointDiagonalizer()
    for use in (model.transform, model.score):
        with pytest.raises(NotFittedError):
            use(noisy)
    with pytest.raises(NotFittedError):
        model.inverse_transform(np.ones((2, 6)))


def test_transform_of_bad_matrices(noisy):
    model = codiag.JointDiagonalizer().fit(noisy)
    with pytest.raises(ValueError, match=r"5 features.*expecting 6"):
        model.transform(noisy[:, :5, :5])
    with pytest.raises(ValueError, match=r"matrix 1: component 0 .*positive definite"):
        model.transform(np.stack([noisy[0], -noisy[0]]))


def test_clone_pickle_and_parameters(noisy):
    model = codiag.JointDiagonalizer(method="pham", init=np.eye(6), tol=1e-6).fit(noisy)
    copy = clone(model)
    assert not hasattr(copy, "components_") and copy.method == "pham"
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.transform(noisy), model.transform(noisy))
    assert model.get_params()["tol"] == 1e-6
    assert "method='pham'" in repr(model)


def test_pipeline_and_grid_search(epochs):
    covariances = pytest.importorskip("pyriemann.estimation").Covariances
    X, y = epochs
    pipeline = make_pipeline(
        covariances("oas"), codiag.JointDiagonalizer(), LogisticRegression(max_iter=1000)
    )
    search = GridSearchCV(
        pipeline,
        {
            "jointdiagonalizer__shrinkage": [0.0, 0.1],
            "jointdiagonalizer__orthogonal": [False, True],
            "jointdiagonalizer__method": ["quasi-newton"],
        },
        cv=3,
        n_jobs=2,
        error_score="raise",
    )
    search.fit(X, y)
    assert search.best_score_ > 0.9
    assert (search.predict(X) == y).mean() > 0.9


def test_pandas_output(noisy):
    pytest.importorskip("pandas")
    table = codiag.JointDiagonalizer().set_output(transform="pandas").fit_transform(noisy)
    assert table.shape == (40, 6) and table.columns[0] == "jointdiagonalizer0"
