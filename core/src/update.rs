//! The relative step B ← (I + αE)B, and the gauge of unit mean powers.

use crate::linalg::{self, Matrix};
use crate::matrices::Probe;

/// The B at which a set stands once it has been asked to advance: S (I + αE) B, S = diag(`scale`).
#[must_use]
pub fn advanced(b: &Matrix, e: &Matrix, alpha: f64, scale: &[f64]) -> Matrix {
    step(b, e, alpha).scale_rows(scale)
}

/// (I + αE) B.
pub(crate) fn step(b: &Matrix, e: &Matrix, alpha: f64) -> Matrix {
    let mut next = linalg::product(e, b);
    for (x, old) in next.as_mut_slice().iter_mut().zip(b.as_slice()) {
        *x = old + alpha * *x;
    }
    next
}

/// The factors that bring the powers Σ_i w_i Dⁱ_aa(α) back to 1.
pub(crate) fn gauge(probe: &Probe, alpha: f64) -> Vec<f64> {
    let powers = probe.linear.iter().zip(&probe.quadratic);
    powers
        .map(|(linear, quadratic)| 1.0 / (1.0 + alpha * (linear + alpha * quadratic)).sqrt())
        .collect()
}

/// B with its rows scaled so that b_a C̄ b_aᵀ = 1 for the mean C̄.
pub(crate) fn normalize(b: Matrix, mean: &Matrix) -> Matrix {
    let scale = normalizing_scale(&b, mean);
    b.scale_rows(&scale)
}

/// The factors 1 / √(b_a C̄ b_aᵀ).
pub(crate) fn normalizing_scale(b: &Matrix, mean: &Matrix) -> Vec<f64> {
    let half = linalg::product(b, mean);
    (0..b.rows())
        .map(|a| 1.0 / linalg::dot(half.row(a), b.row(a)).sqrt())
        .collect()
}
