//! Detection of sources that look like blinks, heartbeats, line noise or muscles.
//!
//! Each heuristic computes a score with a reason for a single source. The results are suggestions;
//! inspect the sources before you remove them.

mod filter;
mod forms;
mod kuiper;
mod references;
mod thresholds;

pub use thresholds::Thresholds;

use self::forms::{Moments, blink, fraction, heartbeat, line_noise, muscle};
use self::references::Reference;
use self::thresholds::DETECTION;
use super::spectrum;
use crate::linalg;

/// Kind of an artifact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ArtifactKind {
    /// Eye blinks: rare, slow, one-sided deflections.
    Blink,
    /// Heartbeats: sharp peaks, about one per second.
    Heartbeat,
    /// Mains interference: a spectral line at 50 or 60 Hz and its harmonics.
    LineNoise,
    /// Muscle activity: bursts of high frequencies.
    Muscle,
}

impl ArtifactKind {
    /// All kinds, in the order in which they are scored.
    pub const ALL: [Self; 4] = [Self::Blink, Self::Heartbeat, Self::LineNoise, Self::Muscle];

    /// Returns the name used in Python and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Blink => "blink",
            Self::Heartbeat => "heartbeat",
            Self::LineNoise => "line noise",
            Self::Muscle => "muscle",
        }
    }
}

/// Evidence on which a score is based.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Evidence {
    /// The form of the source: its spectrum, distribution and regularity.
    Form,
    /// The correlation with a reference channel around its peaks. Contains the name of the channel.
    Correlation(String),
    /// The concentration of the phases of the source at the heartbeats of a reference channel.
    /// Contains the name of the channel.
    Phase(String),
}

impl Evidence {
    /// Returns the name of the reference channel, if there is one.
    pub fn reference(&self) -> Option<&str> {
        match self {
            Self::Form => None,
            Self::Correlation(name) | Self::Phase(name) => Some(name),
        }
    }
}

/// A possible artifact in a source, with its score. See [`find_artifacts()`] for an example.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Artifact {
    /// The kind of artifact.
    pub kind: ArtifactKind,
    /// Score from 0 to 1: the correlation, fraction of power or regularity stated in the reason,
    /// reduced if other properties of this kind of artifact are missing.
    pub score: f64,
    /// Evidence on which the score is based.
    pub evidence: Evidence,
    /// A sentence that explains the score.
    pub reason: String,
}

/// A reference channel that records an artifact, such as an electrooculogram or electrocardiogram.
/// If there is none, use an electrode above the eyes (Fp1, Fp2) for blinks, and a source that is
/// certainly the heart, separated from other channels, for heartbeats.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReferenceChannel<'a> {
    /// Name of the channel, used in reasons.
    pub name: &'a str,
    /// Kind of artifact that the channel records.
    pub kind: ArtifactKind,
    /// Samples of the channel. Their number must be that of the sources.
    pub signal: &'a [f64],
}

impl<'a> ReferenceChannel<'a> {
    /// Creates a reference channel with a name that records one kind of artifact.
    pub fn new(name: &'a str, kind: ArtifactKind, signal: &'a [f64]) -> Self {
        Self { name, kind, signal }
    }
}

/// Scores sources by their form, for every kind of artifact, and by each reference channel.
///
/// ```
/// use codiag::signals::{ArtifactKind, ArtifactDetector, ReferenceChannel, simulate};
/// let simulated = simulate::eeg_with_blinks(4, 4, 60.0, 0);
/// let eye = ReferenceChannel::new("EOG", ArtifactKind::Blink, simulated.sources.row(0));
/// let detector = ArtifactDetector::new(simulated.sfreq, &[eye]);
/// for k in 0..4 {
///     // Four scores by form and one by the reference channel.
///     let scores = detector.scores(simulated.sources.row(k));
///     assert_eq!(scores.len(), 5);
///     assert_eq!(scores[4].score > 0.9, k == 0);
/// }
/// ```
pub struct ArtifactDetector {
    sfreq: f64,
    references: Vec<Reference>,
}

impl ArtifactDetector {
    /// Creates a detector for sources with sampling frequency `sfreq` in hertz. Reference channels
    /// that are zero in their frequency band are ignored.
    pub fn new(sfreq: f64, references: &[ReferenceChannel<'_>]) -> Self {
        let usable = sfreq.is_finite() && sfreq > 0.0;
        let references = references.iter().filter(|_| usable);
        Self {
            sfreq,
            references: references
                .filter_map(|r| Reference::new(r, sfreq))
                .collect(),
        }
    }

    /// Scores by form for every kind, in the order of [`ArtifactKind::ALL`], followed by the scores
    /// of each reference channel. Empty for a source that is zero, not finite, or shorter than two
    /// seconds.
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
        scores.extend(self.references.iter().flat_map(|r| r.scores(source)));
        scores
    }
}

/// Lists the artifacts that a source looks like, in descending order of their scores: the scores of
/// [`ArtifactDetector`] that reach the default [`Thresholds`].
///
/// ```
/// use codiag::signals::{ArtifactKind, find_artifacts};
/// let hum: Vec<f64> = (0..5000).map(|t| (0.2 * std::f64::consts::PI * t as f64).sin()).collect();
/// let artifacts = find_artifacts(&hum, 500.0, &[]); // 50 Hz
/// assert_eq!(artifacts[0].kind, ArtifactKind::LineNoise);
/// println!("{}", artifacts[0].reason); // 100 % of its power lies at 50 Hz …
/// ```
pub fn find_artifacts(
    source: &[f64],
    sfreq: f64,
    references: &[ReferenceChannel<'_>],
) -> Vec<Artifact> {
    Thresholds::default().flagged(&ArtifactDetector::new(sfreq, references).scores(source))
}
