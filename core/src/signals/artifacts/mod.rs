//! Artifact detection: which sources look like blinks, heartbeats, line noise or muscles, and why.
//!
//! Heuristics for one source at a time, each with a score and a reason. They suggest sources to
//! look at, and do not replace a decision.

mod filter;
mod forms;
mod kuiper;
mod references;
mod thresholds;

pub use thresholds::Thresholds;

use self::forms::{Moments, blink, fraction, heartbeat, line_noise, muscle};
use self::references::Prepared;
use self::thresholds::DETECTION;
use super::spectrum;
use crate::linalg;

/// Kinds of artifacts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ArtifactKind {
    /// The eyes: rare, slow, one-sided bumps.
    Blink,
    /// The heart: sharp peaks, about one per second.
    Heartbeat,
    /// Mains interference: a line at 50 or 60 Hz, and its harmonics.
    LineNoise,
    /// Muscles: bursts of high frequencies.
    Muscle,
}

impl ArtifactKind {
    /// All kinds, in the order in which they are scored.
    pub const ALL: [Self; 4] = [Self::Blink, Self::Heartbeat, Self::LineNoise, Self::Muscle];

    /// The name used in Python and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Blink => "blink",
            Self::Heartbeat => "heartbeat",
            Self::LineNoise => "line noise",
            Self::Muscle => "muscle",
        }
    }
}

/// The evidence for a score.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Evidence {
    /// The form of the source: its spectrum, distribution and regularity.
    Form,
    /// The correlation with the reference channel of this name around its peaks.
    Correlation(String),
    /// The concentration of the source's phases at the beats of the reference channel of this name.
    Phase(String),
}

impl Evidence {
    /// The name of the reference channel, if there is one.
    pub fn reference(&self) -> Option<&str> {
        match self {
            Self::Form => None,
            Self::Correlation(name) | Self::Phase(name) => Some(name),
        }
    }
}

/// An artifact that a source looks like, with its score. See [`find_artifacts()`] for an example.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Artifact {
    /// The kind of artifact.
    pub kind: ArtifactKind,
    /// From 0 to 1: the correlation, fraction of power or regularity given in the reason, reduced
    /// if other properties of the kind are missing.
    pub score: f64,
    /// The evidence for the score.
    pub evidence: Evidence,
    /// A sentence that explains the score.
    pub reason: String,
}

/// A reference channel that records an artifact itself: an electrooculogram or electrocardiogram.
/// If there is none, use an electrode above the eyes (Fp1, Fp2) for blinks, and for beats a source
/// of other channels that is certainly the heart.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReferenceChannel<'a> {
    /// Name of the channel, used in reasons.
    pub name: &'a str,
    /// The artifact it records.
    pub kind: ArtifactKind,
    /// Its samples, as many as those of the source.
    pub signal: &'a [f64],
}

impl<'a> ReferenceChannel<'a> {
    /// A channel of this name that records artifacts of one kind.
    pub fn new(name: &'a str, kind: ArtifactKind, signal: &'a [f64]) -> Self {
        Self { name, kind, signal }
    }
}

/// Scores sources: for every kind of artifact by their form, and by each reference channel.
///
/// ```
/// use codiag::signals::{ArtifactKind, ArtifactDetector, ReferenceChannel, simulate};
/// let simulated = simulate::eeg_with_blinks(4, 4, 60.0, 0);
/// let eye = ReferenceChannel::new("EOG", ArtifactKind::Blink, simulated.sources.row(0));
/// let detector = ArtifactDetector::new(simulated.sfreq, &[eye]);
/// for k in 0..4 {
///     let scores = detector.scores(simulated.sources.row(k)); // four by form, one by the reference
///     assert_eq!(scores.len(), 5);
///     assert_eq!(scores[4].score > 0.9, k == 0);
/// }
/// ```
pub struct ArtifactDetector {
    sfreq: f64,
    references: Vec<Prepared>,
}

impl ArtifactDetector {
    /// A detector for sources of `sfreq` samples per second. References without signal are ignored.
    pub fn new(sfreq: f64, references: &[ReferenceChannel<'_>]) -> Self {
        let usable = sfreq.is_finite() && sfreq > 0.0;
        let prepared = references.iter().filter(|_| usable);
        Self {
            sfreq,
            references: prepared.filter_map(|r| Prepared::new(r, sfreq)).collect(),
        }
    }

    /// One score per kind by form, in the order of [`ArtifactKind::ALL`], then those of each
    /// reference channel. None for a source that is zero, not finite, or shorter than two seconds.
    pub fn scores(&self, source: &[f64]) -> Vec<Artifact> {
        let sfreq = self.sfreq;
        let long_enough = source.len() as f64 >= DETECTION.min_duration_s * sfreq;
        let usable = sfreq.is_finite() && sfreq > 0.0 && long_enough;
        let power = linalg::dot(source, source);
        if !(usable && power.is_finite() && power > 0.0) {
            return Vec::new();
        }
        let window = (DETECTION.spectrum_window_s * sfreq) as usize;
        let spectrum = spectrum(source, sfreq, window);
        let moments = Moments::of(source);
        let by_form = [
            blink(&moments, &spectrum),
            heartbeat(source, sfreq, &moments),
            line_noise(&spectrum),
            muscle(source, sfreq, &spectrum),
        ];
        let by_form = ArtifactKind::ALL.into_iter().zip(by_form);
        let scores = by_form.map(|(kind, (score, reason))| Artifact {
            kind,
            score: fraction(score, 1.0),
            evidence: Evidence::Form,
            reason,
        });
        let mut scores: Vec<Artifact> = scores.collect();
        scores.extend(self.references.iter().flat_map(|r| r.compare(source)));
        scores
    }
}

/// The artifacts that a source looks like, the highest score first: the scores of a [`ArtifactDetector`]
/// that reach the default [`Thresholds`].
///
/// ```
/// use codiag::signals::{ArtifactKind, find_artifacts};
/// let hum: Vec<f64> = (0..5000).map(|t| (0.2 * std::f64::consts::PI * t as f64).sin()).collect();
/// let found = find_artifacts(&hum, 500.0, &[]); // 50 Hz
/// assert_eq!(found[0].kind, ArtifactKind::LineNoise);
/// println!("{}", found[0].reason); // 100 % of its power lies at 50 Hz …
/// ```
pub fn find_artifacts(
    source: &[f64],
    sfreq: f64,
    references: &[ReferenceChannel<'_>],
) -> Vec<Artifact> {
    Thresholds::default().flagged(&ArtifactDetector::new(sfreq, references).scores(source))
}
