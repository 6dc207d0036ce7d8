//! Which sources look like blinks, heartbeats, line noise or muscles, and why.
//!
//! Rules of thumb on one source at a time, each with its reason in words. They are there to draw the
//! eye to a source, not to decide about it.

mod forms;
#[cfg(all(test, feature = "synthetic"))]
mod tests;

use self::forms::{Moments, blink, heartbeat, line_noise, muscle};
use super::spectrum;
use crate::linalg;

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

/// What a source looks like.
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
    /// reason speaks.
    pub score: f64,
    /// Why, in words.
    pub reason: String,
}

/// A channel beside the recording that shows an artefact itself: an electrooculogram or an
/// electrocardiogram.
///
/// ```
/// use codiag::signals::{ArtefactKind, Reference, artefacts, simulate};
/// let made = simulate::eeg_with_blinks(4, 4, 60.0, 0);
/// let eye = Reference::new("EOG", ArtefactKind::Blink, made.sources.row(0));
/// let found = artefacts(made.sources.row(0), made.rate, &[eye]);
/// assert_eq!(found[0].reason, "its correlation with EOG is 1.00");
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

/// A source comes from what a reference channel shows if their correlation is at least this.
const CORRELATION: f64 = 0.4;

/// What a source looks like, the likeliest first; empty if it looks like none of these. Goes by the
/// spectrum, the kurtosis, periodicity, and the correlation with reference channels if there are any.
///
/// ```
/// use codiag::signals::{ArtefactKind, artefacts};
/// let hum: Vec<f64> = (0..5000).map(|t| (0.2 * std::f64::consts::PI * t as f64).sin()).collect();
/// let found = artefacts(&hum, 500.0, &[]); // 50 Hz
/// assert_eq!(found[0].kind, ArtefactKind::LineNoise);
/// println!("{}", found[0].reason); // 100 % of its power lies at 50 Hz …
/// ```
pub fn artefacts(source: &[f64], rate: f64, references: &[Reference<'_>]) -> Vec<Artefact> {
    let usable = rate.is_finite() && rate > 0.0 && source.len() as f64 >= 2.0 * rate;
    let power = linalg::dot(source, source);
    if !(usable && power.is_finite() && power > 0.0) {
        return Vec::new();
    }
    let spectrum = spectrum(source, rate, (2.0 * rate) as usize);
    let mut found: Vec<Artefact> = references
        .iter()
        .filter_map(|reference| by_reference(source, rate, reference))
        .collect();
    let moments = Moments::of(source);
    let beat = heartbeat(source, rate, &moments);
    let line = line_noise(&spectrum);
    // The peaks of a heart are bursts of high frequencies too, and so is a hum that swells and fades.
    let neither = beat.is_none() && line.is_none();
    let burst = neither.then(|| muscle(source, rate, &spectrum)).flatten();
    let by_form = [blink(&moments, &spectrum), line, beat, burst];
    // What a reference channel shows needs no second reason.
    for artefact in by_form.into_iter().flatten() {
        if found.iter().all(|f| f.kind != artefact.kind) {
            found.push(artefact);
        }
    }
    found.sort_by(|x, y| y.score.total_cmp(&x.score));
    found
}

fn by_reference(source: &[f64], rate: f64, reference: &Reference<'_>) -> Option<Artefact> {
    if reference.signal.len() != source.len() {
        return None;
    }
    // Drifts over more than a second would hide what is alike.
    let (x, y) = (
        without_drift(source, rate),
        without_drift(reference.signal, rate),
    );
    let norm = (linalg::dot(&x, &x) * linalg::dot(&y, &y)).sqrt();
    let correlation = linalg::dot(&x, &y) / norm;
    (correlation.abs() >= CORRELATION).then(|| Artefact {
        kind: reference.kind,
        score: correlation.abs().min(1.0),
        reason: format!(
            "its correlation with {} is {correlation:.2}",
            reference.name
        ),
    })
}

/// The signal minus its mean over the second around each sample.
fn without_drift(signal: &[f64], rate: f64) -> Vec<f64> {
    let half = ((0.5 * rate) as usize).max(1);
    let mut sums = vec![0.0; signal.len() + 1];
    for (t, x) in signal.iter().enumerate() {
        sums[t + 1] = sums[t] + x;
    }
    (0..signal.len())
        .map(|t| {
            let (from, to) = (t.saturating_sub(half), (t + half + 1).min(signal.len()));
            signal[t] - (sums[to] - sums[from]) / (to - from) as f64
        })
        .collect()
}
