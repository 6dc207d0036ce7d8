//! The experiments, the solvers, and the measurement of one on the other.

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

/// ĝ to which times are compared.
pub const GOAL: f64 = 1e-6;
/// ĝ at which a run ends: low enough to see the last stretch of each curve.
const TOLERANCE: f64 = 1e-10;
/// A run is repeated as long as all its repetitions take no longer than this.
const REPEAT_SECONDS: f64 = 1.0;
const REPETITIONS: usize = 10;

/// One column of the figure.
pub struct Experiment {
    pub key: &'static str,
    pub title: String,
    pub description: String,
    pub sets: Vec<MatrixSet>,
}

/// The experiments asked for.
pub fn experiments(args: &Reproduce) -> Result<Vec<Experiment>> {
    let (n, p) = (args.n, args.p);
    let synthetic = |sigma: f64| -> Result<Vec<MatrixSet>> {
        (0..u64::from(args.seeds))
            .map(|seed| {
                let made = Synthetic::try_new(n, p, sigma, seed)?.set();
                let made = made.with_context(|| format!("the synthetic set of seed {seed}"))?;
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
                    "{}: the paper's experiments are on real matrices, and these are complex",
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
            description: format!("the same with noise: {mixture}, plus σ² R Rᵀ with R normal"),
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

/// A method and its start.
#[derive(Clone, Debug)]
pub struct Solver {
    pub key: &'static str,
    pub name: &'static str,
    pub style: usize,
    pub settings: Settings,
}

/// The solvers compared: the paper's, its rival, and ours from the same start and from our own.
pub fn solvers(args: &Reproduce) -> [Solver; 4] {
    let settings = |method, start| {
        Settings::default()
            .method(method)
            .init(start)
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
            name: "Newton, same start",
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

/// One solver on one set.
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
    /// The minimum in whose valley the run ended: what its loss tends to.
    pub limit: f64,
    /// When ĝ first was at most the goal.
    pub seconds_to_goal: Option<f64>,
    pub repetitions: usize,
    #[serde(skip)]
    pub history: Vec<Record>,
}

impl Run {
    /// Runs the solver as often as time allows. All repetitions take the same steps, and the fastest
    /// of each step counts: what else the computer does can only make it slower.
    pub fn measure(
        experiment: &'static str,
        seed: usize,
        set: &MatrixSet,
        solver: &Solver,
        interrupted: &AtomicBool,
    ) -> Result<Self> {
        let mut listen = |_: &Record, _: &Matrix| {
            if interrupted.load(Ordering::SeqCst) {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        };
        let mut solve = || -> Result<Diagonalization> {
            let result = diagonalize_with(set, &solver.settings, &mut listen)?;
            if result.status == Status::Interrupted {
                return Err(Interrupted.into());
            }
            Ok(result)
        };
        let clock = Instant::now();
        let mut result = solve()?;
        let mut fastest = durations(&result.history);
        let mut repetitions = 1;
        while repetitions < REPETITIONS {
            let spent = clock.elapsed().as_secs_f64();
            if spent * (repetitions + 1) as f64 / repetitions as f64 > REPEAT_SECONDS {
                break;
            }
            let again = durations(&solve()?.history);
            for (step, other) in fastest.iter_mut().zip(again) {
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
            limit: limit(set, &result)?,
            seconds_to_goal: result
                .history
                .iter()
                .find(|record| record.gradient_norm <= GOAL)
                .map(|record| record.seconds),
            repetitions,
            history: result.history,
        })
    }
}

/// The seconds of the start and of each step.
fn durations(history: &[Record]) -> Vec<f64> {
    let before = std::iter::once(0.0).chain(history.iter().map(|record| record.seconds));
    let pairs = history.iter().zip(before);
    pairs
        .map(|(record, before)| record.seconds - before)
        .collect()
}

/// The loss has several local minima on noisy data, and solvers end in different ones. So the
/// distance of a loss to its minimum is measured to the minimum of its own valley, found by Newton
/// steps from where the run ended.
fn limit(set: &MatrixSet, result: &Diagonalization) -> Result<f64> {
    let polish = Settings::default()
        .init(Init::Given(result.b.clone()))
        .tol(1e-12)
        .max_iter(300)
        .canonical(false);
    let polished = diagonalize(set, &polish)?;
    let seen = result.history.iter().chain(&polished.history);
    Ok(seen.fold(f64::INFINITY, |lowest, record| lowest.min(record.loss)))
}

/// A number over several seeds.
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

    /// The median, and the range where there is one.
    pub fn show(&self, format: impl Fn(f64) -> String) -> String {
        let (middle, low, high) = (format(self.median), format(self.low), format(self.high));
        if low == high {
            middle
        } else {
            format!("{middle} [{low} – {high}]")
        }
    }
}

/// How many times faster than Pham's algorithm a run reached the goal.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind", content = "times")]
pub enum Ratio {
    /// Both reached it.
    Exactly(f64),
    /// Pham's algorithm did not, in all its time.
    MoreThan(f64),
    /// The run did not, in all its time.
    LessThan(f64),
    /// Neither did.
    Unknown,
}

impl Ratio {
    /// From the times of pairs of runs on the same sets.
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

    pub fn show(self) -> String {
        match self {
            Self::Exactly(times) => format!("{}×", two_digits(times)),
            Self::MoreThan(times) => format!("> {}×", two_digits(times)),
            Self::LessThan(times) => format!("< {}×", two_digits(times)),
            Self::Unknown => "—".to_owned(),
        }
    }

    /// "3.5× faster", "more than 2.3× faster", "1.8× slower", "cannot be said".
    pub fn describe(self) -> String {
        let faster = |times: f64| format!("{}× faster", two_digits(times));
        let slower = |times: f64| format!("{}× slower", two_digits(1.0 / times));
        match self {
            Self::Exactly(times) if (0.95..=1.05).contains(&times) => "as fast".to_owned(),
            Self::Exactly(times) if times > 1.0 => faster(times),
            Self::Exactly(times) => slower(times),
            Self::MoreThan(times) if times > 1.0 => format!("more than {}", faster(times)),
            Self::LessThan(times) if times < 1.0 => format!("more than {}", slower(times)),
            Self::MoreThan(_) | Self::LessThan(_) | Self::Unknown => "cannot be said".to_owned(),
        }
    }
}
