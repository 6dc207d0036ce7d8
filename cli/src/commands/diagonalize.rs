//! `codiag diagonalize`: from a file of matrices to B, and a report that can be shown.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, anyhow, ensure};
use codiag::{Diagonalization, MatrixSet, Rank, SetOptions, Settings, Status, diagonalize_with};
use serde::Serialize;
use serde_json::{Value, json};

use super::{refuse_terminal, write_npy};
use crate::args::{Diagonalize, Solver};
use crate::export::{self, Folder};
use crate::input::{self, Matrices, in_our_words};
use crate::page::solve::{self, Solve};
use crate::progress::{Checkpoint, Follower};
use crate::words::{self, small};
use crate::{Outcome, Session};

/// Γ_ab Γ_ba − 1 below this: two components are hardly told apart.
const HARDLY_APART: f64 = 1e-2;
/// Condition numbers of B above this cost digits.
const ILL_CONDITIONED: f64 = 1e8;

/// Reads, solves, reports and writes.
pub fn run(args: &Diagonalize, session: &mut Session<'_>) -> Result<Outcome> {
    let to_stdout = args.output.as_deref() == Some(Path::new("-"));
    ensure!(
        !(to_stdout && args.json),
        "-o - and --json both want standard output: choose one"
    );
    if to_stdout {
        refuse_terminal(session)?;
    }
    let settings = Settings {
        orthogonal: args.orthogonal,
        ..args.solver.settings()?
    };
    let mut folder = match &args.output {
        Some(path) if !to_stdout => Some(Folder::create(path)?),
        _ => None,
    };
    let options = SetOptions {
        weights: args.weights.as_deref().map(input::list_file).transpose()?,
        rank: args.rank.unwrap_or_default(),
        shrinkage: args.shrinkage,
        threads: args.solver.threads,
    };
    let (set, name) = Matrices::of_session(&args.source, session)?.into_set(&options)?;

    let clock = Instant::now();
    let answer = solve(args, &settings, &set, session)?;
    let seconds = clock.elapsed().as_secs_f64();

    let warnings = warnings(&answer, "--rank");
    let report = report(args, &settings, &name, &set, &answer, &warnings, seconds);
    if let Some(folder) = &mut folder {
        stage(folder, &answer, &report)?;
        let page = solve::render(&Solve {
            input: &name,
            set: &set,
            answer: &answer,
            method: settings.method.name(),
            tolerance: settings.tolerance,
            seconds,
            warnings: &warnings,
        });
        folder.add("report.html", |out| out.write_all(page.as_bytes()))?;
    }
    if let Some(folder) = folder {
        folder.publish()?;
    }
    for warning in &warnings {
        session.warn(warning)?;
    }
    if to_stdout {
        let shape = [answer.b.rows(), answer.b.columns()];
        write_npy(session, Path::new("-"), &shape, answer.b.as_slice())?;
    } else if args.json {
        export::print_json(session.out, &report)?;
    } else if !session.quiet {
        summarize(args, &name, &set, &answer, seconds, session)?;
    }
    let place = args.output.as_deref();
    conclude(place, args.solver.tol, "B", &answer, session)
}

fn solve(
    args: &Diagonalize,
    settings: &Settings,
    set: &MatrixSet,
    session: &mut Session<'_>,
) -> Result<Diagonalization> {
    let checkpoint = args.checkpoint.clone().map(|path| Checkpoint {
        path,
        every: args.checkpoint_every,
    });
    let mut follower = Follower::new(session, Some(set), settings.tolerance, checkpoint);
    let answer = diagonalize_with(set, settings, &mut follower);
    follower.finish();
    if let Some(failure) = follower.failure {
        return Err(failure);
    }
    answer.map_err(|error| {
        let name = match start_at_fault(&args.solver, &error) {
            Some(start) => format!("{start}: "),
            None => String::new(),
        };
        anyhow!("{name}{}", in_our_words(&error))
    })
}

/// The start, if that is what is wrong.
pub(super) fn start_at_fault<'a>(solver: &'a Solver, error: &codiag::Error) -> Option<&'a str> {
    match error {
        codiag::Error::StartShape { .. } | codiag::Error::StartSingular { .. } => {
            Some(&solver.start)
        }
        _ => None,
    }
}

/// What the result's user should know, in plain words; `fewer` is the option that reduces dimensions.
pub(super) fn warnings(answer: &Diagonalization, fewer: &str) -> Vec<String> {
    let mut warnings = Vec::new();
    if answer.powers.rows() == 1 {
        warnings.push(
            "there is only one matrix: many bases diagonalise it, and this one is arbitrary"
                .to_owned(),
        );
    } else if let Some(found) = answer.identifiability
        && found.margin < HARDLY_APART
    {
        let (first, second) = found.pair;
        warnings.push(format!(
            "components {first} and {second} can hardly be told apart (margin {}): their powers rise and \
             fall together over the set, so any mixture of the two fits as well; trust their span, not each",
            small(found.margin)
        ));
    }
    if answer.condition_number > ILL_CONDITIONED {
        warnings.push(format!(
            "B is ill-conditioned ({}): some components are nearly combinations of others; fewer \
             dimensions ({fewer}) may serve better",
            small(answer.condition_number)
        ));
    }
    warnings
}

/// Everything, for report.json.
fn report(
    args: &Diagonalize,
    settings: &Settings,
    name: &str,
    set: &MatrixSet,
    answer: &Diagonalization,
    warnings: &[String],
    seconds: f64,
) -> Value {
    let rows = |m: &codiag::Matrix| -> Vec<Vec<f64>> {
        (0..m.rows()).map(|a| m.row(a).to_vec()).collect()
    };
    json!({
        "codiag": env!("CARGO_PKG_VERSION"),
        "input": {
            "name": name,
            "files": args.source.input,
            "key": args.source.key,
            "matrices": set.len(),
            "size": set.channels(),
        },
        "settings": {
            "method": settings.method.name(),
            "start": args.solver.start,
            "orthogonal": settings.orthogonal,
            "rank": rank(args.rank),
            "shrinkage": args.shrinkage,
            "weights": args.weights,
            "tol": settings.tolerance,
            "max_iter": settings.max_iterations,
            "restarts": settings.restarts,
            "threads": settings.threads,
        },
        "status": answer.status.name(),
        "converged": answer.status.converged(),
        "iterations": answer.iterations,
        "seconds": seconds,
        "loss": answer.loss,
        "gradient_norm": answer.gradient_norm,
        "components": answer.b.rows(),
        "condition_number": answer.condition_number,
        "identifiability": answer.identifiability.map(|found| json!({
            "margin": found.margin,
            "pair": found.pair,
        })),
        "start_losses": answer.start_losses,
        "warnings": warnings,
        "residuals": answer.residuals,
        "weights": set.weights(),
        "B": rows(&answer.b),
        "A": rows(&answer.a),
        "history": history(answer),
    })
}

/// One object an iteration.
pub(super) fn history(answer: &Diagonalization) -> Value {
    #[derive(Serialize)]
    struct Point {
        iteration: usize,
        seconds: f64,
        loss: f64,
        gradient_norm: f64,
        kind: &'static str,
        step: f64,
        passes: f64,
    }
    let points: Vec<Point> = answer
        .history
        .iter()
        .map(|record| Point {
            iteration: record.iteration,
            seconds: record.seconds,
            loss: record.loss,
            gradient_norm: record.gradient_norm,
            kind: record.kind.name(),
            step: record.step,
            passes: record.passes,
        })
        .collect();
    json!(points)
}

fn rank(rank: Option<Rank>) -> Value {
    match rank {
        None | Some(Rank::Full) => json!("full"),
        Some(Rank::Auto) => json!("auto"),
        Some(Rank::Exactly(r)) => json!(r),
    }
}

fn stage(folder: &mut Folder, answer: &Diagonalization, report: &Value) -> Result<()> {
    folder.add("B.npy", |out| export::npy::matrix(out, &answer.b))?;
    folder.add("A.npy", |out| export::npy::matrix(out, &answer.a))?;
    folder.add("diagonals.npy", |out| {
        export::npy::matrix(out, &answer.powers)
    })?;
    folder.add("report.json", |out| export::json(out, report))?;
    folder.add("history.csv", |out| {
        export::csv::history(out, &answer.history)
    })
}

fn summarize(
    args: &Diagonalize,
    name: &str,
    set: &MatrixSet,
    answer: &Diagonalization,
    seconds: f64,
    session: &mut Session<'_>,
) -> Result<()> {
    let paint = session.paint;
    let (n, p) = (set.len(), set.channels());
    let status = if answer.status.converged() {
        paint.green(answer.status.name())
    } else {
        paint.red(answer.status.name())
    };
    let reduced = if set.reduction().is_some() {
        format!(", reduced to {}", set.dimension())
    } else {
        String::new()
    };
    let write = |out: &mut dyn std::io::Write| -> std::io::Result<()> {
        let matrices = words::count(n, "matrix", "matrices");
        writeln!(
            out,
            "{}: {matrices} of {p} x {p}{reduced}",
            paint.bold(name)
        )?;
        writeln!(out, "  status         {status}")?;
        writeln!(out, "  iterations     {}", answer.iterations)?;
        writeln!(out, "  time           {}", words::seconds(seconds))?;
        writeln!(out, "  loss           {}", words::loss(answer.loss, 9))?;
        writeln!(out, "  gradient norm  {:.1e}", answer.gradient_norm)?;
        match &args.output {
            Some(path) => writeln!(out, "  written to     {}", path.display()),
            None => writeln!(out, "  nothing written: -o DIR writes B, A and a report"),
        }
    };
    write(session.out).context("standard output cannot be written")
}

/// The exit code, and a line for those who did not look at the status.
pub(super) fn conclude(
    output: Option<&Path>,
    tolerance: f64,
    filters: &str,
    answer: &Diagonalization,
    session: &mut Session<'_>,
) -> Result<Outcome> {
    if answer.status == Status::Stopped && session.is_interrupted() {
        let place = match output {
            Some(path) => format!("the best B so far is in {}", path.display()),
            None => "there was no -o DIR to write the best B to".to_owned(),
        };
        let norm = small(answer.gradient_norm);
        session.warn(&format!(
            "interrupted after {}: {place} (gradient norm {norm})",
            words::count(answer.iterations, "iteration", "iterations")
        ))?;
        return Ok(Outcome::Interrupted);
    }
    if answer.status.converged() {
        return Ok(Outcome::Done);
    }
    let advice = match answer.status {
        Status::IterationLimit => {
            format!("raise --max-iter, or start again from {filters}.npy with --start")
        }
        _ => "rounding allows no smaller gradient: a larger --tol accepts it".to_owned(),
    };
    session.warn(&format!(
        "not converged ({}): gradient norm {} after {}, tolerance {}; {advice}",
        answer.status,
        small(answer.gradient_norm),
        words::count(answer.iterations, "iteration", "iterations"),
        small(tolerance)
    ))?;
    Ok(Outcome::NotConverged)
}
