//! `codiag reproduce`: the paper's three experiments, its figure, and which of its claims hold.

pub mod claims;
pub mod experiments;
pub mod figure;

use std::io::Write;

use anyhow::{Context, Result};
use serde::Serialize;
use serde_json::json;

use crate::args::Reproduce;
use crate::export::{self, Folder};
use crate::figure::png;
use crate::words::{seconds, small};
use crate::{Outcome, Session, machine, page, progress};
use experiments::{Experiment, GOAL, Range, Ratio, Run, Solver};

/// All that was measured.
pub struct Results {
    pub experiments: Vec<Experiment>,
    pub solvers: [Solver; 4],
    pub runs: Vec<Run>,
    pub machine: String,
    pub threads: usize,
}

/// One line of the table.
#[derive(Serialize)]
pub struct Row {
    pub experiment: &'static str,
    pub solver: &'static str,
    #[serde(skip)]
    pub name: &'static str,
    pub status: &'static str,
    pub iterations: Range,
    pub seconds: Range,
    /// Seconds to ĝ ≤ 1e-6, where all seeds reached it.
    pub seconds_to_goal: Option<Range>,
    pub loss: Range,
    pub gradient_norm: Range,
    pub ratio_to_pham: Ratio,
}

impl Results {
    /// The runs of one solver in one experiment, one a seed.
    pub fn runs_of(&self, experiment: &str, solver: &str) -> Vec<&Run> {
        let wanted = |run: &&Run| run.experiment == experiment && run.solver == solver;
        self.runs.iter().filter(wanted).collect()
    }

    /// The table.
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
                    iterations: range(&|run| run.iterations as f64),
                    seconds: range(&|run| run.seconds),
                    seconds_to_goal: reached.map(|times| Range::of(&times)),
                    loss: range(&|run| run.loss),
                    gradient_norm: range(&|run| run.gradient_norm),
                    ratio_to_pham: Ratio::of(&runs, &pham),
                });
            }
        }
        rows
    }
}

/// Measures, prints, writes.
pub fn run(args: &Reproduce, session: &mut Session<'_>) -> Result<Outcome> {
    let mut folder = Folder::create(&args.output)?;
    let results = measure(args, session)?;
    let svg = figure::standalone(&results);
    let page = page::paper::render(&results);
    folder.add("figure.svg", |out| out.write_all(svg.as_bytes()))?;
    let picture = png::render(&svg, 2.0)?;
    folder.add("figure.png", |out| out.write_all(&picture))?;
    folder.add("report.html", |out| out.write_all(page.as_bytes()))?;
    folder.add("results.json", |out| export::json(out, &document(&results)))?;
    folder.add("history.csv", |out| history(&results, out))?;
    folder.publish()?;
    // Last, so that a reader who closes the pipe early loses no file.
    print(&results, session).context("standard output cannot be written")?;
    if !session.quiet {
        let place = args.output.join("report.html");
        writeln!(session.out, "\nTo look at: {}", place.display())?;
    }
    Ok(Outcome::Done)
}

fn measure(args: &Reproduce, session: &mut Session<'_>) -> Result<Results> {
    let mut results = Results {
        experiments: experiments::experiments(args)?,
        solvers: experiments::solvers(args),
        runs: Vec::new(),
        machine: machine::description(),
        threads: args.threads,
    };
    let live = session.live && !session.quiet;
    let bar = live.then(progress::bar);
    for experiment in &results.experiments {
        for (seed, set) in experiment.sets.iter().enumerate() {
            for solver in &results.solvers {
                let text = format!("{}, seed {seed}: {}", experiment.title, solver.name);
                match &bar {
                    Some(bar) => bar.set_message(text),
                    None => session.remark(&text)?,
                }
                let run = Run::measure(experiment.key, seed, set, solver, session.interruption())?;
                results.runs.push(run);
            }
        }
    }
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    Ok(results)
}

/// The table, for a terminal.
fn print(results: &Results, session: &mut Session<'_>) -> std::io::Result<()> {
    let paint = session.paint;
    let out = &mut *session.out;
    let rows = results.rows();
    for experiment in &results.experiments {
        writeln!(out, "{}", paint.bold(&experiment.title))?;
        let cells: Vec<[String; 7]> = std::iter::once(HEADINGS.map(str::to_owned))
            .chain(
                rows.iter()
                    .filter(|row| row.experiment == experiment.key)
                    .map(cells),
            )
            .collect();
        let width = |k: usize| cells.iter().map(|row| row[k].chars().count()).max();
        let widths: Vec<usize> = (0..HEADINGS.len()).map(|k| width(k).unwrap_or(0)).collect();
        for row in &cells {
            let mut line = format!("  {:<1$}", row[0], widths[0]);
            for k in 1..HEADINGS.len() {
                line += &format!("  {:>1$}", row[k], widths[k]);
            }
            writeln!(out, "{line}")?;
        }
    }
    writeln!(
        out,
        "\nSeconds to ĝ ≤ {GOAL:.0e} are compared with Pham's; {} on {}.\n",
        crate::words::count(results.threads, "thread", "threads"),
        results.machine
    )?;
    for claim in claims::claims(results) {
        let verdict = claim.verdict.name();
        let verdict = match claim.verdict {
            claims::Verdict::Holds => paint.green(verdict),
            claims::Verdict::DoesNotHold => paint.red(verdict),
            claims::Verdict::Partly | claims::Verdict::NotMeasured => paint.yellow(verdict),
        };
        writeln!(out, "{verdict}: {}\n  {}", claim.statement, claim.measured)?;
    }
    Ok(())
}

/// The headings of the table.
pub const HEADINGS: [&str; 7] = [
    "solver",
    "iterations",
    "time",
    "time to 1e-6",
    "final loss",
    "ĝ",
    "ratio to Pham",
];

/// One line of the table, as text.
pub fn cells(row: &Row) -> [String; 7] {
    let goal = row.seconds_to_goal.as_ref();
    [
        row.name.to_owned(),
        row.iterations.show(|x| format!("{x:.0}")),
        row.seconds.show(seconds),
        goal.map_or_else(|| "not reached".to_owned(), |range| range.show(seconds)),
        row.loss.show(|x| crate::words::loss(x, 6)),
        row.gradient_norm.show(small),
        row.ratio_to_pham.show(),
    ]
}

/// results.json.
fn document(results: &Results) -> serde_json::Value {
    let experiments: Vec<_> = results
        .experiments
        .iter()
        .map(|experiment| {
            json!({
                "key": experiment.key,
                "title": experiment.title,
                "description": experiment.description,
                "matrices": experiment.sets.first().map(codiag::MatrixSet::len),
                "size": experiment.sets.first().map(codiag::MatrixSet::channels),
                "seeds": experiment.sets.len(),
            })
        })
        .collect();
    json!({
        "codiag": env!("CARGO_PKG_VERSION"),
        "machine": results.machine,
        "threads": results.threads,
        "goal": GOAL,
        "experiments": experiments,
        "table": results.rows(),
        "claims": claims::claims(results),
        "runs": results.runs,
    })
}

/// history.csv: every point of every curve.
fn history(results: &Results, out: &mut dyn Write) -> std::io::Result<()> {
    writeln!(
        out,
        "experiment,solver,seed,loss_above_minimum,{}",
        export::csv::COLUMNS
    )?;
    for run in &results.runs {
        for record in &run.history {
            writeln!(
                out,
                "{},{},{},{:.6e},{}",
                run.experiment,
                run.solver,
                run.seed,
                record.loss - run.limit,
                export::csv::row(record)
            )?;
        }
    }
    Ok(())
}
