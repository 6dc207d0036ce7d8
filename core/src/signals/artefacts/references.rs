//! What a reference channel says about a source.

use super::filter::Filtered;
use super::phase;
use super::{Artefact, ArtefactKind, Evidence, Reference};
use crate::linalg;

/// The hertz in which eyes are looked for.
const EYES: (f64, f64) = (1.0, 10.0);
/// The hertz in which beats are found on a reference channel, and in which the phase of a source at the
/// beats is looked at.
const BEATS: (f64, f64) = (5.0, 35.0);
const PHASES: (f64, f64) = (8.0, 16.0);
/// Fewer peaks than this tell nothing of phases.
const FEWEST_BEATS: usize = 8;
/// Seconds on either side of a peak that are looked at.
const AROUND: f64 = 0.5;
/// The shortest time between two beats, and between two blinks, in seconds.
const APART: (f64, f64) = (0.27, 0.4);
/// What V shows by chance is exceeded with this probability, at one of all times that are looked at.
const CHANCE: f64 = 1e-3;

/// A reference channel, and where it has its peaks.
pub struct Prepared {
    name: String,
    kind: ArtefactKind,
    /// In the hertz in which sources are compared with it.
    filtered: Vec<f64>,
    peaks: Vec<usize>,
    rate: f64,
}

impl Prepared {
    /// None if there is nothing on the channel.
    pub fn new(reference: &Reference<'_>, rate: f64) -> Option<Self> {
        let power = linalg::dot(reference.signal, reference.signal);
        if !power.is_finite() || power == 0.0 {
            return None;
        }
        let (low, high) = band(reference.kind, rate);
        let filtered = Filtered::new(reference.signal, rate, low, high).signal;
        (linalg::dot(&filtered, &filtered) > 1e-20 * power).then(|| Self {
            name: reference.name.to_owned(),
            kind: reference.kind,
            peaks: match reference.kind {
                ArtefactKind::Blink => blinks(&filtered, rate),
                ArtefactKind::Heartbeat => beats(&filtered, rate),
                _ => Vec::new(),
            },
            filtered,
            rate,
        })
    }

    /// What it says about a source: how alike they are, and for beats whether the phase of the source is the
    /// same at all of them. Nothing, if the two are not of the same length.
    pub fn compare(&self, source: &[f64]) -> Vec<Artefact> {
        if source.len() != self.filtered.len() {
            return Vec::new();
        }
        let mut found = vec![self.correlation(source)];
        found.extend(self.phase(source));
        found
    }

    /// The correlation around the peaks, if there are any.
    fn correlation(&self, source: &[f64]) -> Artefact {
        let (low, high) = band(self.kind, self.rate);
        let other = Filtered::new(source, self.rate, low, high).signal;
        let reach = (AROUND * self.rate) as usize;
        let mut chosen = vec![self.peaks.is_empty(); source.len()];
        for peak in &self.peaks {
            let end = (peak + reach + 1).min(source.len());
            chosen[peak.saturating_sub(reach)..end].fill(true);
        }
        let pick = |signal: &[f64]| -> Vec<f64> {
            let picked = signal.iter().zip(&chosen).filter(|(_, chosen)| **chosen);
            picked.map(|(x, _)| *x).collect()
        };
        let (x, y) = (pick(&self.filtered), pick(&other));
        let norm = (linalg::dot(&x, &x) * linalg::dot(&y, &y)).sqrt();
        let correlation = if norm > 0.0 {
            linalg::dot(&x, &y) / norm
        } else {
            0.0
        };
        let place = match self.peaks.len() {
            0 => String::new(),
            n => format!(" around its {n} peaks"),
        };
        Artefact {
            kind: self.kind,
            score: correlation.abs().min(1.0),
            evidence: Evidence::Correlation(self.name.clone()),
            reason: format!(
                "its correlation with {} is {correlation:.2}{place}",
                self.name
            ),
        }
    }

    /// How far V rises above chance at the beats, where it does most.
    fn phase(&self, source: &[f64]) -> Option<Artefact> {
        if self.kind != ArtefactKind::Heartbeat || self.rate < 2.0 * PHASES.1 {
            return None;
        }
        // No further than half a beat, or the next would be seen again.
        let reach =
            (AROUND.min(0.5 * median_interval(&self.peaks)? / self.rate) * self.rate) as usize;
        let inside = |peak: &&usize| **peak >= reach && **peak + reach < source.len();
        let peaks: Vec<usize> = self.peaks.iter().filter(inside).copied().collect();
        if peaks.len() < FEWEST_BEATS {
            return None;
        }
        let filtered = Filtered::new(source, self.rate, PHASES.0, PHASES.1);
        // As fine as the band allows, and no finer.
        let step = ((self.rate / (8.0 * PHASES.1)) as usize).max(1);
        let mut phases = vec![0.0; peaks.len()];
        let mut highest = 0.0_f64;
        for place in (0..=2 * reach).step_by(step) {
            for (phase, peak) in phases.iter_mut().zip(&peaks) {
                let t = peak + place - reach;
                let angle = filtered.quadrature[t].atan2(filtered.signal[t]);
                *phase = (angle / std::f64::consts::TAU).rem_euclid(1.0);
            }
            highest = highest.max(phase::kuiper(&mut phases));
        }
        // Times that are independent of each other in a signal of this bandwidth.
        let times = (2.0 * (PHASES.1 - PHASES.0) * 2.0 * reach as f64 / self.rate).max(1.0);
        let chance = phase::critical(CHANCE / times, peaks.len());
        Some(Artefact {
            kind: self.kind,
            score: ((highest - chance) / (1.0 - chance)).clamp(0.0, 1.0),
            evidence: Evidence::Phase(self.name.clone()),
            reason: format!(
                "its phase at the {} peaks of {} is the same each time: Kuiper's V is {highest:.2}, where chance \
                 reaches {chance:.2}",
                peaks.len(),
                self.name
            ),
        })
    }
}

fn band(kind: ArtefactKind, rate: f64) -> (f64, f64) {
    match kind {
        ArtefactKind::Blink => EYES,
        ArtefactKind::Heartbeat => BEATS,
        _ => (0.5, 0.5 * rate),
    }
}

/// The median of the samples from one peak to the next.
pub fn median_interval(peaks: &[usize]) -> Option<f64> {
    let mut intervals: Vec<usize> = peaks.windows(2).map(|p| p[1] - p[0]).collect();
    intervals.sort_unstable();
    intervals.get(intervals.len() / 2).map(|x| *x as f64)
}

/// Where an eye blinks: one-sided peaks above a quarter of the whole range.
fn blinks(filtered: &[f64], rate: f64) -> Vec<usize> {
    let high = filtered.iter().fold(0.0_f64, |m, x| m.max(*x));
    let low = filtered.iter().fold(0.0_f64, |m, x| m.min(*x));
    let sign = if high >= -low { 1.0 } else { -1.0 };
    let upward: Vec<f64> = filtered.iter().map(|x| sign * x).collect();
    peaks_above(&upward, 0.25 * (high - low), (APART.1 * rate) as usize)
}

/// Where a heart beats: peaks of either sign above half of what is usual for the largest of two seconds.
pub fn beats(filtered: &[f64], rate: f64) -> Vec<usize> {
    let size: Vec<f64> = filtered.iter().map(|x| x.abs()).collect();
    let window = ((2.0 * rate) as usize).max(1);
    let mut largest: Vec<f64> = size
        .chunks(window)
        .map(|part| part.iter().fold(0.0_f64, |m, x| m.max(*x)))
        .collect();
    largest.sort_by(f64::total_cmp);
    let usual = largest[largest.len() / 2];
    peaks_above(&size, 0.5 * usual, (APART.0 * rate) as usize)
}

/// The highest samples above a level, so far apart at least.
fn peaks_above(signal: &[f64], level: f64, apart: usize) -> Vec<usize> {
    let mut peaks: Vec<usize> = Vec::new();
    for t in 1..signal.len().saturating_sub(1) {
        let x = signal[t];
        if x <= level || x < signal[t - 1] || x <= signal[t + 1] {
            continue;
        }
        match peaks.last_mut() {
            Some(last) if t - *last < apart => {
                if x > signal[*last] {
                    *last = t;
                }
            }
            _ => peaks.push(t),
        }
    }
    peaks
}
