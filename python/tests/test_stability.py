"""Stability of components, estimated by resamples and restarts."""

import numpy as np
import pytest

import codiag


@pytest.fixture(scope="module")
def ambiguous():
    """Covariances of four sources, two of which have the same power in every matrix."""
    rng = np.random.default_rng(0)
    powers = rng.uniform(0.2, 2, (60, 4))
    powers[:, 3] = powers[:, 2]
    mixing = rng.standard_normal((4, 4))
    factors = mixing @ (rng.standard_normal((60, 4, 400)) * np.sqrt(powers)[:, :, None])
    return factors @ factors.transpose(0, 2, 1) / 400, mixing


def test_stability_is_none_by_default(noisy):
    result = codiag.diagonalize(noisy)
    assert result.stability is None and result.matches is None
    assert "stability" not in repr(result)
    # A single matrix cannot be resampled.
    assert codiag.diagonalize(noisy[:1], n_resamples=5).stability is None


def test_unidentifiable_sources_have_low_stability(ambiguous):
    C, mixing = ambiguous
    result = codiag.diagonalize(C, n_resamples=40)
    assert result.matches.shape == (40, 4)
    np.testing.assert_array_equal(result.stability, np.median(result.matches, axis=0))
    # The simulation tells which two sources are unidentifiable.
    gains = np.abs(result.B @ mixing)
    confounded = np.isin(gains.argmax(axis=1), [2, 3])
    assert confounded.sum() == 2
    assert result.stability[~confounded].min() > 0.999 > result.stability[confounded].max()
    assert "of 4 components at least 0.9" in repr(result)
    assert "stability" in result._repr_html_()


def test_sort_by_stability(ambiguous):
    C, _ = ambiguous
    by_contrast = codiag.diagonalize(C, n_resamples=20)
    result = codiag.diagonalize(C, n_resamples=20, sort_by="stability")
    assert (np.diff(result.stability) <= 0).all()
    order = np.argsort(-by_contrast.stability, kind="stable")
    np.testing.assert_array_equal(result.B, by_contrast.B[order])
    np.testing.assert_array_equal(result.A, by_contrast.A[:, order])
    np.testing.assert_array_equal(result.powers, by_contrast.powers[:, order])
    np.testing.assert_array_equal(result.matches, by_contrast.matches[:, order])
    with pytest.raises(ValueError, match=r'sort_by="stability" requires.*n_resamples=20'):
        codiag.diagonalize(C, sort_by="stability")
    with pytest.raises(ValueError, match=r'sort_by .*"contrast" or "stability"'):
        codiag.diagonalize(C, sort_by="size")
    with pytest.raises(ValueError, match="n_resamples must not be negative"):
        codiag.diagonalize(C, n_resamples=-1)


def test_restarts_count_as_trials(noisy):
    # If only the lowest loss is requested, restarts may stop early and give no stability.
    assert codiag.diagonalize(noisy, n_restarts=3).stability is None
    result = codiag.diagonalize(noisy, n_restarts=3, sort_by="stability")
    near = result.start_losses <= result.loss * (1 + 1e-3) + 1e-12
    assert len(result.matches) == near.sum() - 1  # all except the result itself
    both = codiag.diagonalize(noisy, n_restarts=3, n_resamples=4)
    assert len(both.matches) == len(result.matches) + 4
    np.testing.assert_array_equal(
        np.sort(both.matches[:-4], axis=1), np.sort(result.matches, axis=1)
    )


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_stability_does_not_depend_on_n_jobs(noisy, weights, n_jobs):
    # Large enough for several resamples to be solved in parallel.
    C, _ = codiag.datasets.synthetic(100, 12, random_state=2)
    one = codiag.diagonalize(C, n_resamples=15)
    other = codiag.diagonalize(C, n_resamples=15, n_jobs=n_jobs)
    np.testing.assert_array_equal(one.matches, other.matches)
    one = codiag.diagonalize(noisy, sample_weight=weights, n_resamples=7)
    other = codiag.diagonalize(noisy, sample_weight=weights, n_resamples=7, n_jobs=n_jobs)
    np.testing.assert_array_equal(one.matches, other.matches)


def test_complex_and_other_criteria():
    C, _ = codiag.datasets.synthetic(60, 4, sigma=0.01, complex=True)
    assert codiag.diagonalize(C, n_resamples=5).stability.min() > 0.99
    C, _ = codiag.datasets.synthetic(60, 4, sigma=0.01)
    for criterion in ("frobenius", "least-squares"):
        result = codiag.diagonalize(C, criterion=criterion, n_resamples=5)
        assert result.matches.shape == (5, 4) and (result.stability > 0).all()


def test_callbacks_and_stopping(noisy):
    seen = []
    result = codiag.diagonalize(noisy, n_resamples=3, callback=lambda record: seen.append(record))
    resampled = [record for record in seen if record.stage == "sample"]
    assert {record.start for record in resampled} == {1, 2, 3}
    assert len(result.history["loss"]) == sum(record.stage != "sample" for record in seen)
    assert (np.diff([record.seconds for record in seen]) >= 0).all()
    interrupted = codiag.diagonalize(
        noisy,
        n_resamples=50,
        callback=lambda record: record.start == 2,
        n_jobs=1,
        on_failure="ignore",
    )
    assert interrupted.status == "interrupted" and len(interrupted.matches) == 1


def test_resamples_need_matrices_in_memory(tmp_path):
    np.save(tmp_path / "C.npy", codiag.datasets.synthetic(4000, 10)[0])
    with pytest.raises(ValueError, match="n_resamples requires all matrices in memory"):
        codiag.diagonalize(tmp_path / "C.npy", n_resamples=5, memory="3MB")
    # Restarts work for matrices in files as well.
    tried = codiag.diagonalize(tmp_path / "C.npy", n_restarts=1, sort_by="stability", memory="3MB")
    assert tried.stability.min() > 0.9


def test_stability_is_saved(ambiguous, tmp_path):
    result = codiag.diagonalize(ambiguous[0], n_resamples=5)
    result.save(tmp_path / "result.npz")
    again = codiag.load(tmp_path / "result.npz")
    np.testing.assert_array_equal(again.stability, result.stability)
    np.testing.assert_array_equal(again.matches, result.matches)


class TestBootstrapOfAModel:
    """codiag.bootstrap with `model`."""

    def test_result(self, ambiguous):
        C, _ = ambiguous
        result = codiag.diagonalize(C)
        found = codiag.bootstrap(C, 10, model=result)
        assert found.similarity.shape == (10, 4) and len(found.results) == 10
        np.testing.assert_array_equal(found.result.B, result.B)
        np.testing.assert_array_equal(found.result.stability, found.stability)
        with pytest.raises(ValueError, match="4 channels"):
            codiag.bootstrap(C[:, :3, :3], 10, model=result)

    def test_estimators(self, ambiguous):
        pytest.importorskip("sklearn")
        C, _ = ambiguous
        model = codiag.JointDiagonalizer().fit(C)
        assert model.stability_ is None
        found = codiag.bootstrap(C, 10, model=model)
        np.testing.assert_array_equal(model.stability_, found.stability)
        np.testing.assert_array_equal(model.result_.stability, found.stability)
        assert codiag.JointDiagonalizer(n_resamples=5).fit(C).stability_.shape == (4,)

    def test_recordings(self):
        pytest.importorskip("sklearn")
        X = recording()
        for model in (codiag.SourceSeparation(), codiag.SOBI(lags=20), codiag.JADE()):
            model.fit(X)
            found = codiag.bootstrap(X, 10, model=model)
            assert found.similarity.shape == (10, 4)
            at_once = model.set_params(n_resamples=10).fit(X)
            np.testing.assert_allclose(at_once.result_.matches, found.similarity, atol=1e-4)
        with pytest.raises(ValueError, match="not the recording"):
            codiag.bootstrap(recording(1), 10, model=model)


def recording(seed=0):
    """Four sources that differ in powers over time, spectra and kurtosis."""
    rng = np.random.default_rng(seed)
    powers = np.repeat(np.exp(rng.standard_normal((4, 100))), 200, axis=1)
    poles = np.array([0.9, 0.5, 0.0, -0.6])
    noise = rng.standard_normal((4, 20_000))
    for t in range(1, noise.shape[1]):
        noise[:, t] += poles * noise[:, t - 1]
    return rng.standard_normal((4, 4)) @ (powers * noise)


def test_separations():
    pytest.importorskip("sklearn")
    X = recording()
    model = codiag.SourceSeparation(n_resamples=10, sort_by="stability").fit(X)
    assert (np.diff(model.stability_) <= 0).all() and model.stability_.min() > 0.9
    np.testing.assert_allclose(model.filters_ @ model.mixing_, np.eye(4), atol=1e-10)
    kurtosis = codiag.JADE().fit(X).kurtosis_
    jade = codiag.JADE(n_resamples=10, sort_by="stability").fit(X)
    sources = jade.transform(X)
    sources -= sources.mean(axis=1, keepdims=True)
    np.testing.assert_allclose((sources**4).mean(axis=1) - 3, jade.kurtosis_, rtol=1e-6)
    np.testing.assert_allclose(sorted(jade.kurtosis_), sorted(kurtosis))
    assert codiag.AMUSE().fit(X).stability_ is None


def colored(poles, seed, samples=20_000, gaussian=True):
    """Autoregressive sources with the given poles; all seeds have the same mixing."""
    rng = np.random.default_rng([seed, 7])
    draw = rng.standard_normal if gaussian else rng.laplace
    noise = draw(size=(len(poles), samples))
    for t in range(1, samples):
        noise[:, t] += poles * noise[:, t - 1]
    return np.random.default_rng(3).standard_normal((len(poles), len(poles))) @ noise


def matches(B, other, X):
    """Absolute correlation of each source with the best matching source of other filters."""
    return np.abs(np.corrcoef(B @ X, other @ X)[: len(B), len(B) :]).max(axis=1)


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("SOBI", lambda n: codiag.SOBI(lags=10, n_resamples=n)),
        ("SOBI, not orthogonal", lambda n: codiag.SOBI(lags=10, orthogonal=False, n_resamples=n)),
        ("AMUSE", lambda n: codiag.AMUSE(n_resamples=n)),
        ("JADE", lambda n: codiag.JADE(n_resamples=n)),
        ("bands", lambda n: codiag.SourceSeparation(bands=8, sfreq=100, n_resamples=n)),
    ],
)
def test_stability_predicts_the_change_in_another_recording(name, model):
    """Here all matrices are of the whole recording, so that blocks of time are resampled."""
    pytest.importorskip("sklearn")
    poles = np.array([0.8, 0.5, 0.45, -0.5])
    gaussian = name != "JADE"
    X = colored(poles, 0, gaussian=gaussian)
    fitted = model(30).fit(X)
    assert fitted.result_.matches.shape == (30, 4)
    others = [
        model(0).fit(colored(poles, seed, gaussian=gaussian)).filters_ for seed in range(1, 21)
    ]
    change = 1 - np.median([matches(fitted.filters_, B, X) for B in others], axis=0)
    # Two recordings differ twice as much as a resample and the recording it is drawn from.
    ratio = change / (1 - fitted.stability_)
    assert 0.5 < np.exp(np.log(ratio).mean()) < 8, ratio
    np.testing.assert_array_equal(
        model(30).set_params(n_jobs=1).fit(X).stability_, fitted.stability_
    )


def test_sources_of_equal_autocorrelation_have_low_stability():
    pytest.importorskip("sklearn")
    X = colored(np.array([0.9, 0.4, 0.4, -0.6]), 0)
    sobi = codiag.SOBI(lags=10, n_resamples=20).fit(X)
    order = np.argsort(sobi.stability_)
    assert sobi.stability_[order[:2]].max() < 0.98 < 0.999 < sobi.stability_[order[2:]].min()
    again = codiag.SOBI(lags=10, n_resamples=20, sort_by="stability").fit(X)
    np.testing.assert_allclose(again.stability_, sobi.stability_[order[::-1]])
    # AMUSE has a single matrix; its blocks of time are resampled.
    amuse = codiag.AMUSE().fit(X)
    found = codiag.bootstrap(X, 10, model=amuse)
    np.testing.assert_array_equal(amuse.stability_, found.stability)
