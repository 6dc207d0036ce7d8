//! The working set whose matrices stay in a file, within a budget of memory.
//!
//! Every pass reads the Cⁱ again and applies the current B on the fly. Blocks, groups and kernels
//! are those of a set in memory, so the sums come in the same order, and the iterates differ by
//! rounding alone: in memory D goes from point to point, here it is made anew from C at each.
//!
//! A Newton iteration takes two passes. One brings statistics and Hessian at the new point together:
//! forming D twice would cost more than a Hessian that, at the last point, nobody asks for. The other
//! probes a direction, by diagonals only.

mod answers;
mod blocks;
mod build;
mod file;
mod fitted;
mod line;
mod ordered;
mod pass;
mod plan;

pub use file::MatrixFile;
pub use pass::{Reading, Watcher};

use std::sync::Arc;

use super::{Block, Summary};
use crate::criterion::Criterion;
use crate::least_squares::Fit;
use crate::linalg::kernels::{self, MomentSums};
use crate::linalg::{self, Matrix, Scalar};
use crate::statistics::Statistics;
use crate::{Error, Memory};
use blocks::Blocks;
use line::LineTables;
use pass::{Sums, Workspace, pass};

/// Matrices in a file, of which no more is in memory than a budget allows; complex ones if T is
/// (`OnDisk::complex`).
///
/// ```
/// use std::ops::ControlFlow;
/// use codiag::working::diagonalize_working;
/// use codiag::{Matrix, MatrixFile, OnDisk, Record, SetOptions, Settings, npy, synthetic};
/// # let path = std::env::temp_dir().join(format!("codiag-on-disk-{}.f64", std::process::id()));
/// # let made = synthetic::Synthetic::new(2000, 4, 0.1, 0);
/// # std::fs::write(&path, made.data.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>())?;
///
/// // 2000 matrices of 4×4 numbers; of a .npy, MatrixFile::open finds that out by itself.
/// let file = MatrixFile::raw(&path, 0, npy::Numbers::parse("<f8")?, 2000, 4)?;
/// let mut set = OnDisk::new(file, "1MB".parse()?, &SetOptions::default())?;
/// let mut observer = |_: &Record, _: &Matrix| ControlFlow::Continue(());
/// let answer = diagonalize_working(&mut set, &Settings::default(), &mut observer)?;
/// assert!(answer.status.converged());
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
    watcher: Arc<dyn Watcher + Send + Sync + 'w>,
    /// The metric of the sizes, as eight matrices, once the matrices have been balanced.
    metric: Vec<f64>,
    /// Where D stands.
    b: Matrix<T>,
    point: Option<PointSums<T>>,
    line: Option<LineTables<T>>,
    hessian_expected: bool,
}

/// What is known of D at one B.
struct PointSums<T> {
    diagonal_sum: f64,
    moments: MomentSums<T>,
    /// Empty if it was not asked for.
    hessian: Vec<f64>,
}

impl<T: Scalar> PointSums<T> {
    fn add(&mut self, other: &Self) {
        self.diagonal_sum += other.diagonal_sum;
        self.moments.add(&other.moments);
        linalg::add_multiple(&mut self.hessian, 1.0, &other.hessian);
    }

    fn statistics(&self, criterion: Criterion, b: &Matrix<T>) -> Statistics<T> {
        if criterion.fits_originals() {
            return Fit::at(b).statistics(&self.moments);
        }
        let MomentSums { gradient, gamma } = &self.moments;
        Statistics::new(criterion, gradient.clone(), gamma.clone())
    }
}

impl<T> OnDisk<'_, T> {
    /// The same set, with a watcher that is called some twenty times a second while the file is read,
    /// on the thread that solves. If it breaks, the pass ends within a block, and with it the solve:
    /// with [`Status::Stopped`](crate::Status::Stopped) at the last point, or, before the first,
    /// with [`Error::Interrupted`]. An answer that had been reached is kept.
    #[must_use]
    pub fn watched<'v>(self, watcher: impl Watcher + Send + Sync + 'v) -> OnDisk<'v, T> {
        OnDisk {
            blocks: self.blocks,
            summary: self.summary,
            memory: self.memory,
            threads: self.threads,
            watcher: Arc::new(watcher),
            metric: self.metric,
            b: self.b,
            point: self.point,
            line: self.line,
            hessian_expected: self.hessian_expected,
        }
    }
}

impl<T: Scalar> OnDisk<'_, T> {
    fn dimension(&self) -> usize {
        self.summary.dimension()
    }

    /// Sums over the blocks what `work` makes of each.
    fn sum<R: Send + 'static>(
        &self,
        zero: impl Fn() -> R + Sync,
        work: impl Fn(&mut R, &Block<T>, &mut Workspace) + Sync,
        add: fn(&mut R, &R),
    ) -> Result<R, Error> {
        let work = |sums: &mut R, _: usize, block: Option<&Block<T>>, workspace: &mut Workspace| {
            block
                .into_iter()
                .for_each(|block| work(sums, block, workspace));
        };
        let sums = Sums { zero, work, add };
        pass(&self.blocks, &*self.watcher, |_| true, &sums)
    }

    /// As [`sum`](Self::sum), of D = B C Bᴴ, which `work` finds in the workspace.
    fn sum_transformed<R: Send + 'static>(
        &self,
        zero: impl Fn() -> R + Sync,
        work: impl Fn(&mut R, &Block<T>, &mut Workspace) + Sync,
        add: fn(&mut R, &R),
    ) -> Result<R, Error> {
        let b = &self.b;
        self.sum(
            zero,
            |sums, block, workspace| {
                transform(b, block, workspace);
                work(sums, block, workspace);
            },
            add,
        )
    }

    /// The sums at the current B, with or without the Hessian.
    fn point_sums(&self, with_hessian: bool) -> Result<PointSums<T>, Error> {
        let (p, criterion) = (self.dimension(), self.summary.criterion);
        if criterion.fits_originals() {
            return self.fit_sums(with_hessian);
        }
        let len = if with_hessian {
            kernels::hessian_len(p, T::PLANES)
        } else {
            0
        };
        self.sum_transformed(
            || PointSums {
                diagonal_sum: 0.0,
                moments: MomentSums::new(p),
                hessian: vec![0.0; len],
            },
            |sums, block, workspace| {
                let weights = &block.weights;
                let entries = &workspace.entries;
                sums.diagonal_sum += kernels::diagonal_sum(criterion, p, entries, weights);
                kernels::accumulate_moments(criterion, p, entries, weights, &mut sums.moments);
                if len > 0 {
                    let rows = &mut sums.hessian;
                    kernels::accumulate_hessian(criterion, p, entries, weights, rows, false);
                }
            },
            PointSums::add,
        )
    }

    /// Moves to B.
    fn move_to(&mut self, b: Matrix<T>) -> Result<&PointSums<T>, Error> {
        self.b = b;
        self.line = None;
        self.point = None;
        let sums = self.point_sums(self.hessian_expected)?;
        Ok(self.point.insert(sums))
    }

    /// The sums at the current B.
    fn here(&mut self) -> Result<&PointSums<T>, Error> {
        if self.point.is_none() {
            self.point = Some(self.point_sums(self.hessian_expected)?);
        }
        Ok(self.point.as_ref().expect("it was just put there"))
    }
}

/// Leaves B C Bᴴ in the workspace.
fn transform<T: Scalar>(b: &Matrix<T>, block: &Block<T>, workspace: &mut Workspace) {
    workspace.resize::<T>(block.size(), block.lanes());
    let task = kernels::Congruence {
        transform: b,
        input: block.entries(),
        lanes: block.lanes(),
        matrices: block.lanes(),
        square: &mut workspace.entries,
        cross: None,
    };
    kernels::congruence(task);
}
