//! Summary of a set, known without access to its matrices.

use super::Reduction;
use crate::data::Criterion;
use crate::linalg::{self, Matrix, Scalar};

/// Data of a validated set whose size does not depend on the number of matrices.
///
/// ```
/// use codiag::backend::{Backend, InMemory};
/// use codiag::{MatrixSet, Rank, SetOptions};
/// // The third channel is the sum of the others.
/// let data = [2.0, 0.0, 2.0, 0.0, 1.0, 1.0, 2.0, 1.0, 3.0];
/// let set = MatrixSet::with_options(&data, 1, 3, &SetOptions::default().n_components(Rank::Auto))?;
/// let working = InMemory::new(&set);
/// let summary = working.summary();
/// assert_eq!((summary.len, summary.dimension(), summary.channels()), (1, 2, 3));
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Summary<T = f64> {
    /// Criterion by which the set is diagonalized.
    pub criterion: Criterion,
    /// Number of matrices.
    pub len: usize,
    /// Weighted mean of the matrices, after reduction.
    pub mean: Matrix<T>,
    /// Σ_i w_i log det Cⁱ for the likelihood, Σ_i w_i ‖Cⁱ‖² for the other criteria.
    pub constant: f64,
    /// Reduction of the set, if its rank was reduced.
    pub reduction: Option<Reduction<T>>,
}

impl<T: Scalar> Summary<T> {
    /// Summarizes `len` matrices with this weighted mean and this weighted mean of log det Cⁱ, for
    /// the likelihood and without reduction.
    ///
    /// ```
    /// use codiag::Matrix;
    /// use codiag::backend::Summary;
    /// let summary = Summary::new(10, Matrix::<f64>::identity(3), 0.0);
    /// assert_eq!((summary.dimension(), summary.channels()), (3, 3));
    /// ```
    pub fn new(len: usize, mean: Matrix<T>, constant: f64) -> Self {
        Self {
            criterion: Criterion::Likelihood,
            len,
            mean,
            constant,
            reduction: None,
        }
    }

    /// Returns the dimension in which the set is diagonalized: p, or the rank of its reduction.
    pub fn dimension(&self) -> usize {
        self.mean.rows()
    }

    /// Returns the size p of the matrices before reduction.
    pub fn channels(&self) -> usize {
        let reduction = self.reduction.as_ref();
        reduction.map_or(self.dimension(), Reduction::channels)
    }

    /// Converts a matrix that acts on the channels to one that acts on the reduced dimensions.
    pub(crate) fn to_reduced(&self, b: &Matrix<T>) -> Matrix<T> {
        match &self.reduction {
            Some(reduction) => linalg::product(b, reduction.patterns()),
            None => b.clone(),
        }
    }
}
