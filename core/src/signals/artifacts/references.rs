//! Scores by reference channels: correlation with a source, and phases of the source at heartbeats.

use super::filter::FilteredSignal;
use super::thresholds::DETECTION as P;
use super::{Artifact, ArtifactKind, Evidence, ReferenceChannel, kuiper};
use crate::linalg;

/// A filtered reference channel with its peaks.
pub(super) struct Reference {
    name: String,
    kind: ArtifactKind,
    /// The signal in the band in which it is compared with sources.
    filtered: Vec<f64>,
    peaks: Vec<usize>,
    sfreq: f64,
}

impl Reference {
    /// Filters a reference channel. None if it is zero in its band, or not finite.
    pub fn new(reference: &ReferenceChannel<'_>, sfreq: f64) -> Option<Self> {
        let power = linalg::dot(reference.signal, reference.signal);
        if !power.is_finite() || power == 0.0 {
            return None;
        }
        let (low, high) = band(reference.kind, sfreq);
        let filtered = FilteredSignal::new(reference.signal, sfreq, low, high).signal;
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

    /// Scores by correlation and, for heartbeats, by phase. Empty if the lengths differ.
    pub fn scores(&self, source: &[f64]) -> Vec<Artifact> {
        if source.len() != self.filtered.len() {
            return Vec::new();
        }
        let mut scores = vec![self.correlation(source)];
        scores.extend(self.phase(source));
        scores
    }

    /// Scores by the correlation of the samples around the peaks, or of all samples if there are no
    /// peaks.
    fn correlation(&self, source: &[f64]) -> Artifact {
        let (low, high) = band(self.kind, self.sfreq);
        let other = FilteredSignal::new(source, self.sfreq, low, high).signal;
        let half_width = (P.peak_surroundings_s * self.sfreq) as usize;
        let mut selected = vec![self.peaks.is_empty(); source.len()];
        for peak in &self.peaks {
            let end = (peak + half_width + 1).min(source.len());
            selected[peak.saturating_sub(half_width)..end].fill(true);
        }
        let pick = |signal: &[f64]| -> Vec<f64> {
            let pairs = signal.iter().zip(&selected);
            let samples = pairs.filter(|(_, selected)| **selected);
            samples.map(|(x, _)| *x).collect()
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

    /// Scores by the largest Kuiper statistic at times around the heartbeats, relative to its
    /// critical value. None if there are too few heartbeats.
    fn phase(&self, source: &[f64]) -> Option<Artifact> {
        let (low, high) = P.phase_band_hz;
        if self.kind != ArtifactKind::Heartbeat || self.sfreq < 2.0 * high {
            return None;
        }
        // At most half the interval between beats, to exclude the next beat.
        let half_interval = 0.5 * median_interval(&self.peaks)? / self.sfreq;
        let half_width = (P.peak_surroundings_s.min(half_interval) * self.sfreq) as usize;
        let inside = |peak: &&usize| **peak >= half_width && **peak + half_width < source.len();
        let peaks: Vec<usize> = self.peaks.iter().filter(inside).copied().collect();
        if peaks.len() < P.min_beats {
            return None;
        }
        let filtered = FilteredSignal::new(source, self.sfreq, low, high);
        let step = ((self.sfreq / (P.phase_tests_per_period * high)) as usize).max(1);
        let mut phases = vec![0.0; peaks.len()];
        let mut highest = 0.0_f64;
        for offset in (0..=2 * half_width).step_by(step) {
            for (phase, peak) in phases.iter_mut().zip(&peaks) {
                let t = peak + offset - half_width;
                let angle = filtered.quadrature[t].atan2(filtered.signal[t]);
                *phase = (angle / std::f64::consts::TAU).rem_euclid(1.0);
            }
            highest = highest.max(kuiper::statistic(&mut phases));
        }
        // Bonferroni correction for the number of independent times in a signal of this bandwidth.
        let times = (2.0 * (high - low) * 2.0 * half_width as f64 / self.sfreq).max(1.0);
        let critical = kuiper::critical_value(P.phase_significance / times, peaks.len());
        Some(Artifact {
            kind: self.kind,
            score: ((highest - critical) / (1.0 - critical)).clamp(0.0, 1.0),
            evidence: Evidence::Phase(self.name.clone()),
            reason: format!(
                "its phases at the {} peaks of {} agree: Kuiper's statistic is {highest:.2}, with a critical \
                 value of {critical:.2}",
                peaks.len(),
                self.name
            ),
        })
    }
}

/// Returns the band in which sources are compared with reference channels.
fn band(kind: ArtifactKind, sfreq: f64) -> (f64, f64) {
    match kind {
        ArtifactKind::Blink => P.eye_band_hz,
        ArtifactKind::Heartbeat => P.heart_band_hz,
        _ => (P.min_other_hz, 0.5 * sfreq),
    }
}

/// Returns the median number of samples between neighboring peaks.
fn median_interval(peaks: &[usize]) -> Option<f64> {
    let mut intervals: Vec<usize> = peaks.windows(2).map(|p| p[1] - p[0]).collect();
    intervals.sort_unstable();
    intervals.get(intervals.len() / 2).map(|x| *x as f64)
}

/// Finds blinks: high peaks with the sign of the largest peak.
fn blinks(filtered: &[f64], sfreq: f64) -> Vec<usize> {
    let high = filtered.iter().fold(0.0_f64, |m, x| m.max(*x));
    let low = filtered.iter().fold(0.0_f64, |m, x| m.min(*x));
    let sign = if high >= -low { 1.0 } else { -1.0 };
    let upward: Vec<f64> = filtered.iter().map(|x| sign * x).collect();
    let level = P.min_blink_height * (high - low);
    peaks_above(&upward, level, (P.min_blink_interval_s * sfreq) as usize)
}

/// Finds heartbeats: peaks of either sign that are high compared with the median of the maxima of
/// short windows.
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

/// Finds local maxima above a level. Of maxima closer than `min_distance`, the highest is kept.
fn peaks_above(signal: &[f64], level: f64, min_distance: usize) -> Vec<usize> {
    let mut peaks: Vec<usize> = Vec::new();
    for t in 1..signal.len().saturating_sub(1) {
        let x = signal[t];
        if x <= level || x < signal[t - 1] || x <= signal[t + 1] {
            continue;
        }
        match peaks.last_mut() {
            Some(last) if t - *last < min_distance => {
                if x > signal[*last] {
                    *last = t;
                }
            }
            _ => peaks.push(t),
        }
    }
    peaks
}
