//! Parallel solves of resampled sets.

use std::ops::ControlFlow;
use std::time::Instant;

use super::Outputs;
use crate::backend::InMemory;
use crate::choices::SortBy;
use crate::data::{MatrixSet, needs};
use crate::init;
use crate::jobs;
use crate::linalg::{Matrix, Scalar};
use crate::memory::count_that_fits;
use crate::report::{Diagonalization, Observer, Record, Status};
use crate::settings::{Init, Settings};
use crate::solver::solve_starts;
use crate::threads::Workers;
use crate::{Error, Memory};

/// Result of a solve of matrices that were drawn from a set.
///
/// ```
/// use std::ops::ControlFlow;
/// use codiag::{Matrix, Record, Settings, diagonalize, resample, synthetic};
/// let set = synthetic::noisy(10, 3, 0.1, 0);
/// let result = diagonalize(&set, &Settings::default())?;
/// // Draw each matrix of the first half twice.
/// let draws = vec![(0..10).map(|i| if i < 5 { 2.0 } else { 0.0 }).collect()];
/// let mut silent = |_: &Record, _: &Matrix| ControlFlow::Continue(());
/// let resamples = resample(&set, &result.b, &draws, &Settings::default(), &mut silent)?;
/// assert!(resamples[0].diagonalization.status.is_converged());
/// assert!(resamples[0].matches.iter().all(|x| (0.0..=1.0).contains(x)));
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Resample<T = f64> {
    /// The result for the drawn matrices. Since the solve starts from the result for the whole set,
    /// the order and signs of its components usually agree with it.
    pub diagonalization: Diagonalization<T>,
    /// Similarity, from 0 to 1, of each component of the result for the whole set to its match in
    /// the result for the drawn matrices.
    pub matches: Vec<f64>,
}

impl<T: Scalar> Resample<T> {
    /// Returns an error if this number of resamples of a set of n p×p matrices, and their draws, do
    /// not fit into memory.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] with the amount of memory needed.
    pub fn check_memory(resamples: usize, n: usize, p: usize) -> Result<(), Error> {
        super::check_memory(resamples, n, p.saturating_mul(T::PLANES))
    }
}

/// Solves resampled sets in parallel, each starting from `b`, the result for the whole set.
///
/// Each element of `draws` contains how often every matrix is drawn, which multiplies its weight.
/// Components are compared by the absolute correlation of their outputs under the mean matrix or,
/// for criteria that do not require positive definite matrices, by the absolute cosine of their
/// patterns. Each solve runs on one thread, so that results do not depend on the number of parallel
/// solves. The observer receives their iterations as records of
/// [`Stage::Sample`](crate::Stage::Sample). If it stops the solves, those that have ended are
/// returned.
///
/// # Errors
/// If the settings are invalid, or all drawn matrices of a draw have weight zero.
#[inline(never)] // compiled in this crate: see compiled.rs
pub fn resample<T: Scalar>(
    set: &MatrixSet<T>,
    b: &Matrix<T>,
    draws: &[Vec<f64>],
    settings: &Settings,
    observer: &mut dyn Observer<T>,
) -> Result<Vec<Resample<T>>, Error> {
    let settings = settings_from(settings, b);
    let summary = set.summary();
    // Report an invalid B before it is used for comparisons.
    init::given(summary, b, false)?;
    let reference = Outputs::of(summary, &summary.to_reduced(b));
    let solve = |k: usize, observer: &mut dyn Observer<T>| -> Result<Resample<T>, Error> {
        crate::SetOptions::check_weights(&draws[k], set.len())?;
        let drawn = set.resampled(&draws[k]).ok_or(Error::WeightsZero)?;
        let mut drawn = InMemory::new(&drawn);
        let (diagonalization, _) = solve_starts(&mut drawn, &settings, observer)?;
        let other = Outputs::of(summary, &summary.to_reduced(&diagonalization.b));
        Ok(Resample {
            matches: reference.matches(&other),
            diagonalization,
        })
    };
    let p = set.dimension();
    let work = draws.len() * set.len() * p * p * p;
    let each = needs::of_blocks::<T>(set.len(), p).plus(needs::of_solve::<T>(set.len(), p));
    solve_all(draws.len(), work, each, set.n_jobs(), &solve, observer)
}

/// Returns the settings of a trial that starts from `b`.
pub(crate) fn settings_from<T: Scalar>(settings: &Settings, b: &Matrix<T>) -> Settings {
    settings
        .clone()
        .init(Init::given(b))
        .n_restarts(0)
        .n_resamples(0)
        .sort_by(SortBy::Contrast)
        .canonical(false)
}

/// Solves `count` trials, each on one thread. The number of parallel solves is limited by the
/// threads that the `work` in multiply-adds is worth, and by the memory that `each` solve needs.
/// Interrupted trials are left out.
pub(crate) fn solve_all<T: Scalar>(
    count: usize,
    work: usize,
    each: Memory,
    n_jobs: Option<usize>,
    solve: &TrialSolver<'_, T>,
    observer: &mut dyn Observer<T>,
) -> Result<Vec<Resample<T>>, Error> {
    let threads = Workers::for_work(n_jobs, work).count();
    let threads = count_that_fits(threads, each);
    let clock = Instant::now();
    let sample_record = |k: usize, record: &Record| Record {
        start: 1 + k,
        stage: crate::report::Stage::Sample,
        seconds: clock.elapsed().as_secs_f64(),
        ..record.clone()
    };
    let job = |k: usize, emit: &mut Emit<'_, T>| {
        solve(k, &mut |record: &Record, b: &Matrix<T>| {
            emit(Some((sample_record(k, record), b.clone())))
        })
    };
    let mut notify = |event: Option<(Record, Matrix<T>)>| match event {
        Some((record, b)) => observer.observe(&record, &b),
        None => ControlFlow::Continue(()),
    };
    let (solved, _) = jobs::run(count, threads, &job, &mut notify);
    let solved: Result<Vec<Resample<T>>, Error> = solved.into_iter().collect();
    // Leave out interrupted solves.
    let ended = |resample: &Resample<T>| resample.diagonalization.status != Status::Interrupted;
    Ok(solved?.into_iter().filter(ended).collect())
}

/// Solves the draw with the given number, and passes its records to an observer.
pub(crate) type TrialSolver<'a, T> =
    dyn Fn(usize, &mut dyn Observer<T>) -> TrialResult<T> + Sync + 'a;
/// Passes a record and its B, which acts on the channels, to the observer.
type Emit<'a, T> = dyn FnMut(Option<(Record, Matrix<T>)>) -> ControlFlow<()> + 'a;
/// Result of one trial.
pub(crate) type TrialResult<T> = Result<Resample<T>, Error>;
