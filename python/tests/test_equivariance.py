"""Sources do not depend on the order, sign, unit or reference of the channels."""

import numpy as np
import pytest

import codiag

pytest.importorskip("sklearn")


def recording(p, seconds, seed):
    """Sources whose power and spectrum change slowly, mixed at random, with noise."""
    rng = np.random.default_rng(seed)
    samples = 100 * seconds
    noise = rng.standard_normal((p, samples))
    sources = noise.copy()
    for lag in range(1, 4):
        sources[:, lag:] += rng.uniform(-0.5, 0.8, (p, 1)) * noise[:, :-lag]
    # A few sources have sparse bursts, which JADE separates.
    sources *= np.repeat(np.exp(0.6 * rng.standard_normal((p, seconds))), 100, axis=1)
    mixing = rng.standard_normal((p, p))
    return mixing @ sources + 0.05 * rng.standard_normal((p, samples))


def rewritings(p, seed):
    rng = np.random.default_rng(seed)
    return {
        "permuted": np.eye(p)[rng.permutation(p)],
        "in other units": np.diag(10.0 ** rng.uniform(-12, 12, p)),
        "with other signs": np.diag(rng.choice([-1.0, 1.0], p)),
        # Average reference, which includes the old reference channel.
        "re-referenced": np.eye(p) - 1 / (p + 1),
        "mixed": rng.standard_normal((p, p)),
    }


def assert_same_sources(model, X, rewritings):
    first = model.fit(X)
    expected = first.transform(X)
    for name, Q in rewritings.items():
        again = type(model)(**model.get_params()).fit(Q @ X)
        found = again.transform(Q @ X)
        correlations = np.corrcoef(expected, found)[: len(expected), len(expected) :]
        # Each component is recovered at its position.
        assert (abs(np.diag(correlations)) > 0.999).all(), name
        loss, again_loss = first.result_.loss, again.result_.loss
        assert again_loss == pytest.approx(loss, rel=1e-8, abs=1e-9), name


@pytest.mark.parametrize(
    "model",
    [
        codiag.SourceSeparation(n_segments=40),
        codiag.SourceSeparation(n_segments=40, method="quasi-newton"),
        codiag.SOBI(lags=20),
        codiag.AMUSE(),
        codiag.JADE(),
    ],
    ids=["SourceSeparation", "quasi-newton", "SOBI", "AMUSE", "JADE"],
)
def test_sources_are_equivariant(model):
    assert_same_sources(model, recording(12, 60, 1), rewritings(12, 2))


@pytest.mark.parametrize("model", [codiag.SourceSeparation, codiag.SOBI, codiag.JADE])
def test_principal_components_do_not_depend_on_order_and_signs(model):
    options = {"n_segments": 40} if model is codiag.SourceSeparation else {}
    kept = rewritings(12, 3)
    kept = {name: kept[name] for name in ("permuted", "with other signs")}
    assert_same_sources(model(n_components=7, **options), recording(12, 60, 4), kept)


@pytest.mark.parametrize("kind", ["mag", "grad"])
@pytest.mark.parametrize(
    "model", [codiag.SourceSeparation(20, n_segments=100), codiag.SOBI(40, lags=50)]
)
def test_sources_of_a_meg_recording_do_not_depend_on_channel_order(kind, model, shared):
    mne = pytest.importorskip("mne")
    file = shared / "meg_sample_24s_raw.fif"
    if not file.exists():
        pytest.skip(f"{file.name} is not available")
    raw = mne.io.read_raw_fif(file, verbose=False).load_data(verbose=False)
    raw.info["bads"] = ["MEG 2443"]
    X = raw.pick(kind, exclude="bads").filter(1, None, verbose=False).get_data()
    kept = rewritings(len(X), 1)
    kept = {name: kept[name] for name in ("permuted", "with other signs")}
    assert_same_sources(model, X, kept)
