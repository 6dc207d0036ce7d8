"""Requests for huge amounts of memory raise exceptions and never abort the interpreter."""

import json
import subprocess
import sys
import textwrap

import pytest

# Each case: code, exception, and part of its message.
CASES = [
    ("codiag.datasets.synthetic(10**9, 100)", "MemoryError", "80 TB of memory, but"),
    ("codiag.datasets.synthetic(2 * 10**9, 10)", "MemoryError", "; n="),
    ("codiag.datasets.synthetic(2**62, 2)", "MemoryError", "more than 18 EB"),
    ("codiag.datasets.synthetic(2**32, 2**32, complex=True)", "MemoryError", "more than 18 EB"),
    ("codiag.cumulants(wide)", "MemoryError", "of 400 components needs about 112 GB"),
    ("codiag.cumulants(wide[:306])", "MemoryError", "; n_components=40 needs"),
    ("codiag.JADE().fit(wide)", "MemoryError", "JADE of 400 components needs about"),
    ("codiag.JADE().fit(wide[:306])", "MemoryError", "; n_components=40 needs"),
    (
        "codiag.diagonalize(C, n_resamples=10**15)",
        "ValueError",
        "n_resamples must be at most 1000000",
    ),
    ("codiag.diagonalize(C, n_resamples=10**6)", "MemoryError", "; n_resamples="),
    (
        "codiag.SourceSeparation(n_resamples=10**12).fit(X)",
        "ValueError",
        "n_resamples must be at most 1000000",
    ),
    ("codiag.bootstrap(C, 10**15)", "ValueError", "n_resamples must be from 1 to 1000000"),
    ("codiag.bootstrap(C, 10**6)", "MemoryError", "; n_resamples="),
    (
        "codiag.cospectra(X, sfreq=250, bands=[(1, 40)], window_length=10**12)",
        "ValueError",
        "window_length must be at most the samples of the longest span, got 1000000000000",
    ),
    (
        "codiag.cross_spectra(X, sfreq=250, bands=[(1, 40)], window_length=2**62)",
        "ValueError",
        "window_length must be at most",
    ),
    (
        "codiag.SourceSeparation(bands=[(1, 40)], sfreq=250, window_length=2**62).fit(X)",
        "ValueError",
        "window_length must be at most",
    ),
    (
        "codiag.cospectra(X, sfreq=250, bands=10**9)",
        "ValueError",
        "bands must be at most 1000000, got 1000000000",
    ),
    (
        "codiag.SourceSeparation(bands=10**9, sfreq=250).fit(X)",
        "ValueError",
        "bands must be at most 1000000",
    ),
    (
        "codiag.cross_spectra(wide, sfreq=2, bands=[(0.5, 1)] * 4000)",
        "MemoryError",
        "a set of 4000 spectra of 400 x 400 needs about 12 GB",
    ),
    (
        "codiag.lagged_covariances(X, lags=10**10)",
        "ValueError",
        "lags must be shorter than the recording and its segments, got 10000000000",
    ),
    ("codiag.lagged_covariances(X, lags=[10**12])", "ValueError", "lags must be shorter"),
    (
        "codiag.lagged_covariances(wide, lags=4900)",
        "MemoryError",
        "a set of 4900 lagged covariances of 400 x 400 needs about 6",
    ),
    ("codiag.SOBI(lags=10**10).fit(X)", "ValueError", "lags must be shorter"),
    ("codiag.AMUSE(lag=2**62).fit(X)", "ValueError", "lags must be shorter"),
    (
        "codiag.segment_covariances(wide, segment_length=500, overlap=0.999999)",
        "MemoryError",
        "a set of 4501 covariances of 400 x 400 needs about 5",
    ),
    (
        "codiag.segment_covariances(X, n_segments=10**12, overlap=0.99999999999999)",
        "ValueError",
        "n_segments must be at most one per sample",
    ),
    ("codiag.diagonalize(large)", "MemoryError", "a solve of 1500 matrices of 300 x 300"),
]

SCRIPT = """
import json, resource, sys
import numpy as np, codiag

resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
rng = np.random.default_rng(0)
X = rng.laplace(size=(4, 2000))
wide = rng.laplace(size=(400, 5000))
C, _ = codiag.datasets.synthetic(200, 4)
large = np.zeros((1500, 300, 300))  # the error is raised before it is read
for code in json.load(sys.stdin):
    try:
        eval(code)
        print(json.dumps(["nothing", ""]), flush=True)
    except Exception as error:
        print(json.dumps([type(error).__name__, str(error)]), flush=True)
"""


@pytest.fixture(scope="module")
def outcomes():
    """Run all cases in one process whose address space is limited to 4 GB."""
    codes = [code for code, _, _ in CASES]
    command = [sys.executable, "-c", textwrap.dedent(SCRIPT)]
    done = subprocess.run(
        command, input=json.dumps(codes), capture_output=True, text=True, timeout=300
    )
    outcomes = [json.loads(line) for line in done.stdout.splitlines()]
    # The process must not end before the last case.
    assert done.returncode == 0, (codes[min(len(outcomes), len(codes) - 1)], done.stderr)
    return outcomes


@pytest.mark.skipif(sys.platform != "linux", reason="limits of the address space are Linux's")
@pytest.mark.parametrize("case", range(len(CASES)), ids=[code for code, _, _ in CASES])
def test_huge_request_raises(outcomes, case):
    code, exception, part = CASES[case]
    raised, message = outcomes[case]
    assert raised == exception, (code, message)
    assert part in message, (code, message)
