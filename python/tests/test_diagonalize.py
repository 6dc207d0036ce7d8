"""codiag.diagonalize."""

import sys
import types
import warnings

import numpy as np
import pytest

import codiag


def test_exact_set_is_diagonalized():
    C, A = codiag.datasets.synthetic(60, 12, sigma=0, random_state=3)
    result = codiag.diagonalize(C)
    assert result.converged and result.status == "converged"
    assert codiag.amari_distance(result.B, A) < 1e-7
    assert abs(result.loss) < 1e-9
    D = result.transform(C)
    off = D - np.einsum("iaa,ab->iab", D, np.eye(12))
    assert np.abs(off).max() < 1e-6 * np.abs(D).max()


@pytest.mark.parametrize("method", ["newton", "quasi-newton", "pham", "row-wise"])
@pytest.mark.parametrize("init", ["spectral", "whitener", "identity"])
def test_all_methods_and_starting_points_agree(noisy, method, init):
    reference = codiag.diagonalize(noisy, tol=1e-10)
    result = codiag.diagonalize(noisy, method=method, init=init, tol=1e-10)
    assert result.loss == pytest.approx(reference.loss, abs=1e-11)
    # The canonical form makes B unique.
    np.testing.assert_allclose(result.B, reference.B, rtol=1e-6, atol=1e-7)


def test_result_is_consistent(noisy, weights):
    result = codiag.diagonalize(noisy, sample_weight=weights)
    w = weights / weights.sum()
    np.testing.assert_allclose(result.B @ result.A, np.eye(6), atol=1e-12)
    np.testing.assert_allclose(w @ result.powers, np.ones(6), rtol=1e-12)
    D = result.transform(noisy)
    np.testing.assert_allclose(np.diagonal(D, axis1=1, axis2=2), result.powers, rtol=1e-10)
    assert w @ result.residuals == pytest.approx(result.loss, abs=1e-12)
    loss = codiag.loss(noisy, result.B, sample_weight=weights)
    assert loss == pytest.approx(result.loss, abs=1e-12)
    G = codiag.gradient(noisy, result.B, sample_weight=weights)
    assert np.linalg.norm(G) / np.sqrt(6) == pytest.approx(result.gradient_norm, abs=1e-12)
    assert result.gradient_norm <= 1e-8
    assert result.condition_number == pytest.approx(np.linalg.cond(result.B))
    assert result.n_iter == len(result.history["iteration"]) - 1
    assert result.start_losses == pytest.approx([result.loss], abs=1e-12)
    variation = w @ (result.powers - 1) ** 2
    assert (np.diff(variation) <= 0).all()
    largest = result.A[np.abs(result.A).argmax(axis=0), np.arange(6)]
    assert (largest > 0).all()


def test_loss_and_gradient_match_their_formulas(noisy, weights):
    B = np.random.default_rng(3).standard_normal((6, 6))
    w = weights / weights.sum()
    D = B @ noisy @ B.T
    diagonals = np.diagonal(D, axis1=1, axis2=2)
    loss = 0.5 * w @ (np.log(diagonals).sum(axis=1) - np.linalg.slogdet(D)[1])
    gradient = np.einsum("i,iab,ia->ab", w, D, 1 / diagonals) - np.eye(6)
    assert codiag.loss(noisy, B, sample_weight=weights) == pytest.approx(loss, rel=1e-12)
    found = codiag.gradient(noisy, B, sample_weight=weights)
    np.testing.assert_allclose(found, gradient, atol=1e-12)


def test_gradient_is_the_derivative_of_the_loss(noisy):
    rng = np.random.default_rng(5)
    B, E = rng.standard_normal((2, 6, 6))
    step = 1e-6
    there = codiag.loss(noisy, (np.eye(6) + step * E) @ B)
    back = codiag.loss(noisy, (np.eye(6) - step * E) @ B)
    G = codiag.gradient(noisy, B)
    assert (there - back) / (2 * step) == pytest.approx((G * E).sum(), rel=1e-6)


def test_identifiability_names_the_pair():
    rng = np.random.default_rng(2)
    powers = rng.uniform(0.5, 2, (30, 4))
    powers[:, 3] = powers[:, 1] * (1 + 1e-3 * rng.standard_normal(30))
    C = np.einsum("ia,ab->iab", powers, np.eye(4))
    result = codiag.diagonalize(C, init="identity", canonical=False)
    assert result.identifiability.pair == (1, 3)
    assert 0 <= result.identifiability.margin < 1e-4


def test_init_at_the_minimum_is_kept(noisy):
    B = codiag.diagonalize(noisy).B
    again = codiag.diagonalize(noisy, init=B, tol=1e-7)
    assert again.n_iter == 0
    np.testing.assert_allclose(again.B, B, rtol=1e-10, atol=1e-12)


def test_noncanonical_result_keeps_the_order_of_init(noisy):
    B = codiag.diagonalize(noisy).B
    permuted = -3 * B[::-1]
    result = codiag.diagonalize(noisy, init=permuted, canonical=False)
    cosines = np.einsum("ac,ac->a", result.B, permuted)
    cosines /= np.linalg.norm(result.B, axis=1) * np.linalg.norm(permuted, axis=1)
    np.testing.assert_allclose(cosines, np.ones(6), rtol=1e-9)


@pytest.mark.parametrize("method", ["newton", "quasi-newton"])
def test_orthogonal(noisy, method):
    result = codiag.diagonalize(noisy, orthogonal=True, method=method, tol=1e-6)
    np.testing.assert_allclose(result.B @ result.B.T, np.eye(6), atol=1e-12)
    assert result.converged
    assert result.loss > codiag.diagonalize(noisy).loss


def test_n_components_and_shrinkage(noisy):
    lift = np.linalg.qr(np.random.default_rng(0).standard_normal((9, 6)))[0]
    singular = lift @ noisy @ lift.T
    with pytest.raises(ValueError, match='n_components="auto"'):
        codiag.diagonalize(singular)
    for n_components in ("auto", 6, np.int64(6)):
        result = codiag.diagonalize(singular, n_components=n_components)
        assert result.B.shape == (6, 9) and result.A.shape == (9, 6)
        assert result.loss == pytest.approx(codiag.diagonalize(noisy).loss, abs=1e-9)
        np.testing.assert_allclose(result.B @ result.A, np.eye(6), atol=1e-9)
        assert result.transform(singular).shape == (40, 6, 6)
    shrunk = codiag.diagonalize(singular, shrinkage=1e-2)
    assert shrunk.B.shape == (9, 9)


def test_restarts_never_increase_the_loss():
    C = codiag.datasets.meg("magnetometers")[:, :15, :15]
    once = codiag.diagonalize(C, tol=1e-6)
    often = codiag.diagonalize(C, tol=1e-6, n_restarts=3)
    assert len(often.start_losses) == 4
    assert often.loss <= once.loss + 1e-9
    assert often.loss == pytest.approx(often.start_losses.min(), abs=1e-9)


def test_results_are_bitwise_independent_of_n_jobs():
    C, _ = codiag.datasets.synthetic(300, 20)
    one = codiag.diagonalize(C, n_jobs=1)
    for n_jobs in (2, 3, 10**6, -1, None):
        other = codiag.diagonalize(C, n_jobs=n_jobs)
        assert (other.B == one.B).all()
        assert (other.history["loss"] == one.history["loss"]).all()


def test_single_matrix_and_single_channel():
    C = np.array([[[2.0, 0.5], [0.5, 1.0]]])
    assert codiag.diagonalize(C).loss == pytest.approx(0, abs=1e-12)
    scalar = codiag.diagonalize([[[2.0]], [[4.0]]])
    assert scalar.B.shape == (1, 1) and scalar.identifiability is None
    assert scalar.converged


def test_zero_iterations():
    C, _ = codiag.datasets.synthetic(30, 5)
    result = codiag.diagonalize(C, max_iter=0, on_failure="ignore")
    assert (result.n_iter, result.status) == (0, "max_iter")


@pytest.mark.parametrize("factor", [1e-200, 1e-30, 1e30, 1e200])
def test_result_is_scale_equivariant(noisy, factor):
    plain, scaled = codiag.diagonalize(noisy), codiag.diagonalize(factor * noisy)
    assert scaled.converged
    assert scaled.loss == pytest.approx(plain.loss, abs=1e-9)
    np.testing.assert_allclose(scaled.B * np.sqrt(factor), plain.B, rtol=1e-6, atol=1e-8)


class TestInputs:
    @pytest.mark.parametrize(
        "convert",
        [
            lambda C: C.astype(np.float32),
            lambda C: C.tolist(),
            np.asfortranarray,
            lambda C: np.concatenate([C, C])[::2],
            lambda C: np.kron(C, np.ones((2, 2)))[:, ::2, ::2],
            lambda C: C.astype(">f8"),
            lambda C: list(C),
            lambda C: C.astype(object),
            lambda C: np.ma.masked_array(C),
        ],
        ids=[
            "float32", "lists", "fortran", "strided", "strided-matrices", "big-endian",
            "list-of-arrays", "object", "masked-array",
        ],
    )  # fmt: skip
    def test_array_likes(self, noisy, convert):
        given = convert(noisy)
        before = np.array(given, copy=True)
        expected = codiag.diagonalize(np.ascontiguousarray(np.asarray(given, dtype=float)))
        result = codiag.diagonalize(given)
        assert (result.B == expected.B).all()
        assert (np.asarray(given) == before).all()

    def test_integers(self):
        C = np.array([[[4, 1], [1, 3]], [[2, -1], [-1, 5]]])
        expected = codiag.diagonalize(C.astype(float))
        for dtype in (np.int64, np.int8, np.uint16):
            if dtype is not np.uint16:
                assert (codiag.diagonalize(C.astype(dtype)).B == expected.B).all()
        assert codiag.diagonalize(np.abs(C).astype(np.uint16)).converged

    def test_objects_with_array_protocol(self, noisy):
        """Such as arrays of dask, xarray and torch."""

        class Lazy:
            def __array__(self, dtype=None, copy=None):
                return noisy

        assert (codiag.diagonalize(Lazy()).B == codiag.diagonalize(noisy).B).all()

    def test_misaligned(self, noisy):
        raw = np.empty(noisy.nbytes + 1, np.uint8)[1:]
        misaligned = raw.view(np.float64).reshape(noisy.shape)
        misaligned[:] = noisy
        assert not misaligned.flags.aligned
        assert (codiag.diagonalize(misaligned).B == codiag.diagonalize(noisy).B).all()

    def test_read_only(self, noisy):
        frozen = noisy.copy()
        frozen.flags.writeable = False
        assert (codiag.diagonalize(frozen).B == codiag.diagonalize(noisy).B).all()

    def test_input_arrays_are_not_modified(self, noisy, weights):
        C, w, B = noisy.copy(), weights.copy(), np.eye(6)
        codiag.diagonalize(C, sample_weight=w, init=B)
        codiag.loss(C, B, sample_weight=w)
        assert (C == noisy).all() and (w == weights).all() and (B == np.eye(6)).all()

    def test_returned_arrays_are_writable(self, noisy):
        result = codiag.diagonalize(noisy)
        for array in (result.B, result.A, result.residuals, result.powers, result.start_losses):
            array /= 2
        for column in result.history.values():
            assert column.flags.writeable

    def test_rounding_asymmetry_is_accepted(self, noisy):
        C = noisy.copy()
        C[3, 0, 1] *= 1 + 1e-10
        assert codiag.diagonalize(C).converged

    def test_zero_weights_exclude_matrices(self, noisy):
        w = np.ones(40)
        w[30:] = 0
        some, few = codiag.diagonalize(noisy, sample_weight=w), codiag.diagonalize(noisy[:30])
        np.testing.assert_allclose(some.B, few.B, rtol=1e-6, atol=1e-8)


class TestCallbackAndVerbose:
    def test_callback_records_match_the_history(self, noisy):
        records = []
        result = codiag.diagonalize(noisy, callback=records.append)
        assert all(isinstance(record, codiag.Record) for record in records)
        assert all(record.stage == "full" for record in records)
        for name in result.history:
            assert [getattr(r, name) for r in records] == result.history[name].tolist()
        assert records[0].kind == "init" and records[0].iteration == 0

    def test_callback_stops(self, noisy):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            result = codiag.diagonalize(
                noisy, method="quasi-newton", tol=1e-14, callback=lambda r: r.iteration == 2
            )
        assert (result.status, result.n_iter, result.converged) == ("interrupted", 2, False)

    def test_callback_exceptions_propagate(self, noisy):
        def faulty(record):
            raise KeyError("mine")

        with pytest.raises(KeyError, match="mine"):
            codiag.diagonalize(noisy, callback=faulty)

    def test_history_converts_to_a_table(self, noisy):
        pandas = pytest.importorskip("pandas")
        result = codiag.diagonalize(noisy)
        table = pandas.DataFrame(result.history)
        assert list(table.columns) == list(codiag.Record._fields)
        assert (table["start"] == 0).all()
        assert len(table) == result.n_iter + 1
        assert table["loss"].iloc[-1] == pytest.approx(result.loss, abs=1e-9)

    def test_verbose_prints_one_plain_line_to_a_file(self, noisy, capsys):
        codiag.diagonalize(noisy, verbose=True)
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.count("\n") == 1 and captured.err.endswith("\n")
        assert "\r" not in captured.err and "converged" in captured.err

    def test_verbose_updates_a_line_on_a_terminal(self, noisy, monkeypatch, capsys):
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
        codiag.diagonalize(noisy, verbose=True)
        err = capsys.readouterr().err
        assert err.startswith("\r") and err.count("\n") == 1 and "iteration 0" in err

    def test_verbose_updates_a_line_in_a_notebook(self, noisy, monkeypatch, capsys):
        shell = type("ZMQInteractiveShell", (), {})()
        ipython = types.SimpleNamespace(get_ipython=lambda: shell)
        monkeypatch.setitem(sys.modules, "IPython", ipython)
        codiag.diagonalize(noisy, verbose=True)
        captured = capsys.readouterr()
        assert captured.err == "" and captured.out.startswith("\r")
        assert captured.out.count("\n") == 1 and captured.out.endswith("\n")

    def test_callback_may_stop_or_raise_with_verbose(self, noisy, capsys):
        result = codiag.diagonalize(
            noisy, tol=1e-14, verbose=True, callback=lambda r: r.iteration == 1
        )
        assert result.status == "interrupted"
        with pytest.raises(ZeroDivisionError):
            codiag.diagonalize(noisy, verbose=True, callback=lambda r: 1 / 0)
        assert "interrupted" in capsys.readouterr().err


class TestConvergenceFailure:
    def test_warning_contains_status_and_gradient(self, noisy):
        with pytest.warns(codiag.ConvergenceWarning, match="max_iter.* 1 .*gradient"):
            result = codiag.diagonalize(noisy, method="quasi-newton", max_iter=1)
        assert not result.converged and result.status == "max_iter"

    def test_warning_points_at_the_caller(self, noisy):
        with pytest.warns(codiag.ConvergenceWarning) as caught:
            codiag.diagonalize(noisy, method="quasi-newton", max_iter=1)
        assert caught[0].filename == __file__

    def test_error_carries_the_result(self, noisy):
        with pytest.raises(codiag.ConvergenceError, match="max_iter") as caught:
            codiag.diagonalize(noisy, method="pham", max_iter=1, on_failure="raise")
        assert caught.value.result.n_iter == 1

    def test_on_failure_ignore(self, noisy):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            codiag.diagonalize(noisy, method="quasi-newton", max_iter=1, on_failure="ignore")

    def test_unreachable_tolerance_stalls(self, noisy):
        result = codiag.diagonalize(noisy, tol=1e-300, on_failure="ignore")
        assert result.status == "stalled"
        assert result.gradient_norm < 1e-12


def exact_gradient(C, B):
    """The relative gradient in extended precision."""
    C, B = C.astype(np.longdouble), B.astype(np.longdouble)
    D = np.einsum("ab,nbc,dc->nad", B, C, B, optimize=False)
    powers = np.einsum("naa->na", D)
    return (np.mean(D / powers[:, :, None], 0) - np.eye(len(B))).astype(float)


def ill_conditioned(seed):
    """Exactly diagonalizable sets with condition numbers of 1e6 to 1e16."""
    rng = np.random.default_rng(seed)
    p = int(rng.integers(3, 8))
    A = rng.standard_normal((p, p))
    powers = np.exp(2 * rng.standard_normal((3 * p, p)))
    if seed % 2:
        T = np.diag(10.0 ** rng.uniform(-4, 4, p))
    else:
        T = np.eye(p)
        T[1] = T[0]
        T += 10.0 ** -rng.uniform(2, 4) * np.eye(p)
    A = T @ A
    C = (A * powers[:, None, :]) @ A.T
    return (C + C.transpose(0, 2, 1)) / 2


@pytest.mark.skipif(
    np.finfo(np.longdouble).eps > 1e-18, reason="there is no extended precision here"
)
def test_converged_holds_in_extended_precision():
    statuses = set()
    for seed in range(60):
        C = ill_conditioned(seed)
        if np.linalg.eigvalsh(C).min() <= 0:
            continue
        for orthogonal in (True, False):
            result = codiag.diagonalize(C, orthogonal=orthogonal, on_failure="ignore")
            G = exact_gradient(C, result.B)
            norm = np.linalg.norm(G - G.T if orthogonal else G) / len(G) ** 0.5
            statuses.add(result.converged)
            if result.converged:
                assert norm < 1e-7, (seed, orthogonal, norm)
    assert statuses == {True, False}
