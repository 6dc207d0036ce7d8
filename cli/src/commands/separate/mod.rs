//! `codiag separate`: from a recording to its sources, and a report that can be shown.

mod doubts;
mod input;
mod methods;
mod report;

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

use super::answer::{self, Ended, Names, start_at_fault};
use crate::args::{BandChoice, Separate};
use crate::export::{self, Folder, npy};
use crate::page::separate::{self, Page};
use crate::progress::{Display, Follower};
use crate::session::Interrupted;
use crate::sources::{Good, Judge, SourceView, looks_like};
use crate::words;
use crate::{Outcome, Session};
use input::Input;
pub use methods::Methods;

const NAMES: Names = Names {
    filters: "filters",
    patterns: "patterns",
    fewer: "--components",
    contents: "sources, patterns and a report",
    helps: "longer segments (--segment-length), fewer components (--components) or --shrinkage auto make surer matrices; or ",
};

/// Reads, separates, reports and writes.
pub fn run(args: &Separate, session: &mut Session<'_>) -> Result<Outcome> {
    let settings = args.solver.settings()?;
    let tolerance = settings.tol;
    let mut folder = args.output.as_deref().map(Folder::create).transpose()?;
    let input = Input::open(args)?;
    let separation = separation(args, settings, &input)?;

    let clock = Instant::now();
    let mut found = fit(args, &separation, &input, session)?;
    let seconds = clock.elapsed().as_secs_f64();
    for source in &args.exclude {
        ensure!(
            *source < found.n_components(),
            "--exclude names source {source}, but there are {}, counted from 0",
            found.n_components()
        );
    }

    let shape = (found.n_components(), input.stored.samples());
    let judge = judge(args, &input);
    let write = |rows: &mut npy::Rows<'_>| write_sources(&found, &input, judge.as_ref(), rows);
    let views = if let Some(folder) = &mut folder {
        folder.add_rows("sources.npy", shape, write)?
    } else {
        let mut scratch = tempfile::tempfile().context("there is no place for temporary files")?;
        write(&mut npy::Rows::new(&mut scratch, shape)?)?
    };
    let mut warnings = doubts::doubts(&separation.contrast, &found, input.stored.samples());
    warnings.extend(doubts::drift(&input)?);
    let methods = methods::paragraph(&input, args, &separation, &found);
    let own = report::fields(args, &input, &separation, &found, &views, &methods);
    let report = answer::report(&mut found.diagonalization, true, seconds, &warnings, own)?;
    let ended = Ended {
        names: &NAMES,
        answer: &found.diagonalization,
        seconds,
        tol: tolerance,
        warnings: &warnings,
        output: args.output.as_deref(),
    };
    if let Some(mut folder) = folder {
        ended.stage(&mut folder, &report)?;
        if !args.exclude.is_empty() && input.info.cleaned.is_none() {
            clean(args, &input, &found, &mut folder)?;
        }
        let page = separate::render(&Page {
            input: &input.name,
            samples: input.stored.samples(),
            rate: input.rate,
            names: &input.channel_names(),
            positions: &input.positions(),
            types: &input.types(),
            methods: &methods,
            thresholds: &args.thresholds.unwrap_or_default(),
            cleaned: input.info.cleaned.as_deref().unwrap_or("cleaned.npy"),
            contrast: &separation.contrast,
            order: separation.solver.sort_by,
            found: &found,
            views: &views,
            tol: tolerance,
            seconds,
            warnings: &warnings,
            excluded: &args.exclude,
        });
        folder.add("report.html", |out| out.write_all(page.as_bytes()))?;
        folder.publish()?;
    }
    ended.warn(session)?;
    if args.json {
        export::print_json(session.out, &report)?;
    } else if !session.quiet {
        let size = size(&input, &found);
        let mut remarks = answer::stability_remark(&found.diagonalization);
        remarks.extend(suspicions(&views));
        ended.summarize((&input.name, &size), &remarks, session)?;
    }
    ended.conclude(session)
}

/// 102 channels of 36000 samples (60.00 s), 40 sources
fn size(input: &Input, found: &SeparationResult) -> String {
    let samples = input.stored.samples();
    let duration = match input.rate {
        Some(rate) => format!(" ({})", words::seconds(samples as f64 / rate)),
        None => String::new(),
    };
    format!(
        "{} of {samples} samples{duration}, {}",
        words::count(found.n_channels(), "channel", "channels"),
        words::count(found.n_components(), "source", "sources"),
    )
}

/// The sources that look like artifacts, and why.
fn suspicions(views: &[SourceView]) -> Vec<(String, String)> {
    let suspicion = |(k, view): (usize, &SourceView)| {
        let artifact = view.artifacts.first()?;
        let (what, why) = (looks_like(artifact), &artifact.reason);
        Some((format!("source {k}"), format!("looks like {what}: {why}")))
    };
    views.iter().enumerate().filter_map(suspicion).collect()
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
            BandChoice::Count(count) => Bands::try_even(1.0, 0.5 * rate, *count, rate)?,
        };
        let overlap = args.overlap.unwrap_or(bands.overlap);
        let cut = cut(args).filter(|cut| *cut != SegmentLength::Auto);
        let bands = bands.window_length(args.window_length).segment_length(cut);
        Contrast::Bands(bands.overlap(overlap).bad_spans(exclude))
    } else if args.jade {
        Contrast::Cumulants { bad_spans: exclude }
    } else if args.sobi || args.amuse {
        let lags = lags(args, input.stored.samples())?;
        let whole = SegmentLength::Count(1);
        Contrast::Lags(Lags::new(lags).segments(segments(args, whole, input, exclude)))
    } else {
        ensure!(args.lags.is_none(), "--lags is for --sobi and --amuse");
        Contrast::Segments(segments(args, SegmentLength::Auto, input, exclude))
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

/// The segments that were asked for.
fn cut(args: &Separate) -> Option<SegmentLength> {
    args.segment_length
        .or(args.n_segments.map(SegmentLength::Count))
}

fn segments(
    args: &Separate,
    usual: SegmentLength,
    input: &Input,
    exclude: Vec<Range<usize>>,
) -> Segments {
    Segments::default()
        .length(cut(args).unwrap_or(usual))
        .sfreq(input.rate)
        .overlap(args.overlap.unwrap_or(0.0))
        .bad_spans(exclude)
}

/// What sources are scored by, if the rate is known.
fn judge(args: &Separate, input: &Input) -> Option<Judge> {
    let good = Good::new(&input.info.bad, input.stored.samples());
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
    Some(Judge {
        detector: ArtifactDetector::new(input.rate?, &references),
        thresholds: args.thresholds.unwrap_or_default(),
    })
}

fn lags(args: &Separate, samples: usize) -> Result<Vec<usize>> {
    let usual = if args.amuse {
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
        None => (1..=usual).collect(),
    };
    ensure!(
        !args.amuse || lags.len() == 1,
        "--amuse is for a single lag, got {}: --sobi takes many",
        lags.len()
    );
    Ok(lags)
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
            return Err(codiag::Error::Interrupted);
        }
        self.recording.read(span, out)
    }
}

fn fit(
    args: &Separate,
    separation: &Separation,
    input: &Input,
    session: &mut Session<'_>,
) -> Result<SeparationResult> {
    let interrupted = session.interruption();
    let watched = Watched {
        recording: &input.picked(),
        interrupted,
    };
    let display = Display::new(session);
    let mut follower = Follower::new(&display, separation.solver.tol, None);
    let found = separation.fit_with(&watched, &mut follower);
    found.map_err(|error| {
        if interrupted.load(Ordering::SeqCst) {
            return Interrupted.into();
        }
        if let codiag::Error::SampleNotFinite { channel, sample, value } = error
            && !input.info.names.is_empty()
        {
            return anyhow::anyhow!(
                "{}: channel {}, sample {sample} is {value}, not a finite number: mend the recording, or leave \
                 that channel (--bads) or that part out of it",
                input.name,
                input.channel_names()[channel]
            );
        }
        // An error of reading names its file.
        if let codiag::Error::File { .. } = error {
            return error.into();
        }
        let name = start_at_fault(&args.solver, &error);
        let name = name.unwrap_or_else(|| input.name.clone());
        anyhow::Error::from(error).context(name)
    })
}

/// Writes the sources some samples at a time, and reads them again one at a time.
fn write_sources(
    found: &SeparationResult,
    input: &Input,
    judge: Option<&Judge>,
    rows: &mut npy::Rows<'_>,
) -> Result<Vec<SourceView>> {
    let sink = &mut |start: usize, part: &Matrix| written(rows.write(start, part));
    found.sources_with(&input.picked(), sink)?;
    let good = Good::new(&input.info.bad, input.stored.samples());
    (0..found.n_components())
        .map(|k| {
            let source = rows.row(k).context("the sources cannot be read again")?;
            Ok(SourceView::new(&source, &good, input.rate, judge))
        })
        .collect()
}

/// The recording without the excluded sources; channels that were not separated stay as they are.
fn clean(
    args: &Separate,
    input: &Input,
    found: &SeparationResult,
    folder: &mut Folder,
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
        let threads = args.solver.n_jobs;
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
    result.map_err(|error| {
        let reason = codiag::error::system_reason(&error);
        codiag::Error::external(format!("the results cannot be written: {reason}"))
    })
}
