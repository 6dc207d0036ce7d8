//! Fields that `codiag separate` adds to report.json.

use codiag::signals::{
    Artifact, Components, Contrast, Evidence, Recording, Scale, SegmentLength, Separation,
    SeparationResult,
};
use serde_json::{Map, Value, json};

use super::Input;
use super::methods::Methods;
use crate::args::Separate;
use crate::commands::result::path_text;
use crate::source_view::SourceView;

/// Returns the input, the settings and the properties of each source.
pub fn fields(
    args: &Separate,
    input: &Input,
    separation: &Separation,
    found: &SeparationResult,
    views: &[SourceView],
    methods: &Methods,
) -> Map<String, Value> {
    let thresholds = args.thresholds.unwrap_or_default();
    let sources: Vec<Value> = views
        .iter()
        .enumerate()
        .map(|(k, view)| {
            let artifacts: Vec<Value> = view.artifacts.iter().map(artifact).collect();
            let scores = view.scores.iter().map(|score| {
                let mut fields = artifact(score);
                fields["threshold"] = json!(thresholds.of(score));
                fields
            });
            let scores: Vec<Value> = scores.collect();
            json!({
                "source": k,
                "explained_variance_ratio": found.explained_variance_ratio[k],
                "nonstationarity": found.nonstationarity.get(k),
                "kurtosis": found.kurtosis.get(k),
                "stability": found.diagonalization.stability.as_ref().map(|found| found.values[k]),
                "least_separable": found.least_separable[k].map(|least| json!({
                    "partner": least.partner,
                    "margin": least.margin,
                })),
                "artifacts": artifacts,
                "scores": scores,
            })
        })
        .collect();
    let segments: Vec<Vec<[usize; 2]>> = found
        .segments
        .iter()
        .map(|piece| piece.iter().map(|span| [span.start, span.end]).collect())
        .collect();
    let fields = [
        (
            "input",
            json!({
                "name": input.name,
                "files": [path_text(&args.input)],
                "channels": found.n_channels(),
                "samples": input.stored.samples(),
                "sfreq": input.sfreq,
                "names": input.channel_names(),
                "types": input.info.types,
                "bad_spans": input.info.bad_spans,
                "reference_channels": input.references.iter().map(|(r, _)| &r.name).collect::<Vec<_>>(),
            }),
        ),
        ("command", json!(input.info.command)),
        ("methods", json!(methods.text)),
        ("references", json!(methods.references)),
        ("settings", settings(args, separation)),
        (
            "explained_variance_ratio_total",
            json!(found.explained_variance_ratio_total),
        ),
        ("sources", json!(sources)),
        ("shrinkages", json!(found.shrinkages)),
        ("segments", json!(segments)),
    ];
    fields
        .map(|(name, value)| (name.to_owned(), value))
        .into_iter()
        .collect()
}

/// Serializes the score of a source for one kind of artifact.
fn artifact(artifact: &Artifact) -> Value {
    json!({
        "kind": artifact.kind.name(),
        "score": artifact.score,
        "evidence": match &artifact.evidence {
            Evidence::Correlation(_) => "correlation",
            Evidence::Phase(_) => "phase",
            _ => "waveform",
        },
        "reference": artifact.evidence.reference(),
        "reason": artifact.reason,
    })
}

/// Returns the length or number of segments in the settings.
fn segment_length(separation: &Separation) -> Option<SegmentLength> {
    match &separation.contrast {
        Contrast::Segments(segments) => Some(segments.length),
        Contrast::Bands(bands) => bands.segment_length,
        Contrast::Lags(lags) => Some(lags.segments.length),
        _ => None,
    }
}

fn thresholds(args: &Separate) -> Value {
    let t = args.thresholds.unwrap_or_default();
    json!({
        "blink": t.blink,
        "heartbeat": t.heartbeat,
        "line_noise": t.line_noise,
        "muscle": t.muscle,
        "correlation": t.correlation,
        "phase": t.phase,
    })
}

fn settings(args: &Separate, separation: &Separation) -> Value {
    let solver = &separation.solver;
    json!({
        "n_components": match separation.n_components {
            Components::Count(r) => json!(r),
            Components::VarianceFraction(fraction) => json!(fraction),
            _ => json!("all"),
        },
        "contrast": match &separation.contrast {
            Contrast::Bands(_) => "bands",
            Contrast::Lags(_) => "lags",
            Contrast::Cumulants { .. } => "cumulants",
            _ => "segments",
        },
        "n_segments": match segment_length(separation) {
            Some(SegmentLength::Count(count)) => json!(count),
            Some(SegmentLength::Auto) => json!("auto"),
            _ => Value::Null,
        },
        "segment_length": match segment_length(separation) {
            Some(SegmentLength::Length(samples)) => json!(samples),
            Some(SegmentLength::Seconds(seconds)) => json!(format!("{seconds}s")),
            _ => Value::Null,
        },
        "sfreq": args.sfreq,
        "picks": args.picks,
        "bads": args.bads,
        "highpass": args.highpass,
        "lowpass": args.lowpass,
        "center": separation.center,
        "overlap": match &separation.contrast {
            Contrast::Segments(segments) => Some(segments.overlap),
            Contrast::Bands(bands) => Some(bands.overlap),
            Contrast::Lags(lags) => Some(lags.segments.overlap),
            _ => None,
        },
        "bands": match &separation.contrast {
            Contrast::Bands(bands) => &bands.bands[..],
            _ => &[],
        },
        "lags": match &separation.contrast {
            Contrast::Lags(lags) => &lags.lags[..],
            _ => &[],
        },
        "window_length": args.window_length,
        "scale": match &separation.scale {
            Scale::Groups(_) => "types",
            Scale::UnitRms => "rms",
            _ => "none",
        },
        "thresholds": thresholds(args),
        "shrinkage": args.shrinkage,
        "exclude": args.exclude,
        "method": solver.method.name(),
        "init": path_text(&args.solver.init),
        "tol": solver.tol,
        "max_iter": solver.max_iter,
        "n_restarts": solver.n_restarts,
        "n_resamples": solver.n_resamples,
        "sort_by": solver.sort_by.name(),
        "n_jobs": args.solver.n_jobs,
    })
}
