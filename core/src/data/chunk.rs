//! Parts of a set that is distributed over several processes or machines.
//!
//! A chunk is gathered and validated by the process that holds its matrices. The check of
//! definiteness needs the reduction of the whole set. Chunks are therefore combined to a part of
//! the set in a second step, with the filters of that reduction.

use std::sync::Arc;

use super::build::{
    self, assign_weights, check_range, check_semidefinite, check_shape, gather, reduce_blocks,
    weighted_energy, weighted_mean,
};
use super::{Block, Criterion, MatrixSet, Reduction, SetOptions, Summary};
use crate::Error;
use crate::linalg::{self, Matrix, Scalar};
use crate::threads::Workers;

/// Consecutive matrices of a larger set: finite, symmetric (Hermitian), shrunk, and in blocks.
///
/// ```
/// use codiag::backend::Chunk;
/// use codiag::{MatrixSet, SetOptions, synthetic};
/// let generated = synthetic::Synthetic::new(50, 3, 0.1, 0);
/// let (head, tail) = generated.data.split_at(20 * 9);
/// let options = SetOptions::default();
/// let chunks = vec![Chunk::new(head, 20, 3, 0, &options)?, Chunk::new(tail, 30, 3, 20, &options)?];
/// // Combined, the chunks are the original set.
/// let whole = MatrixSet::new(&generated.data, 50, 3)?;
/// let part = MatrixSet::of_chunks(chunks, None, None)?;
/// assert!((part.mean()[(1, 2)] - whole.mean()[(1, 2)]).abs() < 1e-12);
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Chunk<T = f64> {
    p: usize,
    criterion: Criterion,
    first: usize,
    /// Σ_i w_i of the weights received, which are not normalized.
    weight: f64,
    /// Blocks whose weights sum to 1.
    blocks: Vec<Block<T>>,
}

impl<T: Scalar> Chunk<T> {
    /// Returns the size p of the matrices.
    pub(crate) fn size(&self) -> usize {
        self.p
    }

    /// Returns the blocks, in order.
    pub(crate) fn blocks(&self) -> &[Block<T>] {
        &self.blocks
    }

    /// Creates a chunk from n·p·p numbers in row-major order. `first` is the number of the first
    /// matrix in the whole set, by which errors name the matrices. The rank in the options is
    /// ignored. All weights may be zero if those of another chunk are not.
    ///
    /// # Errors
    /// If the data or the options are invalid.
    #[inline(never)] // compiled in this crate: see compiled.rs
    pub fn new(
        data: &[T],
        n: usize,
        p: usize,
        first: usize,
        options: &SetOptions,
    ) -> Result<Self, Error> {
        check_shape(data, n, p)?;
        let mut options = options.clone();
        let weight = match options.check(n) {
            Ok(()) => options
                .weights
                .as_ref()
                .map_or(n as f64, |w| w.iter().sum()),
            // Equal weights within the chunk, and no weight in the whole set.
            Err(Error::WeightsZero) => {
                options.weights = None;
                0.0
            }
            Err(Error::Weight { index, value }) => {
                let index = first + index;
                return Err(Error::Weight { index, value });
            }
            Err(error) => return Err(error),
        };
        let mut blocks = gather(data, p, first, &options)?;
        assign_weights(&options.normalized_weights(n), &mut blocks);
        Ok(Self {
            p,
            criterion: options.criterion,
            first,
            weight,
            blocks,
        })
    }

    /// Returns the number of matrices.
    #[allow(clippy::len_without_is_empty)] // a chunk is never empty
    pub fn len(&self) -> usize {
        self.blocks.iter().map(|b| b.matrices).sum()
    }

    /// Returns the size p of the matrices.
    pub fn channels(&self) -> usize {
        self.p
    }

    /// Returns the criterion by which the set is diagonalized.
    pub fn criterion(&self) -> Criterion {
        self.criterion
    }

    /// Returns the number of the first matrix in the whole set.
    pub fn first(&self) -> usize {
        self.first
    }

    /// Returns the sum of the weights received, or the number of matrices if there were none. The
    /// weight of the chunk in the whole set is proportional to it.
    pub fn weight(&self) -> f64 {
        self.weight
    }

    /// Returns the weighted mean of the matrices.
    pub fn mean(&self) -> Matrix<T> {
        weighted_mean(self.p, &self.blocks, &Workers::One)
    }

    /// Returns the sum from which the reduction of the rank is computed: the mean of the matrices
    /// or, for criteria that accept indefinite matrices, Σ_i w_i (Cⁱ)². The sum of the whole set,
    /// which [`Reduction::of_sum`] takes, is the mean of the sums of its chunks, weighted by
    /// [`weight`](Self::weight).
    pub fn range_sum(&self) -> Matrix<T> {
        if self.criterion.requires_definite() {
            return self.mean();
        }
        weighted_energy(self.p, &self.blocks, &Workers::One)
    }

    /// Returns the matrices in row-major order after gathering, and their weights, which sum to 1.
    /// They are sufficient to create the chunk in another process.
    pub fn matrices(&self) -> (Vec<T>, Vec<f64>) {
        unpacked(self.p, &self.blocks)
    }
}

impl<T: Scalar> MatrixSet<T> {
    /// Combines chunks to a part of a set, each with its weight. `filters` are those of the
    /// [`Reduction`] of the whole set, if its rank is reduced. At most `n_jobs` threads are used;
    /// the number is chosen automatically if None.
    ///
    /// # Errors
    /// If the criterion does not accept a matrix. The error has its number in the whole set.
    ///
    /// # Panics
    /// If there is no chunk, or if their matrices differ in size.
    #[inline(never)] // compiled in this crate: see compiled.rs
    pub fn of_chunks(
        chunks: Vec<Chunk<T>>,
        filters: Option<&Matrix<T>>,
        n_jobs: Option<usize>,
    ) -> Result<Self, Error> {
        let chunk = chunks.first().expect("a part has at least one chunk");
        let (p, criterion) = (chunk.p, chunk.criterion);
        let total: f64 = chunks.iter().map(|chunk| chunk.weight).sum();
        let (mut blocks, mut firsts) = (Vec::new(), Vec::new());
        let count = chunks.len() as f64;
        for chunk in chunks {
            assert_eq!(chunk.p, p, "the matrices of a set have one size");
            let fraction = if total > 0.0 {
                chunk.weight / total
            } else {
                1.0 / count
            };
            firsts.push((chunk.first, chunk.len()));
            for mut block in chunk.blocks {
                block.weights.iter_mut().for_each(|w| *w *= fraction);
                blocks.push(block);
            }
        }
        let n = blocks.iter().map(|b| b.matrices).sum();
        let workers = Workers::new(n_jobs, n * T::PLANES.pow(2), p);
        let mut mean = weighted_mean(p, &blocks, &workers);
        check_range(&mean)?;
        if let Some(filters) = filters {
            if criterion.requires_definite() {
                check_semidefinite(&blocks, &mean).map_err(|e| renumbered(e, &firsts))?;
            }
            reduce_blocks(&mut blocks, filters);
            mean = weighted_mean(filters.rows(), &blocks, &workers);
        }
        let constants = build::constants(criterion, &mean, &blocks, &workers)
            .map_err(|e| renumbered(e, &firsts))?;
        let weights = blocks.iter().flat_map(|b| &b.weights[..b.matrices]);
        let weights: Vec<f64> = weights.copied().collect();
        let constant = weights.iter().zip(&constants).map(|(w, x)| w * x).sum();
        let summary = Summary {
            criterion,
            len: n,
            mean,
            constant,
            // The client that reduced the whole set has it.
            reduction: None,
        };
        Ok(Self {
            blocks: blocks.into_iter().map(Arc::new).collect(),
            weights,
            constants: constants.into(),
            summary,
            n_jobs,
        })
    }

    /// Returns the (reduced) matrices in row-major order, and their weights.
    pub fn matrices(&self) -> (Vec<T>, Vec<f64>) {
        unpacked(self.dimension(), self.blocks.iter().map(|block| &**block))
    }
}

/// Replaces the number of the matrix in a part by its number in the whole set.
fn renumbered(error: Error, firsts: &[(usize, usize)]) -> Error {
    let Error::NotPositiveDefinite {
        matrix: Some(matrix),
        eigenvalue,
        remedy,
    } = error
    else {
        return error;
    };
    let mut within = matrix;
    for (first, len) in firsts {
        if within < *len {
            return Error::NotPositiveDefinite {
                matrix: Some(first + within),
                eigenvalue,
                remedy,
            };
        }
        within -= len;
    }
    unreachable!("a part has no matrix {matrix}")
}

fn unpacked<'a, T: Scalar>(
    p: usize,
    blocks: impl IntoIterator<Item = &'a Block<T>>,
) -> (Vec<T>, Vec<f64>) {
    let (mut data, mut weights) = (Vec::new(), Vec::new());
    for block in blocks {
        weights.extend(&block.weights[..block.matrices]);
        for lane in 0..block.matrices {
            let at = data.len();
            data.resize(at + p * p, T::ZERO);
            block.batch.unpack(lane, &mut data[at..]);
        }
    }
    (data, weights)
}

impl<T: Scalar> Summary<T> {
    /// Combines the summaries of the parts of a set. Each comes with its fraction of the weight.
    ///
    /// # Panics
    /// If there is no part.
    pub fn of_parts(parts: &[(f64, Self)], reduction: Option<Reduction<T>>) -> Self {
        let (_, part) = parts.first().expect("a set has at least one part");
        let (p, criterion) = (part.dimension(), part.criterion);
        let mut mean = Matrix::zeros(p, p);
        for (fraction, part) in parts {
            linalg::add_multiple(mean.as_mut_slice(), *fraction, part.mean.as_slice());
        }
        Self {
            criterion,
            len: parts.iter().map(|(_, part)| part.len).sum(),
            mean,
            constant: parts
                .iter()
                .map(|(fraction, part)| fraction * part.constant)
                .sum(),
            reduction,
        }
    }
}
