//! Sets of complex Hermitian matrices.

mod derivatives;
mod invalid_input;
mod solve;
mod tracker;

use codiag::synthetic::Synthetic;
use codiag::{Matrix, MatrixSet, Scalar, c64};

/// A reproducible complex number with parts in (−1, 1).
fn number(k: usize) -> c64 {
    let part = |k: usize| ((k * 37 + 11) % 23) as f64 / 11.5 - 1.0;
    c64::new(part(k), part(k + 7))
}

/// The identity plus entries of the given size.
fn near_identity(p: usize, size: f64) -> Matrix<c64> {
    Matrix::from_fn(p, p, |a, b| {
        number(2 + a + 5 * b) * size + if a == b { c64::ONE } else { c64::ZERO }
    })
}

/// An anti-Hermitian matrix with zero diagonal.
fn antihermitian(p: usize, seed: usize) -> Matrix<c64> {
    Matrix::from_fn(p, p, |a, b| {
        let x = number(seed + a * p + b) - number(seed + b * p + a).conj();
        if a == b { c64::ZERO } else { x }
    })
}

/// exp(tE), by its series.
fn exponential(e: &Matrix<c64>, t: f64) -> Matrix<c64> {
    let p = e.rows();
    let mut power = Matrix::identity(p);
    let mut sum = Matrix::identity(p);
    for k in 1..=40 {
        power = &power * e;
        let entries = power.as_mut_slice().iter_mut();
        entries.for_each(|x| *x *= t / f64::from(k));
        let pairs = sum.as_mut_slice().iter_mut().zip(power.as_slice());
        pairs.for_each(|(x, y)| *x += y);
    }
    sum
}

/// The set of the matrices T Cⁱ Tᴴ.
fn transformed(generated: &Synthetic<c64>, t: &Matrix<c64>) -> MatrixSet<c64> {
    let p = generated.p;
    let mut data = Vec::new();
    for matrix in generated.data.chunks_exact(p * p) {
        let c = Matrix::from_rows(p, p, matrix.to_vec());
        data.extend((&(t * &c) * &t.adjoint()).into_vec());
    }
    MatrixSet::new(&data, generated.n, p).unwrap()
}

/// The largest absolute difference of entries.
fn distance<T: Scalar>(x: &Matrix<T>, y: &Matrix<T>) -> f64 {
    let pairs = x.as_slice().iter().zip(y.as_slice());
    pairs.fold(0.0, |largest, (x, y)| f64::max(largest, (*x - *y).abs()))
}
