//! The backend whose matrices are all in memory, shared among threads.
//!
//! Blocks are assigned to groups by the size of the set alone. A group sums over its blocks in order,
//! and the sums of the groups are added in order: the same bits on one thread or many. Hessians are
//! shared among threads by their row blocks instead, each of which is summed over all blocks in order.

use std::sync::Arc;

use super::block_state::{BlockState, Kept, Task, View};
use super::hessian::RowPrecision;
use super::request::{Request, Sums, Tables};
use super::{Backend, Capabilities, Pairs};
use crate::Error;
use crate::data::{Block, Criterion, MatrixSet, Summary, groups, needs};
use crate::linalg::kernels::{self, Real};
use crate::linalg::{self, Matrix, Scalar, Triangle};
use crate::memory::count_that_fits;
use crate::threads::Workers;
use crate::tuning::TUNING;

/// Matrices in memory.
///
/// ```
/// use codiag::backend::InMemory;
/// use codiag::{Matrix, Record, Settings, diagonalize_with_backend, synthetic};
/// use std::ops::ControlFlow;
/// let mut set = InMemory::new(&synthetic::noisy(50, 4, 0.1, 0));
/// let mut observer = |_: &Record, _: &Matrix| ControlFlow::Continue(());
/// let result = diagonalize_with_backend(&mut set, &Settings::default(), &mut observer)?;
/// assert!(result.status.converged());
/// # Ok::<(), codiag::Error>(())
/// ```
pub struct InMemory<T: Scalar = f64> {
    set: MatrixSet<T>,
    pub(super) summary: Summary<T>,
    blocks: Blocks<T, f64>,
}

impl<T: Scalar> InMemory<T> {
    /// The matrices of a set, which are shared with it.
    pub fn new(set: &MatrixSet<T>) -> Self {
        let work = set.len() * T::PLANES.pow(2);
        Self::with_workers(set, Workers::new(set.threads(), work, set.dimension()))
    }

    /// A set that is worked on by these threads.
    pub(crate) fn with_workers(set: &MatrixSet<T>, workers: Workers) -> Self {
        let summary = set.summary().clone();
        let blocks = set.blocks().iter().map(Arc::clone).collect();
        Self {
            blocks: Blocks::new(blocks, &summary, workers),
            summary,
            set: set.clone(),
        }
    }

    /// The set of matrices.
    pub(crate) fn set(&self) -> &MatrixSet<T> {
        &self.set
    }

    pub(super) fn dimension(&self) -> usize {
        self.summary.dimension()
    }

    /// How many threads are best used by several solves of the set, with one thread each, instead of
    /// within one solve; no more than there is memory for.
    pub(crate) fn concurrent_solves(&self) -> usize {
        let (n, p) = (self.summary.len, self.dimension());
        if T::PLANES * T::PLANES * n * p * p * p < TUNING.parallel_passes_from {
            count_that_fits(self.blocks.workers.count(), needs::of_solve::<T>(n, p))
        } else {
            1
        }
    }

    /// Sums over the transformed matrices what `work` makes of the entries and weights of each block,
    /// at a cost of so many multiply-adds per matrix.
    pub(super) fn sum_transformed<S: Send>(
        &mut self,
        cost: usize,
        work: impl Fn(&mut [f64], &[f64], usize) -> S + Sync + Send,
        mut add: impl FnMut(&mut S, &S),
    ) -> S {
        let cost = T::PLANES * self.summary.len * cost;
        let results = self.blocks.each_group(cost, |group| {
            let one = |block: &mut Resident<T, f64>| {
                let original = Arc::clone(&block.original);
                let d = block.state.transformed_mut();
                work(d, &original.weights, original.matrices)
            };
            group.iter_mut().map(one).collect::<Vec<S>>()
        });
        let mut results = results.into_iter().flatten();
        let mut total = results.next().expect("a set has a block");
        results.for_each(|part| add(&mut total, &part));
        total
    }

    /// The transformed matrices have been moved to B pair by pair.
    pub(super) fn move_to(&mut self, b: Matrix<T>) {
        self.blocks.kept.move_to(b);
    }

    /// Whether single precision suffices for the transformed matrices: for a logarithm, the powers of
    /// the components of each matrix must not be too different.
    fn suits_single_precision(&mut self) -> bool {
        let p = self.dimension();
        if self.summary.criterion != Criterion::Likelihood {
            return true;
        }
        let results = self.blocks.each_group(0, |group| {
            let mut blocks = group.iter();
            blocks.all(|block| {
                let lanes = block.original.lanes();
                powers_are_similar(p, block.state.transformed(), lanes)
            })
        });
        results.into_iter().all(|suits| suits)
    }
}

/// Whether the powers of each matrix differ by no more than single precision can tell.
fn powers_are_similar(p: usize, entries: &[f64], lanes: usize) -> bool {
    let triangle = Triangle::new(p);
    let diagonal = |a: usize| &entries[triangle.diagonal(a) * lanes..][..lanes];
    let (mut least, mut most) = (diagonal(0).to_vec(), diagonal(0).to_vec());
    for a in 1..p {
        for ((x, least), most) in diagonal(a).iter().zip(&mut least).zip(&mut most) {
            *least = least.min(*x);
            *most = most.max(*x);
        }
    }
    // False for NaN.
    let mut ranges = least.iter().zip(&most);
    ranges.all(|(least, most)| TUNING.single_max_power_ratio * least > *most)
}

impl<T: Scalar> Backend<T> for InMemory<T> {
    fn summary(&self) -> &Summary<T> {
        &self.summary
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
    }

    fn evaluate(&mut self, request: &Request<T>, sums: &mut Sums<T>) -> Result<(), Error> {
        if self.blocks.is_new() && request.point().is_some() {
            needs::check_blocks::<T>(self.summary.len, self.dimension())?;
        }
        self.blocks.evaluate(&self.summary, request, sums, || {
            self.set.constants().to_vec()
        })
    }

    fn sample(&mut self, step: usize) -> Result<Option<Box<dyn Backend<T> + '_>>, Error> {
        let sample = self.set.sample(|i| i.is_multiple_of(step));
        Ok(sample.map(|(_, sample)| Box::new(Self::new(&sample)) as Box<dyn Backend<T>>))
    }

    fn in_single_precision(&mut self, b: &Matrix<T>) -> Result<Option<Box<dyn Backend<T>>>, Error> {
        let p = self.dimension();
        if self.summary.criterion.is_least_squares() || p < TUNING.single_min_p {
            return Ok(None);
        }
        // A request that transforms the matrices and sums next to nothing, if they are not there yet.
        let transformed = Request::Hessian { b: b.clone() };
        let reuse = self.blocks.kept.reuse(&transformed);
        let task = Task::new(&transformed, self.summary.criterion, reuse);
        let cost = Blocks::<T, f64>::cost(&self.summary, &task);
        self.blocks.each_group(cost, |group| {
            for block in group {
                let original = Arc::clone(&block.original);
                block.state.bring(&View::of(&original), &task);
            }
        });
        self.blocks
            .kept
            .set(&transformed, self.summary.criterion, reuse);
        if !self.suits_single_precision() {
            return Ok(None);
        }
        let summary = &self.summary;
        let (unit, constant) = if summary.criterion == Criterion::Likelihood {
            // Losses are those of the whole B.
            (1.0, summary.constant + 2.0 * linalg::log_abs_det(b))
        } else {
            // A power of two, so that squares stay within the range of single precision.
            let unit = linalg::power_of_two_below(summary.constant.sqrt());
            (unit, summary.constant / (unit * unit))
        };
        let half = linalg::product(b, &summary.mean);
        let single = Summary {
            criterion: summary.criterion,
            len: summary.len,
            mean: linalg::product_adjoint(&half, b).scaled(1.0 / unit),
            constant,
            reduction: None,
        };
        let round =
            |block: &Resident<T, f64>| rounded(&block.original, block.state.transformed(), unit);
        let groups = self.blocks.groups.iter();
        let groups = groups.map(|group| group.iter().map(round).collect());
        let mut kept = Kept::default();
        kept.begin_at(Matrix::identity(p));
        Ok(Some(Box::new(InSinglePrecision {
            blocks: Blocks {
                groups: groups.collect(),
                kept,
                workers: self.blocks.workers.clone(),
                spare: Sums::default(),
            },
            summary: single,
        })))
    }

    fn pairs(&mut self, b: &Matrix<T>) -> Result<Option<&mut dyn Pairs<T>>, Error> {
        let request = Request::Hessian { b: b.clone() };
        if !self.blocks.kept.reuse(&request).is_at_point() {
            let point = Request::Point {
                b: b.clone(),
                update: None,
                hessian: false,
            };
            self.evaluate(&point, &mut Sums::default())?;
        }
        Ok(Some(self))
    }

    fn as_in_memory(&self) -> Option<&InMemory<T>> {
        Some(self)
    }
}

/// Matrices in single precision.
struct InSinglePrecision<T: Scalar> {
    summary: Summary<T>,
    blocks: Blocks<T, f32>,
}

impl<T: Scalar> Backend<T> for InSinglePrecision<T> {
    fn summary(&self) -> &Summary<T> {
        &self.summary
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            // Rounding errors of the matrices are independent: most of them cancel in a sum.
            epsilon: f64::from(f32::EPSILON) / 16.0,
            ..Capabilities::default()
        }
    }

    fn evaluate(&mut self, request: &Request<T>, sums: &mut Sums<T>) -> Result<(), Error> {
        self.blocks.evaluate(&self.summary, request, sums, Vec::new)
    }

    fn sample(&mut self, _: usize) -> Result<Option<Box<dyn Backend<T> + '_>>, Error> {
        Ok(None)
    }
}

/// A precision in which blocks are kept.
trait Precision: RowPrecision {
    type Block<T: Scalar>: Send + Sync;

    fn view<T: Scalar>(block: &Self::Block<T>) -> View<'_, T, Self>;
}

impl Precision for f64 {
    type Block<T: Scalar> = Block<T>;

    fn view<T: Scalar>(block: &Block<T>) -> View<'_, T> {
        View::of(block)
    }
}

impl Precision for f32 {
    type Block<T: Scalar> = SingleBlock;

    fn view<T: Scalar>(block: &SingleBlock) -> View<'_, T, f32> {
        View {
            p: block.p,
            // Points are reached by updates from the identity alone.
            entries: &[],
            weights: &block.weights,
            matrices: block.matrices,
            block: None,
        }
    }
}

/// A block of matrices in single precision, which are kept in its state alone.
struct SingleBlock {
    p: usize,
    weights: Vec<f64>,
    matrices: usize,
}

/// The transformed matrices of a block in single precision, divided by `unit`, a power of two.
fn rounded<T: Scalar>(block: &Block<T>, transformed: &[f64], unit: f64) -> Resident<T, f32> {
    let (p, matrices) = (block.size(), block.matrices);
    let lanes = block.lanes().next_multiple_of(f32::LANES);
    let mut weights = block.weights.clone();
    weights.resize(lanes, 0.0);
    let original = SingleBlock {
        p,
        weights,
        matrices,
    };
    let mut state = BlockState::default();
    let entries = state.room_for_transformed(&f32::view::<T>(&original));
    let mut rows = entries
        .chunks_exact_mut(lanes)
        .zip(transformed.chunks_exact(block.lanes()));
    let inverse = 1.0 / unit;
    kernels::dispatch(
        #[inline(always)]
        || {
            for (row, numbers) in rows.by_ref() {
                let pairs = row[..matrices].iter_mut().zip(numbers);
                pairs.for_each(|(place, x)| *place = f32::rounded(*x * inverse));
            }
        },
    );
    let original = Arc::new(original);
    Resident { original, state }
}

/// A block, and what it keeps between requests.
struct Resident<T: Scalar, R: Precision> {
    original: Arc<R::Block<T>>,
    state: BlockState<R>,
}

/// The blocks of a set, in groups.
struct Blocks<T: Scalar, R: Precision> {
    groups: Vec<Vec<Resident<T, R>>>,
    kept: Kept<T>,
    workers: Workers,
    /// Sums of one group, for one thread.
    spare: Sums<T>,
}

impl<T: Scalar, R: Precision> Blocks<T, R> {
    fn new(blocks: Vec<Arc<R::Block<T>>>, summary: &Summary<T>, workers: Workers) -> Self {
        let lanes = blocks.iter().map(|block| R::view::<T>(block).weights.len());
        let groups = groups::deal::<T>(blocks.len(), lanes.sum(), summary.dimension());
        let mut blocks = blocks.into_iter().map(|original| Resident {
            original,
            state: BlockState::default(),
        });
        let groups = groups.into_iter();
        Self {
            groups: groups
                .map(|range| blocks.by_ref().take(range.len()).collect())
                .collect(),
            kept: Kept::default(),
            workers,
            spare: Sums::default(),
        }
    }

    /// Whether nothing is kept yet.
    fn is_new(&self) -> bool {
        self.kept.is_empty()
    }

    /// Multiply-adds of a pass over the set at full speed, roughly: whether several threads pay depends
    /// on it.
    fn cost(summary: &Summary<T>, task: &Task<'_, T>) -> usize {
        let (n, p, planes) = (summary.len, summary.dimension(), T::PLANES);
        if task.transforms() {
            planes * planes * n * p * p * p
        } else if task.reads_all_entries() {
            8 * planes * n * p * p
        } else {
            50 * n * p
        }
    }

    fn evaluate(
        &mut self,
        summary: &Summary<T>,
        request: &Request<T>,
        sums: &mut Sums<T>,
        constants: impl FnOnce() -> Vec<f64>,
    ) -> Result<(), Error> {
        let (p, criterion) = (summary.dimension(), summary.criterion);
        let kept = std::mem::take(&mut self.kept);
        let reuse = kept.reuse(request);
        let mut task = Task::new(request, criterion, reuse).for_size(p);
        let wants_hessian = match request {
            Request::Point { hessian, .. } => *hessian,
            Request::Hessian { .. } => true,
            _ => false,
        };
        // Row blocks are shared among threads, and not summed for each group.
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
        self.kept = kept;
        self.kept.set(request, criterion, reuse);
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
        let work = |group: &mut Vec<Resident<T, R>>, sums: &mut Sums<T>| {
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

    /// The exact Hessian, shared among threads by its row blocks. Each number is summed over all blocks
    /// in order.
    fn sum_hessian(&mut self, summary: &Summary<T>, sums: &mut Sums<T>) {
        let (n, p, function) = (
            summary.len,
            summary.dimension(),
            summary.criterion.function(),
        );
        let cost = T::PLANES * T::PLANES * n * p * p * p;
        let workers = self.workers.if_worthwhile(cost);
        sums.hessian.work_on(&self.workers);
        let rows = sums.hessian.unwritten::<T, R>(p);
        let groups = p.div_ceil(R::LANES);
        // Each task reads all matrices: a few are enough to keep all threads busy.
        let tasks = match workers.count() {
            1 => 1,
            count => groups.min(2 * count),
        };
        let share = groups.div_ceil(tasks);
        let len = rows.len() / groups * share;
        let mut tasks: Vec<_> = rows.chunks_mut(len).enumerate().collect();
        let blocks = &self.groups;
        workers.each(&mut tasks, |(task, rows)| {
            for (k, block) in blocks.iter().flatten().enumerate() {
                let (first, begins) = (*task * share, k == 0);
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

    /// What `work` makes of each group, in order.
    fn each_group<S: Send>(
        &mut self,
        cost: usize,
        work: impl Fn(&mut Vec<Resident<T, R>>) -> S + Sync + Send,
    ) -> Vec<S> {
        let workers = self.workers.if_worthwhile(cost);
        let mut slots: Vec<(&mut Vec<_>, Option<S>)> =
            self.groups.iter_mut().map(|group| (group, None)).collect();
        workers.each(&mut slots, |(group, result)| *result = Some(work(group)));
        let results = slots.into_iter().filter_map(|(_, result)| result);
        results.collect()
    }
}
