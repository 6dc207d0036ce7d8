//! Scores by reference channels: correlation and phase of a source at their peaks.

use super::filter::Filtered;
use super::thresholds::DETECTION as P;
use super::{Artifact, ArtifactKind, Evidence, ReferenceChannel, kuiper};
use crate::linalg;

/// A reference channel and its peaks.
pub(super) struct Prepared {
    name: String,
    kind: ArtifactKind,
    /// In the band in which sources are compared with it.
    filtered: Vec<f64>,
    peaks: Vec<usize>,
    sfreq: f64,
}

impl Prepared {
    /// None if the channel has no signal.
    pub fn new(reference: &ReferenceChannel<'_>, sfreq: f64) -> Option<Self> {
        let power = linalg::dot(reference.signal, reference.signal);
        if !power.is_finite() || power == 0.0 {
            return None;
        }
        let (low, high) = band(reference.kind, sfreq);
        let filtered = Filtered::new(reference.signal, sfreq, low, high).signal;
        (linalg::dot(&filtered, &filtered) > P.min_reference_power * power).then(|| Self {
            name: reference.name.to_owned(),
            kind: reference.kind,
            peaks: match reference.kind {
                ArtifactKind::Blink => blinks(&filtered, sfreq),
                ArtifactKind::Heartbeat => beats(&filtered, sfreq),
                _ => Vec::new(),
            },
            filtered,
            sfreq,
        })
    }

    /// Correlation with a source and, for beats, concentration of phases. None for other lengths.
    pub fn compare(&self, source: &[f64]) -> Vec<Artifact> {
        if source.len() != self.filtered.len() {
            return Vec::new();
        }
        let mut found = vec![self.correlation(source)];
        found.extend(self.phase(source));
        found
    }

    /// The correlation around the peaks, or of all samples without peaks.
    fn correlation(&self, source: &[f64]) -> Artifact {
        let (low, high) = band(self.kind, self.sfreq);
        let other = Filtered::new(source, self.sfreq, low, high).signal;
        let reach = (P.peak_surroundings_s * self.sfreq) as usize;
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
        Artifact {
            kind: self.kind,
            score: correlation.abs().min(1.0),
            evidence: Evidence::Correlation(self.name.clone()),
            reason: format!(
                "its correlation with {} is {correlation:.2}{place}",
                self.name
            ),
        }
    }

    /// The largest Kuiper statistic at all times around the beats, relative to chance.
    fn phase(&self, source: &[f64]) -> Option<Artifact> {
        let (low, high) = P.phase_band_hz;
        if self.kind != ArtifactKind::Heartbeat || self.sfreq < 2.0 * high {
            return None;
        }
        // At most half a beat, to exclude the next one.
        let half_beat = 0.5 * median_interval(&self.peaks)? / self.sfreq;
        let reach = (P.peak_surroundings_s.min(half_beat) * self.sfreq) as usize;
        let inside = |peak: &&usize| **peak >= reach && **peak + reach < source.len();
        let peaks: Vec<usize> = self.peaks.iter().filter(inside).copied().collect();
        if peaks.len() < P.min_beats {
            return None;
        }
        let filtered = Filtered::new(source, self.sfreq, low, high);
        let step = ((self.sfreq / (P.phase_tests_per_period * high)) as usize).max(1);
        let mut phases = vec![0.0; peaks.len()];
        let mut highest = 0.0_f64;
        for place in (0..=2 * reach).step_by(step) {
            for (phase, peak) in phases.iter_mut().zip(&peaks) {
                let t = peak + place - reach;
                let angle = filtered.quadrature[t].atan2(filtered.signal[t]);
                *phase = (angle / std::f64::consts::TAU).rem_euclid(1.0);
            }
            highest = highest.max(kuiper::statistic(&mut phases));
        }
        // The number of independent times in a signal of this bandwidth.
        let times = (2.0 * (high - low) * 2.0 * reach as f64 / self.sfreq).max(1.0);
        let chance = kuiper::critical_value(P.phase_significance / times, peaks.len());
        Some(Artifact {
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

fn band(kind: ArtifactKind, sfreq: f64) -> (f64, f64) {
    match kind {
        ArtifactKind::Blink => P.eye_band_hz,
        ArtifactKind::Heartbeat => P.heart_band_hz,
        _ => (P.min_other_hz, 0.5 * sfreq),
    }
}

/// The median number of samples from one peak to the next.
fn median_interval(peaks: &[usize]) -> Option<f64> {
    let mut intervals: Vec<usize> = peaks.windows(2).map(|p| p[1] - p[0]).collect();
    intervals.sort_unstable();
    intervals.get(intervals.len() / 2).map(|x| *x as f64)
}

/// Blinks: high peaks of the sign of the largest one.
fn blinks(filtered: &[f64], sfreq: f64) -> Vec<usize> {
    let high = filtered.iter().fold(0.0_f64, |m, x| m.max(*x));
    let low = filtered.iter().fold(0.0_f64, |m, x| m.min(*x));
    let sign = if high >= -low { 1.0 } else { -1.0 };
    let upward: Vec<f64> = filtered.iter().map(|x| sign * x).collect();
    let level = P.min_blink_height * (high - low);
    peaks_above(&upward, level, (P.min_blink_interval_s * sfreq) as usize)
}

/// Beats: peaks of either sign that are high compared with the median maximum of short windows.
fn beats(filtered: &[f64], sfreq: f64) -> Vec<usize> {
    let size: Vec<f64> = filtered.iter().map(|x| x.abs()).collect();
    let window = ((P.beat_window_s * sfreq) as usize).max(1);
    let mut largest: Vec<f64> = size
        .chunks(window)
        .map(|part| part.iter().fold(0.0_f64, |m, x| m.max(*x)))
        .collect();
    largest.sort_by(f64::total_cmp);
    let usual = largest[largest.len() / 2];
    let level = P.min_beat_height * usual;
    peaks_above(&size, level, (P.min_beat_interval_s * sfreq) as usize)
}

/// Local maxima above a level; of those closer together than `apart`, the highest.
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
