//! Some matrices of a larger set, for those who hold the set in several places.
//!
//! A chunk is gathered and checked where its matrices are. What only the whole set can tell, the
//! range of its mean, comes before the check of definiteness: so a part is made from chunks in a
//! second step, with the reduction of the whole.

use std::sync::Arc;

use super::build::{
    self, check_range, check_semidefinite, check_shape, deal_out, gather, reduce_blocks,
    weighted_energy, weighted_mean,
};
use super::{Block, Criterion, MatrixSet, Reduction, SetOptions, Summary};
use crate::Error;
use crate::linalg::{self, Matrix, Scalar};
use crate::threads::Workers;

/// Consecutive matrices of a larger set: finite, symmetric, shrunk, and in blocks.
///
/// ```
/// use codiag::backend::Chunk;
/// use codiag::{MatrixSet, SetOptions, synthetic};
/// let made = synthetic::Synthetic::new(50, 3, 0.1, 0);
/// let (head, tail) = made.data.split_at(20 * 9);
/// let options = SetOptions::default();
/// let chunks = vec![Chunk::new(head, 20, 3, 0, &options)?, Chunk::new(tail, 30, 3, 20, &options)?];
/// // Together they are the set they were cut from.
/// let whole = MatrixSet::new(&made.data, 50, 3)?;
/// let part = MatrixSet::of_chunks(chunks, None, None)?;
/// assert!((part.mean()[(1, 2)] - whole.mean()[(1, 2)]).abs() < 1e-12);
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Chunk<T = f64> {
    p: usize,
    criterion: Criterion,
    first: usize,
    /// Σ_i w_i, in the caller's scale.
    weight: f64,
    /// Their weights sum to 1.
    blocks: Vec<Block<T>>,
}

impl<T: Scalar> Chunk<T> {
    /// The size p of the matrices.
    pub(crate) fn size(&self) -> usize {
        self.p
    }

    /// The blocks, in order.
    pub(crate) fn blocks(&self) -> &[Block<T>] {
        &self.blocks
    }

    /// From n·p·p numbers, each matrix row after row, the first of which has the given number in the
    /// whole set: errors name matrices by it. Of the options the rank does not apply; weights may be
    /// all zero, as long as those of another chunk are not.
    ///
    /// # Errors
    /// If the data or the options are not as they should be.
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
            // Equal among themselves, they count for nothing in the whole.
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
        deal_out(&options.normalized_weights(n), &mut blocks);
        Ok(Self {
            p,
            criterion: options.criterion,
            first,
            weight,
            blocks,
        })
    }

    /// The number of matrices.
    #[allow(clippy::len_without_is_empty)] // a chunk is never empty
    pub fn len(&self) -> usize {
        self.blocks.iter().map(|b| b.matrices).sum()
    }

    /// The size p of the matrices.
    pub fn channels(&self) -> usize {
        self.p
    }

    /// What the set will be diagonalized by.
    pub fn criterion(&self) -> Criterion {
        self.criterion
    }

    /// The number of the first matrix in the whole set.
    pub fn first(&self) -> usize {
        self.first
    }

    /// The sum of the weights as they were given, the number of matrices without weights: its share
    /// of the whole.
    pub fn weight(&self) -> f64 {
        self.weight
    }

    /// The weighted mean of the matrices.
    pub fn mean(&self) -> Matrix<T> {
        weighted_mean(self.p, &self.blocks, &Workers::One)
    }

    /// What the set would be reduced in rank by: the mean of the matrices or, for criteria that take
    /// indefinite ones, Σ_i w_i (Cⁱ)². The whole set's, from which
    /// [`Reduction::of_sum`] makes the reduction, is the mean of the chunks', each with its weight.
    pub fn range_sum(&self) -> Matrix<T> {
        if self.criterion.requires_definite() {
            return self.mean();
        }
        weighted_energy(self.p, &self.blocks, &Workers::One)
    }

    /// The matrices, row after row, as they were gathered, and their weights, which sum to 1: what
    /// makes the chunk anew elsewhere.
    pub fn matrices(&self) -> (Vec<T>, Vec<f64>) {
        unpacked(self.p, &self.blocks)
    }
}

impl<T: Scalar> MatrixSet<T> {
    /// The part of a set that some chunks make, in the dimensions that the filters of the whole
    /// set's [`Reduction`] find, if there is one. Chunks weigh by their weights; at most that many
    /// threads are used.
    ///
    /// # Errors
    /// If a matrix is not as the criterion requires, which is named by its number in the whole set.
    ///
    /// # Panics
    /// If there is no chunk, or their matrices differ in size.
    #[inline(never)] // compiled in this crate: see compiled.rs
    pub fn of_chunks(
        chunks: Vec<Chunk<T>>,
        filters: Option<&Matrix<T>>,
        threads: Option<usize>,
    ) -> Result<Self, Error> {
        let chunk = chunks.first().expect("a part has at least one chunk");
        let (p, criterion) = (chunk.p, chunk.criterion);
        let total: f64 = chunks.iter().map(|chunk| chunk.weight).sum();
        let (mut blocks, mut firsts) = (Vec::new(), Vec::new());
        let count = chunks.len() as f64;
        for chunk in chunks {
            assert_eq!(chunk.p, p, "the matrices of a set have one size");
            let share = if total > 0.0 {
                chunk.weight / total
            } else {
                1.0 / count
            };
            firsts.push((chunk.first, chunk.len()));
            for mut block in chunk.blocks {
                block.weights.iter_mut().for_each(|w| *w *= share);
                blocks.push(block);
            }
        }
        let n = blocks.iter().map(|b| b.matrices).sum();
        let workers = Workers::new(threads, n * T::PLANES.pow(2), p);
        let mut mean = weighted_mean(p, &blocks, &workers);
        check_range(&mean)?;
        if let Some(filters) = filters {
            if criterion.requires_definite() {
                check_semidefinite(&blocks, &mean).map_err(|e| named(e, &firsts))?;
            }
            reduce_blocks(&mut blocks, filters);
            mean = weighted_mean(filters.rows(), &blocks, &workers);
        }
        let constants =
            build::constants(criterion, &mean, &blocks, &workers).map_err(|e| named(e, &firsts))?;
        let weights = blocks.iter().flat_map(|b| &b.weights[..b.matrices]);
        let weights: Vec<f64> = weights.copied().collect();
        let constant = weights.iter().zip(&constants).map(|(w, x)| w * x).sum();
        let summary = Summary {
            criterion,
            len: n,
            mean,
            constant,
            // Known to whoever reduced the whole set.
            reduction: None,
        };
        Ok(Self {
            blocks: blocks.into_iter().map(Arc::new).collect(),
            weights,
            constants: constants.into(),
            summary,
            threads,
        })
    }

    /// The (reduced) matrices, row after row, and their weights.
    pub fn matrices(&self) -> (Vec<T>, Vec<f64>) {
        unpacked(self.dimension(), self.blocks.iter().map(|block| &**block))
    }
}

/// The error with the matrix's number in the whole set instead of that in a part of it.
fn named(error: Error, firsts: &[(usize, usize)]) -> Error {
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
    /// That of a whole set from those of its parts, each with its share of the weight.
    ///
    /// # Panics
    /// If there is no part.
    pub fn of_parts(parts: &[(f64, Self)], reduction: Option<Reduction<T>>) -> Self {
        let (_, part) = parts.first().expect("a set has at least one part");
        let (p, criterion) = (part.dimension(), part.criterion);
        let mut mean = Matrix::zeros(p, p);
        for (share, part) in parts {
            linalg::add_multiple(mean.as_mut_slice(), *share, part.mean.as_slice());
        }
        Self {
            criterion,
            len: parts.iter().map(|(_, part)| part.len).sum(),
            mean,
            constant: parts
                .iter()
                .map(|(share, part)| share * part.constant)
                .sum(),
            reduction,
        }
    }
}
