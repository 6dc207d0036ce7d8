//! `codiag diagonalize`: from a file of matrices to B, and a report that can be shown.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, anyhow, bail, ensure};
use codiag::working::{Summary, WorkingSet, diagonalize_working};
use codiag::{
    Diagonalization, MatrixFile, Memory, Method, OnDisk, Rank, Reading, SetOptions, Settings,
    Status, diagonalize_with,
};
use serde::Serialize;
use serde_json::{Value, json};

use super::{refuse_terminal, write_npy};
use crate::args::{Diagonalize, Solver};
use crate::export::{self, Folder};
use crate::input::{self, Matrices, in_our_words};
use crate::page::solve::{self, Solve};
use crate::progress::{Checkpoint, Display, Follower};
use crate::session::Interrupted;
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
    let settings = args.solver.settings()?.orthogonal(args.orthogonal);
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
    let solved = match on_disk(args)? {
        Some((file, memory)) => from_disk(args, &settings, &options, file, memory, session)?,
        None => in_memory(args, &settings, &options, session)?,
    };
    let Solved {
        name,
        summary: set,
        answer,
        seconds,
        ..
    } = &solved;

    let warnings = warnings(answer, "--rank");
    let report = report(args, &settings, &solved, &warnings);
    if let Some(folder) = &mut folder {
        stage(folder, &solved, &report)?;
        let page = solve::render(&Solve {
            input: name,
            set,
            weights: solved.weights.as_deref().or(options.weights.as_deref()),
            answer,
            method: settings.method.name(),
            tolerance: settings.tolerance,
            seconds: *seconds,
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
        summarize(args, name, set, answer, *seconds, session)?;
    }
    let place = args.output.as_deref();
    conclude(place, args.solver.tol, "B", answer, session)
}

/// A solve, and what is told of its set.
struct Solved {
    name: String,
    summary: Summary,
    /// Of a set in memory.
    weights: Option<Vec<f64>>,
    answer: Diagonalization,
    seconds: f64,
}

/// The file that stays on disk, if that is asked for and there is not memory enough for all of it.
fn on_disk(args: &Diagonalize) -> Result<Option<(MatrixFile, Memory)>> {
    let Some(memory) = args.memory else {
        return Ok(None);
    };
    let npy = |path: &Path| {
        path.extension()
            .is_some_and(|e| e.eq_ignore_ascii_case("npy"))
    };
    let [path] = &args.source.input[..] else {
        bail!("--memory reads one .npy file, not a list of files");
    };
    ensure!(
        npy(path),
        "{}: --memory reads one .npy file of shape (n, p, p): convert to it first",
        path.display()
    );
    let file = MatrixFile::open(path)?;
    Ok((file.in_memory() > memory).then_some((file, memory)))
}

fn in_memory(
    args: &Diagonalize,
    settings: &Settings,
    options: &SetOptions,
    session: &mut Session<'_>,
) -> Result<Solved> {
    let (set, name) = Matrices::of_session(&args.source, session)?.into_set(options)?;
    let clock = Instant::now();
    let display = Display::new(session);
    let answer = followed(args, settings, set.summary(), &display, |follower| {
        diagonalize_with(&set, settings, follower)
    })?;
    Ok(Solved {
        name,
        summary: set.summary().clone(),
        weights: Some(set.weights().to_vec()),
        answer,
        seconds: clock.elapsed().as_secs_f64(),
    })
}

fn from_disk(
    args: &Diagonalize,
    settings: &Settings,
    options: &SetOptions,
    file: MatrixFile,
    memory: Memory,
    session: &mut Session<'_>,
) -> Result<Solved> {
    let name = file.path().display().to_string();
    ensure!(
        settings.method != Method::Pham,
        "--method pham would read the file p²/2 times an iteration: choose newton or quasi-newton, or leave \
         out --memory"
    );
    let clock = Instant::now();
    let display = Display::new(session);
    let watcher = |reading: &Reading| display.reading(reading);
    let mut set = match OnDisk::new_watched(file, memory, options, &watcher) {
        Err(codiag::Error::Interrupted) => return Err(Interrupted.into()),
        set => set.map_err(|e| anyhow!("{}", in_our_words(&e)))?,
    };
    let summary = set.summary().clone();
    let answer = followed(args, settings, &summary, &display, |follower| {
        diagonalize_working(&mut set, settings, follower)
    })?;
    Ok(Solved {
        name,
        summary,
        weights: None,
        answer,
        seconds: clock.elapsed().as_secs_f64(),
    })
}

/// Solves while progress is shown and checkpoints are written.
fn followed(
    args: &Diagonalize,
    settings: &Settings,
    summary: &Summary,
    display: &Display<'_>,
    solve: impl FnOnce(&mut Follower<'_, '_>) -> Result<Diagonalization, codiag::Error>,
) -> Result<Diagonalization> {
    let checkpoint = args.checkpoint.clone().map(|path| Checkpoint {
        path,
        every: args.checkpoint_every,
    });
    let filters = summary.reduction.as_ref().map(codiag::Reduction::filters);
    let mut follower = Follower::new(display, filters, settings.tolerance, checkpoint);
    let answer = solve(&mut follower);
    if let Some(failure) = follower.failure {
        return Err(failure);
    }
    answer.map_err(|error| {
        if matches!(error, codiag::Error::Interrupted) {
            return Interrupted.into();
        }
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
    let condition_number = answer.condition_number();
    if condition_number > ILL_CONDITIONED {
        warnings.push(format!(
            "B is ill-conditioned ({}): some components are nearly combinations of others; fewer \
             dimensions ({fewer}) may serve better",
            small(condition_number)
        ));
    }
    warnings
}

/// Everything, for report.json.
fn report(args: &Diagonalize, settings: &Settings, solved: &Solved, warnings: &[String]) -> Value {
    let (set, answer) = (&solved.summary, &solved.answer);
    let rows = |m: &codiag::Matrix| -> Vec<Vec<f64>> {
        (0..m.rows()).map(|a| m.row(a).to_vec()).collect()
    };
    json!({
        "codiag": env!("CARGO_PKG_VERSION"),
        "input": {
            "name": solved.name,
            "files": args.source.input,
            "key": args.source.key,
            "matrices": set.len,
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
            "memory": args.memory.map(|memory| memory.0),
        },
        "status": answer.status.name(),
        "converged": answer.status.converged(),
        "iterations": answer.iterations,
        "seconds": solved.seconds,
        "loss": answer.loss,
        "gradient_norm": answer.gradient_norm,
        "components": answer.b.rows(),
        "condition_number": answer.condition_number(),
        "identifiability": answer.identifiability.map(|found| json!({
            "margin": found.margin,
            "pair": found.pair,
        })),
        "start_losses": answer.start_losses,
        "warnings": warnings,
        // Of a set on disk there may be too many: they are in residuals.npy.
        "residuals": solved.weights.as_ref().map(|_| &answer.residuals),
        "weights": solved.weights,
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

fn stage(folder: &mut Folder, solved: &Solved, report: &Value) -> Result<()> {
    let answer = &solved.answer;
    folder.add("B.npy", |out| export::npy::matrix(out, &answer.b))?;
    folder.add("A.npy", |out| export::npy::matrix(out, &answer.a))?;
    // A set on disk may have left them out.
    if answer.powers.rows() > 0 {
        folder.add("diagonals.npy", |out| {
            export::npy::matrix(out, &answer.powers)
        })?;
    }
    if solved.weights.is_none() && !answer.residuals.is_empty() {
        folder.add("residuals.npy", |out| {
            export::npy::write(out, &[answer.residuals.len()], &answer.residuals)
        })?;
    }
    folder.add("report.json", |out| export::json(out, report))?;
    folder.add("history.csv", |out| {
        export::csv::history(out, &answer.history)
    })
}

fn summarize(
    args: &Diagonalize,
    name: &str,
    set: &Summary,
    answer: &Diagonalization,
    seconds: f64,
    session: &mut Session<'_>,
) -> Result<()> {
    let paint = session.paint;
    let (n, p) = (set.len, set.channels());
    let status = if answer.status.converged() {
        paint.green(answer.status.name())
    } else {
        paint.red(answer.status.name())
    };
    let reduced = if set.reduction.is_some() {
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
