//! report.json: what `codiag separate` adds to the fields of an answer.

use codiag::signals::{Components, Contrast, Recording, Separated, Separation};
use serde_json::{Map, Value, json};

use super::Input;
use crate::args::Separate;
use crate::page::stability;
use crate::sources::SourceView;

/// The input, the settings, and what is known of each source.
pub fn fields(
    args: &Separate,
    input: &Input,
    separation: &Separation,
    found: &Separated,
    views: &[SourceView],
) -> Map<String, Value> {
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
                "nonstationarity": found.nonstationarity.get(k),
                "kurtosis": found.kurtosis.get(k),
                "stability": stability::of(&found.diagonalization, k),
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
    let fields = [
        (
            "input",
            json!({
                "name": input.name,
                "files": [args.input],
                "channels": found.channels(),
                "samples": input.stored.samples(),
                "rate": input.rate,
                "names": input.channel_names(),
            }),
        ),
        ("settings", settings(args, separation)),
        ("kept_variance", json!(found.kept_variance)),
        ("sources", json!(sources)),
        ("shrinkages", json!(found.shrinkages)),
        ("segments", json!(segments)),
    ];
    fields
        .map(|(name, value)| (name.to_owned(), value))
        .into_iter()
        .collect()
}

fn settings(args: &Separate, separation: &Separation) -> Value {
    let solver = &separation.solver;
    json!({
        "components": match separation.components {
            Components::Number(r) => json!(r),
            Components::Share(share) => json!(share),
            _ => json!("all"),
        },
        "by": match &separation.contrast {
            Contrast::Bands(_) => "bands",
            Contrast::Lags(_) => "lags",
            Contrast::Cumulants { .. } => "cumulants",
            _ => "segments",
        },
        "segments": args.segments,
        "segment_length": args.segment_length,
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
        "scale": args.scale,
        "shrinkage": args.shrinkage,
        "exclude": args.exclude,
        "method": solver.method.name(),
        "start": args.solver.start,
        "tol": solver.tolerance,
        "max_iter": solver.max_iterations,
        "restarts": solver.restarts,
        "stability": solver.stability,
        "order": solver.order.name(),
        "threads": args.solver.threads,
    })
}
