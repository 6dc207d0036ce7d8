"""codiag.compat.qndiag, compared with qndiag 0.1 from PyPI."""

import inspect
import re
import warnings

import numpy as np
import pytest

import codiag
import codiag.compat

qndiag = pytest.importorskip("qndiag")
SETS = {
    "exact": lambda: codiag.datasets.synthetic(40, 8, sigma=0, random_state=2)[0],
    "noisy": lambda: codiag.datasets.synthetic(100, 12, sigma=0.1)[0],
    "random": lambda: random_set(25, 5, seed=4),
}


def random_set(n, p, seed):
    rng = np.random.default_rng(seed)
    factors = rng.standard_normal((n, p, 2 * p))
    return factors @ factors.transpose(0, 2, 1)


@pytest.fixture(params=SETS)
def C(request):
    return SETS[request.param]()


@pytest.fixture(params=["equal", "weighted"])
def w(request, C):
    return None if request.param == "equal" else np.random.default_rng(1).uniform(0.3, 2, len(C))


def common(ours, theirs):
    """Truncates two lists to one length; rounding may decide about the last step."""
    assert abs(len(ours) - len(theirs)) <= 1
    shorter = min(len(ours), len(theirs))
    return ours[:shorter], theirs[:shorter]


def test_iterates_match_step_by_step(C, w):
    theirs_B, theirs = qndiag.qndiag(C, weights=w, tol=1e-6, return_B_list=True)
    B, infos = codiag.compat.qndiag(C, weights=w, tol=1e-6, return_B_list=True)
    assert list(infos) == list(theirs)
    # Each step amplifies the rounding errors of the previous one.
    for name, rtol in (("gradient_list", 1e-5), ("loss_list", 1e-9)):
        ours, other = common(infos[name], theirs[name])
        np.testing.assert_allclose(ours, other, rtol=rtol, atol=1e-9)
    for ours, other in zip(infos["B_list"], theirs["B_list"]):
        np.testing.assert_allclose(ours, other, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(B, theirs_B, rtol=1e-5, atol=1e-6)
    assert (np.diff(infos["t_list"]) >= 0).all()


@pytest.mark.parametrize("sensors", ["magnetometers", "gradiometers"])
def test_first_iterations_on_meg(sensors):
    C = codiag.datasets.meg(sensors)
    _, theirs = qndiag.qndiag(C, max_iter=15)
    with pytest.warns(codiag.ConvergenceWarning):
        _, infos = codiag.compat.qndiag(C, max_iter=15)
    assert [len(v) for v in infos.values()] == [len(v) for v in theirs.values()] == [15, 15, 15]
    np.testing.assert_allclose(infos["gradient_list"], theirs["gradient_list"], rtol=1e-6)
    np.testing.assert_allclose(infos["loss_list"], theirs["loss_list"], rtol=1e-9)


@pytest.mark.parametrize("sensors", ["magnetometers", "gradiometers"])
def test_same_result_on_meg(sensors):
    C = np.ascontiguousarray(codiag.datasets.meg(sensors)[:, :10, :10])
    theirs_B, theirs = qndiag.qndiag(C)
    B, infos = codiag.compat.qndiag(C)
    common(infos["loss_list"], theirs["loss_list"])
    assert infos["loss_list"][-1] == pytest.approx(theirs["loss_list"][-1], abs=1e-9)
    np.testing.assert_allclose(B, theirs_B, rtol=1e-5, atol=1e-6)


def test_shared_covariances_are_the_embedded_ones(shared):
    stored = np.load(shared / "meg_covariances.npz")
    for name, sensors in (("mag", "magnetometers"), ("grad", "gradiometers")):
        np.testing.assert_allclose(codiag.datasets.meg(sensors), stored[name], rtol=1e-6, atol=1e-6)


def test_given_start(C, w):
    B0 = np.random.default_rng(8).standard_normal(C.shape[1:])
    theirs_B, theirs = qndiag.qndiag(C, B0.copy(), w)
    B, infos = codiag.compat.qndiag(C, B0, w)
    assert infos["loss_list"][-1] <= theirs["loss_list"][-1] + 1e-8
    if len(infos["loss_list"]) == len(theirs["loss_list"]):
        np.testing.assert_allclose(B, theirs_B, rtol=1e-4, atol=1e-5)


def test_same_loss_as_newton(C, w):
    B, _ = codiag.compat.qndiag(C, weights=w, tol=1e-9)
    theirs_B, _ = qndiag.qndiag(C, weights=w, tol=1e-9)
    assert codiag.loss(C, B, sample_weight=w) == pytest.approx(
        codiag.loss(C, theirs_B, sample_weight=w), abs=1e-10
    )
    newton = codiag.diagonalize(C, sample_weight=w, init=B)
    assert newton.loss == pytest.approx(codiag.loss(C, theirs_B, sample_weight=w), abs=1e-10)


def test_lists_at_the_limit(noisy):
    for limit in (0, 1, 3):
        with pytest.warns(codiag.ConvergenceWarning):
            _, infos = codiag.compat.qndiag(noisy, max_iter=limit, return_B_list=True)
        _, theirs = qndiag.qndiag(noisy, max_iter=limit, return_B_list=True)
        assert {k: len(v) for k, v in infos.items()} == {k: len(v) for k, v in theirs.items()}


def test_ajd_pham(C):
    theirs_V, theirs = qndiag.ajd_pham(C, return_B_list=True)
    V, infos = codiag.compat.ajd_pham(C, return_B_list=True)
    assert list(infos) == list(theirs)
    # At a tolerance of 1e-14 rounding decides about the last sweep.
    for ours, other in zip(*common(infos["B_list"], theirs["B_list"])):
        np.testing.assert_allclose(ours, other, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(V, theirs_V, rtol=1e-6, atol=1e-7)
    V, infos = codiag.compat.ajd_pham(C, 1e-8)
    theirs_V, theirs = qndiag.ajd_pham(C, 1e-8)
    common(infos["t_list"], theirs["t_list"])
    np.testing.assert_allclose(V, theirs_V, rtol=1e-6, atol=1e-7)


def test_ajd_pham_warns_at_its_limit(noisy):
    with pytest.warns(codiag.ConvergenceWarning, match="2 sweeps"):
        _, infos = codiag.compat.ajd_pham(noisy, max_iter=2)
    assert len(infos["t_list"]) == 2


def test_small_functions(C, w):
    M = np.random.default_rng(0).standard_normal(C.shape[1:])
    D = qndiag.transform_set(M, C)
    np.testing.assert_allclose(codiag.compat.transform_set(M, C), D, rtol=1e-10, atol=1e-10)
    # With diag_only, qndiag returns the diagonal of another product.
    diagonals = codiag.compat.transform_set(M, C, diag_only=True)
    np.testing.assert_allclose(diagonals, np.diagonal(D, axis1=1, axis2=2), rtol=1e-10)
    unit = None if w is None else w / w.mean()
    expected = qndiag.loss(M, D, weights=unit)
    assert codiag.compat.loss(M, D, weights=unit) == pytest.approx(expected, rel=1e-12)
    assert codiag.compat.loss(M, diagonals, True, unit) == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(codiag.compat.gradient(D, w), qndiag.gradient(D, w), atol=1e-12)


def test_signatures():
    ours = inspect.signature(codiag.compat.qndiag)
    theirs = inspect.signature(qndiag.qndiag)
    # The tenth argument is `verbose` in one version and `check_sympos` in the other: keywords only.
    assert list(ours.parameters)[:9] == list(theirs.parameters)[:9]
    for name, parameter in theirs.parameters.items():
        assert ours.parameters[name].default == parameter.default
    assert {"check_sympos", "ortho"} <= set(ours.parameters)
    for name in ("ajd_pham", "transform_set", "loss", "gradient"):
        own = inspect.signature(getattr(codiag.compat, name)).parameters.values()
        other = inspect.signature(getattr(qndiag, name)).parameters.values()
        assert [(p.name, p.default, p.kind) for p in own] == [
            (p.name, p.default, p.kind) for p in other
        ]


def test_verbose_prints_the_same(noisy, capsys):
    number = r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?"
    for ours, theirs, options in (
        (codiag.compat.qndiag, qndiag.qndiag, {}),
        (codiag.compat.ajd_pham, qndiag.ajd_pham, {"tol": 1e-8}),
    ):
        theirs(noisy, **options, verbose=True)
        expected = capsys.readouterr().out.splitlines()
        ours(noisy, **options, verbose=True)
        printed = capsys.readouterr().out.splitlines()
        assert len(expected) > 3
        for one, other in zip(*common(printed, expected)):
            assert re.sub(number, "#", one) == re.sub(number, "#", other)
            numbers, others = ([float(x) for x in re.findall(number, x)] for x in (one, other))
            # The last digit printed may differ.
            assert numbers == pytest.approx(others, rel=0.02, abs=1e-8)


def test_ortho(noisy):
    B, infos = codiag.compat.qndiag(noisy, ortho=True, tol=1e-6, check_sympos=False)
    np.testing.assert_allclose(B @ B.T, np.eye(6), atol=1e-12)
    G = codiag.gradient(noisy, B)
    assert np.linalg.norm(G - G.T) < 1e-6 * np.sqrt(6)
    assert (np.diff(infos["loss_list"]) <= 1e-14).all()
    slanted = np.random.default_rng(0).standard_normal((6, 6))
    again, _ = codiag.compat.qndiag(noisy, B0=slanted, ortho=True)
    np.testing.assert_allclose(again @ again.T, np.eye(6), atol=1e-12)


def test_code_for_qndiag_runs_unchanged():
    """The example of qndiag's documentation."""
    script = """
import numpy as np
import codiag.compat as qndiag
from codiag.compat import qndiag as solve, transform_set
rng = np.random.RandomState(0)
n, p = 10, 3
diagonals = rng.uniform(size=(n, p))
A = rng.randn(p, p)
C = np.array([A.dot(d[:, None] * A.T) for d in diagonals])
B, infos = solve(C)
BA = np.abs(B.dot(A))
BA /= np.max(BA, axis=1, keepdims=True)
D = qndiag.transform_set(B, C)
"""
    scope = {}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        exec(script, scope)
    assert np.allclose(np.sort(scope["BA"], axis=1)[:, :-1], 0, atol=1e-4)
