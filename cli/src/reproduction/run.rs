//! Measurement of a solver on one set.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use anyhow::Result;
use codiag::{
    Diagonalization, Evaluation, Init, Matrix, MatrixSet, Record, Settings, Stage, Status,
    diagonalize, diagonalize_with,
};
use serde::Serialize;

use super::experiments::{Experiment, GRADIENT_GOAL, Solver};
use crate::session::Interrupted;

/// Maximum time of all repetitions of a run, in seconds.
const MAX_REPEAT_SECONDS: f64 = 1.0;
/// Maximum time of all repetitions of a solver over all seeds of an experiment, in seconds.
const REPEAT_SECONDS: f64 = 3.0;
/// Maximum number of repetitions of a run.
const MAX_REPETITIONS: usize = 10;

/// Measurement of one solver on one set.
#[derive(Clone, Debug, Serialize)]
pub struct Run {
    pub experiment: &'static str,
    pub solver: &'static str,
    pub seed: usize,
    pub status: &'static str,
    pub n_iter: usize,
    pub seconds: f64,
    pub loss: f64,
    pub gradient_norm: f64,
    /// Loss of the local minimum that the run approaches.
    pub local_minimum: f64,
    /// Time at which ĝ first was at most [`GRADIENT_GOAL`]; None if it was not.
    pub seconds_to_goal: Option<f64>,
    pub repetitions: usize,
    #[serde(skip)]
    pub history: Vec<Record>,
}

impl Run {
    /// Runs the solver several times on the set of one seed. All repetitions take equal steps; the
    /// fastest time of each step is used, because other processes only slow it down.
    pub fn measure(
        experiment: &Experiment,
        seed: usize,
        solver: &Solver,
        interrupted: &AtomicBool,
    ) -> Result<Self> {
        let set = &experiment.sets[seed];
        let repeat_seconds = REPEAT_SECONDS / experiment.sets.len() as f64;
        let repeat_seconds = repeat_seconds.min(MAX_REPEAT_SECONDS);
        let mut stop_if_interrupted = |_: &Record, _: &Matrix| {
            if interrupted.load(Ordering::SeqCst) {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        };
        let mut rounded = Vec::new();
        let mut keep_rounded = |record: &Record, b: &Matrix| {
            if record.stage == Stage::Single {
                rounded.push((record.iteration, b.clone()));
            }
            stop_if_interrupted(record, b)
        };
        let clock = Instant::now();
        let mut result = solve(set, solver, &mut keep_rounded)?;
        let mut fastest = durations(&result.history);
        let mut repetitions = 1;
        while repetitions < MAX_REPETITIONS {
            let spent = clock.elapsed().as_secs_f64();
            if spent * (repetitions + 1) as f64 / repetitions as f64 > repeat_seconds {
                break;
            }
            let repeated = durations(&solve(set, solver, &mut stop_if_interrupted)?.history);
            for (step, other) in fastest.iter_mut().zip(repeated) {
                *step = step.min(other);
            }
            repetitions += 1;
        }
        let mut seconds = 0.0;
        for (record, step) in result.history.iter_mut().zip(fastest) {
            seconds += step;
            record.seconds = seconds;
        }
        evaluate_exactly(set, &mut result.history, &rounded)?;
        Ok(Self {
            experiment: experiment.key,
            solver: solver.key,
            seed,
            status: result.status.name(),
            n_iter: result.n_iter,
            seconds,
            loss: result.loss,
            gradient_norm: result.gradient_norm,
            local_minimum: local_minimum(set, &result)?,
            seconds_to_goal: result
                .history
                .iter()
                .find(|record| record.gradient_norm <= GRADIENT_GOAL)
                .map(|record| record.seconds),
            repetitions,
            history: result.history,
        })
    }
}

fn solve(
    set: &MatrixSet,
    solver: &Solver,
    observer: &mut dyn FnMut(&Record, &Matrix) -> ControlFlow<()>,
) -> Result<Diagonalization> {
    let mut observer = |record: &Record, b: &Matrix| observer(record, b);
    let result = diagonalize_with(set, &solver.settings, &mut observer)?;
    if result.status == Status::Interrupted {
        return Err(Interrupted.into());
    }
    Ok(result)
}

/// Computes the losses of iterations in single precision in double precision, so that rounding
/// errors do not hide the convergence. `points` has the number and the B of these iterations.
fn evaluate_exactly(
    set: &MatrixSet,
    history: &mut [Record],
    points: &[(usize, Matrix)],
) -> Result<()> {
    let rounded = history.iter_mut().filter(|r| r.stage == Stage::Single);
    for record in rounded {
        let point = points.iter().find(|(k, _)| *k == record.iteration);
        if let Some((_, b)) = point {
            record.loss = Evaluation::at(set, b)?.loss;
        }
    }
    Ok(())
}

/// Returns the duration of the computation of the starting point and of each step, in seconds.
fn durations(history: &[Record]) -> Vec<f64> {
    let before = std::iter::once(0.0).chain(history.iter().map(|record| record.seconds));
    let pairs = history.iter().zip(before);
    pairs
        .map(|(record, before)| record.seconds - before)
        .collect()
}

/// Returns the loss of the local minimum that a run approaches, computed by Newton steps from its
/// final point. On noisy data the loss has several local minima, and solvers end in different ones.
fn local_minimum(set: &MatrixSet, result: &Diagonalization) -> Result<f64> {
    let polish = Settings::default()
        .init(Init::Given(result.b.clone()))
        .tol(1e-12)
        .max_iter(300)
        .canonical(false);
    Ok(diagonalize(set, &polish)?.loss.min(result.loss))
}
