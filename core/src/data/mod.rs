//! Validated sets of matrices, stored in blocks.

mod blocks;
pub(crate) mod build;
mod chunk;
pub(crate) mod groups;
pub(crate) mod needs;
mod options;
mod reduction;
mod resampled;
mod summary;

pub use crate::choices::Criterion;
pub use blocks::Block;
pub(crate) use blocks::{SYMMETRY_TOLERANCE, asymmetry};
pub(crate) use build::{
    IndefiniteMatrix, check_constant, check_range, check_shape, checked_count, factorize_block,
};
pub use chunk::Chunk;
pub(crate) use groups::packed_len;
pub use options::{Rank, SetOptions};
pub use reduction::Reduction;
pub(crate) use reduction::{RANK_TOLERANCE, numerical_rank, rank_by_size};
pub use summary::Summary;

use std::sync::Arc;

use crate::Error;
use crate::linalg::{Matrix, Scalar};

/// A validated set of n p×p matrices: symmetric matrices of `f64`, or Hermitian matrices of complex
/// numbers. For [`Criterion::Likelihood`] they are positive definite.
///
/// The constructors validate the matrices; all other code relies on the type.
///
/// ```
/// use codiag::{MatrixSet, SetOptions};
///
/// let data = [2.0, 0.5, 0.5, 1.0, /* next matrix */ 1.0, 0.1, 0.1, 3.0];
/// let set = MatrixSet::new(&data, 2, 2)?;
/// assert_eq!((set.len(), set.dimension()), (2, 2));
///
/// let weighted = SetOptions::default().weights(vec![2.0, 1.0]);
/// let set = MatrixSet::from_matrices(2, data.chunks_exact(4), &weighted)?;
/// assert!((set.weights()[0] - 2.0 / 3.0).abs() < 1e-15);
///
/// // A cross-spectrum: the second sensor lags the first by a quarter of a period.
/// use num_complex::Complex;
/// let (one, i) = (Complex::new(1.0, 0.0), Complex::I);
/// let set = MatrixSet::new(&[2.0 * one, i, -i, 2.0 * one], 1, 2)?;
/// assert_eq!(set.matrix(0)[(1, 0)], -i);
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct MatrixSet<T = f64> {
    /// Shared with the working sets.
    blocks: Vec<Arc<Block<T>>>,
    weights: Vec<f64>,
    constants: Arc<[f64]>,
    summary: Summary<T>,
    n_jobs: Option<usize>,
}

impl<T: Scalar> MatrixSet<T> {
    /// Checks that n p×p matrices and their solve fit into memory, before anything is read.
    ///
    /// ```
    /// use codiag::{Error, MatrixSet};
    /// assert!(MatrixSet::<f64>::check_memory(100, 40).is_ok());
    /// let error = MatrixSet::<f64>::check_memory(1 << 40, 1000).unwrap_err();
    /// assert!(matches!(error, Error::OutOfMemory { .. }));
    /// ```
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], with the amount needed.
    pub fn check_memory(n: usize, p: usize) -> Result<(), Error> {
        needs::check_set_and_solve::<T>(n, p)
    }

    /// Returns the number of matrices.
    #[allow(clippy::len_without_is_empty)] // a set is never empty
    pub fn len(&self) -> usize {
        self.weights.len()
    }

    /// Returns the criterion by which the set is diagonalized.
    pub fn criterion(&self) -> Criterion {
        self.summary.criterion
    }

    /// Returns the dimension in which the set is diagonalized: p, or the rank of its reduction.
    pub fn dimension(&self) -> usize {
        self.summary.dimension()
    }

    /// Returns the size p of the matrices before reduction.
    pub fn channels(&self) -> usize {
        self.summary.channels()
    }

    /// Returns the weights, which sum to 1.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// Returns the weighted mean of the (reduced) matrices.
    pub fn mean(&self) -> &Matrix<T> {
        &self.summary.mean
    }

    /// Returns the term of the criterion that depends on each (reduced) matrix alone: log det Cⁱ
    /// for the likelihood, ‖Cⁱ‖² for the other criteria.
    pub fn constants(&self) -> &[f64] {
        &self.constants
    }

    /// Returns the reduction of the set, if its rank was reduced.
    pub fn reduction(&self) -> Option<&Reduction<T>> {
        self.summary.reduction.as_ref()
    }

    /// Returns the weighted mean of the [`constants`](Self::constants).
    pub fn constant(&self) -> f64 {
        self.summary.constant
    }

    /// Returns the set with this maximum number of threads. If None, the number is chosen
    /// automatically.
    #[must_use]
    pub fn with_n_jobs(mut self, n_jobs: impl Into<Option<usize>>) -> Self {
        self.n_jobs = n_jobs.into();
        self
    }

    /// Returns the maximum number of threads. If None, the number is chosen automatically.
    pub(crate) fn n_jobs(&self) -> Option<usize> {
        self.n_jobs
    }

    /// Returns the blocks, in order.
    pub(crate) fn blocks(&self) -> &[Arc<Block<T>>] {
        &self.blocks
    }

    /// Returns the set with the reduction whose coordinates its matrices have.
    #[cfg(feature = "signals")]
    pub(crate) fn with_reduction(mut self, reduction: Option<Reduction<T>>) -> Self {
        self.summary.reduction = reduction;
        self
    }

    /// Returns the data whose size does not depend on the number of matrices.
    pub fn summary(&self) -> &Summary<T> {
        &self.summary
    }

    /// Returns matrix `i` of the (reduced) set.
    ///
    /// # Panics
    /// If there is no such matrix.
    pub fn matrix(&self, i: usize) -> Matrix<T> {
        assert!(i < self.len(), "there is no matrix {i}");
        let mut lane = i;
        for block in &self.blocks {
            if lane < block.matrices {
                return block.batch.matrix(lane);
            }
            lane -= block.matrices;
        }
        unreachable!("the blocks hold all matrices")
    }

    /// Returns B Cⁱ Bᴴ for all i, one after the other in row-major order, for a B that acts on the
    /// channels, as in results.
    ///
    /// # Panics
    /// If B does not have one column per channel.
    #[inline(never)] // compiled in this crate: see compiled.rs
    pub fn transform(&self, b: &Matrix<T>) -> Vec<T> {
        assert_eq!(b.columns(), self.channels(), "B has one column per channel");
        let inner = self.summary.to_reduced(b);
        let r = inner.rows();
        let mut out = vec![T::ZERO; self.len() * r * r];
        let mut rest = &mut out[..];
        for block in &self.blocks {
            let result = block.reduced(&inner);
            let (own, others) = rest.split_at_mut(block.matrices * r * r);
            for (lane, matrix) in own.chunks_exact_mut(r * r).enumerate() {
                result.batch.unpack(lane, matrix);
            }
            rest = others;
        }
        out
    }
}
