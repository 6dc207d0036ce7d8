//! Decompositions by plain loops, which are faster than a library's for small matrices.

use super::{Matrix, Scalar};

/// Largest size for which plain loops are faster: without them a solve at p = 5 takes 12 % longer.
pub const MAX_SIZE: usize = 12;

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

/// log |det m|, whether det m is a negative real number, and m⁻¹ by Gauss–Jordan elimination with
/// partial pivoting; −∞ and a matrix of NaN if m is singular or not finite. Rows of very different
/// scales keep their relative accuracy, which the library's inverse does not ensure.
pub fn log_det_and_inverse<T: Scalar>(m: &Matrix<T>) -> (f64, bool, Matrix<T>) {
    let p = m.rows();
    let (mut log_det, mut negative) = (0.0, false);
    let (mut inverse, mut order) = (m.clone(), Vec::with_capacity(p));
    for k in 0..p {
        let size = |row: usize| inverse[(row, k)].abs();
        let chosen = (k..p).fold(
            k,
            |best, row| if size(row) > size(best) { row } else { best },
        );
        let (pivot, largest) = (inverse[(chosen, k)], size(chosen));
        if !(largest > 0.0 && largest.is_finite()) {
            let nan = Matrix::from_fn(p, p, |_, _| T::from_real(f64::NAN));
            return (f64::NEG_INFINITY, false, nan);
        }
        log_det += largest.ln();
        negative ^= T::PLANES == 1 && (pivot.real() < 0.0) ^ (chosen != k);
        order.push(chosen);
        let mut pivot_row = inverse.row(chosen).to_vec();
        pivot_row[k] = T::ONE;
        pivot_row.iter_mut().for_each(|x| *x /= pivot);
        inverse
            .as_mut_slice()
            .copy_within(k * p..(k + 1) * p, chosen * p);
        for (a, row) in inverse.as_mut_slice().chunks_exact_mut(p).enumerate() {
            if a == k {
                row.copy_from_slice(&pivot_row);
                continue;
            }
            let factor = std::mem::take(&mut row[k]);
            let pairs = row.iter_mut().zip(&pivot_row);
            pairs.for_each(|(x, y)| *x -= factor * *y);
        }
    }
    // Exchanged rows of m are exchanged columns of its inverse.
    for (k, &chosen) in order.iter().enumerate().rev() {
        let rows = inverse.as_mut_slice().chunks_exact_mut(p);
        rows.for_each(|row| row.swap(k, chosen));
    }
    (log_det, negative, inverse)
}
