//! Decompositions of real matrices so small that preparing the call of a library would take longer.

use super::{Matrix, Scalar, gauss_jordan};

/// Up to this size plain loops are faster.
pub const FACTORS: usize = 12;

/// The lower Cholesky factor, or None if `m` is not positive definite.
pub fn cholesky<T: Scalar>(m: &Matrix<T>) -> Option<Matrix<T>> {
    let p = m.rows();
    let mut factor = Matrix::<T>::zeros(p, p);
    for a in 0..p {
        for b in 0..=a {
            let (x, y) = (&factor.row(a)[..b], &factor.row(b)[..b]);
            let known: T = x.iter().zip(y).map(|(x, y)| *x * y.conj()).sum();
            let left = m[(a, b)] - known;
            factor[(a, b)] = if b < a {
                left / factor[(b, b)].real()
            } else if left.real() > 0.0 && left.real().is_finite() {
                T::from_real(left.real().sqrt())
            } else {
                return None;
            };
        }
    }
    Some(factor)
}

/// The inverse; not finite if there is none.
pub fn inverse<T: Scalar>(m: &Matrix<T>) -> Matrix<T> {
    let (log_det, _, inverse) = gauss_jordan::inverse(m);
    if log_det == f64::NEG_INFINITY {
        return Matrix::from_fn(m.rows(), m.rows(), |_, _| T::from_real(f64::NAN));
    }
    inverse
}
