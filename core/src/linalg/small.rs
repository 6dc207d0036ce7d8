//! Products and decompositions of small matrices by plain loops, which are faster there than a
//! library's, and make Gram matrices exactly Hermitian and small eigenvalues accurate.

use super::{Matrix, Scalar};

/// Largest size of products and eigenvectors by plain loops.
pub const MAX_SIZE: usize = 8;
/// Largest size of real factors and inverses by plain loops: without them a solve at p = 5 takes
/// 12 % longer.
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

/// Entries below this fraction of the geometric mean of their diagonal entries are zero to rounding,
/// so that small eigenvalues beside large ones are accurate.
const NEGLIGIBLE: f64 = f64::EPSILON / 4.0;
/// Jacobi's method converges quadratically after the first few sweeps.
const MAX_SWEEPS: usize = 20;

/// The eigenvalues of a real symmetric matrix, whose lower triangle is read, in ascending order, and
/// the eigenvectors as rows, by Jacobi's method. None if entries are not finite.
pub fn symmetric_eigen<T: Scalar>(m: &Matrix<T>) -> Option<(Vec<f64>, Matrix<T>)> {
    if !m.is_finite() {
        return None;
    }
    let p = m.rows();
    let entries = m.as_slice().iter().map(|x| x.real().abs());
    // In units in which squares neither overflow nor vanish.
    let unit = entries.fold(f64::MIN_POSITIVE, f64::max);
    let entry = |a: usize, b: usize| m[(a.max(b), a.min(b))].real() / unit;
    let (mut left, mut vectors) = (Matrix::from_fn(p, p, entry), Matrix::<f64>::identity(p));
    for _ in 0..MAX_SWEEPS {
        let mut done = true;
        for (a, b) in (1..p).flat_map(|a| (0..a).map(move |b| (a, b))) {
            let (x, y, off) = (left[(a, a)], left[(b, b)], left[(a, b)]);
            if off * off <= NEGLIGIBLE * NEGLIGIBLE * (x * y).abs() {
                continue;
            }
            done = false;
            // The smaller of the two angles.
            let (difference, twice) = (x - y, 2.0 * off);
            let radius = (difference * difference + twice * twice).sqrt();
            let tangent = twice / (difference.abs() + radius) * difference.signum();
            let cosine = 1.0 / (1.0 + tangent * tangent).sqrt();
            let sine = tangent * cosine;
            let rotated = |x: f64, y: f64| (x * cosine + y * sine, y * cosine - x * sine);
            for k in 0..p {
                for rows in [&mut left, &mut vectors] {
                    (rows[(a, k)], rows[(b, k)]) = rotated(rows[(a, k)], rows[(b, k)]);
                }
            }
            for k in 0..p {
                (left[(k, a)], left[(k, b)]) = rotated(left[(k, a)], left[(k, b)]);
            }
            (left[(a, b)], left[(b, a)]) = (0.0, 0.0);
        }
        if done {
            break;
        }
    }
    let mut order: Vec<usize> = (0..p).collect();
    order.sort_by(|a, b| left[(*a, *a)].total_cmp(&left[(*b, *b)]));
    let values = order.iter().map(|&a| left[(a, a)] * unit).collect();
    let rows = Matrix::from_fn(p, p, |a, b| T::from_real(vectors[(order[a], b)]));
    Some((values, rows))
}
