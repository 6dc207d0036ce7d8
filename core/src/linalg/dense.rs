//! Products and decompositions of single p×p matrices, by faer and, for small sizes, by plain
//! loops.

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};

use super::{Matrix, Scalar, c64, small};

mod faer_impl;
#[cfg(test)]
mod tests;

/// Matrix functions compiled for each scalar type. The trait is private, which seals [`Scalar`].
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
                faer_impl::product(left, right)
            }

            fn add_symmetric_product(out: &mut Matrix<Self>, factor: f64, x: &Matrix<Self>, y: &Matrix<Self>) {
                faer_impl::add_symmetric_product(out, factor, x, y);
            }

            fn add_gram(out: &mut [Self], p: usize, factor: f64, x: &[Self], stride: usize, columns: usize) {
                faer_impl::add_gram(out, p, factor, x, stride, columns);
            }

            fn hermitian_eigen(m: &Matrix<Self>) -> Option<(Vec<f64>, Matrix<Self>)> {
                faer_impl::hermitian_eigen(m)
            }

            fn hermitian_eigenvalues(m: &Matrix<Self>) -> Option<Vec<f64>> {
                faer_impl::hermitian_eigenvalues(m)
            }

            fn eigenvectors(m: &Matrix<Self>) -> Option<Matrix<Self>> {
                faer_impl::eigenvectors(m)
            }

            fn singular_values(m: &Matrix<Self>) -> Option<Vec<f64>> {
                faer_impl::singular_values(m)
            }

            fn cholesky(m: &Matrix<Self>) -> Option<Matrix<Self>> {
                faer_impl::cholesky(m)
            }

            fn inverse(m: &Matrix<Self>) -> Matrix<Self> {
                faer_impl::inverse(m)
            }

            fn lower_inverse(m: &Matrix<Self>) -> Matrix<Self> {
                faer_impl::lower_inverse(m)
            }

            fn log_abs_det(m: &Matrix<Self>) -> f64 {
                faer_impl::log_abs_det(m)
            }

            fn log_det_and_inverse(m: &Matrix<Self>) -> (f64, Matrix<Self>) {
                faer_impl::log_det_and_inverse(m)
            }
        })*
    };
}

compile_for!(f64, c64);

fn view<T: Scalar>(m: &Matrix<T>) -> MatRef<'_, T> {
    MatRef::from_row_major_slice(m.as_slice(), m.rows(), m.columns())
}

/// Copies a faer matrix.
fn from_faer<T: Scalar>(m: MatRef<'_, T>) -> Matrix<T> {
    Matrix::from_fn(m.nrows(), m.ncols(), |a, b| m[(a, b)])
}

/// `left · right`.
///
/// # Panics
/// If the number of columns of `left` differs from the number of rows of `right`.
pub fn product<T: Scalar>(left: &Matrix<T>, right: &Matrix<T>) -> Matrix<T> {
    T::product(left, right)
}

/// out += factor · (x yᴴ + yᴴ x), for square matrices.
pub fn add_symmetric_product<T: Scalar>(
    out: &mut Matrix<T>,
    factor: f64,
    x: &Matrix<T>,
    y: &Matrix<T>,
) {
    T::add_symmetric_product(out, factor, x, y);
}

/// out = left · right, where `right` and `out` are row-major with `columns` columns.
pub fn product_into(left: &Matrix, right: &[f64], columns: usize, out: &mut [f64]) {
    multiply_into(left, right, columns, out, Accum::Replace);
}

/// out += left · right, where `right` and `out` are row-major with `columns` columns.
pub fn add_product(left: &Matrix, right: &[f64], columns: usize, out: &mut [f64]) {
    multiply_into(left, right, columns, out, Accum::Add);
}

fn multiply_into(left: &Matrix, right: &[f64], columns: usize, out: &mut [f64], accum: Accum) {
    let (rows, inner) = (left.rows(), left.columns());
    matmul(
        MatMut::from_row_major_slice_mut(out, rows, columns),
        accum,
        view(left),
        MatRef::from_row_major_slice(right, inner, columns),
        1.0,
        Par::Seq,
    );
}

/// Adds factor · x xᴴ to the lower triangle of `out`. x has `columns` columns and a row stride of
/// `stride`.
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

/// out += left · rightᵀ, where `left` has `rows` rows, `left` and `right` have `columns` columns,
/// and the row stride of `right` is `stride`.
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

/// Eigenvalues in ascending order of a Hermitian (if real, symmetric) matrix M, and the matrix V
/// whose rows are the conjugated eigenvectors, so that V M Vᴴ is diagonal. Returns None if the
/// iteration does not converge, which does not happen for finite input.
pub fn hermitian_eigen<T: Scalar>(m: &Matrix<T>) -> Option<(Vec<f64>, Matrix<T>)> {
    let (scaled, unit) = scale_by_power_of_two(m);
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

/// Entries whose absolute values differ by less than this fraction count as equal, so that rounding
/// does not decide which is the largest.
const TIE_TOLERANCE: f64 = 1e-6;

/// Returns the sign (if complex, the phase) of the first entry of largest absolute value, up to a
/// tolerance. None if it is 1, or if all entries are zero.
pub fn phase_of_largest<T: Scalar>(entries: impl Iterator<Item = T> + Clone) -> Option<T> {
    let largest = entries.clone().map(Scalar::abs).fold(0.0, f64::max);
    let entry = entries
        .into_iter()
        .find(|x| x.abs() >= (1.0 - TIE_TOLERANCE) * largest)?;
    let phase = entry / entry.abs();
    (phase != T::ONE && phase.abs().is_finite()).then_some(phase)
}

/// Returns the eigenvalues of a Hermitian (if real, symmetric) matrix in ascending order.
pub fn hermitian_eigenvalues<T: Scalar>(m: &Matrix<T>) -> Option<Vec<f64>> {
    let (scaled, unit) = scale_by_power_of_two(m);
    let mut values = T::hermitian_eigenvalues(&scaled)?;
    values.iter_mut().for_each(|value| *value *= unit);
    Some(values)
}

/// Returns the eigenvectors of a square matrix as columns. A complex pair of a real matrix is given
/// by the real and the imaginary part of one of its eigenvectors. None if the iteration does not
/// converge, which does not happen for finite input.
pub fn eigenvectors<T: Scalar>(m: &Matrix<T>) -> Option<Matrix<T>> {
    T::eigenvectors(&scale_by_power_of_two(m).0)
}

/// Returns the singular values in descending order.
pub fn singular_values<T: Scalar>(m: &Matrix<T>) -> Option<Vec<f64>> {
    let (scaled, unit) = scale_by_power_of_two(m);
    let mut values = T::singular_values(&scaled)?;
    values.iter_mut().for_each(|value| *value *= unit);
    Some(values)
}

/// Returns the matrix divided by a power of two near its largest entry, and that power. Eigenvalue
/// solvers have absolute thresholds: without the scaling, eigenvectors of covariances in tesla²
/// (1e-24) would have only six correct digits.
fn scale_by_power_of_two<T: Scalar>(m: &Matrix<T>) -> (Matrix<T>, f64) {
    let largest = m.as_slice().iter().map(|x| x.abs()).fold(0.0, f64::max);
    // Zero and subnormal matrices are not scaled.
    if !(largest.is_normal() && largest.recip().is_normal()) {
        return (m.clone(), 1.0);
    }
    let unit = largest.log2().floor().exp2();
    let mut scaled = m.clone();
    multiply(&mut scaled, unit.recip());
    (scaled, unit)
}

/// Returns the lower Cholesky factor L of m = L Lᴴ, or None if `m` is not positive definite.
pub fn cholesky<T: Scalar>(m: &Matrix<T>) -> Option<Matrix<T>> {
    T::cholesky(m)
}

/// Returns the inverse of a lower triangular matrix.
pub fn lower_inverse<T: Scalar>(m: &Matrix<T>) -> Matrix<T> {
    T::lower_inverse(m)
}

/// Returns the inverse of a square matrix; its entries are not finite if the matrix is singular.
pub fn inverse<T: Scalar>(m: &Matrix<T>) -> Matrix<T> {
    T::inverse(m)
}

/// Returns the inverse of a square matrix by Gauss–Jordan elimination, which is accurate for rows
/// of very different scales. Its entries are not finite if the matrix is singular.
pub fn inverse_by_elimination<T: Scalar>(m: &Matrix<T>) -> Matrix<T> {
    small::log_det_and_inverse(m).2
}

/// log |det m|, −∞ if `m` is singular.
pub fn log_abs_det<T: Scalar>(m: &Matrix<T>) -> f64 {
    T::log_abs_det(m)
}

/// Largest size for which plain elimination is used; a blocked factorization is faster beyond.
const MAX_ELIMINATION_SIZE: usize = 64;

/// Returns log det m (−∞ unless the determinant is positive; log |det m| for complex matrices) and
/// m⁻¹ from one factorization.
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

/// Returns the exponential of an antihermitian matrix E = −Eᴴ (if real, antisymmetric), which is
/// unitary (if real, a rotation). It is computed by scaling and squaring of a Taylor polynomial,
/// and one Newton–Schulz step `Q ← ½ (3I − Q Qᴴ) Q` that reduces the deviation from unitarity.
pub fn unitary_exponential<T: Scalar>(e: &Matrix<T>) -> Matrix<T> {
    let p = e.rows();
    let squarings = (e.norm() / 0.25).log2().ceil().max(0.0) as i32;
    let mut scaled = e.clone();
    multiply(&mut scaled, 0.5_f64.powi(squarings));
    // Horner's scheme. Since ‖scaled‖ ≤ ¼, the first omitted term is below 1e-17.
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

/// One Newton–Schulz step `½ (3I − Q Qᴴ) Q`, which squares the distance of a nearly unitary (if
/// real, orthogonal) matrix to the unitary matrices.
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
