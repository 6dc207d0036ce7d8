//! Sets of complex Hermitian matrices.

mod answers;
mod derivatives;
mod refusals;
mod tracking;

use codiag::synthetic::Synthetic;
use codiag::{Matrix, MatrixSet, Scalar, c64};

/// A repeatable complex number with parts in (−1, 1).
fn number(k: usize) -> c64 {
    let part = |k: usize| ((k * 37 + 11) % 23) as f64 / 11.5 - 1.0;
    c64::new(part(k), part(k + 7))
}

/// The identity and something else.
fn near_identity(p: usize, size: f64) -> Matrix<c64> {
    Matrix::from_fn(p, p, |a, b| {
        number(2 + a + 5 * b) * size + if a == b { c64::ONE } else { c64::ZERO }
    })
}

/// Antihermitian, with a zero diagonal.
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

/// T Cⁱ Tᴴ for all matrices of a set.
fn transformed(made: &Synthetic<c64>, t: &Matrix<c64>) -> MatrixSet<c64> {
    let p = made.p;
    let mut data = Vec::new();
    for matrix in made.data.chunks_exact(p * p) {
        let c = Matrix::from_rows(p, p, matrix.to_vec());
        data.extend((&(t * &c) * &t.adjoint()).into_vec());
    }
    MatrixSet::new(&data, made.n, p).unwrap()
}

/// The largest distance of entries.
fn distance<T: Scalar>(x: &Matrix<T>, y: &Matrix<T>) -> f64 {
    let pairs = x.as_slice().iter().zip(y.as_slice());
    pairs.fold(0.0, |most, (x, y)| f64::max(most, (*x - *y).abs()))
}
