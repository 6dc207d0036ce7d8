//! `codiag reproduce`: runs the three experiments of the paper, draws its figure and checks its
//! claims.

use std::io::Write;

use anyhow::{Context, Result};
use serde_json::json;

use crate::args::Reproduce;
use crate::export::{self, OutputFolder};
use crate::reproduction::experiments::{self, GRADIENT_GOAL};
use crate::reproduction::run::Run;
use crate::reproduction::{HEADINGS, Results, cells, claims, figure};
use crate::{ExitStatus, Session, cpu, page, progress};

/// Runs the command.
pub fn run(args: &Reproduce, session: &mut Session<'_>) -> Result<ExitStatus> {
    let mut folder = OutputFolder::create(&args.output)?;
    let results = measure(args, session)?;
    let svg = figure::standalone(&results);
    let page = page::reproduce::render(&results);
    folder.add("figure.svg", |out| out.write_all(svg.as_bytes()))?;
    folder.add("report.html", |out| out.write_all(page.as_bytes()))?;
    folder.add("results.json", |out| {
        export::json(out, &results_json(&results))
    })?;
    folder.add("history.csv", |out| history(&results, out))?;
    folder.publish()?;
    // Printed last: a pipe that is closed early does not prevent the files.
    print(&results, session).context("standard output cannot be written")?;
    if !session.quiet {
        let report = args.output.join("report.html");
        writeln!(session.out, "\nOpen {} in a web browser.", report.display())
            .context("standard output cannot be written")?;
    }
    Ok(ExitStatus::Done)
}

fn measure(args: &Reproduce, session: &mut Session<'_>) -> Result<Results> {
    let mut results = Results {
        experiments: experiments::experiments(args)?,
        solvers: experiments::solvers(args),
        runs: Vec::new(),
        machine: cpu::description(),
        n_jobs: args.n_jobs,
    };
    let live = session.live && !session.quiet;
    let bar = live.then(progress::spinner);
    for experiment in &results.experiments {
        let (title, repeat) = (&experiment.title, experiment.repeat[0]);
        if bar.is_none() {
            session.info(&format!("{title}, {}", experiment.count()))?;
        }
        for seed in 0..experiment.sets.len() {
            for solver in &results.solvers {
                if let Some(bar) = &bar {
                    bar.set_message(format!("{title}, {repeat} {seed}: {}", solver.name));
                }
                let run = Run::measure(experiment, seed, solver, session.interrupt_flag())?;
                results.runs.push(run);
            }
        }
    }
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    Ok(results)
}

/// Prints the table and the claims.
fn print(results: &Results, session: &mut Session<'_>) -> std::io::Result<()> {
    let colors = session.colors;
    let out = &mut *session.out;
    let rows = results.rows();
    for experiment in &results.experiments {
        let heading = colors.bold(&experiment.title);
        writeln!(out, "{heading}, {}", experiment.count())?;
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
        "\nSpeedup: time of Pham's algorithm to ĝ ≤ {GRADIENT_GOAL:.0e} divided by the time of the solver; {} on {}.\n",
        crate::format::count(results.n_jobs, "thread", "threads"),
        results.machine
    )?;
    for claim in claims::claims(results) {
        let verdict = claim.verdict.name();
        let verdict = match claim.verdict {
            claims::Verdict::Holds => colors.green(verdict),
            claims::Verdict::DoesNotHold => colors.red(verdict),
            claims::Verdict::Partly | claims::Verdict::NotMeasured => colors.yellow(verdict),
        };
        writeln!(out, "{verdict}: {}\n  {}", claim.statement, claim.measured)?;
    }
    Ok(())
}

/// Builds results.json.
fn results_json(results: &Results) -> serde_json::Value {
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
        "n_jobs": results.n_jobs,
        "goal": GRADIENT_GOAL,
        "experiments": experiments,
        "table": results.rows(),
        "claims": claims::claims(results),
        "runs": results.runs,
    })
}

/// Writes history.csv: every iteration of every run.
fn history(results: &Results, out: &mut dyn Write) -> std::io::Result<()> {
    let columns = ["experiment", "solver", "seed", "loss_above_minimum"];
    let rows = results.runs.iter().flat_map(|run| {
        run.history.iter().map(move |record| {
            let labels = (
                run.experiment,
                run.solver,
                run.seed,
                record.loss - run.local_minimum,
            );
            (labels, record)
        })
    });
    export::history::write_labelled(out, &columns, rows)
}
