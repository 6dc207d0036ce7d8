"""Errors name the parameter, say what is wrong and what to do; mistakes do not pass silently."""

import numpy as np
import pytest

import codiag

pytest.importorskip("sklearn")

rng = np.random.default_rng(0)
SFREQ = 100.0
POWERS = np.repeat(rng.uniform(0.1, 3, (4, 40)), 100, axis=1)
X = rng.standard_normal((4, 4)) @ (POWERS * rng.standard_normal((4, 4000)))
E = X.reshape(4, 40, 100).transpose(1, 0, 2).copy()
Y = np.repeat(["left", "right"], 20)
C = codiag.datasets.synthetic(20, 4)[0]


@pytest.fixture(scope="module")
def model():
    return codiag.SourceSeparation(sfreq=SFREQ).fit(X)


def raises(kind, message):
    return pytest.raises(kind, match=message)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: codiag.CSP(n_filters=4), "'n_filters': did you mean 'n_components'"),
        (lambda: codiag.JointDiagonalizer(rank=3), "'rank': did you mean 'n_components'"),
        (lambda: codiag.SourceSeparation(rate=250), "'rate': did you mean 'sfreq'"),
        (lambda: codiag.SOBI(n_segment=2), "'n_segment': did you mean 'n_segments'"),
        (lambda: codiag.AMUSE(lags=2), "'lags': did you mean 'lag'"),
        (lambda: codiag.JADE(restarts=2), "'restarts': did you mean 'n_restarts'"),
        (lambda: codiag.diagonalize(C, threads=1), "'threads': did you mean 'n_jobs'"),
        (lambda: codiag.diagonalize(C, weights=None), "'weights': did you mean 'sample_weight'"),
        (lambda: codiag.diagonalize(C, maxiter=1), "'maxiter': did you mean 'max_iter'"),
        (lambda: codiag.bootstrap(C, seed=1), "'seed': did you mean 'random_state'"),
        (lambda: codiag.Tracker(windw=3), "'windw': did you mean 'window'"),
        (lambda: codiag.cospectra(X, 3, fs=100), "'fs': did you mean 'sfreq'"),
        (lambda: codiag.epoch_covariances(E, labels=Y), "'labels': did you mean 'y'"),
        (lambda: codiag.SOBI().fit(X, exclude=[]), "'exclude': did you mean 'bad_spans'"),
        (lambda: codiag.SOBI().fit(E, labels=Y), "'labels': did you mean 'y'"),
        (lambda: codiag.diagonalize(C, zzz=1), "'zzz'. Its parameters are C, callback"),
    ],
)
def test_unknown_keywords_suggest_a_parameter(call, message):
    with raises(TypeError, message):
        call()


class TestShapes:
    @pytest.mark.parametrize("estimator", [codiag.SourceSeparation(), codiag.CSP()])
    def test_epochs_with_axes_in_another_order(self, estimator):
        with raises(
            ValueError, "channels and .* samples: are the axes in another order than epochs x"
        ):
            estimator.fit(E.transpose(0, 2, 1)[:, :, :], Y)

    def test_covariances_are_no_epochs(self):
        with raises(ValueError, "symmetric matrices, not epochs.*JointDiagonalizer"):
            codiag.SourceSeparation().fit(C)

    def test_recordings_of_different_lengths(self):
        with raises(
            ValueError, r"different shapes, such as \(4, 4000\) and \(4, 1000\).*concatenate"
        ):
            codiag.SourceSeparation().fit([X, X[:, :1000]])

    def test_runs_of_equal_length_warn(self):
        with pytest.warns(UserWarning, match="list of 2 recordings.*2 epochs.*concatenate"):
            codiag.SourceSeparation().fit([X, X[::-1]])

    def test_one_epoch(self):
        csp = codiag.CSP().fit(E, Y)
        with raises(ValueError, r"single epoch pass X\[None\]"):
            csp.transform(E[0])

    def test_mne_epochs_split_by_scikit_learn(self):
        with raises(ValueError, r"pass epochs.get_data\(\)"):
            codiag.CSP().fit(E[:, None], Y)
        with raises(ValueError, r"pass epochs.get_data\(\)"):
            codiag.SourceSeparation().fit(E[:, None])


class TestOptions:
    @pytest.mark.parametrize(
        ("options", "kind", "message"),
        [
            ({"max_iter": 1.5}, TypeError, "max_iter must be an integer, got 1.5"),
            ({"tol": "small"}, TypeError, "tol must be a number, got 'small'"),
            ({"orthogonal": "yes"}, TypeError, "orthogonal must be True or False, got 'yes'"),
            ({"method": 3}, TypeError, "method must be a string, got 3"),
            ({"n_jobs": 0}, ValueError, r"n_jobs must be None .*-1 \(all cores\).*got 0"),
            ({"n_jobs": -2}, ValueError, "n_jobs must be None .*got -2"),
            ({"n_jobs": 1.0}, TypeError, "n_jobs must be None, -1 or a positive integer, got 1.0"),
            ({"n_components": 0}, ValueError, "n_components must be None.*got 0"),
            ({"n_components": "full"}, ValueError, 'n_components must be None.*got "full"'),
        ],
    )
    def test_of_diagonalize(self, options, kind, message):
        with raises(kind, message):
            codiag.diagonalize(C, **options)

    def test_all_cores(self):
        assert np.array_equal(codiag.diagonalize(C, n_jobs=-1).B, codiag.diagonalize(C).B)

    @pytest.mark.parametrize("random_state", [1.5, "1", True])
    def test_random_state(self, random_state):
        with raises(TypeError, "random_state must be an integer"):
            codiag.datasets.synthetic(3, 3, random_state=random_state)
        with raises(TypeError, "random_state must be an integer"):
            codiag.bootstrap(C, 2, random_state=random_state)

    def test_random_state_generators(self):
        first, second = (
            codiag.datasets.synthetic(3, 3, random_state=np.random.default_rng(5))[0]
            for _ in range(2)
        )
        assert np.array_equal(first, second)
        different = codiag.datasets.synthetic(3, 3, random_state=None)[0]
        assert not np.array_equal(different, codiag.datasets.synthetic(3, 3, random_state=None)[0])

    @pytest.mark.parametrize("n_components", [1.0, 2.0, -1])
    def test_n_components(self, n_components):
        with raises(ValueError, f"an integer.*fraction.*got {float(n_components)}"):
            codiag.SourceSeparation(n_components).fit(X)

    @pytest.mark.parametrize(
        ("model", "kind", "message"),
        [
            (codiag.SOBI(lags=5.5), TypeError, "lags must be an integer or an iterable.*got 5.5"),
            (codiag.SOBI(lags=[0]), ValueError, "lags must be at least 1, got 0.*identity"),
            (codiag.AMUSE(lag=0), ValueError, "lag must be at least 1, got 0.*identity"),
            (codiag.AMUSE(lag=1.5), TypeError, "lag must be an integer, in samples, got 1.5"),
            (
                codiag.SourceSeparation(bands={"alpha": (8, 12)}, sfreq=SFREQ),
                TypeError,
                r"bands must be pairs.*list\(bands.values\(\)\)",
            ),
            (
                codiag.SourceSeparation(bands="alpha", sfreq=SFREQ),
                TypeError,
                "bands must be pairs.*got 'alpha'",
            ),
            (codiag.SourceSeparation(bands=3), ValueError, "pass sfreq"),
            (
                codiag.SourceSeparation(sfreq=0),
                ValueError,
                "sfreq must be a positive number.*got 0",
            ),
            (codiag.SourceSeparation(sfreq="250"), TypeError, "sfreq must be a number.*'250'"),
            (
                codiag.SourceSeparation(n_segments=3, segment_length=100),
                ValueError,
                "n_segments and segment_length",
            ),
        ],
    )
    def test_of_separations(self, model, kind, message):
        with raises(kind, message):
            model.fit(X)

    def test_one_band_is_one_matrix(self):
        with pytest.warns(UserWarning, match="only one frequency band"):
            codiag.SourceSeparation(bands=[(8, 12)], sfreq=SFREQ).fit(X)

    @pytest.mark.parametrize(
        ("bad_spans", "kind", "message"),
        [
            ([0], TypeError, r"bad_spans must be pairs \(start, stop\) of samples, got 0"),
            ([(0.5, 1.5)], ValueError, "bad_spans must be in samples, integers, got 0.5"),
            ([(10.0, 20.9)], ValueError, "got 20.9: multiply seconds"),
            ([(30, 20)], ValueError, r"0 <= start <= stop, got \(30, 20\)"),
            ([("a", "b")], TypeError, "got 'a'"),
        ],
    )
    def test_bad_spans(self, bad_spans, kind, message):
        with raises(kind, message):
            codiag.SourceSeparation().fit(X, bad_spans=bad_spans)
        with raises(kind, message):
            codiag.segment_covariances(X, bad_spans=bad_spans)

    def test_constant_channels_warn(self):
        with pytest.warns(UserWarning, match="constant channels .* components: 1, 4"):
            codiag.SourceSeparation().fit(np.vstack([X[:1], np.ones((1, 4000)), X[1:3], 0 * X[:1]]))

    def test_whole_floats_are_samples(self):
        expected = codiag.segment_covariances(X, bad_spans=[(10, 20)])
        assert np.array_equal(codiag.segment_covariances(X, bad_spans=[(10.0, 20.0)]), expected)


class TestClasses:
    def test_missing(self):
        with raises(ValueError, "CSP requires y.*one class label per epoch"):
            codiag.CSP().fit(E, None)

    @pytest.mark.parametrize("missing", [None, float("nan")])
    @pytest.mark.parametrize("estimator", [codiag.CSP(), codiag.SourceSeparation()])
    def test_missing_labels(self, estimator, missing):
        y = np.array(Y, dtype=object) if missing is None else np.repeat([1.0, 2.0], 20)
        y[3] = missing
        with raises(ValueError, "missing labels: that of epoch 3"):
            estimator.fit(E, y)

    def test_continuous_targets(self):
        with raises(ValueError, "Unknown label type: continuous"):
            codiag.CSP().fit(E, np.linspace(0.1, 1.3, len(E)))

    def test_labels_of_different_types(self):
        with raises(TypeError, "labels of one type"):
            codiag.SourceSeparation().fit(E, np.array(["a", 1] * 20, dtype=object))

    def test_y_of_a_single_recording(self):
        with raises(ValueError, "y holds the classes of epochs"):
            codiag.SourceSeparation().fit(X, [0, 1])


class TestBeforeFit:
    @pytest.mark.parametrize("name", ["filters_", "components_", "patterns_", "result_"])
    @pytest.mark.parametrize(
        "estimator", [codiag.SourceSeparation(), codiag.JointDiagonalizer(), codiag.CSP()]
    )
    def test_attributes(self, estimator, name):
        from sklearn.exceptions import NotFittedError

        with raises(NotFittedError, f"this {type(estimator).__name__} has no {name} yet: call fit"):
            getattr(estimator, name)
        assert not hasattr(estimator, name)

    def test_other_attributes(self, model):
        with raises(AttributeError, "'SourceSeparation' object has no attribute 'nothing'"):
            _ = model.nothing
        with raises(AttributeError, "no attribute 'info_'"):
            _ = model.info_


class TestArtifacts:
    @pytest.mark.parametrize(
        ("options", "kind", "message"),
        [
            ({"references": ["Fp1"]}, TypeError, "references must be a mapping.*got list"),
            ({"references": X[0]}, TypeError, "references must be a mapping.*got ndarray"),
            (
                {"references": {"Fp1": "blink"}},
                TypeError,
                r"'Fp1' needs samples.*\(kind, samples\)",
            ),
            ({"references": {"Fp1": X[0, 0]}}, TypeError, "'Fp1' must be a kind and its samples"),
            ({"sfreq": "250"}, TypeError, "sfreq must be a number.*'250'"),
            ({"sfreq": 0}, ValueError, "sfreq must be a positive number"),
            ({"sfreq": -250}, ValueError, "sfreq must be a positive number.*got -250"),
            ({"sfreq": 0.25}, ValueError, "sfreq=0.25 is too low.*hertz, not in kilohertz"),
        ],
    )
    def test_bad_arguments(self, model, options, kind, message):
        with raises(kind, message):
            model.find_artifacts(X, **options)

    def test_without_a_sampling_frequency(self):
        with raises(ValueError, "pass sfreq"):
            codiag.SourceSeparation().fit(X).find_artifacts(X)

    def test_short_recordings_warn(self, model):
        with pytest.warns(UserWarning, match="1 s is too short"):
            model.find_artifacts(X[:, :100])

    def test_apply_without_exclude(self, model):
        with raises(TypeError, r"SourceSeparation.apply\(\) needs exclude"):
            model.apply(X)


class TestFiles:
    def test_fif_names_are_for_mne(self, model, tmp_path):
        with raises(ValueError, r"not fif: to_mne\(\).save"):
            model.save(tmp_path / "model-ica.fif")
        (tmp_path / "x.fif").write_bytes(b"\x00" * 100)
        with raises(ValueError, "x.fif' is not a codiag result or model.*read_ica"):
            codiag.load(tmp_path / "x.fif")

    def test_truncated_files_are_named(self, model, tmp_path):
        path = tmp_path / "model.npz"
        model.save(path)
        path.write_bytes(path.read_bytes()[:-200])
        with raises(ValueError, "model.npz' is not a codiag result or model.*truncated"):
            codiag.load(path)

    def test_output_settings_are_not_saved(self, tmp_path):
        model = codiag.SourceSeparation().set_output(transform="pandas").fit(X)
        model.save(tmp_path / "model.npz")
        again = codiag.load(tmp_path / "model.npz")
        assert np.array_equal(again.components_, model.components_)


class TestMne:
    def test_all_channels_are_bad(self):
        mne = pytest.importorskip("mne")
        info = mne.create_info(4, SFREQ, "eeg")
        raw = mne.io.RawArray(X, info, verbose="error")
        raw.info["bads"] = raw.ch_names
        with raises(ValueError, "all channels are marked as bad"):
            codiag.SourceSeparation().fit(raw)

    def test_lists_of_raws(self):
        mne = pytest.importorskip("mne")
        raw = mne.io.RawArray(X, mne.create_info(4, SFREQ, "eeg"), verbose="error")
        with raises(TypeError, "mne.concatenate_raws"):
            codiag.SourceSeparation().fit([raw, raw])

    def test_to_mne_of_an_array_needs_info(self, model):
        pytest.importorskip("mne")
        with raises(ValueError, "pass info=raw.info, an mne.Info of the 4 channels"):
            model.to_mne()

    def test_topographies_need_positions(self):
        mne = pytest.importorskip("mne")
        pytest.importorskip("matplotlib").use("agg")
        raw = mne.io.RawArray(X, mne.create_info(4, SFREQ, "eeg"), verbose="error")
        model = codiag.SourceSeparation().fit(raw)
        with raises(ValueError, "no positions: call raw.set_montage"):
            model.plot_patterns(show=False)


class TestConvergenceWarning:
    def test_is_that_of_scikit_learn(self):
        from sklearn.exceptions import ConvergenceWarning

        assert issubclass(codiag.ConvergenceWarning, ConvergenceWarning)
        with pytest.warns(ConvergenceWarning, match="status 'max_iter' after 1 iterations"):
            codiag.diagonalize(C, max_iter=1)

    def test_points_at_the_callers_line(self):
        estimators = [codiag.JointDiagonalizer(max_iter=1), codiag.Tracker(max_iter=1)]
        for call in (
            lambda: codiag.diagonalize(C, max_iter=1),
            lambda: codiag.diagonalize_many([C], max_iter=1),
            lambda: codiag.bootstrap(C, 2, max_iter=1),
            lambda: estimators[0].fit(C),
            lambda: estimators[1].push(C),
            lambda: codiag.SourceSeparation(max_iter=1).fit(X),
        ):
            with pytest.warns(codiag.ConvergenceWarning) as caught:
                call()
            assert caught[0].filename == __file__

    def test_other_warnings_point_at_the_callers_line(self, model):
        for call in (
            lambda: codiag.SourceSeparation(n_segments=1).fit(X),
            lambda: model.find_artifacts(X[:, :100]),
        ):
            with pytest.warns(UserWarning) as caught:
                call()
            assert caught[0].filename == __file__


class TestOutput:
    def test_names_of_components(self, model):
        names = model.get_feature_names_out()
        assert list(names) == ["S00", "S01", "S02", "S03"]
        assert np.array_equal(model.apply(X, exclude=names[:1]), model.apply(X, exclude=[0]))
        assert list(codiag.CSP(2).fit(E, Y).get_feature_names_out()) == ["csp0", "csp1"]
        assert codiag.JointDiagonalizer().fit(C).get_feature_names_out()[0] == "jointdiagonalizer0"

    @pytest.mark.parametrize(
        "kind", [codiag.SourceSeparation, codiag.SOBI, codiag.AMUSE, codiag.JADE]
    )
    def test_tables_have_one_row_per_sample(self, kind):
        pytest.importorskip("pandas")
        from sklearn.base import clone

        model = kind().fit(X)
        sources = model.transform(X)
        table = model.set_output(transform="pandas").transform(X)
        assert list(table.columns) == list(model.get_feature_names_out())
        assert np.array_equal(table.to_numpy(), sources.T)
        assert clone(model).fit(X).transform(X).shape == (4000, 4)
        assert np.allclose(model.inverse_transform(model.transform(X).to_numpy().T), X)
        assert model.set_output(transform="default").transform(X).shape == (4, 4000)

    def test_tables_of_epochs_are_not_supported(self):
        pytest.importorskip("pandas")
        model = codiag.SourceSeparation().fit(E).set_output(transform="pandas")
        with raises(ValueError, "for a single recording"):
            model.transform(E)
