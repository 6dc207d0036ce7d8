//! Backend whose matrices are all in memory.

use std::sync::Arc;

use super::block_state::BlockView;
use super::cache_keys::CacheKeys;
use super::request::{Request, Sums};
use super::resident::{Blocks, CachedBlock};
use super::single::{InSinglePrecision, rounded};
use super::task::Task;
use super::{Backend, Capabilities, Pairs};
use crate::Error;
use crate::data::{Criterion, MatrixSet, Summary, needs};
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
/// assert!(result.status.is_converged());
/// # Ok::<(), codiag::Error>(())
/// ```
pub struct InMemory<T: Scalar = f64> {
    set: MatrixSet<T>,
    pub(super) summary: Summary<T>,
    blocks: Blocks<T, f64>,
}

impl<T: Scalar> InMemory<T> {
    /// Creates a backend that shares the matrices of a set.
    pub fn new(set: &MatrixSet<T>) -> Self {
        let work = set.len() * T::PLANES.pow(2);
        Self::with_workers(set, Workers::new(set.n_jobs(), work, set.dimension()))
    }

    /// Creates a backend that uses the given threads.
    pub(crate) fn with_workers(set: &MatrixSet<T>, workers: Workers) -> Self {
        let summary = set.summary().clone();
        let blocks = set.blocks().iter().map(Arc::clone).collect();
        Self {
            blocks: Blocks::new(blocks, &summary, workers),
            summary,
            set: set.clone(),
        }
    }

    /// Returns the set of matrices.
    pub(crate) fn set(&self) -> &MatrixSet<T> {
        &self.set
    }

    pub(super) fn dimension(&self) -> usize {
        self.summary.dimension()
    }

    /// Returns the number of concurrent solves of the set, with one thread each, that is faster
    /// than several threads within one solve, limited by the available memory; 1 if one solve uses
    /// the threads better.
    pub(crate) fn concurrent_solves(&self) -> usize {
        let (n, p) = (self.summary.len, self.dimension());
        if T::PLANES * T::PLANES * n * p * p * p < TUNING.parallel_passes_from {
            count_that_fits(self.blocks.workers.count(), needs::of_solve::<T>(n, p))
        } else {
            1
        }
    }

    /// Sums the results of `work`, which takes the transformed entries, the weights and the number
    /// of matrices of each block. `cost` is its number of multiply-adds per matrix.
    pub(super) fn sum_transformed<S: Send>(
        &mut self,
        cost: usize,
        work: impl Fn(&mut [f64], &[f64], usize) -> S + Sync + Send,
        mut add: impl FnMut(&mut S, &S),
    ) -> S {
        let cost = T::PLANES * self.summary.len * cost;
        let results = self.blocks.each_group(cost, |group| {
            let one = |block: &mut CachedBlock<T, f64>| {
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

    /// Records that the transformed matrices were updated to B pair by pair.
    pub(super) fn move_to(&mut self, b: Matrix<T>) {
        self.blocks.cache_keys.move_to(b);
    }

    /// Whether single precision is sufficient for the transformed matrices. For the likelihood, the
    /// powers of the components of each matrix must not differ too much.
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

/// Whether the ratio of the powers of each matrix is small enough for single precision.
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
    // NaN compares false: single precision is not used.
    let mut ranges = least.iter().zip(&most);
    ranges.all(|(least, most)| TUNING.single_precision_max_power_ratio * least > *most)
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
        if self.summary.criterion.is_least_squares() || p < TUNING.single_precision_min_p {
            return Ok(None);
        }
        // Transforms the matrices unless they are at B already; nothing is summed.
        let transformed = Request::Hessian { b: b.clone() };
        let reuse = self.blocks.cache_keys.reuse(&transformed);
        let task = Task::new(&transformed, self.summary.criterion, reuse);
        let cost = Blocks::<T, f64>::cost(&self.summary, &task);
        self.blocks.each_group(cost, |group| {
            for block in group {
                let original = Arc::clone(&block.original);
                block.state.transform(&BlockView::of(&original), &task);
            }
        });
        self.blocks
            .cache_keys
            .record(&transformed, self.summary.criterion, reuse);
        if !self.suits_single_precision() {
            return Ok(None);
        }
        let summary = &self.summary;
        let (unit, constant) = if summary.criterion == Criterion::Likelihood {
            // Losses include the B at which the new set starts.
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
            |block: &CachedBlock<T, f64>| rounded(&block.original, block.state.transformed(), unit);
        let groups = self.blocks.groups.iter();
        let groups = groups.map(|group| group.iter().map(round).collect());
        let mut cache_keys = CacheKeys::default();
        cache_keys.begin_at(Matrix::identity(p));
        Ok(Some(Box::new(InSinglePrecision {
            blocks: Blocks {
                groups: groups.collect(),
                cache_keys,
                workers: self.blocks.workers.clone(),
                spare: Sums::default(),
            },
            summary: single,
        })))
    }

    fn pairs(&mut self, b: &Matrix<T>) -> Result<Option<&mut dyn Pairs<T>>, Error> {
        let request = Request::Hessian { b: b.clone() };
        if !self.blocks.cache_keys.reuse(&request).transformed {
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
