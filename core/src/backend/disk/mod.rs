//! The backend whose matrices stay in a file, within a memory budget.
//!
//! Every request reads the Cⁱ again and applies B on the fly. Blocks, groups and kernels are those of a
//! set in memory, so the sums are added in the same order, and results differ by rounding alone: in
//! memory D is updated from point to point, here it is computed from C at each.
//!
//! A Newton iteration takes two data passes. One yields gradient and Hessian at the new point
//! together: transforming the matrices twice would cost more than one Hessian at the end that is not
//! used. The other evaluates the diagonals along a direction.

mod blocks;
mod build;
mod file;
mod ordered;
mod pass;
mod plan;

pub use file::MatrixFile;
pub use pass::{ReadObserver, ReadProgress};

use std::sync::{Arc, Mutex, OnceLock};

use super::block_state::{BlockState, View, line_point_of_table};
use super::kept::Reuse;
use super::request::{Request, Sums, Tables};
use super::task::Task;
use super::{Backend, Capabilities, Summary};
use crate::data::Block;
use crate::data::build::block_constants;
use crate::linalg::{self, Matrix, Scalar, Triangle};
use crate::{Error, Memory};
use blocks::Blocks;
use pass::{Summation, pass};

/// Matrices in a file, of which no more is in memory than a budget allows; complex ones if T is
/// (`OnDisk::complex`).
///
/// ```
/// use std::ops::ControlFlow;
/// use codiag::diagonalize_with_backend;
/// use codiag::{Matrix, MatrixFile, OnDisk, Record, SetOptions, Settings, npy, synthetic};
/// # let path = std::env::temp_dir().join(format!("codiag-on-disk-{}.f64", std::process::id()));
/// # let made = synthetic::Synthetic::new(2000, 4, 0.1, 0);
/// # std::fs::write(&path, made.data.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>())?;
///
/// // 2000 matrices of 4×4 numbers; of a .npy, MatrixFile::open finds that out by itself.
/// let file = MatrixFile::raw(&path, 0, npy::Numbers::parse("<f8")?, 2000, 4)?;
/// let mut set = OnDisk::new(file, "1MB".parse()?, &SetOptions::default())?;
/// let mut observer = |_: &Record, _: &Matrix| ControlFlow::Continue(());
/// let answer = diagonalize_with_backend(&mut set, &Settings::default(), &mut observer)?;
/// assert!(answer.status.is_converged());
/// # std::fs::remove_file(path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The budget counts all that grows with the number or the size of the matrices; a program needs
/// some memory besides. [`Diagonalization::powers`](crate::Diagonalization::powers) and
/// [`residuals`](crate::Diagonalization::residuals) are left empty if they would not fit.
/// [`Method::Pham`](crate::Method::Pham), which would take p²/2 passes per iteration, is refused.
pub struct OnDisk<'w, T = f64> {
    blocks: Blocks<T>,
    summary: Summary<T>,
    memory: Memory,
    threads: usize,
    watcher: Arc<dyn ReadObserver + Send + Sync + 'w>,
    /// The diagonals along the direction asked for last.
    line: Option<LineTables<T>>,
}

/// Diagonals along a direction, of as many blocks as there is room for.
struct LineTables<T> {
    b: Matrix<T>,
    e: Matrix<T>,
    /// The table of each block and its weights.
    tables: Vec<OnceLock<(Vec<f64>, Vec<f64>)>>,
}

impl<T> OnDisk<'_, T> {
    /// Adds a watcher to the set, which is called about twenty times a second while the file is read,
    /// on the thread that solves. If it breaks, the pass ends within a block, and with it the solve:
    /// with [`Status::Interrupted`](crate::Status::Interrupted) at the last point, or, before the first,
    /// with [`Error::Interrupted`]. A result that had been reached is kept.
    #[must_use]
    pub fn watched<'v>(self, watcher: impl ReadObserver + Send + Sync + 'v) -> OnDisk<'v, T> {
        OnDisk {
            blocks: self.blocks,
            summary: self.summary,
            memory: self.memory,
            threads: self.threads,
            watcher: Arc::new(watcher),
            line: self.line,
        }
    }
}

impl<T: Scalar> OnDisk<'_, T> {
    fn dimension(&self) -> usize {
        self.summary.dimension()
    }

    /// Sums over the blocks what the request asks for.
    fn sum(&mut self, request: &Request<T>, sums: &mut Sums<T>) -> Result<(), Error> {
        let p = self.dimension();
        let task = Task::new(request, self.summary.criterion, Reuse::default());
        let task = &task.for_size(p).with_lines_from_originals();
        let lines = match request {
            Request::Line { .. } => self.blocks.plan.lines,
            _ => 0,
        };
        let lines: Vec<OnceLock<_>> = (0..lines).map(|_| OnceLock::new()).collect();
        let mut wanted = matches!(request, Request::Components { tables: true, .. });
        wanted &= self.blocks.plan.tables;
        if wanted {
            // Their room is needed for the tables.
            self.line = None;
            self.blocks.clear();
            self.blocks.plan.kept = 0;
        }
        let rows = if wanted { self.summary.len } else { 0 };
        let (mut powers, mut constants) = (vec![0.0; rows * p], vec![0.0; rows]);
        let capacity = self.blocks.recipe.capacity;
        let places = powers.chunks_mut(capacity * p);
        let places: Vec<Mutex<(&mut [f64], &mut [f64])>> = places
            .zip(constants.chunks_mut(capacity))
            .map(Mutex::new)
            .collect();
        let known = self.line.as_ref().filter(|line| match request {
            Request::LinePoint { b, e, .. } => line.b == *b && line.e == *e,
            _ => false,
        });
        let table = |k: usize| known.and_then(|line| line.tables.get(k)?.get());
        let with_hessian = task.with_hessian;
        let found = pass(
            &self.blocks,
            &*self.watcher,
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
                    let view = View::of(block);
                    let evaluated = state.evaluate(&view, task, sums);
                    evaluated.expect("all requests are supported in double precision");
                    if let Some(place) = lines.get(k) {
                        // Each block comes once.
                        let _ = place.set((state.line_table().to_vec(), block.weights.clone()));
                    }
                    if let Some(place) = places.get(k) {
                        let mut place = place.lock().expect("each block comes once");
                        let (powers, constants) = &mut *place;
                        constants.copy_from_slice(&block_constants(task.criterion, block).0);
                        state.write_tables(&view, task, powers, constants);
                    }
                },
                add: &|total: &mut Sums<T>, part: &Sums<T>| total.add(part, with_hessian),
            },
        )?;
        drop(places);
        *sums = found;
        sums.tables = wanted.then_some(Tables { powers, constants });
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

    /// The mean of B Cⁱ Bᴴ follows from that of the Cⁱ.
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
        let sample = self.every(step)?;
        Ok(sample.map(|sample| Box::new(sample) as Box<dyn Backend<T>>))
    }
}
