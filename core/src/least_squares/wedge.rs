//! U-WEDGE (Tichavský & Yeredor 2009) and FFDIAG (Ziehe, Laskov, Nolte & Müller 2004): one p×p formula
//! on two sums over Dⁱ = B Cⁱ Bᵀ.
//!
//! With y_ab = Σ_i w_i Dⁱ_bb Dⁱ_ab and z_ab = Σ_i w_i Dⁱ_aa Dⁱ_bb, the best fit of the Dⁱ by
//! (I − E) diag(Dⁱ) (I − E)ᵀ to first order in E solves, for each pair,
//!
//! ```text
//! [ z_bb  z_ab ] [ E_ab ]     [ y_ab ]
//! [ z_ab  z_aa ] [ E_ba ] = − [ y_ba ]
//! ```
//!
//! U-WEDGE takes B ← (I − E)⁻¹ B, FFDIAG B ← (I + E) B. Both stop where y_ab = 0 for all a ≠ b: on exact
//! sets that is the minimum of least squares, on others near it.

use crate::linalg::kernels::MomentSums;
use crate::linalg::{self, Matrix, Scalar};
use crate::statistics::Statistics;

/// Determinants are kept above this share of z_aa z_bb.
const FLOOR: f64 = 1e-10;
/// FFDIAG's steps have at most this norm.
const LONGEST: f64 = 1.0;

/// y and z, as gradient and Γ, from the moments of the Dⁱ with the weights −w_i Dⁱ_aa.
pub(crate) fn sums<T: Scalar>(moments: &MomentSums<T>) -> Statistics {
    let (gradient, gamma) = (moments.gradient.to_real(), &moments.gamma);
    let p = gamma.rows();
    Statistics {
        gradient: Matrix::from_fn(p, p, |a, b| if a == b { 0.0 } else { -gradient[(b, a)] }),
        gamma: Matrix::from_fn(p, p, |a, b| -gamma[(a, b)]),
    }
}

/// The same in units in which Σ_a z_aa is the set's energy: their residual is then measured as the
/// gradient of least squares is.
pub(crate) fn in_units_of(energy: f64, mut sums: Statistics) -> Statistics {
    let total: f64 = (0..sums.gamma.rows()).map(|a| sums.gamma[(a, a)]).sum();
    let unit = if total > 0.0 { energy / total } else { 0.0 };
    for matrix in [&mut sums.gradient, &mut sums.gamma] {
        matrix.as_mut_slice().iter_mut().for_each(|x| *x *= unit);
    }
    sums
}

/// E, from y and z; or, from the gradient and Γ of the fit itself, the direction that its 2×2 blocks
/// would take.
pub(crate) fn direction(statistics: &Statistics) -> Matrix {
    let Statistics {
        gradient: y,
        gamma: z,
    } = statistics;
    let p = z.rows();
    Matrix::from_fn(p, p, |a, b| {
        let (energy_a, energy_b) = (z[(a, a)], z[(b, b)]);
        if a == b || energy_a <= 0.0 || energy_b <= 0.0 {
            return 0.0;
        }
        // Ratios, since products of energies may leave the range of numbers.
        let shared = z[(a, b)] / energy_a;
        let determinant = (1.0 - shared * (z[(a, b)] / energy_b)).max(FLOOR);
        (shared * y[(b, a)] - y[(a, b)]) / energy_b / determinant
    })
}

/// U-WEDGE's (I − E)⁻¹ B; None if that is not finite.
pub(crate) fn uwedge(b: &Matrix, e: &Matrix) -> Option<Matrix> {
    let p = e.rows();
    let step = Matrix::from_fn(p, p, |x, y| f64::from(u8::from(x == y)) - e[(x, y)]);
    let next = linalg::product(&linalg::inverse(&step), b);
    next.is_finite().then_some(next)
}

/// FFDIAG's (I + E) B, and how much of E was taken.
pub(crate) fn ffdiag(b: &Matrix, e: &Matrix) -> (Matrix, f64) {
    let length = (LONGEST / e.norm()).min(1.0);
    (crate::update::step(b, e, length), length)
}
