//! Cross-spectra in frequency bands, and cospectra, their real parts.

use std::ops::Range;

use super::bands::Welch;
use super::covariance::fourth_powers;
use super::reader::{Buffers, Coordinates, Reader, mirror};
use super::{Bands, CovarianceOptions, Covariances, Recording, Shrinkage, Spans, invalid};
use crate::error::{MemoryRemedy, Portion, Setting};
use crate::linalg::{self, Matrix, Scalar, c64, scalars};
use crate::threads::Workers;
use crate::{Error, Memory};

/// Estimates the cospectrum of each band: the real part of Σ_f x̂_f x̂_fᴴ over its frequencies,
/// averaged over all windows and scaled such that the diagonal is the power of each channel in the
/// band. The cospectra of bands that cover all frequencies sum to the covariance of the tapered
/// windows. With [segments](Bands#structfield.segment_length) there is one matrix for each segment
/// and band, sorted by segment, then by band.
///
/// ```
/// use codiag::signals::{Bands, CovarianceOptions, RecordingView, cospectra, simulate};
///
/// let simulated = simulate::voices(2, 3.0, 0); // two microphones, 8000 samples per second
/// let recording = RecordingView::new(&simulated.data, simulated.channels, simulated.samples)?;
/// let bands = Bands::even(0.0, 4000.0, 10, simulated.sfreq);
/// let spectra = cospectra(&recording, &bands, &CovarianceOptions::default())?;
/// assert_eq!((spectra.n, spectra.p), (10, 2));
/// # Ok::<(), codiag::Error>(())
/// ```
///
/// # Errors
/// If a band contains too few frequencies, no window fits into the recording, a sample is not
/// finite, or an option is out of range.
pub fn cospectra(
    recording: &dyn Recording,
    bands: &Bands,
    options: &CovarianceOptions,
) -> Result<Covariances, Error> {
    spectra(recording, bands, options)
}

/// Estimates the cross-spectrum of each band: the Hermitian matrix Σ_f x̂_f x̂_fᴴ over its
/// frequencies, averaged over all windows and scaled such that the diagonal is the power of each
/// channel in the band. Its real part is the [cospectrum](cospectra). Its imaginary part shows
/// delays between channels: a delay by τ is a phase of −2πfτ.
///
/// ```
/// use codiag::signals::{Bands, CovarianceOptions, RecordingView, cross_spectra};
///
/// // A cosine of 25 Hz, which the second sensor receives a quarter of a period later.
/// let angle = |t: i32| std::f64::consts::TAU * 25.0 * f64::from(t) / 200.0;
/// let wave = |delay: i32| (0..400).map(move |t| angle(t - delay).cos());
/// let data: Vec<f64> = wave(0).chain(wave(2)).collect();
/// let recording = RecordingView::new(&data, 2, 400)?;
/// let bands = Bands::new(vec![(20.0, 30.0)], 200.0);
/// let spectra = cross_spectra(&recording, &bands, &CovarianceOptions::default())?;
/// let phase = spectra.data[2].arg(); // entry (1, 0)
/// assert!((phase + std::f64::consts::FRAC_PI_2).abs() < 1e-6);
/// # Ok::<(), codiag::Error>(())
/// ```
///
/// # Errors
/// The errors of [`cospectra`].
pub fn cross_spectra(
    recording: &dyn Recording,
    bands: &Bands,
    options: &CovarianceOptions,
) -> Result<Covariances<c64>, Error> {
    spectra(recording, bands, options)
}

/// Cospectra for real T, cross-spectra for complex T.
fn spectra<T: Scalar>(
    recording: &dyn Recording,
    bands: &Bands,
    options: &CovarianceOptions,
) -> Result<Covariances<T>, Error> {
    let p = recording.channels();
    let pieces = bands.spans(recording.samples(), p)?;
    let mut estimator = SpectraEstimator::new(recording, bands, &pieces, options)?;
    estimator.check_samples::<T>(p, options.shrinkage)?;
    let powers = || {
        let mean: Matrix = estimator.mean()?;
        Ok((0..p).map(|a| mean[(a, a)]).collect())
    };
    if let Some(factors) = options.scale.factors(p, powers)? {
        estimator.reader.coordinates = Coordinates::Scaled(factors);
    }
    estimator.estimate(options.shrinkage)
}

/// Estimates cospectra (real T) and cross-spectra (complex T) by Welch's method.
pub(super) struct SpectraEstimator<'a> {
    pub reader: Reader<'a>,
    bands: &'a Bands,
    bins: Vec<Range<usize>>,
    welch: Welch,
    /// The first samples of the windows of each segment, one list per contiguous span.
    segments: Vec<Vec<Vec<usize>>>,
    workers: Workers,
}

impl<'a> SpectraEstimator<'a> {
    pub fn new(
        recording: &'a dyn Recording,
        bands: &'a Bands,
        pieces: &[Spans],
        options: &CovarianceOptions,
    ) -> Result<Self, Error> {
        options.shrinkage.check()?;
        let bins = bands.bins()?;
        check_length(bands.length(), pieces)?;
        let welch = Welch::new(bands.length(), bands.window, bands.overlap, options.center);
        let starts = |spans: &Spans| -> Vec<Vec<usize>> {
            let starts = spans.iter().map(|span| welch.starts(span).collect());
            starts.collect()
        };
        let segments: Vec<_> = pieces.iter().map(starts).collect();
        let windows: usize = segments.iter().flatten().map(Vec::len).sum();
        let columns = 2 * bins.iter().map(Range::len).sum::<usize>();
        let p = recording.channels();
        let work = (windows * p).saturating_mul(p * columns / 2 + welch.length * 20);
        Ok(Self {
            reader: Reader::new(recording, false),
            workers: Workers::for_work(options.n_jobs, work),
            bands,
            bins,
            welch,
            segments,
        })
    }

    /// Returns the number of windows of each segment.
    fn windows(&self) -> impl Iterator<Item = usize> {
        let segments = self.segments.iter();
        segments.map(|starts| starts.iter().map(Vec::len).sum())
    }

    /// Fails if a band has too few Fourier coefficients for a positive definite matrix.
    pub fn check_samples<T: Scalar>(
        &self,
        dimension: usize,
        shrinkage: Shrinkage,
    ) -> Result<(), Error> {
        if !shrinkage.is_none() {
            return Ok(());
        }
        let windows = self.windows().min().unwrap_or(0);
        for (bins, &(low, high)) in self.bins.iter().zip(&self.bands.bands) {
            let coefficients = windows * columns::<T>(bins, self.welch.length);
            if coefficients < dimension {
                return Err(Error::TooFewSamples {
                    portion: Portion::Band { low, high },
                    samples: coefficients,
                    dimension,
                    needed: dimension,
                });
            }
        }
        Ok(())
    }

    /// Returns the spectra in the coordinates of the reader.
    pub fn estimate<T: Scalar>(&self, shrinkage: Shrinkage) -> Result<Covariances<T>, Error> {
        let p = self.reader.dimension();
        let (mut data, fourths) = self.sum(false, shrinkage == Shrinkage::LedoitWolf)?;
        let of_segment = |windows| self.bins.iter().map(move |bins| (windows, bins));
        let of_matrix = self.windows().flat_map(of_segment);
        let matrices = data.chunks_exact_mut(p * p).zip(of_matrix.zip(fourths));
        let shrinkages = matrices.map(|(matrix, ((windows, bins), fourth))| {
            // A spectrum is the mean of m x̂ x̂ᴴ over all windows and the m columns x̂ of each, so
            // that its samples are √m x̂. A cross-spectrum has one column per frequency; a
            // cospectrum has two, the real and the imaginary part.
            let width = 2 * bins.len() / T::PLANES;
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

    /// Replaces the segments by groups of consecutive windows. Returns the number of windows of
    /// each group.
    pub fn regroup(&mut self, groups: usize) -> Vec<usize> {
        let spans = self.segments.iter().flatten().enumerate();
        let all: Vec<(usize, usize)> = spans
            .flat_map(|(span, starts)| starts.iter().map(move |start| (span, *start)))
            .collect();
        let groups = groups.clamp(1, all.len());
        let group = |k: usize| {
            let members = &all[k * all.len() / groups..(k + 1) * all.len() / groups];
            // The windows of one span are read together.
            let spans = members.chunk_by(|x, y| x.0 == y.0);
            let starts = spans.map(|span| span.iter().map(|(_, start)| *start).collect());
            starts.collect()
        };
        self.segments = (0..groups).map(group).collect();
        self.windows().collect()
    }

    /// Returns the mean of all spectra.
    pub fn mean<T: Scalar>(&self) -> Result<Matrix<T>, Error> {
        let p = self.reader.dimension();
        Ok(Matrix::from_rows(p, p, self.sum(true, false)?.0))
    }

    /// Returns the spectra of all segments and bands, or their mean if `merged`. Also returns Σ
    /// ‖x̂‖⁴ of each spectrum if `fourth`.
    fn sum<T: Scalar>(&self, merged: bool, fourth: bool) -> Result<(Vec<T>, Vec<f64>), Error> {
        let p = self.reader.dimension();
        // A coefficient is one complex column or two real columns.
        let columns_per_bin = 2 / T::PLANES;
        let widths: Vec<usize> = self
            .bins
            .iter()
            .map(|bins| columns_per_bin * bins.len())
            .collect();
        let width: usize = widths.iter().sum();
        let matrices = self.segments.len() * self.bins.len();
        let (outputs, bands) = if merged {
            (1, 1)
        } else {
            (matrices, self.bins.len())
        };
        self.check_memory::<T>(outputs, width)?;
        let mut sums = vec![T::ZERO; outputs * p * p];
        let mut fourths = vec![0.0; outputs];
        let (mut buffers, mut coefficients) = (Buffers::default(), Vec::new());
        let segments = self.segments.iter().zip(self.windows()).enumerate();
        let batches = segments.flat_map(|(segment, (starts, windows))| {
            let batches = starts.iter().flat_map(|s| s.chunks(self.batch()));
            batches.map(move |starts| (segment, windows, starts))
        });
        for (segment, windows, starts) in batches {
            let (first_matrix, factor) = if merged {
                (0, 1.0 / (windows * matrices) as f64)
            } else {
                (segment * bands, 1.0 / windows as f64)
            };
            let count = starts.len();
            let span = starts[0]..starts[count - 1] + self.welch.length;
            let x = self.reader.read_span(&span, None, &mut buffers)?;
            coefficients.resize(p * T::PLANES * width * count, 0.0);
            let mut rows: Vec<(&[f64], &mut [f64])> = x
                .chunks_exact(span.len())
                .zip(coefficients.chunks_exact_mut(T::PLANES * width * count))
                .collect();
            self.workers.each(&mut rows, |(x, out)| {
                self.transform(x, starts, out);
            });
            let mut at = 0;
            let columns: &[T] = scalars(&coefficients);
            let mut jobs: Vec<(Range<usize>, &mut [T], &mut f64)> = Vec::new();
            let outputs = sums.chunks_exact_mut(p * p).zip(&mut fourths);
            let outputs = outputs.skip(first_matrix).take(bands);
            for (matrix, (sum, fourths)) in outputs.enumerate() {
                let len = if merged { width } else { widths[matrix] } * count;
                jobs.push((at..at + len, sum, fourths));
                at += len;
            }
            let stride = width * count;
            self.workers.each(&mut jobs, |(range, sum, fourths)| {
                linalg::add_gram(sum, p, factor, &columns[range.start..], stride, range.len());
                if fourth {
                    let rows = columns.chunks_exact(stride).map(|row| &row[range.clone()]);
                    **fourths += fourth_powers(rows, range.len());
                }
            });
        }
        for sum in sums.chunks_exact_mut(p * p) {
            mirror(sum, p);
            // The imaginary parts of the diagonal are rounding errors.
            (0..p).for_each(|a| sum[a * p + a] = T::from_real(sum[a * p + a].real()));
        }
        Ok((sums, fourths))
    }

    /// Fails if `matrices` matrices and the coefficients of one batch do not fit into memory.
    fn check_memory<T: Scalar>(&self, matrices: usize, width: usize) -> Result<(), Error> {
        let p = self.reader.dimension();
        let at_once = self.batch().min(self.windows().max().unwrap_or(0));
        let coefficients = Memory::of_numbers(&[p, T::PLANES, width, at_once]);
        let memory =
            |count: usize| coefficients.plus(Memory::of_numbers(&[T::PLANES, count, p, p]));
        let segments = self.segments.len();
        memory(matrices).check(
            || format!("a set of {matrices} spectra of {p} x {p}"),
            |available| {
                let bands = |bands: usize| memory(bands.saturating_mul(segments));
                MemoryRemedy::largest(Setting::Bands, self.bins.len(), available, bands)
            },
        )
    }

    /// Returns the number of windows per batch, about eight megabytes.
    fn batch(&self) -> usize {
        let samples = (1 << 20) / self.reader.recording.channels();
        (samples.saturating_sub(self.welch.length) / self.welch.step).clamp(1, 64)
    }

    /// Writes the coefficients of the windows of one channel, sorted by band, then by window.
    fn transform(&self, samples: &[f64], starts: &[usize], out: &mut [f64]) {
        let mut scratch = self.welch.scratch();
        for (w, start) in starts.iter().enumerate() {
            let window = &samples[start - starts[0]..][..self.welch.length];
            self.welch.transform(window, &mut scratch);
            let mut at = 0;
            for bins in &self.bins {
                let width = 2 * bins.len();
                let out_window = &mut out[at + w * width..][..width];
                let frequencies = &scratch.frequency[bins.clone()];
                for (out, x) in out_window.chunks_exact_mut(2).zip(frequencies) {
                    (out[0], out[1]) = (x.re, x.im);
                }
                at += width * starts.len();
            }
        }
    }
}

/// Fails if a window does not fit into a span of every segment, or if its transform does not fit
/// into memory.
fn check_length(length: usize, pieces: &[Spans]) -> Result<(), Error> {
    // For the taper, a window, its transform, and scratch memory.
    const NUMBERS_PER_SAMPLE: usize = 16;
    for spans in pieces {
        let longest = spans.iter().map(ExactSizeIterator::len).max().unwrap_or(0);
        if longest < length {
            let expected = if pieces.len() > 1 {
                "at most the samples of a segment"
            } else {
                "at most the samples of the longest span"
            };
            let value = format!("{length} for {longest} samples");
            return Err(invalid(Setting::WindowLength, expected, value));
        }
    }
    let memory = |length: usize| Memory::of_numbers(&[NUMBERS_PER_SAMPLE, length]);
    memory(length).check(
        || format!("a window of {length} samples"),
        |available| MemoryRemedy::largest(Setting::WindowLength, length, available, memory),
    )
}

/// Returns the number of nonzero columns of a window in a band. Each adds one to the rank of the
/// spectrum.
fn columns<T: Scalar>(bins: &Range<usize>, length: usize) -> usize {
    if T::PLANES == 2 {
        return bins.len();
    }
    // The coefficients at zero and at half the sampling frequency are real.
    let real = usize::from(bins.start == 0) + usize::from(2 * (bins.end - 1) == length);
    2 * bins.len() - real
}
