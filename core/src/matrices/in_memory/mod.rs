//! The working set whose matrices are all in memory, shared out among threads.

mod answers;
mod hessian;
mod pairs;

use std::sync::Arc;

use hessian::HessianSums;

use crate::linalg::kernels::{self, MomentSums};
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
    hessian: HessianSums<f32>,
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

impl InMemory {
    /// The set, nowhere yet: [`reset`](crate::working::WorkingSet::reset) comes before all that
    /// concerns D. At most that many threads are used, as many as pay if None.
    pub fn new(set: &MatrixSet, threads: Option<usize>) -> Self {
        let workers = Workers::new(threads, set.len(), set.dimension());
        let log_dets = Arc::clone(&set.log_dets);
        Self::of_blocks(set.blocks(), set.summary().clone(), log_dets, workers)
    }

    fn of_blocks(
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
                hessian: HessianSums::default(),
            }
        });
        Self {
            groups: groups.collect(),
            summary,
            log_dets,
            workers,
        }
    }

    fn dimension(&self) -> usize {
        self.summary.dimension()
    }

    fn blocks_mut(&mut self) -> impl Iterator<Item = &mut Moving> {
        self.groups.iter_mut().flat_map(|group| &mut group.blocks)
    }

    fn blocks(&self) -> impl Iterator<Item = &Moving> {
        self.groups.iter().flat_map(|group| &group.blocks)
    }

    /// Sums over the set what `work` makes of each group.
    fn sum<R: Send>(
        &mut self,
        work: impl Fn(&mut Group) -> R + Sync + Send,
        mut add: impl FnMut(&mut R, &R),
    ) -> R {
        let mut slots: Vec<(&mut Group, Option<R>)> =
            self.groups.iter_mut().map(|g| (g, None)).collect();
        self.workers
            .each(&mut slots, |(group, result)| *result = Some(work(group)));
        let mut results = slots.into_iter().filter_map(|(_, result)| result);
        let mut total = results.next().expect("a set has at least one group");
        results.for_each(|result| add(&mut total, &result));
        total
    }

    fn moments(&mut self, advance: Option<(f64, &[f64])>) -> Statistics {
        let p = self.dimension();
        let sums = self.sum(
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
