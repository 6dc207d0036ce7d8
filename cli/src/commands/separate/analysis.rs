//! The sources themselves: written as they come, then looked at one by one.

use anyhow::{Context, Result};
use codiag::Matrix;
use codiag::signals::{Artefact, Reference, Separated, Spectrum, artefacts, spectrum};

use super::{Input, written};
use crate::export::npy::Rows;

/// How many places a trace of the whole recording has.
const PLACES: usize = 420;
/// The seconds that are shown closely.
const EXCERPT: f64 = 4.0;
/// The samples that are shown closely where the rate is not known.
const EXCERPT_SAMPLES: usize = 1000;

/// What is shown of a source.
pub struct SourceView {
    /// The least and the largest value in each part of the recording.
    pub envelope: Vec<(f64, f64)>,
    /// The number of the first sample shown closely, and the samples.
    pub excerpt: (usize, Vec<f64>),
    /// If the rate is known.
    pub spectrum: Option<Spectrum>,
    /// What the source looks like, the likeliest first.
    pub artefacts: Vec<Artefact>,
}

/// Writes the sources some samples at a time, and reads them again one at a time.
pub fn write_sources(
    found: &Separated,
    input: &Input,
    rows: &mut Rows<'_>,
) -> Result<Vec<SourceView>> {
    let sink = &mut |start: usize, part: &Matrix| written(rows.write(start, part));
    found.sources_with(&input.picked(), sink)?;
    let references: Vec<Reference<'_>> = input
        .references
        .iter()
        .filter_map(|(channel, signal)| {
            Some(Reference {
                name: &channel.name,
                kind: channel.artefact()?,
                signal,
            })
        })
        .collect();
    (0..found.components())
        .map(|k| {
            let source = rows.row(k).context("the sources cannot be read again")?;
            Ok(view(&source, input.rate, &references))
        })
        .collect()
}

fn view(source: &[f64], rate: Option<f64>, references: &[Reference<'_>]) -> SourceView {
    let samples = source.len();
    let places = samples.min(PLACES);
    let envelope = (0..places).map(|k| {
        let part = &source[k * samples / places..(k + 1) * samples / places];
        let low = part.iter().fold(f64::INFINITY, |m, x| m.min(*x));
        (low, part.iter().fold(f64::NEG_INFINITY, |m, x| m.max(*x)))
    });
    // Where the source is strongest, something can be seen of what it is.
    let length = rate.map_or(EXCERPT_SAMPLES, |rate| (EXCERPT * rate) as usize);
    let length = length.clamp(2, 20_000).min(samples);
    let mean = source.iter().sum::<f64>() / samples as f64;
    // A source may be undefined where the recording is.
    let finite = |x: f64| if x.is_finite() { x } else { 0.0 };
    let strength = |t: &usize| finite(source[*t] - mean).abs();
    let peak = (0..samples)
        .max_by(|x, y| strength(x).total_cmp(&strength(y)))
        .unwrap_or(0);
    let start = peak.saturating_sub(length / 2).min(samples - length);
    SourceView {
        envelope: envelope.collect(),
        excerpt: (
            start,
            source[start..start + length]
                .iter()
                .map(|x| finite(*x))
                .collect(),
        ),
        spectrum: rate.map(|rate| spectrum(source, rate, (2.0 * rate).max(8.0) as usize)),
        artefacts: rate.map_or_else(Vec::new, |rate| artefacts(source, rate, references)),
    }
}
