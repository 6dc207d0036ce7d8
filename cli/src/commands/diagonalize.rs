//! `codiag diagonalize`: diagonalizes the matrices of a file and writes B, A and a report.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use codiag::backend::{Backend, Summary};
use codiag::error::Conflict;
use codiag::{
    Checkpoint, Diagonalization, MatrixFile, MatrixSet, Memory, Method, Rank, ReadProgress,
    SetOptions, Settings, c64, diagonalize_with,
};
use serde_json::{Map, Value, json};

use super::result::{self, CommandTexts, FinishedSolve, faulty_init_file, path_text, warnings};
use super::{check_output, write_npy};
use crate::args::Diagonalize;
use crate::export::{self, OutputFolder};
use crate::format;
use crate::input;
use crate::number::{Either, Number, is_complex};
use crate::page::Comparison;
use crate::page::diagonalize::{Page, render};
use crate::page::provenance::Provenance;
use crate::progress::{Display, ProgressObserver};
use crate::session::Interrupted;
use crate::{ExitStatus, Session};

const TEXTS: CommandTexts = CommandTexts {
    filters: "B",
    patterns: "A",
    n_components_option: "--n-components",
    saved_results: "B, A and a report",
    iteration_limit_advice: "",
};

/// Runs the command.
pub fn run(args: &Diagonalize, session: &mut Session<'_>) -> Result<ExitStatus> {
    let to_stdout = args.output.as_deref() == Some(Path::new("-"));
    ensure!(
        !(to_stdout && args.json),
        "-o - and --json both write to standard output; use only one of them"
    );
    if to_stdout {
        check_output(session)?;
    }
    let settings = args.solver.settings()?.orthogonal(args.orthogonal);
    let folder = match &args.output {
        Some(path) if !to_stdout => Some(OutputFolder::create(path)?),
        _ => None,
    };
    // Report an unwritable checkpoint before the solve.
    if let Some(path) = &args.checkpoint {
        export::check_writable(path)?;
    }
    let options = SetOptions::default()
        .criterion(args.criterion.criterion)
        .weights(
            args.sample_weight
                .as_deref()
                .map(input::list_file)
                .transpose()?,
        )
        .n_components(args.n_components.unwrap_or_default())
        .shrinkage(args.shrinkage)
        .symmetrize(args.symmetrize)
        .n_jobs(args.solver.n_jobs);
    let request = Request {
        args,
        settings,
        options,
        folder,
        to_stdout,
    };
    if let Some((file, memory)) = on_disk(args)? {
        return if file.is_complex() {
            request.solve_on_disk::<c64>(file, memory, session)
        } else {
            request.solve_on_disk::<f64>(file, memory, session)
        };
    }
    let read = match input::open_in_session(&args.source, session)? {
        Either::Real(matrices) => Either::Real(matrices.into_set(&request.options)?),
        Either::Complex(matrices) => Either::Complex(matrices.into_set(&request.options)?),
    };
    match read {
        Either::Real((set, name)) => request.solve_in_memory(&set, name, session),
        Either::Complex((set, name)) => request.solve_in_memory(&set, name, session),
    }
}

/// A checked request.
struct Request<'a> {
    args: &'a Diagonalize,
    settings: Settings,
    options: SetOptions,
    folder: Option<OutputFolder>,
    to_stdout: bool,
}

impl Request<'_> {
    fn solve_in_memory<T: Number>(
        self,
        set: &MatrixSet<T>,
        name: String,
        session: &mut Session<'_>,
    ) -> Result<ExitStatus> {
        let clock = Instant::now();
        let display = Display::new(session);
        let result = solve_with_progress(self.args, &self.settings, &display, |observer| {
            diagonalize_with(set, &self.settings, observer)
        })?;
        drop(display);
        let seconds = clock.elapsed().as_secs_f64();
        let compare = || Comparison::of(set, &(&result).into());
        let solved = Solved {
            name,
            summary: set.summary().clone(),
            weights: Some(set.weights().to_vec()),
            comparison: self.folder.as_ref().and_then(|_| compare()),
            result,
            seconds,
        };
        self.conclude(solved, session)
    }

    fn solve_on_disk<T: Number>(
        self,
        file: MatrixFile,
        memory: Memory,
        session: &mut Session<'_>,
    ) -> Result<ExitStatus> {
        let name = file.path().display().to_string();
        // Report these conflicts before the whole file is read.
        if matches!(self.settings.method, Method::Pham | Method::Jacobi) {
            return Err(codiag::Error::Conflict(Conflict::PairsNotInMemory).into());
        }
        if self.settings.n_resamples > 0 {
            return Err(codiag::Error::Conflict(Conflict::StabilityNotInMemory).into());
        }
        let clock = Instant::now();
        let display = Display::new(session);
        let read_observer = |progress: &ReadProgress| display.reading(progress);
        let mut set = match T::on_disk(file, memory, &self.options, read_observer) {
            Err(codiag::Error::Interrupted) => return Err(Interrupted.into()),
            set => set?,
        };
        let summary = set.summary().clone();
        let result = solve_with_progress(self.args, &self.settings, &display, |observer| {
            codiag::diagonalize_with_backend(&mut set, &self.settings, observer)
        })?;
        drop(set);
        drop(display);
        let solved = Solved {
            name,
            summary,
            weights: None,
            comparison: None,
            result,
            seconds: clock.elapsed().as_secs_f64(),
        };
        self.conclude(solved, session)
    }

    /// Writes the files and prints the summary.
    fn conclude<T: Number>(
        self,
        mut solved: Solved<T>,
        session: &mut Session<'_>,
    ) -> Result<ExitStatus> {
        let Self {
            args,
            settings,
            options,
            folder,
            to_stdout,
        } = self;
        let warnings = warnings(&(&solved.result).into(), TEXTS.n_components_option);
        let report = report(args, &settings, &options, &mut solved, &warnings)?;
        let finished = FinishedSolve {
            texts: &TEXTS,
            result: &solved.result,
            seconds: solved.seconds,
            tol: settings.tol,
            warnings: &warnings,
            output: args.output.as_deref(),
        };
        if let Some(mut folder) = folder {
            finished.stage(&mut folder, &report)?;
            let residuals = &solved.result.residuals;
            if solved.weights.is_none() && !residuals.is_empty() {
                folder.add("residuals.npy", |out| {
                    export::npy::write(out, &[residuals.len()], residuals)
                })?;
            }
            let page = render(&Page {
                input: &solved.name,
                matrices: solved.summary.len,
                size: solved.summary.channels(),
                weights: solved.weights.as_deref().or(options.weights.as_deref()),
                result: (&solved.result).into(),
                method: Some(settings.method.name()),
                sort_by: Some(settings.sort_by),
                tol: Some(settings.tol),
                seconds: Some(solved.seconds),
                warnings: &warnings,
                comparison: solved.comparison.as_ref(),
                provenance: &Provenance::from_json(Some(&session.command), &report["settings"]),
                files: true,
            });
            folder.add("report.html", |out| out.write_all(page.as_bytes()))?;
            folder.publish()?;
        }
        finished.warn(session)?;
        if to_stdout {
            let b = &solved.result.b;
            let shape = [b.rows(), b.columns()];
            write_npy(session, Path::new("-"), &shape, b.as_slice())?;
        } else if args.json {
            export::print_json(session.out, &report)?;
        } else if !session.quiet {
            let size = describe_size(&solved.summary);
            let stability = result::stability_summary(&solved.result);
            finished.summarize((&solved.name, &size), &stability, session)?;
        }
        finished.conclude(session)
    }
}

/// Describes the size of a set: 100 matrices of 40 x 40, reduced to 12.
fn describe_size<T: Number>(set: &Summary<T>) -> String {
    let (matrices, p) = (format::count_matrices::<T>(set.len), set.channels());
    let reduced = if set.reduction.is_some() {
        format!(", reduced to {}", set.dimension())
    } else {
        String::new()
    };
    format!("{matrices} of {p} x {p}{reduced}")
}

/// A result and its set.
struct Solved<T> {
    name: String,
    summary: Summary<T>,
    /// Weights of the matrices of a set in memory; None if the matrices stay on disk.
    weights: Option<Vec<f64>>,
    /// Comparison with channels and PCA for the report; None if the matrices stay on disk.
    comparison: Option<Comparison>,
    result: Diagonalization<T>,
    seconds: f64,
}

/// Returns the input file and the memory limit if `--memory` is too small for the whole set.
fn on_disk(args: &Diagonalize) -> Result<Option<(MatrixFile, Memory)>> {
    let Some(memory) = args.memory else {
        return Ok(None);
    };
    let npy = |path: &Path| {
        path.extension()
            .is_some_and(|e| e.eq_ignore_ascii_case("npy"))
    };
    let [path] = &args.source.input[..] else {
        bail!("--memory requires a single .npy file, not a list of files");
    };
    ensure!(
        npy(path),
        "{}: --memory requires a .npy file of shape (n, p, p); convert the input to .npy",
        path.display()
    );
    let file = MatrixFile::open(path)?;
    Ok((file.in_memory() > memory).then_some((file, memory)))
}

/// Runs a solve, shows its progress and writes checkpoints.
fn solve_with_progress<T: Number>(
    args: &Diagonalize,
    settings: &Settings,
    display: &Display<'_>,
    solve: impl FnOnce(&mut ProgressObserver<'_, '_, T>) -> Result<Diagonalization<T>, codiag::Error>,
) -> Result<Diagonalization<T>> {
    // Intervals beyond the range of `Duration` mean never.
    let every = Duration::try_from_secs_f64(args.checkpoint_every).unwrap_or(Duration::MAX);
    let path = args.checkpoint.as_deref();
    let checkpoint = path.map(|path| (path, Checkpoint::new(every)));
    let mut observer = ProgressObserver::new(display, settings.tol, checkpoint);
    let result = solve(&mut observer);
    observer.finish()?;
    result.map_err(|error| {
        if matches!(error, codiag::Error::Interrupted) {
            return Interrupted.into();
        }
        let init_file = faulty_init_file(&args.solver, &error);
        let error = anyhow::Error::from(error);
        match init_file {
            Some(path) => error.context(path),
            None => error,
        }
    })
}

/// Builds report.json.
fn report<T: Number>(
    args: &Diagonalize,
    settings: &Settings,
    options: &SetOptions,
    solved: &mut Solved<T>,
    warnings: &[String],
) -> Result<Value> {
    let set = &solved.summary;
    let files: Vec<String> = args
        .source
        .input
        .iter()
        .map(|path| path_text(path))
        .collect();
    let mut fields = Map::new();
    fields.insert(
        "input".to_owned(),
        json!({
            "name": solved.name,
            "files": files,
            "key": args.source.key,
            "complex": is_complex::<T>(),
            "matrices": set.len,
            "size": set.channels(),
        }),
    );
    fields.insert(
        "settings".to_owned(),
        json!({
            "criterion": options.criterion.name(),
            "method": settings.method.name(),
            "init": path_text(&args.solver.init),
            "orthogonal": settings.orthogonal || options.criterion.requires_rotations(),
            "n_components": n_components(args.n_components),
            "shrinkage": args.shrinkage,
            "symmetrize": args.symmetrize,
            "sample_weight": args.sample_weight.as_deref().map(path_text),
            "tol": settings.tol,
            "max_iter": settings.max_iter,
            "n_restarts": settings.n_restarts,
            "n_resamples": settings.n_resamples,
            "sort_by": settings.sort_by.name(),
            "n_jobs": args.solver.n_jobs,
            "memory": args.memory.map(|memory| memory.0),
        }),
    );
    fields.insert("sample_weight".to_owned(), json!(solved.weights));
    // The residuals of a set on disk, which may be many, are in residuals.npy.
    let residuals = solved.weights.is_some();
    result::report(
        &mut solved.result,
        residuals,
        solved.seconds,
        warnings,
        fields,
    )
}

fn n_components(rank: Option<Rank>) -> Value {
    match rank {
        None | Some(Rank::Full) => json!("full"),
        Some(Rank::Auto) => json!("auto"),
        Some(Rank::Exactly(r)) => json!(r),
    }
}
