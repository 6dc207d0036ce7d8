//! Construction of a set on disk. A first data pass validates every matrix and computes the
//! summary.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::blocks::{Blocks, Selection};
use super::pass::{ReadObserver, ReadProgress, Summation, pass};
use super::{MatrixFile, OnDisk};
use crate::data::build::{
    IndefiniteMatrix, block_constants, block_energy, check_constant, check_range, trace,
};
use crate::data::groups::{add_slices, packed_len};
use crate::data::{Block, Rank, Reduction, SetOptions, Summary};
use crate::linalg::{self, Matrix, Scalar, c64, kernels};
use crate::threads::Workers;
use crate::{Error, Memory};

/// Sums of the data pass that validates the matrices.
struct FirstPassSums {
    mean: Vec<f64>,
    constant: f64,
    /// First matrix that is not positive definite.
    indefinite: Option<IndefiniteMatrix>,
}

impl FirstPassSums {
    fn add(&mut self, other: &Self) {
        add_slices(&mut self.mean, &other.mean);
        self.constant += other.constant;
        self.indefinite = self.indefinite.or(other.indefinite);
    }
}

impl OnDisk<'static> {
    /// Opens a set of real matrices. The whole file is read once in order to validate it.
    ///
    /// # Errors
    /// If the matrices are not all finite, symmetric and, for the likelihood, positive definite; if
    /// the options are invalid; or if the memory limit is too small. The error names the file.
    pub fn new(file: MatrixFile, memory: Memory, options: &SetOptions) -> Result<Self, Error> {
        Self::new_with_observer(file, memory, options, unobserved)
    }
}

impl OnDisk<'static, c64> {
    /// Opens a set of Hermitian matrices; see [`OnDisk::new`].
    ///
    /// # Errors
    /// Those of [`OnDisk::new`].
    pub fn complex(file: MatrixFile, memory: Memory, options: &SetOptions) -> Result<Self, Error> {
        Self::complex_with_observer(file, memory, options, unobserved)
    }
}

impl<'w> OnDisk<'w, c64> {
    /// Opens a set of Hermitian matrices with an observer; see [`OnDisk::new_with_observer`].
    ///
    /// # Errors
    /// Those of [`OnDisk::new_with_observer`].
    pub fn complex_with_observer(
        file: MatrixFile,
        memory: Memory,
        options: &SetOptions,
        observer: impl ReadObserver + Send + Sync + 'w,
    ) -> Result<Self, Error> {
        Self::build(file, memory, options, Arc::new(observer))
    }
}

impl<'w> OnDisk<'w> {
    /// Opens a set of real matrices with an observer, which is called from the first data pass on;
    /// see [`OnDisk::new`] and [`with_observer`](Self::with_observer).
    ///
    /// # Errors
    /// Those of [`OnDisk::new`], and [`Error::Interrupted`] if the observer returns `Break`.
    pub fn new_with_observer(
        file: MatrixFile,
        memory: Memory,
        options: &SetOptions,
        observer: impl ReadObserver + Send + Sync + 'w,
    ) -> Result<Self, Error> {
        Self::build(file, memory, options, Arc::new(observer))
    }
}

fn unobserved(_: &ReadProgress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

impl<'w, T: Scalar> OnDisk<'w, T> {
    #[inline(never)] // compiled in this crate: see compiled.rs
    pub(crate) fn build(
        file: MatrixFile,
        memory: Memory,
        options: &SetOptions,
        observer: Arc<dyn ReadObserver + Send + Sync + 'w>,
    ) -> Result<Self, Error> {
        let file = Arc::new(file);
        Self::validated(&file, memory, options, observer).map_err(|e| file.with_path(e))
    }

    /// Creates the set. Errors do not name the file.
    fn validated(
        file: &Arc<MatrixFile>,
        memory: Memory,
        options: &SetOptions,
        observer: Arc<dyn ReadObserver + Send + Sync + 'w>,
    ) -> Result<Self, Error> {
        let (n, p) = (file.len(), file.size());
        options.check(n)?;
        let threads = Workers::new(options.n_jobs, n * T::PLANES.pow(2), p).count();
        let weights = options.weights.as_ref();
        let selection = Selection {
            file: Arc::clone(file),
            step: 1,
            criterion: options.criterion,
            weights: weights.map(|_| options.normalized_weights(n).into()),
            total: 1.0,
            shrinkage: options.shrinkage,
            symmetrize: options.symmetrize,
            filters: None,
            semidefinite: None,
            capacity: Block::<T>::capacity(p),
        };
        let mut blocks = Blocks::new(selection, memory, threads)?;
        let has_full_rank = options.n_components == Rank::Full;
        let mut first = first_pass(&blocks, &*observer, has_full_rank)?;
        let mut mean = linalg::unpacked(p, &first.mean);
        check_range(&mean)?;
        let mut reduction = None;
        if !has_full_rank {
            let mut selection = blocks.selection.clone();
            let reduced = if options.criterion.requires_definite() {
                let reduced = Reduction::of_mean(&mean, options.n_components)?;
                selection.semidefinite = Some(Arc::new(mean));
                reduced
            } else {
                let energy = energy(&blocks, &*observer)?;
                check_constant(options.criterion, trace(&energy))?;
                Reduction::of_energy(&energy, options.n_components)?
            };
            selection.filters = Some(Arc::new(reduced.filters().clone()));
            drop(blocks);
            blocks = Blocks::new(selection, memory, threads)?;
            first = first_pass(&blocks, &*observer, true)?;
            blocks.selection.semidefinite = None;
            mean = linalg::unpacked(reduced.rank(), &first.mean);
            reduction = Some(reduced);
        }
        if let Some(indefinite) = first.indefinite {
            return Err(indefinite.error(&mean));
        }
        check_constant(options.criterion, first.constant)?;
        let summary = Summary {
            criterion: options.criterion,
            len: n,
            mean,
            constant: first.constant,
            reduction,
        };
        Ok(Self::from_summary(
            blocks, summary, memory, threads, observer,
        ))
    }

    fn from_summary(
        blocks: Blocks<T>,
        summary: Summary<T>,
        memory: Memory,
        threads: usize,
        observer: Arc<dyn ReadObserver + Send + Sync + 'w>,
    ) -> Self {
        Self {
            blocks,
            summary,
            memory,
            threads,
            observer,
            line: None,
        }
    }

    /// Returns every `step`-th matrix as a set; None if their weights are all zero.
    pub(super) fn sampled_by(&mut self, step: usize) -> Result<Option<Self>, Error> {
        let whole = &self.blocks.selection;
        let places = (0..whole.len()).step_by(step);
        let total: f64 = places.map(|i| whole.weight(i)).sum();
        if total <= 0.0 {
            return Ok(None);
        }
        let selection = Selection {
            step: whole.step * step,
            total: whole.total * total,
            capacity: Block::<T>::capacity(self.dimension()),
            ..whole.clone()
        };
        // The sample gets the whole memory limit.
        self.line = None;
        self.blocks.clear();
        let blocks = Blocks::new(selection, self.memory, self.threads)?;
        let p = self.dimension();
        let sums = Summation {
            zero: || vec![0.0; packed_len::<T>(p)],
            work: |sums: &mut Vec<f64>, _, block: Option<&Block<T>>, _: &mut _| {
                let block = block.expect("every block is needed");
                kernels::combine(block.entries(), &block.weights, sums);
            },
            add: &add_slices,
        };
        let mean = pass(&blocks, &*self.observer, |_| true, &sums)?;
        let summary = Summary {
            criterion: self.summary.criterion,
            len: blocks.selection.len(),
            mean: linalg::unpacked(p, &mean),
            constant: 0.0,
            reduction: None,
        };
        let (memory, threads, observer) = (self.memory, self.threads, Arc::clone(&self.observer));
        Ok(Some(Self::from_summary(
            blocks, summary, memory, threads, observer,
        )))
    }
}

/// Sums the mean and, if `factorize`, the constants, and finds the first matrix that is not
/// positive definite.
fn first_pass<T: Scalar>(
    blocks: &Blocks<T>,
    observer: &dyn ReadObserver,
    factorize: bool,
) -> Result<FirstPassSums, Error> {
    let (p, criterion) = (blocks.selection.dimension(), blocks.selection.criterion);
    let capacity = blocks.selection.capacity;
    let sums = Summation {
        zero: || FirstPassSums {
            mean: vec![0.0; packed_len::<T>(p)],
            constant: 0.0,
            indefinite: None,
        },
        work: |sums: &mut FirstPassSums, k: usize, block: Option<&Block<T>>, _: &mut _| {
            let block = block.expect("every block is needed");
            kernels::combine(block.entries(), &block.weights, &mut sums.mean);
            if !factorize {
                return;
            }
            let (constants, singular) = block_constants(criterion, block);
            sums.constant += linalg::dot(&block.weights[..constants.len()], &constants);
            if let Some(lane) = singular.filter(|_| sums.indefinite.is_none()) {
                let matrix = k * capacity + lane;
                sums.indefinite = Some(IndefiniteMatrix::new(block, lane, matrix));
            }
        },
        add: &FirstPassSums::add,
    };
    pass(blocks, observer, |_| true, &sums)
}

/// Returns Σ_i w_i (Cⁱ)².
fn energy<T: Scalar>(blocks: &Blocks<T>, observer: &dyn ReadObserver) -> Result<Matrix<T>, Error> {
    let p = blocks.selection.dimension();
    let sums = Summation {
        zero: || Matrix::zeros(p, p),
        work: |sums: &mut Matrix<T>, _, block: Option<&Block<T>>, _: &mut _| {
            let block = block.expect("every block is needed");
            let own = block_energy(block);
            linalg::add_multiple(sums.as_mut_slice(), 1.0, own.as_slice());
        },
        add: &|total: &mut Matrix<T>, part: &Matrix<T>| {
            linalg::add_multiple(total.as_mut_slice(), 1.0, part.as_slice());
        },
    };
    pass(blocks, observer, |_| true, &sums)
}
