//! Cospectra: the real parts of cross-spectra, in frequency bands.

use std::ops::Range;

use super::estimation::{fourth_powers, mirror};
use super::reader::{Buffers, Coordinates, Reader};
use super::segments::usable_spans;
use super::welch::Welch;
use super::{CovarianceOptions, Covariances, Cut, Piece, Recording, Segments, Shrinkage, Window};
use crate::Error;
use crate::error::{Expected, Portion, Setting};
use crate::linalg::{self, Matrix};
use crate::setters::setters;
use crate::threads::Workers;

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
    pub fn even(from: f64, to: f64, count: usize, rate: f64) -> Self {
        let edge = |k: usize| from + (to - from) * k as f64 / count as f64;
        Self::new((0..count).map(|k| (edge(k), edge(k + 1))).collect(), rate)
    }

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
            cut = Cut::Length((length + (windows - 1) * step).min(samples));
        }
        let segments = Segments::default().cut(cut).rate(self.rate);
        segments
            .exclude(self.exclude.clone())
            .pieces(samples, components)
    }

    fn length(&self) -> usize {
        let second = self.rate.ceil().clamp(1.0, f64::from(u32::MAX)) as usize;
        self.window_length.unwrap_or(second.next_power_of_two())
    }

    /// The frequencies of each band, as multiples of rate / length.
    fn bins(&self) -> Result<Vec<Range<usize>>, Error> {
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

/// The cospectrum of each band: the real part of Σ_f x̂_f x̂_fᴴ over its frequencies, the mean over
/// all windows, scaled such that the diagonal is each channel's power in the band. The cospectra of
/// bands that cover all frequencies sum to the covariance of the tapered windows. With
/// [segments](Bands#structfield.cut) there is one for each segment and band, segment after segment.
///
/// ```
/// use codiag::signals::{Bands, CovarianceOptions, View, cospectra, simulate};
///
/// let made = simulate::voices(2, 3.0, 0); // two microphones, 8000 samples per second
/// let recording = View::new(&made.data, made.channels, made.samples)?;
/// let bands = Bands::even(0.0, 4000.0, 10, made.rate);
/// let found = cospectra(&recording, &bands, &CovarianceOptions::default())?;
/// assert_eq!((found.n, found.p), (10, 2));
/// # Ok::<(), codiag::Error>(())
/// ```
///
/// # Errors
/// If a band holds no frequency or too few, no window fits into the recording, a sample is not
/// finite, or an option is out of its range.
pub fn cospectra(
    recording: &dyn Recording,
    bands: &Bands,
    options: &CovarianceOptions,
) -> Result<Covariances, Error> {
    let p = recording.channels();
    let pieces = bands.pieces(recording.samples(), p)?;
    let mut estimator = CospectraEstimator::new(recording, bands, &pieces, options)?;
    estimator.check_samples(p, options.shrinkage)?;
    let powers = || {
        let mean = estimator.mean()?;
        Ok((0..p).map(|a| mean[(a, a)]).collect())
    };
    if let Some(factors) = options.scale.factors(p, powers)? {
        estimator.reader.coordinates = Coordinates::Scaled(factors);
    }
    estimator.estimate(options.shrinkage)
}

/// Estimates cospectra by Welch's method.
pub(super) struct CospectraEstimator<'a> {
    pub reader: Reader<'a>,
    bands: &'a Bands,
    bins: Vec<Range<usize>>,
    welch: Welch,
    segments: Vec<Windows>,
    workers: Workers,
}

/// The windows of a segment.
struct Windows {
    /// Where they start: one list for each span without a gap.
    starts: Vec<Vec<usize>>,
    count: usize,
}

impl<'a> CospectraEstimator<'a> {
    pub fn new(
        recording: &'a dyn Recording,
        bands: &'a Bands,
        pieces: &[Piece],
        options: &CovarianceOptions,
    ) -> Result<Self, Error> {
        options.shrinkage.check()?;
        let bins = bands.bins()?;
        let welch = Welch::new(bands.length(), bands.window, bands.overlap, options.center);
        let mut segments = Vec::with_capacity(pieces.len());
        for spans in pieces {
            let starts: Vec<Vec<usize>> = spans.iter().map(|s| welch.starts(s).collect()).collect();
            let count: usize = starts.iter().map(Vec::len).sum();
            if count == 0 {
                let longest = spans.iter().map(ExactSizeIterator::len).max().unwrap_or(0);
                let expected = Expected::Words(if pieces.len() > 1 {
                    "at most the samples of a segment"
                } else {
                    "at most the samples of the longest span"
                });
                let value = format!("{} for {longest} samples", welch.length);
                return Err(Error::setting(Setting::WindowLength, expected, value));
            }
            segments.push(Windows { starts, count });
        }
        let windows: usize = segments.iter().map(|own| own.count).sum();
        let (p, columns) = (
            recording.channels(),
            2 * bins.iter().map(Range::len).sum::<usize>(),
        );
        let work = (windows * p).saturating_mul(p * columns / 2 + welch.length * 20);
        Ok(Self {
            reader: Reader {
                recording,
                coordinates: Coordinates::Channels,
                center: false,
            },
            workers: Workers::for_work(options.threads, work),
            bands,
            bins,
            welch,
            segments,
        })
    }

    /// Whether every band has the Fourier coefficients it needs to be positive definite.
    pub fn check_samples(&self, dimension: usize, shrinkage: Shrinkage) -> Result<(), Error> {
        if !shrinkage.is_none() {
            return Ok(());
        }
        for (bins, (low, high)) in self.bins.iter().zip(&self.bands.bands) {
            // The coefficients at zero and half the rate are real.
            let real =
                usize::from(bins.start == 0) + usize::from(2 * (bins.end - 1) == self.welch.length);
            let windows = self.segments.iter().map(|own| own.count).min().unwrap_or(0);
            let coefficients = windows * (2 * bins.len() - real);
            if coefficients < dimension {
                return Err(Error::TooFewSamples {
                    portion: Portion::Band {
                        low: *low,
                        high: *high,
                    },
                    samples: coefficients,
                    dimension,
                    needed: dimension,
                });
            }
        }
        Ok(())
    }

    /// The cospectra in the reader's coordinates.
    pub fn estimate(&self, shrinkage: Shrinkage) -> Result<Covariances, Error> {
        let p = self.reader.dimension();
        let (mut data, fourths) = self.sum(false, shrinkage == Shrinkage::LedoitWolf)?;
        let of_matrix = self
            .segments
            .iter()
            .flat_map(|own| self.bins.iter().map(|bins| (own.count, bins)));
        let matrices = data.chunks_exact_mut(p * p).zip(of_matrix.zip(fourths));
        let shrinkages = matrices.map(|(matrix, ((windows, bins), fourth))| {
            // A cospectrum is the mean of m x̂ x̂ᵀ over the windows and its m columns x̂, real and
            // imaginary parts: √m x̂ are its samples.
            let width = 2 * bins.len();
            let samples = windows * width;
            shrinkage.apply(matrix, p, samples, fourth * (width * width) as f64)
        });
        Ok(Covariances {
            n: self.segments.len() * self.bins.len(),
            p,
            shrinkages: shrinkages.collect(),
            data,
        })
    }

    /// The mean of all cospectra.
    pub fn mean(&self) -> Result<Matrix, Error> {
        let p = self.reader.dimension();
        Ok(Matrix::from_rows(p, p, self.sum(true, false)?.0))
    }

    /// The cospectra of all bands, segment after segment or, `merged`, their mean; and Σ ‖x̂‖⁴ of each if
    /// `fourth` is set.
    fn sum(&self, merged: bool, fourth: bool) -> Result<(Vec<f64>, Vec<f64>), Error> {
        let p = self.reader.dimension();
        let widths: Vec<usize> = self.bins.iter().map(|bins| 2 * bins.len()).collect();
        let width: usize = widths.iter().sum();
        let matrices = self.segments.len() * self.bins.len();
        let each = if merged { 1 } else { self.bins.len() };
        let mut sums = vec![0.0; if merged { 1 } else { matrices } * p * p];
        let mut fourths = vec![0.0; if merged { 1 } else { matrices }];
        let (mut buffers, mut columns) = (Buffers::default(), Vec::new());
        let batches = self.segments.iter().enumerate().flat_map(|(number, own)| {
            let batches = own.starts.iter().flat_map(|s| s.chunks(self.batch()));
            batches.map(move |starts| (number, own.count, starts))
        });
        for (number, windows, starts) in batches {
            let (first_matrix, factor) = if merged {
                (0, 1.0 / (windows * matrices) as f64)
            } else {
                (number * each, 1.0 / windows as f64)
            };
            let (count, first) = (starts.len(), starts[0]);
            let span = first..starts[count - 1] + self.welch.length;
            let x = self.reader.read_span(&span, None, &mut buffers)?;
            columns.resize(p * width * count, 0.0);
            let mut rows: Vec<(&[f64], &mut [f64])> = x
                .chunks_exact(span.len())
                .zip(columns.chunks_exact_mut(width * count))
                .collect();
            self.workers.each(&mut rows, |(x, out)| {
                self.transform(x, starts, out);
            });
            let mut at = 0;
            let mut jobs: Vec<(Range<usize>, &mut [f64], &mut f64)> = Vec::new();
            let outputs = sums.chunks_exact_mut(p * p).zip(&mut fourths);
            let outputs = outputs.skip(first_matrix).take(each);
            for (matrix, (sum, fourths)) in outputs.enumerate() {
                let own = if merged { width } else { widths[matrix] } * count;
                jobs.push((at..at + own, sum, fourths));
                at += own;
            }
            let stride = width * count;
            self.workers.each(&mut jobs, |(own, sum, fourths)| {
                linalg::add_gram(sum, p, factor, &columns[own.start..], stride, own.len());
                if fourth {
                    let rows = columns.chunks_exact(stride).map(|row| &row[own.clone()]);
                    **fourths += fourth_powers(rows, own.len());
                }
            });
        }
        sums.chunks_exact_mut(p * p).for_each(|sum| mirror(sum, p));
        Ok((sums, fourths))
    }

    /// How many windows are transformed at once: about eight megabytes.
    fn batch(&self) -> usize {
        let samples = (1 << 20) / self.reader.recording.channels();
        (samples.saturating_sub(self.welch.length) / self.welch.step).clamp(1, 64)
    }

    /// The coefficients of some windows of one channel: those of the first band, window after
    /// window, then those of the next.
    fn transform(&self, samples: &[f64], starts: &[usize], out: &mut [f64]) {
        let mut scratch = self.welch.scratch();
        for (w, start) in starts.iter().enumerate() {
            let window = &samples[start - starts[0]..][..self.welch.length];
            self.welch.transform(window, &mut scratch);
            let mut at = 0;
            for bins in &self.bins {
                let width = 2 * bins.len();
                let own = &mut out[at + w * width..][..width];
                for (out, x) in own
                    .chunks_exact_mut(2)
                    .zip(&scratch.frequency[bins.clone()])
                {
                    out[0] = x.re;
                    out[1] = x.im;
                }
                at += width * starts.len();
            }
        }
    }
}
