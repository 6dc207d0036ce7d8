//! The working set whose matrices are all in memory, shared out among threads.

mod answers;
mod pairs;

use std::sync::Arc;

use crate::linalg::kernels::{self, MomentSums};
use crate::matrices::build::weighted_mean;
use crate::matrices::recycled::Recycled;
use crate::matrices::{Block, MatrixSet, Summary, groups};
use crate::statistics::Statistics;
use crate::threads::Workers;

/// The matrices Dⁱ in memory.
///
/// Blocks are dealt out to groups by the set's size alone. A group sums over its blocks in order,
/// and the groups' sums are added in order: the same bits on one thread or many.
pub struct InMemory {
    summary: Summary,
    log_dets: Arc<[f64]>,
    groups: Vec<Group>,
    workers: Workers,
}

struct Group {
    blocks: Vec<Moving>,
    // Kept from sweep to sweep, so that none allocates.
    scratch: Vec<f64>,
    hessian: Vec<f64>,
}

/// A block of the set on its way.
struct Moving {
    original: Arc<Block>,
    /// 1 / s_i, once the matrices have been balanced.
    inverse_sizes: Vec<f64>,
    /// Dⁱ.
    entries: Recycled,
    /// E Dⁱ + (E Dⁱ)ᵀ of the probed direction.
    cross: Recycled,
    /// E Dⁱ Eᵀ of the probed direction.
    square: Recycled,
}

/// What a sweep does with each matrix: whether threads pay depends on it.
#[derive(Clone, Copy)]
enum Sweep {
    /// Products with p×p matrices.
    Products,
    /// A few operations on each entry.
    Entries,
    /// Divisions and logarithms of the diagonal.
    Diagonals,
    /// A few operations on two rows.
    Pair,
}

impl Sweep {
    /// The time it takes, in multiply-adds at full speed: rough figures, from the benches.
    fn multiply_adds(self, n: usize, p: usize) -> usize {
        match self {
            Self::Products => n * p * p * p,
            Self::Entries => 8 * n * p * p,
            Self::Diagonals => 50 * n * p,
            Self::Pair => 4 * n * p,
        }
    }
}

impl InMemory {
    /// The set, nowhere yet: [`reset`](crate::working::WorkingSet::reset) comes before all that
    /// concerns D.
    pub fn new(set: &MatrixSet) -> Self {
        let workers = Workers::new(set.threads, set.len(), set.dimension());
        let log_dets = Arc::clone(&set.log_dets);
        Self::of_blocks(set.blocks(), set.summary().clone(), log_dets, workers)
    }

    pub(super) fn of_blocks(
        blocks: &[Arc<Block>],
        summary: Summary,
        log_dets: Arc<[f64]>,
        workers: Workers,
    ) -> Self {
        let lanes = blocks.iter().map(|b| b.lanes()).sum();
        let groups = groups::deal(blocks.len(), lanes, summary.dimension());
        let groups = groups.into_iter().map(|range| {
            let blocks = blocks[range].iter().map(|original| Moving {
                original: Arc::clone(original),
                inverse_sizes: Vec::new(),
                entries: Recycled::default(),
                cross: Recycled::default(),
                square: Recycled::default(),
            });
            Group {
                blocks: blocks.collect(),
                scratch: Vec::new(),
                hessian: Vec::new(),
            }
        });
        Self {
            groups: groups.collect(),
            summary,
            log_dets,
            workers,
        }
    }

    pub(super) fn dimension(&self) -> usize {
        self.summary.dimension()
    }

    /// The blocks of the Cⁱ, in order.
    pub(super) fn originals(&self) -> impl Iterator<Item = &Block> {
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
        let places: Vec<(&Block, usize)> = places.map(|(_, place)| place).collect();
        let total: f64 = places.iter().map(|(b, lane)| b.weights[*lane]).sum();
        if total <= 0.0 {
            return None;
        }
        let blocks = places
            .chunks(Block::capacity(p))
            .map(|places| Block::pick(p, places, total));
        let blocks: Vec<Arc<Block>> = blocks.map(Arc::new).collect();
        let summary = Summary {
            criterion: self.summary.criterion,
            len: places.len(),
            mean: weighted_mean(p, &blocks, &self.workers),
            mean_log_det: 0.0,
            reduction: None,
        };
        let log_dets = vec![0.0; places.len()].into();
        let workers = self.workers.clone();
        Some((total, Self::of_blocks(&blocks, summary, log_dets, workers)))
    }

    fn blocks_mut(&mut self) -> impl Iterator<Item = &mut Moving> {
        self.groups.iter_mut().flat_map(|group| &mut group.blocks)
    }

    fn blocks(&self) -> impl Iterator<Item = &Moving> {
        self.groups.iter().flat_map(|group| &group.blocks)
    }

    /// Calls `work` on each group.
    fn each(&mut self, sweep: Sweep, work: impl Fn(&mut Group) + Sync + Send) {
        let cost = sweep.multiply_adds(self.summary.len, self.dimension());
        let workers = self.workers.if_worthwhile(cost);
        workers.each(&mut self.groups, work);
    }

    /// Sums over the set what `work` makes of each group.
    fn sum<R: Send>(
        &mut self,
        sweep: Sweep,
        work: impl Fn(&mut Group) -> R + Sync + Send,
        mut add: impl FnMut(&mut R, &R),
    ) -> R {
        let cost = sweep.multiply_adds(self.summary.len, self.dimension());
        let mut slots: Vec<(&mut Group, Option<R>)> =
            self.groups.iter_mut().map(|g| (g, None)).collect();
        self.workers
            .if_worthwhile(cost)
            .each(&mut slots, |(group, result)| *result = Some(work(group)));
        let mut results = slots.into_iter().filter_map(|(_, result)| result);
        let mut total = results.next().expect("a set has at least one group");
        results.for_each(|result| add(&mut total, &result));
        total
    }

    fn moments(&mut self, advance: Option<(f64, &[f64])>) -> Statistics {
        let p = self.dimension();
        let sums = self.sum(
            Sweep::Entries,
            |group| {
                let mut sums = MomentSums::new(p);
                for block in &mut group.blocks {
                    let weights = &block.original.weights;
                    if let Some((alpha, scale)) = advance {
                        let (cross, square) = (&block.cross, &block.square);
                        let lanes = weights.len();
                        kernels::advance(&mut block.entries, cross, square, lanes, alpha, scale);
                    }
                    let scratch = &mut group.scratch;
                    kernels::accumulate_moments(p, &block.entries, weights, &mut sums, scratch);
                }
                sums
            },
            MomentSums::add,
        );
        Statistics {
            gradient: sums.gradient,
            gamma: sums.gamma,
        }
    }
}
