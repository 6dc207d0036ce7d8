//! The steps of U-WEDGE (Tichavský & Yeredor 2009) and FFDIAG (Ziehe, Laskov, Nolte & Müller 2004).
//!
//! With y_ab = Σ_i w_i Dⁱ_bb Dⁱ_ab and z_ab = Σ_i w_i Dⁱ_aa Dⁱ_bb, where Dⁱ = B Cⁱ Bᴴ, the best fit
//! of the Dⁱ by (I − E) diag(Dⁱ) (I − E)ᴴ to first order in E solves, for each pair,
//!
//! ```text
//! [ z_bb  z_ab ] [      E_ab ]     [      y_ab ]
//! [ z_ab  z_aa ] [ conj E_ba ] = − [ conj y_ba ]
//! ```
//!
//! U-WEDGE updates B ← (I − E)⁻¹ B, FFDIAG B ← (I + E) B. Both converge to y_ab = 0 for all a ≠ b,
//! which is the least-squares minimum if the set can be diagonalized exactly, and close to it
//! otherwise.

use crate::backend::{Statistics, moved};
use crate::linalg::kernels::MomentSums;
use crate::linalg::{self, Matrix, Scalar};

/// Smallest determinant of a 2×2 block, as a fraction of z_aa z_bb.
const MIN_DETERMINANT: f64 = 1e-10;
/// Largest norm of a step of FFDIAG.
const MAX_STEP_NORM: f64 = 1.0;

/// Returns y and z, as gradient and Γ, from the moments of the Dⁱ with the weights −w_i Dⁱ_aa.
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

/// Scales y and z so that Σ_a z_aa is the energy of the set. The residual is then comparable with
/// the gradient of least squares.
pub(crate) fn scaled_to_energy<T: Scalar>(energy: f64, mut sums: Statistics<T>) -> Statistics<T> {
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

/// Returns E from y and z. Given the gradient and Γ of the fit instead, returns the quasi-Newton
/// direction of its 2×2 blocks.
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
        // Use ratios, since products of energies may overflow or underflow.
        let ratio = z[(a, b)] / energy_a;
        let determinant = (1.0 - ratio * (z[(a, b)] / energy_b)).max(MIN_DETERMINANT);
        (y[(b, a)].conj() * ratio - y[(a, b)]) / energy_b / determinant
    })
}

/// Returns (I − E)⁻¹ B, the step of U-WEDGE; None if it is not finite.
pub(crate) fn uwedge<T: Scalar>(b: &Matrix<T>, e: &Matrix<T>) -> Option<Matrix<T>> {
    let p = e.rows();
    let step = Matrix::from_fn(p, p, |x, y| {
        T::from_real(f64::from(u8::from(x == y))) - e[(x, y)]
    });
    let next = linalg::product(&linalg::inverse_by_elimination(&step), b);
    next.is_finite().then_some(next)
}

/// Returns (I + αE) B, the step of FFDIAG, and α ≤ 1.
pub(crate) fn ffdiag<T: Scalar>(b: &Matrix<T>, e: &Matrix<T>) -> (Matrix<T>, f64) {
    let length = (MAX_STEP_NORM / e.norm()).min(1.0);
    (moved(b, e, length), length)
}
