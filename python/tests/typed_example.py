"""Code that `mypy --strict` must accept; it also runs."""

import numpy as np
from numpy.typing import NDArray

import codiag
import codiag.compat as qndiag
from codiag.compat.pyriemann import ajd_pham


def filters(C: NDArray[np.float64]) -> NDArray[np.float64]:
    result: codiag.Result = codiag.diagonalize(C, sample_weight=[1.0] * len(C), on_failure="raise")
    margin: float = result.identifiability.margin if result.identifiability else 0.0
    losses: list[float] = result.history["loss"].tolist()
    assert margin >= 0 and losses
    return result.B


def stop_early(record: codiag.Record) -> bool:
    return record.gradient_norm < 1e-3 and record.iteration > 2


C, A = codiag.datasets.synthetic(30, 4)
distance: float = codiag.amari_distance(filters(C), A)
interrupted = codiag.diagonalize(C.tolist(), callback=stop_early, tol=1e-14, on_failure="ignore")
results: list[codiag.Result] = codiag.diagonalize_many([C, C])
confidence: NDArray[np.float64] = codiag.bootstrap(C, n_resamples=3).confidence
B, infos = qndiag.qndiag(C)
times: list[float] = infos["t_list"]
V, D = ajd_pham(C)
tracker = codiag.Tracker(window=20, forgetting=0.9)
latest: codiag.Result = tracker.push(C[0])
followed: NDArray[np.float64] = tracker.B
model = codiag.JointDiagonalizer(method="pham").fit(C)
features: NDArray[np.float64] = model.transform(C)
recording = np.random.default_rng(0).standard_normal((3, 900))
separation = codiag.SourceSeparation(2, n_segments=20).fit(recording)
sources: NDArray[np.float64] = separation.transform(recording)
pair: codiag.SeparabilityMargin | None = separation.least_separable_[0]
covariances: NDArray[np.float64] = codiag.segment_covariances(recording, shrinkage="auto")
