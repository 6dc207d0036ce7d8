//! The sources themselves: written as they come, then looked at one by one.

use anyhow::{Context, Result};
use codiag::Matrix;
use codiag::signals::{Artefact, Recording, Reference, Separated, Spectrum, artefacts, spectrum};

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
    let good = Good::new(&input.info.bad, input.stored.samples());
    let signals: Vec<Vec<f64>> = input.references.iter().map(|(_, x)| good.of(x)).collect();
    let references: Vec<Reference<'_>> = input
        .references
        .iter()
        .zip(&signals)
        .filter_map(|((channel, _), signal)| {
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
            Ok(view(&source, &good, input.rate, &references))
        })
        .collect()
}

/// Which samples are not marked as bad: what is in the others tells nothing of a source.
struct Good(Vec<bool>);

impl Good {
    fn new(bad: &[[usize; 2]], samples: usize) -> Self {
        let mut good = vec![true; samples];
        for [start, end] in bad {
            good[*start..*end].fill(false);
        }
        Self(good)
    }

    fn of(&self, signal: &[f64]) -> Vec<f64> {
        let chosen = signal.iter().zip(&self.0).filter(|(_, good)| **good);
        chosen.map(|(x, _)| *x).collect()
    }
}

fn view(
    source: &[f64],
    good: &Good,
    rate: Option<f64>,
    references: &[Reference<'_>],
) -> SourceView {
    let clean = good.of(source);
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
    let mean = clean.iter().sum::<f64>() / clean.len() as f64;
    // A source may be undefined where the recording is.
    let finite = |x: f64| if x.is_finite() { x } else { 0.0 };
    let strength = |t: &usize| {
        if good.0[*t] {
            finite(source[*t] - mean).abs()
        } else {
            0.0
        }
    };
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
        spectrum: rate.map(|rate| spectrum(&clean, rate, (2.0 * rate).max(8.0) as usize)),
        artefacts: rate.map_or_else(Vec::new, |rate| artefacts(&clean, rate, references)),
    }
}
