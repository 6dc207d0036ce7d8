//! The dense row-major matrix in which `B`, gradients and directions are kept.

use std::ops::{Index, IndexMut};

/// A dense matrix of `f64`, stored row after row.
///
/// ```
/// let m = codiag::Matrix::from_rows(2, 2, vec![1.0, 2.0, 3.0, 4.0]);
/// assert_eq!(m[(1, 0)], 3.0);
/// assert_eq!(m.row(0), &[1.0, 2.0]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    rows: usize,
    columns: usize,
    data: Vec<f64>,
}

impl Matrix {
    /// A matrix of zeros.
    pub fn zeros(rows: usize, columns: usize) -> Self {
        Self {
            rows,
            columns,
            data: vec![0.0; rows * columns],
        }
    }

    /// The identity.
    pub fn identity(p: usize) -> Self {
        Self::from_fn(p, p, |a, b| f64::from(u8::from(a == b)))
    }

    /// A matrix with the given diagonal, zero elsewhere.
    pub fn diagonal(entries: &[f64]) -> Self {
        Self::from_fn(entries.len(), entries.len(), |a, b| {
            if a == b { entries[a] } else { 0.0 }
        })
    }

    /// A matrix from its entries, row after row.
    ///
    /// # Panics
    /// If `data` does not hold `rows * columns` numbers.
    pub fn from_rows(rows: usize, columns: usize, data: Vec<f64>) -> Self {
        assert_eq!(
            data.len(),
            rows * columns,
            "a {rows} x {columns} matrix needs that many entries"
        );
        Self {
            rows,
            columns,
            data,
        }
    }

    /// A matrix whose entry (a, b) is `entry(a, b)`.
    pub fn from_fn(
        rows: usize,
        columns: usize,
        mut entry: impl FnMut(usize, usize) -> f64,
    ) -> Self {
        let mut data = Vec::with_capacity(rows * columns);
        for a in 0..rows {
            for b in 0..columns {
                data.push(entry(a, b));
            }
        }
        Self {
            rows,
            columns,
            data,
        }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// All entries, row after row.
    pub fn as_slice(&self) -> &[f64] {
        &self.data
    }

    /// All entries, row after row, to be changed.
    pub fn as_mut_slice(&mut self) -> &mut [f64] {
        &mut self.data
    }

    /// The entries, row after row, without a copy.
    pub fn into_vec(self) -> Vec<f64> {
        self.data
    }

    /// Row `a`.
    pub fn row(&self, a: usize) -> &[f64] {
        &self.data[a * self.columns..(a + 1) * self.columns]
    }

    /// Row `a`, to be changed.
    pub fn row_mut(&mut self, a: usize) -> &mut [f64] {
        &mut self.data[a * self.columns..(a + 1) * self.columns]
    }

    /// The transpose.
    #[must_use]
    pub fn transpose(&self) -> Self {
        Self::from_fn(self.columns, self.rows, |a, b| self[(b, a)])
    }

    /// The matrix with row `a` multiplied by `factors[a]`.
    #[must_use]
    pub fn scale_rows(mut self, factors: &[f64]) -> Self {
        for (a, factor) in factors.iter().enumerate() {
            self.row_mut(a).iter_mut().for_each(|x| *x *= factor);
        }
        self
    }

    /// Σ_ab self_ab other_ab.
    pub fn dot(&self, other: &Self) -> f64 {
        super::dot(&self.data, &other.data)
    }

    /// The Frobenius norm.
    pub fn norm(&self) -> f64 {
        self.dot(self).sqrt()
    }

    /// The eigenvalues of a symmetric matrix in ascending order; only its lower triangle is read.
    /// None if there are none, as for entries that are not finite.
    pub fn symmetric_eigenvalues(&self) -> Option<Vec<f64>> {
        super::symmetric_eigenvalues(self)
    }

    /// Whether every entry is finite.
    pub fn is_finite(&self) -> bool {
        self.data.iter().all(|x| x.is_finite())
    }
}

impl Index<(usize, usize)> for Matrix {
    type Output = f64;
    fn index(&self, (a, b): (usize, usize)) -> &f64 {
        &self.data[a * self.columns + b]
    }
}

impl IndexMut<(usize, usize)> for Matrix {
    fn index_mut(&mut self, (a, b): (usize, usize)) -> &mut f64 {
        &mut self.data[a * self.columns + b]
    }
}

/// A list of rows.
#[cfg(feature = "serde")]
impl serde::Serialize for Matrix {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq((0..self.rows).map(|a| self.row(a)))
    }
}
