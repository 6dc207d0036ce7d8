import signal
from pathlib import Path

import numpy as np
import pytest

import codiag

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared" / "data"

# A shell starts jobs in the background with Ctrl-C ignored, and their children inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


# The slowest files run first, so that parallel workers finish at about the same time.
LONGEST = ["test_dask", "test_types", "test_examples", "test_cli_separate", "test_readme"]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    position = {name: k for k, name in enumerate(LONGEST)}
    items.sort(key=lambda item: position.get(item.path.stem, len(position)))


@pytest.fixture(scope="session")
def root():
    return ROOT


@pytest.fixture(scope="session")
def shared():
    """Folder of example recordings, outside of the repository."""
    if not SHARED.is_dir():
        pytest.skip("the recordings in ../shared/data are not available")
    return SHARED


@pytest.fixture(scope="session")
def noisy():
    """Small version of experiment (b): 40 matrices of size 6."""
    return codiag.datasets.synthetic(40, 6, sigma=0.1, random_state=1)[0]


@pytest.fixture(scope="session")
def weights():
    return np.random.default_rng(0).uniform(0.2, 3, 40)


@pytest.fixture(scope="session")
def epochs():
    """Simulated epochs of four classes: six sources whose powers differ between the classes."""
    rng = np.random.default_rng(7)
    mixing = rng.standard_normal((6, 6))
    powers = rng.uniform(0.1, 3, (4, 6))
    labels = np.repeat(np.arange(4), 15)
    sources = rng.standard_normal((60, 6, 200)) * powers[labels][:, :, None]
    return mixing @ sources, labels


@pytest.fixture
def never_hangs():
    """Fails a test that takes longer than ten minutes."""

    def alarm(*_):
        raise AssertionError("the test did not finish within ten minutes")

    before = signal.signal(signal.SIGALRM, alarm)
    signal.alarm(600)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="module")
def client():
    """Client of a cluster with two worker processes of one thread each."""
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client
