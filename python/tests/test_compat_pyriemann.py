"""codiag.compat.pyriemann and accelerate, compared with pyRiemann and MNE."""

import inspect
import sys
import types
import warnings

import numpy as np
import pytest

import codiag
from codiag.compat import accelerate
from codiag.compat import pyriemann as ours

pyriemann = pytest.importorskip("pyriemann")
from pyriemann.estimation import Covariances  # noqa: E402
from pyriemann.geometry import ajd as theirs  # noqa: E402
from pyriemann.geometry.mean import mean_ale  # noqa: E402
from pyriemann.spatialfilters import AJDC, CSP  # noqa: E402


@pytest.fixture(params=["equal", "weighted"])
def sample_weight(request, weights):
    return None if request.param == "equal" else weights


@pytest.mark.parametrize("eps", [1e-3, 1e-6, 1e-10])
def test_ajd_pham_takes_the_same_sweeps(noisy, sample_weight, eps):
    options = {"eps": eps, "n_iter_max": 100, "sample_weight": sample_weight}
    V, D = ours.ajd_pham(noisy, **options)
    other_V, other_D = theirs.ajd_pham(noisy, **options)
    np.testing.assert_allclose(V, other_V, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(D, other_D, rtol=1e-8, atol=1e-8)
    assert V.flags.writeable and D.flags.writeable


@pytest.mark.parametrize("sensors", ["magnetometers", "gradiometers"])
def test_meg(sensors):
    X = codiag.datasets.meg(sensors)[:, :12, :12]
    V, _ = ours.ajd_pham(X, n_iter_max=400)
    other_V, _ = theirs.ajd_pham(X, n_iter_max=400)
    assert codiag.loss(X, V) == pytest.approx(codiag.loss(X, other_V), abs=1e-8)
    np.testing.assert_allclose(V, other_V, rtol=1e-6, atol=1e-7)


def test_warns_when_theirs_does(noisy):
    with pytest.warns(UserWarning, match="Convergence not reached"):
        theirs.ajd_pham(noisy, n_iter_max=2)
    with pytest.warns(codiag.ConvergenceWarning, match="Convergence not reached") as caught:
        ours.ajd_pham(noisy, n_iter_max=2)
    assert caught[0].filename == __file__
    assert issubclass(codiag.ConvergenceWarning, UserWarning)
    with pytest.warns(codiag.ConvergenceWarning):
        ours.ajd_newton(noisy, n_iter_max=0)


@pytest.mark.parametrize("start", ["default", "given"])
@pytest.mark.parametrize("eps", [1e-2, 1e-7])
def test_uwedge_takes_the_same_steps(noisy, start, eps):
    indefinite = noisy - 0.8 * noisy.mean(axis=0)
    rng = np.random.default_rng(1)
    init = None if start == "default" else np.eye(noisy.shape[1]) + 0.1 * rng.random((6, 6))
    for X in (noisy, indefinite):
        options = {"init": init, "eps": eps, "n_iter_max": 500}
        V, D = ours.uwedge(X, **options)
        other_V, other_D = theirs.uwedge(X, **options)
        np.testing.assert_allclose(V, other_V, rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(D, other_D, rtol=1e-6, atol=1e-6)
        assert V.flags.writeable and D.flags.writeable


def test_uwedge_warns_when_theirs_does(noisy):
    for function in (ours.uwedge, theirs.uwedge):
        with pytest.warns(UserWarning, match="Convergence not reached"):
            function(noisy, n_iter_max=2)
    with pytest.warns(codiag.ConvergenceWarning):
        V, D = ours.uwedge(noisy, n_iter_max=0)
    with pytest.warns(UserWarning):
        other_V, other_D = theirs.uwedge(noisy, n_iter_max=0)
    np.testing.assert_allclose(V, other_V)
    np.testing.assert_allclose(D, other_D, rtol=1e-9, atol=1e-9)
    V, _ = theirs.ajd(noisy, method=ours.uwedge)
    np.testing.assert_allclose(V, theirs.ajd(noisy, method="uwedge")[0], rtol=1e-6, atol=1e-7)


def test_signatures():
    for name in ("ajd_pham", "ajd", "rjd", "uwedge"):
        own = inspect.signature(getattr(ours, name)).parameters.values()
        other = inspect.signature(getattr(theirs, name)).parameters.values()
        assert [(p.name, p.default, p.kind) for p in own] == [
            (p.name, p.default, p.kind) for p in other
        ]


def test_warm_start_converges(noisy):
    """pyRiemann sets V to `init` without transforming X, so that its result is wrong."""
    B, _ = ours.ajd_pham(noisy, eps=1e-12, n_iter_max=400)
    V, D = ours.ajd_pham(noisy, init=B, eps=1e-10)
    np.testing.assert_allclose(V, B, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(D, V @ noisy @ V.T, atol=1e-12)


def test_integers_are_not_truncated():
    X = np.array([[[4, 1], [1, 3]], [[2, -1], [-1, 5]], [[3, 0], [0, 1]]])
    V, _ = ours.ajd_pham(X)
    np.testing.assert_allclose(V, ours.ajd_pham(X.astype(float))[0])
    assert V.dtype == np.float64


def test_ajd(noisy):
    same_columns(ours.ajd(noisy, method="rjd")[0], theirs.ajd(noisy, method="rjd")[0])
    for method in ("ajd_pham", ours.ajd_pham, "uwedge"):
        named = method if isinstance(method, str) else "ajd_pham"
        V, D = ours.ajd(noisy, method=method)
        other_V, other_D = theirs.ajd(noisy, method=named)
        np.testing.assert_allclose(V, other_V, rtol=1e-7, atol=1e-8)
        np.testing.assert_allclose(D, other_D, rtol=1e-7, atol=1e-7)
    V, _ = ours.ajd(noisy, method="ajd_newton", eps=1e-10)
    assert codiag.loss(noisy, V) == pytest.approx(codiag.diagonalize(noisy).loss, abs=1e-12)


@pytest.mark.parametrize("function", [ours.ajd_pham, ours.ajd_newton])
def test_as_method_of_pyriemann(noisy, function):
    V, D = theirs.ajd(noisy, method=function, eps=1e-8)
    np.testing.assert_allclose(D, V @ noisy @ V.T, atol=1e-10)
    assert codiag.loss(noisy, V) == pytest.approx(codiag.diagonalize(noisy).loss, abs=1e-6)


def same_up_to_sign(filters, others, tolerance):
    signs = np.sign(np.einsum("ac,ac->a", filters, others))
    scale = np.abs(others).max()
    np.testing.assert_allclose(signs[:, None] * filters, others, atol=tolerance * scale)


def test_csp(epochs):
    X, y = epochs
    C = Covariances("oas").transform(X)
    plain = CSP(nfilter=4).fit(C, y)
    same_up_to_sign(
        CSP(nfilter=4, ajd_method=ours.ajd_pham).fit(C, y).filters_, plain.filters_, 1e-7
    )
    # Pham's method stops at its tolerance; Newton's method is more accurate.
    newton = CSP(nfilter=4, ajd_method=ours.ajd_newton).fit(C, y)
    same_up_to_sign(newton.filters_, plain.filters_, 1e-2)
    with accelerate():
        fast = CSP(nfilter=4).fit(C, y)
    same_up_to_sign(fast.filters_, plain.filters_, 1e-7)
    np.testing.assert_allclose(fast.transform(C), plain.transform(C), rtol=1e-6)


def test_ajdc(epochs):
    X, y = epochs
    conditions = np.stack([np.concatenate(X[y == c], axis=-1) for c in range(4)])[None]
    options = {"window": 64, "fs": 64, "dim_red": {"n_components": 5}}
    plain = AJDC(**options).fit(conditions)
    with accelerate("pyriemann"):
        fast = AJDC(**options).fit(conditions)
    np.testing.assert_allclose(fast.diag_filters_, plain.diag_filters_, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(fast.forward_filters_, plain.forward_filters_, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(fast.transform(X), plain.transform(X), rtol=1e-5, atol=1e-5)


def test_ale_mean(noisy):
    plain = mean_ale(noisy)
    with accelerate():
        fast = mean_ale(noisy)
    np.testing.assert_allclose(fast, plain, rtol=1e-6, atol=1e-8)


def replaced():
    pytest.importorskip("mne")
    import mne.decoding.csp
    from pyriemann import spatialfilters
    from pyriemann.geometry import mean

    return [
        theirs.ajd_pham,
        theirs.ajd_functions["ajd_pham"],
        mean.ajd_pham,
        spatialfilters.ajd_pham,
        mne.decoding.csp._ajd_pham,
    ]


class TestAccelerate:
    def test_functions_are_replaced_and_restored(self):
        before = replaced()
        with accelerate():
            assert all(new is not old for new, old in zip(replaced(), before))
        assert replaced() == before

    def test_call_and_undo(self):
        before = replaced()
        fast = accelerate("pyriemann")
        assert replaced()[0] is not before[0] and replaced()[4] is before[4]
        fast.undo()
        fast.undo()
        assert replaced() == before

    def test_functions_are_restored_after_errors(self):
        before = replaced()
        with pytest.raises(KeyError), accelerate():
            raise KeyError
        with pytest.raises(ValueError, match="numpy"):
            accelerate(["numpy"])
        assert replaced() == before

    def test_nested(self, noisy):
        before = replaced()
        with accelerate(), accelerate():
            V, _ = theirs.ajd_pham(noisy)
        assert replaced() == before
        np.testing.assert_allclose(V, theirs.ajd_pham(noisy)[0], rtol=1e-7, atol=1e-8)

    def test_workers_of_joblib(self):
        """Functions are replaced in the calling process only; `initializer` reaches the workers."""
        joblib = pytest.importorskip("joblib")
        where = theirs.__name__

        def is_ours(_):
            import importlib

            return hasattr(importlib.import_module(where).ajd_pham, "__wrapped__")

        calls = [joblib.delayed(is_ours)(k) for k in range(2)]
        try:
            with accelerate():
                assert not any(joblib.Parallel(n_jobs=2, backend="loky")(calls))
            try:
                chosen = joblib.parallel_config("loky", n_jobs=2, initializer=accelerate)
            except TypeError:
                pytest.skip("joblib is too old to initialize its workers")
            with chosen:
                assert all(joblib.Parallel()(calls))
        finally:
            from joblib.externals.loky import get_reusable_executor

            get_reusable_executor().shutdown(wait=True)

    def test_hermitian_matrices(self):
        X, _ = codiag.datasets.synthetic(40, 4, sigma=0.1, complex=True)
        options = {"eps": 1e-9, "n_iter_max": 60}
        with accelerate("pyriemann"), warnings.catch_warnings():
            warnings.simplefilter("error")
            V, D = theirs.ajd_pham(X, **options)
        np.testing.assert_allclose(D, V @ X @ V.conj().T, atol=1e-10)
        # pyRiemann needs hundreds of sweeps for a similar loss.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            slow, _ = theirs.ajd_pham(X, **options)
        assert codiag.loss(X, V) <= codiag.loss(X, slow) + 1e-9

    def test_falls_back_to_the_original_function(self):
        # pyRiemann accepts this singular matrix, codiag does not.
        X = np.array([[[1.0, 1.0], [1.0, 1.0]], [[2.0, 0.0], [0.0, 1.0]]])
        expected = theirs.ajd_pham(X)
        with (
            accelerate("pyriemann"),
            pytest.warns(RuntimeWarning, match="does not accept this input"),
        ):
            V, D = theirs.ajd_pham(X)
        np.testing.assert_array_equal(V, expected[0])
        np.testing.assert_array_equal(D, expected[1])

    def test_nonpositive_weights_raise_the_original_error(self, noisy):
        weights = np.ones(len(noisy))
        weights[0] = 0
        with pytest.raises(ValueError, match="strictly positive") as before:
            theirs.ajd_pham(noisy, sample_weight=weights)
        with accelerate(), pytest.raises(ValueError) as after:
            theirs.ajd_pham(noisy, sample_weight=weights)
        assert str(after.value) == str(before.value)

    def test_rjd(self):
        X = symmetric(30, 6)
        before = theirs.rjd, theirs.ajd_functions["rjd"]
        plain = theirs.rjd(X)
        with accelerate("pyriemann"):
            assert theirs.rjd is not before[0]
            fast = theirs.ajd(X, method="rjd", eps=1e-8)
        assert (theirs.rjd, theirs.ajd_functions["rjd"]) == before
        same_columns(fast[0], plain[0])

    def test_all_imported_names_of_qndiag_are_replaced(self, noisy):
        qndiag = pytest.importorskip("qndiag")
        user = types.ModuleType("uses_qndiag")
        user.qndiag = qndiag.qndiag
        sys.modules["uses_qndiag"] = user
        try:
            original = qndiag.qndiag
            plain, _ = original(noisy)
            with accelerate("qndiag"):
                assert qndiag.qndiag is not original and user.qndiag is not original
                B, infos = user.qndiag(C=noisy)
                assert len(infos["gradient_list"]) > 0
            assert qndiag.qndiag is original and user.qndiag is original
        finally:
            del sys.modules["uses_qndiag"]
        np.testing.assert_allclose(B, plain, rtol=1e-6, atol=1e-8)


def symmetric(n, p, seed=0):
    """Indefinite matrices that one rotation nearly diagonalizes."""
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((p, p)))[0]
    noise = 0.1 * rng.standard_normal((n, p, p))
    return (Q * rng.standard_normal((n, 1, p))) @ Q.T + noise + noise.transpose(0, 2, 1)


def same_columns(V, W):
    """Checks that columns are equal up to order and sign."""
    cosines = np.abs(V.T @ W)
    np.testing.assert_allclose(np.sort(cosines, axis=0)[-1], 1, atol=1e-9)
    assert sorted(cosines.argmax(axis=0)) == list(range(len(V)))


def test_rjd():
    X = symmetric(40, 7)
    V, D = ours.rjd(X)
    expected, _ = theirs.rjd(X)
    same_columns(V, expected)
    np.testing.assert_allclose(V.T @ X @ V, D, atol=1e-12)
    np.testing.assert_allclose(V.T @ V, np.eye(7), atol=1e-12)
    # The result, given as `init`, is kept.
    again, _ = ours.rjd(X, init=V, n_iter_max=1)
    np.testing.assert_allclose(again, V, atol=1e-8)


def test_rjd_warns_at_its_limit():
    with pytest.warns(UserWarning, match="Convergence not reached"):
        ours.rjd(symmetric(20, 6), n_iter_max=1)


def test_jade_has_components_in_rows():
    X = symmetric(20, 5)
    V, D = ours.jade(X)
    np.testing.assert_array_equal(V, ours.rjd(X)[0].T)
    np.testing.assert_allclose(V @ X @ V.T, D, atol=1e-12)


@pytest.mark.parametrize("norm_trace", [False, True])
def test_mne_csp(epochs, norm_trace):
    mne = pytest.importorskip("mne")
    from mne.decoding import CSP as MneCSP

    X, y = epochs
    with mne.utils.use_log_level("error"):
        plain = MneCSP(n_components=4, norm_trace=norm_trace).fit(X, y)
        with accelerate("mne"):
            fast = MneCSP(n_components=4, norm_trace=norm_trace).fit(X, y)
    same_up_to_sign(fast.filters_, plain.filters_, 1e-7)
    np.testing.assert_allclose(fast.transform(X), plain.transform(X), rtol=1e-6, atol=1e-8)


def test_mne_on_a_recording(shared):
    """Three arbitrary classes of epochs of the MEG recording."""
    mne = pytest.importorskip("mne")
    from mne.decoding import CSP as MneCSP

    with mne.utils.use_log_level("error"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        raw = mne.io.read_raw_fif(shared / "meg_sample_24s_raw.fif", preload=True)
        raw.pick("mag").filter(1, None)
        X = mne.make_fixed_length_epochs(raw, 0.5, preload=True).get_data()[:, ::10] * 1e12
        y = np.arange(len(X)) * 3 // len(X)
        plain = MneCSP(n_components=4).fit(X, y)
        with accelerate("mne"):
            fast = MneCSP(n_components=4).fit(X, y)
    same_up_to_sign(fast.filters_, plain.filters_, 1e-6)
