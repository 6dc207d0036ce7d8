//! Spectra by Welch's method: frequency bands, and transforms of overlapping, tapered windows.

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

/// Frequency bands, and the windows in which spectra are taken.
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
    /// Pairs of frequencies in hertz, the first included, the second excluded: one matrix each.
    pub bands: Vec<(f64, f64)>,
    /// Samples per second.
    pub sfreq: f64,
    /// The length of a window in samples. None stands for the smallest power of two of at least one
    /// second, for a resolution of 1 Hz or better.
    pub window_length: Option<usize>,
    /// The taper.
    pub window: Window,
    /// The fraction of a window that overlaps with the next one, from 0 to below 1.
    pub overlap: f64,
    /// How the recording is cut, for one matrix per segment and band instead of one per band: for
    /// sources that differ in time or frequency. No window crosses the border of a segment.
    pub segment_length: Option<SegmentLength>,
    /// Spans of samples that no window touches, in any order.
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
    /// Bands of a recording of `rate` samples per second, in Hann windows that overlap by half.
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

    /// `count` bands of equal width between two frequencies.
    ///
    /// # Panics
    /// If there are more than [`Bands::MAX_BANDS`].
    pub fn even(from: f64, to: f64, count: usize, sfreq: f64) -> Self {
        Self::try_even(from, to, count, sfreq).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Like [`Bands::even`], with an error in place of a panic.
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

    /// The largest number of bands of equal width.
    pub const MAX_BANDS: usize = 1_000_000;

    /// The samples of every segment; of the whole recording, if there is no cut.
    pub(super) fn pieces(&self, samples: usize, components: usize) -> Result<Vec<Spans>, Error> {
        let Some(mut cut) = self.segment_length else {
            return Ok(vec![usable_spans(samples, &self.bad_spans)?]);
        };
        if cut == SegmentLength::Auto {
            // Enough windows for two coefficients per component in the narrowest band.
            let narrowest = self.bins()?.iter().map(Range::len).min().unwrap_or(1);
            let windows = components.div_ceil(narrowest);
            let length = self.length();
            let further = (windows - 1).saturating_mul(step(length, self.overlap));
            cut = SegmentLength::Length(length.saturating_add(further).min(samples));
        }
        let segments = Segments::default()
            .length(cut)
            .bad_spans(self.bad_spans.clone());
        segments.sfreq(self.sfreq).pieces(samples, components)
    }

    /// The length of a window.
    pub(super) fn length(&self) -> usize {
        let second = self.sfreq.ceil().clamp(1.0, f64::from(u32::MAX)) as usize;
        self.window_length.unwrap_or(second.next_power_of_two())
    }

    /// The frequencies of each band, as multiples of rate / length.
    pub(super) fn bins(&self) -> Result<Vec<Range<usize>>, Error> {
        let refused =
            |setting, expected, value: &dyn Display| Err(invalid(setting, expected, value));
        if !(self.sfreq.is_finite() && self.sfreq > 0.0) {
            let expected = "a positive number of samples per second";
            return refused(Setting::Sfreq, expected, &self.sfreq);
        }
        if !(0.0..1.0).contains(&self.overlap) {
            return refused(Setting::Overlap, "at least 0 and below 1", &self.overlap);
        }
        if self.bands.is_empty() {
            return refused(Setting::Bands, "at least one pair of frequencies", &"none");
        }
        let length = self.length();
        if length == 0 {
            return refused(Setting::WindowLength, "at least 1", &0);
        }
        let (resolution, half) = (self.sfreq / length as f64, 0.5 * self.sfreq);
        let mut bins = Vec::new();
        for &(low, high) in &self.bands {
            let value = || format!("{low}-{high} Hz at {} samples per second", self.sfreq);
            if !(0.0 <= low && low < high && high <= half * (1.0 + 1e-12)) {
                let expected = "pairs of rising frequencies up to half the rate";
                return refused(Setting::Bands, expected, &value());
            }
            // An edge at a frequency belongs to the band above it, in spite of rounding.
            let first = (low / resolution - 1e-9).ceil().max(0.0) as usize;
            let end = (high / resolution - 1e-9).ceil() as usize;
            let last = if high >= half { length / 2 + 1 } else { end };
            if first >= last {
                let value = format!("{}, in windows of {length}", value());
                let expected = "as wide as frequencies are apart, the rate divided by the length of the windows";
                return refused(Setting::Bands, expected, &value);
            }
            bins.push(first..last);
        }
        Ok(bins)
    }
}

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
    /// ½ − ½ cos(2πt/N): little leakage from strong frequencies into others.
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

/// Windows of one length: their taper, and the plan of their transforms.
pub(super) struct Welch {
    pub length: usize,
    pub step: usize,
    taper: Vec<f64>,
    /// √(2 / (N Σ w²)), with which the squares of all coefficients sum to the power. Divided by √2
    /// for the frequencies without a negative counterpart.
    factor: f64,
    fft: Arc<dyn RealToComplex<f64>>,
    center: bool,
}

/// Memory for the transforms of one thread.
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
            rest: self.fft.make_scratch_vec(),
        }
    }

    /// Where windows start within a span.
    pub fn starts(&self, span: &Range<usize>) -> impl Iterator<Item = usize> + use<> {
        let end = (span.end + 1).saturating_sub(self.length);
        (span.start..end.max(span.start)).step_by(self.step)
    }

    /// The coefficients of one window: |·|² is the power at a frequency and its negative.
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
            rest,
        } = scratch;
        // The lengths are those of the plan, so the transform cannot fail.
        let _ = self.fft.process_with_scratch(time, frequency, rest);
        frequency.iter_mut().for_each(|x| *x *= self.factor);
        let unpaired = std::f64::consts::FRAC_1_SQRT_2;
        frequency[0] *= unpaired;
        if self.length.is_multiple_of(2) {
            frequency[self.length / 2] *= unpaired;
        }
    }
}

/// The power spectral density of a signal, from [`spectrum`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Spectrum {
    /// Hertz.
    pub frequencies: Vec<f64>,
    /// The power at each frequency, per hertz.
    pub density: Vec<f64>,
}

/// The spectrum of one signal by Welch's method: Hann windows of `window_length` samples (or of
/// all, if there are fewer), which overlap by half, each minus its mean.
///
/// ```
/// // 10 Hz at 100 samples per second.
/// let tone: Vec<f64> = (0..1000).map(|t| (0.6283185307179586 * t as f64).sin()).collect();
/// let spectrum = codiag::signals::spectrum(&tone, 100.0, 200);
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
