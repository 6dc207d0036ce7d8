//! Products and decompositions of small matrices by plain loops.
//!
//! For small sizes they are faster than faer. They also make Gram matrices exactly Hermitian and
//! small eigenvalues accurate.

use super::{Matrix, Scalar};

/// Largest size for which products and eigenvectors are computed by plain loops.
pub const MAX_SIZE: usize = 8;
/// Largest size for which real Cholesky factors and inverses are computed by plain loops. Without
/// them a solve at p = 5 takes 12 % longer.
pub const MAX_FACTOR_SIZE: usize = 12;

/// out += left · right.
pub fn add_product<T: Scalar>(out: &mut Matrix<T>, left: &Matrix<T>, right: &Matrix<T>) {
    for a in 0..left.rows() {
        for (k, factor) in left.row(a).iter().enumerate() {
            let pairs = out.row_mut(a).iter_mut().zip(right.row(k));
            pairs.for_each(|(sum, x)| *sum += *factor * *x);
        }
    }
}

/// Returns the lower Cholesky factor, or None if `m` is not positive definite.
pub fn cholesky<T: Scalar>(m: &Matrix<T>) -> Option<Matrix<T>> {
    let p = m.rows();
    let mut factor = Matrix::<T>::zeros(p, p);
    for a in 0..p {
        for b in 0..=a {
            let (x, y) = (&factor.row(a)[..b], &factor.row(b)[..b]);
            let dot: T = x.iter().zip(y).map(|(x, y)| *x * y.conj()).sum();
            let remainder = m[(a, b)] - dot;
            factor[(a, b)] = if b < a {
                remainder / factor[(b, b)].real()
            } else if remainder.real() > 0.0 && remainder.real().is_finite() {
                T::from_real(remainder.real().sqrt())
            } else {
                return None;
            };
        }
    }
    Some(factor)
}

/// Returns log |det m|, whether det m is a negative real number, and m⁻¹ by Gauss–Jordan
/// elimination with partial pivoting; −∞ and a matrix of NaN if m is singular or not finite. Unlike
/// faer's inverse, it keeps the relative accuracy of rows of very different scales.
pub fn log_det_and_inverse<T: Scalar>(m: &Matrix<T>) -> (f64, bool, Matrix<T>) {
    let p = m.rows();
    let (mut log_det, mut negative) = (0.0, false);
    let (mut inverse, mut order) = (m.clone(), Vec::with_capacity(p));
    for k in 0..p {
        let size = |row: usize| inverse[(row, k)].abs();
        let pivot_index = (k..p).fold(
            k,
            |best, row| if size(row) > size(best) { row } else { best },
        );
        let (pivot, largest) = (inverse[(pivot_index, k)], size(pivot_index));
        if !(largest > 0.0 && largest.is_finite()) {
            let nan = Matrix::from_fn(p, p, |_, _| T::from_real(f64::NAN));
            return (f64::NEG_INFINITY, false, nan);
        }
        log_det += largest.ln();
        negative ^= T::PLANES == 1 && (pivot.real() < 0.0) ^ (pivot_index != k);
        order.push(pivot_index);
        let mut pivot_row = inverse.row(pivot_index).to_vec();
        pivot_row[k] = T::ONE;
        pivot_row.iter_mut().for_each(|x| *x /= pivot);
        inverse
            .as_mut_slice()
            .copy_within(k * p..(k + 1) * p, pivot_index * p);
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
    // Row exchanges of m are column exchanges of its inverse, in reverse order.
    for (k, &pivot_index) in order.iter().enumerate().rev() {
        let rows = inverse.as_mut_slice().chunks_exact_mut(p);
        rows.for_each(|row| row.swap(k, pivot_index));
    }
    (log_det, negative, inverse)
}

/// Off-diagonal entries below this fraction of the geometric mean of their diagonal entries are not
/// rotated. This relative criterion makes small eigenvalues accurate beside large ones.
const JACOBI_TOLERANCE: f64 = f64::EPSILON / 4.0;
/// Maximum number of Jacobi sweeps; convergence is quadratic after the first few.
const MAX_SWEEPS: usize = 20;

/// Returns the eigenvalues of a real symmetric matrix in ascending order, and the eigenvectors as
/// rows, by the cyclic Jacobi method. Only the lower triangle is read. None if an entry is not
/// finite.
pub fn symmetric_eigen<T: Scalar>(m: &Matrix<T>) -> Option<(Vec<f64>, Matrix<T>)> {
    if !m.is_finite() {
        return None;
    }
    let p = m.rows();
    let entries = m.as_slice().iter().map(|x| x.real().abs());
    // Scaled by the largest entry, so that squares neither overflow nor underflow.
    let unit = entries.fold(f64::MIN_POSITIVE, f64::max);
    let entry = |a: usize, b: usize| m[(a.max(b), a.min(b))].real() / unit;
    let (mut rotated, mut vectors) = (Matrix::from_fn(p, p, entry), Matrix::<f64>::identity(p));
    for _ in 0..MAX_SWEEPS {
        let mut converged = true;
        for (a, b) in (1..p).flat_map(|a| (0..a).map(move |b| (a, b))) {
            let (x, y, off) = (rotated[(a, a)], rotated[(b, b)], rotated[(a, b)]);
            if off * off <= JACOBI_TOLERANCE * JACOBI_TOLERANCE * (x * y).abs() {
                continue;
            }
            converged = false;
            // The smaller of the two angles that annihilate the entry.
            let (difference, twice) = (x - y, 2.0 * off);
            let radius = (difference * difference + twice * twice).sqrt();
            let tangent = twice / (difference.abs() + radius) * difference.signum();
            let cosine = 1.0 / (1.0 + tangent * tangent).sqrt();
            let sine = tangent * cosine;
            let rotate = |x: f64, y: f64| (x * cosine + y * sine, y * cosine - x * sine);
            for k in 0..p {
                for rows in [&mut rotated, &mut vectors] {
                    (rows[(a, k)], rows[(b, k)]) = rotate(rows[(a, k)], rows[(b, k)]);
                }
            }
            for k in 0..p {
                (rotated[(k, a)], rotated[(k, b)]) = rotate(rotated[(k, a)], rotated[(k, b)]);
            }
            (rotated[(a, b)], rotated[(b, a)]) = (0.0, 0.0);
        }
        if converged {
            break;
        }
    }
    let mut order: Vec<usize> = (0..p).collect();
    order.sort_by(|a, b| rotated[(*a, *a)].total_cmp(&rotated[(*b, *b)]));
    let values = order.iter().map(|&a| rotated[(a, a)] * unit).collect();
    let rows = Matrix::from_fn(p, p, |a, b| T::from_real(vectors[(order[a], b)]));
    Some((values, rows))
}
