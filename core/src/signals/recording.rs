//! Recordings of channels × samples, in memory or from other sources.

use std::ops::Range;

use super::segments::usable_spans;
use crate::{Error, linalg};

/// A recording of channels × samples, which several threads can read at the same time.
///
/// The functions of [`signals`](crate::signals) read spans of a few thousand samples, so that a
/// recording may be a file larger than memory.
///
/// ```
/// use std::ops::Range;
/// use codiag::Error;
/// use codiag::signals::{
///     CovarianceOptions, Recording, SegmentLength, Segments, segment_covariances,
/// };
///
/// /// A sine and a cosine of a thousand samples.
/// struct Tone;
///
/// impl Recording for Tone {
///     fn channels(&self) -> usize { 2 }
///     fn samples(&self) -> usize { 1000 }
///
///     fn read(&self, span: Range<usize>, out: &mut [f64]) -> Result<(), Error> {
///         let (sines, cosines) = out.split_at_mut(span.len());
///         for (k, t) in span.enumerate() {
///             (sines[k], cosines[k]) = (0.02 * std::f64::consts::PI * t as f64).sin_cos();
///         }
///         Ok(())
///     }
/// }
///
/// let segments = Segments::default().length(SegmentLength::Length(100));
/// let covariances = segment_covariances(&Tone, &segments, &CovarianceOptions::default())?;
/// assert_eq!(covariances.n, 10);
/// assert!((covariances.data[0] - 0.5).abs() < 1e-12 && covariances.data[1].abs() < 1e-12);
/// # Ok::<(), Error>(())
/// ```
pub trait Recording: Sync {
    /// Returns the number of channels.
    fn channels(&self) -> usize;

    /// Returns the number of samples of each channel.
    fn samples(&self) -> usize;

    /// Reads a span of samples of all channels into `out`, one channel after the other.
    ///
    /// # Errors
    /// If the samples cannot be read: [`Error::Io`], or [`Error::external`] for other errors.
    fn read(&self, span: Range<usize>, out: &mut [f64]) -> Result<(), Error>;
}

impl<R: Recording + ?Sized> Recording for &R {
    fn channels(&self) -> usize {
        (**self).channels()
    }

    fn samples(&self) -> usize {
        (**self).samples()
    }

    fn read(&self, span: Range<usize>, out: &mut [f64]) -> Result<(), Error> {
        (**self).read(span, out)
    }
}

/// A recording in memory with arbitrary strides.
///
/// ```
/// use codiag::signals::{Recording, RecordingView};
///
/// let data = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]; // two channels of three samples
/// let recording = RecordingView::new(&data, 2, 3)?;
/// // The transpose, without a copy.
/// let transposed = RecordingView::with_strides(&data, 3, 2, (1, 3))?;
/// let mut span = [0.0; 3];
/// transposed.read(1..2, &mut span)?;
/// assert_eq!(span, [4.0, 5.0, 6.0]);
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct RecordingView<'a> {
    data: &'a [f64],
    channels: usize,
    samples: usize,
    strides: (usize, usize),
}

impl<'a> RecordingView<'a> {
    /// Creates a recording whose channels are stored one after the other.
    ///
    /// # Errors
    /// If there are no channels or samples, or the length of `data` differs from their product.
    pub fn new(data: &'a [f64], channels: usize, samples: usize) -> Result<Self, Error> {
        let view = Self::with_strides(data, channels, samples, (samples, 1))?;
        if data.len() != numbers(&[channels, samples]) {
            return Err(length(&[channels, samples], data.len()));
        }
        Ok(view)
    }

    /// Creates a recording whose sample t of channel c is `data[c * strides.0 + t * strides.1]`.
    ///
    /// # Errors
    /// If there are no channels or samples, or the last sample is beyond the end of `data`.
    pub fn with_strides(
        data: &'a [f64],
        channels: usize,
        samples: usize,
        strides: (usize, usize),
    ) -> Result<Self, Error> {
        if channels == 0 || samples == 0 {
            return Err(Error::RecordingShape {
                epochs: false,
                shape: vec![channels, samples],
            });
        }
        check_last(data, &[channels, samples], &[strides.0, strides.1])?;
        Ok(Self {
            data,
            channels,
            samples,
            strides,
        })
    }
}

impl Recording for RecordingView<'_> {
    fn channels(&self) -> usize {
        self.channels
    }

    fn samples(&self) -> usize {
        self.samples
    }

    fn read(&self, span: Range<usize>, out: &mut [f64]) -> Result<(), Error> {
        // Tiles keep the data in the cache if channels, not samples, are contiguous.
        const TILE: usize = 64;
        let length = span.len();
        if length == 0 {
            return Ok(());
        }
        let (channel_stride, sample_stride) = self.strides;
        if sample_stride == 1 {
            for (c, out) in out.chunks_exact_mut(length).enumerate() {
                out.copy_from_slice(&self.data[c * channel_stride + span.start..][..length]);
            }
            return Ok(());
        }
        for tile in (0..length).step_by(TILE) {
            let end = (tile + TILE).min(length);
            for (c, out) in out.chunks_exact_mut(length).enumerate() {
                let first = c * channel_stride + (span.start + tile) * sample_stride;
                let numbers = self.data[first..].iter().step_by(sample_stride.max(1));
                if sample_stride == 0 {
                    out[tile..end].fill(self.data[first]);
                    continue;
                }
                let places = out[tile..end].iter_mut().zip(numbers);
                places.for_each(|(out, x)| *out = *x);
            }
        }
        Ok(())
    }
}

/// Epochs × channels × samples in memory with arbitrary strides. As a [`Recording`] they are
/// concatenated.
///
/// ```
/// use codiag::signals::{Epochs, Recording};
///
/// let data: Vec<f64> = (0..12).map(f64::from).collect();
/// let epochs = Epochs::new(&data, 3, 2, 2)?; // three epochs, two channels, two samples
/// assert_eq!((epochs.len(), epochs.channels(), epochs.samples()), (3, 2, 6));
/// let mut second = [0.0; 4];
/// epochs.epoch(1).read(0..2, &mut second)?;
/// assert_eq!(second, [4.0, 5.0, 6.0, 7.0]);
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Epochs<'a> {
    data: &'a [f64],
    shape: [usize; 3],
    strides: [usize; 3],
}

impl<'a> Epochs<'a> {
    /// Epochs stored one after the other, each as channels × samples.
    ///
    /// # Errors
    /// If there are no epochs, channels or samples, or the length of `data` differs from their
    /// product.
    pub fn new(
        data: &'a [f64],
        epochs: usize,
        channels: usize,
        samples: usize,
    ) -> Result<Self, Error> {
        let shape = [epochs, channels, samples];
        let epochs = Self::with_strides(data, shape, [numbers(&shape[1..]), samples, 1])?;
        if data.len() != numbers(&shape) {
            return Err(length(&shape, data.len()));
        }
        Ok(epochs)
    }

    /// Epochs whose sample t of channel c in epoch e is
    /// `data[e * strides[0] + c * strides[1] + t * strides[2]]`.
    ///
    /// # Errors
    /// If there are no epochs, channels or samples, or the last sample is beyond the end of `data`.
    pub fn with_strides(
        data: &'a [f64],
        shape: [usize; 3],
        strides: [usize; 3],
    ) -> Result<Self, Error> {
        if shape.contains(&0) {
            return Err(Error::RecordingShape {
                epochs: true,
                shape: shape.to_vec(),
            });
        }
        check_last(data, &shape, &strides)?;
        Ok(Self {
            data,
            shape,
            strides,
        })
    }

    /// Returns the number of epochs.
    #[allow(clippy::len_without_is_empty)] // there is at least one epoch
    pub fn len(&self) -> usize {
        self.shape[0]
    }

    /// Returns the number of samples of each epoch.
    pub fn epoch_samples(&self) -> usize {
        self.shape[2]
    }

    /// Epoch `e`.
    ///
    /// # Panics
    /// If there is no such epoch.
    pub fn epoch(&self, e: usize) -> RecordingView<'a> {
        assert!(
            e < self.len(),
            "epoch {e} is out of range for {} epochs",
            self.len()
        );
        RecordingView {
            data: &self.data[e * self.strides[0]..],
            channels: self.shape[1],
            samples: self.shape[2],
            strides: (self.strides[1], self.strides[2]),
        }
    }
}

impl Recording for Epochs<'_> {
    fn channels(&self) -> usize {
        self.shape[1]
    }

    fn samples(&self) -> usize {
        self.shape[0] * self.shape[2]
    }

    fn read(&self, span: Range<usize>, out: &mut [f64]) -> Result<(), Error> {
        let (length, each) = (span.len(), self.shape[2]);
        let mut at = span.start;
        while at < span.end {
            let epoch = self.epoch(at / each);
            let end = span.end.min((at / each + 1) * each);
            let within = at % each..at % each + (end - at);
            if end - at == length {
                return epoch.read(within, out);
            }
            let mut samples = vec![0.0; self.channels() * (end - at)];
            epoch.read(within, &mut samples)?;
            for (out, row) in out.chunks_exact_mut(length).zip(samples.chunks(end - at)) {
                out[at - span.start..end - span.start].copy_from_slice(row);
            }
            at = end;
        }
        Ok(())
    }
}

/// Returns the error of data whose length does not match the shape.
fn length(shape: &[usize], actual: usize) -> Error {
    Error::Length {
        shape: shape.to_vec(),
        expected: numbers(shape),
        actual,
    }
}

/// Returns the number of entries of an array of this shape, or `usize::MAX` on overflow.
fn numbers(shape: &[usize]) -> usize {
    shape.iter().copied().fold(1, usize::saturating_mul)
}

/// Fails if the last entry is beyond the end of `data`.
fn check_last(data: &[f64], shape: &[usize], strides: &[usize]) -> Result<(), Error> {
    let steps = shape
        .iter()
        .zip(strides)
        .map(|(n, s)| (n - 1).saturating_mul(*s));
    let last = steps.fold(0, usize::saturating_add);
    if last < data.len() {
        return Ok(());
    }
    Err(length(shape, data.len()))
}

/// Length in seconds of the windows whose means show a drift.
const DRIFT_WINDOW_S: f64 = 2.0;
/// Maximum number of windows that are read, evenly spread over the recording.
const MAX_DRIFT_WINDOWS: usize = 500;
/// Minimum number of windows from which a drift is estimated.
const MIN_DRIFT_WINDOWS: usize = 4;

/// Fraction of the variance that is due to slow drifts: the variance of the means of two-second
/// windows divided by the total variance, as the median over the channels. If it is large,
/// high-pass filter the recording before you separate it. 0 if the recording is too short.
///
/// ```
/// use codiag::signals::{RecordingView, drift_fraction};
///
/// let steady: Vec<f64> = (0..10_000).map(|t| (0.7 * t as f64).sin()).collect();
/// let drifting: Vec<f64> = steady.iter().enumerate().map(|(t, x)| x + 1e-3 * t as f64).collect();
/// let drift = |data: &[f64]| drift_fraction(&RecordingView::new(data, 1, 10_000)?, 100.0, &[]);
/// assert!(drift(&steady)? < 0.01);
/// assert!(drift(&drifting)? > 0.9);
/// # Ok::<(), codiag::Error>(())
/// ```
///
/// # Errors
/// If the recording cannot be read, or a bad span is not within it.
pub fn drift_fraction(
    recording: &dyn Recording,
    sfreq: f64,
    bad_spans: &[Range<usize>],
) -> Result<f64, Error> {
    let (channels, length) = (recording.channels(), (DRIFT_WINDOW_S * sfreq) as usize);
    if length < 2 || length > recording.samples() {
        return Ok(0.0);
    }
    let usable = usable_spans(recording.samples(), bad_spans)?;
    let starts: Vec<usize> = usable
        .into_iter()
        .flat_map(|span| span.clone().step_by(length).take(span.len() / length))
        .collect();
    let step = starts.len().div_ceil(MAX_DRIFT_WINDOWS).max(1);
    let n = starts.len().div_ceil(step);
    if n < MIN_DRIFT_WINDOWS {
        return Ok(0.0);
    }
    let n = n as f64;
    let mut block = vec![0.0; channels * length];
    let (mut means, mut within) = (vec![Vec::new(); channels], vec![0.0; channels]);
    for &start in starts.iter().step_by(step) {
        recording.read(start..start + length, &mut block)?;
        for (c, x) in block.chunks_exact(length).enumerate() {
            let mean = linalg::sum(x) / length as f64;
            let squares: f64 = x.iter().map(|x| (x - mean).powi(2)).sum();
            means[c].push(mean);
            within[c] += squares / (length as f64 * n);
        }
    }
    let mut fractions: Vec<f64> = means
        .iter()
        .zip(&within)
        .filter_map(|(means, within)| {
            let mean = linalg::sum(means) / n;
            let between: f64 = means.iter().map(|m| (m - mean).powi(2) / n).sum();
            let fraction = between / (between + within);
            fraction.is_finite().then_some(fraction)
        })
        .collect();
    fractions.sort_by(f64::total_cmp);
    Ok(fractions.get(fractions.len() / 2).copied().unwrap_or(0.0))
}
