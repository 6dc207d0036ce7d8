//! The dense row-major matrix type, used for `B`, gradients and directions.

mod display;
mod operators;
#[cfg(test)]
mod tests;

use super::{Scalar, kernels};

/// A dense row-major matrix of `f64` or another [`Scalar`].
///
/// ```
/// use codiag::Matrix;
///
/// let m = Matrix::from_rows(2, 2, vec![1.0, 2.0, 3.0, 4.0]);
/// assert_eq!(m[(1, 0)], 3.0);
/// assert_eq!(m.row(0), &[1.0, 2.0]);
/// assert_eq!(&m * &Matrix::identity(2), m);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix<T = f64> {
    rows: usize,
    columns: usize,
    data: Vec<T>,
}

/// Returns the number of entries of a matrix.
///
/// # Panics
/// On overflow.
fn entry_count(rows: usize, columns: usize) -> usize {
    rows.checked_mul(columns)
        .unwrap_or_else(|| panic!("the number of entries of a {rows} x {columns} matrix overflows"))
}

impl<T: Scalar> Matrix<T> {
    /// Creates a matrix of zeros.
    ///
    /// ```
    /// let m = codiag::Matrix::<f64>::zeros(2, 3);
    /// assert_eq!(m.as_slice(), &[0.0; 6]);
    /// ```
    ///
    /// # Panics
    /// If the number of entries overflows.
    pub fn zeros(rows: usize, columns: usize) -> Self {
        Self {
            rows,
            columns,
            data: vec![T::ZERO; entry_count(rows, columns)],
        }
    }

    /// Returns the identity matrix.
    ///
    /// ```
    /// let m = codiag::Matrix::<f64>::identity(2);
    /// assert_eq!(m.as_slice(), &[1.0, 0.0, 0.0, 1.0]);
    /// ```
    ///
    /// # Panics
    /// If the number of entries overflows.
    pub fn identity(p: usize) -> Self {
        Self::from_fn(p, p, |a, b| if a == b { T::ONE } else { T::ZERO })
    }

    /// Creates a matrix with the given diagonal, zero elsewhere.
    ///
    /// ```
    /// let m = codiag::Matrix::diagonal(&[2.0, 3.0]);
    /// assert_eq!(m.as_slice(), &[2.0, 0.0, 0.0, 3.0]);
    /// ```
    pub fn diagonal(entries: &[T]) -> Self {
        Self::from_fn(entries.len(), entries.len(), |a, b| {
            if a == b { entries[a] } else { T::ZERO }
        })
    }

    /// Creates a matrix from its entries in row-major order.
    ///
    /// ```
    /// let m = codiag::Matrix::from_rows(1, 2, vec![5.0, 6.0]);
    /// assert_eq!(m[(0, 1)], 6.0);
    /// ```
    ///
    /// # Panics
    /// If `data` does not hold `rows * columns` numbers.
    pub fn from_rows(rows: usize, columns: usize, data: Vec<T>) -> Self {
        let count = entry_count(rows, columns);
        assert!(
            data.len() == count,
            "a {rows} x {columns} matrix has {count} entries, not {}",
            data.len()
        );
        Self {
            rows,
            columns,
            data,
        }
    }

    /// Creates a matrix whose entry (a, b) is `entry(a, b)`.
    ///
    /// ```
    /// let m = codiag::Matrix::from_fn(2, 2, |a, b| (10 * a + b) as f64);
    /// assert_eq!(m.row(1), &[10.0, 11.0]);
    /// ```
    ///
    /// # Panics
    /// If the number of entries overflows.
    pub fn from_fn(rows: usize, columns: usize, mut entry: impl FnMut(usize, usize) -> T) -> Self {
        let mut data = Vec::with_capacity(entry_count(rows, columns));
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

    /// Returns the number of rows.
    ///
    /// ```
    /// assert_eq!(codiag::Matrix::<f64>::zeros(2, 3).rows(), 2);
    /// ```
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the number of columns.
    ///
    /// ```
    /// assert_eq!(codiag::Matrix::<f64>::zeros(2, 3).columns(), 3);
    /// ```
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Returns all entries in row-major order.
    ///
    /// ```
    /// let m = codiag::Matrix::diagonal(&[1.0, 2.0]);
    /// assert_eq!(m.as_slice(), &[1.0, 0.0, 0.0, 2.0]);
    /// ```
    pub fn as_slice(&self) -> &[T] {
        &self.data
    }

    /// Returns all entries in row-major order, mutable.
    ///
    /// ```
    /// let mut m = codiag::Matrix::identity(2);
    /// m.as_mut_slice().iter_mut().for_each(|x| *x *= 3.0);
    /// assert_eq!(m, codiag::Matrix::diagonal(&[3.0, 3.0]));
    /// ```
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        &mut self.data
    }

    /// Converts the matrix into its entries in row-major order, without a copy.
    ///
    /// ```
    /// assert_eq!(codiag::Matrix::<f64>::identity(1).into_vec(), vec![1.0]);
    /// ```
    pub fn into_vec(self) -> Vec<T> {
        self.data
    }

    /// Row `a`.
    ///
    /// ```
    /// assert_eq!(codiag::Matrix::<f64>::identity(2).row(1), &[0.0, 1.0]);
    /// ```
    ///
    /// # Panics
    /// If there is no such row.
    pub fn row(&self, a: usize) -> &[T] {
        self.check_row(a);
        &self.data[a * self.columns..(a + 1) * self.columns]
    }

    /// Row `a`, mutable.
    ///
    /// ```
    /// let mut m = codiag::Matrix::identity(2);
    /// m.row_mut(0).fill(5.0);
    /// assert_eq!(m.as_slice(), &[5.0, 5.0, 0.0, 1.0]);
    /// ```
    ///
    /// # Panics
    /// If there is no such row.
    pub fn row_mut(&mut self, a: usize) -> &mut [T] {
        self.check_row(a);
        &mut self.data[a * self.columns..(a + 1) * self.columns]
    }

    #[inline(always)]
    fn check_row(&self, a: usize) {
        assert!(
            a < self.rows,
            "row {a} is out of range for a matrix with {} rows",
            self.rows
        );
    }

    /// Returns the transpose.
    ///
    /// ```
    /// let m = codiag::Matrix::from_rows(1, 2, vec![5.0, 6.0]);
    /// assert_eq!(m.transpose(), codiag::Matrix::from_rows(2, 1, vec![5.0, 6.0]));
    /// ```
    #[must_use]
    pub fn transpose(&self) -> Self {
        let columns = self.columns;
        Self::from_fn(columns, self.rows, |a, b| self.data[b * columns + a])
    }

    /// Returns the conjugate transpose; of a real matrix, the transpose.
    ///
    /// ```
    /// use num_complex::Complex;
    /// let m = codiag::Matrix::from_rows(1, 1, vec![Complex::new(1.0, 2.0)]);
    /// assert_eq!(m.adjoint()[(0, 0)], Complex::new(1.0, -2.0));
    /// ```
    #[must_use]
    pub fn adjoint(&self) -> Self {
        let mut out = Self::zeros(self.columns, self.rows);
        self.write_adjoint(&mut out);
        out
    }

    /// Writes the adjoint to `out`, which has its shape.
    pub(crate) fn write_adjoint(&self, out: &mut Self) {
        self.to_adjoint(out, |place, x| *place = x);
    }

    /// Adds the adjoint to `out`, which has its shape.
    pub(crate) fn add_adjoint(&self, out: &mut Self) {
        self.to_adjoint(out, |place, x| *place += x);
    }

    /// Calls `put` for every entry of `out` with the corresponding entry of the adjoint.
    #[inline(always)]
    fn to_adjoint(&self, out: &mut Self, put: impl Fn(&mut T, T)) {
        assert_eq!((out.rows, out.columns), (self.columns, self.rows));
        if self.data.len() <= super::MAX_UNDISPATCHED_LEN {
            self.to_adjoint_in_tiles(out, put);
        } else {
            kernels::dispatch(
                #[inline(always)]
                || self.to_adjoint_in_tiles(out, &put),
            );
        }
    }

    /// Transposes in square tiles that stay in registers.
    #[inline(always)]
    fn to_adjoint_in_tiles(&self, out: &mut Self, put: impl Fn(&mut T, T)) {
        const TILE: usize = 4;
        let (rows, columns) = (self.rows, self.columns);
        let tiled = |len: usize| len - len % TILE;
        for a in (0..tiled(rows)).step_by(TILE) {
            for b in (0..tiled(columns)).step_by(TILE) {
                let mut tile = [[T::ZERO; TILE]; TILE];
                for (k, row) in tile.iter_mut().enumerate() {
                    row.copy_from_slice(&self.data[(a + k) * columns + b..][..TILE]);
                }
                for l in 0..TILE {
                    let place = &mut out.data[(b + l) * rows + a..][..TILE];
                    (0..TILE).for_each(|k| put(&mut place[k], tile[k][l].conj()));
                }
            }
        }
        let mut put_entry = |a: usize, b: usize| {
            put(
                &mut out.data[b * rows + a],
                self.data[a * columns + b].conj(),
            );
        };
        for a in 0..rows {
            let from = if a < tiled(rows) { tiled(columns) } else { 0 };
            (from..columns).for_each(|b| put_entry(a, b));
        }
    }

    /// Returns the matrix with row `a` multiplied by `factors[a]`.
    ///
    /// ```
    /// let m = codiag::Matrix::from_rows(2, 1, vec![1.0, 1.0]);
    /// assert_eq!(m.scale_rows(&[2.0, 3.0]).as_slice(), &[2.0, 3.0]);
    /// ```
    ///
    /// # Panics
    /// If the number of factors differs from the number of rows.
    #[must_use]
    pub fn scale_rows(mut self, factors: &[f64]) -> Self {
        assert!(
            factors.len() == self.rows,
            "expected one factor per row, got {} factors for {} rows",
            factors.len(),
            self.rows
        );
        for (a, factor) in factors.iter().enumerate() {
            self.row_mut(a).iter_mut().for_each(|x| *x = *x * *factor);
        }
        self
    }

    /// Returns the matrix multiplied by a real number.
    pub(crate) fn scaled(&self, factor: f64) -> Self {
        let mut scaled = self.clone();
        let entries = scaled.as_mut_slice().iter_mut();
        entries.for_each(|x| *x = *x * factor);
        scaled
    }

    /// Returns the real part of the inner product Σ_ab self_ab · conj(other_ab).
    ///
    /// ```
    /// let m = codiag::Matrix::from_rows(1, 2, vec![1.0, 2.0]);
    /// assert_eq!(m.dot(&codiag::Matrix::from_rows(1, 2, vec![3.0, 4.0])), 11.0);
    /// ```
    ///
    /// # Panics
    /// If the matrices differ in shape.
    pub fn dot(&self, other: &Self) -> f64 {
        assert!(
            (self.rows, self.columns) == (other.rows, other.columns),
            "shapes do not match: inner product of a {} x {} and a {} x {} matrix",
            self.rows,
            self.columns,
            other.rows,
            other.columns
        );
        super::dot(&self.data, &other.data)
    }

    /// Returns the Frobenius norm.
    ///
    /// ```
    /// assert_eq!(codiag::Matrix::diagonal(&[3.0, 4.0]).norm(), 5.0);
    /// ```
    pub fn norm(&self) -> f64 {
        self.dot(self).sqrt()
    }

    /// Returns the eigenvalues of a symmetric (if complex, Hermitian) matrix in ascending order;
    /// only its lower triangle is read. Returns None if an entry is not finite.
    ///
    /// ```
    /// let m = codiag::Matrix::from_rows(2, 2, vec![0.0, 1.0, 1.0, 0.0]);
    /// let values = m.symmetric_eigenvalues().unwrap();
    /// assert!((values[0] + 1.0).abs() < 1e-15 && (values[1] - 1.0).abs() < 1e-15);
    /// ```
    ///
    /// # Panics
    /// If the matrix is not square.
    pub fn symmetric_eigenvalues(&self) -> Option<Vec<f64>> {
        super::symmetric_eigenvalues(self)
    }

    /// Whether every entry is finite.
    ///
    /// ```
    /// assert!(!codiag::Matrix::diagonal(&[f64::NAN]).is_finite());
    /// ```
    pub fn is_finite(&self) -> bool {
        super::reals(&self.data).iter().all(|x| x.is_finite())
    }
}

/// Serializes as a list of rows.
#[cfg(feature = "serde")]
impl<T: Scalar + serde::Serialize> serde::Serialize for Matrix<T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq((0..self.rows).map(|a| self.row(a)))
    }
}

impl<T: Scalar> Matrix<T> {
    /// Converts a real matrix.
    pub(crate) fn from_real(real: &Matrix) -> Self {
        Self::from_fn(real.rows(), real.columns(), |a, b| {
            T::from_real(real[(a, b)])
        })
    }
}
