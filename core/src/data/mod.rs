//! The input: a checked set of matrices, in blocks.

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
    Indefinite, check_constant, check_range, check_shape, checked_count, factorize_block,
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

/// A set of n positive definite p×p matrices, checked once and for all: symmetric ones of `f64`, or
/// Hermitian ones of complex numbers.
///
/// The constructors are the only place that checks; everything else trusts the type.
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
/// // A cross-spectrum: the second sensor hears the first a quarter of a period later.
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
    threads: Option<usize>,
}

impl<T: Scalar> MatrixSet<T> {
    /// Fails if n p×p matrices and their solve would not fit into memory: known before anything is read.
    ///
    /// ```
    /// use codiag::{Error, MatrixSet};
    /// assert!(MatrixSet::<f64>::check_memory(100, 40).is_ok());
    /// let error = MatrixSet::<f64>::check_memory(1 << 40, 1000).unwrap_err();
    /// assert!(matches!(error, Error::OutOfMemory { .. }));
    /// ```
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], with the amount.
    pub fn check_memory(n: usize, p: usize) -> Result<(), Error> {
        needs::check_set_and_solve::<T>(n, p)
    }

    /// The number of matrices.
    #[allow(clippy::len_without_is_empty)] // a set is never empty
    pub fn len(&self) -> usize {
        self.weights.len()
    }

    /// What the set is diagonalized by.
    pub fn criterion(&self) -> Criterion {
        self.summary.criterion
    }

    /// The dimension in which the set is diagonalized: p, or the rank it was reduced to.
    pub fn dimension(&self) -> usize {
        self.summary.dimension()
    }

    /// The size p of the matrices as they were given.
    pub fn channels(&self) -> usize {
        self.summary.channels()
    }

    /// The weights, which sum to 1.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// The weighted mean of the (reduced) matrices.
    pub fn mean(&self) -> &Matrix<T> {
        &self.summary.mean
    }

    /// What the criterion takes from each (reduced) matrix itself: log det Cⁱ for the likelihood, ‖Cⁱ‖²
    /// for the others.
    pub fn constants(&self) -> &[f64] {
        &self.constants
    }

    /// How the set was reduced, if it was.
    pub fn reduction(&self) -> Option<&Reduction<T>> {
        self.summary.reduction.as_ref()
    }

    /// The weighted mean of the [`constants`](Self::constants).
    pub fn constant(&self) -> f64 {
        self.summary.constant
    }

    /// The same matrices, to be worked on by at most that many threads; as many as pay for None.
    #[must_use]
    pub fn with_n_jobs(mut self, n_jobs: impl Into<Option<usize>>) -> Self {
        self.threads = n_jobs.into();
        self
    }

    /// How many threads work on it; as many as pay for None.
    pub(crate) fn threads(&self) -> Option<usize> {
        self.threads
    }

    /// The blocks, in order.
    pub(crate) fn blocks(&self) -> &[Arc<Block<T>>] {
        &self.blocks
    }

    /// The set as one of channels, if its matrices came in the coordinates of a reduction.
    #[cfg(feature = "signals")]
    pub(crate) fn with_reduction(mut self, reduction: Option<Reduction<T>>) -> Self {
        self.summary.reduction = reduction;
        self
    }

    /// What does not grow with the number of matrices.
    pub fn summary(&self) -> &Summary<T> {
        &self.summary
    }

    /// Matrix `i` of the (reduced) set.
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

    /// B Cⁱ Bᴴ for all i, row-major one after the other, for B as the answers give it.
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
