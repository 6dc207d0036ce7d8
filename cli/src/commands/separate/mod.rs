//! `codiag separate`: from a recording to its sources, and a report that can be shown.

mod analysis;

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use anyhow::{Context, Result, anyhow, ensure};
use codiag::signals::{
    Bands, Components, Contrast, Cut, Recording, Scale, Segments, Separated, Separation, remove,
};
use codiag::{Matrix, Settings};
use serde_json::{Value, json};

use super::diagonalize::{conclude, history, start_at_fault, warnings};
use crate::args::{BandChoice, Separate};
use crate::export::{self, Folder, npy};
use crate::input::in_our_words;
use crate::input::recording::{Info, Picked, ReferenceChannel, Stored, by_name};
use crate::page::separate::{self, Page};
use crate::progress::{Display, Follower};
use crate::session::Interrupted;
use crate::words;
use crate::{Outcome, Session};
pub use analysis::SourceView;

/// What is separated, and what is known of it.
struct Input {
    name: String,
    stored: Stored,
    info: Info,
    /// The channels that are separated.
    channels: Vec<usize>,
    references: Vec<(ReferenceChannel, Vec<f64>)>,
    rate: Option<f64>,
}

impl Input {
    fn open(args: &Separate) -> Result<Self> {
        let stored = Stored::open(&args.input)?;
        let file = args.input.display().to_string();
        let (count, samples) = (stored.channels(), stored.samples());
        let mut info = match &args.info {
            Some(path) => Info::read(path)?,
            None => Info::default(),
        };
        if let Some(path) = &args.names {
            info.names = Info::read_names(path)?;
        }
        info.check(count, samples).with_context(|| file.clone())?;
        let mut references = info.reference_signals(samples)?;
        let mut channels: Vec<usize> = (0..count).collect();
        if args.names.is_some() {
            let (others, named) = by_name(&info.names, count);
            ensure!(
                !others.is_empty(),
                "{file}: all channels are named EOG or ECG"
            );
            channels = others;
            for (c, reference) in named {
                let mut signal = vec![0.0; samples];
                let picked = Picked {
                    recording: &stored,
                    channels: vec![c],
                };
                picked.read(0..samples, &mut signal)?;
                references.push((reference, signal));
            }
        }
        if let Some(rate) = args.rate {
            ensure!(
                rate.is_finite() && rate > 0.0,
                "--rate must be a positive number of samples per second, got {rate}"
            );
        }
        Ok(Self {
            name: info.name.clone().unwrap_or(file),
            stored,
            info,
            channels,
            references,
            rate: args.rate,
        })
    }

    fn picked(&self) -> Picked<'_> {
        Picked {
            recording: &self.stored,
            channels: self.channels.clone(),
        }
    }

    /// One of the channels that are separated, by name or by number.
    fn channel_names(&self) -> Vec<String> {
        let name = |c: &usize| match self.info.names.get(*c) {
            Some(name) => name.clone(),
            None => c.to_string(),
        };
        self.channels.iter().map(name).collect()
    }

    fn positions(&self) -> Vec<Option<[f64; 2]>> {
        let position = |c: &usize| self.info.positions.get(*c).copied().flatten();
        self.channels.iter().map(position).collect()
    }
}

/// Reads, separates, reports and writes.
pub fn run(args: &Separate, session: &mut Session<'_>) -> Result<Outcome> {
    let settings = args.solver.settings()?;
    let tolerance = settings.tolerance;
    let mut folder = args.output.as_deref().map(Folder::create).transpose()?;
    let input = Input::open(args)?;
    let separation = separation(args, settings, &input)?;

    let clock = Instant::now();
    let found = fit(args, &separation, &input, session)?;
    let seconds = clock.elapsed().as_secs_f64();
    for source in &args.exclude {
        ensure!(
            *source < found.components(),
            "--exclude names source {source}, but there are {}, counted from 0",
            found.components()
        );
    }

    let shape = (found.components(), input.stored.samples());
    let write = |rows: &mut npy::Rows<'_>| analysis::write_sources(&found, &input, rows);
    let views = if let Some(folder) = &mut folder {
        folder.add_rows("sources.npy", shape, write)?
    } else {
        let mut scratch = tempfile::tempfile().context("there is no place for temporary files")?;
        write(&mut npy::Rows::new(&mut scratch, shape)?)?
    };
    let warnings = warnings(&found.diagonalization, "--components");
    let report = report(
        args,
        &input,
        &separation,
        &found,
        &views,
        &warnings,
        seconds,
    );
    if let Some(mut folder) = folder {
        stage(&mut folder, &found, &report)?;
        if !args.exclude.is_empty() {
            clean(args, &input, &found, &mut folder)?;
        }
        let page = separate::render(&Page {
            input: &input.name,
            samples: input.stored.samples(),
            rate: input.rate,
            names: &input.channel_names(),
            positions: &input.positions(),
            bands: bands(&separation),
            found: &found,
            views: &views,
            tolerance,
            seconds,
            warnings: &warnings,
            excluded: &args.exclude,
        });
        folder.add("report.html", |out| out.write_all(page.as_bytes()))?;
        folder.publish()?;
    }
    for warning in &warnings {
        session.warn(warning)?;
    }
    if args.json {
        export::print_json(session.out, &report)?;
    } else if !session.quiet {
        summarize(args, &input, &found, &views, seconds, session)?;
    }
    let place = args.output.as_deref();
    conclude(place, tolerance, "filters", &found.diagonalization, session)
}

fn separation(args: &Separate, solver: Settings, input: &Input) -> Result<Separation> {
    let exclude: Vec<Range<usize>> = input
        .info
        .bad
        .iter()
        .map(|[start, end]| *start..*end)
        .collect();
    let contrast = if let Some(choice) = &args.bands {
        let rate = input
            .rate
            .context("--bands needs --rate, the samples per second")?;
        let bands = match choice {
            BandChoice::Edges(edges) => Bands::new(edges.clone(), rate),
            BandChoice::Count(count) => Bands::even(1.0, 0.5 * rate, *count, rate),
        };
        Contrast::Bands(Bands {
            window_length: args.window_length,
            overlap: args.overlap.unwrap_or(bands.overlap),
            exclude,
            ..bands
        })
    } else {
        let cut = match (args.segment_length, args.segments) {
            (Some(samples), _) => Cut::Length(samples),
            (None, count) => Cut::Count(count.unwrap_or(100)),
        };
        Contrast::Segments(Segments {
            cut,
            overlap: args.overlap.unwrap_or(0.0),
            exclude,
        })
    };
    let scale = match args.scale.as_str() {
        "rms" => Scale::UnitRms,
        _ if !input.info.groups.is_empty() => Scale::Groups(
            input
                .channels
                .iter()
                .map(|c| input.info.groups[*c])
                .collect(),
        ),
        _ => Scale::Unchanged,
    };
    Ok(Separation {
        components: args.components.unwrap_or(Components::All),
        contrast,
        scale,
        shrinkage: args
            .shrinkage
            .parse()
            .map_err(|e: codiag::Error| anyhow!("{}", in_our_words(&e)))?,
        solver,
        ..Separation::default()
    })
}

/// The bands in which sources are told apart, if they are.
fn bands(separation: &Separation) -> &[(f64, f64)] {
    match &separation.contrast {
        Contrast::Bands(bands) => &bands.bands,
        Contrast::Segments(_) => &[],
    }
}

/// A recording that hears Ctrl-C.
struct Watched<'a> {
    recording: &'a dyn Recording,
    interrupted: &'a AtomicBool,
}

impl Recording for Watched<'_> {
    fn channels(&self) -> usize {
        self.recording.channels()
    }

    fn samples(&self) -> usize {
        self.recording.samples()
    }

    fn read(&self, span: Range<usize>, out: &mut [f64]) -> Result<(), codiag::Error> {
        if self.interrupted.load(Ordering::SeqCst) {
            return Err(codiag::Error::Source(Interrupted.to_string()));
        }
        self.recording.read(span, out)
    }
}

fn fit(
    args: &Separate,
    separation: &Separation,
    input: &Input,
    session: &mut Session<'_>,
) -> Result<Separated> {
    let interrupted = session.interruption();
    let watched = Watched {
        recording: &input.picked(),
        interrupted,
    };
    let display = Display::new(session);
    let mut follower = Follower::new(&display, None, separation.solver.tolerance, None);
    let found = separation.fit_with(&watched, &mut follower);
    found.map_err(|error| {
        if interrupted.load(Ordering::SeqCst) {
            return Interrupted.into();
        }
        if let codiag::Error::Source(text) = error {
            return anyhow!("{text}");
        }
        let name = start_at_fault(&args.solver, &error).unwrap_or(&input.name);
        anyhow!("{name}: {}", in_our_words(&error))
    })
}

/// The recording without the excluded sources; channels that were not separated stay as they are.
fn clean(args: &Separate, input: &Input, found: &Separated, folder: &mut Folder) -> Result<()> {
    let (all, r) = (input.stored.channels(), found.components());
    let mut filters = Matrix::zeros(r, all);
    let mut patterns = Matrix::zeros(all, r);
    for (k, c) in input.channels.iter().enumerate() {
        for a in 0..r {
            filters[(a, *c)] = found.filters()[(a, k)];
            patterns[(*c, a)] = found.patterns()[(k, a)];
        }
    }
    let shape = (all, input.stored.samples());
    folder.add_rows("cleaned.npy", shape, |rows| {
        let threads = args.solver.threads;
        let sink = &mut |start: usize, part: &Matrix| written(rows.write(start, part));
        remove(
            &filters,
            &patterns,
            &args.exclude,
            &input.stored,
            threads,
            sink,
        )?;
        Ok(())
    })
}

/// An error of the disk, through a sink.
fn written(result: std::io::Result<()>) -> Result<(), codiag::Error> {
    result.map_err(|e| codiag::Error::Source(format!("the results cannot be written: {e}")))
}

fn stage(folder: &mut Folder, found: &Separated, report: &Value) -> Result<()> {
    let answer = &found.diagonalization;
    folder.add("filters.npy", |out| npy::matrix(out, &answer.b))?;
    folder.add("patterns.npy", |out| npy::matrix(out, &answer.a))?;
    folder.add("diagonals.npy", |out| npy::matrix(out, &answer.powers))?;
    folder.add("report.json", |out| export::json(out, report))?;
    folder.add("history.csv", |out| {
        export::csv::history(out, &answer.history)
    })
}

/// Everything, for report.json.
fn report(
    args: &Separate,
    input: &Input,
    separation: &Separation,
    found: &Separated,
    views: &[SourceView],
    warnings: &[String],
    seconds: f64,
) -> Value {
    let answer = &found.diagonalization;
    let rows = |m: &Matrix| -> Vec<Vec<f64>> { (0..m.rows()).map(|a| m.row(a).to_vec()).collect() };
    let sources: Vec<Value> = views
        .iter()
        .enumerate()
        .map(|(k, view)| {
            let artefacts: Vec<Value> = view
                .artefacts
                .iter()
                .map(|a| json!({"kind": a.kind.name(), "score": a.score, "reason": a.reason}))
                .collect();
            json!({
                "source": k,
                "variance_share": found.variance_shares[k],
                "nonstationarity": found.nonstationarity[k],
                "rival": found.rivals[k].map(|rival| json!({
                    "source": rival.source,
                    "margin": rival.margin,
                })),
                "artefacts": artefacts,
            })
        })
        .collect();
    let segments: Vec<Vec<[usize; 2]>> = found
        .segments
        .iter()
        .map(|piece| piece.iter().map(|span| [span.start, span.end]).collect())
        .collect();
    json!({
        "codiag": env!("CARGO_PKG_VERSION"),
        "input": {
            "name": input.name,
            "files": [args.input],
            "channels": found.channels(),
            "samples": input.stored.samples(),
            "rate": input.rate,
            "names": input.channel_names(),
        },
        "settings": {
            "components": match separation.components {
                Components::All => json!("all"),
                Components::Number(r) => json!(r),
                Components::Share(share) => json!(share),
            },
            "segments": args.segments,
            "segment_length": args.segment_length,
            "overlap": match &separation.contrast {
                Contrast::Segments(segments) => segments.overlap,
                Contrast::Bands(bands) => bands.overlap,
            },
            "bands": bands(separation),
            "window_length": args.window_length,
            "scale": args.scale,
            "shrinkage": args.shrinkage,
            "exclude": args.exclude,
            "method": separation.solver.method.name(),
            "start": args.solver.start,
            "tol": separation.solver.tolerance,
            "max_iter": separation.solver.max_iterations,
            "restarts": separation.solver.restarts,
            "threads": separation.solver.threads,
        },
        "status": answer.status.name(),
        "converged": answer.status.converged(),
        "iterations": answer.iterations,
        "seconds": seconds,
        "loss": answer.loss,
        "gradient_norm": answer.gradient_norm,
        "components": found.components(),
        "kept_variance": found.kept_variance,
        "condition_number": answer.condition_number(),
        "identifiability": answer.identifiability.map(|found| json!({
            "margin": found.margin,
            "pair": found.pair,
        })),
        "start_losses": answer.start_losses,
        "warnings": warnings,
        "sources": sources,
        "shrinkages": found.shrinkages,
        "segments": segments,
        "residuals": answer.residuals,
        "B": rows(&answer.b),
        "A": rows(&answer.a),
        "history": history(answer),
    })
}

fn summarize(
    args: &Separate,
    input: &Input,
    found: &Separated,
    views: &[SourceView],
    seconds: f64,
    session: &mut Session<'_>,
) -> Result<()> {
    let (paint, answer) = (session.paint, &found.diagonalization);
    let status = if answer.status.converged() {
        paint.green(answer.status.name())
    } else {
        paint.red(answer.status.name())
    };
    let write = |out: &mut dyn std::io::Write| -> std::io::Result<()> {
        let samples = input.stored.samples();
        let duration = match input.rate {
            Some(rate) => format!(" ({})", words::seconds(samples as f64 / rate)),
            None => String::new(),
        };
        writeln!(
            out,
            "{}: {} of {samples} samples{duration}, {}",
            paint.bold(&input.name),
            words::count(found.channels(), "channel", "channels"),
            words::count(found.components(), "source", "sources"),
        )?;
        writeln!(out, "  status         {status}")?;
        writeln!(out, "  iterations     {}", answer.iterations)?;
        writeln!(out, "  time           {}", words::seconds(seconds))?;
        writeln!(out, "  loss           {}", words::loss(answer.loss, 9))?;
        writeln!(out, "  gradient norm  {:.1e}", answer.gradient_norm)?;
        for (k, view) in views.iter().enumerate() {
            if let Some(artefact) = view.artefacts.first() {
                let source = format!("source {k}");
                writeln!(
                    out,
                    "  {source:13}  looks like {}: {}",
                    looks_like(artefact),
                    artefact.reason
                )?;
            }
        }
        match &args.output {
            Some(path) => writeln!(out, "  written to     {}", path.display()),
            None => writeln!(
                out,
                "  nothing written: -o DIR writes sources, patterns and a report"
            ),
        }
    };
    write(session.out).context("standard output cannot be written")
}

/// With its article.
pub fn looks_like(artefact: &codiag::signals::Artefact) -> &'static str {
    use codiag::signals::ArtefactKind;
    match artefact.kind {
        ArtefactKind::Blink => "blinks",
        ArtefactKind::Heartbeat => "a heartbeat",
        ArtefactKind::LineNoise => "line noise",
        ArtefactKind::Muscle => "muscles",
        other => other.name(),
    }
}
