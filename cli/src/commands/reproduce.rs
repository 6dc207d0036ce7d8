//! `codiag reproduce`: runs the three experiments of the paper, draws its figure and checks its
//! claims.

use std::io::Write;

use anyhow::{Context, Result};
use serde_json::json;

use crate::args::Reproduce;
use crate::export::{self, OutputFolder};
use crate::reproduction::experiments::{self, GRADIENT_GOAL};
use crate::reproduction::run::Run;
use crate::reproduction::{HEADINGS, PRINTED_COLUMNS, Results, cells, claims, figure};
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
        let own = rows.iter().filter(|row| row.experiment == experiment.key);
        let own = own.map(|row| cells(row).map(|cell| cell.to_string()));
        let lines: Vec<_> = std::iter::once(HEADINGS.map(str::to_owned))
            .chain(own)
            .map(|cells| PRINTED_COLUMNS.map(|k| cells[k].clone()))
            .collect();
        let width = |k: usize| lines.iter().map(|line| line[k].chars().count()).max();
        let widths = [0, 1, 2, 3, 4].map(|k| width(k).unwrap_or(0));
        for cells in &lines {
            let mut line = format!("  {:<1$}", cells[0], widths[0]);
            for (cell, width) in cells.iter().zip(widths).skip(1) {
                line += &format!("  {cell:>width$}");
            }
            writeln!(out, "{line}")?;
        }
    }
    writeln!(
        out,
        "\n{}Speedup: time of Pham's algorithm to ĝ ≤ {GRADIENT_GOAL:.0e} divided by the time of the solver; {} on {}.\n",
        if results.has_bands() {
            "Medians, with the smallest and the largest value in brackets. "
        } else {
            ""
        },
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
