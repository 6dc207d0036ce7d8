//! U-WEDGE (Tichavský & Yeredor 2009) and FFDIAG (Ziehe, Laskov, Nolte & Müller 2004): one p×p formula
//! on two sums over Dⁱ = B Cⁱ Bᴴ.
//!
//! With y_ab = Σ_i w_i Dⁱ_bb Dⁱ_ab and z_ab = Σ_i w_i Dⁱ_aa Dⁱ_bb, the best fit of the Dⁱ by
//! (I − E) diag(Dⁱ) (I − E)ᴴ to first order in E solves, for each pair,
//!
//! ```text
//! [ z_bb  z_ab ] [      E_ab ]     [      y_ab ]
//! [ z_ab  z_aa ] [ conj E_ba ] = − [ conj y_ba ]
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
pub(crate) fn sums<T: Scalar>(moments: &MomentSums<T>) -> Statistics<T> {
    let MomentSums { gradient, gamma } = moments;
    let p = gamma.rows();
    let y = |a: usize, b: usize| {
        if a == b {
            T::ZERO
        } else {
            -gradient[(b, a)].conj()
        }
    };
    Statistics {
        gradient: Matrix::from_fn(p, p, y),
        gamma: Matrix::from_fn(p, p, |a, b| -gamma[(a, b)]),
    }
}

/// The same in units in which Σ_a z_aa is the set's energy: their residual is then measured as the
/// gradient of least squares is.
pub(crate) fn in_units_of<T: Scalar>(energy: f64, mut sums: Statistics<T>) -> Statistics<T> {
    let total: f64 = (0..sums.gamma.rows()).map(|a| sums.gamma[(a, a)]).sum();
    let unit = if total > 0.0 { energy / total } else { 0.0 };
    for numbers in [
        linalg::reals_mut(sums.gradient.as_mut_slice()),
        sums.gamma.as_mut_slice(),
    ] {
        numbers.iter_mut().for_each(|x| *x *= unit);
    }
    sums
}

/// E, from y and z; or, from the gradient and Γ of the fit itself, the direction that its 2×2 blocks
/// would take.
pub(crate) fn direction<T: Scalar>(statistics: &Statistics<T>) -> Matrix<T> {
    let Statistics {
        gradient: y,
        gamma: z,
    } = statistics;
    let p = z.rows();
    Matrix::from_fn(p, p, |a, b| {
        let (energy_a, energy_b) = (z[(a, a)], z[(b, b)]);
        if a == b || energy_a <= 0.0 || energy_b <= 0.0 {
            return T::ZERO;
        }
        // Ratios, since products of energies may leave the range of numbers.
        let shared = z[(a, b)] / energy_a;
        let determinant = (1.0 - shared * (z[(a, b)] / energy_b)).max(FLOOR);
        (y[(b, a)].conj() * shared - y[(a, b)]) / energy_b / determinant
    })
}

/// U-WEDGE's (I − E)⁻¹ B; None if that is not finite.
pub(crate) fn uwedge<T: Scalar>(b: &Matrix<T>, e: &Matrix<T>) -> Option<Matrix<T>> {
    let p = e.rows();
    let step = Matrix::from_fn(p, p, |x, y| {
        T::from_real(f64::from(u8::from(x == y))) - e[(x, y)]
    });
    let next = linalg::product(&linalg::inverse_by_elimination(&step), b);
    next.is_finite().then_some(next)
}

/// FFDIAG's (I + E) B, and how much of E was taken.
pub(crate) fn ffdiag<T: Scalar>(b: &Matrix<T>, e: &Matrix<T>) -> (Matrix<T>, f64) {
    let length = (LONGEST / e.norm()).min(1.0);
    (crate::update::step(b, e, length), length)
}
