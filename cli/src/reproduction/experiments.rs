//! The experiments, the solvers, and the measurement of a solver in an experiment.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use codiag::synthetic::{self, Sensors, Synthetic};
use codiag::{
    Diagonalization, Init, Matrix, MatrixSet, Method, Record, SetOptions, Settings, Status,
    diagonalize, diagonalize_with,
};
use serde::Serialize;

use crate::args::{InputArgs, Reproduce};
use crate::format::{median, two_digits};
use crate::input;
use crate::number::Either;
use crate::session::Interrupted;

/// Value of ĝ at which times are compared.
pub const GRADIENT_GOAL: f64 = 1e-6;
/// Tolerance of the runs, low enough to show the asymptotic convergence.
const TOLERANCE: f64 = 1e-10;
/// Maximum total time of all repetitions of a run, in seconds.
const REPEAT_SECONDS: f64 = 1.0;
/// Maximum number of repetitions of a run.
const MAX_REPETITIONS: usize = 10;

/// An experiment: one column of the figure.
pub struct Experiment {
    pub key: &'static str,
    pub title: String,
    pub description: String,
    pub sets: Vec<MatrixSet>,
}

/// Builds the experiments.
pub fn experiments(args: &Reproduce) -> Result<Vec<Experiment>> {
    let (n, p) = (args.n, args.p);
    let synthetic = |sigma: f64| -> Result<Vec<MatrixSet>> {
        (0..u64::from(args.seeds))
            .map(|seed| {
                let made = Synthetic::try_new(n, p, sigma, seed)?.set();
                let made = made.with_context(|| format!("synthetic set of seed {seed}"))?;
                Ok(made.with_n_jobs(args.n_jobs))
            })
            .collect()
    };
    let (recorded, name) = if let Some(path) = &args.recording {
        let source = InputArgs {
            input: vec![path.clone()],
            key: None,
        };
        match input::open(&source, &mut std::io::empty())? {
            Either::Real(matrices) => matrices.into_set(&SetOptions::default())?,
            Either::Complex(matrices) => {
                bail!(
                    "{}: reproduce requires real matrices, but these are complex",
                    matrices.name
                )
            }
        }
    } else {
        let data = synthetic::meg(Sensors::Magnetometers);
        let p = 40;
        let set = MatrixSet::new(&data, data.len() / (p * p), p)?;
        (set, "MEG magnetometers".to_owned())
    };
    let recorded = recorded.with_n_jobs(args.n_jobs);
    let (recorded_n, recorded_p) = (recorded.len(), recorded.dimension());
    let description = if args.recording.is_some() {
        format!("{recorded_n} matrices of {recorded_p} × {recorded_p} from {name}")
    } else {
        format!(
            "covariances of {recorded_n} segments of 0.24 s of a magnetoencephalography recording (the MNE \
             sample data, magnetometers), reduced to {recorded_p} components"
        )
    };
    let mixture = "A Λ Aᵀ with A normal and Λ uniform on (0, 1)";
    Ok(vec![
        Experiment {
            key: "a",
            title: "(a) σ = 0".to_owned(),
            description: format!(
                "{n} matrices of {p} × {p} that can be diagonalized exactly: {mixture}"
            ),
            sets: synthetic(0.0)?,
        },
        Experiment {
            key: "b",
            title: "(b) σ = 0.1".to_owned(),
            description: format!(
                "{n} matrices of {p} × {p} with noise: {mixture}, plus σ² R Rᵀ with R normal"
            ),
            sets: synthetic(0.1)?,
        },
        Experiment {
            key: "c",
            title: format!("(c) {name}"),
            description,
            sets: vec![recorded],
        },
    ])
}

/// A method and its starting point.
#[derive(Clone, Debug)]
pub struct Solver {
    pub key: &'static str,
    pub name: &'static str,
    pub style: usize,
    pub settings: Settings,
}

/// Returns the solvers: the quasi-Newton method of the paper, Pham's algorithm, and Newton's method
/// from the whitener and from the spectral start.
pub fn solvers(args: &Reproduce) -> [Solver; 4] {
    let settings = |method, init| {
        Settings::default()
            .method(method)
            .init(init)
            .tol(TOLERANCE)
            .max_iter(args.max_iter)
    };
    [
        Solver {
            key: "quasi-newton",
            name: "quasi-Newton (the paper)",
            style: 0,
            settings: settings(Method::QuasiNewton, Init::Whitener),
        },
        Solver {
            key: "pham",
            name: "Pham (2001)",
            style: 1,
            settings: settings(Method::Pham, Init::Whitener),
        },
        Solver {
            key: "newton-whitener",
            name: "Newton, whitener start",
            style: 2,
            settings: settings(Method::Newton, Init::Whitener),
        },
        Solver {
            key: "newton",
            name: "Newton, spectral start (codiag)",
            style: 3,
            settings: settings(Method::Newton, Init::Spectral),
        },
    ]
}

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
    /// Runs the solver several times. All repetitions take equal steps; the fastest time of each
    /// step is used, because other processes only slow it down.
    pub fn measure(
        experiment: &'static str,
        seed: usize,
        set: &MatrixSet,
        solver: &Solver,
        interrupted: &AtomicBool,
    ) -> Result<Self> {
        let mut stop_if_interrupted = |_: &Record, _: &Matrix| {
            if interrupted.load(Ordering::SeqCst) {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        };
        let mut solve = || -> Result<Diagonalization> {
            let result = diagonalize_with(set, &solver.settings, &mut stop_if_interrupted)?;
            if result.status == Status::Interrupted {
                return Err(Interrupted.into());
            }
            Ok(result)
        };
        let clock = Instant::now();
        let mut result = solve()?;
        let mut fastest = durations(&result.history);
        let mut repetitions = 1;
        while repetitions < MAX_REPETITIONS {
            let spent = clock.elapsed().as_secs_f64();
            if spent * (repetitions + 1) as f64 / repetitions as f64 > REPEAT_SECONDS {
                break;
            }
            let repeated = durations(&solve()?.history);
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
        Ok(Self {
            experiment,
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
    let polished = diagonalize(set, &polish)?;
    let seen = result.history.iter().chain(&polished.history);
    Ok(seen.fold(f64::INFINITY, |lowest, record| lowest.min(record.loss)))
}

/// Median and range of a number over seeds.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Range {
    pub median: f64,
    pub low: f64,
    pub high: f64,
}

impl Range {
    pub fn of(values: &[f64]) -> Self {
        Self {
            median: median(values),
            low: values.iter().fold(f64::INFINITY, |m, x| m.min(*x)),
            high: values.iter().fold(f64::NEG_INFINITY, |m, x| m.max(*x)),
        }
    }

    /// Formats the median and, if values differ, the range.
    pub fn show(&self, format: impl Fn(f64) -> String) -> String {
        let (median, low, high) = (format(self.median), format(self.low), format(self.high));
        if low == high {
            median
        } else {
            format!("{median} [{low} – {high}]")
        }
    }
}

/// Time of Pham's algorithm to the goal divided by the time of another solver.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind", content = "times")]
pub enum Ratio {
    /// Both reached the goal.
    Exactly(f64),
    /// Only the other solver reached the goal; lower bound.
    MoreThan(f64),
    /// Only Pham's algorithm reached the goal; upper bound.
    LessThan(f64),
    /// Neither reached the goal.
    Unknown,
}

impl Ratio {
    /// Computes the ratio of the median times of runs on equal sets.
    pub fn of(runs: &[&Run], pham: &[&Run]) -> Self {
        let time = |runs: &[&Run]| {
            let reached = runs.iter().all(|run| run.seconds_to_goal.is_some());
            let seconds: Vec<f64> = runs
                .iter()
                .map(|run| run.seconds_to_goal.unwrap_or(run.seconds))
                .collect();
            (median(&seconds), reached)
        };
        let ((own, reached), (its, pham_reached)) = (time(runs), time(pham));
        match (reached, pham_reached) {
            (true, true) => Self::Exactly(its / own),
            (true, false) => Self::MoreThan(its / own),
            (false, true) => Self::LessThan(its / own),
            (false, false) => Self::Unknown,
        }
    }

    /// Formats the ratio: "3.5×", "> 2.3×".
    pub fn show(self) -> String {
        match self {
            Self::Exactly(times) => format!("{}×", two_digits(times)),
            Self::MoreThan(times) => format!("> {}×", two_digits(times)),
            Self::LessThan(times) => format!("< {}×", two_digits(times)),
            Self::Unknown => "—".to_owned(),
        }
    }

    /// Describes the ratio: "3.5× faster", "more than 2.3× faster", "1.8× slower", "not
    /// determined".
    pub fn describe(self) -> String {
        let faster = |times: f64| format!("{}× faster", two_digits(times));
        let slower = |times: f64| format!("{}× slower", two_digits(1.0 / times));
        match self {
            Self::Exactly(times) if (0.95..=1.05).contains(&times) => "equally fast".to_owned(),
            Self::Exactly(times) if times > 1.0 => faster(times),
            Self::Exactly(times) => slower(times),
            Self::MoreThan(times) if times > 1.0 => format!("more than {}", faster(times)),
            Self::LessThan(times) if times < 1.0 => format!("more than {}", slower(times)),
            Self::MoreThan(_) | Self::LessThan(_) | Self::Unknown => "not determined".to_owned(),
        }
    }
}
