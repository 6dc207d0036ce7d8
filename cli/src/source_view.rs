//! Summary of each source for the report: trace, spectrum and artifact scores.

use codiag::signals::{Artifact, ArtifactDetector, ArtifactKind, Spectrum, Thresholds, spectrum};

/// Number of bins of the trace of the whole recording.
const TRACE_BINS: usize = 420;
/// Length of the excerpt in seconds.
const EXCERPT_SECONDS: f64 = 4.0;
/// Length of the excerpt in samples if the sampling frequency is unknown.
const EXCERPT_SAMPLES: usize = 1000;

/// Range of the histogram in standard deviations from the mean, and its number of bins.
pub const HISTOGRAM: (f64, usize) = (5.0, 50);

/// Properties of a source that the report shows.
pub struct SourceView {
    /// Minimum and maximum in each bin of the recording.
    pub envelope: Vec<(f64, f64)>,
    /// Index of the first sample of the excerpt, and its samples.
    pub excerpt: (usize, Vec<f64>),
    /// Density of the standardized values in equal bins.
    pub histogram: Vec<f64>,
    /// Spectrum, if the sampling frequency is known.
    pub spectrum: Option<Spectrum>,
    /// Scores for all kinds of artifacts; empty if the sampling frequency is unknown.
    pub scores: Vec<Artifact>,
    /// Suspected artifacts, highest score first.
    pub artifacts: Vec<Artifact>,
}

/// Detector of artifacts and its thresholds.
pub struct ArtifactScorer {
    pub detector: ArtifactDetector,
    pub thresholds: Thresholds,
}

/// For each sample, whether it is not marked as bad.
pub struct GoodSamples(Vec<bool>);

impl GoodSamples {
    /// Marks all samples as good except those in `bad_spans`, each given by its first sample and
    /// the one after its last.
    pub fn new(bad_spans: &[[usize; 2]], samples: usize) -> Self {
        let mut good = vec![true; samples];
        for [start, end] in bad_spans {
            good[*start..*end].fill(false);
        }
        Self(good)
    }

    /// Whether a sample is not marked as bad.
    pub fn is_good(&self, sample: usize) -> bool {
        self.0[sample]
    }

    /// Returns the good samples of a signal.
    pub fn of(&self, signal: &[f64]) -> Vec<f64> {
        let chosen = signal.iter().zip(&self.0).filter(|(_, good)| **good);
        chosen.map(|(x, _)| *x).collect()
    }
}

impl SourceView {
    /// Summarizes a source.
    pub fn new(
        source: &[f64],
        good: &GoodSamples,
        sfreq: Option<f64>,
        scorer: Option<&ArtifactScorer>,
    ) -> Self {
        let clean = good.of(source);
        let scores = scorer.map_or_else(Vec::new, |scorer| scorer.detector.scores(&clean));
        let samples = source.len();
        let bins = samples.min(TRACE_BINS);
        let envelope = (0..bins).map(|k| {
            let part = &source[k * samples / bins..(k + 1) * samples / bins];
            let low = part.iter().fold(f64::INFINITY, |m, x| m.min(*x));
            (low, part.iter().fold(f64::NEG_INFINITY, |m, x| m.max(*x)))
        });
        // The excerpt is centered at the maximum of the source.
        let length = excerpt_length(sfreq, samples);
        let mean = clean.iter().sum::<f64>() / clean.len() as f64;
        // The recording, and thus the source, may have non-finite samples in bad spans.
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
            spectrum: sfreq.map(|sfreq| spectrum(&clean, sfreq, spectrum_window(sfreq))),
            artifacts: scorer.map_or_else(Vec::new, |scorer| scorer.thresholds.flagged(&scores)),
            scores,
        }
    }
}

/// Returns the number of samples of a window of a spectrum: two seconds, but less for sound.
pub fn spectrum_window(sfreq: f64) -> usize {
    (2.0 * sfreq).clamp(8.0, 8192.0) as usize
}

/// Returns the number of samples of an excerpt.
pub fn excerpt_length(sfreq: Option<f64>, samples: usize) -> usize {
    let length = sfreq.map_or(EXCERPT_SAMPLES, |sfreq| (EXCERPT_SECONDS * sfreq) as usize);
    length.clamp(2, 20_000).min(samples)
}

/// Returns the density of the standardized values of a source.
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

/// Noun phrase for a kind of artifact.
pub fn looks_like(artifact: &Artifact) -> &'static str {
    match artifact.kind {
        ArtifactKind::Blink => "blinks",
        ArtifactKind::Heartbeat => "a heartbeat",
        ArtifactKind::LineNoise => "line noise",
        ArtifactKind::Muscle => "muscle activity",
        other => other.name(),
    }
}
