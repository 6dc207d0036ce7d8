//! Further starts of the likelihood in memory: a few at a time, and loosely at first.
//!
//! A start begins at the best point so far, which is first taken to a minimizer of most of the matrices, chosen
//! anew each time, and from there, on all of them, to where its loss can be told from others. It is given up on the
//! way where it cannot be expected to win; only those that promise a lower loss are solved to the tolerance, and compared with the
//! best by their final losses. Where matrices are
//! left out, the minimum that the solver stands in may be none any more: it goes to another, which is close and
//! as often as not lower.
//!
//! Starts come in rounds of fixed width, and all of a round begin at the same point, so that the answer does not
//! depend on how many are under way at a time.

use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};

use super::coarse::Coarse;
use super::iteration::Beginning;
use super::progress::{Progress, Rival};
use super::{Outcome, coarse, solve, solve_from};
use crate::linalg::{Matrix, Scalar};
use crate::matrices::{InMemory, WorkingSet};
use crate::report::{Record, Status};
use crate::settings::{Method, Settings};
use crate::start::{self, SplitMix};
use crate::threads::Workers;
use crate::{Criterion, Error};

/// So many starts begin at the same point. More would use more threads, and know less of each other.
const WIDTH: usize = 5;
/// How many matrices m of n are chosen, 1/m = 1/n + 1/`LEFT_OUT`: what they say of a component differs from what all
/// of them say by as much, whatever n is. Of 100 there are 91.
const LEFT_OUT: f64 = 1000.0;
/// Of fewer matrices each counts too much.
const FEWEST: usize = 30;
/// ĝ on the chosen matrices, where the next minimum has been found.
const CHOSEN_TOLERANCE: f64 = 7e-3;
/// ĝ at which losses are compared: what is left to gain is then less than what minima differ by.
const LOOSE: f64 = 2e-3;
/// What is left to gain, in decrements: while ĝ is large it is less than that, and then it hardly matters.
const REACH: f64 = 4.0;

/// Whether further starts are raced.
pub(super) fn applies<T: Scalar>(set: &dyn WorkingSet<T>, settings: &Settings) -> bool {
    let summary = set.summary();
    settings.method == Method::Newton
        && summary.criterion == Criterion::Likelihood
        && !settings.orthogonal
        && summary.len >= FEWEST
        && set.in_memory().is_some()
}

/// The settings until it is known which start is best.
pub(super) fn loosely(settings: &Settings) -> Settings {
    settings.clone().tolerance(settings.tolerance.max(LOOSE))
}

/// Whether a start that may win is still to be solved to the tolerance.
pub(super) fn is_provisional(settings: &Settings) -> bool {
    settings.tolerance < LOOSE
}

/// The next starts, from number `next` on: how those ended that did, and whether the observer asked to stop.
pub(super) fn round<T: Scalar>(
    set: &mut dyn WorkingSet<T>,
    settings: &Settings,
    best: &Outcome<T>,
    next: usize,
    progress: &mut Progress<'_, T>,
) -> Result<(Vec<Outcome<T>>, bool), Error> {
    let starts = next..(next + WIDTH).min(settings.restarts + 1);
    let loose = &loosely(settings);
    let (loss, reach) = (best.loss(), REACH);
    progress.to_beat = Some(Rival { loss, reach });
    progress.provisional = is_provisional(settings);
    let found = match set.in_memory() {
        Some(memory) if memory.solves_at_once() > 1 => {
            together(memory, loose, &best.b, starts, progress)
        }
        _ => one_by_one(set, loose, &best.b, starts, progress),
    };
    progress.to_beat = None;
    progress.provisional = false;
    found
}

/// Whether a start, of which the quadratic model predicts the loss at its minimum, promises to end lower than the best. Where the difference
/// is less than half of the predicted decrease, both are taken to be in the same minimum.
pub(super) fn may_win<T>(other: &Outcome<T>, best: &Outcome<T>) -> bool {
    let last = other.history.last();
    let left = last.map_or(0.0, |record| record.decrement);
    other.loss() - 0.5 * left < best.loss()
}

/// From where a start was compared with others to the tolerance.
pub(super) fn finish<T: Scalar>(
    set: &mut dyn WorkingSet<T>,
    settings: &Settings,
    other: Outcome<T>,
    progress: &mut Progress<'_, T>,
) -> Result<Outcome<T>, Error> {
    let compared = matches!(other.status, Status::Converged | Status::NoFurtherDecrease);
    if !compared || !is_provisional(settings) {
        return Ok(other);
    }
    let last = other.history.last().expect("a solve records its start");
    progress.start = last.start;
    let beginning = Beginning {
        b: other.b,
        passes: last.passes,
        earlier: other.history,
    };
    solve(set, settings, beginning, progress)
}

/// One start, on a set and matrices chosen from it. Where the best point is as good for these, its components are mixed.
fn solve_start<T: Scalar>(
    set: &mut dyn WorkingSet<T>,
    chosen: Option<InMemory<T>>,
    settings: &Settings,
    best: &Matrix<T>,
    progress: &mut Progress<'_, T>,
) -> Result<Outcome<T>, Error> {
    if let Some(mut chosen) = chosen {
        let share = chosen.summary().len as f64 / set.summary().len as f64;
        let (b, tolerance) = (best.clone(), CHOSEN_TOLERANCE.max(settings.tolerance));
        let beginning = coarse::improved(&mut chosen, share, b, settings, tolerance, progress)?;
        // One pass has only shown that the best point is as good for these.
        let moved = |beginning: &Beginning<T>| beginning.passes > share;
        match beginning {
            Coarse::Start(beginning) if !moved(&beginning) => {}
            beginning => return solve_from(set, settings, beginning, progress),
        }
    }
    let to_beat = progress.to_beat;
    let reach = super::REACH;
    progress.to_beat = to_beat.map(|rival| Rival { reach, ..rival });
    let b = start::restart(set, progress.start, false, best)?;
    let outcome = solve(set, settings, Beginning::at(b), progress);
    progress.to_beat = to_beat;
    outcome
}

/// Most of the matrices, other ones for each start.
fn choose<T: Scalar>(set: &InMemory<T>, start: usize) -> Option<InMemory<T>> {
    let n = set.summary().len;
    let count = (n as f64 / (1.0 + n as f64 / LEFT_OUT)).round() as usize;
    let mut chosen = vec![false; n];
    let order = SplitMix::new(start as u64).shuffled(n);
    order[..count].iter().for_each(|&i| chosen[i] = true);
    Some(set.sample_of(|i| chosen[i])?.1)
}

fn one_by_one<T: Scalar>(
    set: &mut dyn WorkingSet<T>,
    settings: &Settings,
    best: &Matrix<T>,
    starts: Range<usize>,
    progress: &mut Progress<'_, T>,
) -> Result<(Vec<Outcome<T>>, bool), Error> {
    let mut outcomes = Vec::new();
    for start in starts {
        progress.start = start;
        let chosen = set.in_memory().and_then(|memory| choose(memory, start));
        outcomes.push(solve_start(set, chosen, settings, best, progress)?);
        if outcomes.last().is_some_and(|o| o.status == Status::Stopped) {
            return Ok((outcomes, true));
        }
    }
    Ok((outcomes, false))
}

/// What a start tells the observer, B in the channels.
type Told<T> = (Record, Matrix<T>);

/// Each on a thread and a set of its own, while the caller's tells
/// the observer what they say, one start after the other: the observer hears the same as if they were solved one by
/// one, and can stop them at any time.
fn together<T: Scalar>(
    set: &InMemory<T>,
    settings: &Settings,
    best: &Matrix<T>,
    starts: Range<usize>,
    progress: &mut Progress<'_, T>,
) -> Result<(Vec<Outcome<T>>, bool), Error> {
    let stop = &AtomicBool::new(false);
    let (tellers, heard): (Vec<_>, Vec<_>) = starts.clone().map(|_| channel::<Told<T>>()).unzip();
    let threads = set.solves_at_once().min(starts.len());
    // Held by the threads alone: once they have ended, however they did, no one waits for what is left.
    let queue = Arc::new(Mutex::new(starts.zip(tellers)));
    let branches: Vec<_> = (0..threads).map(|_| progress.trunk()).collect();
    let results = std::thread::scope(|scope| {
        let solvers: Vec<_> = branches
            .into_iter()
            .map(|trunk| {
                let queue = Arc::clone(&queue);
                scope.spawn(move || {
                    let mut solved = Vec::new();
                    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
                    while let Some((start, teller)) = next() {
                        if stop.load(Ordering::Relaxed) {
                            continue;
                        }
                        let mut tell = |record: &Record, b: &Matrix<T>| {
                            // If no one listens any more, there is nothing to tell.
                            let _ = teller.send((record.clone(), b.clone()));
                            if stop.load(Ordering::Relaxed) {
                                ControlFlow::Break(())
                            } else {
                                ControlFlow::Continue(())
                            }
                        };
                        let progress = &mut trunk.branch(start, &mut tell);
                        let mut twin = set.twin(Workers::One);
                        let chosen = choose(&twin, start);
                        let outcome = solve_start(&mut twin, chosen, settings, best, progress);
                        solved.push((start, outcome));
                    }
                    solved
                })
            })
            .collect();
        drop(queue);
        for (record, b) in heard.into_iter().flatten() {
            if !stop.load(Ordering::Relaxed) && progress.pass_on(&record, &b).is_break() {
                stop.store(true, Ordering::Relaxed);
            }
        }
        let join = |solver: std::thread::ScopedJoinHandle<'_, Vec<_>>| {
            solver
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        let mut results: Vec<_> = solvers.into_iter().flat_map(join).collect();
        // In their order, whoever solved them.
        results.sort_by_key(|(start, _)| *start);
        results
    });
    let outcomes: Result<Vec<Outcome<T>>, Error> = results.into_iter().map(|(_, o)| o).collect();
    Ok((outcomes?, stop.load(Ordering::Relaxed)))
}

#[cfg(all(test, feature = "synthetic"))]
mod tests {
    use super::*;
    use crate::synthetic;

    #[test]
    fn each_start_leaves_out_other_matrices() {
        let made = |n| InMemory::new(&synthetic::noisy(n, 2, 0.1, 0));
        for (n, count) in [(30, 29), (100, 91), (1000, 500), (4000, 800)] {
            assert_eq!(choose(&made(n), 1).unwrap().summary().len, count);
        }
        let set = made(100);
        let mean = |start| choose(&set, start).unwrap().summary().mean.clone();
        assert_eq!(mean(1), mean(1));
        assert_ne!(mean(1), mean(2));
    }

    #[test]
    fn races_need_matrices_in_memory_and_enough_of_them() {
        let applies = |n, settings: &Settings| {
            applies(&InMemory::new(&synthetic::noisy(n, 2, 0.1, 0)), settings)
        };
        let newton = Settings::default();
        assert!(applies(30, &newton) && !applies(29, &newton));
        assert!(!applies(30, &newton.clone().orthogonal(true)));
        assert!(!applies(30, &newton.method(Method::QuasiNewton)));
    }
}
