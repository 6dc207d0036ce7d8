//! Backend whose matrices stay in a file, within a memory limit.
//!
//! Every request reads the Cⁱ and transforms them by B. Blocks, groups and kernels are those of a
//! set in memory. Results differ only by rounding errors: in memory, the Dⁱ are updated from point
//! to point; on disk, they are recomputed from the Cⁱ at every point.
//!
//! A Newton iteration takes two data passes. The first computes gradient and Hessian at the new
//! point together: transforming the matrices twice would cost more than the unused Hessian of the
//! last iteration. The second evaluates the diagonals along a direction.

mod blocks;
mod build;
mod file;
mod ordered_sum;
mod pass;
mod plan;

pub use file::MatrixFile;
pub use pass::{ReadObserver, ReadProgress};

use std::sync::{Arc, Mutex, OnceLock};

use super::block_state::{BlockState, BlockView, line_point_of_table};
use super::cache_keys::Reuse;
use super::request::{Request, Sums, Tables};
use super::task::Task;
use super::{Backend, Capabilities, Summary};
use crate::data::Block;
use crate::data::build::block_constants;
use crate::linalg::{self, Matrix, Scalar, Triangle};
use crate::{Error, Memory};
use blocks::Blocks;
use pass::{Summation, pass};

/// Matrices in a file, read in parts within a memory limit. Complex matrices are opened by
/// [`OnDisk::complex`].
///
/// ```
/// use std::ops::ControlFlow;
/// use codiag::diagonalize_with_backend;
/// use codiag::{Matrix, MatrixFile, OnDisk, Record, SetOptions, Settings, npy, synthetic};
/// # let path = std::env::temp_dir().join(format!("codiag-on-disk-{}.f64", std::process::id()));
/// # let generated = synthetic::Synthetic::new(2000, 4, 0.1, 0);
/// # std::fs::write(&path, generated.data.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>())?;
///
/// // 2000 matrices of 4×4 numbers. For a .npy file, MatrixFile::open reads the shape from its header.
/// let file = MatrixFile::raw(&path, 0, npy::Numbers::parse("<f8")?, 2000, 4)?;
/// let mut set = OnDisk::new(file, "1MB".parse()?, &SetOptions::default())?;
/// let mut observer = |_: &Record, _: &Matrix| ControlFlow::Continue(());
/// let result = diagonalize_with_backend(&mut set, &Settings::default(), &mut observer)?;
/// assert!(result.status.is_converged());
/// # std::fs::remove_file(path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The memory limit includes all memory that grows with the number or the size of the matrices, but
/// not the constant memory of a program.
/// [`Diagonalization::powers`](crate::Diagonalization::powers) and
/// [`residuals`](crate::Diagonalization::residuals) are left empty if they do not fit.
/// [`Method::Pham`](crate::Method::Pham), which needs p²/2 data passes per iteration, is not
/// supported.
pub struct OnDisk<'w, T = f64> {
    blocks: Blocks<T>,
    summary: Summary<T>,
    memory: Memory,
    threads: usize,
    observer: Arc<dyn ReadObserver + Send + Sync + 'w>,
    /// Diagonals along the last search direction.
    line: Option<LineTables<T>>,
}

/// Diagonals along a search direction, for the blocks whose tables fit into the memory limit.
struct LineTables<T> {
    b: Matrix<T>,
    e: Matrix<T>,
    /// Table and weights of each block.
    tables: Vec<OnceLock<(Vec<f64>, Vec<f64>)>>,
}

impl<T> OnDisk<'_, T> {
    /// Adds an observer to the set. The calling thread calls it about twenty times a second while
    /// the file is read. If it returns `Break`, the data pass stops within one block. The solve
    /// then ends with [`Status::Interrupted`](crate::Status::Interrupted) at the last iterate or,
    /// if there is none yet, with [`Error::Interrupted`].
    #[must_use]
    pub fn with_observer<'v>(
        self,
        observer: impl ReadObserver + Send + Sync + 'v,
    ) -> OnDisk<'v, T> {
        OnDisk {
            blocks: self.blocks,
            summary: self.summary,
            memory: self.memory,
            threads: self.threads,
            observer: Arc::new(observer),
            line: self.line,
        }
    }
}

impl<T: Scalar> OnDisk<'_, T> {
    fn dimension(&self) -> usize {
        self.summary.dimension()
    }

    /// Evaluates a request by one data pass.
    fn sum(&mut self, request: &Request<T>, sums: &mut Sums<T>) -> Result<(), Error> {
        let p = self.dimension();
        let task = Task::new(request, self.summary.criterion, Reuse::default());
        let task = &task.for_size(p).with_lines_from_originals();
        let lines = match request {
            Request::Line { .. } => self.blocks.plan.lines,
            _ => 0,
        };
        let lines: Vec<OnceLock<_>> = (0..lines).map(|_| OnceLock::new()).collect();
        let mut with_tables = matches!(request, Request::Components { tables: true, .. });
        with_tables &= self.blocks.plan.tables;
        if with_tables {
            // The tables of powers need the memory of the line tables and of the blocks.
            self.line = None;
            self.blocks.clear();
            self.blocks.plan.kept = 0;
        }
        let rows = if with_tables { self.summary.len } else { 0 };
        let (mut powers, mut constants) = (vec![0.0; rows * p], vec![0.0; rows]);
        let capacity = self.blocks.selection.capacity;
        let places = powers.chunks_mut(capacity * p);
        let places: Vec<Mutex<(&mut [f64], &mut [f64])>> = places
            .zip(constants.chunks_mut(capacity))
            .map(Mutex::new)
            .collect();
        let line_tables = self.line.as_ref().filter(|line| match request {
            Request::LinePoint { b, e, .. } => line.b == *b && line.e == *e,
            _ => false,
        });
        let table = |k: usize| line_tables.and_then(|line| line.tables.get(k)?.get());
        let with_hessian = task.with_hessian;
        let total = pass(
            &self.blocks,
            &*self.observer,
            |k| table(k).is_none(),
            &Summation {
                zero: || {
                    let mut sums = Sums::default();
                    sums.begin(request, p);
                    sums
                },
                work: |sums: &mut Sums<T>, k, block: Option<&Block<T>>, state: &mut BlockState| {
                    if let (Some((table, weights)), Request::LinePoint { alpha, .. }) =
                        (table(k), request)
                    {
                        let point = line_point_of_table(task, p, table, weights, *alpha);
                        return sums.add_line_point(0, point);
                    }
                    let block = block.expect("a block without a table is read");
                    let view = BlockView::of(block);
                    let evaluated = state.evaluate(&view, task, sums);
                    evaluated.expect("all requests are supported in double precision");
                    if let Some(place) = lines.get(k) {
                        // Each block is visited once, so the cell is empty.
                        let _ = place.set((state.line_table().to_vec(), block.weights.clone()));
                    }
                    if let Some(place) = places.get(k) {
                        let mut place = place.lock().expect("each block is visited once");
                        let (powers, constants) = &mut *place;
                        constants.copy_from_slice(&block_constants(task.criterion, block).0);
                        state.write_tables(&view, task, powers, constants);
                    }
                },
                add: &|total: &mut Sums<T>, part: &Sums<T>| total.add(part, with_hessian),
            },
        )?;
        drop(places);
        *sums = total;
        sums.tables = with_tables.then_some(Tables { powers, constants });
        if let Request::Line { b, e } = request {
            let (b, e) = (b.clone(), e.clone());
            self.line = Some(LineTables {
                b,
                e,
                tables: lines,
            });
        }
        Ok(())
    }

    /// Computes the mean of B Cⁱ Bᴴ from the mean of the Cⁱ, without a data pass.
    fn mean(&self, b: &Matrix<T>, sums: &mut Sums<T>) {
        let half = linalg::product(b, &self.summary.mean);
        let mean = linalg::product_adjoint(&half, b);
        sums.numbers.clear();
        for plane in 0..T::PLANES {
            let part = |x: T| if plane == 0 { x.real() } else { x.imaginary() };
            let pairs = Triangle::new(mean.rows()).pairs();
            sums.numbers.extend(pairs.map(|entry| part(mean[entry])));
        }
    }
}

impl<T: Scalar> Backend<T> for OnDisk<'_, T> {
    fn summary(&self) -> &Summary<T> {
        &self.summary
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            stores_hessian: self.blocks.plan.hessian,
            prefers_joint_requests: true,
            ..Capabilities::default()
        }
    }

    #[inline(never)] // compiled in this crate: see compiled.rs
    fn evaluate(&mut self, request: &Request<T>, sums: &mut Sums<T>) -> Result<(), Error> {
        if let Request::Mean { b } = request {
            self.mean(b, sums);
            return Ok(());
        }
        if !matches!(request, Request::LinePoint { .. }) {
            self.line = None;
        }
        self.sum(request, sums)
    }

    #[inline(never)] // compiled in this crate: see compiled.rs
    fn sample(&mut self, step: usize) -> Result<Option<Box<dyn Backend<T> + '_>>, Error> {
        let sample = self.sampled_by(step)?;
        Ok(sample.map(|sample| Box::new(sample) as Box<dyn Backend<T>>))
    }
}
