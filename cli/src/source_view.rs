//! What is seen of each source: its course, its spectrum, and what it looks like.

use codiag::signals::{Artifact, ArtifactDetector, ArtifactKind, Spectrum, Thresholds, spectrum};

/// How many places a trace of the whole recording has.
const PLACES: usize = 420;
/// The seconds that are shown closely.
const EXCERPT: f64 = 4.0;
/// The samples that are shown closely where the rate is not known.
const EXCERPT_SAMPLES: usize = 1000;

/// How far from zero values are counted, in standard deviations, and in how many bins.
pub const HISTOGRAM: (f64, usize) = (5.0, 50);

/// What is shown of a source.
pub struct SourceView {
    /// The least and the largest value in each part of the recording.
    pub envelope: Vec<(f64, f64)>,
    /// The number of the first sample shown closely, and the samples.
    pub excerpt: (usize, Vec<f64>),
    /// How often values occur, as a density: those of equal bins, in standard deviations.
    pub histogram: Vec<f64>,
    /// If the rate is known.
    pub spectrum: Option<Spectrum>,
    /// How much it looks like each kind of artifact; empty if the rate is not known.
    pub scores: Vec<Artifact>,
    /// What the source looks like, the likeliest first.
    pub artifacts: Vec<Artifact>,
}

/// What sources are scored by.
pub struct ArtifactScorer {
    pub detector: ArtifactDetector,
    pub thresholds: Thresholds,
}

/// Which samples are not marked as bad: what is in the others tells nothing of a source.
pub struct GoodSamples(Vec<bool>);

impl GoodSamples {
    /// All but these spans, each with its first sample and the one after its last.
    pub fn new(bad: &[[usize; 2]], samples: usize) -> Self {
        let mut good = vec![true; samples];
        for [start, end] in bad {
            good[*start..*end].fill(false);
        }
        Self(good)
    }

    /// The good samples of a signal, one after the other.
    pub fn of(&self, signal: &[f64]) -> Vec<f64> {
        let chosen = signal.iter().zip(&self.0).filter(|(_, good)| **good);
        chosen.map(|(x, _)| *x).collect()
    }
}

impl SourceView {
    /// Looks at a source.
    pub fn new(
        source: &[f64],
        good: &GoodSamples,
        rate: Option<f64>,
        judge: Option<&ArtifactScorer>,
    ) -> Self {
        let clean = good.of(source);
        let scores = judge.map_or_else(Vec::new, |judge| judge.detector.scores(&clean));
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
        Self {
            envelope: envelope.collect(),
            excerpt: (
                start,
                source[start..start + length]
                    .iter()
                    .map(|x| finite(*x))
                    .collect(),
            ),
            histogram: histogram(&clean, mean),
            spectrum: rate.map(|rate| spectrum(&clean, rate, (2.0 * rate).max(8.0) as usize)),
            artifacts: judge.map_or_else(Vec::new, |judge| judge.thresholds.flagged(&scores)),
            scores,
        }
    }
}

/// The density of the values of a source, in bins of standard deviations from its mean.
fn histogram(source: &[f64], mean: f64) -> Vec<f64> {
    let (reach, bins) = HISTOGRAM;
    let n = source.len() as f64;
    let variance = source.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
    let width = 2.0 * reach / bins as f64;
    let mut density = vec![0.0; bins];
    for x in source {
        let bin = ((x - mean) / variance.sqrt() + reach) / width;
        if bin >= 0.0 && bin < bins as f64 {
            density[bin as usize] += 1.0 / (n * width);
        }
    }
    density
}

/// What an artifact is, with its article.
pub fn looks_like(artifact: &Artifact) -> &'static str {
    match artifact.kind {
        ArtifactKind::Blink => "blinks",
        ArtifactKind::Heartbeat => "a heartbeat",
        ArtifactKind::LineNoise => "line noise",
        ArtifactKind::Muscle => "muscles",
        other => other.name(),
    }
}
