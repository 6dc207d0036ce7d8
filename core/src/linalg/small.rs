//! Decompositions of real matrices so small that preparing the call of a library would take longer.

use super::{Matrix, Scalar, gauss_jordan};

/// Up to this size plain loops are faster.
pub const FACTORS: usize = 12;
/// The same for eigenvectors.
pub const EIGENVECTORS: usize = 8;
/// Sweeps of Jacobi rotations at most: they converge quadratically, in five or six.
const SWEEPS: usize = 40;

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

/// Eigenvalues in ascending order, and the rows V for which V M Vᴴ is diagonal: Jacobi's method.
/// None if it does not converge, as with numbers that are not finite.
pub fn hermitian_eigen<T: Scalar>(m: &Matrix<T>) -> Option<(Vec<f64>, Matrix<T>)> {
    let p = m.rows();
    let mut m = Matrix::from_fn(
        p,
        p,
        |a, b| if a < b { m[(b, a)].conj() } else { m[(a, b)] },
    );
    let mut vectors = Matrix::<T>::identity(p);
    let total = m.norm();
    for _ in 0..SWEEPS {
        let mut rotated = false;
        for a in 1..p {
            for b in 0..a {
                let size = m[(b, a)].abs();
                // Smaller than the rounding of the diagonal.
                if size <= 1e-17 * total {
                    continue;
                }
                rotated = true;
                rotate(&mut m, &mut vectors, (b, a), size);
            }
        }
        if !rotated {
            let powers: Vec<f64> = (0..p).map(|a| m[(a, a)].real()).collect();
            let mut order: Vec<usize> = (0..p).collect();
            order.sort_by(|x, y| powers[*x].total_cmp(&powers[*y]));
            let values = order.iter().map(|k| powers[*k]).collect();
            let rows = Matrix::from_fn(p, p, |a, b| vectors[(order[a], b)]);
            return rows.is_finite().then_some((values, rows));
        }
    }
    None
}

/// The rotation that makes entry (a, b), of that size, zero.
fn rotate<T: Scalar>(
    m: &mut Matrix<T>,
    vectors: &mut Matrix<T>,
    (a, b): (usize, usize),
    size: f64,
) {
    let p = m.rows();
    let phase = m[(a, b)] / size;
    let gap = m[(b, b)].real() - m[(a, a)].real();
    // The smaller of the two angles, whose tangent is t.
    let t = 2.0 * size / (gap.abs() + (gap * gap + 4.0 * size * size).sqrt());
    let t = if gap < 0.0 { -t } else { t };
    let cosine = 1.0 / (1.0 + t * t).sqrt();
    let sine = phase * (t * cosine);
    let turned = |x: T, y: T| (x * cosine - sine * y, sine.conj() * x + y * cosine);
    for c in 0..p {
        let (x, y) = turned(m[(a, c)], m[(b, c)]);
        (m[(a, c)], m[(b, c)]) = (x, y);
        let (x, y) = turned(vectors[(a, c)], vectors[(b, c)]);
        (vectors[(a, c)], vectors[(b, c)]) = (x, y);
    }
    // The columns are the conjugates of the rows.
    for c in 0..p {
        let (x, y) = turned(m[(c, a)].conj(), m[(c, b)].conj());
        (m[(c, a)], m[(c, b)]) = (x.conj(), y.conj());
    }
    (m[(a, b)], m[(b, a)]) = (T::ZERO, T::ZERO);
}
