//! `codiag separate`: separates the sources of a recording and writes them with a report.

mod input;
mod methods;
mod report;
pub mod warnings;

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use codiag::error::{Expected, Setting};
use codiag::signals::{
    ArtifactDetector, Bands, Components, Contrast, Lags, Recording, ReferenceChannel, Scale,
    SegmentLength, Segments, Separation, SeparationResult, remove,
};
use codiag::{Matrix, Settings};

use super::result::{self, CommandTexts, FinishedSolve, faulty_init_file};
use crate::args::{BandChoice, Separate};
use crate::export::{self, OutputFolder, npy};
use crate::format;
use crate::page::Removal;
use crate::page::provenance::Provenance;
use crate::page::separate::{self, Page};
use crate::progress::{Display, ProgressObserver};
use crate::session::Interrupted;
use crate::source_view::{ArtifactScorer, GoodSamples, SourceView, looks_like};
use crate::{ExitStatus, Session};
use input::Input;
pub use methods::Methods;

const TEXTS: CommandTexts = CommandTexts {
    filters: "filters",
    patterns: "patterns",
    n_components_option: "--n-components",
    saved_results: "the sources, their patterns and a report",
    iteration_limit_advice: "longer segments (--segment-length), fewer components (--n-components) or --shrinkage auto \
                             give better-conditioned covariances; or ",
};

/// Runs the command.
pub fn run(args: &Separate, session: &mut Session<'_>) -> Result<ExitStatus> {
    let settings = args.solver.settings()?;
    let tol = settings.tol;
    let mut folder = args
        .output
        .as_deref()
        .map(OutputFolder::create)
        .transpose()?;
    let input = Input::open(args)?;
    let separation = separation(args, settings, &input)?;

    let clock = Instant::now();
    let mut found = fit(args, &separation, &input, session)?;
    let seconds = clock.elapsed().as_secs_f64();
    for source in &args.exclude {
        ensure!(
            *source < found.n_components(),
            "--exclude: there is no source {}, only {} to {}",
            format::component(*source, found.n_components()),
            format::component(0, found.n_components()),
            format::component(found.n_components() - 1, found.n_components())
        );
    }

    let shape = (found.n_components(), input.stored.samples());
    let scorer = artifact_scorer(args, &input);
    let write = |rows: &mut npy::RowFile<'_>| write_sources(&found, &input, scorer.as_ref(), rows);
    let views = if let Some(folder) = &mut folder {
        folder.add_rows("sources.npy", shape, write)?
    } else {
        let mut scratch = tempfile::tempfile().context("a temporary file cannot be created")?;
        write(&mut npy::RowFile::new(&mut scratch, shape)?)?
    };
    let mut warnings = warnings::identifiability(
        &separation.contrast,
        &(&found).into(),
        input.stored.samples(),
        TEXTS.n_components_option,
    );
    warnings.extend(warnings::drift(&input)?);
    let methods = methods::paragraph(&input, args, &separation, &found);
    let fields = report::fields(args, &input, &separation, &found, &views, &methods);
    let report = result::report(&mut found.diagonalization, true, seconds, &warnings, fields)?;
    let finished = FinishedSolve {
        texts: &TEXTS,
        result: &found.diagonalization,
        seconds,
        tol,
        warnings: &warnings,
        output: args.output.as_deref(),
    };
    if let Some(mut folder) = folder {
        finished.stage(&mut folder, &report)?;
        if !args.exclude.is_empty() && input.info.cleaned_file.is_none() {
            write_cleaned(args, &input, &found, &mut folder)?;
        }
        let removal = (!args.exclude.is_empty())
            .then(|| removal(args, &input, &found))
            .transpose()?;
        let cleaned_file = input.info.cleaned_file.as_deref().unwrap_or("cleaned.npy");
        let page = separate::render(&Page {
            input: &input.name,
            samples: input.stored.samples(),
            sfreq: input.sfreq,
            sound: input.is_sound(),
            names: &input.channel_names(),
            positions: &input.positions(),
            types: &input.types(),
            methods: Some(&methods),
            thresholds: &args.thresholds.unwrap_or_default(),
            cleaned_file: removal.is_some().then_some(cleaned_file),
            contrast: &separation.contrast,
            sort_by: separation.solver.sort_by,
            found: (&found).into(),
            views: &views,
            tol,
            seconds: Some(seconds),
            warnings: &warnings,
            removal: removal.as_ref(),
            excluded: &args.exclude,
            provenance: &Provenance::from_json(
                Some(input.info.command.as_ref().unwrap_or(&session.command)),
                &report["settings"],
            ),
            files: true,
        });
        folder.add("report.html", |out| out.write_all(page.as_bytes()))?;
        folder.publish()?;
    }
    finished.warn(session)?;
    if args.json {
        export::print_json(session.out, &report)?;
    } else if !session.quiet {
        let size = describe_size(&input, &found);
        let mut additional = result::stability_summary(&found.diagonalization);
        additional.extend(suspected_artifacts(&views));
        finished.summarize((&input.name, &size), &additional, session)?;
    }
    finished.conclude(session)
}

/// Describes the size: 102 channels of 36000 samples (60.00 s), 40 sources.
fn describe_size(input: &Input, found: &SeparationResult) -> String {
    let samples = input.stored.samples();
    let duration = match input.sfreq {
        Some(sfreq) => format!(" ({})", format::seconds(samples as f64 / sfreq)),
        None => String::new(),
    };
    format!(
        "{} of {samples} samples{duration}, {}",
        format::count(found.n_channels(), "channel", "channels"),
        format::count(found.n_components(), "source", "sources"),
    )
}

/// Returns one line per source that looks like an artifact, with the reason.
fn suspected_artifacts(views: &[SourceView]) -> Vec<(String, String)> {
    let line = |(k, view): (usize, &SourceView)| {
        let artifact = view.artifacts.first()?;
        let (kind, reason) = (looks_like(artifact), &artifact.reason);
        Some((
            format::component(k, views.len()),
            format!("looks like {kind}: {reason}"),
        ))
    };
    views.iter().enumerate().filter_map(line).collect()
}

/// Builds the separation that the arguments describe.
fn separation(args: &Separate, solver: Settings, input: &Input) -> Result<Separation> {
    let bad_spans: Vec<Range<usize>> = input
        .info
        .bad_spans
        .iter()
        .map(|[start, end]| *start..*end)
        .collect();
    let contrast = if let Some(choice) = &args.bands {
        let sfreq = input
            .sfreq
            .context("--bands requires --sfreq, the sampling frequency in Hz")?;
        let bands = match choice {
            BandChoice::Edges(edges) => Bands::new(edges.clone(), sfreq),
            BandChoice::Count(count) => Bands::try_even(1.0, 0.5 * sfreq, *count, sfreq)?,
        };
        let overlap = args.overlap.unwrap_or(bands.overlap);
        let length = segment_length(args).filter(|length| *length != SegmentLength::Auto);
        let bands = bands
            .window_length(args.window_length)
            .segment_length(length);
        Contrast::Bands(bands.overlap(overlap).bad_spans(bad_spans))
    } else if args.jade {
        Contrast::Cumulants { bad_spans }
    } else if args.sobi || args.amuse {
        let lags = lags(args, input.stored.samples())?;
        let default = SegmentLength::Count(1);
        Contrast::Lags(Lags::new(lags).segments(segments(args, default, input, bad_spans)))
    } else {
        ensure!(args.lags.is_none(), "--lags requires --sobi or --amuse");
        Contrast::Segments(segments(args, SegmentLength::Auto, input, bad_spans))
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
    Ok(Separation::default()
        .n_components(args.n_components.unwrap_or(Components::All))
        .contrast(contrast)
        .scale(scale)
        .shrinkage(args.shrinkage.parse()?)
        .solver(solver)
        .n_jobs(args.solver.n_jobs))
}

/// Returns the segment length or number of segments, if one was given.
fn segment_length(args: &Separate) -> Option<SegmentLength> {
    args.segment_length
        .or(args.n_segments.map(SegmentLength::Count))
}

fn segments(
    args: &Separate,
    default: SegmentLength,
    input: &Input,
    bad_spans: Vec<Range<usize>>,
) -> Segments {
    Segments::default()
        .length(segment_length(args).unwrap_or(default))
        .sfreq(input.sfreq)
        .overlap(args.overlap.unwrap_or(0.0))
        .bad_spans(bad_spans)
}

/// Returns the scorer of artifacts, or None if the sampling frequency is unknown or the recording
/// is sound.
fn artifact_scorer(args: &Separate, input: &Input) -> Option<ArtifactScorer> {
    if input.is_sound() {
        return None;
    }
    let good = GoodSamples::new(&input.info.bad_spans, input.stored.samples());
    let signals: Vec<Vec<f64>> = input.references.iter().map(|(_, x)| good.of(x)).collect();
    let references: Vec<ReferenceChannel<'_>> = input
        .references
        .iter()
        .zip(&signals)
        .filter_map(|((channel, _), signal)| {
            Some(ReferenceChannel::new(
                &channel.name,
                channel.artifact()?,
                signal,
            ))
        })
        .collect();
    Some(ArtifactScorer {
        detector: ArtifactDetector::new(input.sfreq?, &references),
        thresholds: args.thresholds.unwrap_or_default(),
    })
}

/// Returns the lags in samples, checked against the length of the recording.
fn lags(args: &Separate, samples: usize) -> Result<Vec<usize>> {
    let default_max = if args.amuse {
        1
    } else {
        (samples / 3).clamp(1, 100)
    };
    let lags: Vec<usize> = match &args.lags {
        Some(chosen) => {
            let longest = chosen.0.iter().map(|range| *range.end()).max();
            if let Some(longest) = longest.filter(|longest| *longest >= samples) {
                return Err(codiag::Error::Setting {
                    setting: Setting::Lags,
                    expected: Expected::Words("shorter than the recording and its segments"),
                    value: format!("{longest} for {samples} samples without a gap"),
                }
                .into());
            }
            chosen.0.iter().cloned().flatten().collect()
        }
        None => (1..=default_max).collect(),
    };
    ensure!(
        !args.amuse || lags.len() == 1,
        "--amuse requires a single lag, got {}; use --sobi for several lags",
        lags.len()
    );
    Ok(lags)
}

/// A recording whose reads fail after Ctrl-C.
struct InterruptibleRecording<'a> {
    recording: &'a dyn Recording,
    interrupted: &'a AtomicBool,
}

impl Recording for InterruptibleRecording<'_> {
    fn channels(&self) -> usize {
        self.recording.channels()
    }

    fn samples(&self) -> usize {
        self.recording.samples()
    }

    fn read(&self, span: Range<usize>, out: &mut [f64]) -> Result<(), codiag::Error> {
        if self.interrupted.load(Ordering::SeqCst) {
            return Err(codiag::Error::Interrupted);
        }
        self.recording.read(span, out)
    }
}

/// Runs the separation and shows its progress.
fn fit(
    args: &Separate,
    separation: &Separation,
    input: &Input,
    session: &mut Session<'_>,
) -> Result<SeparationResult> {
    let interrupted = session.interrupt_flag();
    let recording = InterruptibleRecording {
        recording: &input.picked(),
        interrupted,
    };
    let display = Display::new(session);
    let mut observer = ProgressObserver::new(&display, separation.solver.tol, None);
    let found = separation.fit_with(&recording, &mut observer);
    found.map_err(|error| {
        if interrupted.load(Ordering::SeqCst) {
            return Interrupted.into();
        }
        if let codiag::Error::SampleNotFinite { channel, sample, value } = error
            && !input.info.names.is_empty()
        {
            return anyhow::anyhow!(
                "{}: channel {}, sample {sample} is {value}, not a finite number; correct the recording, or leave \
                 out that channel (--bads) or that span (bad_spans of --info)",
                input.name,
                input.channel_names()[channel]
            );
        }
        // These errors already name their file.
        if let codiag::Error::File { .. } = error {
            return error.into();
        }
        let init_file = faulty_init_file(&args.solver, &error);
        let file = init_file.unwrap_or_else(|| input.name.clone());
        anyhow::Error::from(error).context(file)
    })
}

/// Writes the sources in blocks of samples, then reads them one at a time to summarize them.
fn write_sources(
    found: &SeparationResult,
    input: &Input,
    scorer: Option<&ArtifactScorer>,
    rows: &mut npy::RowFile<'_>,
) -> Result<Vec<SourceView>> {
    let sink = &mut |start: usize, block: &Matrix| write_result(rows.write(start, block));
    found.sources_with(&input.picked(), sink)?;
    let good = GoodSamples::new(&input.info.bad_spans, input.stored.samples());
    (0..found.n_components())
        .map(|k| {
            let source = rows.row(k).context("the sources cannot be read back")?;
            Ok(SourceView::new(&source, &good, input.sfreq, scorer))
        })
        .collect()
}

/// Writes the recording without the excluded sources. Channels that were not separated are
/// unchanged.
fn write_cleaned(
    args: &Separate,
    input: &Input,
    found: &SeparationResult,
    folder: &mut OutputFolder,
) -> Result<()> {
    let (all, r) = (input.stored.channels(), found.n_components());
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
        let n_jobs = args.solver.n_jobs;
        let sink = &mut |start: usize, block: &Matrix| write_result(rows.write(start, block));
        remove(
            &filters,
            &patterns,
            &args.exclude,
            &input.stored,
            n_jobs,
            sink,
        )?;
        Ok(())
    })
}

/// Compares the recording before and after the removal of the excluded sources.
fn removal(args: &Separate, input: &Input, found: &SeparationResult) -> Result<Removal> {
    let good = GoodSamples::new(&input.info.bad_spans, input.stored.samples());
    let mut excluded = args.exclude.clone();
    excluded.sort_unstable();
    excluded.dedup();
    let removal = Removal::of(
        &input.unfiltered(),
        (found.filters(), found.patterns()),
        &excluded,
        &input.types(),
        &good,
        input.sfreq,
    );
    removal.with_context(|| input.name.clone())
}

/// Converts an error of a write for the library.
fn write_result(result: std::io::Result<()>) -> Result<(), codiag::Error> {
    result.map_err(|error| {
        let reason = codiag::error::system_reason(&error);
        codiag::Error::external(format!("the results cannot be written: {reason}"))
    })
}
