//! Solves of what was drawn anew, several at a time.

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

/// A solve of matrices drawn from a set.
///
/// ```
/// use std::ops::ControlFlow;
/// use codiag::{Matrix, Record, Settings, diagonalize, resample, synthetic};
/// let set = synthetic::noisy(10, 3, 0.1, 0);
/// let answer = diagonalize(&set, &Settings::default())?;
/// // The first half of the matrices, each of them twice.
/// let draws = vec![(0..10).map(|i| if i < 5 { 2.0 } else { 0.0 }).collect()];
/// let mut silent = |_: &Record, _: &Matrix| ControlFlow::Continue(());
/// let resamples = resample(&set, &answer.b, &draws, &Settings::default(), &mut silent)?;
/// assert!(resamples[0].diagonalization.status.is_converged());
/// assert!(resamples[0].matches.iter().all(|x| (0.0..=1.0).contains(x)));
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Resample<T = f64> {
    /// Its answer, in the order and signs of the one that it started from, as far as it goes.
    pub diagonalization: Diagonalization<T>,
    /// For each component of the answer that it started from, how much the one that matches it is like it, from
    /// 0 to 1.
    pub matches: Vec<f64>,
}

impl<T: Scalar> Resample<T> {
    /// Fails if that number of resamples of a set of n p×p matrices, and their draws, would not fit into memory.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], with the amount.
    pub fn check_memory(resamples: usize, n: usize, p: usize) -> Result<(), Error> {
        super::check_memory(resamples, n, p.saturating_mul(T::PLANES))
    }
}

/// Solves sets drawn from a set, each from `b`, the answer of the whole, several at a time.
///
/// Each of `draws` says how often every matrix was drawn; its own weight counts too. Components are
/// compared by the correlation of their outputs under the mean matrix; for criteria whose matrices need not be
/// positive definite, by the cosine of their patterns. Each solve runs on one thread, so that no answer depends on
/// how many run at a time. The observer hears of their iterations, as records of a sample; if it asks to stop,
/// what has been solved until then is returned.
///
/// # Errors
/// If the settings are out of their ranges, or a draw has no weight.
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
    // A start that will not do is said before it is compared with.
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
    solve_all(draws.len(), work, each, set.threads(), &solve, observer)
}

/// The settings of a trial that starts from `b`.
pub(crate) fn settings_from<T: Scalar>(settings: &Settings, b: &Matrix<T>) -> Settings {
    settings
        .clone()
        .init(Init::given(b))
        .n_restarts(0)
        .n_resamples(0)
        .sort_by(SortBy::Contrast)
        .canonical(false)
}

/// Solves a number of trials, as many at a time as pay for the work and as there is memory for, `each` on one thread; those that were stopped on
/// the way are left out.
pub(crate) fn solve_all<T: Scalar>(
    count: usize,
    work: usize,
    each: Memory,
    threads: Option<usize>,
    solve: &Solve<'_, T>,
    observer: &mut dyn Observer<T>,
) -> Result<Vec<Resample<T>>, Error> {
    let threads = Workers::for_work(threads, work).count();
    let threads = count_that_fits(threads, each);
    let clock = Instant::now();
    let told = |k: usize, record: &Record| Record {
        start: 1 + k,
        stage: crate::report::Stage::Sample,
        seconds: clock.elapsed().as_secs_f64(),
        ..record.clone()
    };
    let job = |k: usize, tell: &mut Tell<'_, T>| {
        solve(k, &mut |record: &Record, b: &Matrix<T>| {
            tell(Some((told(k, record), b.clone())))
        })
    };
    let mut listen = |event: Option<(Record, Matrix<T>)>| match event {
        Some((record, b)) => observer.observe(&record, &b),
        None => ControlFlow::Continue(()),
    };
    let (solved, _) = jobs::run(count, threads, &job, &mut listen);
    let solved: Result<Vec<Resample<T>>, Error> = solved.into_iter().collect();
    // What was stopped on the way is no resample.
    let ended = |resample: &Resample<T>| resample.diagonalization.status != Status::Interrupted;
    Ok(solved?.into_iter().filter(ended).collect())
}

/// The solve of one of several draws, which an observer follows.
pub(crate) type Solve<'a, T> = dyn Fn(usize, &mut dyn Observer<T>) -> Outcome<T> + Sync + 'a;
/// What a job tells of its records, B in the channels.
type Tell<'a, T> = dyn FnMut(Option<(Record, Matrix<T>)>) -> ControlFlow<()> + 'a;
/// How it ended.
pub(crate) type Outcome<T> = Result<Resample<T>, Error>;
