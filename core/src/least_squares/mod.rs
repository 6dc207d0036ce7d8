//! The least-squares fit Cⁱ ≈ A Λⁱ Aᴴ (Yeredor 2002), A = B⁻¹ and Λⁱ diagonal and real.
//!
//! The best diagonals follow from A: with cⁱ = diag(Aᴴ Cⁱ A), g = AᴴA and K_ab = |g_ab|² they are λⁱ = K⁻¹cⁱ,
//! and what the fit leaves is Σ_i w_i (‖Cⁱ‖² − cⁱᵀ λⁱ). With T = Σ_i w_i λⁱλⁱᵀ and the residuals
//! Rⁱ = Cⁱ − A Λⁱ Aᴴ, the gradient of a quarter of it is
//!
//! ```text
//! with respect to A          −Σ_i w_i Rⁱ A Λⁱ = −[Σ_i w_i λⁱ_a Cⁱ a_a − A (g∘T)_a]_a
//! under B ← (I + E)B         G = Σ_i w_i Aᴴ Rⁱ A Λⁱ,   zero on the diagonal
//! ```
//!
//! One pass over the Cⁱ, Yⁱ = Cⁱ A, makes the sums; all else here is p×p arithmetic, whatever n is.
//! Columns of A have unit norm: the loss does not depend on it, but the stopping measure does.

pub(crate) mod acdc;
mod fit;
pub(crate) mod gauss_newton;
mod levenberg;
pub(crate) mod wedge;

pub(crate) use fit::{Change, Fit};
pub(crate) use levenberg::{FIT_PASSES, Levenberg, Point};

use crate::linalg::{self, Matrix, Scalar};
use crate::statistics::Statistics;

/// Two columns of A whose cosine is nearer to ±1 than this are collinear: an angle of 10⁻⁵.
const COLLINEAR: f64 = 5e-11;
/// An inverse with entries beyond this, in units of the rows inverted, is rounding.
const SINGULAR: f64 = 1e13;
/// A component with so many times the energy of the whole set is cancelled by others to a hundredth.
const CANCELLED: f64 = 100.0;

/// ĝ = √(Σ_ab G_ab² / (Γ_bb · energy)), with Γ = T: how much of the residuals goes along with each diagonal,
/// free of units and of n.
pub(crate) fn stopping_measure<T: Scalar>(statistics: &Statistics<T>, energy: f64) -> f64 {
    let Statistics { gradient, gamma } = statistics;
    let p = gradient.rows();
    if energy <= 0.0 {
        return 0.0;
    }
    // Each factor apart: squares of energies may leave the range of numbers.
    let share = |a: usize, b: usize| {
        let root = (gamma[(b, b)] / energy).sqrt();
        let part = gradient[(a, b)].abs() / energy;
        if root > 0.0 {
            (part / root).powi(2)
        } else {
            0.0
        }
    };
    let shares = (0..p).flat_map(|a| (0..p).map(move |b| (a, b)));
    shares.map(|(a, b)| share(a, b)).sum::<f64>().sqrt()
}

/// The norms of the columns.
pub(crate) fn column_norms<T: Scalar>(a: &Matrix<T>) -> Vec<f64> {
    let mut squares = vec![0.0; a.columns()];
    for row in 0..a.rows() {
        let numbers = squares.iter_mut().zip(a.row(row));
        numbers.for_each(|(sum, x)| *sum += x.norm_sqr());
    }
    squares.iter().map(|x| x.sqrt()).collect()
}

/// The B of an A whose columns are brought to unit norm; None if it has no inverse, or none that rounding leaves
/// anything of.
pub(crate) fn diagonalizer<T: Scalar>(a: &Matrix<T>) -> Option<Matrix<T>> {
    let scale: Vec<f64> = column_norms(a).iter().map(|x| 1.0 / x).collect();
    let a = Matrix::from_fn(a.rows(), a.columns(), |k, c| a[(k, c)] * scale[c]);
    let b = linalg::inverse_by_elimination(&a);
    (a.is_finite() && b.is_finite() && !is_singular(&a, &b)).then_some(b)
}

/// Whether A, of inverse B, is singular to rounding, whatever the units of its rows.
fn is_singular<T: Scalar>(a: &Matrix<T>, b: &Matrix<T>) -> bool {
    let unit = |k: usize| a.row(k).iter().fold(0.0_f64, |most, x| most.max(x.abs()));
    let units: Vec<f64> = (0..a.rows()).map(unit).collect();
    let entry = |k: usize, c: usize| b[(k, c)].abs() * units[c];
    let mut entries = (0..b.rows()).flat_map(|k| (0..b.columns()).map(move |c| (k, c)));
    entries.any(|(k, c)| entry(k, c) > SINGULAR)
}

/// Whether components of a fit cancel each other: the sign of columns on their way to be collinear.
pub(crate) fn is_cancelled(gamma: &Matrix, energy: f64) -> bool {
    (0..gamma.rows()).any(|a| gamma[(a, a)] > CANCELLED * energy)
}

/// Whether two columns of A = B⁻¹ have become collinear.
pub(crate) fn is_collinear<T: Scalar>(b: &Matrix<T>) -> bool {
    let a = linalg::inverse_by_elimination(b);
    let norms = column_norms(&a);
    let gram = linalg::product(&a.adjoint(), &a);
    let cosine = |x: usize, y: usize| gram[(x, y)].abs() / (norms[x] * norms[y]);
    let mut pairs = (0..b.rows()).flat_map(|x| (0..x).map(move |y| (x, y)));
    pairs.any(|(x, y)| cosine(x, y) > 1.0 - COLLINEAR)
}
