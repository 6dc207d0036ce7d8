//! The working set whose matrices are all in memory, shared out among threads.

mod answers;
mod fitted;
mod hessian;
mod pairs;
mod single;
mod twins;

use std::sync::Arc;

use crate::Error;
use crate::criterion::Criterion;
use crate::linalg::kernels::{self, MomentSums};
use crate::linalg::{self, AlignedBuffer, Matrix, Scalar, SymmetricBatch};
use crate::matrices::build::{self, weighted_mean};
use crate::matrices::{Block, LinePoint, MatrixSet, SetOptions, Summary, groups};
use crate::statistics::Statistics;
use crate::threads::Workers;
use fitted::Fitted;
use single::SingleBlock;

/// The matrices Dⁱ in memory.
///
/// Blocks are dealt out to groups by the set's size alone. A group sums over its blocks in order,
/// and the groups' sums are added in order: the same bits on one thread or many.
///
/// ```
/// use codiag::working::{InMemory, WorkingSet};
/// use codiag::{Evaluation, Matrix, synthetic};
/// let set = synthetic::noisy(50, 4, 0.1, 0);
/// let mut working = InMemory::new(&set);
/// working.reset(&Matrix::identity(4))?;
/// let gradient = working.statistics()?.gradient;
/// assert_eq!(gradient, Evaluation::at(&set, &Matrix::identity(4))?.gradient);
/// # Ok::<(), codiag::Error>(())
/// ```
pub struct InMemory<T = f64> {
    summary: Summary<T>,
    constants: Arc<[f64]>,
    groups: Vec<Group<T>>,
    workers: Workers,
    /// For least squares: the fit where the set stands.
    fitted: Option<Fitted<T>>,
}

struct Group<T> {
    blocks: Vec<TransformedBlock<T>>,
    /// The matrices where the solver stands, if in single precision.
    single: Vec<SingleBlock<T>>,
    /// Kept from pass to pass, so that none allocates.
    hessian: AlignedBuffer,
}

/// A block of the set, and its matrices where the solver stands.
struct TransformedBlock<T> {
    original: Arc<Block<T>>,
    /// 1 / s_i, once the matrices have been balanced.
    inverse_sizes: Vec<f64>,
    /// Dⁱ, once the set stands somewhere.
    transformed: Option<SymmetricBatch<AlignedBuffer, T>>,
    /// What is known along the probed direction.
    line: Option<LineTables<T>>,
    /// For least squares: λⁱ, p rows of lanes.
    diagonals: Vec<f64>,
    /// Cⁱ A, once products of the exact Hessian have been asked for.
    products: Vec<f64>,
}

struct LineTables<T> {
    /// E Dⁱ + (E Dⁱ)ᴴ.
    cross: SymmetricBatch<AlignedBuffer, T>,
    /// E Dⁱ Eᴴ.
    square: SymmetricBatch<AlignedBuffer, T>,
}

impl<T: Scalar> TransformedBlock<T> {
    fn new(original: Arc<Block<T>>) -> Self {
        Self {
            original,
            inverse_sizes: Vec::new(),
            transformed: None,
            line: None,
            diagonals: Vec::new(),
            products: Vec::new(),
        }
    }

    /// Room for as many numbers as the block has, with multiples of the identity in lanes without a matrix.
    fn room(original: &Block<T>, identity: f64) -> SymmetricBatch<AlignedBuffer, T> {
        let mut room = SymmetricBatch::unwritten(original.size(), original.lanes());
        room.fill_from(original.matrices, identity);
        room
    }

    fn weights(&self) -> &[f64] {
        &self.original.weights
    }

    /// Dⁱ.
    fn d(&self) -> &SymmetricBatch<AlignedBuffer, T> {
        self.transformed.as_ref().expect("reset comes first")
    }

    /// The entries of Dⁱ, row after row.
    fn entries(&self) -> &[f64] {
        self.d().entries()
    }

    /// D ← B C Bᴴ.
    fn reset(&mut self, b: &Matrix<T>) {
        let original = &*self.original;
        let d = self
            .transformed
            .get_or_insert_with(|| Self::room(original, 1.0));
        let task = kernels::Congruence {
            transform: b,
            input: original.entries(),
            lanes: original.lanes(),
            matrices: original.matrices,
            square: d.entries_mut(),
            cross: None,
        };
        kernels::congruence(task);
    }

    /// Prepares D(α) for all α along `e`.
    fn probe(&mut self, e: &Matrix<T>) -> &LineTables<T> {
        let original = &*self.original;
        let line = self.line.get_or_insert_with(|| LineTables {
            cross: Self::room(original, 0.0),
            square: Self::room(original, 0.0),
        });
        let task = kernels::Congruence {
            transform: e,
            input: self
                .transformed
                .as_ref()
                .expect("reset comes first")
                .entries(),
            lanes: original.lanes(),
            matrices: original.matrices,
            square: line.square.entries_mut(),
            cross: Some(line.cross.entries_mut()),
        };
        kernels::congruence(task);
        line
    }

    /// D ← S D(α) S along the probed direction.
    fn advance(&mut self, alpha: f64, scale: &[f64]) {
        let line = self.line.as_ref().expect("probe comes first");
        let d = self.transformed.as_mut().expect("reset comes first");
        let (cross, square, lanes) = (line.cross.entries(), line.square.entries(), d.lanes());
        kernels::advance(d.entries_mut(), cross, square, lanes, alpha, scale);
    }

    /// The block's share of the point at α along the probed direction.
    fn line_point(&self, criterion: Criterion, alpha: f64) -> LinePoint {
        let line = self.line.as_ref().expect("probe comes first");
        let (p, d) = (self.original.size(), self.entries());
        let (cross, square) = (line.cross.entries(), line.square.entries());
        kernels::line_point(criterion, p, d, cross, square, self.weights(), alpha)
    }
}

/// What a pass does with each matrix: whether threads pay depends on it.
#[derive(Clone, Copy)]
enum Work {
    /// Products with p×p matrices.
    Products,
    /// A few operations on each entry.
    Entries,
    /// Divisions and logarithms of the diagonal.
    Diagonals,
    /// A few operations on three entries.
    PairSums,
    /// A few operations on the entries of two rows and columns.
    PairStep,
}

impl Work {
    /// The time it takes, in multiply-adds at full speed: rough figures, from the benches.
    fn multiply_adds(self, n: usize, p: usize, planes: usize) -> usize {
        match self {
            Self::Products => planes * planes * n * p * p * p,
            Self::Entries => 8 * planes * n * p * p,
            Self::Diagonals => 50 * n * p,
            Self::PairSums => 50 * planes * n,
            Self::PairStep => 8 * planes * n * p,
        }
    }
}

impl<T: Scalar> InMemory<T> {
    /// The set, nowhere yet: [`reset`](crate::working::WorkingSet::reset) comes before all that
    /// concerns D.
    pub fn new(set: &MatrixSet<T>) -> Self {
        let work = set.len() * T::PLANES.pow(2);
        let workers = Workers::new(set.threads, work, set.dimension());
        let constants = Arc::clone(&set.constants);
        Self::of_blocks(set.blocks(), set.summary().clone(), constants, workers)
    }

    pub(super) fn of_blocks(
        blocks: &[Arc<Block<T>>],
        summary: Summary<T>,
        constants: Arc<[f64]>,
        workers: Workers,
    ) -> Self {
        let lanes = blocks.iter().map(|b| b.lanes()).sum();
        let groups = groups::deal::<T>(blocks.len(), lanes, summary.dimension());
        let groups = groups.into_iter().map(|range| {
            let blocks = blocks[range].iter().map(Arc::clone);
            let blocks = blocks.map(TransformedBlock::new);
            Group {
                blocks: blocks.collect(),
                single: Vec::new(),
                hessian: AlignedBuffer::default(),
            }
        });
        Self {
            groups: groups.collect(),
            summary,
            constants,
            workers,
            fitted: None,
        }
    }

    /// Whether the matrices stand where they are in single precision.
    fn is_single(&self) -> bool {
        self.groups.iter().any(|group| !group.single.is_empty())
    }

    /// What matrices in single precision are multiples of: a power of two near the norm of the matrices, so that their
    /// squares stay within the range of single precision. The likelihood, whose sums are of ratios, needs none.
    fn unit(&self) -> f64 {
        match self.summary.criterion {
            Criterion::Likelihood => 1.0,
            _ => linalg::power_of_two_below(self.summary.constant.sqrt()),
        }
    }

    /// The unit of the matrices in single precision; 1 if they are in double precision.
    fn single_unit(&self) -> f64 {
        if self.is_single() { self.unit() } else { 1.0 }
    }

    /// Whether no component has so much less power than another, in any matrix, that the digits of single precision
    /// would not do.
    fn is_narrow(&mut self) -> bool {
        let p = self.dimension();
        let work = |group: &mut Group<T>| {
            if group.single.is_empty() {
                let mut blocks = group.blocks.iter();
                blocks.all(|block| single::will_do(p, block.entries(), block.original.lanes()))
            } else {
                group.single.iter().all(SingleBlock::will_do)
            }
        };
        self.sum(Work::Diagonals, work, |all, group| *all &= *group)
    }

    pub(super) fn dimension(&self) -> usize {
        self.summary.dimension()
    }

    /// The blocks of the Cⁱ, in order.
    pub(super) fn originals(&self) -> impl Iterator<Item = &Block<T>> {
        self.blocks().map(|block| &*block.original)
    }

    /// The chosen matrices as a set of their own, whose weights sum to 1 again, and what they summed
    /// to before; None if that is zero.
    pub fn sample_of(&self, chosen: impl Fn(usize) -> bool) -> Option<(f64, Self)> {
        let p = self.dimension();
        let places = self.originals().flat_map(|block| {
            let lanes = 0..block.matrices;
            lanes.map(move |lane| (block, lane))
        });
        let places = places.enumerate().filter(|(i, _)| chosen(*i));
        let places: Vec<(&Block<T>, usize)> = places.map(|(_, place)| place).collect();
        let total: f64 = places.iter().map(|(b, lane)| b.weights[*lane]).sum();
        if total <= 0.0 {
            return None;
        }
        let places_of_blocks: Vec<_> = places.chunks(Block::<T>::capacity(p)).collect();
        let pick = |_, places: &&[_]| Arc::new(Block::pick(p, places, total));
        let cost = Work::Entries.multiply_adds(places.len(), p, T::PLANES);
        let workers = self.workers.if_worthwhile(cost);
        let blocks = workers.map(&places_of_blocks, pick);
        let summary = Summary {
            criterion: self.summary.criterion,
            len: places.len(),
            mean: weighted_mean(p, &blocks, &self.workers),
            constant: 0.0,
            reduction: None,
        };
        let constants = vec![0.0; places.len()].into();
        let workers = self.workers.clone();
        Some((total, Self::of_blocks(&blocks, summary, constants, workers)))
    }

    /// The set of some matrices of another, row after row, whose weights sum to 1; their determinants are not
    /// known.
    pub(crate) fn of_sample(
        criterion: Criterion,
        p: usize,
        data: &[T],
        weights: &[f64],
        threads: Option<usize>,
    ) -> Result<Self, Error> {
        let options = SetOptions::default().criterion(criterion).threads(threads);
        let mut blocks = build::gather(data, p, 0, &options)?;
        build::deal_out(weights, &mut blocks);
        let workers = Workers::new(threads, weights.len() * T::PLANES.pow(2), p);
        let summary = Summary {
            criterion,
            len: weights.len(),
            mean: weighted_mean(p, &blocks, &workers),
            constant: 0.0,
            reduction: None,
        };
        let blocks: Vec<Arc<Block<T>>> = blocks.into_iter().map(Arc::new).collect();
        let constants = vec![0.0; weights.len()].into();
        Ok(Self::of_blocks(&blocks, summary, constants, workers))
    }

    fn blocks(&self) -> impl Iterator<Item = &TransformedBlock<T>> {
        self.groups.iter().flat_map(|group| &group.blocks)
    }

    /// Calls `work` on each group.
    fn each(&mut self, kind: Work, work: impl Fn(&mut Group<T>) + Sync + Send) {
        let cost = kind.multiply_adds(self.summary.len, self.dimension(), T::PLANES);
        let workers = self.workers.if_worthwhile(cost);
        workers.each(&mut self.groups, work);
    }

    /// Sums over the set what `work` makes of each group.
    fn sum<R: Send>(
        &mut self,
        kind: Work,
        work: impl Fn(&mut Group<T>) -> R + Sync + Send,
        mut add: impl FnMut(&mut R, &R),
    ) -> R {
        let cost = kind.multiply_adds(self.summary.len, self.dimension(), T::PLANES);
        let workers = self.workers.if_worthwhile(cost);
        if workers.count() == 1 {
            // The same without room for results that wait for each other.
            let (first, others) = self.groups.split_first_mut().expect("a set has a group");
            let mut total = work(first);
            others
                .iter_mut()
                .for_each(|group| add(&mut total, &work(group)));
            return total;
        }
        let mut slots: Vec<(&mut Group<T>, Option<R>)> =
            self.groups.iter_mut().map(|g| (g, None)).collect();
        workers.each(&mut slots, |(group, result)| *result = Some(work(group)));
        let mut results = slots.into_iter().filter_map(|(_, result)| result);
        let mut total = results.next().expect("a set has at least one group");
        results.for_each(|result| add(&mut total, &result));
        total
    }

    fn moments(&mut self, advance: Option<(f64, &[f64])>) -> Statistics<T> {
        let (p, criterion) = (self.dimension(), self.summary.criterion);
        let squared_unit = self.single_unit().powi(2);
        let mut sums = self.sum(
            Work::Entries,
            |group| {
                let mut sums = MomentSums::new(p);
                for block in &mut group.single {
                    if let Some((alpha, scale)) = advance {
                        block.advance(alpha, scale);
                    }
                    block.add_moments(criterion, &mut sums);
                }
                if !group.single.is_empty() {
                    return sums;
                }
                for block in &mut group.blocks {
                    if let Some((alpha, scale)) = advance {
                        block.advance(alpha, scale);
                    }
                    let (entries, weights) = (block.entries(), block.weights());
                    kernels::accumulate_moments(criterion, p, entries, weights, &mut sums);
                }
                sums
            },
            MomentSums::add,
        );
        if squared_unit != 1.0 {
            sums.gradient = sums.gradient.scaled(squared_unit);
            sums.gamma = sums.gamma.scaled(squared_unit);
        }
        Statistics::new(criterion, sums.gradient, sums.gamma)
    }
}
