//! The quasi-Newton direction: the approximate Hessian falls apart into a 2×2 block for each pair,
//! \[\[Γ_ab, 1\], \[1, Γ_ba\]\] acting on (E_ab, E_ba), and is solved pair by pair.

use crate::linalg::Matrix;
use crate::statistics::Statistics;

/// −H̃⁻¹ G (equation 8 of the paper), with determinants Γ_ab Γ_ba − 1 lifted to `floor`.
pub(crate) fn direction(statistics: &Statistics, floor: f64) -> Matrix {
    let Statistics { gradient, gamma } = statistics;
    let p = gradient.rows();
    Matrix::from_fn(p, p, |a, b| {
        if a == b {
            return 0.0;
        }
        let determinant = gamma[(a, b)] * gamma[(b, a)] - 1.0;
        -(gamma[(b, a)] * gradient[(a, b)] - gradient[(b, a)]) / determinant.max(floor)
    })
}

/// The same over rotations: E antisymmetric, −(G_ab − G_ba) / (Γ_ab + Γ_ba − 2).
pub(crate) fn rotation(statistics: &Statistics, floor: f64) -> Matrix {
    let Statistics { gradient, gamma } = statistics;
    let p = gradient.rows();
    Matrix::from_fn(p, p, |a, b| {
        let curvature = gamma[(a, b)] + gamma[(b, a)] - 2.0;
        -(gradient[(a, b)] - gradient[(b, a)]) / curvature.max(floor)
    })
}
