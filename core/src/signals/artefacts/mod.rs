//! Which sources look like blinks, heartbeats, line noise or muscles, and why.
//!
//! Rules of thumb on one source at a time, each with its score and its reason in words. They are there to
//! draw the eye to a source, not to decide about it.

mod filter;
mod forms;
mod phase;
mod references;
#[cfg(all(test, feature = "synthetic"))]
mod tests;

use self::forms::{Moments, blink, heartbeat, line_noise, muscle};
use self::references::Prepared;
use super::spectrum;
use crate::linalg;
use crate::setters::setters;

/// What a source may come from, apart from the brain.
///
/// ```
/// use codiag::signals::ArtefactKind;
/// assert_eq!(ArtefactKind::LineNoise.name(), "line noise");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ArtefactKind {
    /// The eyes: rare, slow, one-sided bumps.
    Blink,
    /// The heart: sharp peaks, about one per second.
    Heartbeat,
    /// The mains: a line at 50 or 60 Hz, and its harmonics.
    LineNoise,
    /// Muscles: bursts of high frequencies.
    Muscle,
}

impl ArtefactKind {
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

/// What a score goes by.
///
/// ```
/// use codiag::signals::Evidence;
/// assert_eq!(Evidence::Phase("ECG".to_owned()).reference(), Some("ECG"));
/// assert_eq!(Evidence::Form.reference(), None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Evidence {
    /// The form of the source: its spectrum, its distribution, how regular it is.
    Form,
    /// The correlation with the reference channel of this name, around that one's peaks.
    Correlation(String),
    /// Whether the phase of the source is the same at all beats on the reference channel of this name.
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

/// What a source looks like, and how much so.
///
/// ```
/// use codiag::signals::{artefacts, simulate};
/// let made = simulate::eeg_with_blinks(4, 4, 60.0, 0); // the first source is the blinks
/// let found = &artefacts(made.sources.row(0), made.rate, &[])[0];
/// assert_eq!(found.kind.name(), "blink");
/// assert!(found.reason.starts_with("rare one-sided bumps"));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Artefact {
    /// What it looks like.
    pub kind: ArtefactKind,
    /// How much so, from 0 to 1: the correlation, the share of power or the regularity of which the
    /// reason speaks, less where what else belongs to the kind is missing.
    pub score: f64,
    /// What the score goes by.
    pub evidence: Evidence,
    /// Why, in words.
    pub reason: String,
}

/// A channel beside the recording that shows an artefact itself: an electrooculogram or an
/// electrocardiogram. Where there is none, an electrode above the eyes (Fp1, Fp2) shows blinks, and a source
/// that is certainly the heart, of other channels, shows the beats.
///
/// ```
/// use codiag::signals::{ArtefactKind, Reference, artefacts, simulate};
/// let made = simulate::eeg_with_blinks(4, 4, 60.0, 0);
/// let eye = Reference::new("EOG", ArtefactKind::Blink, made.sources.row(0));
/// let found = artefacts(made.sources.row(0), made.rate, &[eye]);
/// assert!(found[0].reason.starts_with("its correlation with EOG is 1.00"));
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Reference<'a> {
    /// Its name, for the reason.
    pub name: &'a str,
    /// What it shows.
    pub kind: ArtefactKind,
    /// As many samples as the source has.
    pub signal: &'a [f64],
}

impl<'a> Reference<'a> {
    /// A channel of this name that shows artefacts of one kind.
    pub fn new(name: &'a str, kind: ArtefactKind, signal: &'a [f64]) -> Self {
        Self { name, kind, signal }
    }
}

/// The scores from which on a source is said to look like an artefact.
///
/// ```
/// use codiag::signals::{Detector, Thresholds, simulate};
/// let made = simulate::eeg_with_blinks(4, 4, 60.0, 0);
/// let scores = Detector::new(made.rate, &[]).scores(made.sources.row(0));
/// assert_eq!(Thresholds::default().flagged(&scores).len(), 1);
/// assert_eq!(Thresholds::default().blink(1.0).flagged(&scores).len(), 0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Thresholds {
    /// Blinks by their form: the share of power below 8 Hz, less if the source is not peaked and one-sided.
    pub blink: f64,
    /// Heartbeats by their form: how far the autocorrelation of the energy rises one beat apart.
    pub heartbeat: f64,
    /// Line noise: the share of power at the mains and its multiples.
    pub line_noise: f64,
    /// Muscles: the share of power above 30 Hz, less if it does not vary.
    pub muscle: f64,
    /// The correlation with a reference channel.
    pub correlation: f64,
    /// How far the phases at the beats of a reference channel are from chance: 0 is chance, 1 one phase.
    pub phase: f64,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self {
            blink: 0.7,
            heartbeat: 0.3,
            line_noise: 0.2,
            muscle: 0.6,
            correlation: 0.4,
            phase: 0.2,
        }
    }
}

setters!(Thresholds {
    blink: f64,
    heartbeat: f64,
    line_noise: f64,
    muscle: f64,
    correlation: f64,
    phase: f64,
});

impl Thresholds {
    /// The threshold of a score.
    pub fn of(&self, artefact: &Artefact) -> f64 {
        match (&artefact.evidence, artefact.kind) {
            (Evidence::Correlation(_), _) => self.correlation,
            (Evidence::Phase(_), _) => self.phase,
            (Evidence::Form, ArtefactKind::Blink) => self.blink,
            (Evidence::Form, ArtefactKind::Heartbeat) => self.heartbeat,
            (Evidence::Form, ArtefactKind::LineNoise) => self.line_noise,
            (Evidence::Form, ArtefactKind::Muscle) => self.muscle,
        }
    }

    /// What a source of these scores looks like, the likeliest first, each kind once. Where a reference channel
    /// shows a kind, the form of the source does not decide about it; and the peaks of a heart, or a hum that
    /// swells and fades, are no muscles.
    pub fn flagged(&self, scores: &[Artefact]) -> Vec<Artefact> {
        let likeliest = |kind: ArtefactKind| {
            let own = || scores.iter().filter(move |score| score.kind == kind);
            let referred = own().any(|score| score.evidence != Evidence::Form);
            own()
                .filter(|score| !referred || score.evidence != Evidence::Form)
                .filter(|score| score.score >= self.of(score))
                .max_by(|x, y| x.score.total_cmp(&y.score))
        };
        let mut found: Vec<Artefact> = Vec::new();
        for kind in ArtefactKind::ALL {
            let sharp = |found: &Artefact| {
                matches!(
                    found.kind,
                    ArtefactKind::Heartbeat | ArtefactKind::LineNoise
                )
            };
            if kind == ArtefactKind::Muscle && found.iter().any(sharp) {
                continue;
            }
            found.extend(likeliest(kind).cloned());
        }
        found.sort_by(|x, y| y.score.total_cmp(&x.score));
        found
    }
}

/// Scores sources, one after the other: for every kind by their form, and by each reference channel.
///
/// ```
/// use codiag::signals::{ArtefactKind, Detector, Reference, simulate};
/// let made = simulate::eeg_with_blinks(4, 4, 60.0, 0);
/// let eye = Reference::new("EOG", ArtefactKind::Blink, made.sources.row(0));
/// let detector = Detector::new(made.rate, &[eye]);
/// for k in 0..4 {
///     let scores = detector.scores(made.sources.row(k)); // four by form, one by correlation
///     assert_eq!(scores.len(), 5);
///     assert_eq!(scores[4].score > 0.9, k == 0);
/// }
/// ```
pub struct Detector {
    rate: f64,
    references: Vec<Prepared>,
}

impl Detector {
    /// For sources of so many samples per second. References without a signal are not used.
    pub fn new(rate: f64, references: &[Reference<'_>]) -> Self {
        let usable = rate.is_finite() && rate > 0.0;
        let prepared = references.iter().filter(|_| usable);
        Self {
            rate,
            references: prepared.filter_map(|r| Prepared::new(r, rate)).collect(),
        }
    }

    /// One score per kind by form, in the order of [`ArtefactKind::ALL`], then those of each reference channel.
    /// Nothing can be said, and nothing is, of a source that is zero, not finite, or shorter than two seconds.
    pub fn scores(&self, source: &[f64]) -> Vec<Artefact> {
        let rate = self.rate;
        let usable = rate.is_finite() && rate > 0.0 && source.len() as f64 >= 2.0 * rate;
        let power = linalg::dot(source, source);
        if !(usable && power.is_finite() && power > 0.0) {
            return Vec::new();
        }
        let spectrum = spectrum(source, rate, (2.0 * rate) as usize);
        let moments = Moments::of(source);
        let mut scores = vec![
            blink(&moments, &spectrum),
            heartbeat(source, rate, &moments),
            line_noise(&spectrum),
            muscle(source, rate, &spectrum),
        ];
        scores.extend(self.references.iter().flat_map(|r| r.compare(source)));
        scores
    }
}

/// What a source looks like, the likeliest first; empty if it looks like none of these: what a
/// [`Detector`] scores, by the default [`Thresholds`].
///
/// ```
/// use codiag::signals::{ArtefactKind, artefacts};
/// let hum: Vec<f64> = (0..5000).map(|t| (0.2 * std::f64::consts::PI * t as f64).sin()).collect();
/// let found = artefacts(&hum, 500.0, &[]); // 50 Hz
/// assert_eq!(found[0].kind, ArtefactKind::LineNoise);
/// println!("{}", found[0].reason); // 100 % of its power lies at 50 Hz …
/// ```
pub fn artefacts(source: &[f64], rate: f64, references: &[Reference<'_>]) -> Vec<Artefact> {
    Thresholds::default().flagged(&Detector::new(rate, references).scores(source))
}
