//! The input: a checked set of positive definite matrices, in blocks.

mod blocks;
mod in_memory;
mod options;
mod reduction;
mod working_set;

pub use blocks::Block;
pub use in_memory::InMemory;
pub use options::{Rank, SetOptions};
pub use reduction::Reduction;
pub use working_set::{Probe, WorkingSet};

use crate::Error;
use crate::linalg::kernels::{self, LANES, packed, packed_len};
use crate::linalg::{self, MatRef, Matrix};
use crate::threads::Workers;

/// A set of n positive definite p×p matrices, checked once and for all.
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
/// let weighted = SetOptions { weights: Some(vec![2.0, 1.0]), ..SetOptions::default() };
/// let set = MatrixSet::from_matrices(2, data.chunks_exact(4), &weighted)?;
/// assert!((set.weights()[0] - 2.0 / 3.0).abs() < 1e-15);
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct MatrixSet {
    dimension: usize,
    blocks: Vec<Block>,
    weights: Vec<f64>,
    mean: Matrix,
    log_dets: Vec<f64>,
    reduction: Option<Reduction>,
}

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
        options.check(n)?;
        let capacity = Block::capacity(p);
        let chunks: Vec<&[f64]> = data.chunks(capacity * p * p).collect();
        let workers = Workers::new(options.threads, n, p);
        let blocks = workers.map(&chunks, |k, chunk| {
            let matrices: Vec<&[f64]> = chunk.chunks_exact(p * p).collect();
            Block::gather(p, &matrices, k * capacity, options.shrinkage)
        });
        // Whoever finds them, the first of the errors is reported.
        let blocks: Result<Vec<Block>, Error> = blocks.into_iter().collect();
        Self::from_blocks(p, blocks?, options)
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
        let mut rest = &weights[..];
        for block in &mut blocks {
            let (own, others) = rest.split_at(block.matrices);
            block.weights[..own.len()].copy_from_slice(own);
            rest = others;
        }
        let mut set = Self {
            dimension: p,
            mean: weighted_mean(p, &blocks),
            blocks,
            weights,
            log_dets: Vec::new(),
            reduction: None,
        };
        set.check_range()?;
        if options.rank != Rank::Full {
            set.reduce(options.rank)?;
        }
        set.factorize(&Workers::new(options.threads, n, p))?;
        Ok(set)
    }

    /// Beyond this range products of filters and entries may overflow or vanish. (A power of zero
    /// or below is for the factorisations to report.)
    fn check_range(&self) -> Result<(), Error> {
        let powers = (0..self.dimension).map(|a| self.mean[(a, a)]);
        let outside = |power: &f64| *power > 0.0 && !(1e-250..=1e250).contains(power);
        match powers.into_iter().find(outside) {
            Some(power) => Err(Error::Range { power }),
            None => Ok(()),
        }
    }

    fn reduce(&mut self, rank: Rank) -> Result<(), Error> {
        let p = self.dimension;
        if let Rank::Exactly(r) = rank
            && (r == 0 || r > p)
        {
            return Err(Error::Setting {
                name: "rank",
                expected: "\"full\", \"auto\" or a number from 1 to p",
                value: r.to_string(),
            });
        }
        let reduction = Reduction::of_mean(&self.mean, rank)?;
        let mut scratch = Vec::new();
        for block in &mut self.blocks {
            let mut entries = vec![0.0; packed_len(reduction.rank()) * block.lanes()];
            kernels::congruence(
                kernels::Congruence {
                    transform: reduction.filters(),
                    input: &block.entries,
                    lanes: block.lanes(),
                    square: &mut entries,
                    cross: None,
                },
                &mut scratch,
            );
            block.entries = entries;
        }
        self.dimension = reduction.rank();
        self.mean = weighted_mean(self.dimension, &self.blocks);
        self.reduction = Some(reduction);
        Ok(())
    }

    /// log det of every matrix, or the first that is not positive definite.
    fn factorize(&mut self, workers: &Workers) -> Result<(), Error> {
        let p = self.dimension;
        // A pivot below this share of its diagonal entry is rounding.
        let floor = p as f64 * f64::EPSILON;
        let factorized = workers.map(&self.blocks, |_, block| {
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
        });
        let mut first = 0;
        for (block, (log_dets, singular)) in self.blocks.iter().zip(factorized) {
            if let Some(lane) = singular {
                return Err(self.not_positive_definite(block, lane, first + lane));
            }
            first += block.matrices;
            self.log_dets.extend(log_dets);
        }
        Ok(())
    }

    fn not_positive_definite(&self, block: &Block, lane: usize, matrix: usize) -> Error {
        let p = self.dimension;
        let mut entries = vec![0.0; p * p];
        block.unpack(p, lane, &mut entries);
        let eigenvalues = linalg::symmetric_eigenvalues(&Matrix::from_rows(p, p, entries));
        let rank = reduction::rank_of_mean(&self.mean);
        Error::NotPositiveDefinite {
            matrix,
            eigenvalue: eigenvalues.map_or(f64::NAN, |values| values[0]),
            shared_rank: rank.filter(|&r| 0 < r && r < p),
        }
    }

    /// The number of matrices.
    #[allow(clippy::len_without_is_empty)] // a set is never empty
    pub fn len(&self) -> usize {
        self.weights.len()
    }

    /// The dimension in which the set is diagonalised: p, or the rank it was reduced to.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// The size p of the matrices as they were given.
    pub fn channels(&self) -> usize {
        self.reduction
            .as_ref()
            .map_or(self.dimension, Reduction::channels)
    }

    /// The weights, which sum to 1.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// The weighted mean of the (reduced) matrices.
    pub fn mean(&self) -> &Matrix {
        &self.mean
    }

    /// log det of each (reduced) matrix.
    pub fn log_dets(&self) -> &[f64] {
        &self.log_dets
    }

    /// How the set was reduced, if it was.
    pub fn reduction(&self) -> Option<&Reduction> {
        self.reduction.as_ref()
    }

    /// Σ_i w_i log det Cⁱ.
    pub fn mean_log_det(&self) -> f64 {
        linalg::dot(&self.weights, &self.log_dets)
    }

    /// The blocks, in order.
    pub(crate) fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// The bytes that the set's numbers take.
    pub(crate) fn bytes(&self) -> usize {
        self.blocks.iter().map(|b| b.entries.len() * 8).sum()
    }

    /// Matrix `i` of the (reduced) set.
    ///
    /// # Panics
    /// If there is no such matrix.
    pub fn matrix(&self, i: usize) -> Matrix {
        assert!(i < self.len(), "there is no matrix {i}");
        let capacity = Block::capacity(self.channels());
        let p = self.dimension;
        let mut entries = vec![0.0; p * p];
        self.blocks[i / capacity].unpack(p, i % capacity, &mut entries);
        Matrix::from_rows(p, p, entries)
    }

    /// B Cⁱ Bᵀ for all i, row-major one after the other, for B as the answers give it.
    ///
    /// # Panics
    /// If B does not have one column a channel.
    pub fn transform(&self, b: &Matrix) -> Vec<f64> {
        assert_eq!(b.columns(), self.channels(), "B has one column a channel");
        let inner = self.to_reduced(b);
        let r = inner.rows();
        let mut out = vec![0.0; self.len() * r * r];
        let (mut scratch, mut rest) = (Vec::new(), &mut out[..]);
        for block in &self.blocks {
            let mut result = Block {
                entries: vec![0.0; packed_len(r) * block.lanes()],
                weights: block.weights.clone(),
                matrices: block.matrices,
            };
            kernels::congruence(
                kernels::Congruence {
                    transform: &inner,
                    input: &block.entries,
                    lanes: block.lanes(),
                    square: &mut result.entries,
                    cross: None,
                },
                &mut scratch,
            );
            let (own, others) = rest.split_at_mut(block.matrices * r * r);
            for (lane, matrix) in own.chunks_exact_mut(r * r).enumerate() {
                result.unpack(r, lane, matrix);
            }
            rest = others;
        }
        out
    }

    /// From a matrix that acts on the channels to one that acts on the reduced dimensions.
    pub(crate) fn to_reduced(&self, b: &Matrix) -> Matrix {
        match &self.reduction {
            Some(reduction) => linalg::product(b, reduction.patterns()),
            None => b.clone(),
        }
    }

    /// 1 / s_i for the sizes s_i = ⟨Cⁱ, S⟩ / p of the matrices in the metric of a positive
    /// definite S.
    pub(crate) fn inverse_sizes(&self, metric: &Matrix) -> Vec<f64> {
        let p = self.dimension;
        // The first of eight; the others stay zero.
        let mut eight = vec![0.0; packed_len(p) * LANES];
        for a in 0..p {
            for b in 0..=a {
                eight[packed(a, b) * LANES] = metric[(a, b)];
            }
        }
        let entries = inner_product_entries(&eight, p);
        let mut inverse_sizes = Vec::with_capacity(self.len());
        for block in &self.blocks {
            let mut products = vec![0.0; LANES * block.lanes()];
            kernels::correlate_eight(&block.entries, &entries, &mut products);
            inverse_sizes.extend(products[..block.matrices].iter().map(|s| p as f64 / s));
        }
        inverse_sizes
    }

    /// Σ_i w_i f_i Cⁱ.
    pub(crate) fn combination(&self, factors: &[f64]) -> Matrix {
        let p = self.dimension;
        let (mut sums, mut rest) = (vec![0.0; packed_len(p)], factors);
        for block in &self.blocks {
            let (own, others) = rest.split_at(block.matrices);
            rest = others;
            let mut coefficients = block.weights.clone();
            coefficients.iter_mut().zip(own).for_each(|(w, f)| *w *= f);
            kernels::combine(&block.entries, &coefficients, &mut sums);
        }
        Matrix::from_fn(p, p, |a, b| sums[packed(a, b)])
    }

    /// Every `step`-th matrix, its weights summing to 1 again; None if these are all zero. The
    /// determinants are not carried along: losses on this set lack a constant.
    pub(crate) fn every(&self, step: usize) -> Option<Self> {
        let p = self.dimension;
        let capacity = Block::capacity(self.channels());
        let chosen: Vec<usize> = (0..self.len()).step_by(step).collect();
        let total: f64 = chosen.iter().map(|&i| self.weights[i]).sum();
        if total <= 0.0 {
            return None;
        }
        let weights: Vec<f64> = chosen.iter().map(|&i| self.weights[i] / total).collect();
        let blocks: Vec<Block> = chosen
            .chunks(Block::capacity(p))
            .zip(weights.chunks(Block::capacity(p)))
            .map(|(chosen, weights)| {
                let places = chosen
                    .iter()
                    .map(|i| (&self.blocks[i / capacity], i % capacity));
                Block::pick(p, places, weights)
            })
            .collect();
        Some(Self {
            dimension: p,
            mean: weighted_mean(p, &blocks),
            blocks,
            log_dets: vec![0.0; weights.len()],
            weights,
            reduction: None,
        })
    }

    /// Σ_i w_i f_i² ⟨Cⁱ, S⟩ Cⁱ for eight symmetric S at once, packed as a block of eight.
    pub(crate) fn correlate(&self, eight: &[f64], factors: &[f64], workers: &Workers) -> Vec<f64> {
        let entries = inner_product_entries(eight, self.dimension);
        // Groups by the set's size alone, summed in order: the same bits on any number of threads.
        let size = self.blocks.len().div_ceil(CORRELATE_GROUPS);
        let groups: Vec<&[Block]> = self.blocks.chunks(size).collect();
        let capacity = Block::capacity(self.channels());
        let parts = workers.map(&groups, |g, blocks| {
            let mut sums = vec![0.0; eight.len()];
            let (mut products, mut coefficients) = (Vec::new(), Vec::new());
            for (k, block) in blocks.iter().enumerate() {
                let lanes = block.lanes();
                let own = &factors[(g * size + k) * capacity..][..block.matrices];
                products.resize(LANES * lanes, 0.0);
                kernels::correlate_eight(&block.entries, &entries, &mut products);
                coefficients.clear();
                coefficients.resize(lanes * LANES, 0.0);
                let rows = coefficients.chunks_exact_mut(LANES);
                for (i, (row, f)) in rows.zip(own).enumerate() {
                    let weight = block.weights[i] * f * f;
                    for (k, x) in row.iter_mut().enumerate() {
                        *x = weight * products[k * lanes + i];
                    }
                }
                kernels::combine_eight(&block.entries, &coefficients, &mut sums);
            }
            sums
        });
        let mut parts = parts.into_iter();
        let mut total = parts.next().unwrap_or_default();
        for part in parts {
            linalg::add_multiple(&mut total, 1.0, &part);
        }
        total
    }
}

/// Into how many groups blocks are dealt out for [`MatrixSet::correlate`].
const CORRELATE_GROUPS: usize = 16;

/// A block of eight symmetric matrices as eight rows, such that the product of a row with a packed
/// matrix is their inner product: entries off the diagonal count twice.
fn inner_product_entries(eight: &[f64], p: usize) -> Vec<f64> {
    let rows = packed_len(p);
    let mut entries = vec![0.0; eight.len()];
    for a in 0..p {
        for b in 0..=a {
            let (row, times) = (packed(a, b), if a == b { 1.0 } else { 2.0 });
            for k in 0..LANES {
                entries[k * rows + row] = times * eight[row * LANES + k];
            }
        }
    }
    entries
}

fn weighted_mean(p: usize, blocks: &[Block]) -> Matrix {
    let mut sums = vec![0.0; packed_len(p)];
    for block in blocks {
        kernels::combine(&block.entries, &block.weights, &mut sums);
    }
    Matrix::from_fn(p, p, |a, b| sums[packed(a, b)])
}
