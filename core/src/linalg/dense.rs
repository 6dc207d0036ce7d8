//! Decompositions of single p×p matrices. The only file that names faer.

use faer::linalg::matmul::{matmul, triangular};
use faer::linalg::solvers::{DenseSolveCore, ShapeCore};
use faer::prelude::ReborrowMut;
use faer::{Accum, MatMut, MatRef, Par, Side};

use super::Matrix;

/// Up to this size a plain loop is faster than preparing the call of a library.
const SMALL: usize = 8;
/// Up to this size plain elimination is faster than factors in blocks.
const GAUSS_JORDAN: usize = 128;

fn view(m: &Matrix) -> MatRef<'_, f64> {
    MatRef::from_row_major_slice(m.as_slice(), m.rows(), m.columns())
}

/// A copy of a faer matrix.
fn from_faer(m: MatRef<'_, f64>) -> Matrix {
    Matrix::from_fn(m.nrows(), m.ncols(), |a, b| m[(a, b)])
}

/// `left · right`.
pub fn product(left: &Matrix, right: &Matrix) -> Matrix {
    let mut out = Matrix::zeros(left.rows(), right.columns());
    let (rows, columns) = (out.rows(), out.columns());
    if rows.max(columns) <= SMALL {
        for a in 0..rows {
            let (x, sums) = (left.row(a), out.row_mut(a));
            for (k, x) in x.iter().enumerate() {
                let row = right.row(k).iter();
                sums.iter_mut().zip(row).for_each(|(sum, y)| *sum += x * y);
            }
        }
        return out;
    }
    matmul(
        MatMut::from_row_major_slice_mut(out.as_mut_slice(), rows, columns),
        Accum::Replace,
        view(left),
        view(right),
        1.0,
        Par::Seq,
    );
    out
}

/// out += factor · (x yᵀ + yᵀ x).
pub fn add_symmetric_product(out: &mut Matrix, factor: f64, x: &Matrix, y: &Matrix) {
    let p = out.rows();
    let mut out = MatMut::from_row_major_slice_mut(out.as_mut_slice(), p, p);
    let (x, y) = (view(x), view(y).transpose());
    matmul(out.rb_mut(), Accum::Add, x, y, factor, Par::Seq);
    matmul(out, Accum::Add, y, x, factor, Par::Seq);
}

/// `left · right` for a `right` given as rows of `columns` numbers, into rows likewise.
pub fn product_into(left: &Matrix, right: &[f64], columns: usize, out: &mut [f64]) {
    product_onto(left, right, columns, out, Accum::Replace);
}

/// The same, added to what is there.
pub fn add_product(left: &Matrix, right: &[f64], columns: usize, out: &mut [f64]) {
    product_onto(left, right, columns, out, Accum::Add);
}

fn product_onto(left: &Matrix, right: &[f64], columns: usize, out: &mut [f64], onto: Accum) {
    let (rows, inner) = (left.rows(), left.columns());
    matmul(
        MatMut::from_row_major_slice_mut(out, rows, columns),
        onto,
        view(left),
        MatRef::from_row_major_slice(right, inner, columns),
        1.0,
        Par::Seq,
    );
}

/// The lower triangle of out += factor · x xᵀ, for an x of `columns` columns whose rows begin
/// `stride` numbers apart.
pub fn add_gram(out: &mut [f64], p: usize, factor: f64, x: &[f64], stride: usize, columns: usize) {
    use triangular::BlockStructure::{Rectangular, TriangularLower};
    let x = MatRef::from_row_major_slice_with_stride(x, p, columns, stride);
    triangular::matmul(
        MatMut::from_row_major_slice_mut(out, p, p),
        TriangularLower,
        Accum::Add,
        x,
        Rectangular,
        x.transpose(),
        Rectangular,
        factor,
        Par::Seq,
    );
}

/// `left · rightᵀ`.
pub fn product_transposed(left: &Matrix, right: &Matrix) -> Matrix {
    product(left, &right.transpose())
}

/// Eigenvalues in ascending order, and the eigenvectors as *rows*.
/// None if the iteration does not converge, which for finite input does not happen.
pub fn symmetric_eigen(m: &Matrix) -> Option<(Vec<f64>, Matrix)> {
    let eigen = view(m).self_adjoint_eigen(Side::Lower).ok()?;
    let values = eigen.S().column_vector().iter().copied().collect();
    Some((values, from_faer(eigen.U().transpose())))
}

/// The eigenvalues of a symmetric matrix in ascending order.
pub fn symmetric_eigenvalues(m: &Matrix) -> Option<Vec<f64>> {
    view(m).self_adjoint_eigenvalues(Side::Lower).ok()
}

/// The singular values in descending order.
pub fn singular_values(m: &Matrix) -> Option<Vec<f64>> {
    view(m).singular_values().ok()
}

/// The lower Cholesky factor, or None if `m` is not positive definite.
pub fn cholesky(m: &Matrix) -> Option<Matrix> {
    Some(from_faer(view(m).llt(Side::Lower).ok()?.L()))
}

/// The inverse of a square matrix; its entries are not finite if there is none.
pub fn inverse(m: &Matrix) -> Matrix {
    from_faer(view(m).partial_piv_lu().inverse().as_ref())
}

/// log |det m|, −∞ if `m` is singular.
pub fn log_abs_det(m: &Matrix) -> f64 {
    let lu = view(m).partial_piv_lu();
    let upper = lu.U();
    (0..lu.nrows()).map(|a| upper[(a, a)].abs().ln()).sum()
}

/// log det m, −∞ unless the determinant is positive, and m⁻¹, from one factorisation.
pub fn log_det_and_inverse(m: &Matrix) -> (f64, Matrix) {
    if m.rows() <= GAUSS_JORDAN {
        return super::gauss_jordan::log_det_and_inverse(m);
    }
    let lu = view(m).partial_piv_lu();
    let upper = lu.U();
    let (order, _) = lu.P().arrays();
    let negative = (0..m.rows()).filter(|&a| upper[(a, a)] < 0.0).count() + transpositions(order);
    let log_det: f64 = (0..m.rows()).map(|a| upper[(a, a)].abs().ln()).sum();
    if negative % 2 == 1 || !log_det.is_finite() {
        return (f64::NEG_INFINITY, Matrix::zeros(m.rows(), m.rows()));
    }
    (log_det, from_faer(lu.inverse().as_ref()))
}

/// How many transpositions make up a permutation.
fn transpositions(order: &[usize]) -> usize {
    let mut seen = vec![false; order.len()];
    let mut count = 0;
    for start in 0..order.len() {
        let mut at = order[start];
        while !seen[start] && at != start {
            seen[at] = true;
            at = order[at];
            count += 1;
        }
        seen[start] = true;
    }
    count
}

/// The exponential of an antisymmetric matrix, a rotation: scaling and squaring of a Taylor
/// polynomial, then one Newton–Schulz step `Q ← ½ Q (3I − QᵀQ)` towards orthogonality.
pub fn rotation_exponential(e: &Matrix) -> Matrix {
    let p = e.rows();
    let squarings = (e.norm() / 0.25).log2().ceil().max(0.0) as i32;
    let scaled = Matrix::from_fn(p, p, |a, b| e[(a, b)] * 0.5_f64.powi(squarings));
    // Horner's scheme; ‖scaled‖ ≤ ¼ makes the first term left out smaller than 1e-17.
    let mut q = Matrix::identity(p);
    for k in (1..=11).rev() {
        q = product(&scaled, &q);
        q.as_mut_slice().iter_mut().for_each(|x| *x /= f64::from(k));
        (0..p).for_each(|a| q[(a, a)] += 1.0);
    }
    for _ in 0..squarings {
        q = product(&q, &q);
    }
    reorthogonalize(&q)
}

/// One Newton–Schulz step `½ (3I − Q Qᵀ) Q`: squares the distance of a nearly orthogonal matrix
/// to the orthogonal ones.
pub fn reorthogonalize(q: &Matrix) -> Matrix {
    let mut correction = product_transposed(q, q);
    correction
        .as_mut_slice()
        .iter_mut()
        .for_each(|x| *x *= -0.5);
    (0..q.rows()).for_each(|a| correction[(a, a)] += 1.5);
    product(&correction, q)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example(p: usize) -> Matrix {
        Matrix::from_fn(p, p, |a, b| {
            ((a * 7 + b * 13 + 3) % 11) as f64 / 11.0 + 2.0 * f64::from(u8::from(a == b))
        })
    }

    #[test]
    fn inverse_and_determinant_agree_with_a_known_matrix() {
        let m = Matrix::from_rows(2, 2, vec![2.0, 1.0, 1.0, 3.0]);
        assert!((log_abs_det(&m) - 5.0_f64.ln()).abs() < 1e-14);
        let identity = product(&m, &inverse(&m));
        assert!((identity[(0, 0)] - 1.0).abs() < 1e-15 && identity[(0, 1)].abs() < 1e-15);
        let (log_det, inverse) = log_det_and_inverse(&m);
        assert!((log_det - 5.0_f64.ln()).abs() < 1e-14 && (inverse[(0, 0)] - 0.6).abs() < 1e-15);
    }

    #[test]
    fn a_negative_determinant_has_no_logarithm() {
        let swapped = Matrix::from_rows(3, 3, vec![0.0, 2.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
        assert_eq!(log_det_and_inverse(&swapped).0, f64::NEG_INFINITY);
        let cycle = Matrix::from_rows(3, 3, vec![0.0, 2.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0]);
        assert!((log_det_and_inverse(&cycle).0 - 2.0_f64.ln()).abs() < 1e-15);
        let flipped = Matrix::diagonal(&[-1.0, -3.0, 1.0]);
        assert!((log_det_and_inverse(&flipped).0 - 3.0_f64.ln()).abs() < 1e-15);
        let singular = Matrix::from_fn(4, 4, |a, b| (a + b) as f64);
        assert!(log_det_and_inverse(&singular).0 < -30.0);
    }

    #[test]
    fn both_ways_to_an_inverse_agree() {
        for p in [1, 7, 40, GAUSS_JORDAN, GAUSS_JORDAN + 1] {
            // Rows in an order that needs pivots.
            let shift = Matrix::from_fn(p, p, |a, b| f64::from(u8::from(b == (a + 1) % p)));
            let m = product(&shift, &product_transposed(&example(p), &example(p)));
            let m = product(&shift.transpose(), &product(&m, &shift));
            let (log_det, inverse) = log_det_and_inverse(&m);
            if log_det.is_finite() {
                assert!((log_det - log_abs_det(&m)).abs() < 1e-9, "{p}");
                let identity = product(&m, &inverse);
                for a in 0..p {
                    for b in 0..p {
                        let expected = f64::from(u8::from(a == b));
                        assert!((identity[(a, b)] - expected).abs() < 1e-8, "{p}");
                    }
                }
            }
        }
    }

    #[test]
    fn grams_of_strided_rows_agree_with_products() {
        let (p, stride, columns) = (13, 40, 29);
        let x: Vec<f64> = (0..p * stride)
            .map(|k| ((k * 37) % 101) as f64 - 50.0)
            .collect();
        let narrow = Matrix::from_fn(p, columns, |a, t| x[a * stride + t]);
        let expected = product_transposed(&narrow, &narrow);
        let mut out = Matrix::identity(p);
        add_gram(out.as_mut_slice(), p, 0.5, &x, stride, columns);
        for a in 0..p {
            for b in 0..=a {
                let one = f64::from(u8::from(a == b));
                assert!((out[(a, b)] - one - 0.5 * expected[(a, b)]).abs() < 1e-9);
            }
        }
        let mut image = vec![0.0; 13 * columns];
        product_into(&example(13), narrow.as_slice(), columns, &mut image);
        assert_eq!(image, product(&example(13), &narrow).into_vec());
    }

    #[test]
    fn eigenvectors_are_rows() {
        let m = example(6);
        let symmetric = product_transposed(&m, &m);
        let (values, vectors) = symmetric_eigen(&symmetric).unwrap();
        let diagonal = product_transposed(&product(&vectors, &symmetric), &vectors);
        for a in 0..6 {
            for b in 0..6 {
                let expected = if a == b { values[a] } else { 0.0 };
                assert!((diagonal[(a, b)] - expected).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn exponential_of_an_antisymmetric_matrix_is_a_rotation() {
        let angle = 2.5_f64;
        let e = Matrix::from_rows(2, 2, vec![0.0, -angle, angle, 0.0]);
        let q = rotation_exponential(&e);
        assert!((q[(0, 0)] - angle.cos()).abs() < 1e-14);
        assert!((q[(1, 0)] - angle.sin()).abs() < 1e-14);
    }
}
