//! Which sources look like blinks, heartbeats, line noise or muscles, and why.
//!
//! Rules of thumb on one source at a time, each with its reason in words. They are there to draw the
//! eye to a source, not to decide about it.

use realfft::num_complex::Complex;

use super::welch::{Spectrum, Welch, Window, spectrum};
use crate::linalg;

/// What a source may come from, apart from the brain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ArtefactKind {
    /// The eyes: rare, slow, one-sided bumps.
    Blink,
    /// The heart: sharp peaks, about one a second.
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
#[derive(Clone, Debug, PartialEq)]
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
#[derive(Clone, Debug)]
pub struct Reference<'a> {
    /// Its name, for the reason.
    pub name: &'a str,
    /// What it shows.
    pub kind: ArtefactKind,
    /// As many samples as the source has.
    pub signal: &'a [f64],
}

/// A source that follows a reference channel this closely comes from there.
const CORRELATION: f64 = 0.4;
/// Blinks are rare and tall: the kurtosis of a normal distribution is 0 here.
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

/// What a source looks like, the likeliest first; empty if like none of these. Heeds the spectrum,
/// the kurtosis, periodicity, and the correlation with reference channels if there are any.
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

struct Moments {
    skewness: f64,
    /// 0 for a normal distribution.
    kurtosis: f64,
}

impl Moments {
    fn of(x: &[f64]) -> Self {
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

fn blink(moments: &Moments, spectrum: &Spectrum) -> Option<Artefact> {
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

fn heartbeat(source: &[f64], rate: f64, moments: &Moments) -> Option<Artefact> {
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
    let course: Vec<f64> = (first / 3..=last + 1).map(at).collect();
    let mut trough = f64::INFINITY;
    let mut best: Option<(f64, usize)> = None;
    for (k, w) in course.windows(3).enumerate() {
        trough = trough.min(w[0]);
        let (lag, height) = (first / 3 + k + 1, w[1] - trough);
        let peak = lag >= first && w[1] > w[0] && w[1] >= w[2];
        if peak && best.is_none_or(|(highest, _)| height > highest) {
            best = Some((height, lag));
        }
    }
    best.map(|(height, lag)| (height, lag as f64 * bin as f64 / rate))
}

fn line_noise(spectrum: &Spectrum) -> Option<Artefact> {
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

fn muscle(source: &[f64], rate: f64, spectrum: &Spectrum) -> Option<Artefact> {
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

#[cfg(test)]
mod tests {
    use super::super::simulate;
    use super::*;

    const RATE: f64 = 250.0;

    fn noise(samples: usize, seed: u64) -> Vec<f64> {
        simulate::nonstationary(1, 1, samples, seed)
            .sources
            .into_vec()
    }

    fn kinds(source: &[f64], references: &[Reference<'_>]) -> Vec<ArtefactKind> {
        let found = artefacts(source, RATE, references);
        found.into_iter().map(|artefact| artefact.kind).collect()
    }

    /// Sharp beats at an interval that varies by a few percent, in noise.
    fn beats(samples: usize, period: f64) -> Vec<f64> {
        let mut signal = noise(samples, 1);
        signal.iter_mut().for_each(|x| *x *= 0.3);
        let mut next = 0.3;
        for k in 0.. {
            let at = (next * RATE) as usize;
            if at + 10 > samples {
                break;
            }
            for (x, height) in signal[at..]
                .iter_mut()
                .zip([-1.0, 4.0, 10.0, 3.0, -3.0, -1.0])
            {
                *x += height;
            }
            next += period * (1.0 + 0.03 * f64::from(k).sin());
        }
        signal
    }

    #[test]
    fn each_kind_is_seen_for_what_it_is() {
        let samples = 60 * 250;
        let blinks = simulate::eeg_with_blinks(2, 2, 60.0, 0);
        assert_eq!(kinds(blinks.sources.row(0), &[]), [ArtefactKind::Blink]);
        let found = artefacts(&beats(samples, 0.85), RATE, &[]);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].kind, ArtefactKind::Heartbeat);
        assert!(
            found[0].reason.contains("sharp peaks 7"),
            "{}",
            found[0].reason
        );
        let hum: Vec<f64> = (0..samples)
            .zip(noise(samples, 2))
            .map(|(t, x)| 2.0 * (std::f64::consts::TAU * 60.0 * t as f64 / RATE).sin() + x)
            .collect();
        let found = artefacts(&hum, RATE, &[]);
        assert_eq!(found[0].kind, ArtefactKind::LineNoise);
        assert!(found[0].reason.contains("at 60 Hz"), "{}", found[0].reason);
        let swelling: Vec<f64> = (0..samples)
            .zip(&hum)
            .map(|(t, x)| (1.0 + 0.8 * (t as f64 / RATE).sin()) * x)
            .collect();
        assert_eq!(kinds(&swelling, &[]), [ArtefactKind::LineNoise]);
        // Noise with its slow half taken off, in bursts of some seconds.
        let white = noise(samples, 3);
        let bursts: Vec<f64> = (1..samples)
            .map(|t| (white[t] - white[t - 1]) * if t / 800 % 3 == 0 { 5.0 } else { 1.0 })
            .collect();
        assert_eq!(kinds(&bursts, &[]), [ArtefactKind::Muscle]);
    }

    #[test]
    fn what_is_none_of_these_is_called_none() {
        let samples = 60 * 250;
        assert_eq!(kinds(&noise(samples, 4), &[]), []);
        let eeg = simulate::eeg_with_blinks(6, 6, 60.0, 1);
        for k in 1..6 {
            assert_eq!(kinds(eeg.sources.row(k), &[]), [], "rhythm {k}");
        }
        assert_eq!(kinds(&vec![0.0; samples], &[]), []);
        assert_eq!(kinds(&[f64::NAN; 1000], &[]), []);
        assert_eq!(kinds(&[1.0, 2.0], &[]), []);
    }

    #[test]
    fn a_reference_channel_is_believed_drift_or_not() {
        let samples = 60 * 250;
        let source = noise(samples, 5);
        let drifting: Vec<f64> = source
            .iter()
            .enumerate()
            .map(|(t, x)| 1000.0 + 0.01 * t as f64 - 2.0 * x)
            .collect();
        let reference = Reference {
            name: "EOG 061",
            kind: ArtefactKind::Blink,
            signal: &drifting,
        };
        let found = artefacts(&source, RATE, &[reference]);
        assert_eq!(found[0].kind, ArtefactKind::Blink);
        assert_eq!(found[0].reason, "its correlation with EOG 061 is -1.00");
        let other = noise(samples, 6);
        let unrelated = Reference {
            name: "ECG",
            kind: ArtefactKind::Heartbeat,
            signal: &other,
        };
        assert_eq!(kinds(&source, &[unrelated]), []);
    }
}
