//! Products and decompositions of single p×p matrices. Only this file and `by_faer.rs` name faer.

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};

use super::{Matrix, Scalar, c64, small};

mod by_faer;
#[cfg(test)]
mod tests;

/// Scalars of faer, and its functions for them. The trait is private and so seals [`Scalar`].
pub trait Field: faer::traits::ComplexField<Real = f64> + bytemuck::Pod {
    fn product(left: &Matrix<Self>, right: &Matrix<Self>) -> Matrix<Self>;
    fn add_symmetric_product(
        out: &mut Matrix<Self>,
        factor: f64,
        x: &Matrix<Self>,
        y: &Matrix<Self>,
    );
    fn add_gram(out: &mut [Self], p: usize, factor: f64, x: &[Self], stride: usize, columns: usize);
    fn hermitian_eigen(m: &Matrix<Self>) -> Option<(Vec<f64>, Matrix<Self>)>;
    fn hermitian_eigenvalues(m: &Matrix<Self>) -> Option<Vec<f64>>;
    fn eigenvectors(m: &Matrix<Self>) -> Option<Matrix<Self>>;
    fn singular_values(m: &Matrix<Self>) -> Option<Vec<f64>>;
    fn cholesky(m: &Matrix<Self>) -> Option<Matrix<Self>>;
    fn inverse(m: &Matrix<Self>) -> Matrix<Self>;
    fn lower_inverse(m: &Matrix<Self>) -> Matrix<Self>;
    fn log_abs_det(m: &Matrix<Self>) -> f64;
    fn log_det_and_inverse(m: &Matrix<Self>) -> (f64, Matrix<Self>);
}

macro_rules! compile_for {
    ($($scalar:ty),*) => {
        $(impl Field for $scalar {
            fn product(left: &Matrix<Self>, right: &Matrix<Self>) -> Matrix<Self> {
                by_faer::product(left, right)
            }

            fn add_symmetric_product(out: &mut Matrix<Self>, factor: f64, x: &Matrix<Self>, y: &Matrix<Self>) {
                by_faer::add_symmetric_product(out, factor, x, y);
            }

            fn add_gram(out: &mut [Self], p: usize, factor: f64, x: &[Self], stride: usize, columns: usize) {
                by_faer::add_gram(out, p, factor, x, stride, columns);
            }

            fn hermitian_eigen(m: &Matrix<Self>) -> Option<(Vec<f64>, Matrix<Self>)> {
                by_faer::hermitian_eigen(m)
            }

            fn hermitian_eigenvalues(m: &Matrix<Self>) -> Option<Vec<f64>> {
                by_faer::hermitian_eigenvalues(m)
            }

            fn eigenvectors(m: &Matrix<Self>) -> Option<Matrix<Self>> {
                by_faer::eigenvectors(m)
            }

            fn singular_values(m: &Matrix<Self>) -> Option<Vec<f64>> {
                by_faer::singular_values(m)
            }

            fn cholesky(m: &Matrix<Self>) -> Option<Matrix<Self>> {
                by_faer::cholesky(m)
            }

            fn inverse(m: &Matrix<Self>) -> Matrix<Self> {
                by_faer::inverse(m)
            }

            fn lower_inverse(m: &Matrix<Self>) -> Matrix<Self> {
                by_faer::lower_inverse(m)
            }

            fn log_abs_det(m: &Matrix<Self>) -> f64 {
                by_faer::log_abs_det(m)
            }

            fn log_det_and_inverse(m: &Matrix<Self>) -> (f64, Matrix<Self>) {
                by_faer::log_det_and_inverse(m)
            }
        })*
    };
}

compile_for!(f64, c64);

fn view<T: Scalar>(m: &Matrix<T>) -> MatRef<'_, T> {
    MatRef::from_row_major_slice(m.as_slice(), m.rows(), m.columns())
}

/// A copy of a faer matrix.
fn from_faer<T: Scalar>(m: MatRef<'_, T>) -> Matrix<T> {
    Matrix::from_fn(m.nrows(), m.ncols(), |a, b| m[(a, b)])
}

/// `left · right`.
///
/// # Panics
/// If `left` has not as many columns as `right` has rows.
pub fn product<T: Scalar>(left: &Matrix<T>, right: &Matrix<T>) -> Matrix<T> {
    T::product(left, right)
}

/// out += factor · (x yᴴ + yᴴ x), all square.
pub fn add_symmetric_product<T: Scalar>(
    out: &mut Matrix<T>,
    factor: f64,
    x: &Matrix<T>,
    y: &Matrix<T>,
) {
    T::add_symmetric_product(out, factor, x, y);
}

/// out = left · right, where `right` and `out` are rows of `columns` numbers.
pub fn product_into(left: &Matrix, right: &[f64], columns: usize, out: &mut [f64]) {
    product_onto(left, right, columns, out, Accum::Replace);
}

/// out += left · right, where `right` and `out` are rows of `columns` numbers.
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

/// The lower triangle of out += factor · x xᴴ, for an x of `columns` columns whose rows begin
/// `stride` numbers apart.
pub fn add_gram<T: Scalar>(
    out: &mut [T],
    p: usize,
    factor: f64,
    x: &[T],
    stride: usize,
    columns: usize,
) {
    T::add_gram(out, p, factor, x, stride, columns);
}

/// out += left · rightᵀ, where `left` has `rows` rows, and `left` and `right` have `columns`
/// columns; the rows of `right` begin `stride` numbers apart.
pub fn add_product_transposed(
    out: &mut [f64],
    rows: usize,
    left: &[f64],
    right: &[f64],
    stride: usize,
    columns: usize,
) {
    let width = out.len() / rows;
    let right = MatRef::from_row_major_slice_with_stride(right, width, columns, stride);
    matmul(
        MatMut::from_row_major_slice_mut(out, rows, width),
        Accum::Add,
        MatRef::from_row_major_slice(left, rows, columns),
        right.transpose(),
        1.0,
        Par::Seq,
    );
}

/// `left · rightᴴ`; for real matrices `left · rightᵀ`.
pub fn product_adjoint<T: Scalar>(left: &Matrix<T>, right: &Matrix<T>) -> Matrix<T> {
    product(left, &right.adjoint())
}

/// Eigenvalues in ascending order of a Hermitian (if real, symmetric) matrix M, and the rows V, the
/// conjugated eigenvectors, for which V M Vᴴ is diagonal.
/// None if the iteration does not converge, which for finite input does not happen.
pub fn hermitian_eigen<T: Scalar>(m: &Matrix<T>) -> Option<(Vec<f64>, Matrix<T>)> {
    let (scaled, unit) = in_units_of_largest(m);
    let (mut values, mut vectors) = T::hermitian_eigen(&scaled)?;
    values.iter_mut().for_each(|value| *value *= unit);
    for k in 0..vectors.rows() {
        let vector = vectors.row_mut(k);
        if let Some(phase) = phase_of_largest(vector.iter().copied()) {
            vector.iter_mut().for_each(|x| *x *= phase.conj());
        }
    }
    Some((values, vectors))
}

/// Entries whose absolute values differ by less than this fraction tie: otherwise rounding would
/// decide which is the largest.
const TIE_TOLERANCE: f64 = 1e-6;

/// The sign (if complex, the phase) of the entry of largest absolute value, the first of those that
/// tie; None if it is 1, or if all entries are zero.
pub fn phase_of_largest<T: Scalar>(entries: impl Iterator<Item = T> + Clone) -> Option<T> {
    let largest = entries.clone().map(Scalar::abs).fold(0.0, f64::max);
    let entry = entries
        .into_iter()
        .find(|x| x.abs() >= (1.0 - TIE_TOLERANCE) * largest)?;
    let phase = entry / entry.abs();
    (phase != T::ONE && phase.abs().is_finite()).then_some(phase)
}

/// The eigenvalues of a Hermitian (if real, symmetric) matrix in ascending order.
pub fn hermitian_eigenvalues<T: Scalar>(m: &Matrix<T>) -> Option<Vec<f64>> {
    let (scaled, unit) = in_units_of_largest(m);
    let mut values = T::hermitian_eigenvalues(&scaled)?;
    values.iter_mut().for_each(|value| *value *= unit);
    Some(values)
}

/// The eigenvectors of a square matrix as columns; for complex pairs of a real matrix, the real and
/// the imaginary part of one. None if the iteration does not converge, which for finite input does
/// not happen.
pub fn eigenvectors<T: Scalar>(m: &Matrix<T>) -> Option<Matrix<T>> {
    T::eigenvectors(&in_units_of_largest(m).0)
}

/// The singular values in descending order.
pub fn singular_values<T: Scalar>(m: &Matrix<T>) -> Option<Vec<f64>> {
    let (scaled, unit) = in_units_of_largest(m);
    let mut values = T::singular_values(&scaled)?;
    values.iter_mut().for_each(|value| *value *= unit);
    Some(values)
}

/// The matrix divided by a power of two near its largest entry, and that power. Eigenvalue solvers
/// have absolute thresholds: eigenvectors of covariances in tesla² (1e-24) would have six digits.
fn in_units_of_largest<T: Scalar>(m: &Matrix<T>) -> (Matrix<T>, f64) {
    let largest = m.as_slice().iter().map(|x| x.abs()).fold(0.0, f64::max);
    // Subnormal and zero matrices stay as they are.
    if !(largest.is_normal() && largest.recip().is_normal()) {
        return (m.clone(), 1.0);
    }
    let unit = largest.log2().floor().exp2();
    let mut scaled = m.clone();
    multiply(&mut scaled, unit.recip());
    (scaled, unit)
}

/// The lower Cholesky factor L of m = L Lᴴ, or None if `m` is not positive definite.
pub fn cholesky<T: Scalar>(m: &Matrix<T>) -> Option<Matrix<T>> {
    T::cholesky(m)
}

/// The inverse of a lower triangular matrix.
pub fn lower_inverse<T: Scalar>(m: &Matrix<T>) -> Matrix<T> {
    T::lower_inverse(m)
}

/// The inverse of a square matrix; its entries are not finite if there is none.
pub fn inverse<T: Scalar>(m: &Matrix<T>) -> Matrix<T> {
    T::inverse(m)
}

/// The inverse of a square matrix by Gauss–Jordan elimination, for rows of very different scales;
/// its entries are not finite if there is none.
pub fn inverse_by_elimination<T: Scalar>(m: &Matrix<T>) -> Matrix<T> {
    small::log_det_and_inverse(m).2
}

/// log |det m|, −∞ if `m` is singular.
pub fn log_abs_det<T: Scalar>(m: &Matrix<T>) -> f64 {
    T::log_abs_det(m)
}

/// Larger matrices are factorized by blocks, which takes less time than plain elimination.
const MAX_ELIMINATION_SIZE: usize = 64;

/// log det m, −∞ unless the determinant is positive, and m⁻¹, from one factorization; for complex
/// matrices log |det m|.
pub fn log_det_and_inverse<T: Scalar>(m: &Matrix<T>) -> (f64, Matrix<T>) {
    if m.rows() > MAX_ELIMINATION_SIZE {
        return T::log_det_and_inverse(m);
    }
    let (log_det, negative, inverse) = small::log_det_and_inverse(m);
    if negative || !log_det.is_finite() {
        return (f64::NEG_INFINITY, Matrix::zeros(m.rows(), m.rows()));
    }
    (log_det, inverse)
}

/// The exponential of an antihermitian matrix E = −Eᴴ, which is unitary; if real, that of an
/// antisymmetric one, a rotation. Scaling and squaring of a Taylor polynomial, then one
/// Newton–Schulz step `Q ← ½ (3I − Q Qᴴ) Q` towards the unitary matrices.
pub fn unitary_exponential<T: Scalar>(e: &Matrix<T>) -> Matrix<T> {
    let p = e.rows();
    let squarings = (e.norm() / 0.25).log2().ceil().max(0.0) as i32;
    let mut scaled = e.clone();
    multiply(&mut scaled, 0.5_f64.powi(squarings));
    // Horner's scheme; ‖scaled‖ ≤ ¼ makes the first term left out smaller than 1e-17.
    let mut q = Matrix::identity(p);
    for k in (1..=11).rev() {
        q = product(&scaled, &q);
        let entries = q.as_mut_slice().iter_mut();
        entries.for_each(|x| *x = *x / f64::from(k));
        add_to_diagonal(&mut q, 1.0);
    }
    for _ in 0..squarings {
        q = product(&q, &q);
    }
    reorthogonalize(&q)
}

/// One Newton–Schulz step `½ (3I − Q Qᴴ) Q`: squares the distance of a nearly unitary (if real,
/// orthogonal) matrix to those that are.
pub fn reorthogonalize<T: Scalar>(q: &Matrix<T>) -> Matrix<T> {
    let mut correction = product_adjoint(q, q);
    multiply(&mut correction, -0.5);
    add_to_diagonal(&mut correction, 1.5);
    product(&correction, q)
}

fn multiply<T: Scalar>(m: &mut Matrix<T>, factor: f64) {
    let entries = m.as_mut_slice().iter_mut();
    entries.for_each(|x| *x = *x * factor);
}

fn add_to_diagonal<T: Scalar>(m: &mut Matrix<T>, number: f64) {
    for a in 0..m.rows() {
        m[(a, a)] += T::from_real(number);
    }
}
