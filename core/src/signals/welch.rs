//! Welch's method: Fourier transforms of overlapping, tapered windows.

use std::ops::Range;
use std::str::FromStr;
use std::sync::Arc;

use realfft::num_complex::Complex;
use realfft::{RealFftPlanner, RealToComplex};

use crate::Error;
use crate::error::{Expected, Setting};

/// The taper of a window.
///
/// ```
/// use codiag::signals::Window;
/// assert_eq!("hann".parse(), Ok(Window::Hann));
/// assert_eq!(Window::ALL.map(Window::name), ["hann", "hamming", "rectangular"]);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Window {
    /// ½ − ½ cos(2πt/N): little leaks from strong frequencies into others.
    #[default]
    Hann,
    /// 0.54 − 0.46 cos(2πt/N).
    Hamming,
    /// No taper.
    Rectangular,
}

impl Window {
    /// All windows.
    pub const ALL: [Self; 3] = [Self::Hann, Self::Hamming, Self::Rectangular];

    /// The name used in Python and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hann => "hann",
            Self::Hamming => "hamming",
            Self::Rectangular => "rectangular",
        }
    }

    fn taper(self, length: usize) -> Vec<f64> {
        let angle = |t: usize| std::f64::consts::TAU * t as f64 / length as f64;
        (0..length)
            .map(|t| match self {
                Self::Hann => 0.5 - 0.5 * angle(t).cos(),
                Self::Hamming => 0.54 - 0.46 * angle(t).cos(),
                Self::Rectangular => 1.0,
            })
            .collect()
    }
}

impl FromStr for Window {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let found = Self::ALL.into_iter().find(|window| window.name() == name);
        found.ok_or_else(|| {
            let expected = Expected::OneOf(&["hann", "hamming", "rectangular"]);
            Error::setting(Setting::Window, expected, format!("{name:?}"))
        })
    }
}

/// Windows of so many samples: their taper, and the plan of their transforms.
pub(super) struct Welch {
    pub length: usize,
    pub step: usize,
    taper: Vec<f64>,
    /// √(2 / (N Σ w²)), which makes the squares of all coefficients sum to the power. The two
    /// frequencies that have no mirror image want it divided by √2.
    factor: f64,
    fft: Arc<dyn RealToComplex<f64>>,
    center: bool,
}

/// Memory for transforms, one per thread.
pub(super) struct Scratch {
    time: Vec<f64>,
    pub frequency: Vec<Complex<f64>>,
    rest: Vec<Complex<f64>>,
}

impl Welch {
    pub fn new(length: usize, window: Window, overlap: f64, center: bool) -> Self {
        let taper = window.taper(length);
        let energy: f64 = taper.iter().map(|w| w * w).sum();
        Self {
            length,
            step: ((length as f64 * (1.0 - overlap)).round() as usize).max(1),
            factor: (2.0 / (length as f64 * energy)).sqrt(),
            taper,
            fft: RealFftPlanner::new().plan_fft_forward(length),
            center,
        }
    }

    pub fn scratch(&self) -> Scratch {
        Scratch {
            time: self.fft.make_input_vec(),
            frequency: self.fft.make_output_vec(),
            rest: self.fft.make_scratch_vec(),
        }
    }

    /// Where windows start within a span.
    pub fn starts(&self, span: &Range<usize>) -> impl Iterator<Item = usize> + use<> {
        let end = (span.end + 1).saturating_sub(self.length);
        (span.start..end.max(span.start)).step_by(self.step)
    }

    /// The coefficients of one window, scaled such that |·|² is the power at a frequency, both its
    /// images counted.
    pub fn transform(&self, samples: &[f64], scratch: &mut Scratch) {
        let mean = if self.center {
            crate::linalg::sum(samples) / samples.len() as f64
        } else {
            0.0
        };
        let windowed = samples.iter().zip(&self.taper).map(|(x, w)| (x - mean) * w);
        scratch
            .time
            .iter_mut()
            .zip(windowed)
            .for_each(|(t, x)| *t = x);
        // The lengths are those of the plan, so the transform cannot fail.
        let _ = self.fft.process_with_scratch(
            &mut scratch.time,
            &mut scratch.frequency,
            &mut scratch.rest,
        );
        scratch.frequency.iter_mut().for_each(|x| *x *= self.factor);
        let unpaired = std::f64::consts::FRAC_1_SQRT_2;
        scratch.frequency[0] *= unpaired;
        if self.length.is_multiple_of(2) {
            scratch.frequency[self.length / 2] *= unpaired;
        }
    }
}

/// The power spectral density of a signal.
///
/// ```
/// let noise: Vec<f64> = (0..999_i32).map(|t| f64::from(t * t % 37) - 17.0).collect();
/// let spectrum = codiag::signals::spectrum(&noise, 100.0, 200);
/// assert_eq!(spectrum.frequencies[1], 0.5); // hertz
/// let power: f64 = spectrum.density.iter().map(|density| 0.5 * density).sum();
/// assert!(power > 0.0);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Spectrum {
    /// Hertz.
    pub frequencies: Vec<f64>,
    /// The power at each frequency, per hertz.
    pub density: Vec<f64>,
}

/// The spectrum of one signal by Welch's method: Hann windows of so many samples (or of all, if there
/// are fewer), which overlap by half, each without its mean.
///
/// ```
/// let rate = 100.0;
/// let tone: Vec<f64> = (0..1000).map(|t| (0.6283185307179586 * t as f64).sin()).collect();
/// let spectrum = codiag::signals::spectrum(&tone, rate, 200);
/// let peak = (0..101).max_by(|a, b| spectrum.density[*a].total_cmp(&spectrum.density[*b])).unwrap();
/// assert_eq!(spectrum.frequencies[peak], 10.0);
/// ```
///
/// # Panics
/// If there are no samples.
pub fn spectrum(signal: &[f64], rate: f64, window_length: usize) -> Spectrum {
    let length = window_length.clamp(1, signal.len());
    let welch = Welch::new(length, Window::Hann, 0.5, true);
    let mut scratch = welch.scratch();
    let mut density = vec![0.0; length / 2 + 1];
    let starts: Vec<usize> = welch.starts(&(0..signal.len())).collect();
    let resolution = rate / length as f64;
    for start in &starts {
        welch.transform(&signal[*start..start + length], &mut scratch);
        for (sum, x) in density.iter_mut().zip(&scratch.frequency) {
            *sum += x.norm_sqr() / (resolution * starts.len() as f64);
        }
    }
    Spectrum {
        frequencies: (0..density.len()).map(|k| k as f64 * resolution).collect(),
        density,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(n: usize) -> Vec<f64> {
        (0..n)
            .map(|t| ((t * t * 7919 + t * 31) % 1009) as f64 / 504.5 - 1.0)
            .collect()
    }

    /// The transform against the sum that defines it.
    #[test]
    fn coefficients_are_those_of_the_direct_sum() {
        for (length, window) in [
            (16, Window::Hann),
            (15, Window::Hamming),
            (9, Window::Rectangular),
        ] {
            let x = noise(length);
            let welch = Welch::new(length, window, 0.5, true);
            let mut scratch = welch.scratch();
            welch.transform(&x, &mut scratch);
            let mean = x.iter().sum::<f64>() / length as f64;
            let taper = window.taper(length);
            let energy: f64 = taper.iter().map(|w| w * w).sum();
            for (k, found) in scratch.frequency.iter().enumerate() {
                let images = if k == 0 || 2 * k == length { 1.0 } else { 2.0 };
                let factor = f64::sqrt(images / (length as f64 * energy));
                let sum = |f: &dyn Fn(f64) -> f64| -> f64 {
                    (0..length)
                        .map(|t| {
                            let angle = std::f64::consts::TAU * (k * t) as f64 / length as f64;
                            (x[t] - mean) * taper[t] * f(angle)
                        })
                        .sum()
                };
                assert!(
                    (found.re - factor * sum(&f64::cos)).abs() < 1e-14,
                    "{window:?} {k}"
                );
                assert!(
                    (found.im + factor * sum(&f64::sin)).abs() < 1e-14,
                    "{window:?} {k}"
                );
            }
        }
    }

    #[test]
    fn squares_sum_to_the_power() {
        for length in [63, 64] {
            let x = noise(length);
            let welch = Welch::new(length, Window::Rectangular, 0.0, false);
            let mut scratch = welch.scratch();
            welch.transform(&x, &mut scratch);
            let total: f64 = scratch.frequency.iter().map(Complex::norm_sqr).sum();
            let power = x.iter().map(|x| x * x).sum::<f64>() / length as f64;
            assert!((total / power - 1.0).abs() < 1e-13);
        }
    }
}
