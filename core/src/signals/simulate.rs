//! Simulated recordings with known sources.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rand_distr::StandardNormal;

use crate::linalg::{self, Matrix};

/// A simulated recording with its sources and their mixing matrix.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Simulation {
    /// The recording A s plus noise, channels x samples in row-major order.
    pub data: Vec<f64>,
    /// Number of channels.
    pub channels: usize,
    /// Number of samples.
    pub samples: usize,
    /// The mixing matrix A, channels x sources.
    pub mixing: Matrix,
    /// The sources s, sources x samples.
    pub sources: Matrix,
    /// Sampling frequency in hertz.
    pub sfreq: f64,
}

impl Simulation {
    fn mix(sources: Matrix, mixing: Matrix, sfreq: f64) -> Self {
        Self {
            data: linalg::product(&mixing, &sources).into_vec(),
            channels: mixing.rows(),
            samples: sources.columns(),
            mixing,
            sources,
            sfreq,
        }
    }

    /// Returns the signal-to-interference ratio in decibels of each source in B x: the ratio of its
    /// power to the power of all other sources, in the row of B A where this ratio is largest.
    pub fn interference_ratios(&self, b: &Matrix) -> Vec<f64> {
        let gain = linalg::product(b, &self.mixing);
        let k = self.sources.rows();
        let powers: Vec<f64> = (0..k)
            .map(|j| linalg::dot(self.sources.row(j), self.sources.row(j)))
            .collect();
        let power = |i: usize, j: usize| gain[(i, j)].powi(2) * powers[j];
        let ratio = |i: usize, j: usize| {
            let all: f64 = (0..k).map(|l| power(i, l)).sum();
            power(i, j) / (all - power(i, j))
        };
        (0..k)
            .map(|j| {
                let best = (0..gain.rows()).map(|i| ratio(i, j)).fold(0.0, f64::max);
                10.0 * best.log10()
            })
            .collect()
    }
}

fn normal(rng: &mut StdRng) -> f64 {
    rng.sample(StandardNormal)
}

fn random_mixing(rows: usize, columns: usize, rng: &mut StdRng) -> Matrix {
    Matrix::from_fn(rows, columns, |_, _| normal(rng))
}

/// Simulates a random mixture of p Gaussian sources, recorded by p channels. The powers of the
/// sources are constant within segments of `length` samples, and vary between segments by factors
/// of about e.
///
/// ```
/// let simulated = codiag::signals::simulate::nonstationary(3, 20, 100, 0);
/// assert_eq!((simulated.channels, simulated.samples), (3, 2000));
/// ```
pub fn nonstationary(p: usize, segments: usize, length: usize, seed: u64) -> Simulation {
    let mut rng = StdRng::seed_from_u64(seed);
    let mixing = random_mixing(p, p, &mut rng);
    let mut sources = Matrix::zeros(p, segments * length);
    for k in 0..p {
        for segment in sources.row_mut(k).chunks_exact_mut(length.max(1)) {
            let amplitude = (0.5 * normal(&mut rng)).exp();
            segment.fill_with(|| amplitude * normal(&mut rng));
        }
    }
    Simulation::mix(sources, mixing, 100.0)
}

/// Simulates mixtures of `count` speech-like signals, recorded by `count` microphones at 8000
/// samples per second. Each speaker has a pitch, and utters about four syllables per second, voiced
/// or unvoiced, with pauses.
///
/// ```
/// let simulated = codiag::signals::simulate::voices(3, 2.0, 0);
/// assert_eq!((simulated.channels, simulated.samples, simulated.sfreq), (3, 16_000, 8000.0));
/// ```
pub fn voices(count: usize, seconds: f64, seed: u64) -> Simulation {
    let sfreq = 8000.0;
    let mut rng = StdRng::seed_from_u64(seed);
    let mixing = random_mixing(count, count, &mut rng);
    let mut sources = Matrix::zeros(count, (seconds * sfreq) as usize);
    for k in 0..count {
        speak(sources.row_mut(k), sfreq, &mut rng);
    }
    Simulation::mix(sources, mixing, sfreq)
}

/// Writes a speech-like signal.
fn speak(out: &mut [f64], sfreq: f64, rng: &mut StdRng) {
    let pitch = 90.0 + 150.0 * rng.random::<f64>();
    let mut at = 0;
    while at < out.len() {
        let length = ((0.12 + 0.2 * rng.random::<f64>()) * sfreq) as usize;
        let end = out.len().min(at + length);
        let kind: f64 = rng.random();
        let loudness = (0.6 * normal(rng)).exp();
        let (formant, drift) = (300.0 + 1500.0 * rng.random::<f64>(), 0.2 * normal(rng));
        let mut phase = 0.0;
        let mut hiss = [0.0; 2];
        for (t, x) in out[at..end].iter_mut().enumerate() {
            let position = t as f64 / length as f64;
            let envelope = loudness * (std::f64::consts::PI * position).sin().powi(2);
            phase += std::f64::consts::TAU * pitch * (1.0 + drift * position) / sfreq;
            hiss = [normal(rng), hiss[0]];
            *x = envelope
                * match kind {
                    k if k < 0.2 => 0.0,
                    // Harmonics of the pitch, strongest near the formant.
                    k if k < 0.8 => (1..=12)
                        .map(|h| {
                            let h = f64::from(h);
                            let distance = (h * pitch - formant) / 400.0;
                            (h * phase).sin() * (-distance * distance).exp()
                        })
                        .sum(),
                    _ => 0.3 * (hiss[0] - hiss[1]),
                };
            // Background noise.
            *x += 1e-3 * normal(rng);
        }
        at = end;
    }
}

/// Simulates an electroencephalogram with blinks, in microvolts at 250 samples per second. The
/// first source consists of blinks, which are strong in the first channels and weak in the last
/// ones. The other sources are rhythms of varying amplitude. Each channel has independent noise.
///
/// ```
/// let simulated = codiag::signals::simulate::eeg_with_blinks(8, 4, 10.0, 0);
/// assert_eq!((simulated.channels, simulated.samples, simulated.sources.rows()), (8, 2500, 4));
/// assert!(simulated.mixing[(0, 0)] > 10.0 * simulated.mixing[(7, 0)]); // amplitudes of the blinks
/// ```
///
/// # Panics
/// If there are no sources, or fewer channels than sources.
pub fn eeg_with_blinks(channels: usize, sources: usize, seconds: f64, seed: u64) -> Simulation {
    assert!(
        0 < sources && sources <= channels,
        "the number of sources must be between 1 and the number of channels"
    );
    let sfreq = 250.0;
    let samples = (seconds * sfreq) as usize;
    let mut rng = StdRng::seed_from_u64(seed);
    let mut mixing = random_mixing(channels, sources, &mut rng);
    for c in 0..channels {
        mixing[(c, 0)] = 150.0 * (-4.0 * c as f64 / channels as f64).exp();
    }
    let mut signals = Matrix::zeros(sources, samples);
    blink(signals.row_mut(0), sfreq, &mut rng);
    for k in 1..sources {
        let frequency = 4.0 + 26.0 * k as f64 / sources as f64;
        rhythm(signals.row_mut(k), frequency, sfreq, &mut rng);
    }
    let mut simulation = Simulation::mix(signals, mixing, sfreq);
    let samples = simulation.data.iter_mut();
    samples.for_each(|x| *x += 0.5 * normal(&mut rng));
    simulation
}

/// Adds deflections of a third of a second, about one every three seconds.
fn blink(out: &mut [f64], sfreq: f64, rng: &mut StdRng) {
    let mut next = 1.0;
    while ((next + 0.4) * sfreq) < out.len() as f64 {
        let height = 1.0 + 0.2 * normal(rng);
        let first = (next * sfreq) as usize;
        let width = (0.35 * sfreq) as usize;
        for (t, x) in out[first..first + width].iter_mut().enumerate() {
            let position = t as f64 / width as f64;
            *x += height * (std::f64::consts::PI * position).sin().powi(2);
        }
        next += 1.5 + 3.0 * rng.random::<f64>();
    }
}

/// Writes narrow-band noise of a few microvolts with varying amplitude.
fn rhythm(out: &mut [f64], frequency: f64, sfreq: f64, rng: &mut StdRng) {
    let angle = std::f64::consts::TAU * frequency / sfreq;
    let radius = 0.97_f64;
    let (mut before, mut last, mut level) = (0.0, 0.0, 0.0);
    for x in out {
        // The level varies over a few seconds.
        level = 0.998 * level + 0.063 * normal(rng);
        let next = 2.0 * radius * angle.cos() * last - radius * radius * before + normal(rng);
        (before, last) = (last, next);
        *x = next * (0.7 * level).exp();
    }
}
