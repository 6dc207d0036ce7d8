//! How a set is made: the only place that checks matrices.

use std::borrow::Borrow;
use std::sync::Arc;

use super::{Block, MatrixSet, Rank, Reduction, SetOptions, Summary, groups, reduction};
use crate::Error;
use crate::linalg::kernels::{self, packed_len};
use crate::linalg::{self, MatRef, Matrix};
use crate::threads::Workers;

impl MatrixSet {
    /// A set of equally weighted matrices from n·p·p numbers, each matrix row after row.
    ///
    /// # Errors
    /// If the matrices are not all finite, symmetric and positive definite.
    pub fn new(data: &[f64], n: usize, p: usize) -> Result<Self, Error> {
        Self::with_options(data, n, p, &SetOptions::default())
    }

    /// A set from n·p·p numbers with weights, a rank or shrinkage.
    ///
    /// # Errors
    /// If the data or the options are not as they should be.
    pub fn with_options(
        data: &[f64],
        n: usize,
        p: usize,
        options: &SetOptions,
    ) -> Result<Self, Error> {
        check_shape(data, n, p)?;
        options.check(n)?;
        Self::from_blocks(p, gather(data, p, 0, options)?, options)
    }

    /// A set from matrices that come one after the other, each p·p numbers row after row, so that
    /// they need never be in memory all at once beside the set.
    ///
    /// # Errors
    /// If the matrices or the options are not as they should be.
    pub fn from_matrices<M: AsRef<[f64]>>(
        p: usize,
        matrices: impl IntoIterator<Item = M>,
        options: &SetOptions,
    ) -> Result<Self, Error> {
        if p == 0 {
            return Err(Error::Shape {
                shape: vec![0, p, p],
            });
        }
        options.check_shrinkage()?;
        let mut blocks = Vec::new();
        let mut waiting: Vec<M> = Vec::new();
        let mut n = 0;
        let mut flush = |waiting: &mut Vec<M>| -> Result<(), Error> {
            let rows: Vec<&[f64]> = waiting.iter().map(AsRef::as_ref).collect();
            blocks.push(Block::gather(p, &rows, n, options.shrinkage)?);
            n += waiting.len();
            waiting.clear();
            Ok(())
        };
        for matrix in matrices {
            let numbers = matrix.as_ref().len();
            if numbers != p * p {
                return Err(Error::Length {
                    shape: vec![p, p],
                    expected: p * p,
                    actual: numbers,
                });
            }
            waiting.push(matrix);
            if waiting.len() == Block::capacity(p) {
                flush(&mut waiting)?;
            }
        }
        if !waiting.is_empty() {
            flush(&mut waiting)?;
        }
        if n == 0 {
            return Err(Error::Shape {
                shape: vec![0, p, p],
            });
        }
        options.check(n)?;
        Self::from_blocks(p, blocks, options)
    }

    /// A set from faer matrices.
    ///
    /// # Errors
    /// If the matrices or the options are not as they should be.
    pub fn from_faer<'a>(
        matrices: impl IntoIterator<Item = MatRef<'a, f64>>,
        options: &SetOptions,
    ) -> Result<Self, Error> {
        let mut matrices = matrices.into_iter().peekable();
        let p = matrices.peek().map_or(0, MatRef::nrows);
        let mut misshapen = None;
        let rows = matrices.map_while(|m| {
            if (m.nrows(), m.ncols()) != (p, p) {
                misshapen = Some(vec![m.nrows(), m.ncols()]);
                return None;
            }
            Some(linalg::from_faer(m).into_vec())
        });
        let set = Self::from_matrices(p, rows, options);
        match misshapen {
            Some(shape) => Err(Error::Shape { shape }),
            None => set,
        }
    }

    /// Weights, mean, reduction, and the factorisations that show the matrices positive definite.
    fn from_blocks(p: usize, mut blocks: Vec<Block>, options: &SetOptions) -> Result<Self, Error> {
        let n = blocks.iter().map(|b| b.matrices).sum();
        let weights = options.normalized_weights(n);
        deal_out(&weights, &mut blocks);
        let workers = Workers::new(options.threads, n, p);
        let mut mean = weighted_mean(p, &blocks, &workers);
        check_range(&mean)?;
        let reduction = match options.rank {
            Rank::Full => None,
            rank => Some(reduce(&mut blocks, &mean, rank)?),
        };
        if let Some(reduction) = &reduction {
            mean = weighted_mean(reduction.rank(), &blocks, &workers);
        }
        let log_dets = factorize(&mean, &blocks, &workers)?;
        Ok(Self {
            summary: Summary {
                len: n,
                mean,
                mean_log_det: linalg::dot(&weights, &log_dets),
                reduction,
            },
            blocks: blocks.into_iter().map(Arc::new).collect(),
            weights,
            log_dets: log_dets.into(),
        })
    }
}

/// Whether there are as many numbers as n matrices of size p×p have.
pub(super) fn check_shape(data: &[f64], n: usize, p: usize) -> Result<(), Error> {
    let shape = || vec![n, p, p];
    if n == 0 || p == 0 {
        return Err(Error::Shape { shape: shape() });
    }
    if data.len() != n * p * p {
        return Err(Error::Length {
            shape: shape(),
            expected: n * p * p,
            actual: data.len(),
        });
    }
    Ok(())
}

/// Blocks without weights yet, from matrices the first of which has the given number in the set.
pub(super) fn gather(
    data: &[f64],
    p: usize,
    first: usize,
    options: &SetOptions,
) -> Result<Vec<Block>, Error> {
    let capacity = Block::capacity(p);
    let pieces: Vec<&[f64]> = data.chunks(capacity * p * p).collect();
    let workers = Workers::new(options.threads, data.len() / (p * p), p);
    let blocks = workers.map(&pieces, |k, piece| {
        let matrices: Vec<&[f64]> = piece.chunks_exact(p * p).collect();
        Block::gather(p, &matrices, first + k * capacity, options.shrinkage)
    });
    // Whoever finds them, the first of the errors is reported.
    blocks.into_iter().collect()
}

/// Gives every matrix its weight.
pub(super) fn deal_out(weights: &[f64], blocks: &mut [Block]) {
    let mut rest = weights;
    for block in blocks {
        let (own, others) = rest.split_at(block.matrices);
        block.weights[..own.len()].copy_from_slice(own);
        rest = others;
    }
}

/// Beyond this range products of filters and entries may overflow or vanish. (A power of zero or
/// below is for the factorisations to report.)
pub(super) fn check_range(mean: &Matrix) -> Result<(), Error> {
    let powers = (0..mean.rows()).map(|a| mean[(a, a)]);
    let outside = |power: &f64| *power > 0.0 && !(1e-250..=1e250).contains(power);
    match powers.into_iter().find(outside) {
        Some(power) => Err(Error::Range { power }),
        None => Ok(()),
    }
}

/// Brings the blocks to the leading dimensions of the mean.
fn reduce(blocks: &mut [Block], mean: &Matrix, rank: Rank) -> Result<Reduction, Error> {
    let reduction = Reduction::of_mean(mean, rank)?;
    reduce_blocks(blocks, reduction.filters());
    Ok(reduction)
}

/// Brings the blocks to the dimensions that these filters find.
pub(super) fn reduce_blocks(blocks: &mut [Block], filters: &Matrix) {
    let mut scratch = Vec::new();
    for block in blocks {
        *block = block.reduced(filters, &mut scratch);
    }
}

/// log det of every matrix, or the first that is not positive definite.
pub(super) fn factorize(
    mean: &Matrix,
    blocks: &[Block],
    workers: &Workers,
) -> Result<Vec<f64>, Error> {
    let p = mean.rows();
    let factorized = workers.map(blocks, |_, block| factorize_block(p, block));
    let mut all = Vec::new();
    for (block, (log_dets, singular)) in blocks.iter().zip(factorized) {
        if let Some(lane) = singular {
            let eigenvalue = smallest_eigenvalue(p, block, lane);
            return Err(not_positive_definite(mean, all.len() + lane, eigenvalue));
        }
        all.extend(log_dets);
    }
    Ok(all)
}

/// log det of every matrix of a block, and the first lane whose matrix is not positive definite.
pub(super) fn factorize_block(p: usize, block: &Block) -> (Vec<f64>, Option<usize>) {
    // A pivot below this share of its diagonal entry is rounding.
    let floor = p as f64 * f64::EPSILON;
    let lanes = block.lanes();
    let (mut pivots, mut smallest) = (vec![0.0; p * lanes], vec![0.0; lanes]);
    kernels::cholesky_pivots(p, &block.entries, lanes, floor, &mut pivots, &mut smallest);
    let mut log_dets = vec![0.0; lanes];
    kernels::sum_of_logs(&pivots, lanes, &mut log_dets);
    log_dets.truncate(block.matrices);
    // Written so that a share that is NaN does not pass either.
    let definite = |l: usize| smallest[l] > floor;
    let singular = (0..block.matrices).find(|&l| !definite(l));
    (log_dets, singular)
}

/// The smallest eigenvalue of the matrix in one lane.
pub(super) fn smallest_eigenvalue(p: usize, block: &Block, lane: usize) -> f64 {
    let mut entries = vec![0.0; p * p];
    block.unpack(p, lane, &mut entries);
    let eigenvalues = linalg::symmetric_eigenvalues(&Matrix::from_rows(p, p, entries));
    eigenvalues.map_or(f64::NAN, |values| values[0])
}

/// The complaint about a matrix of a set with that mean.
pub(super) fn not_positive_definite(mean: &Matrix, matrix: usize, eigenvalue: f64) -> Error {
    let rank = reduction::rank_of_mean(mean);
    Error::NotPositiveDefinite {
        matrix,
        eigenvalue,
        shared_rank: rank.filter(|&r| 0 < r && r < mean.rows()),
    }
}

/// Σ_i w_i Cⁱ.
pub(super) fn weighted_mean<B: Borrow<Block> + Sync>(
    p: usize,
    blocks: &[B],
    workers: &Workers,
) -> Matrix {
    let lanes = blocks.iter().map(|b| b.borrow().lanes()).sum();
    let groups = groups::deal(blocks.len(), lanes, p);
    let sums = workers.map(&groups, |_, range| {
        let mut sums = vec![0.0; packed_len(p)];
        for block in &blocks[range.clone()] {
            kernels::combine(&block.borrow().entries, &block.borrow().weights, &mut sums);
        }
        sums
    });
    let total = sums.into_iter().reduce(|mut total, sums| {
        groups::add_slices(&mut total, &sums);
        total
    });
    groups::symmetric(p, &total.expect("a set has at least one group"))
}
