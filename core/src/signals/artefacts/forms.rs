//! What the form of a source says: its distribution, its spectrum, how regular it is.

use realfft::num_complex::Complex;

use super::super::welch::{Spectrum, Welch, Window};
use super::{Artefact, ArtefactKind, Evidence};
use crate::linalg;

/// Blinks are rare, tall and one-sided: a kurtosis and a skewness of this count in full. The kurtosis is 0
/// for a normal distribution.
const BLINK_KURTOSIS: f64 = 4.0;
const BLINK_SKEWNESS: f64 = 1.0;
/// Hertz below which blinks have most of their power.
const SLOW: f64 = 8.0;
/// Beats of this kurtosis count in full.
const BEAT_KURTOSIS: f64 = 2.0;
/// The shortest and longest time between beats, in seconds: 200 to 40 beats a minute.
const BEAT_PERIODS: (f64, f64) = (0.3, 1.5);
/// A line that stands so many times above its neighbours counts in full.
const LINE_PROMINENCE: f64 = 10.0;
/// Hertz above which muscles have most of their power.
const FAST: f64 = 30.0;
/// Power of high frequencies that varies by so much counts in full.
const FAST_VARIATION: f64 = 0.4;

/// How far a number reaches up to another, at most 1.
fn reaches(number: f64, full: f64) -> f64 {
    // A number that is none reaches nothing.
    if number > 0.0 {
        (number / full).min(1.0)
    } else {
        0.0
    }
}

fn by_form(kind: ArtefactKind, score: f64, reason: String) -> Artefact {
    Artefact {
        kind,
        score: if score.is_finite() {
            score.clamp(0.0, 1.0)
        } else {
            0.0
        },
        evidence: Evidence::Form,
        reason,
    }
}

pub(super) struct Moments {
    skewness: f64,
    /// 0 for a normal distribution.
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

/// The share of the power from one frequency to below another.
fn share(spectrum: &Spectrum, from: f64, to: f64) -> f64 {
    let total: f64 = spectrum.density.iter().sum();
    let bins = spectrum.frequencies.iter().zip(&spectrum.density);
    let within: f64 = bins
        .filter(|(f, _)| (from..to).contains(*f))
        .map(|(_, d)| d)
        .sum();
    within / total
}

pub(super) fn blink(moments: &Moments, spectrum: &Spectrum) -> Artefact {
    let slow = share(spectrum, 0.0, SLOW);
    let (kurtosis, skewness) = (moments.kurtosis, moments.skewness.abs());
    by_form(
        ArtefactKind::Blink,
        slow * reaches(kurtosis, BLINK_KURTOSIS) * reaches(skewness, BLINK_SKEWNESS),
        format!(
            "rare one-sided bumps: kurtosis {kurtosis:.1}, skewness {skewness:.1}, {:.0} % of its power below \
             {SLOW} Hz",
            100.0 * slow,
        ),
    )
}

pub(super) fn heartbeat(source: &[f64], rate: f64, moments: &Moments) -> Artefact {
    let kurtosis = moments.kurtosis;
    let Some((regularity, period)) = energy_period(source, rate) else {
        let reason = "its energy does not repeat itself as a heart's does".to_owned();
        return by_form(ArtefactKind::Heartbeat, 0.0, reason);
    };
    by_form(
        ArtefactKind::Heartbeat,
        regularity * reaches(kurtosis, BEAT_KURTOSIS),
        format!(
            "sharp peaks {:.0} times a minute: its energy repeats itself after {period:.2} s \
             (its autocorrelation rises by {regularity:.2}), kurtosis {kurtosis:.1}",
            60.0 / period,
        ),
    )
}

/// The highest peak of the autocorrelation of the energy of a signal's changes, counted from the
/// trough before it, and its lag in seconds, among the lags that a heart may have.
fn energy_period(signal: &[f64], rate: f64) -> Option<(f64, f64)> {
    // Energies of bins of 20 ms or a sample: fine enough for a period, coarse enough to be quick.
    let bin = ((0.02 * rate) as usize).max(1);
    let changes: Vec<f64> = signal.windows(2).map(|x| (x[1] - x[0]).powi(2)).collect();
    let fine: Vec<f64> = changes.chunks_exact(bin).map(linalg::sum).collect();
    // Over three bins, so that beats which are not quite regular still meet.
    let mut energy: Vec<f64> = fine
        .windows(3)
        .map(|x| x.iter().sum::<f64>().sqrt())
        .collect();
    let mean = linalg::sum(&energy) / energy.len() as f64;
    energy.iter_mut().for_each(|e| *e -= mean);
    let bins = |seconds: f64| (seconds * rate / bin as f64) as usize;
    let (first, last) = (bins(BEAT_PERIODS.0).max(1), bins(BEAT_PERIODS.1));
    if energy.len() < 3 * last {
        return None;
    }
    let total = linalg::dot(&energy, &energy);
    let at = |lag: usize| {
        let pairs = energy.len() - lag;
        linalg::dot(&energy[..pairs], &energy[lag..]) / total * energy.len() as f64 / pairs as f64
    };
    // Energy that swells and fades slowly is alike at all lags: a beat must rise from a trough.
    let correlations: Vec<f64> = (first / 3..=last + 1).map(at).collect();
    let mut trough = f64::INFINITY;
    let mut peaks: Vec<(f64, usize)> = Vec::new();
    for (k, w) in correlations.windows(3).enumerate() {
        trough = trough.min(w[0]);
        let lag = first / 3 + k + 1;
        if lag >= first && w[1] > w[0] && w[1] >= w[2] {
            peaks.push((w[1] - trough, lag));
        }
    }
    let highest = peaks.iter().fold(0.0_f64, |m, peak| m.max(peak.0));
    let best = peaks.iter().find(|peak| peak.0 == highest)?.1;
    // What repeats itself after one beat does so after two and three, and may do so better by chance.
    let period = [3, 2].into_iter().find_map(|beats| {
        let near = |lag: usize| (beats * lag).abs_diff(best) <= beats.max(best / 16);
        let shorter = peaks
            .iter()
            .find(|peak| near(peak.1) && peak.0 > 0.5 * highest);
        shorter.map(|peak| peak.1)
    });
    let period = refined(&correlations, period.unwrap_or(best) - first / 3) + (first / 3) as f64;
    Some((highest, period * bin as f64 / rate))
}

/// The place of a peak between its neighbours, by the parabola through the three.
fn refined(values: &[f64], at: usize) -> f64 {
    let (before, here, after) = (values[at - 1], values[at], values[at + 1]);
    let bend = before - 2.0 * here + after;
    let shift = if bend < 0.0 {
        0.5 * (before - after) / bend
    } else {
        0.0
    };
    at as f64 + shift.clamp(-0.5, 0.5)
}

pub(super) fn line_noise(spectrum: &Spectrum) -> Artefact {
    let nyquist = spectrum.frequencies.last().copied().unwrap_or(0.0);
    let found = [50.0, 60.0]
        .into_iter()
        .filter(|f| f + 1.0 < nyquist)
        .map(|line| {
            let harmonics = (1..=5)
                .map(|h| line * f64::from(h))
                .filter(|f| f + 1.0 < nyquist);
            let power: f64 = harmonics.map(|f| share(spectrum, f - 1.0, f + 1.001)).sum();
            // The density at the line against the median of those around it.
            let around = |f: f64| (2.0..=8.0).contains(&(f - line).abs());
            let bins = || spectrum.frequencies.iter().zip(&spectrum.density);
            let mut others: Vec<f64> = bins()
                .filter(|(f, _)| around(**f))
                .map(|(_, d)| *d)
                .collect();
            others.sort_by(f64::total_cmp);
            let own = bins().filter(|(f, _)| (**f - line).abs() <= 1.0);
            let peak = own.map(|(_, d)| *d).fold(0.0, f64::max);
            let median = others.get(others.len() / 2).copied().unwrap_or(0.0);
            (line, power, peak / median.max(1e-12 * peak))
        });
    let Some((line, power, prominence)) = found.max_by(|x, y| x.2.total_cmp(&y.2)) else {
        let reason = "there is nothing as fast as the mains in it".to_owned();
        return by_form(ArtefactKind::LineNoise, 0.0, reason);
    };
    by_form(
        ArtefactKind::LineNoise,
        power * reaches(prominence, LINE_PROMINENCE),
        format!(
            "{:.0} % of its power lies at {line} Hz and its multiples, where the spectrum stands {} \
             times above that around it",
            100.0 * power,
            if prominence < 1e4 {
                format!("{prominence:.0}")
            } else {
                "more than 10,000".to_owned()
            },
        ),
    )
}

pub(super) fn muscle(source: &[f64], rate: f64, spectrum: &Spectrum) -> Artefact {
    let nyquist = spectrum.frequencies.last().copied().unwrap_or(0.0);
    if nyquist < 1.5 * FAST {
        let reason = "there is nothing as fast as muscles in it".to_owned();
        return by_form(ArtefactKind::Muscle, 0.0, reason);
    }
    let fast = share(spectrum, FAST, f64::INFINITY);
    let variation = fast_variation(source, rate);
    by_form(
        ArtefactKind::Muscle,
        fast * reaches(variation, FAST_VARIATION),
        format!(
            "bursts of high frequencies: {:.0} % of its power above {FAST} Hz, varying by {:.0} % from \
             second to second",
            100.0 * fast,
            100.0 * variation,
        ),
    )
}

/// How much the power of high frequencies varies over windows of a second, relative to its mean.
fn fast_variation(source: &[f64], rate: f64) -> f64 {
    let welch = Welch::new((rate as usize).max(2), Window::Hann, 0.5, true);
    let mut scratch = welch.scratch();
    let first = (FAST / rate * welch.length as f64).ceil() as usize;
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
