//! Results of the experiments of the paper, and the table of results.

pub mod band;
pub mod claims;
pub mod experiments;
pub mod figure;
pub mod run;
pub mod summary;

use serde::Serialize;

use crate::format::{self, seconds, short};
use experiments::{Experiment, Solver};
use run::Run;
use summary::{Cell, Range, Speedup, TimeToGoal};

/// All measurements.
pub struct Results {
    pub experiments: Vec<Experiment>,
    pub solvers: [Solver; 4],
    pub runs: Vec<Run>,
    pub machine: String,
    pub n_jobs: usize,
}

/// One row of the table: one solver in one experiment, with medians and ranges over seeds.
#[derive(Serialize)]
pub struct Row {
    pub experiment: &'static str,
    pub solver: &'static str,
    #[serde(skip)]
    pub name: &'static str,
    /// "converged", or the status of the first seed that did not converge.
    pub status: &'static str,
    /// Number of seeds.
    pub seeds: usize,
    pub n_iter: Range,
    pub seconds: Range,
    /// Seconds to ĝ ≤ 1e-6.
    pub seconds_to_goal: TimeToGoal,
    pub loss: Range,
    pub gradient_norm: Range,
    pub speedup_over_pham: Speedup,
}

impl Results {
    /// Returns the runs of one solver in one experiment, one per seed.
    pub fn runs_of(&self, experiment: &str, solver: &str) -> Vec<&Run> {
        let wanted = |run: &&Run| run.experiment == experiment && run.solver == solver;
        self.runs.iter().filter(wanted).collect()
    }

    /// Returns whether the figure has bands, because the experiments have several seeds.
    pub fn has_bands(&self) -> bool {
        self.experiments
            .iter()
            .any(|experiment| experiment.sets.len() > 1)
    }

    /// Describes the curves and bands of the figure.
    pub fn band_note(&self) -> Option<String> {
        let counts: Vec<String> = self
            .experiments
            .iter()
            .map(|experiment| format!("({}) {}", experiment.key, experiment.count()))
            .collect();
        self.has_bands().then(|| {
            let counts = counts.join(", ");
            format!(
                "Curves are medians, bands reach from the lower to the upper quartile: {counts}."
            )
        })
    }

    /// Computes the rows of the table.
    pub fn rows(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        for experiment in &self.experiments {
            let pham = self.runs_of(experiment.key, "pham");
            for solver in &self.solvers {
                let runs = self.runs_of(experiment.key, solver.key);
                let range = |value: &dyn Fn(&Run) -> f64| {
                    Range::of(&runs.iter().map(|run| value(run)).collect::<Vec<_>>())
                };
                let failed = runs.iter().find(|run| run.status != "converged");
                rows.push(Row {
                    experiment: experiment.key,
                    solver: solver.key,
                    name: solver.name,
                    status: failed.map_or("converged", |run| run.status),
                    seeds: runs.len(),
                    n_iter: range(&|run| run.n_iter as f64),
                    seconds: range(&|run| run.seconds),
                    seconds_to_goal: TimeToGoal::of(&runs),
                    loss: range(&|run| run.loss),
                    gradient_norm: range(&|run| run.gradient_norm),
                    speedup_over_pham: Speedup::of(&runs, &pham),
                });
            }
        }
        rows
    }
}

/// Headings of the table.
pub const HEADINGS: [&str; 7] = [
    "solver",
    "iterations",
    "time",
    "time to 1e-6",
    "final loss",
    "ĝ",
    "speedup over Pham",
];

/// Columns that are printed to the terminal; the others are only in the report.
pub const PRINTED_COLUMNS: [usize; 5] = [0, 1, 3, 4, 6];

/// Formats one row of the table.
pub fn cells(row: &Row) -> [Cell; 7] {
    [
        Cell::plain(row.name),
        row.n_iter.show(|x| format!("{x:.0}")),
        row.seconds.show(seconds),
        row.seconds_to_goal.show(row.seeds, seconds),
        row.loss.show(|x| format::loss(x, 4)),
        row.gradient_norm.show(short),
        row.speedup_over_pham.show(),
    ]
}
