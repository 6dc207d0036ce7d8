"""Conversion of a separation to MNE's ICA."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._typing import Floats


def as_ica(
    filters: Floats,
    patterns: Floats,
    *,
    scale: Floats,
    explained_variance_ratio: float,
    info: Any,
    method: str,
    settings: dict[str, Any],
    fitted_on: tuple[str, int],
    iterations: int,
    exclude: Sequence[int],
) -> Any:
    """Return a fitted ``mne.preprocessing.ICA`` with these sources.

    MNE's sources are U P (x / w - m), with a unit w and a mean m for each channel, principal
    components P and the unmixing matrix U. Those of codiag are B x. So m is 0, and w are the units
    of the principal component analysis, because only in these do the patterns A lie in the span of
    the first rows of P. The other rows complete the basis, so that ``apply`` keeps the part outside
    of the components.
    """
    import mne

    r, p = filters.shape
    units = 1 / scale
    scaled = patterns / units[:, None]
    left, singular, _ = np.linalg.svd(scaled, full_matrices=True)
    unmixing = (filters * units) @ left[:, :r]
    # Variances of the components, of sources of unit power. For the rest only the sum is known.
    variances = np.empty(p)
    variances[:r] = singular**2
    rest = (
        max(0.0, 1 / explained_variance_ratio - 1) * variances[:r].sum()
        if explained_variance_ratio > 0
        else 0.0
    )
    variances[r:] = rest / max(1, p - r)

    # A single component cannot be asked for by number.
    ica = mne.preprocessing.ICA(n_components=r if r > 1 else None, method="infomax")
    ica.method = method
    ica.fit_params = settings
    # Projections that were applied to all channels must not be applied again to those picked.
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
