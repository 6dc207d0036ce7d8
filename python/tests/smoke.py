"""Check that an installation works with no other package than NumPy."""

import sys
from importlib import metadata

import numpy as np

import codiag

C, A = codiag.datasets.synthetic(50, 6, sigma=0)
result = codiag.diagonalize(C)
assert result.converged and codiag.amari_distance(result.B, A) < 1e-7, result
B, infos = codiag.compat.qndiag(C)
assert np.isclose(codiag.loss(C, B), 0, atol=1e-9), infos
try:
    model = codiag.JointDiagonalizer()
    assert model.fit_transform(C).shape == (50, 6)
except ImportError as missing:
    assert "pip install scikit-learn" in str(missing)
assert any(file.name == "THIRD-PARTY-LICENSES" for file in metadata.files("codiag") or [])
sys.stdout.write(f"codiag {codiag.__version__} works: {codiag.__file__}\n")
