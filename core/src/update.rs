//! The relative step B ← (I + αE)B, and the gauge.

use crate::criterion::Criterion;
use crate::linalg::{self, Matrix, Scalar};
use crate::matrices::Probe;

/// The B at which a set stands once it has been asked to advance: S (I + αE) B, S = diag(`scale`).
///
/// ```
/// use codiag::Matrix;
/// use codiag::working::advanced;
/// let e = Matrix::from_rows(2, 2, vec![0.0, 0.5, 0.0, 0.0]);
/// let b = advanced(&Matrix::identity(2), &e, 1.0, &[1.0, 2.0]);
/// assert_eq!(b.as_slice(), [1.0, 0.5, 0.0, 2.0]);
/// ```
#[must_use]
pub fn advanced<T: Scalar>(b: &Matrix<T>, e: &Matrix<T>, alpha: f64, scale: &[f64]) -> Matrix<T> {
    step(b, e, alpha).scale_rows(scale)
}

/// (I + αE) B.
pub(crate) fn step<T: Scalar>(b: &Matrix<T>, e: &Matrix<T>, alpha: f64) -> Matrix<T> {
    let mut next = linalg::product(e, b);
    for (x, old) in next.as_mut_slice().iter_mut().zip(b.as_slice()) {
        *x = *old + *x * alpha;
    }
    next
}

/// The factors that bring the rows back to the gauge after a step of length α.
pub(crate) fn gauge(criterion: Criterion, probe: &Probe, alpha: f64) -> Vec<f64> {
    let powers = probe.linear.iter().zip(&probe.quadratic);
    powers
        .map(|(linear, quadratic)| criterion.gauge_after(alpha * (linear + alpha * quadratic)))
        .collect()
}
