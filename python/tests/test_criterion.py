"""The Frobenius and least-squares criteria, for symmetric matrices that may be indefinite."""

import numpy as np
import pytest

import codiag


def rotated(n, p, sigma, seed):
    """Matrices that an orthogonal matrix diagonalizes, up to noise."""
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((p, p)))[0]
    noise = rng.standard_normal((n, p, p))
    C = (Q * rng.standard_normal((n, 1, p))) @ Q.T
    return C + sigma * (noise + noise.transpose(0, 2, 1)) / 2, Q


def off_diagonal_fraction(C, B):
    D = B @ C @ B.T
    diagonals = np.diagonal(D, axis1=1, axis2=2)
    return 1 - np.sum(diagonals**2) / np.sum(C**2)


@pytest.mark.parametrize("method", ["newton", "quasi-newton", "jacobi"])
def test_frobenius_loss_is_the_off_diagonal_energy_fraction(method):
    C, _ = rotated(60, 8, 0.1, 0)
    result = codiag.diagonalize(C, criterion="frobenius", method=method)
    assert result.converged
    assert np.allclose(result.B @ result.B.T, np.eye(8), atol=1e-12)
    assert result.loss == pytest.approx(off_diagonal_fraction(C, result.B), abs=1e-12)
    newton = codiag.diagonalize(C, criterion="frobenius")
    assert result.loss == pytest.approx(newton.loss, abs=1e-9)


def test_exact_sets_are_recovered():
    C, Q = rotated(30, 6, 0.0, 1)
    result = codiag.diagonalize(C, criterion="frobenius")
    assert result.converged and codiag.amari_distance(result.B, Q) < 1e-10


def test_file_with_limited_memory(tmp_path):
    C, _ = rotated(500, 6, 0.3, 2)
    path = tmp_path / "C.npy"
    np.save(path, C)
    options = {"criterion": "frobenius", "tol": 1e-11}
    expected = codiag.diagonalize(C, **options)
    result = codiag.diagonalize(path, memory="3MB", **options)
    assert result.converged and expected.converged
    assert result.loss == pytest.approx(expected.loss, abs=1e-11)
    assert np.allclose(result.B, expected.B, atol=1e-8)


def test_unsupported_methods_raise():
    C, _ = rotated(10, 4, 0.1, 3)
    with pytest.raises(
        ValueError, match='use method="newton", method="quasi-newton" or method="jacobi"'
    ):
        codiag.diagonalize(C, criterion="frobenius", method="pham")
    with pytest.raises(
        ValueError, match=r'criterion .*"likelihood", "frobenius" or "least-squares"'
    ):
        codiag.diagonalize(C, criterion="varimax")
    with pytest.raises(ValueError, match=r'not positive definite.*criterion="frobenius"'):
        codiag.diagonalize(C)


def test_loss_and_gradient_of_least_squares():
    C, A = mixed(20, 5, 0.2, 4)
    B = np.linalg.inv(A) + 0.1
    assert codiag.loss(C, B, criterion="least-squares") == pytest.approx(
        fit(C, np.linalg.inv(B))[1]
    )
    G = codiag.gradient(C, B, criterion="least-squares")
    E = np.random.default_rng(6).standard_normal((5, 5))
    step = 1e-6

    def at(t):
        return codiag.loss(C, (np.eye(5) + t * E) @ B, criterion="least-squares")

    assert np.sum(G * E) == pytest.approx((at(step) - at(-step)) / (2 * step), rel=1e-5)


def test_loss_and_gradient_at_any_rotation():
    C, _ = rotated(20, 5, 0.2, 4)
    B = np.linalg.qr(np.random.default_rng(5).standard_normal((5, 5)))[0]
    assert codiag.loss(C, B, criterion="frobenius") == pytest.approx(off_diagonal_fraction(C, B))
    G = codiag.gradient(C, B, criterion="frobenius")
    E = np.random.default_rng(6).standard_normal((5, 5))
    E -= E.T
    step = 1e-6

    def at(t):
        return 1 - np.sum(np.diagonal(moved(t), axis1=1, axis2=2) ** 2) / np.sum(C**2)

    def moved(t):
        M = (np.eye(5) + t * E) @ B
        return M @ C @ M.T

    assert np.sum(G * E) == pytest.approx((at(step) - at(-step)) / (2 * step), rel=1e-6)


def test_result_names_the_criterion(tmp_path):
    C, _ = rotated(20, 4, 0.2, 7)
    result = codiag.diagonalize(C, criterion="frobenius")
    assert result.criterion == "frobenius" and "of the energy" in repr(result)
    assert "of the energy" in result._repr_html_()
    result.save(tmp_path / "result.npz")
    assert codiag.load(tmp_path / "result.npz").criterion == "frobenius"
    C, _ = codiag.datasets.synthetic(20, 4)
    assert codiag.diagonalize(C).criterion == "likelihood"


def test_many_and_bootstrap():
    sets = [rotated(40, 5, 0.2, seed)[0] for seed in range(3)]
    for C, result in zip(sets, codiag.diagonalize_many(sets, criterion="frobenius")):
        np.testing.assert_array_equal(result.B, codiag.diagonalize(C, criterion="frobenius").B)
    stable = codiag.bootstrap(sets[0], n_resamples=10, criterion="frobenius")
    assert stable.confidence.shape == (5,) and stable.confidence.min() > 0.9
    assert stable.result.criterion == "frobenius"


def test_estimator():
    C, _ = rotated(40, 5, 0.2, 8)
    model = codiag.JointDiagonalizer(criterion="frobenius")
    features = model.fit_transform(C)
    np.testing.assert_allclose(features, model.result_.powers, atol=1e-12)
    assert (features < 0).any()
    assert model.score(C) == pytest.approx(-model.result_.loss)
    again = model.inverse_transform(features)
    np.testing.assert_allclose(model.transform(again), features, atol=1e-12)
    # One more matrix changes the rotation slightly; components keep their rows.
    before = model.filters_
    model.partial_fit(rotated(1, 5, 0.2, 9)[0])
    assert (np.abs(np.sum(before * model.filters_, axis=1)) > 0.8).all()


def test_tracker_follows_a_rotation():
    C, Q = rotated(60, 4, 0.0, 10)
    tracker = codiag.Tracker(criterion="frobenius", window=30)
    for matrix in C:
        tracker.push(matrix)
    assert codiag.amari_distance(tracker.B, Q) < 1e-6


def test_on_a_cluster():
    distributed = pytest.importorskip("distributed")
    array = pytest.importorskip("dask.array")
    C, _ = rotated(90, 5, 0.3, 11)
    options = {"criterion": "frobenius", "tol": 1e-11}
    expected = codiag.diagonalize(C, **options)
    with distributed.Client(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
    ):
        result = codiag.diagonalize(array.from_array(C, chunks=(30, 5, 5)), **options)
    np.testing.assert_allclose(result.B, expected.B, atol=1e-8)
    assert result.criterion == "frobenius"


def mixed(n, p, sigma, seed):
    """Matrices that one matrix diagonalizes, up to noise."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((p, p))
    noise = rng.standard_normal((n, p, p))
    C = (A * rng.standard_normal((n, 1, p))) @ A.T
    return C + sigma * (noise + noise.transpose(0, 2, 1)) / 2, A


def fit(C, A):
    """Returns the least-squares diagonals and the residual energy fraction."""
    terms = np.einsum("ka,la->akl", A, A).reshape(A.shape[1], -1)
    flat = C.reshape(len(C), -1)
    diagonals = np.linalg.lstsq(terms.T, flat.T, rcond=None)[0].T
    return diagonals, np.sum((flat - diagonals @ terms) ** 2) / np.sum(C**2)


class TestLeastSquares:
    @pytest.mark.parametrize("method", ["newton", "acdc", "uwedge", "ffdiag"])
    def test_loss_is_the_residual_energy_fraction(self, method):
        C, _ = mixed(60, 8, 0.3, 0)
        result = codiag.diagonalize(C, criterion="least-squares", method=method)
        assert result.converged
        diagonals, left = fit(C, result.A)
        assert result.loss == pytest.approx(left, abs=1e-12)
        assert np.mean(result.residuals) == pytest.approx(left, abs=1e-12)
        np.testing.assert_allclose(result.powers, diagonals, atol=1e-8)
        np.testing.assert_allclose(np.linalg.norm(result.A, axis=0), 1, atol=1e-12)
        energies = np.sum(diagonals**2, axis=0)
        assert np.all(energies[:-1] >= energies[1:])
        # Newton's method from this point stays in the basin of its minimum.
        newton = codiag.diagonalize(C, criterion="least-squares", init=result.B)
        if method == "acdc":
            assert result.loss == pytest.approx(newton.loss, abs=1e-10)
        assert newton.loss <= result.loss + 1e-12

    @pytest.mark.parametrize("method", ["newton", "acdc", "uwedge", "ffdiag"])
    def test_exact_sets_are_recovered(self, method):
        C, A = mixed(30, 6, 0.0, 1)
        result = codiag.diagonalize(C, criterion="least-squares", method=method)
        assert result.converged and codiag.amari_distance(result.B, A) < 1e-10

    def test_weights_callbacks_restarts_and_checkpoints(self, tmp_path):
        C, _ = mixed(40, 5, 0.2, 4)
        weights = np.repeat([1.0, 3.0], 20)
        seen = []
        path = tmp_path / "B.npy"

        def callback(record):
            # Losses of the sample stage are not comparable.
            if record.stage != "sample":
                seen.append(record.loss)

        result = codiag.diagonalize(
            C,
            criterion="least-squares",
            sample_weight=weights,
            n_restarts=2,
            callback=callback,
            checkpoint=path,
        )
        rooted = C * np.sqrt(weights)[:, None, None]
        assert result.loss == pytest.approx(fit(rooted, result.A)[1], abs=1e-12)
        assert len(result.start_losses) == 3 and min(seen) == pytest.approx(result.loss, abs=1e-12)
        again = codiag.diagonalize(
            C, criterion="least-squares", sample_weight=weights, init=path, tol=1e-7
        )
        assert again.n_iter == 0 and again.loss == pytest.approx(result.loss, abs=1e-12)

    def test_file_with_limited_memory(self, tmp_path):
        C, _ = mixed(500, 6, 0.3, 2)
        path = tmp_path / "C.npy"
        np.save(path, C)
        for method in ("newton", "uwedge"):
            options = {"criterion": "least-squares", "method": method, "tol": 1e-11}
            expected = codiag.diagonalize(C, **options)
            result = codiag.diagonalize(path, memory="3MB", **options)
            assert result.converged and expected.converged
            assert np.allclose(result.B, expected.B, atol=1e-8)

    def test_collinear_components_are_reported(self):
        # This set is a limit of fits with two nearly collinear components that cancel each other.
        C = np.array([[[0.0, 1.0], [1.0, 0.0]], [[1.0, 0.0], [0.0, 0.0]]])
        with pytest.warns(codiag.ConvergenceWarning, match="collinear"):
            result = codiag.diagonalize(
                C, criterion="least-squares", init=np.array([[1.0, 0.3], [0.2, 1.0]])
            )
        assert result.status == "collinear" and not result.converged

    def test_unsupported_methods_raise(self):
        C, _ = mixed(10, 4, 0.1, 3)
        with pytest.raises(ValueError, match='method="acdc", method="uwedge" or method="ffdiag"'):
            codiag.diagonalize(C, criterion="least-squares", method="pham")
        with pytest.raises(
            ValueError, match='does not support orthogonal=True; use criterion="frobenius"'
        ):
            codiag.diagonalize(C, criterion="least-squares", orthogonal=True)

    def test_fewer_sources_than_channels(self):
        C, A = mixed(30, 3, 0.0, 5)
        L = np.random.default_rng(5).standard_normal((5, 3))
        lifted = L @ C @ L.T
        result = codiag.diagonalize(lifted, criterion="least-squares", n_components="auto")
        assert result.B.shape == (3, 5) and result.loss < 1e-12
        np.testing.assert_allclose(
            (result.A * result.powers[:, None]) @ result.A.T, lifted, atol=1e-9
        )
        assert codiag.amari_distance(result.B, L @ A) < 1e-9
        rotation = codiag.diagonalize(lifted, criterion="frobenius", n_components="auto")
        np.testing.assert_allclose(rotation.B @ rotation.B.T, np.eye(3), atol=1e-12)
        with pytest.raises(ValueError, match="4 for a set of rank 3"):
            codiag.diagonalize(lifted, criterion="least-squares", n_components=4)

    @pytest.mark.parametrize("method", ["newton", "acdc", "uwedge", "ffdiag"])
    def test_hermitian_sets(self, method, tmp_path):
        rng = np.random.default_rng(7)

        def normal(*shape):
            return rng.standard_normal(shape) + 1j * rng.standard_normal(shape)

        A, noise = normal(5, 5), normal(40, 5, 5)
        exact = (A * rng.standard_normal((40, 1, 5))) @ A.conj().T
        options = {"criterion": "least-squares", "method": method}
        result = codiag.diagonalize(exact, **options)
        assert result.converged and codiag.amari_distance(result.B, A) < 1e-10
        C = exact + 0.3 * (noise + noise.conj().transpose(0, 2, 1))
        result = codiag.diagonalize(C, **options)
        # The least-squares real diagonals for this A.
        terms = np.einsum("ka,la->akl", result.A, result.A.conj()).reshape(5, -1)
        stack = np.vstack([terms.T.real, terms.T.imag])
        flat = C.reshape(40, -1).T
        diagonals, left, *_ = np.linalg.lstsq(stack, np.vstack([flat.real, flat.imag]), rcond=None)
        np.testing.assert_allclose(result.powers, diagonals.T, atol=1e-7)
        assert result.loss == pytest.approx(left.sum() / np.sum(np.abs(C) ** 2), abs=1e-12)
        np.save(tmp_path / "C.npy", C)
        there = codiag.diagonalize(tmp_path / "C.npy", memory="3MB", **options)
        np.testing.assert_allclose(there.B, result.B, atol=1e-6)

    def test_many_bootstrap_and_estimator(self):
        sets = [mixed(60, 4, 0.05, seed)[0] for seed in range(3)]
        for C, result in zip(sets, codiag.diagonalize_many(sets, criterion="least-squares")):
            expected = codiag.diagonalize(C, criterion="least-squares")
            np.testing.assert_array_equal(result.B, expected.B)
        stable = codiag.bootstrap(sets[0], n_resamples=10, criterion="least-squares")
        assert stable.confidence.min() > 0.9 and stable.result.criterion == "least-squares"
        model = codiag.JointDiagonalizer(criterion="least-squares").fit(sets[0])
        assert model.score(sets[0]) == pytest.approx(-model.result_.loss)
        diagonals = np.diagonal(model.filters_ @ sets[0] @ model.filters_.T, axis1=1, axis2=2)
        np.testing.assert_allclose(model.transform(sets[0]), diagonals, atol=1e-10)
