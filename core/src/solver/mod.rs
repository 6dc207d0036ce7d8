//! The solvers: they alone know all stages.

mod answer;
mod coarse;
mod iteration;
mod jacobi;
mod least_squares;
mod newton;
mod pham;
mod progress;
mod quasi_newton;
mod race;
mod radius;
mod rotation;

use std::ops::ControlFlow;

use crate::error::Conflict;
use crate::linalg::{Matrix, Scalar};
use crate::matrices::{InMemory, MatrixSet, WorkingSet, needs};
use crate::report::{Diagonalization, Observer, Record, Status};
use crate::settings::{Method, Order, Settings};
use crate::stability::{self, Stability};
use crate::statistics::Statistics;
use crate::{Criterion, Error};
use coarse::Coarse;
use iteration::{Beginning, Iteration, Step};
use progress::{Progress, Rival};

/// Losses nearer than this, relative to their size, differ by rounding: which of two starts is better
/// must not depend on it.
pub(crate) const SAME_LOSS: f64 = 1e-12;

/// What is left to gain for a start with mixed components, in decrements: while ĝ > 0.01 it was 2 to 6 times as much in 110
/// solves of MEG sets; and then it hardly matters.
const REACH: f64 = 6.5;

/// Finds the B for which all B Cⁱ Bᴴ are as diagonal as can be.
///
/// ```
/// use codiag::{Settings, diagonalize, synthetic};
/// let made = synthetic::Synthetic::new(50, 8, 0.0, 1);
/// let answer = diagonalize(&made.set()?, &Settings::default())?;
/// assert!(answer.status.converged());
/// assert!(synthetic::amari_distance(&answer.b, &made.mixing) < 1e-8);
/// # Ok::<(), codiag::Error>(())
/// ```
///
/// # Errors
/// If the settings are out of their ranges. Not converging is no error, but a [`Status`].
pub fn diagonalize<T: Scalar>(
    set: &MatrixSet<T>,
    settings: &Settings,
) -> Result<Diagonalization<T>, Error> {
    diagonalize_with(set, settings, &mut |_: &Record, _: &Matrix<T>| {
        ControlFlow::Continue(())
    })
}

/// As [`diagonalize`], with an observer that follows the iterations and may stop them.
///
/// ```
/// use std::ops::ControlFlow;
/// use codiag::{Matrix, Record, Settings, Start, Status, diagonalize, diagonalize_with, synthetic};
/// let set = synthetic::noisy(50, 8, 0.3, 0);
/// let mut last = None;
/// let mut observer = |record: &Record, b: &Matrix| {
///     last = Some(b.clone());
///     if record.iteration == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
/// };
/// let answer = diagonalize_with(&set, &Settings::default(), &mut observer)?;
/// assert_eq!(answer.status, Status::Stopped);
///
/// // What an observer has seen can go on later.
/// let start = Start::Given(last.expect("the start is observed too"));
/// assert!(diagonalize(&set, &Settings::default().start(start))?.status.converged());
/// # Ok::<(), codiag::Error>(())
/// ```
///
/// # Errors
/// If the settings are out of their ranges.
pub fn diagonalize_with<T: Scalar>(
    set: &MatrixSet<T>,
    settings: &Settings,
    observer: &mut dyn Observer<T>,
) -> Result<Diagonalization<T>, Error> {
    let (n, p) = (set.len(), set.dimension());
    settings.check(set.criterion())?;
    needs::check_solve::<T>(n, p)?;
    stability::check_memory(settings.stability, n, p)?;
    let (mut answer, others) = solve_starts(&mut InMemory::new(set), settings, observer)?;
    stability::assess(set, settings, &mut answer, &others, observer)?;
    Ok(answer)
}

/// As [`diagonalize_with`], for matrices wherever they are.
///
/// ```
/// use std::ops::ControlFlow;
/// use codiag::working::{InMemory, diagonalize_working};
/// use codiag::{Matrix, Record, Settings, synthetic};
/// let set = synthetic::noisy(50, 8, 0.3, 0);
/// let mut observer = |_: &Record, _: &Matrix| ControlFlow::Continue(());
/// let answer = diagonalize_working(&mut InMemory::new(&set), &Settings::default(), &mut observer)?;
/// assert!(answer.status.converged());
/// # Ok::<(), codiag::Error>(())
/// ```
///
/// # Errors
/// If the settings are out of their ranges, or the matrices cannot be reached any more.
pub fn diagonalize_working<T: Scalar>(
    set: &mut dyn WorkingSet<T>,
    settings: &Settings,
    observer: &mut dyn Observer<T>,
) -> Result<Diagonalization<T>, Error> {
    if settings.stability > 0 {
        return Err(Error::Conflict(Conflict::StabilityNotInMemory));
    }
    let (mut answer, others) = solve_starts(set, settings, observer)?;
    let trials = stability::of_starts(set.summary(), &answer, &others);
    answer.stability = Stability::of(&trials, trials.len());
    if settings.order == Order::Stability {
        answer.order_by_stability();
    }
    Ok(answer)
}

/// An answer, and what other starts led to: their losses, and B in the coordinates of the set.
type Answers<T> = (Diagonalization<T>, Vec<(f64, Matrix<T>)>);

/// The best answer of all starts, and the others.
fn solve_starts<T: Scalar>(
    set: &mut dyn WorkingSet<T>,
    settings: &Settings,
    observer: &mut dyn Observer<T>,
) -> Result<Answers<T>, Error> {
    let criterion = set.summary().criterion;
    settings.check(criterion)?;
    let orthogonal = settings.orthogonal || criterion.requires_rotations();
    let settings = &settings.clone().orthogonal(orthogonal);
    let reduction = set.summary().reduction.as_ref();
    if orthogonal && reduction.is_some_and(|reduction| !reduction.rotates()) {
        return Err(Error::Conflict(Conflict::OrthogonalReduced));
    }
    let progress = &mut Progress::new(set.summary(), observer);
    // Where stability is asked for, all starts are followed to their end; else those that cannot be
    // expected to win are given up.
    let compared = settings.stability > 0 || settings.order == Order::Stability;
    if settings.restarts > 0 && !compared && race::applies(set, settings) {
        return Ok((race(set, settings, progress)?, Vec::new()));
    }
    let given_up = !compared
        && settings.method == Method::Newton
        && criterion == Criterion::Likelihood
        && !settings.orthogonal;
    let beginning = coarse::start(set, settings, progress)?;
    let mut best = solve_from(set, settings, beginning, progress)?;
    let mut start_losses = vec![best.loss()];
    let mut others = Vec::new();
    while best.status != Status::Stopped && start_losses.len() <= settings.restarts {
        progress.start = start_losses.len();
        progress.to_beat = given_up.then(|| Rival {
            loss: best.loss(),
            reach: REACH,
        });
        let other = match solve_again(set, settings, &best.b, progress) {
            Err(Error::Interrupted) => {
                best.statistics = None;
                best.status = Status::Stopped;
                break;
            }
            // What rounding has left of the set allows for no other start.
            Err(Error::NotPositiveDefinite { .. } | Error::Start { .. }) => {
                best.statistics = None;
                break;
            }
            other => other?,
        };
        start_losses.push(other.loss());
        let stopped = other.status == Status::Stopped;
        if other.is_lower(&best) {
            let before = std::mem::replace(&mut best, other);
            others.push((before.loss(), before.b));
        } else {
            // The working set has left the better point.
            best.statistics = None;
            if stopped {
                best.status = Status::Stopped;
            } else {
                others.push((other.loss(), other.b));
            }
        }
    }
    let answer = answer::assemble(set, settings, best, start_losses)?;
    // Starts that were given up would leave only those that agree.
    Ok((answer, if compared { others } else { Vec::new() }))
}

/// The best answer of all starts: the first, as it would be without the others, and those that end lower.
fn race<T: Scalar>(
    set: &mut dyn WorkingSet<T>,
    settings: &Settings,
    progress: &mut Progress<'_, T>,
) -> Result<Diagonalization<T>, Error> {
    let beginning = coarse::start(set, settings, progress)?;
    let mut best = solve_from(set, settings, beginning, progress)?;
    let mut start_losses = vec![best.loss()];
    while best.status != Status::Stopped && start_losses.len() <= settings.restarts {
        let next = start_losses.len();
        // The working set leaves the best point.
        best.statistics = None;
        let (outcomes, mut stopped) = match race::round(set, settings, &best, next, progress) {
            // What rounding has left of the set allows for no other start.
            Err(Error::NotPositiveDefinite { .. } | Error::Start { .. }) => break,
            found => found?,
        };
        for mut outcome in outcomes {
            if !stopped && race::may_win(&outcome, &best) {
                outcome = race::finish(set, settings, outcome, progress)?;
                stopped = outcome.status == Status::Stopped;
            }
            start_losses.push(outcome.loss());
            if outcome.is_lower(&best) {
                best = outcome;
                // The working set may stand elsewhere.
                best.statistics = None;
            }
        }
        if stopped {
            best.status = Status::Stopped;
        }
    }
    answer::assemble(set, settings, best, start_losses)
}

/// How one solve ended.
struct Outcome<T> {
    b: Matrix<T>,
    /// The statistics at B, if the working set stands there.
    statistics: Option<Statistics<T>>,
    status: Status,
    history: Vec<Record>,
}

impl<T> Outcome<T> {
    fn loss(&self) -> f64 {
        self.history.last().map_or(f64::INFINITY, |r| r.loss)
    }

    /// Whether it is better than another, by more than rounding.
    fn is_lower(&self, other: &Self) -> bool {
        self.loss() < other.loss() - SAME_LOSS * (1.0 + other.loss().abs())
    }
}

/// The solve from a further start.
fn solve_again<T: Scalar>(
    set: &mut dyn WorkingSet<T>,
    settings: &Settings,
    best: &Matrix<T>,
    progress: &mut Progress<'_, T>,
) -> Result<Outcome<T>, Error> {
    let beginning = coarse::restart(set, settings, best, progress)?;
    solve_from(set, settings, beginning, progress)
}

/// The solve from a start, unless it was to stop there.
fn solve_from<T: Scalar>(
    set: &mut dyn WorkingSet<T>,
    settings: &Settings,
    beginning: Coarse<T>,
    progress: &mut Progress<'_, T>,
) -> Result<Outcome<T>, Error> {
    match beginning {
        Coarse::Start(beginning) => solve(set, settings, beginning, progress),
        Coarse::Stopped(beginning) => stand(set, settings, beginning, progress),
    }
}

fn solve<T: Scalar>(
    set: &mut dyn WorkingSet<T>,
    settings: &Settings,
    beginning: Beginning<T>,
    progress: &mut Progress<'_, T>,
) -> Result<Outcome<T>, Error> {
    let mut method = stepper(set, settings);
    let mut iteration = Iteration::begin(set, settings, beginning, progress)?;
    let status = match iterate(&mut iteration, &mut *method) {
        // In the middle of a pass: the last point is still there.
        Err(Error::Interrupted) if !iteration.history.is_empty() => Status::Stopped,
        status => status?,
    };
    Ok(ended(iteration, status))
}

/// A solve that was stopped before its first step on the whole set: its start, measured.
fn stand<T: Scalar>(
    set: &mut dyn WorkingSet<T>,
    settings: &Settings,
    beginning: Beginning<T>,
    progress: &mut Progress<'_, T>,
) -> Result<Outcome<T>, Error> {
    let mut iteration = Iteration::begin(set, settings, beginning, progress)?;
    iteration.record(Step::START);
    Ok(ended(iteration, Status::Stopped))
}

fn ended<T: Scalar>(iteration: Iteration<'_, '_, T>, status: Status) -> Outcome<T> {
    let (b, statistics, history) = iteration.best();
    Outcome {
        b,
        statistics,
        status,
        history,
    }
}

/// What a method does at each iteration.
trait Stepper<T: Scalar> {
    /// Moves to a better point; None if there is none to be found.
    fn step(&mut self, iteration: &mut Iteration<'_, '_, T>) -> Result<Option<Step>, Error>;
}

fn stepper<T: Scalar>(set: &mut dyn WorkingSet<T>, settings: &Settings) -> Box<dyn Stepper<T>> {
    match settings.method {
        Method::Newton if set.summary().criterion.fits_originals() => {
            Box::new(least_squares::GaussNewton::new(set, settings))
        }
        Method::Newton => Box::new(newton::Newton::new(set, settings)),
        Method::QuasiNewton => Box::new(quasi_newton::QuasiNewton),
        Method::Pham => Box::new(pham::Pham),
        Method::Jacobi => Box::new(jacobi::Jacobi),
        Method::Acdc => Box::new(least_squares::Acdc::new(set)),
        Method::Uwedge | Method::Ffdiag => Box::new(least_squares::Wedge),
    }
}

/// The loop of all methods.
fn iterate<T: Scalar>(
    iteration: &mut Iteration<'_, '_, T>,
    method: &mut dyn Stepper<T>,
) -> Result<Status, Error> {
    let mut step = iteration.first;
    loop {
        iteration.refresh()?;
        iteration.confirm()?;
        if iteration.is_lost() {
            return Ok(iteration.verdict(Status::NoFurtherDecrease));
        }
        iteration.record(step);
        iteration.observe();
        if let Some(status) = iteration.status() {
            return Ok(iteration.verdict(status));
        }
        let found = match method.step(iteration)? {
            // Rounding may have been in the way.
            None if iteration.leave_single()? => method.step(iteration)?,
            found => found,
        };
        step = match found {
            Some(step) => step,
            None => return Ok(iteration.verdict(Status::NoFurtherDecrease)),
        };
    }
}
