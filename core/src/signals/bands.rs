//! Frequency bands, and Welch's method of spectral estimation.

use std::fmt::Display;
use std::ops::Range;
use std::str::FromStr;
use std::sync::Arc;

use realfft::num_complex::Complex;
use realfft::{RealFftPlanner, RealToComplex};

use super::segments::{step, usable_spans};
use super::{SegmentLength, Segments, Spans, invalid};
use crate::error::{Expected, Setting};
use crate::setters::setters;
use crate::{Error, linalg};

/// Frequency bands, and the parameters of Welch's method.
///
/// ```
/// use codiag::signals::Bands;
/// let bands = Bands::new(vec![(1.0, 4.0), (8.0, 12.0)], 250.0).window_length(256);
/// assert_eq!(bands.overlap, 0.5);
/// let even = Bands::even(0.0, 40.0, 4, 250.0);
/// assert_eq!(even.bands[1], (10.0, 20.0));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Bands {
    /// Pairs of frequencies in hertz, the lower included, the upper excluded. One matrix is
    /// estimated per band.
    pub bands: Vec<(f64, f64)>,
    /// Sampling frequency in hertz.
    pub sfreq: f64,
    /// Length of a window in samples (default: the smallest power of two of at least one second,
    /// which gives a resolution of 1 Hz or better).
    pub window_length: Option<usize>,
    /// Window function (default: Hann).
    pub window: Window,
    /// Fraction of a window that overlaps with the next one, in [0, 1) (default 0.5).
    pub overlap: f64,
    /// Number or length of segments, for one matrix per segment and band (default: one matrix per
    /// band). This separates sources that differ in their spectra or in their powers over time.
    /// Windows do not cross the boundaries of segments.
    pub segment_length: Option<SegmentLength>,
    /// Spans of samples that are not used, in any order. Windows do not overlap with them.
    pub bad_spans: Vec<Range<usize>>,
}

setters!(Bands {
    bands: Vec<(f64, f64)>,
    sfreq: f64,
    window: Window,
    overlap: f64,
    bad_spans: Vec<Range<usize>>,
} optional { window_length: usize, segment_length: SegmentLength });

impl Bands {
    /// Bands of a recording with sampling frequency `sfreq`, with Hann windows that overlap by
    /// half.
    pub fn new(bands: Vec<(f64, f64)>, sfreq: f64) -> Self {
        Self {
            bands,
            sfreq,
            window_length: None,
            window: Window::Hann,
            overlap: 0.5,
            segment_length: None,
            bad_spans: Vec::new(),
        }
    }

    /// Returns `count` bands of equal width between two frequencies.
    ///
    /// # Panics
    /// If there are more than [`Bands::MAX_BANDS`].
    pub fn even(from: f64, to: f64, count: usize, sfreq: f64) -> Self {
        Self::try_even(from, to, count, sfreq).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Returns `count` bands of equal width between two frequencies, as [`Bands::even`] does, or an
    /// error.
    ///
    /// # Errors
    /// If there are more than [`Bands::MAX_BANDS`].
    pub fn try_even(from: f64, to: f64, count: usize, sfreq: f64) -> Result<Self, Error> {
        if count > Self::MAX_BANDS {
            let expected = Expected::AtMost(Self::MAX_BANDS);
            return Err(Error::setting(Setting::Bands, expected, count));
        }
        let edge = |k: usize| from + (to - from) * k as f64 / count as f64;
        let bands = (0..count).map(|k| (edge(k), edge(k + 1)));
        Ok(Self::new(bands.collect(), sfreq))
    }

    /// Maximum number of bands of equal width.
    pub const MAX_BANDS: usize = 1_000_000;

    /// Returns the usable samples of every segment, or of the whole recording if there are no
    /// segments.
    pub(super) fn spans(&self, samples: usize, components: usize) -> Result<Vec<Spans>, Error> {
        let Some(mut segment_length) = self.segment_length else {
            return Ok(vec![usable_spans(samples, &self.bad_spans)?]);
        };
        if segment_length == SegmentLength::Auto {
            // Enough windows for two coefficients per component in the narrowest band.
            let narrowest = self.bins()?.iter().map(Range::len).min().unwrap_or(1);
            let windows = components.div_ceil(narrowest);
            let length = self.length();
            let steps = (windows - 1).saturating_mul(step(length, self.overlap));
            segment_length = SegmentLength::Length(length.saturating_add(steps).min(samples));
        }
        let segments = Segments::default()
            .length(segment_length)
            .bad_spans(self.bad_spans.clone());
        segments.sfreq(self.sfreq).spans(samples, components)
    }

    /// Returns the length of a window in samples.
    pub(super) fn length(&self) -> usize {
        let second = self.sfreq.ceil().clamp(1.0, f64::from(u32::MAX)) as usize;
        self.window_length.unwrap_or(second.next_power_of_two())
    }

    /// Returns the indices of the frequency bins of each band.
    pub(super) fn bins(&self) -> Result<Vec<Range<usize>>, Error> {
        let error = |setting, expected, value: &dyn Display| Err(invalid(setting, expected, value));
        if !(self.sfreq.is_finite() && self.sfreq > 0.0) {
            let expected = "a positive number of samples per second";
            return error(Setting::Sfreq, expected, &self.sfreq);
        }
        if !(0.0..1.0).contains(&self.overlap) {
            return error(Setting::Overlap, "at least 0 and below 1", &self.overlap);
        }
        if self.bands.is_empty() {
            return error(Setting::Bands, "at least one pair of frequencies", &"none");
        }
        let length = self.length();
        if length == 0 {
            return error(Setting::WindowLength, "at least 1", &0);
        }
        let (resolution, half) = (self.sfreq / length as f64, 0.5 * self.sfreq);
        let mut bins = Vec::new();
        for &(low, high) in &self.bands {
            let value = || format!("{low}-{high} Hz at {} samples per second", self.sfreq);
            if !(0.0 <= low && low < high && high <= half * (1.0 + 1e-12)) {
                let expected = "pairs of frequencies (low, high), with 0 <= low < high <= half the sampling frequency";
                return error(Setting::Bands, expected, &value());
            }
            // The tolerance assigns a bin at an edge to the upper band in spite of rounding.
            let first = (low / resolution - 1e-9).ceil().max(0.0) as usize;
            let end = (high / resolution - 1e-9).ceil() as usize;
            let last = if high >= half { length / 2 + 1 } else { end };
            if first >= last {
                let value = format!("{}, in windows of {length}", value());
                let expected = "at least as wide as the frequency resolution, which is the sampling \
                                frequency divided by the window length";
                return error(Setting::Bands, expected, &value);
            }
            bins.push(first..last);
        }
        Ok(bins)
    }
}

/// Window function of Welch's method.
///
/// ```
/// use codiag::signals::Window;
/// assert_eq!("hann".parse(), Ok(Window::Hann));
/// assert_eq!(Window::ALL.map(Window::name), ["hann", "hamming", "rectangular"]);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Window {
    /// Hann window ½ − ½ cos(2πt/N), with low spectral leakage.
    #[default]
    Hann,
    /// Hamming window 0.54 − 0.46 cos(2πt/N).
    Hamming,
    /// Rectangular window: no taper.
    Rectangular,
}

impl Window {
    /// All window functions.
    pub const ALL: [Self; 3] = [Self::Hann, Self::Hamming, Self::Rectangular];

    /// Returns the name used in Python and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hann => "hann",
            Self::Hamming => "hamming",
            Self::Rectangular => "rectangular",
        }
    }

    /// Returns the values of the window function.
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

/// Fourier transforms of tapered windows of one length.
pub(super) struct Welch {
    pub length: usize,
    pub step: usize,
    taper: Vec<f64>,
    /// √(2 / (N Σ w²)), such that the squared coefficients sum to the power. It is divided by √2
    /// for the frequencies without a negative counterpart.
    factor: f64,
    fft: Arc<dyn RealToComplex<f64>>,
    center: bool,
}

/// Buffers for the transforms of one thread.
pub(super) struct Scratch {
    time: Vec<f64>,
    pub frequency: Vec<Complex<f64>>,
    fft: Vec<Complex<f64>>,
}

impl Welch {
    pub fn new(length: usize, window: Window, overlap: f64, center: bool) -> Self {
        let taper = window.taper(length);
        let energy: f64 = taper.iter().map(|w| w * w).sum();
        Self {
            length,
            step: step(length, overlap),
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
            fft: self.fft.make_scratch_vec(),
        }
    }

    /// Returns the first samples of the windows within a span.
    pub fn starts(&self, span: &Range<usize>) -> impl Iterator<Item = usize> + use<> {
        let end = (span.end + 1).saturating_sub(self.length);
        (span.start..end.max(span.start)).step_by(self.step)
    }

    /// Computes the Fourier coefficients of one window. Their squared modulus is the power at a
    /// frequency and its negative.
    pub fn transform(&self, samples: &[f64], scratch: &mut Scratch) {
        let mean = if self.center {
            linalg::sum(samples) / samples.len() as f64
        } else {
            0.0
        };
        let windowed = samples.iter().zip(&self.taper).map(|(x, w)| (x - mean) * w);
        let places = scratch.time.iter_mut().zip(windowed);
        places.for_each(|(t, x)| *t = x);
        let Scratch {
            time,
            frequency,
            fft,
        } = scratch;
        // The buffers have the lengths of the plan, so that the transform cannot fail.
        let _ = self.fft.process_with_scratch(time, frequency, fft);
        frequency.iter_mut().for_each(|x| *x *= self.factor);
        let unpaired = std::f64::consts::FRAC_1_SQRT_2;
        frequency[0] *= unpaired;
        if self.length.is_multiple_of(2) {
            frequency[self.length / 2] *= unpaired;
        }
    }
}

/// Power spectral density of a signal, estimated by [`spectrum`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Spectrum {
    /// Frequencies in hertz.
    pub frequencies: Vec<f64>,
    /// Power per hertz at each frequency.
    pub density: Vec<f64>,
}

/// Estimates the power spectral density of a signal by Welch's method, with Hann windows of
/// `window_length` samples (at most the length of the signal) that overlap by half. The mean of
/// each window is subtracted.
///
/// ```
/// // A sine of 10 Hz at 100 samples per second.
/// let tone: Vec<f64> = (0..1000).map(|t| (0.6283185307179586 * t as f64).sin()).collect();
/// let spectrum = codiag::signals::spectrum(&tone, 100.0, 200);
/// let density = &spectrum.density;
/// let peak = (0..101).max_by(|a, b| density[*a].total_cmp(&density[*b])).unwrap();
/// assert_eq!(spectrum.frequencies[peak], 10.0);
/// ```
///
/// # Panics
/// If there are no samples.
pub fn spectrum(signal: &[f64], sfreq: f64, window_length: usize) -> Spectrum {
    let length = window_length.clamp(1, signal.len());
    let welch = Welch::new(length, Window::Hann, 0.5, true);
    let mut scratch = welch.scratch();
    let mut density = vec![0.0; length / 2 + 1];
    let starts: Vec<usize> = welch.starts(&(0..signal.len())).collect();
    let resolution = sfreq / length as f64;
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
