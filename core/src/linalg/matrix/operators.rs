//! Indexing and multiplication operators of matrices.

use std::ops::{Index, IndexMut, Mul};

use super::Matrix;
use crate::linalg::{Scalar, product};

/// Entry (a, b).
///
/// ```
/// let m = codiag::Matrix::from_rows(2, 2, vec![1.0, 2.0, 3.0, 4.0]);
/// assert_eq!(m[(1, 0)], 3.0);
/// ```
///
/// # Panics
/// If a or b is out of range.
impl<T> Index<(usize, usize)> for Matrix<T> {
    type Output = T;

    #[inline]
    fn index(&self, (a, b): (usize, usize)) -> &T {
        if a >= self.rows || b >= self.columns {
            out_of_range((a, b), self.rows, self.columns);
        }
        &self.data[a * self.columns + b]
    }
}

/// Entry (a, b), mutable.
///
/// ```
/// let mut m = codiag::Matrix::zeros(2, 2);
/// m[(0, 1)] = 7.0;
/// assert_eq!(m.row(0), &[0.0, 7.0]);
/// ```
///
/// # Panics
/// If a or b is out of range.
impl<T> IndexMut<(usize, usize)> for Matrix<T> {
    #[inline]
    fn index_mut(&mut self, (a, b): (usize, usize)) -> &mut T {
        if a >= self.rows || b >= self.columns {
            out_of_range((a, b), self.rows, self.columns);
        }
        &mut self.data[a * self.columns + b]
    }
}

#[cold]
#[inline(never)]
fn out_of_range((a, b): (usize, usize), rows: usize, columns: usize) -> ! {
    panic!("entry ({a}, {b}) is out of range for a {rows} x {columns} matrix")
}

/// The matrix product, of matrices or references to them.
///
/// ```
/// use codiag::Matrix;
///
/// let m = Matrix::from_rows(2, 2, vec![1.0, 2.0, 3.0, 4.0]);
/// let swap = Matrix::from_rows(2, 2, vec![0.0, 1.0, 1.0, 0.0]);
/// assert_eq!((&m * &swap).as_slice(), &[2.0, 1.0, 4.0, 3.0]);
/// assert_eq!((swap * m).as_slice(), &[3.0, 4.0, 1.0, 2.0]);
/// ```
///
/// # Panics
/// If the number of columns of the left matrix differs from the number of rows of the right one.
impl<T: Scalar> Mul for &Matrix<T> {
    type Output = Matrix<T>;

    fn mul(self, right: Self) -> Matrix<T> {
        product(self, right)
    }
}

/// The matrix product.
impl<T: Scalar> Mul for Matrix<T> {
    type Output = Self;

    fn mul(self, right: Self) -> Self {
        product(&self, &right)
    }
}

/// The matrix product.
impl<T: Scalar> Mul<&Self> for Matrix<T> {
    type Output = Self;

    fn mul(self, right: &Self) -> Self {
        product(&self, right)
    }
}

/// The matrix product.
impl<T: Scalar> Mul<Matrix<T>> for &Matrix<T> {
    type Output = Matrix<T>;

    fn mul(self, right: Matrix<T>) -> Matrix<T> {
        product(self, &right)
    }
}
