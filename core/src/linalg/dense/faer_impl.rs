//! Products and decompositions by faer, generic over the scalar. They are called through
//! [`Field`](super::Field), so that they are compiled once, in this crate.

use faer::linalg::matmul::{matmul, triangular};
use faer::linalg::solvers::{DenseSolveCore, ShapeCore};
use faer::linalg::triangular_inverse::invert_lower_triangular;
use faer::prelude::ReborrowMut;
use faer::{Accum, MatMut, MatRef, Par, Side};

use super::{from_faer, view};
use crate::linalg::{Matrix, Scalar, add_multiple, small};

pub fn product<T: Scalar>(left: &Matrix<T>, right: &Matrix<T>) -> Matrix<T> {
    assert!(
        left.columns() == right.rows(),
        "shapes do not match: product of a {} x {} and a {} x {} matrix",
        left.rows(),
        left.columns(),
        right.rows(),
        right.columns()
    );
    let (rows, columns) = (left.rows(), right.columns());
    let mut out = Matrix::zeros(rows, columns);
    if rows.max(columns) <= small::MAX_SIZE {
        small::add_product(&mut out, left, right);
        return out;
    }
    matmul(
        MatMut::from_row_major_slice_mut(out.as_mut_slice(), rows, columns),
        Accum::Replace,
        view(left),
        view(right),
        T::ONE,
        Par::Seq,
    );
    out
}

pub fn add_symmetric_product<T: Scalar>(
    out: &mut Matrix<T>,
    factor: f64,
    x: &Matrix<T>,
    y: &Matrix<T>,
) {
    let p = out.rows();
    if p <= small::MAX_SIZE {
        let (y, mut sum) = (y.adjoint(), Matrix::zeros(p, p));
        small::add_product(&mut sum, x, &y);
        small::add_product(&mut sum, &y, x);
        add_multiple(out.as_mut_slice(), factor, sum.as_slice());
        return;
    }
    let factor = T::from_real(factor);
    let mut out = MatMut::from_row_major_slice_mut(out.as_mut_slice(), p, p);
    let (x, y) = (view(x), view(y).adjoint());
    matmul(out.rb_mut(), Accum::Add, x, y, factor, Par::Seq);
    matmul(out, Accum::Add, y, x, factor, Par::Seq);
}

pub fn add_gram<T: Scalar>(
    out: &mut [T],
    p: usize,
    factor: f64,
    x: &[T],
    stride: usize,
    columns: usize,
) {
    use triangular::BlockStructure::{Rectangular, TriangularLower};
    let x = MatRef::from_row_major_slice_with_stride(x, p, columns, stride);
    triangular::matmul(
        MatMut::from_row_major_slice_mut(out, p, p),
        TriangularLower,
        Accum::Add,
        x,
        Rectangular,
        x.adjoint(),
        Rectangular,
        T::from_real(factor),
        Par::Seq,
    );
}

pub fn hermitian_eigen<T: Scalar>(m: &Matrix<T>) -> Option<(Vec<f64>, Matrix<T>)> {
    if T::PLANES == 1 && m.rows() <= small::MAX_SIZE {
        return small::symmetric_eigen(m);
    }
    let eigen = view(m).self_adjoint_eigen(Side::Lower).ok()?;
    let values = eigen.S().column_vector().iter().map(|x| x.real());
    Some((values.collect(), from_faer(eigen.U()).adjoint()))
}

pub fn hermitian_eigenvalues<T: Scalar>(m: &Matrix<T>) -> Option<Vec<f64>> {
    view(m).self_adjoint_eigenvalues(Side::Lower).ok()
}

pub fn eigenvectors<T: Scalar>(m: &Matrix<T>) -> Option<Matrix<T>> {
    let eigen = view(m).eigen().ok()?;
    let (vectors, values) = (eigen.U(), eigen.S().column_vector());
    Some(Matrix::from_fn(m.rows(), m.rows(), |a, b| {
        let entry = vectors[(a, b)];
        if T::PLANES == 1 && values[b].im < 0.0 {
            T::from_real(entry.im)
        } else {
            T::from_parts(entry.re, entry.im)
        }
    }))
}

pub fn singular_values<T: Scalar>(m: &Matrix<T>) -> Option<Vec<f64>> {
    view(m).singular_values().ok()
}

pub fn cholesky<T: Scalar>(m: &Matrix<T>) -> Option<Matrix<T>> {
    if T::PLANES == 1 && m.rows() <= small::MAX_FACTOR_SIZE {
        return small::cholesky(m);
    }
    Some(from_faer(view(m).llt(Side::Lower).ok()?.L()))
}

pub fn inverse<T: Scalar>(m: &Matrix<T>) -> Matrix<T> {
    if T::PLANES == 1 && m.rows() <= small::MAX_FACTOR_SIZE {
        return small::log_det_and_inverse(m).2;
    }
    from_faer(view(m).partial_piv_lu().inverse().as_ref())
}

pub fn lower_inverse<T: Scalar>(m: &Matrix<T>) -> Matrix<T> {
    let p = m.rows();
    if T::PLANES == 1 && p <= small::MAX_FACTOR_SIZE {
        return small::log_det_and_inverse(m).2;
    }
    let mut out = Matrix::zeros(p, p);
    let place = MatMut::from_row_major_slice_mut(out.as_mut_slice(), p, p);
    invert_lower_triangular(place, view(m), Par::Seq);
    out
}

pub fn log_abs_det<T: Scalar>(m: &Matrix<T>) -> f64 {
    if T::PLANES == 1 && m.rows() <= small::MAX_FACTOR_SIZE {
        return small::log_det_and_inverse(m).0;
    }
    let lu = view(m).partial_piv_lu();
    let upper = lu.U();
    (0..lu.nrows()).map(|a| upper[(a, a)].abs().ln()).sum()
}

pub fn log_det_and_inverse<T: Scalar>(m: &Matrix<T>) -> (f64, Matrix<T>) {
    let lu = view(m).partial_piv_lu();
    let upper = lu.U();
    let (order, _) = lu.P().arrays();
    let negative_pivots = (0..m.rows()).filter(|&a| upper[(a, a)].real() < 0.0);
    let sign_changes = negative_pivots.count() + transpositions(order);
    let negative = T::PLANES == 1 && sign_changes % 2 == 1;
    let log_det: f64 = (0..m.rows()).map(|a| upper[(a, a)].abs().ln()).sum();
    if negative || !log_det.is_finite() {
        return (f64::NEG_INFINITY, Matrix::zeros(m.rows(), m.rows()));
    }
    (log_det, from_faer(lu.inverse().as_ref()))
}

/// Returns the number of transpositions in a decomposition of a permutation.
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
