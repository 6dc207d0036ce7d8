"""A separation as MNE's own ICA."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._input import Floats


def as_ica(
    filters: Floats,
    patterns: Floats,
    *,
    scale: Floats,
    kept_variance: float,
    info: Any,
    method: str,
    settings: dict[str, Any],
    fitted_on: tuple[str, int],
    iterations: int,
    exclude: Sequence[int],
) -> Any:
    """Return a fitted ``mne.preprocessing.ICA`` with these sources.

    MNE's sources are U P (x / w - m): channels in units w of their own, less a mean m; principal
    components P, of which the first are those separated; and the unmixing U. Ours are B x, so m is
    0, and w are the units in which the channels counted when the components were found: only in
    these do the patterns A lie in the span of P, so that U's inverse gives them. The other rows of
    P complete the basis: what is not separated passes through ``apply``.
    """
    import mne

    r, p = filters.shape
    units = 1 / scale
    scaled = patterns / units[:, None]
    left, singular, _ = np.linalg.svd(scaled, full_matrices=True)
    unmixing = (filters * units) @ left[:, :r]
    # The variance of each component: sources have unit power. Of the rest only the sum is known.
    variances = np.empty(p)
    variances[:r] = singular**2
    rest = max(0.0, 1 / kept_variance - 1) * variances[:r].sum() if kept_variance > 0 else 0.0
    variances[r:] = rest / max(1, p - r)

    # A single component cannot be asked for by number.
    ica = mne.preprocessing.ICA(n_components=r if r > 1 else None, method="infomax")
    ica.method = method
    ica.fit_params = settings
    # Projections that were applied have been; applied again, to the channels picked alone, they
    # would change the sources.
    info = info.copy()
    with info._unlock():
        info["projs"] = []
    ica.info = info
    ica.ch_names = list(info["ch_names"])
    ica.pre_whitener_ = units[:, None].copy()
    ica.pca_mean_ = np.zeros(p)
    ica.pca_components_ = np.ascontiguousarray(left.T)
    ica.pca_explained_variance_ = variances
    ica.n_components_ = r
    ica.unmixing_matrix_ = unmixing
    ica._update_mixing_matrix()
    ica._update_ica_names()
    ica.current_fit, ica.n_samples_ = fitted_on
    ica.n_iter_ = iterations
    ica.reject_ = None
    ica.exclude = list(exclude)
    return ica
