//! Results of the experiments of the paper, and the table of results.

pub mod claims;
pub mod experiments;
pub mod figure;

use serde::Serialize;

use crate::format::{self, seconds, short};
use experiments::{Experiment, Range, Ratio, Run, Solver};

/// All measurements.
pub struct Results {
    pub experiments: Vec<Experiment>,
    pub solvers: [Solver; 4],
    pub runs: Vec<Run>,
    pub machine: String,
    pub n_jobs: usize,
}

/// One row of the table: one solver in one experiment.
#[derive(Serialize)]
pub struct Row {
    pub experiment: &'static str,
    pub solver: &'static str,
    #[serde(skip)]
    pub name: &'static str,
    pub status: &'static str,
    pub n_iter: Range,
    pub seconds: Range,
    /// Seconds to ĝ ≤ 1e-6; None if some seed did not reach it.
    pub seconds_to_goal: Option<Range>,
    pub loss: Range,
    pub gradient_norm: Range,
    pub speedup_over_pham: Ratio,
}

impl Results {
    /// Returns the runs of one solver in one experiment, one per seed.
    pub fn runs_of(&self, experiment: &str, solver: &str) -> Vec<&Run> {
        let wanted = |run: &&Run| run.experiment == experiment && run.solver == solver;
        self.runs.iter().filter(wanted).collect()
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
                let reached: Option<Vec<f64>> =
                    runs.iter().map(|run| run.seconds_to_goal).collect();
                let failed = runs.iter().find(|run| run.status != "converged");
                rows.push(Row {
                    experiment: experiment.key,
                    solver: solver.key,
                    name: solver.name,
                    status: failed.map_or("converged", |run| run.status),
                    n_iter: range(&|run| run.n_iter as f64),
                    seconds: range(&|run| run.seconds),
                    seconds_to_goal: reached.map(|times| Range::of(&times)),
                    loss: range(&|run| run.loss),
                    gradient_norm: range(&|run| run.gradient_norm),
                    speedup_over_pham: Ratio::of(&runs, &pham),
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

/// Formats one row of the table.
pub fn cells(row: &Row) -> [String; 7] {
    let goal = row.seconds_to_goal.as_ref();
    [
        row.name.to_owned(),
        row.n_iter.show(|x| format!("{x:.0}")),
        row.seconds.show(seconds),
        goal.map_or_else(|| "not reached".to_owned(), |range| range.show(seconds)),
        row.loss.show(|x| format::loss(x, 6)),
        row.gradient_norm.show(short),
        row.speedup_over_pham.show(),
    ]
}
