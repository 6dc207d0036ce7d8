//! Frequency bands.

use std::ops::Range;

use super::segments::usable_spans;
use super::{Cut, Piece, Segments, Window};
use crate::Error;
use crate::error::{Expected, Setting};
use crate::setters::setters;

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
    /// Pairs of frequencies in hertz: a band reaches from the first to below the second. Each band
    /// gives one matrix.
    pub bands: Vec<(f64, f64)>,
    /// Samples per second.
    pub rate: f64,
    /// The length of a window in samples. None stands for the smallest power of two that is at least
    /// a second, so that frequencies are at most a hertz apart.
    pub window_length: Option<usize>,
    /// The taper.
    pub window: Window,
    /// The share of a window that the next one has in common with it, from 0 to below 1.
    pub overlap: f64,
    /// How the recording is cut, for one matrix per segment and band instead of one per band: time ×
    /// frequency, for sources that differ in either. No window crosses the border of a segment.
    pub cut: Option<Cut>,
    /// Spans of samples that no window touches, in any order.
    pub exclude: Vec<Range<usize>>,
}

setters!(Bands {
    bands: Vec<(f64, f64)>,
    rate: f64,
    window: Window,
    overlap: f64,
    exclude: Vec<Range<usize>>,
});

impl Bands {
    /// These bands, of a recording of so many samples per second, in Hann windows that overlap by
    /// half.
    pub fn new(bands: Vec<(f64, f64)>, rate: f64) -> Self {
        Self {
            bands,
            rate,
            window_length: None,
            window: Window::Hann,
            overlap: 0.5,
            cut: None,
            exclude: Vec::new(),
        }
    }

    /// So many bands of equal width between two frequencies.
    ///
    /// # Panics
    /// If there are more than [`Bands::MAX_BANDS`].
    pub fn even(from: f64, to: f64, count: usize, rate: f64) -> Self {
        Self::try_even(from, to, count, rate).unwrap_or_else(|error| panic!("{error}"))
    }

    /// As [`Bands::even`], with an error in place of a panic.
    ///
    /// ```
    /// use codiag::signals::Bands;
    /// assert_eq!(Bands::try_even(0.0, 40.0, 4, 250.0)?.bands.len(), 4);
    /// assert!(Bands::try_even(0.0, 40.0, 1_000_000_000, 250.0).is_err());
    /// # Ok::<(), codiag::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there are more than [`Bands::MAX_BANDS`].
    pub fn try_even(from: f64, to: f64, count: usize, rate: f64) -> Result<Self, Error> {
        if count > Self::MAX_BANDS {
            let expected = Expected::AtMost(Self::MAX_BANDS);
            return Err(Error::setting(Setting::Bands, expected, count));
        }
        let edge = |k: usize| from + (to - from) * k as f64 / count as f64;
        let bands = (0..count).map(|k| (edge(k), edge(k + 1)));
        Ok(Self::new(bands.collect(), rate))
    }

    /// More bands of equal width are taken for a mistake.
    pub const MAX_BANDS: usize = 1_000_000;

    /// The same with windows of another [length](Self#structfield.window_length).
    #[must_use]
    pub fn window_length(mut self, samples: impl Into<Option<usize>>) -> Self {
        self.window_length = samples.into();
        self
    }

    /// The same with other [segments](Self#structfield.cut), or none.
    #[must_use]
    pub fn cut(mut self, cut: impl Into<Option<Cut>>) -> Self {
        self.cut = cut.into();
        self
    }

    /// The samples of every segment: one, unless they are asked for.
    pub(super) fn pieces(&self, samples: usize, components: usize) -> Result<Vec<Piece>, Error> {
        let Some(mut cut) = self.cut else {
            return Ok(vec![usable_spans(samples, &self.exclude)?]);
        };
        if cut == Cut::Auto {
            // As many windows as give the narrowest band two coefficients per component.
            let narrowest = self.bins()?.iter().map(Range::len).min().unwrap_or(1);
            let windows = components.div_ceil(narrowest);
            let length = self.length();
            let step = ((length as f64 * (1.0 - self.overlap)).round() as usize).max(1);
            let further = (windows - 1).saturating_mul(step);
            cut = Cut::Length(length.saturating_add(further).min(samples));
        }
        let segments = Segments::default().cut(cut).rate(self.rate);
        segments
            .exclude(self.exclude.clone())
            .pieces(samples, components)
    }

    pub(super) fn length(&self) -> usize {
        let second = self.rate.ceil().clamp(1.0, f64::from(u32::MAX)) as usize;
        self.window_length.unwrap_or(second.next_power_of_two())
    }

    /// The frequencies of each band, as multiples of rate / length.
    pub(super) fn bins(&self) -> Result<Vec<Range<usize>>, Error> {
        let refused = |setting, expected, value: String| {
            Err(Error::setting(setting, Expected::Words(expected), value))
        };
        if !(self.rate.is_finite() && self.rate > 0.0) {
            return refused(
                Setting::Rate,
                "a positive number of samples per second",
                self.rate.to_string(),
            );
        }
        if !(0.0..1.0).contains(&self.overlap) {
            return refused(
                Setting::Overlap,
                "at least 0 and below 1",
                self.overlap.to_string(),
            );
        }
        if self.bands.is_empty() {
            return refused(
                Setting::Bands,
                "at least one pair of frequencies",
                "none".to_owned(),
            );
        }
        let length = self.length();
        if length == 0 {
            return refused(Setting::WindowLength, "at least 1", "0".to_owned());
        }
        let (resolution, half) = (self.rate / length as f64, 0.5 * self.rate);
        let mut bins = Vec::new();
        for &(low, high) in &self.bands {
            let value = || format!("{low}-{high} Hz at {} samples per second", self.rate);
            if !(0.0 <= low && low < high && high <= half * (1.0 + 1e-12)) {
                let expected = "pairs of rising frequencies up to half the rate";
                return refused(Setting::Bands, expected, value());
            }
            // An edge that is a frequency belongs to the band above it, whatever rounding did to it.
            let first = (low / resolution - 1e-9).ceil().max(0.0) as usize;
            let end = (high / resolution - 1e-9).ceil() as usize;
            let last = if high >= half { length / 2 + 1 } else { end };
            if first >= last {
                let value = format!("{}, in windows of {length}", value());
                let expected = "as wide as frequencies are apart, the rate divided by the length of the windows";
                return refused(Setting::Bands, expected, value);
            }
            bins.push(first..last);
        }
        Ok(bins)
    }
}
