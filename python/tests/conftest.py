import signal
from pathlib import Path

import numpy as np
import pytest

import codiag

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared" / "data"

# A shell starts jobs in the background with Ctrl-C ignored, and their children inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


# What takes longest comes first, so that no worker is left with it at the end.
LONGEST = ["test_dask", "test_types", "test_examples", "test_program_separate", "test_readme"]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    rank = {name: k for k, name in enumerate(LONGEST)}
    items.sort(key=lambda item: rank.get(item.path.stem, len(rank)))


@pytest.fixture(scope="session")
def root():
    return ROOT


@pytest.fixture(scope="session")
def shared():
    """The folder of recordings that is kept beside the project."""
    if not SHARED.is_dir():
        pytest.skip("needs the recordings in ../shared/data, which are not here")
    return SHARED


@pytest.fixture(scope="session")
def noisy():
    """Experiment (b) in small: 40 matrices of size 6."""
    return codiag.datasets.synthetic(40, 6, sigma=0.1, seed=1)[0]


@pytest.fixture(scope="session")
def weights():
    return np.random.default_rng(0).uniform(0.2, 3, 40)


@pytest.fixture(scope="session")
def epochs():
    """Simulated epochs of four classes: six sources, each class with its own powers."""
    rng = np.random.default_rng(7)
    mixing = rng.standard_normal((6, 6))
    powers = rng.uniform(0.1, 3, (4, 6))
    labels = np.repeat(np.arange(4), 15)
    sources = rng.standard_normal((60, 6, 200)) * powers[labels][:, :, None]
    return mixing @ sources, labels


@pytest.fixture
def never_hangs():
    """A test that would wait for ever fails instead."""

    def alarm(*_):
        raise AssertionError("still waiting after ten minutes")

    before = signal.signal(signal.SIGALRM, alarm)
    signal.alarm(600)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="module")
def client():
    """Two worker processes of one thread each."""
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client
