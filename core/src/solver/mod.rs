//! The solvers: they alone know all stages.

mod answer;
mod coarse;
mod course;
mod newton;
mod pham;
mod quasi_newton;
mod rotation;

use std::ops::ControlFlow;
use std::time::Instant;

use crate::error::Conflict;
use crate::linalg::Matrix;
use crate::matrices::{InMemory, MatrixSet, WorkingSet};
use crate::report::{Diagonalization, Observer, Record, Status};
use crate::settings::{Method, Settings};
use crate::statistics::Statistics;
use crate::{Error, start};
use course::Course;

/// Losses nearer than this, relative to their size, differ by rounding: which of two starts is better
/// must not depend on it.
const SAME_LOSS: f64 = 1e-12;

/// Finds the B for which all B Cⁱ Bᵀ are as diagonal as can be.
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
pub fn diagonalize(set: &MatrixSet, settings: &Settings) -> Result<Diagonalization, Error> {
    diagonalize_with(set, settings, &mut |_: &Record, _: &Matrix| {
        ControlFlow::Continue(())
    })
}

/// As [`diagonalize`], with an observer that follows the iterations and may stop them.
///
/// # Errors
/// If the settings are out of their ranges.
pub fn diagonalize_with(
    set: &MatrixSet,
    settings: &Settings,
    observer: &mut dyn Observer,
) -> Result<Diagonalization, Error> {
    let mut working = InMemory::new(set);
    diagonalize_working(&mut working, settings, observer)
}

/// As [`diagonalize_with`], for matrices wherever they are.
///
/// # Errors
/// If the settings are out of their ranges, or the matrices cannot be reached any more.
pub fn diagonalize_working<S: WorkingSet>(
    set: &mut S,
    settings: &Settings,
    observer: &mut dyn Observer,
) -> Result<Diagonalization, Error> {
    settings.check()?;
    if settings.orthogonal && set.summary().reduction.is_some() {
        return Err(Error::Conflict(Conflict::OrthogonalReduced));
    }
    let clock = Instant::now();
    let begin = coarse::start(set, settings, clock)?;
    let mut outcome = solve(set, settings, begin, observer)?;
    let mut start_losses = vec![outcome.loss()];
    for k in 1..=settings.restarts {
        if outcome.status == Status::Stopped {
            break;
        }
        let other = match restart(set, settings, k, clock, observer) {
            Err(Error::Interrupted) => {
                outcome.statistics = None;
                outcome.status = Status::Stopped;
                break;
            }
            other => other?,
        };
        start_losses.push(other.loss());
        if other.loss() < outcome.loss() - SAME_LOSS * (1.0 + outcome.loss().abs()) {
            outcome = other;
        } else {
            // The working set has left the better point.
            outcome.statistics = None;
            if other.status == Status::Stopped {
                outcome.status = Status::Stopped;
            }
        }
    }
    answer::assemble(set, settings, outcome, start_losses)
}

/// The solve from a further start.
fn restart<S: WorkingSet>(
    set: &mut S,
    settings: &Settings,
    k: usize,
    clock: Instant,
    observer: &mut dyn Observer,
) -> Result<Outcome, Error> {
    let begin = Begin {
        b: start::restart(set, k, settings.orthogonal)?,
        passes: 0.0,
        clock,
    };
    solve(set, settings, begin, observer)
}

/// Where and when one solve begins.
struct Begin {
    b: Matrix,
    /// What it took to get there, in transforms of the set.
    passes: f64,
    clock: Instant,
}

/// How one solve ended.
struct Outcome {
    b: Matrix,
    /// The statistics at B, if the working set stands there.
    statistics: Option<Statistics>,
    status: Status,
    history: Vec<Record>,
}

impl Outcome {
    fn loss(&self) -> f64 {
        self.history.last().map_or(f64::INFINITY, |r| r.loss)
    }
}

fn solve<S: WorkingSet>(
    set: &mut S,
    settings: &Settings,
    begin: Begin,
    observer: &mut dyn Observer,
) -> Result<Outcome, Error> {
    let stored = settings.method == Method::Newton && newton::stores_hessian(set, settings);
    let mut course = Course::begin(set, settings, begin, observer)?;
    let status = match settings.method {
        Method::Newton => newton::run(&mut course, stored),
        Method::QuasiNewton => quasi_newton::run(&mut course),
        Method::Pham => pham::run(&mut course),
    };
    let status = match status {
        // In the middle of a sweep: the last point is still there.
        Err(Error::Interrupted) if !course.history.is_empty() => Status::Stopped,
        status => status?,
    };
    let (b, statistics, history) = course.best();
    Ok(Outcome {
        b,
        statistics,
        status,
        history,
    })
}
