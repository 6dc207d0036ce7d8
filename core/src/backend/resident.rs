//! Blocks in memory, in double or single precision, and sums over them on several threads.
//!
//! The partition of the blocks into groups depends only on the size of the set. Each group sums
//! over its blocks in order, and the sums of the groups are added in order. Threads share a Hessian
//! by its row blocks, each of which is summed over all blocks in order. Results are therefore
//! bitwise identical for any number of threads.

use std::sync::Arc;

use super::block_state::{BlockState, BlockView};
use super::cache_keys::CacheKeys;
use super::hessian::RowPrecision;
use super::request::{Request, Sums, Tables};
use super::task::Task;
use crate::Error;
use crate::data::{Block, Summary, groups};
use crate::linalg::Scalar;
use crate::linalg::kernels;
use crate::threads::Workers;

/// A precision in which blocks are stored.
pub(super) trait Precision: RowPrecision {
    type Block<T: Scalar>: Send + Sync;

    fn view<T: Scalar>(block: &Self::Block<T>) -> BlockView<'_, T, Self>;
}

impl Precision for f64 {
    type Block<T: Scalar> = Block<T>;

    fn view<T: Scalar>(block: &Block<T>) -> BlockView<'_, T> {
        BlockView::of(block)
    }
}

/// A block, with the data that it caches between requests.
pub(super) struct CachedBlock<T: Scalar, R: Precision> {
    pub original: Arc<R::Block<T>>,
    pub state: BlockState<R>,
}

/// The blocks of a set, in groups.
pub(super) struct Blocks<T: Scalar, R: Precision> {
    pub groups: Vec<Vec<CachedBlock<T, R>>>,
    pub cache_keys: CacheKeys<T>,
    pub workers: Workers,
    /// Sums of one group, for one thread.
    pub spare: Sums<T>,
}

impl<T: Scalar, R: Precision> Blocks<T, R> {
    pub fn new(blocks: Vec<Arc<R::Block<T>>>, summary: &Summary<T>, workers: Workers) -> Self {
        let lanes = blocks.iter().map(|block| R::view::<T>(block).weights.len());
        let groups = groups::partition_blocks::<T>(blocks.len(), lanes.sum(), summary.dimension());
        let mut blocks = blocks.into_iter().map(|original| CachedBlock {
            original,
            state: BlockState::default(),
        });
        let groups = groups.into_iter();
        Self {
            groups: groups
                .map(|range| blocks.by_ref().take(range.len()).collect())
                .collect(),
            cache_keys: CacheKeys::default(),
            workers,
            spare: Sums::default(),
        }
    }

    /// Whether no data are cached yet.
    pub fn is_new(&self) -> bool {
        self.cache_keys.is_empty()
    }

    /// Returns the approximate cost of a data pass, in multiply-adds at full speed. It determines
    /// whether several threads are worthwhile.
    pub fn cost(summary: &Summary<T>, task: &Task<'_, T>) -> usize {
        let (n, p, planes) = (summary.len, summary.dimension(), T::PLANES);
        if task.transforms() {
            planes * planes * n * p * p * p
        } else if task.reads_all_entries() {
            8 * planes * n * p * p
        } else {
            50 * n * p
        }
    }

    pub fn evaluate(
        &mut self,
        summary: &Summary<T>,
        request: &Request<T>,
        sums: &mut Sums<T>,
        constants: impl FnOnce() -> Vec<f64>,
    ) -> Result<(), Error> {
        let (p, criterion) = (summary.dimension(), summary.criterion);
        let cache_keys = std::mem::take(&mut self.cache_keys);
        let reuse = cache_keys.reuse(request);
        let mut task = Task::new(request, criterion, reuse).for_size(p);
        let wants_hessian = match request {
            Request::Point { hessian, .. } => *hessian,
            Request::Hessian { .. } => true,
            _ => false,
        };
        // Threads share the row blocks of the Hessian; the groups do not sum them.
        let by_rows = wants_hessian && !criterion.is_least_squares();
        task.with_hessian &= !by_rows;
        sums.begin_without_hessian(request, p);
        if task.with_hessian {
            sums.hessian.begin::<T>(p);
        }
        self.sum(summary, &task, sums)?;
        if by_rows {
            self.sum_hessian(summary, sums);
        }
        if let Request::Components { tables: true, .. } = request {
            sums.tables = Some(self.tables(summary, &task, constants()));
        }
        self.cache_keys = cache_keys;
        self.cache_keys.record(request, criterion, reuse);
        Ok(())
    }

    /// Sums over all blocks.
    fn sum(
        &mut self,
        summary: &Summary<T>,
        task: &Task<'_, T>,
        sums: &mut Sums<T>,
    ) -> Result<(), Error> {
        let (p, with_hessian) = (summary.dimension(), task.with_hessian);
        let cost = Self::cost(summary, task);
        let workers = self.workers.if_worthwhile(cost);
        let work = |group: &mut Vec<CachedBlock<T, R>>, sums: &mut Sums<T>| {
            for block in group {
                let view = R::view(&block.original);
                block.state.evaluate(&view, task, sums)?;
            }
            Ok::<(), Error>(())
        };
        let begin = |sums: &mut Sums<T>| {
            sums.begin_without_hessian(task.request, p);
            if with_hessian {
                sums.hessian.begin::<T>(p);
            }
        };
        let (first, others) = self.groups.split_first_mut().expect("a set has a group");
        if workers.count() == 1 {
            work(first, sums)?;
            for group in others {
                begin(&mut self.spare);
                work(group, &mut self.spare)?;
                sums.add(&self.spare, with_hessian);
            }
            return Ok(());
        }
        let mut parts: Vec<Sums<T>> = others.iter().map(|_| Sums::default()).collect();
        parts.iter_mut().for_each(begin);
        let mut slots: Vec<_> = std::iter::once((first, &mut *sums))
            .chain(others.iter_mut().zip(&mut parts))
            .map(|(group, sums)| (group, sums, Ok(())))
            .collect();
        workers.each(&mut slots, |(group, sums, result)| {
            *result = work(group, sums);
        });
        let results: Result<Vec<()>, Error> = slots.into_iter().map(|slot| slot.2).collect();
        results?;
        parts.iter().for_each(|part| sums.add(part, with_hessian));
        Ok(())
    }

    /// Sums the exact Hessian, shared among threads by its row blocks. Each number is summed over
    /// all blocks in order.
    fn sum_hessian(&mut self, summary: &Summary<T>, sums: &mut Sums<T>) {
        let (n, p, function) = (
            summary.len,
            summary.dimension(),
            summary.criterion.function(),
        );
        let cost = T::PLANES * T::PLANES * n * p * p * p;
        let workers = self.workers.if_worthwhile(cost);
        sums.hessian.set_workers(&self.workers);
        let rows = sums.hessian.unwritten::<T, R>(p);
        let groups = p.div_ceil(R::LANES);
        // Each task reads all matrices. Two per thread are enough to balance the load.
        let tasks = match workers.count() {
            1 => 1,
            count => groups.min(2 * count),
        };
        let groups_per_task = groups.div_ceil(tasks);
        let len = rows.len() / groups * groups_per_task;
        let mut tasks: Vec<_> = rows.chunks_mut(len).enumerate().collect();
        let blocks = &self.groups;
        workers.each(&mut tasks, |(task, rows)| {
            for (k, block) in blocks.iter().flatten().enumerate() {
                let (first, begins) = (*task * groups_per_task, k == 0);
                let (d, weights) = (
                    block.state.transformed(),
                    R::view::<T>(&block.original).weights,
                );
                kernels::accumulate_groups(function, p, d, weights, first, rows, begins);
            }
        });
    }

    fn tables(&self, summary: &Summary<T>, task: &Task<'_, T>, mut constants: Vec<f64>) -> Tables {
        let (n, p) = (summary.len, summary.dimension());
        let mut powers = vec![0.0; n * p];
        let (mut rows, mut rest) = (&mut powers[..], &mut constants[..]);
        for block in self.groups.iter().flatten() {
            let view = R::view(&block.original);
            let (own, others) = rows.split_at_mut(view.matrices * p);
            let (constants, others_constants) = rest.split_at_mut(view.matrices);
            block.state.write_tables(&view, task, own, constants);
            (rows, rest) = (others, others_constants);
        }
        Tables { powers, constants }
    }

    /// Calls `work` on each group, on several threads, and returns the results in order.
    pub fn each_group<S: Send>(
        &mut self,
        cost: usize,
        work: impl Fn(&mut Vec<CachedBlock<T, R>>) -> S + Sync + Send,
    ) -> Vec<S> {
        let workers = self.workers.if_worthwhile(cost);
        let mut slots: Vec<(&mut Vec<_>, Option<S>)> =
            self.groups.iter_mut().map(|group| (group, None)).collect();
        workers.each(&mut slots, |(group, result)| *result = Some(work(group)));
        let results = slots.into_iter().filter_map(|(_, result)| result);
        results.collect()
    }
}
