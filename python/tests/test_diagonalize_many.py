"""codiag.diagonalize_many and codiag.bootstrap."""

import numpy as np
import pytest

import codiag


@pytest.fixture(scope="module")
def sets():
    return [codiag.datasets.synthetic(20 + k, 3 + k % 4, random_state=k)[0] for k in range(12)]


def test_results_match_single_solves(sets):
    results = codiag.diagonalize_many(sets)
    assert len(results) == 12
    for C, result in zip(sets, results):
        alone = codiag.diagonalize(C, n_jobs=1)
        assert (result.B == alone.B).all() and result.loss == alone.loss


@pytest.mark.parametrize("n_jobs", [1, 2, 5])
def test_results_do_not_depend_on_n_jobs(sets, n_jobs):
    weights = [None if k % 2 else np.arange(len(C)) + 1.0 for k, C in enumerate(sets)]
    default = codiag.diagonalize_many(sets, sample_weight=weights)
    chosen = codiag.diagonalize_many(sets, sample_weight=weights, n_jobs=n_jobs)
    for one, other in zip(default, chosen):
        assert (one.B == other.B).all()


def test_weights_and_options(sets):
    weights = [np.arange(len(C)) + 1.0 for C in sets]
    options = {"method": "quasi-newton", "init": "whitener", "tol": 1e-6}
    results = codiag.diagonalize_many(sets, sample_weight=weights, **options)
    for C, w, result in zip(sets, weights, results):
        alone = codiag.diagonalize(C, sample_weight=w, n_jobs=1, **options)
        assert (result.B == alone.B).all()


def test_any_iterable(sets):
    assert codiag.diagonalize_many([]) == []
    assert len(codiag.diagonalize_many(C.tolist() for C in sets[:3])) == 3
    assert len(codiag.diagonalize_many(np.stack([sets[0]] * 3))) == 3


def test_one_warning_names_all_failures(sets):
    options = {"method": "quasi-newton", "max_iter": 1}
    with pytest.warns(codiag.ConvergenceWarning, match="12 of 12 .*sets 0, 1, .*…") as caught:
        codiag.diagonalize_many(sets, **options)
    assert len(caught) == 1 and caught[0].filename == __file__
    with pytest.raises(codiag.ConvergenceError):
        codiag.diagonalize_many(sets, **options, on_failure="raise")
    results = codiag.diagonalize_many(sets, **options, on_failure="ignore")
    assert not any(result.converged for result in results)


class TestBootstrap:
    def test_identifiable_components_have_high_confidence(self):
        C, _ = codiag.datasets.synthetic(100, 5, sigma=0.01)
        stable = codiag.bootstrap(C, n_resamples=30)
        assert stable.similarity.shape == (30, 5) and len(stable.results) == 30
        assert (stable.confidence > 0.999).all()
        assert (stable.result.B == codiag.diagonalize(C, tol=1e-6, n_jobs=1).B).all()
        assert "30 resamples, 5 components" in repr(stable)

    def test_unidentifiable_components_have_low_confidence(self):
        rng = np.random.default_rng(0)
        powers = rng.uniform(0.2, 2, (60, 4))
        powers[:, 3] = powers[:, 2]
        factors = rng.standard_normal((60, 4, 400)) * np.sqrt(powers)[:, :, None]
        C = factors @ factors.transpose(0, 2, 1) / 400
        stable = codiag.bootstrap(C, n_resamples=40)
        assert (stable.similarity <= 1).all() and (stable.similarity >= 0).all()
        # Two of the four components differ by noise only.
        order = np.sort(stable.confidence)
        assert order[1] < 0.99 < order[2]

    def test_random_state(self, noisy, weights):
        one = codiag.bootstrap(
            noisy, n_resamples=5, sample_weight=weights, random_state=3, n_jobs=1
        )
        other = codiag.bootstrap(
            noisy, n_resamples=5, sample_weight=weights, random_state=3, n_jobs=3
        )
        assert (one.similarity == other.similarity).all()
        different = codiag.bootstrap(noisy, n_resamples=5, sample_weight=weights, random_state=4)
        assert (one.similarity != different.similarity).any()
        generator = np.random.default_rng(3)
        again = codiag.bootstrap(
            noisy, n_resamples=5, sample_weight=weights, random_state=generator
        )
        assert (one.similarity == again.similarity).all()

    def test_n_components(self, noisy):
        lift = np.linalg.qr(np.random.default_rng(0).standard_normal((9, 6)))[0]
        stable = codiag.bootstrap(lift @ noisy @ lift.T, n_resamples=5, n_components="auto")
        assert stable.confidence.shape == (6,)
        assert (stable.confidence > 0.5).all()
