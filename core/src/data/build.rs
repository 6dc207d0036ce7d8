//! Construction and validation of sets.

use std::borrow::Borrow;
use std::sync::Arc;

use super::{
    Block, MatrixSet, RANK_TOLERANCE, Rank, Reduction, SetOptions, Summary, groups, needs,
    reduction,
};
use crate::Error;
use crate::data::Criterion;
use crate::error::Remedy;
use crate::linalg::{self, AlignedBuffer, Matrix, Scalar, Triangle, kernels, unpacked};
use crate::threads::Workers;

/// Eigenvalues that are more negative than this fraction of the powers of the channels are not due
/// to rounding.
const NEGATIVE_TOLERANCE: f64 = 1e-8;

impl<T: Scalar> MatrixSet<T> {
    /// Creates a set of equally weighted matrices from n·p·p numbers in row-major order.
    ///
    /// # Errors
    /// If the matrices are not all finite, symmetric (if complex, Hermitian) and positive definite.
    pub fn new(data: &[T], n: usize, p: usize) -> Result<Self, Error> {
        Self::with_options(data, n, p, &SetOptions::default())
    }

    /// Creates a set from n·p·p numbers in row-major order, with weights, a rank or shrinkage.
    ///
    /// # Errors
    /// If the data or the options are invalid.
    #[inline(never)] // compiled in this crate: see compiled.rs
    pub fn with_options(
        data: &[T],
        n: usize,
        p: usize,
        options: &SetOptions,
    ) -> Result<Self, Error> {
        check_shape(data, n, p)?;
        options.check(n)?;
        needs::check_blocks::<T>(n, p)?;
        Self::from_blocks(p, gather(data, p, 0, options)?, options)
    }

    /// Creates a set from an iterator of matrices, each p·p numbers in row-major order. At most one
    /// block of them is in memory besides the set.
    ///
    /// # Errors
    /// If the matrices or the options are invalid.
    pub fn from_matrices<M: AsRef<[T]>>(
        p: usize,
        matrices: impl IntoIterator<Item = M>,
        options: &SetOptions,
    ) -> Result<Self, Error> {
        if p == 0 {
            return Err(Error::Shape {
                shape: vec![0, p, p],
            });
        }
        let square = checked_count(1, p)?;
        options.check_ranges()?;
        let matrices = matrices.into_iter();
        needs::check_blocks::<T>(matrices.size_hint().0, p)?;
        let mut blocks = Vec::new();
        let mut waiting: Vec<M> = Vec::new();
        let mut n = 0;
        let mut flush = |waiting: &mut Vec<M>, n: &mut usize| -> Result<(), Error> {
            let rows: Vec<&[T]> = waiting.iter().map(AsRef::as_ref).collect();
            blocks.push(Block::gather(p, &rows, *n, options)?);
            *n += waiting.len();
            waiting.clear();
            Ok(())
        };
        for matrix in matrices {
            let numbers = matrix.as_ref().len();
            if numbers != square {
                return Err(Error::MatrixLength {
                    matrix: n + waiting.len(),
                    size: p,
                    actual: numbers,
                });
            }
            waiting.push(matrix);
            if waiting.len() == Block::<T>::capacity(p) {
                flush(&mut waiting, &mut n)?;
            }
        }
        if !waiting.is_empty() {
            flush(&mut waiting, &mut n)?;
        }
        if n == 0 {
            return Err(Error::Shape {
                shape: vec![0, p, p],
            });
        }
        options.check(n)?;
        Self::from_blocks(p, blocks, options)
    }

    /// Creates a set from gathered blocks: computes the weights, the mean, the reduction and the
    /// constants, and checks that the matrices are positive definite if the criterion requires it.
    #[inline(never)] // compiled in this crate: see compiled.rs
    pub(crate) fn from_blocks(
        p: usize,
        mut blocks: Vec<Block<T>>,
        options: &SetOptions,
    ) -> Result<Self, Error> {
        let n = blocks.iter().map(|b| b.matrices).sum();
        let weights = options.normalized_weights(n);
        assign_weights(&weights, &mut blocks);
        let workers = Workers::new(options.n_jobs, n * T::PLANES.pow(2), p);
        let mut mean = weighted_mean(p, &blocks, &workers);
        check_range(&mean)?;
        let reduction = match options.n_components {
            Rank::Full => None,
            rank => Some(reduce(
                &mut blocks,
                &mean,
                rank,
                options.criterion,
                &workers,
            )?),
        };
        if let Some(reduction) = &reduction {
            mean = weighted_mean(reduction.rank(), &blocks, &workers);
        }
        let constants = constants(options.criterion, &mean, &blocks, &workers)?;
        let constant = linalg::dot(&weights, &constants);
        check_constant(options.criterion, constant)?;
        Ok(Self {
            summary: Summary {
                criterion: options.criterion,
                len: n,
                mean,
                constant,
                reduction,
            },
            blocks: blocks.into_iter().map(Arc::new).collect(),
            weights,
            constants: constants.into(),
            n_jobs: options.n_jobs,
        })
    }
}

/// Checks that the data have the length of n p×p matrices.
pub(crate) fn check_shape<T>(data: &[T], n: usize, p: usize) -> Result<(), Error> {
    let shape = || vec![n, p, p];
    if n == 0 || p == 0 {
        return Err(Error::Shape { shape: shape() });
    }
    let expected = checked_count(n, p)?;
    if data.len() != expected {
        return Err(Error::Length {
            shape: shape(),
            expected,
            actual: data.len(),
        });
    }
    Ok(())
}

/// Returns n·p·p. Fails if the array exceeds the address space.
pub(crate) fn checked_count(n: usize, p: usize) -> Result<usize, Error> {
    let count = p.checked_mul(p).and_then(|square| square.checked_mul(n));
    count
        .filter(|count| count.checked_mul(16).is_some())
        .ok_or_else(|| Error::TooLarge {
            shape: vec![n, p, p],
        })
}

/// Gathers matrices into blocks without weights. `first` is the number of the first matrix in the
/// set.
pub(crate) fn gather<T: Scalar>(
    data: &[T],
    p: usize,
    first: usize,
    options: &SetOptions,
) -> Result<Vec<Block<T>>, Error> {
    let capacity = Block::<T>::capacity(p);
    let pieces: Vec<&[T]> = data.chunks(capacity * p * p).collect();
    let workers = Workers::new(options.n_jobs, data.len() / (p * p), p);
    let blocks = workers.map(&pieces, |k, piece| {
        let matrices: Vec<&[T]> = piece.chunks_exact(p * p).collect();
        Block::gather(p, &matrices, first + k * capacity, options)
    });
    // The error of the first block is reported, independent of the threads.
    blocks.into_iter().collect()
}

/// Assigns its weight to every matrix.
pub(crate) fn assign_weights<T>(weights: &[f64], blocks: &mut [Block<T>]) {
    let mut rest = weights;
    for block in blocks {
        let (own, others) = rest.split_at(block.matrices);
        block.weights[..own.len()].copy_from_slice(own);
        rest = others;
    }
}

/// Checks that products of filters and entries neither overflow nor underflow. A power that is zero
/// or negative is reported by the factorizations.
pub(crate) fn check_range<T: Scalar>(mean: &Matrix<T>) -> Result<(), Error> {
    let powers = (0..mean.rows()).map(|a| mean[(a, a)].real());
    let outside = |power: &f64| *power > 0.0 && !(1e-250..=1e250).contains(power);
    match powers.into_iter().find(outside) {
        Some(power) => Err(Error::Range { power }),
        None => Ok(()),
    }
}

/// Checks that the energy of a set and its square, by which the Frobenius criterion and least
/// squares divide, neither overflow nor underflow.
pub(crate) fn check_constant(criterion: Criterion, constant: f64) -> Result<(), Error> {
    let within = constant == 0.0 || (1e-140..=1e140).contains(&constant);
    if criterion == Criterion::Likelihood || within {
        return Ok(());
    }
    Err(Error::Energy {
        norm: constant.sqrt(),
    })
}

/// Reduces the blocks to the leading dimensions of the set. Returns the reduction.
fn reduce<T: Scalar>(
    blocks: &mut [Block<T>],
    mean: &Matrix<T>,
    rank: Rank,
    criterion: Criterion,
    workers: &Workers,
) -> Result<Reduction<T>, Error> {
    let reduction = if criterion.requires_definite() {
        let reduction = Reduction::of_mean(mean, rank)?;
        check_semidefinite(blocks, mean)?;
        reduction
    } else {
        let energy = weighted_energy(mean.rows(), blocks, workers);
        check_constant(criterion, trace(&energy))?;
        Reduction::of_energy(&energy, rank)?
    };
    reduce_blocks(blocks, reduction.filters());
    Ok(reduction)
}

/// Checks that no matrix of a set has a clearly negative eigenvalue, which a reduction to the range
/// of the mean could hide.
pub(crate) fn check_semidefinite<T: Scalar>(
    blocks: &[Block<T>],
    mean: &Matrix<T>,
) -> Result<(), Error> {
    let mut first = 0;
    for block in blocks {
        if let Some(lane) = negative_lane(block, mean) {
            return Err(IndefiniteMatrix::new(block, lane, first + lane).error_for_reduced());
        }
        first += block.matrices;
    }
    Ok(())
}

/// Returns the lane of the first matrix with a clearly negative eigenvalue: its Cholesky
/// factorization fails even after its diagonal is increased by `NEGATIVE_TOLERANCE` times its own
/// powers and those of the mean.
pub(crate) fn negative_lane<T: Scalar>(block: &Block<T>, mean: &Matrix<T>) -> Option<usize> {
    let p = mean.rows();
    let max_power = (0..p).fold(0.0_f64, |largest, a| largest.max(mean[(a, a)].real()));
    let mut shifted = block.clone();
    for a in 0..p {
        let power = mean[(a, a)].real();
        let reference = if power > 0.0 { power } else { max_power };
        let shift = |x: &mut f64| *x += NEGATIVE_TOLERANCE * (x.max(0.0) + reference);
        shifted.batch.diagonal_mut(a).iter_mut().for_each(shift);
    }
    factorize_block(&shifted).1
}

/// Replaces every C by F C Fᴴ, where F are the filters.
pub(crate) fn reduce_blocks<T: Scalar>(blocks: &mut [Block<T>], filters: &Matrix<T>) {
    for block in blocks {
        *block = block.reduced(filters);
    }
}

/// Returns the constants of all matrices. Fails for the first matrix that the criterion does not
/// accept.
pub(crate) fn constants<T: Scalar>(
    criterion: Criterion,
    mean: &Matrix<T>,
    blocks: &[Block<T>],
    workers: &Workers,
) -> Result<Vec<f64>, Error> {
    let factorized = workers.map(blocks, |_, block| block_constants(criterion, block));
    let mut all = Vec::new();
    for (block, (constants, singular)) in blocks.iter().zip(factorized) {
        if let Some(lane) = singular {
            let found = IndefiniteMatrix::new(block, lane, all.len() + lane);
            return Err(found.error(mean));
        }
        all.extend(constants);
    }
    Ok(all)
}

/// Returns the constants of the matrices of a block, and the first lane whose matrix the criterion
/// does not accept.
pub(crate) fn block_constants<T: Scalar>(
    criterion: Criterion,
    block: &Block<T>,
) -> (Vec<f64>, Option<usize>) {
    match criterion {
        Criterion::Likelihood => factorize_block(block),
        Criterion::Frobenius | Criterion::LeastSquares => (squared_norms(block), None),
    }
}

/// Returns ‖C‖² of every matrix of a block.
fn squared_norms<T: Scalar>(block: &Block<T>) -> Vec<f64> {
    let mut norms = vec![0.0; block.matrices];
    // The plane of imaginary parts follows the plane of real parts.
    let pairs = Triangle::new(block.size()).pairs().cycle();
    for ((a, b), row) in pairs.zip(block.batch.rows()) {
        let times = if a == b { 1.0 } else { 2.0 };
        let numbers = norms.iter_mut().zip(row);
        numbers.for_each(|(norm, x)| *norm += times * x * x);
    }
    norms
}

/// Returns log det C of every matrix of a block, and the first lane whose matrix is not positive
/// definite.
pub(crate) fn factorize_block<T: Scalar>(block: &Block<T>) -> (Vec<f64>, Option<usize>) {
    let p = block.size();
    // A pivot below this fraction of its diagonal entry is rounding error.
    let floor = p as f64 * f64::EPSILON;
    let lanes = block.lanes();
    let mut pivots = AlignedBuffer::of_len(p * lanes);
    let mut smallest = vec![0.0; lanes];
    kernels::cholesky_pivots(p, block.entries(), lanes, floor, &mut pivots, &mut smallest);
    let mut constants = vec![0.0; lanes];
    kernels::sum_of_logs(&pivots, lanes, &mut constants);
    constants.truncate(block.matrices);
    // NaN compares false and counts as singular.
    let definite = |l: usize| smallest[l] > floor;
    let singular = (0..block.matrices).find(|&l| !definite(l));
    (constants, singular)
}

/// A matrix that is not positive definite.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IndefiniteMatrix {
    pub matrix: usize,
    smallest_eigenvalue: f64,
    mean_eigenvalue: f64,
}

impl IndefiniteMatrix {
    /// Describes the matrix in one lane of a block. `matrix` is its number in the set.
    pub fn new<T: Scalar>(block: &Block<T>, lane: usize, matrix: usize) -> Self {
        let p = block.size();
        let values = linalg::symmetric_eigenvalues(&block.batch.matrix(lane));
        let values = values.unwrap_or_else(|| vec![f64::NAN]);
        Self {
            matrix,
            smallest_eigenvalue: values[0],
            mean_eigenvalue: linalg::sum(&values) / p as f64,
        }
    }

    /// Returns the error about this matrix in a set with the given mean.
    pub fn error<T: Scalar>(self, mean: &Matrix<T>) -> Error {
        Error::NotPositiveDefinite {
            matrix: Some(self.matrix),
            eigenvalue: self.smallest_eigenvalue,
            remedy: self.remedy(mean),
        }
    }

    /// Returns the error about this matrix in a set whose rank is reduced.
    pub fn error_for_reduced(self) -> Error {
        Error::NotPositiveDefinite {
            matrix: Some(self.matrix),
            eigenvalue: self.smallest_eigenvalue,
            remedy: Remedy::None,
        }
    }

    /// Returns the remedy for this matrix in a set with the given mean.
    pub fn remedy<T: Scalar>(self, mean: &Matrix<T>) -> Remedy {
        let (smallest, average) = (self.smallest_eigenvalue, self.mean_eigenvalue);
        // Singular up to rounding: look for a null space that all matrices share.
        let rounding = RANK_TOLERANCE * mean.rows() as f64 * average.abs();
        if smallest >= -rounding
            && let Some(rank) = reduction::shared_rank(mean)
        {
            return Remedy::Reduce { rank };
        }
        // (1 − s) λ + s λ̄ is positive for every s above this.
        let min_shrinkage = (-smallest).max(0.0) / (average - smallest);
        let sufficient = [1e-3, 1e-2, 1e-1]
            .into_iter()
            .find(|s| 2.0 * min_shrinkage <= *s);
        match sufficient {
            Some(shrinkage) if average > 0.0 => Remedy::Shrink { shrinkage },
            _ => Remedy::None,
        }
    }
}

/// Returns Σ_i w_i (Cⁱ)², whose trace is the energy of the set.
pub(crate) fn weighted_energy<T: Scalar>(
    p: usize,
    blocks: &[Block<T>],
    workers: &Workers,
) -> Matrix<T> {
    let mut total = Matrix::zeros(p, p);
    for sums in workers.map(blocks, |_, block| block_energy(block)) {
        linalg::add_multiple(total.as_mut_slice(), 1.0, sums.as_slice());
    }
    total
}

/// Returns Σ_i w_i (Cⁱ)² over one block.
pub(crate) fn block_energy<T: Scalar>(block: &Block<T>) -> Matrix<T> {
    let p = block.size();
    let mut sums = Matrix::zeros(p, p);
    for (lane, weight) in block.weights[..block.matrices].iter().enumerate() {
        let matrix = block.batch.matrix(lane);
        let square = linalg::product(&matrix, &matrix);
        linalg::add_multiple(sums.as_mut_slice(), *weight, square.as_slice());
    }
    sums
}

/// Returns the trace of a Hermitian matrix.
pub(crate) fn trace<T: Scalar>(m: &Matrix<T>) -> f64 {
    (0..m.rows()).map(|a| m[(a, a)].real()).sum()
}

/// Returns Σ_i w_i Cⁱ.
pub(crate) fn weighted_mean<T: Scalar, B: Borrow<Block<T>> + Sync>(
    p: usize,
    blocks: &[B],
    workers: &Workers,
) -> Matrix<T> {
    let lanes = blocks.iter().map(|b| b.borrow().lanes()).sum();
    let groups = groups::partition_blocks::<T>(blocks.len(), lanes, p);
    let sums = workers.map(&groups, |_, range| {
        let mut sums = vec![0.0; groups::packed_len::<T>(p)];
        for block in &blocks[range.clone()] {
            kernels::combine(block.borrow().entries(), &block.borrow().weights, &mut sums);
        }
        sums
    });
    let total = sums.into_iter().reduce(|mut total, sums| {
        groups::add_slices(&mut total, &sums);
        total
    });
    unpacked(p, &total.expect("a set has at least one group"))
}
