//! Restarts: solves from additional starting points.
//!
//! Restarts come in rounds. All solves of a round start at the best point so far with some of its
//! components mixed, and are independent of each other; if the set is small and in memory, they run
//! in parallel. A solve is stopped early if it is not expected to reach a lower loss than the best
//! one.

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

/// Number of restarts per round. Larger rounds use more threads, but benefit less from earlier
/// results.
const RESTARTS_PER_ROUND: usize = 5;
/// Multiple of the predicted decrease that a solve is expected to gain at most. In 110 solves of
/// MEG sets the actual gain was 2 to 6 times the predicted decrease while ĝ > 0.01.
const MAX_GAIN_FACTOR: f64 = 6.5;

/// The best outcome, the losses of all starts, and loss and B of the other starts if they are
/// needed for the stability.
type Solved<T> = (Outcome<T>, Vec<f64>, Vec<(f64, Matrix<T>)>);

/// Runs the restarts that the settings request.
pub(super) fn solve<T: Scalar>(
    backend: &mut dyn Backend<T>,
    settings: &Settings,
    first: Outcome<T>,
    progress: &mut Progress<'_, T>,
) -> Result<Solved<T>, Error> {
    // The stability needs all solves to run to their end.
    let measures_stability = settings.n_resamples > 0 || settings.sort_by == SortBy::Stability;
    let stops_early = !measures_stability
        && settings.method == Method::Newton
        && backend.summary().criterion == Criterion::Likelihood
        && !settings.orthogonal;
    let (mut best, mut losses, mut others) = (first, Vec::new(), Vec::new());
    losses.push(best.loss());
    while best.status != Status::Interrupted && losses.len() <= settings.n_restarts {
        let starts = losses.len()..(losses.len() + RESTARTS_PER_ROUND).min(settings.n_restarts + 1);
        progress.best_so_far = stops_early.then(|| BestSoFar {
            loss: best.loss(),
            gain_factor: MAX_GAIN_FACTOR,
        });
        // The sums of the backend will no longer be those of the best point.
        best.point = None;
        let (outcomes, stopped) = match solve_round(backend, settings, &best.b, starts, progress) {
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
    progress.best_so_far = None;
    // If solves may be stopped early, the others are not a fair sample of the local minima.
    Ok((
        best,
        losses,
        if measures_stability {
            others
        } else {
            Vec::new()
        },
    ))
}

/// Solves one round. Returns the outcomes, and whether the observer stopped the solve; then there
/// may be fewer outcomes. Solves that run in parallel may have ended before the observer receives
/// their records.
fn solve_round<T: Scalar>(
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
    let job = |k: usize, emit: &mut dyn FnMut(Option<(Record, Matrix<T>)>) -> ControlFlow<()>| {
        let mut observer = |record: &Record, b: &Matrix<T>| emit(Some((record.clone(), b.clone())));
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
    let start = stages::restart(backend, settings, best, progress)?;
    solve_from(backend, settings, start, progress)
}
