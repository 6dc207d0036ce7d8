//! What the form of a source says: its distribution, its spectrum, how regular it is.

use realfft::num_complex::Complex;

use super::super::welch::{Spectrum, Welch, Window};
use super::{Artefact, ArtefactKind};
use crate::linalg;

/// Blinks are rare and tall. The kurtosis is 0 for a normal distribution.
const BLINK_KURTOSIS: f64 = 4.0;
const BLINK_SKEWNESS: f64 = 1.0;
/// Hertz below which blinks have most of their power, and the share of it.
const SLOW: (f64, f64) = (8.0, 0.7);
const BEAT_KURTOSIS: f64 = 2.0;
/// How far the autocorrelation of the energy must rise one beat apart.
const BEAT_REGULARITY: f64 = 0.3;
/// The shortest and longest time between beats, in seconds.
const BEAT_PERIODS: (f64, f64) = (0.4, 1.5);
/// The share of power in the line, and how far it stands above its neighbours.
const LINE_SHARE: f64 = 0.2;
const LINE_PROMINENCE: f64 = 10.0;
/// Hertz above which muscles have most of their power, the share of it, and how much it varies.
const FAST: (f64, f64) = (30.0, 0.6);
const FAST_VARIATION: f64 = 0.3;

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

pub(super) fn blink(moments: &Moments, spectrum: &Spectrum) -> Option<Artefact> {
    let slow = share(spectrum, 0.0, SLOW.0);
    let tall = moments.kurtosis > BLINK_KURTOSIS && moments.skewness.abs() > BLINK_SKEWNESS;
    (tall && slow > SLOW.1).then(|| Artefact {
        kind: ArtefactKind::Blink,
        score: slow,
        reason: format!(
            "rare one-sided bumps: kurtosis {:.1}, skewness {:.1}, {:.0} % of its power below {} Hz",
            moments.kurtosis,
            moments.skewness.abs(),
            100.0 * slow,
            SLOW.0,
        ),
    })
}

pub(super) fn heartbeat(source: &[f64], rate: f64, moments: &Moments) -> Option<Artefact> {
    if moments.kurtosis < BEAT_KURTOSIS {
        return None;
    }
    let (regularity, period) = energy_period(source, rate)?;
    (regularity > BEAT_REGULARITY).then(|| Artefact {
        kind: ArtefactKind::Heartbeat,
        score: regularity.min(1.0),
        reason: format!(
            "sharp peaks {:.0} times a minute: its energy repeats itself after {period:.2} s \
             (its autocorrelation rises by {regularity:.2}), kurtosis {:.1}",
            60.0 / period,
            moments.kurtosis,
        ),
    })
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
    let mut best: Option<(f64, usize)> = None;
    for (k, w) in correlations.windows(3).enumerate() {
        trough = trough.min(w[0]);
        let (lag, height) = (first / 3 + k + 1, w[1] - trough);
        let peak = lag >= first && w[1] > w[0] && w[1] >= w[2];
        if peak && best.is_none_or(|(highest, _)| height > highest) {
            best = Some((height, lag));
        }
    }
    best.map(|(height, lag)| (height, lag as f64 * bin as f64 / rate))
}

pub(super) fn line_noise(spectrum: &Spectrum) -> Option<Artefact> {
    let nyquist = *spectrum.frequencies.last()?;
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
    let (line, power, prominence) = found.max_by(|x, y| x.2.total_cmp(&y.2))?;
    (power > LINE_SHARE && prominence > LINE_PROMINENCE).then(|| Artefact {
        kind: ArtefactKind::LineNoise,
        score: power.min(1.0),
        reason: format!(
            "{:.0} % of its power lies at {line} Hz and its multiples, where the spectrum stands {} \
             times above that around it",
            100.0 * power,
            if prominence < 1e4 { format!("{prominence:.0}") } else { "more than 10,000".to_owned() },
        ),
    })
}

pub(super) fn muscle(source: &[f64], rate: f64, spectrum: &Spectrum) -> Option<Artefact> {
    let nyquist = *spectrum.frequencies.last()?;
    let fast = share(spectrum, FAST.0, f64::INFINITY);
    if nyquist < 1.5 * FAST.0 || fast < FAST.1 {
        return None;
    }
    let variation = fast_variation(source, rate);
    (variation > FAST_VARIATION).then(|| Artefact {
        kind: ArtefactKind::Muscle,
        score: fast,
        reason: format!(
            "bursts of high frequencies: {:.0} % of its power above {} Hz, varying by {:.0} % from \
             second to second",
            100.0 * fast,
            FAST.0,
            100.0 * variation,
        ),
    })
}

/// How much the power of high frequencies varies over windows of a second, relative to its mean.
fn fast_variation(source: &[f64], rate: f64) -> f64 {
    let welch = Welch::new((rate as usize).max(2), Window::Hann, 0.5, true);
    let mut scratch = welch.scratch();
    let first = (FAST.0 / rate * welch.length as f64).ceil() as usize;
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
