"""Bad input, for every function that takes matrices."""

import numpy as np
import pytest

import codiag
import codiag.compat as qndiag
from codiag.compat import pyriemann

FUNCTIONS = {
    "diagonalize": codiag.diagonalize,
    "many": lambda C, **options: codiag.diagonalize_many([C], **options)[0],
    "bootstrap": lambda C, **options: codiag.bootstrap(C, n_resamples=2, **options),
    "qndiag": qndiag.qndiag,
    "qndiag.ajd_pham": qndiag.ajd_pham,
    "pyriemann.ajd_pham": pyriemann.ajd_pham,
    "pyriemann.ajd_newton": pyriemann.ajd_newton,
    "pyriemann.ajd": pyriemann.ajd,
    "loss": lambda C: codiag.loss(C, np.eye(np.shape(C)[-1] if np.ndim(C) else 1)),
    "gradient": lambda C: codiag.gradient(C, np.eye(np.shape(C)[-1] if np.ndim(C) else 1)),
    "estimator": lambda C: codiag.JointDiagonalizer().fit(C),
}
every_function = pytest.mark.parametrize("solve", FUNCTIONS.values(), ids=FUNCTIONS)


@pytest.fixture
def C(noisy):
    return noisy.copy()


@every_function
@pytest.mark.parametrize(
    "shape", [(), (3,), (3, 3), (2, 3, 4), (0, 3, 3), (2, 0, 0), (1, 2, 3, 3), (0,)]
)
def test_shape(solve, shape):
    with pytest.raises(ValueError) as caught:
        solve(np.ones(shape))
    assert str(shape) in str(caught.value)


@every_function
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_not_finite(C, solve, value):
    C[7, 2, 3] = C[7, 3, 2] = value
    with pytest.raises(ValueError, match=r"matrix 7: entry \((2, 3|3, 2)\) is (NaN|-?inf)"):
        solve(C)


@every_function
def test_asymmetric(C, solve):
    C[5, 1, 2] += 1e-3 * np.abs(C[5]).max()
    with pytest.raises(
        ValueError, match=r"matrix 5 is not symmetric.*1\.\d+e-3|matrix 5 .*9\.\d+e-4"
    ):
        solve(C)


@every_function
def test_not_positive_definite(C, solve):
    values, vectors = np.linalg.eigh(C[9])
    values[0] = -0.25
    C[9] = (vectors * values) @ vectors.T
    # Clearly indefinite: only the other criteria accept it.
    message = r'matrix 9 .*smallest eigenvalue -2\.5\d*e-1.*use criterion="frobenius"'
    with pytest.raises(ValueError, match=message):
        solve(C)


@every_function
def test_nearly_positive_definite(C, solve):
    values, vectors = np.linalg.eigh(C[9])
    values[0] = -1e-5
    C[9] = (vectors * values) @ vectors.T
    with pytest.raises(ValueError, match=r"matrix 9 .*eigenvalue -1\.0\d*e-5.*shrinkage=1e-3"):
        solve(C)


@every_function
def test_shared_null_space(C, solve):
    C[:, 4] = C[:, 3]
    C[:, :, 4] = C[:, :, 3]
    with pytest.raises(ValueError, match=r'matrix 0 is not positive definite.*n_components="auto"'):
        solve(C)


@every_function
def test_not_hermitian(C, solve):
    C = C.astype(complex)
    C[4, 1, 2] += 1j * np.abs(C[4]).max()
    with pytest.raises((TypeError, ValueError), match=r"matrix 4 is not Hermitian|is complex"):
        solve(C)


@every_function
@pytest.mark.parametrize("C", [[[["a"]]], None, "matrices", [[[object()]]]])
def test_not_numeric(solve, C):
    # A string is the path of a file for functions that read files.
    with pytest.raises((TypeError, ValueError, FileNotFoundError)):
        solve(C)


@every_function
def test_boolean_matrices(C, solve):
    with pytest.raises(TypeError, match="numbers"):
        solve(C > 0)


def test_ragged():
    with pytest.raises(ValueError):
        codiag.diagonalize([np.eye(2), np.eye(3)])


def test_masked_entries(C):
    masked = np.ma.masked_array(C, mask=np.zeros_like(C, dtype=bool))
    masked[0, 0, 0] = np.ma.masked
    with pytest.raises(ValueError, match="masked"):
        codiag.diagonalize(masked)


def test_single_matrix_error_suggests_a_leading_axis():
    with pytest.raises(ValueError, match=r"C\[None\]"):
        codiag.diagonalize(np.eye(3))


WEIGHTED = {
    "diagonalize": lambda C, w: codiag.diagonalize(C, sample_weight=w),
    "many": lambda C, w: codiag.diagonalize_many([C], sample_weight=[w]),
    "bootstrap": lambda C, w: codiag.bootstrap(C, 2, sample_weight=w),
    "loss": lambda C, w: codiag.loss(C, np.eye(6), sample_weight=w),
    "gradient": lambda C, w: codiag.gradient(C, np.eye(6), sample_weight=w),
    "qndiag": lambda C, w: qndiag.qndiag(C, weights=w),
    "ajd_pham": lambda C, w: pyriemann.ajd_pham(C, sample_weight=w),
    "ajd_newton": lambda C, w: pyriemann.ajd_newton(C, sample_weight=w),
    "estimator": lambda C, w: codiag.JointDiagonalizer().fit(C, sample_weight=w),
}


@pytest.mark.parametrize("solve", WEIGHTED.values(), ids=WEIGHTED)
@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(39), "expected 40 weights.*39"),
        (np.ones((40, 1)), r"\(40, 1\)"),
        (np.r_[-1.0, np.ones(39)], "weight 0 is -1"),
        (np.r_[np.ones(39), np.nan], "weight 39 is NaN"),
        (np.r_[np.ones(39), np.inf], "weight 39 is inf"),
        (np.zeros(40), "all weights are zero"),
    ],
    ids=["short", "column", "negative", "nan", "infinite", "zero"],
)
def test_weights(C, solve, weights, message):
    with pytest.raises(ValueError, match=message):
        solve(C, weights)


STARTED = {
    "diagonalize": lambda C, B: codiag.diagonalize(C, init=B),
    "many": lambda C, B: codiag.diagonalize_many([C], init=B),
    "bootstrap": lambda C, B: codiag.bootstrap(C, 2, init=B),
    "loss": codiag.loss,
    "gradient": codiag.gradient,
    "qndiag": lambda C, B: qndiag.qndiag(C, B0=B),
    "qndiag ortho": lambda C, B: qndiag.qndiag(C, B0=B, ortho=True),
    "ajd_pham": lambda C, B: pyriemann.ajd_pham(C, init=B),
    "ajd_newton": lambda C, B: pyriemann.ajd_newton(C, init=B),
    "estimator": lambda C, B: codiag.JointDiagonalizer(init=B).fit(C),
}


@pytest.mark.parametrize("solve", STARTED.values(), ids=STARTED)
@pytest.mark.parametrize(
    ("start", "message"),
    [
        (np.eye(5), "6 x 6, got 5 x 5"),
        (np.eye(6)[:4], "6 x 6, got 4 x 6"),
        (np.ones(6), r"\(6,\)"),
        (np.full((6, 6), np.nan), "NaN or infinite"),
    ],
    ids=["size", "oblong", "vector", "nan"],
)
def test_start(C, solve, start, message):
    with pytest.raises(ValueError, match=message):
        solve(C, start)


@pytest.mark.parametrize(
    "solve",
    [s for k, s in STARTED.items() if "ortho" not in k],
    ids=[k for k in STARTED if "ortho" not in k],
)
def test_singular_start(C, solve):
    with pytest.raises(ValueError, match="singular"):
        solve(C, np.ones((6, 6)))


@pytest.mark.parametrize("scale", [1e200, 1e-200])
@pytest.mark.parametrize("criterion", ["likelihood", "least-squares"])
def test_starting_point_may_have_any_scale(C, scale, criterion):
    start = np.eye(6) + 0.1 * np.tri(6)
    options = {"criterion": criterion, "max_iter": 3, "on_failure": "ignore"}
    expected = codiag.diagonalize(C, init=start, **options)
    found = codiag.diagonalize(C, init=scale * start, **options)
    np.testing.assert_allclose(found.loss, expected.loss, rtol=1e-9)


def test_energy_fractions_are_not_negative():
    rng = np.random.default_rng(0)
    for criterion in ("frobenius", "least-squares"):
        for _ in range(20):
            X = rng.standard_normal((1, 5, 5))
            result = codiag.diagonalize(X + X.transpose(0, 2, 1), criterion=criterion)
            assert result.loss >= 0 and (result.residuals >= 0).all()
            assert (result.history["loss"] >= 0).all() and (result.start_losses >= 0).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tol": 0}, "tol must be a positive number"),
        ({"tol": -1e-6}, "tol must be a positive number"),
        ({"tol": float("nan")}, "tol must be a positive number"),
        ({"max_iter": -1}, "max_iter must not be negative, got -1"),
        (
            {"method": "gradient"},
            '"newton", "quasi-newton", "pham", "row-wise", "jacobi", "acdc", "uwedge" or "ffdiag"',
        ),
        ({"init": None}, '"spectral", "whitener", "identity" or a matrix'),
        ({"init": "random"}, '"spectral", "whitener", "identity" or a matrix'),
        ({"n_components": "half"}, 'n_components .*"auto"'),
        ({"n_components": 0}, 'n_components must be .*"auto"'),
        ({"n_components": 7}, "n_components must be"),
        ({"shrinkage": 1.5}, "shrinkage must be between 0 and 1"),
        ({"shrinkage": -0.1}, "shrinkage must be between 0 and 1"),
        ({"n_restarts": -2}, "n_restarts must not be negative"),
        ({"n_jobs": 0}, "n_jobs must be"),
        ({"n_jobs": -2}, "n_jobs must be"),
        ({"on_failure": "explode"}, '"warn", "raise" or "ignore"'),
        ({"orthogonal": True, "method": "pham"}, "orthogonal"),
    ],
    ids=str,
)
@pytest.mark.parametrize("name", ["diagonalize", "many"])
def test_options(C, name, options, message):
    with pytest.raises(ValueError, match=message):
        FUNCTIONS[name](C, **options)


@pytest.mark.parametrize(
    "options",
    [{"tol": "small"}, {"max_iter": 2.5}, {"method": 3}, {"n_components": 2.5}, {"n_jobs": "all"}],
)
def test_option_types(C, options):
    with pytest.raises(TypeError):
        codiag.diagonalize(C, **options)


@pytest.mark.parametrize(
    ("solve", "name"),
    [
        (lambda C: qndiag.qndiag(C, tol=0), "tol"),
        (lambda C: qndiag.qndiag(C, max_iter=-1), "max_iter"),
        (lambda C: qndiag.ajd_pham(C, tol=0), "tol"),
        (lambda C: qndiag.ajd_pham(C, max_iter=-1), "max_iter"),
        (lambda C: pyriemann.ajd_pham(C, eps=-1), "eps"),
        (lambda C: pyriemann.ajd(C, method="varimax"), "method"),
        (lambda C: codiag.bootstrap(C, n_resamples=0), "n_resamples must"),
    ],
)
def test_compat_options(C, solve, name):
    with pytest.raises(ValueError, match=name):
        solve(C)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"init": np.full((6, 6), np.inf)}, "^init must be finite and invertible"),
        (
            {"init": 2 * np.eye(6), "orthogonal": True},
            "^init must be orthogonal .*orthogonal=True",
        ),
        ({"orthogonal": True, "method": "pham"}, '^method="pham" does not support orthogonal=True'),
        ({"orthogonal": True, "method": "row-wise"}, '^method="row-wise" does not support'),
        (
            {"orthogonal": True, "n_components": 3},
            "^orthogonal=True cannot be combined with n_components",
        ),
        ({"n_components": 7}, "^n_components must be .*got 7"),
        ({"tol": -1.0}, "^tol must be a positive number, got -1"),
    ],
    ids=str,
)
def test_messages_name_python_parameters(C, options, message):
    with pytest.raises(ValueError, match=message):
        codiag.diagonalize(C, **options)


def test_unknown_options_raise(C):
    recording = np.random.default_rng(0).standard_normal((3, 900))
    core = codiag._core
    for call in (
        lambda options: core.solve(C, None, options, None),
        lambda options: core.solve_many([C], [None], options, 1),
        lambda options: core.Tracker(6, options, False),
        lambda options: core.Chunk(C, 0, None, options),
        lambda options: core.segment_covariances(recording, options),
        lambda options: core.cospectra(recording, {"bands": [(1, 9)], "sfreq": 99, **options}),
        lambda options: core.cross_spectra(recording, {"bands": [(1, 9)], "sfreq": 99, **options}),
        lambda options: core.separate(recording, None, {}, options, None),
        lambda options: core.separate(recording, None, options, {}, None),
    ):
        call({})
        with pytest.raises(TypeError, match='"shrinkige"'):
            call({"shrinkige": 0.1})


SYMMETRIZED = {
    "diagonalize": codiag.diagonalize,
    "many": lambda C, **options: codiag.diagonalize_many([C], **options)[0],
    "bootstrap": lambda C, **options: codiag.bootstrap(C, n_resamples=2, **options).result,
    "tracker": lambda C, **options: codiag.Tracker(**options).push(C),
    "estimator": lambda C, **options: codiag.JointDiagonalizer(**options).fit(C).result_,
}


@pytest.mark.parametrize("solve", SYMMETRIZED.values(), ids=SYMMETRIZED)
def test_symmetrize_accepts_asymmetric_matrices(C, solve):
    skewed = C.copy()
    skewed[5, 1, 2] += 1e-3
    skewed[5, 2, 1] -= 1e-3
    with pytest.raises(ValueError, match=r"matrix 5 is not symmetric.*symmetrize=True"):
        solve(skewed)
    np.testing.assert_allclose(solve(skewed, symmetrize=True).B, solve(C).B, atol=1e-7)


def test_loss_errors_name_B(C):
    for function in (codiag.loss, codiag.gradient):
        with pytest.raises(ValueError, match=r"^B must be 6 x 6, got 5 x 5"):
            function(C, np.eye(5))
        with pytest.raises(ValueError, match=r"^B must be finite and invertible"):
            function(C, np.ones((6, 6)))


def test_datasets():
    for arguments in ({"n": 0, "p": 3}, {"n": 3, "p": 0}, {"n": 3, "p": 3, "sigma": -1}):
        with pytest.raises(ValueError):
            codiag.datasets.synthetic(**arguments)
    with pytest.raises(ValueError, match="random_state"):
        codiag.datasets.synthetic(3, 3, random_state=-1)
    with pytest.raises(ValueError, match="gradiometers"):
        codiag.datasets.meg("EEG")


def test_amari_distance():
    with pytest.raises(ValueError, match="square"):
        codiag.amari_distance(np.eye(3), np.eye(4))


def test_diagonalize_many_names_the_set(C):
    bad = C.copy()
    bad[3, 0, 0] = np.nan
    with pytest.raises(ValueError, match="set 1: matrix 3"):
        codiag.diagonalize_many([C, bad])
    with pytest.raises(ValueError, match="set 1"):
        codiag.diagonalize_many([C, np.eye(3)])
    with pytest.raises(ValueError, match="weights for 2 sets, got 1"):
        codiag.diagonalize_many([C, C], sample_weight=[None])


@every_function
@pytest.mark.parametrize("kind", [str, bytes, object, "m8[s]"])
def test_strings_and_times_raise(C, solve, kind):
    """Also if they could be converted to numbers."""
    values = C.astype(str).astype(kind) if kind is object else np.ones_like(C).astype(kind)
    with pytest.raises(TypeError, match="must hold numbers, got"):
        solve(values)


def test_strings_as_signals_weights_or_init_raise(C):
    texts = C[0].astype(str)
    for call in (
        lambda: codiag.segment_covariances(texts, n_segments=2),
        lambda: codiag.diagonalize(C, sample_weight=["1"] * len(C)),
        lambda: codiag.diagonalize(C, init=texts),
        lambda: codiag.loss(C, texts),
    ):
        with pytest.raises(TypeError, match="must hold numbers, got"):
            call()


def test_python_numbers_are_accepted(C):
    from fractions import Fraction

    exact = np.array([Fraction(x) for x in C.flat], dtype=object).reshape(C.shape)
    np.testing.assert_array_equal(codiag.diagonalize(exact).B, codiag.diagonalize(C).B)


def test_missing_files(tmp_path, C):
    missing = tmp_path / "missing.npy"
    for call in (
        lambda: codiag.diagonalize(missing),
        lambda: codiag.diagonalize(str(missing), memory="1GB"),
        lambda: codiag.diagonalize(C, init=missing),
        lambda: codiag.diagonalize(C, init=str(missing)),
        lambda: codiag.load(missing),
    ):
        with pytest.raises(FileNotFoundError, match=r"missing\.npy"):
            call()
