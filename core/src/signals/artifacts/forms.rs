//! Scores by the form of a source (its distribution, spectrum and regularity), with reasons.

use realfft::num_complex::Complex;

use super::thresholds::DETECTION as P;
use crate::linalg;
use crate::signals::bands::{Spectrum, Welch, Window};

/// `number` divided by `full`, clamped to [0, 1]; 0 for NaN.
pub(super) fn fraction(number: f64, full: f64) -> f64 {
    if number > 0.0 {
        (number / full).min(1.0)
    } else {
        0.0
    }
}

pub(super) struct Moments {
    skewness: f64,
    /// Excess kurtosis: 0 for a normal distribution.
    kurtosis: f64,
}

impl Moments {
    pub(super) fn of(x: &[f64]) -> Self {
        let n = x.len() as f64;
        let mean = linalg::sum(x) / n;
        let moment = |k: i32| x.iter().map(|x| (x - mean).powi(k)).sum::<f64>() / n;
        let variance = moment(2);
        Self {
            skewness: moment(3) / variance.powf(1.5),
            kurtosis: moment(4) / variance.powi(2) - 3.0,
        }
    }
}

/// Returns the fraction of the power at frequencies in [from, to).
fn band_power(spectrum: &Spectrum, from: f64, to: f64) -> f64 {
    let total: f64 = spectrum.density.iter().sum();
    let bins = spectrum.frequencies.iter().zip(&spectrum.density);
    let within = bins.filter(|(f, _)| (from..to).contains(*f));
    within.map(|(_, density)| density).sum::<f64>() / total
}

pub(super) fn blink(moments: &Moments, spectrum: &Spectrum) -> (f64, String) {
    let slow = band_power(spectrum, 0.0, P.max_blink_hz);
    let (kurtosis, skewness) = (moments.kurtosis, moments.skewness.abs());
    let peaked = slow * fraction(kurtosis, P.full_blink_kurtosis);
    (
        peaked * fraction(skewness, P.full_blink_skewness),
        format!(
            "rare one-sided bumps: kurtosis {kurtosis:.1}, skewness {skewness:.1}, {:.0} % of its \
             power below {} Hz",
            100.0 * slow,
            P.max_blink_hz,
        ),
    )
}

pub(super) fn heartbeat(source: &[f64], sfreq: f64, moments: &Moments) -> (f64, String) {
    let kurtosis = moments.kurtosis;
    let Some((regularity, period)) = energy_period(source, sfreq) else {
        return (0.0, "its energy is not periodic at a heart rate".to_owned());
    };
    (
        regularity * fraction(kurtosis, P.full_beat_kurtosis),
        format!(
            "sharp peaks {:.0} times a minute: the autocorrelation of its energy rises by \
             {regularity:.2} to a peak at {period:.2} s; kurtosis {kurtosis:.1}",
            60.0 / period,
        ),
    )
}

/// Finds the highest peak, relative to the minimum before it, of the autocorrelation of the energy
/// of the signal's differences, at lags in the range of heart rates. Returns its height and its lag
/// in seconds.
fn energy_period(signal: &[f64], sfreq: f64) -> Option<(f64, f64)> {
    let bin = ((P.energy_bin_s * sfreq) as usize).max(1);
    let changes: Vec<f64> = signal.windows(2).map(|x| (x[1] - x[0]).powi(2)).collect();
    let fine: Vec<f64> = changes.chunks_exact(bin).map(linalg::sum).collect();
    // Sums over three bins tolerate slightly irregular beats.
    let mut energy: Vec<f64> = fine
        .windows(3)
        .map(|x| x.iter().sum::<f64>().sqrt())
        .collect();
    let mean = linalg::sum(&energy) / energy.len() as f64;
    energy.iter_mut().for_each(|e| *e -= mean);
    let bins = |seconds: f64| (seconds * sfreq / bin as f64) as usize;
    let first = bins(60.0 / P.max_heart_rate_bpm).max(1);
    let last = bins(60.0 / P.min_heart_rate_bpm);
    if energy.len() < 3 * last {
        return None;
    }
    let total = linalg::dot(&energy, &energy);
    let at = |lag: usize| {
        let pairs = energy.len() - lag;
        linalg::dot(&energy[..pairs], &energy[lag..]) / total * energy.len() as f64 / pairs as f64
    };
    // Slowly varying energy is correlated at all lags, so that peaks are measured from the minimum
    // at shorter lags.
    let correlations: Vec<f64> = (first / 3..=last + 1).map(at).collect();
    let mut minimum = f64::INFINITY;
    let mut peaks: Vec<(f64, usize)> = Vec::new();
    for (k, w) in correlations.windows(3).enumerate() {
        minimum = minimum.min(w[0]);
        let lag = first / 3 + k + 1;
        if lag >= first && w[1] > w[0] && w[1] >= w[2] {
            peaks.push((w[1] - minimum, lag));
        }
    }
    let highest = peaks.iter().fold(0.0_f64, |m, peak| m.max(peak.0));
    let best = peaks.iter().find(|peak| peak.0 == highest)?.1;
    // Multiples of the period may have higher peaks by chance; a shorter period is preferred.
    let period = [3, 2].into_iter().find_map(|beats| {
        let tolerance = beats.max(best / P.period_tolerance_divisor);
        let near = |lag: usize| (beats * lag).abs_diff(best) <= tolerance;
        let high = |height: f64| height > P.min_shorter_period_height * highest;
        let shorter = peaks.iter().find(|peak| near(peak.1) && high(peak.0));
        shorter.map(|peak| peak.1)
    });
    let period = refined(&correlations, period.unwrap_or(best) - first / 3) + (first / 3) as f64;
    Some((highest, period * bin as f64 / sfreq))
}

/// Returns the position of a peak by parabolic interpolation.
fn refined(values: &[f64], at: usize) -> f64 {
    let (before, here, after) = (values[at - 1], values[at], values[at + 1]);
    let curvature = before - 2.0 * here + after;
    let shift = if curvature < 0.0 {
        0.5 * (before - after) / curvature
    } else {
        0.0
    };
    at as f64 + shift.clamp(-0.5, 0.5)
}

pub(super) fn line_noise(spectrum: &Spectrum) -> (f64, String) {
    let nyquist = spectrum.frequencies.last().copied().unwrap_or(0.0);
    let half = P.line_half_width_hz;
    let below_nyquist = |f: &f64| f + half < nyquist;
    let lines = P.mains_hz.into_iter().filter(below_nyquist);
    let found = lines.map(|line| {
        let harmonics = (1..=P.mains_harmonics).map(|h| line * f64::from(h));
        // The factor includes the upper end in spite of rounding.
        let powers = harmonics.filter(below_nyquist);
        let power: f64 = powers
            .map(|f| band_power(spectrum, f - half, f + 1.001 * half))
            .sum();
        // Prominence is the density at the line divided by the median density around it.
        let (near, far) = P.line_surroundings_hz;
        let densities = |from: f64, to: f64| {
            let bins = spectrum.frequencies.iter().zip(&spectrum.density);
            let within = bins.filter(move |(f, _)| (from..=to).contains(&(**f - line).abs()));
            within.map(|(_, density)| *density)
        };
        let mut others: Vec<f64> = densities(near, far).collect();
        others.sort_by(f64::total_cmp);
        let peak = densities(0.0, half).fold(0.0, f64::max);
        let median = others.get(others.len() / 2).copied().unwrap_or(0.0);
        (line, power, peak / median.max(peak / P.max_line_prominence))
    });
    let Some((line, power, prominence)) = found.max_by(|x, y| x.2.total_cmp(&y.2)) else {
        return (
            0.0,
            "its sampling frequency is too low to detect line noise".to_owned(),
        );
    };
    (
        power * fraction(prominence, P.full_line_prominence),
        format!(
            "{:.0} % of its power lies at {line} Hz and its multiples, where the spectrum is {} times \
             that of the neighboring frequencies",
            100.0 * power,
            if prominence < 1e4 {
                format!("{prominence:.0}")
            } else {
                "more than 10,000".to_owned()
            },
        ),
    )
}

pub(super) fn muscle(source: &[f64], sfreq: f64, spectrum: &Spectrum) -> (f64, String) {
    let nyquist = spectrum.frequencies.last().copied().unwrap_or(0.0);
    if nyquist < P.min_muscle_bandwidth * P.min_muscle_hz {
        return (
            0.0,
            "its sampling frequency is too low to detect muscles".to_owned(),
        );
    }
    let fast = band_power(spectrum, P.min_muscle_hz, f64::INFINITY);
    let variation = fast_variation(source, sfreq);
    (
        fast * fraction(variation, P.full_muscle_variation),
        format!(
            "bursts of high frequencies: {:.0} % of its power above {} Hz, varying by {:.0} % from \
             second to second",
            100.0 * fast,
            P.min_muscle_hz,
            100.0 * variation,
        ),
    )
}

/// Returns the standard deviation of the high-frequency power over windows of one second, divided
/// by its mean.
fn fast_variation(source: &[f64], sfreq: f64) -> f64 {
    let welch = Welch::new((sfreq as usize).max(2), Window::Hann, 0.5, true);
    let mut scratch = welch.scratch();
    let first = (P.min_muscle_hz / sfreq * welch.length as f64).ceil() as usize;
    let powers: Vec<f64> = welch
        .starts(&(0..source.len()))
        .map(|start| {
            welch.transform(&source[start..start + welch.length], &mut scratch);
            scratch.frequency[first..]
                .iter()
                .map(Complex::norm_sqr)
                .sum()
        })
        .collect();
    let n = powers.len() as f64;
    let mean = linalg::sum(&powers) / n;
    let variance = powers.iter().map(|x| (x - mean).powi(2) / n).sum::<f64>();
    variance.sqrt() / mean
}
