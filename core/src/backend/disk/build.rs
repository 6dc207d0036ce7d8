//! How a set on disk is made: a first pass checks every matrix, and sums what a summary tells.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::blocks::{Blocks, Recipe};
use super::pass::{ReadObserver, ReadProgress, Summation, pass};
use super::{MatrixFile, OnDisk};
use crate::data::build::{
    Indefinite, block_constants, block_energy, check_constant, check_range, trace,
};
use crate::data::groups::{add_slices, packed_len};
use crate::data::{Block, Rank, Reduction, SetOptions, Summary};
use crate::linalg::{self, Matrix, Scalar, c64, kernels};
use crate::threads::Workers;
use crate::{Error, Memory};

/// What the first pass sums.
struct First {
    mean: Vec<f64>,
    constant: f64,
    /// The first matrix that is not positive definite.
    indefinite: Option<Indefinite>,
}

impl First {
    fn add(&mut self, other: &Self) {
        add_slices(&mut self.mean, &other.mean);
        self.constant += other.constant;
        self.indefinite = self.indefinite.or(other.indefinite);
    }
}

impl OnDisk<'static> {
    /// Reads and checks the whole file once.
    ///
    /// # Errors
    /// If the matrices are not all finite, symmetric and positive definite, if the options are not
    /// as they should be, or if the budget is too small; the error names the file.
    pub fn new(file: MatrixFile, memory: Memory, options: &SetOptions) -> Result<Self, Error> {
        Self::new_watched(file, memory, options, unwatched)
    }
}

impl OnDisk<'static, c64> {
    /// As [`OnDisk::new`], for complex matrices, which are Hermitian.
    ///
    /// # Errors
    /// As [`OnDisk::new`].
    pub fn complex(file: MatrixFile, memory: Memory, options: &SetOptions) -> Result<Self, Error> {
        Self::complex_watched(file, memory, options, unwatched)
    }
}

impl<'w> OnDisk<'w, c64> {
    /// As [`OnDisk::new_watched`], for complex matrices, which are Hermitian.
    ///
    /// # Errors
    /// As [`OnDisk::new_watched`].
    pub fn complex_watched(
        file: MatrixFile,
        memory: Memory,
        options: &SetOptions,
        watcher: impl ReadObserver + Send + Sync + 'w,
    ) -> Result<Self, Error> {
        Self::build(file, memory, options, Arc::new(watcher))
    }
}

impl<'w> OnDisk<'w> {
    /// As [`OnDisk::new`], with a watcher as in [`watched`](Self::watched) from the first pass
    /// on.
    ///
    /// # Errors
    /// As [`OnDisk::new`], and [`Error::Interrupted`] if the watcher breaks.
    pub fn new_watched(
        file: MatrixFile,
        memory: Memory,
        options: &SetOptions,
        watcher: impl ReadObserver + Send + Sync + 'w,
    ) -> Result<Self, Error> {
        Self::build(file, memory, options, Arc::new(watcher))
    }
}

fn unwatched(_: &ReadProgress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

impl<'w, T: Scalar> OnDisk<'w, T> {
    #[inline(never)] // compiled in this crate: see compiled.rs
    pub(crate) fn build(
        file: MatrixFile,
        memory: Memory,
        options: &SetOptions,
        watcher: Arc<dyn ReadObserver + Send + Sync + 'w>,
    ) -> Result<Self, Error> {
        let file = Arc::new(file);
        Self::unnamed(&file, memory, options, watcher).map_err(|e| file.named(e))
    }

    /// The set, or an error that does not name the file yet.
    fn unnamed(
        file: &Arc<MatrixFile>,
        memory: Memory,
        options: &SetOptions,
        watcher: Arc<dyn ReadObserver + Send + Sync + 'w>,
    ) -> Result<Self, Error> {
        let (n, p) = (file.len(), file.size());
        options.check(n)?;
        let threads = Workers::new(options.n_jobs, n * T::PLANES.pow(2), p).count();
        let weights = options.weights.as_ref();
        let recipe = Recipe {
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
        let mut blocks = Blocks::new(recipe, memory, threads)?;
        let whole = options.n_components == Rank::Full;
        let mut first = first_pass(&blocks, &*watcher, whole)?;
        let mut mean = linalg::unpacked(p, &first.mean);
        check_range(&mean)?;
        let mut reduction = None;
        if !whole {
            let mut recipe = blocks.recipe.clone();
            let found = if options.criterion.requires_definite() {
                let found = Reduction::of_mean(&mean, options.n_components)?;
                recipe.semidefinite = Some(Arc::new(mean));
                found
            } else {
                let energy = energy(&blocks, &*watcher)?;
                check_constant(options.criterion, trace(&energy))?;
                Reduction::of_energy(&energy, options.n_components)?
            };
            recipe.filters = Some(Arc::new(found.filters().clone()));
            drop(blocks);
            blocks = Blocks::new(recipe, memory, threads)?;
            first = first_pass(&blocks, &*watcher, true)?;
            blocks.recipe.semidefinite = None;
            mean = linalg::unpacked(found.rank(), &first.mean);
            reduction = Some(found);
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
        Ok(Self::at_no_point(blocks, summary, memory, threads, watcher))
    }

    fn at_no_point(
        blocks: Blocks<T>,
        summary: Summary<T>,
        memory: Memory,
        threads: usize,
        watcher: Arc<dyn ReadObserver + Send + Sync + 'w>,
    ) -> Self {
        Self {
            blocks,
            summary,
            memory,
            threads,
            watcher,
            line: None,
        }
    }

    /// Every `step`-th matrix as a set of its own; None if their weights are all zero.
    pub(super) fn every(&mut self, step: usize) -> Result<Option<Self>, Error> {
        let whole = &self.blocks.recipe;
        let places = (0..whole.len()).step_by(step);
        let total: f64 = places.map(|i| whole.weight(i)).sum();
        if total <= 0.0 {
            return Ok(None);
        }
        let recipe = Recipe {
            step: whole.step * step,
            total: whole.total * total,
            capacity: Block::<T>::capacity(self.dimension()),
            ..whole.clone()
        };
        // The budget is for one set at a time.
        self.line = None;
        self.blocks.clear();
        let blocks = Blocks::new(recipe, self.memory, self.threads)?;
        let p = self.dimension();
        let sums = Summation {
            zero: || vec![0.0; packed_len::<T>(p)],
            work: |sums: &mut Vec<f64>, _, block: Option<&Block<T>>, _: &mut _| {
                let block = block.expect("every block is needed");
                kernels::combine(block.entries(), &block.weights, sums);
            },
            add: &add_slices,
        };
        let mean = pass(&blocks, &*self.watcher, |_| true, &sums)?;
        let summary = Summary {
            criterion: self.summary.criterion,
            len: blocks.recipe.len(),
            mean: linalg::unpacked(p, &mean),
            constant: 0.0,
            reduction: None,
        };
        let (memory, threads, watcher) = (self.memory, self.threads, Arc::clone(&self.watcher));
        Ok(Some(Self::at_no_point(
            blocks, summary, memory, threads, watcher,
        )))
    }
}

/// Sums the mean; and, if they are to be diagonalized as they are, factorizes the matrices.
fn first_pass<T: Scalar>(
    blocks: &Blocks<T>,
    watcher: &dyn ReadObserver,
    factorize: bool,
) -> Result<First, Error> {
    let (p, criterion) = (blocks.recipe.dimension(), blocks.recipe.criterion);
    let capacity = blocks.recipe.capacity;
    let sums = Summation {
        zero: || First {
            mean: vec![0.0; packed_len::<T>(p)],
            constant: 0.0,
            indefinite: None,
        },
        work: |sums: &mut First, k: usize, block: Option<&Block<T>>, _: &mut _| {
            let block = block.expect("every block is needed");
            kernels::combine(block.entries(), &block.weights, &mut sums.mean);
            if !factorize {
                return;
            }
            let (constants, singular) = block_constants(criterion, block);
            sums.constant += linalg::dot(&block.weights[..constants.len()], &constants);
            if let Some(lane) = singular.filter(|_| sums.indefinite.is_none()) {
                let matrix = k * capacity + lane;
                sums.indefinite = Some(Indefinite::new(block, lane, matrix));
            }
        },
        add: &First::add,
    };
    pass(blocks, watcher, |_| true, &sums)
}

/// Σ_i w_i (Cⁱ)².
fn energy<T: Scalar>(blocks: &Blocks<T>, watcher: &dyn ReadObserver) -> Result<Matrix<T>, Error> {
    let p = blocks.recipe.dimension();
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
    pass(blocks, watcher, |_| true, &sums)
}
