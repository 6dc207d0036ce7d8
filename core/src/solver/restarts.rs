//! Further starts.
//!
//! Starts come in rounds: all of a round begin at the best point so far, with some of its components
//! mixed, and are solved independently of each other, several at a time where a set in memory is small.
//! A start is given up where it is not expected to end lower than the best one.

use std::ops::ControlFlow;
use std::ops::Range;

use super::progress::{BestSoFar, Progress};
use super::state::Outcome;
use super::{solve_from, stages};
use crate::backend::{Backend, InMemory};
use crate::choices::{Method, SortBy};
use crate::jobs;
use crate::linalg::{Matrix, Scalar};
use crate::report::{Record, Status};
use crate::settings::Settings;
use crate::threads::Workers;
use crate::{Criterion, Error};

/// How many starts begin at the same point. More would use more threads, and know less of each other.
const ROUND: usize = 5;
/// What is left to gain for a further start, in predicted decreases: in 110 solves of MEG sets it was 2
/// to 6 times as much while ĝ > 0.01.
const REACH: f64 = 6.5;

/// The best outcome, the losses of all starts, and the outcomes of the others if they are compared.
type Solved<T> = (Outcome<T>, Vec<f64>, Vec<(f64, Matrix<T>)>);

/// Solves the further starts that the settings ask for.
pub(super) fn solve<T: Scalar>(
    backend: &mut dyn Backend<T>,
    settings: &Settings,
    first: Outcome<T>,
    progress: &mut Progress<'_, T>,
) -> Result<Solved<T>, Error> {
    // Where stability is asked for, all starts are solved to their end.
    let compared = settings.n_resamples > 0 || settings.sort_by == SortBy::Stability;
    let given_up = !compared
        && settings.method == Method::Newton
        && backend.summary().criterion == Criterion::Likelihood
        && !settings.orthogonal;
    let (mut best, mut losses, mut others) = (first, Vec::new(), Vec::new());
    losses.push(best.loss());
    while best.status != Status::Interrupted && losses.len() <= settings.n_restarts {
        let starts = losses.len()..(losses.len() + ROUND).min(settings.n_restarts + 1);
        progress.to_beat = given_up.then(|| BestSoFar {
            loss: best.loss(),
            reach: REACH,
        });
        // The backend leaves the best point.
        best.point = None;
        let (outcomes, stopped) = match round(backend, settings, &best.b, starts, progress) {
            Err(Error::Interrupted) => {
                best.status = Status::Interrupted;
                break;
            }
            // The set is numerically singular: no further start can be computed.
            Err(Error::NotPositiveDefinite { .. } | Error::Init { .. }) => break,
            solved => solved?,
        };
        for outcome in outcomes {
            losses.push(outcome.loss());
            let ended = outcome.status != Status::Interrupted;
            let other = if outcome.is_lower(&best) {
                std::mem::replace(&mut best, outcome)
            } else {
                outcome
            };
            if ended {
                others.push((other.loss(), other.b));
            }
        }
        best.point = None;
        if stopped {
            best.status = Status::Interrupted;
        }
    }
    progress.to_beat = None;
    // Starts that were given up would leave only those that agree.
    Ok((best, losses, if compared { others } else { Vec::new() }))
}

/// The outcomes of some starts that begin at the same point, and whether the observer asked to stop: then
/// they may be fewer. Starts that are solved at a time may have ended before the observer hears of them.
fn round<T: Scalar>(
    backend: &mut dyn Backend<T>,
    settings: &Settings,
    best: &Matrix<T>,
    starts: Range<usize>,
    progress: &mut Progress<'_, T>,
) -> Result<(Vec<Outcome<T>>, bool), Error> {
    let memory = backend.as_in_memory();
    let threads = memory.map_or(1, InMemory::concurrent_solves);
    let Some(set) = memory.map(InMemory::set).filter(|_| threads > 1) else {
        let mut outcomes = Vec::new();
        for start in starts {
            progress.start = start;
            outcomes.push(solve_start(backend, settings, best, progress)?);
            if outcomes
                .last()
                .is_some_and(|outcome| outcome.status == Status::Interrupted)
            {
                return Ok((outcomes, true));
            }
        }
        return Ok((outcomes, false));
    };
    let first = starts.start;
    let shared = progress.shared();
    let job = |k: usize, tell: &mut dyn FnMut(Option<(Record, Matrix<T>)>) -> ControlFlow<()>| {
        let mut observer = |record: &Record, b: &Matrix<T>| tell(Some((record.clone(), b.clone())));
        let mut backend = InMemory::with_workers(set, Workers::One);
        let progress = &mut shared.for_start(first + k, &mut observer);
        solve_start(&mut backend, settings, best, progress)
    };
    let mut observer = |event: Option<(Record, Matrix<T>)>| match event {
        Some((record, b)) => progress.forward(&record, &b),
        None => ControlFlow::Continue(()),
    };
    let (outcomes, stopped) = jobs::run(starts.len(), threads, &job, &mut observer);
    let outcomes: Result<Vec<Outcome<T>>, Error> = outcomes.into_iter().collect();
    Ok((outcomes?, stopped))
}

fn solve_start<T: Scalar>(
    backend: &mut dyn Backend<T>,
    settings: &Settings,
    best: &Matrix<T>,
    progress: &mut Progress<'_, T>,
) -> Result<Outcome<T>, Error> {
    let begun = stages::restart(backend, settings, best, progress)?;
    solve_from(backend, settings, begun, progress)
}
