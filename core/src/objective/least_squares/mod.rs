//! The least-squares fit Cⁱ ≈ A Λⁱ Aᴴ (Yeredor 2002), with A = B⁻¹ and real diagonal Λⁱ.
//!
//! The best diagonals are functions of A (variable projection): with cⁱ = diag(Aᴴ Cⁱ A), g = AᴴA
//! and K_ab = |g_ab|² they are λⁱ = K⁻¹cⁱ, and the residual energy is Σ_i w_i (‖Cⁱ‖² − cⁱᵀ λⁱ).
//! With T = Σ_i w_i λⁱλⁱᵀ and the residuals Rⁱ = Cⁱ − A Λⁱ Aᴴ, the gradient of a quarter of this
//! energy is
//!
//! ```text
//! with respect to A          −Σ_i w_i Rⁱ A Λⁱ = −[Σ_i w_i λⁱ_a Cⁱ a_a − A (g∘T)_a]_a
//! under B ← (I + E)B         G = Σ_i w_i Aᴴ Rⁱ A Λⁱ,   zero on the diagonal
//! ```
//!
//! One data pass, which forms Yⁱ = Cⁱ A, computes the sums; everything else is p×p arithmetic,
//! independent of n. Columns of A have unit norm. The loss does not depend on their norm, but the
//! stopping rule does.

pub(crate) mod acdc;
mod gauss_newton;
mod levenberg;
pub(crate) mod wedge;

pub(crate) use levenberg::LeastSquares;

use crate::backend::Statistics;
use crate::linalg::{self, Matrix, Scalar};

/// Cost of a fit in data passes: 2p³ flops per matrix, compared with 3p³ for a transform.
pub(crate) const FIT_PASSES: f64 = 2.0 / 3.0;

/// Two columns of A are collinear if their cosine differs from ±1 by less than this, which
/// corresponds to an angle of 10⁻⁵.
const COLLINEARITY_TOLERANCE: f64 = 5e-11;
/// Largest entry of an inverse, relative to the units of the inverted rows, before the matrix
/// counts as singular.
const MAX_INVERSE_ENTRY: f64 = 1e13;
/// Largest energy of a component, relative to the energy of the whole set, before the component
/// counts as canceled by others.
const MAX_ENERGY_RATIO: f64 = 100.0;

/// Returns the gradient norm ĝ = √(Σ_ab |G_ab|² / (Γ_bb · energy)) with Γ = T: the correlation of
/// the residuals with the diagonals, which depends neither on units nor on n.
pub(crate) fn stopping_measure<T: Scalar>(statistics: &Statistics<T>, energy: f64) -> f64 {
    let Statistics { gradient, gamma } = statistics;
    let p = gradient.rows();
    if energy <= 0.0 {
        return 0.0;
    }
    // Divide by one factor at a time, since squares of energies may overflow or underflow.
    let term = |a: usize, b: usize| {
        let root = (gamma[(b, b)] / energy).sqrt();
        let part = gradient[(a, b)].abs() / energy;
        if root > 0.0 {
            (part / root).powi(2)
        } else {
            0.0
        }
    };
    let pairs = (0..p).flat_map(|a| (0..p).map(move |b| (a, b)));
    pairs.map(|(a, b)| term(a, b)).sum::<f64>().sqrt()
}

/// Returns the norms of the columns.
pub(crate) fn column_norms<T: Scalar>(a: &Matrix<T>) -> Vec<f64> {
    let mut squares = vec![0.0; a.columns()];
    for row in 0..a.rows() {
        let numbers = squares.iter_mut().zip(a.row(row));
        numbers.for_each(|(sum, x)| *sum += x.norm_sqr());
    }
    squares.iter().map(|x| x.sqrt()).collect()
}

/// Returns the inverse B of A with its columns normalized; None if A is numerically singular.
pub(crate) fn diagonalizer<T: Scalar>(a: &Matrix<T>) -> Option<Matrix<T>> {
    let scale: Vec<f64> = column_norms(a).iter().map(|x| 1.0 / x).collect();
    let a = Matrix::from_fn(a.rows(), a.columns(), |k, c| a[(k, c)] * scale[c]);
    let b = linalg::inverse_by_elimination(&a);
    (a.is_finite() && b.is_finite() && !is_singular(&a, &b)).then_some(b)
}

/// Whether A with computed inverse B is numerically singular, independent of the units of its rows.
fn is_singular<T: Scalar>(a: &Matrix<T>, b: &Matrix<T>) -> bool {
    let unit = |k: usize| {
        let row = a.row(k).iter();
        row.fold(0.0_f64, |largest, x| largest.max(x.abs()))
    };
    let units: Vec<f64> = (0..a.rows()).map(unit).collect();
    let entry = |k: usize, c: usize| b[(k, c)].abs() * units[c];
    let mut entries = (0..b.rows()).flat_map(|k| (0..b.columns()).map(move |c| (k, c)));
    entries.any(|(k, c)| entry(k, c) > MAX_INVERSE_ENTRY)
}

/// Whether components of a fit cancel each other, as they do when columns of A approach
/// collinearity.
pub(crate) fn is_canceled(gamma: &Matrix, energy: f64) -> bool {
    (0..gamma.rows()).any(|a| gamma[(a, a)] > MAX_ENERGY_RATIO * energy)
}

/// Whether two columns of A = B⁻¹ are collinear.
pub(crate) fn is_collinear<T: Scalar>(b: &Matrix<T>) -> bool {
    let a = linalg::inverse_by_elimination(b);
    let norms = column_norms(&a);
    let gram = linalg::product(&a.adjoint(), &a);
    let cosine = |x: usize, y: usize| gram[(x, y)].abs() / (norms[x] * norms[y]);
    let mut pairs = (0..b.rows()).flat_map(|x| (0..x).map(move |y| (x, y)));
    pairs.any(|(x, y)| cosine(x, y) > 1.0 - COLLINEARITY_TOLERANCE)
}
