//! Conversions from and to the matrix types of other crates.
//!
//! The features `ndarray` and `nalgebra` enable the conversions for these crates. Entries are
//! copied, because [`Matrix`] is row-major and contiguous, while theirs need not be.

use crate::linalg::{Matrix, Scalar};

/// Returns the entries in row-major order, so that matrices can be passed to
/// [`MatrixSet::from_matrices`](crate::MatrixSet::from_matrices).
impl<T: Scalar> AsRef<[T]> for Matrix<T> {
    fn as_ref(&self) -> &[T] {
        self.as_slice()
    }
}

#[cfg(feature = "ndarray")]
mod with_ndarray {
    use ndarray::{Array2, ArrayBase, ArrayView3, Data, Ix2};

    use crate::data::{MatrixSet, SetOptions};
    use crate::error::Error;
    use crate::linalg::{Matrix, Scalar};

    /// Copies a two-dimensional array of any layout.
    ///
    /// ```
    /// use codiag::Matrix;
    /// use ndarray::array;
    /// let m = Matrix::from(&array![[1.0, 2.0], [3.0, 4.0]].t());
    /// assert_eq!(m.row(0), [1.0, 3.0]);
    /// ```
    impl<T: Scalar, S: Data<Elem = T>> From<&ArrayBase<S, Ix2>> for Matrix<T> {
        fn from(array: &ArrayBase<S, Ix2>) -> Self {
            let (rows, columns) = array.dim();
            Self::from_rows(rows, columns, array.iter().copied().collect())
        }
    }

    /// Converts a matrix to an array without a copy.
    ///
    /// ```
    /// let identity = ndarray::Array2::from(codiag::Matrix::<f64>::identity(3));
    /// assert_eq!(identity, ndarray::Array2::eye(3));
    /// ```
    impl<T: Scalar> From<Matrix<T>> for Array2<T> {
        fn from(matrix: Matrix<T>) -> Self {
            let shape = (matrix.rows(), matrix.columns());
            Array2::from_shape_vec(shape, matrix.into_vec())
                .expect("a matrix has rows x columns entries")
        }
    }

    impl<T: Scalar> MatrixSet<T> {
        /// Creates a set from an array of shape (n, p, p). Requires the feature `ndarray`.
        ///
        /// ```
        /// use codiag::{MatrixSet, SetOptions, Settings, diagonalize, synthetic::Synthetic};
        /// let generated = Synthetic::new(50, 8, 0.1, 0);
        /// let array = ndarray::Array3::from_shape_vec((50, 8, 8), generated.data).expect("n p p numbers");
        /// let set = MatrixSet::from_array(&array.view(), &SetOptions::default())?;
        /// let result = diagonalize(&set, &Settings::default())?;
        /// let filters = ndarray::Array2::from(result.b);
        /// assert_eq!(filters.dim(), (8, 8));
        /// # Ok::<(), codiag::Error>(())
        /// ```
        ///
        /// # Errors
        /// If the last two dimensions differ, or the matrices or the options are invalid.
        pub fn from_array(array: &ArrayView3<'_, T>, options: &SetOptions) -> Result<Self, Error> {
            let (n, p, columns) = array.dim();
            if p != columns {
                let shape = vec![n, p, columns];
                return Err(Error::Shape { shape });
            }
            if let Some(entries) = array.as_slice() {
                return Self::with_options(entries, n, p, options);
            }
            let entries: Vec<T> = array.iter().copied().collect();
            Self::with_options(&entries, n, p, options)
        }
    }
}

#[cfg(feature = "nalgebra")]
mod with_nalgebra {
    use nalgebra::{DMatrix, Dim, Matrix as Other, RawStorage};

    use crate::linalg::{Matrix, Scalar};

    /// Copies a matrix of any size and storage.
    ///
    /// ```
    /// use codiag::{Matrix, MatrixSet, SetOptions};
    /// let m = nalgebra::Matrix2::new(2.0, 0.5, 0.5, 1.0);
    /// assert_eq!(Matrix::from(&m).row(0), [2.0, 0.5]);
    /// // A set from a list of matrices.
    /// let list = [m, 2.0 * m];
    /// let set = MatrixSet::from_matrices(2, list.iter().map(Matrix::from), &SetOptions::default())?;
    /// assert_eq!(set.len(), 2);
    /// # Ok::<(), codiag::Error>(())
    /// ```
    impl<T, R: Dim, C: Dim, S: RawStorage<T, R, C>> From<&Other<T, R, C, S>> for Matrix<T>
    where
        T: Scalar,
    {
        fn from(matrix: &Other<T, R, C, S>) -> Self {
            Self::from_fn(matrix.nrows(), matrix.ncols(), |a, b| matrix[(a, b)])
        }
    }

    /// Copies a matrix to a matrix of nalgebra.
    ///
    /// ```
    /// let identity = nalgebra::DMatrix::from(codiag::Matrix::<f64>::identity(3));
    /// assert_eq!(identity, nalgebra::DMatrix::identity(3, 3));
    /// ```
    impl<T: Scalar> From<Matrix<T>> for DMatrix<T> {
        fn from(matrix: Matrix<T>) -> Self {
            DMatrix::from_row_slice(matrix.rows(), matrix.columns(), matrix.as_slice())
        }
    }
}
