//! Recordings: channels × samples, in memory or elsewhere, read a span at a time.

use std::ops::Range;

use crate::Error;

/// A recording of channels × samples that can be read a span at a time, by several threads.
///
/// Everything in [`signals`](crate::signals) asks for some thousand samples at a time, so a
/// recording may lie in a file and never be in memory as a whole.
///
/// ```
/// use std::ops::Range;
/// use codiag::Error;
/// use codiag::signals::{CovarianceOptions, Cut, Recording, Segments, segment_covariances};
///
/// /// A tone of a thousand samples, and the same a quarter of a period later.
/// struct Tone;
///
/// impl Recording for Tone {
///     fn channels(&self) -> usize {
///         2
///     }
///
///     fn samples(&self) -> usize {
///         1000
///     }
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
/// let segments = Segments::default().cut(Cut::Length(100));
/// let found = segment_covariances(&Tone, &segments, &CovarianceOptions::default())?;
/// assert_eq!(found.n, 10);
/// assert!((found.data[0] - 0.5).abs() < 1e-12 && found.data[1].abs() < 1e-12);
/// # Ok::<(), Error>(())
/// ```
pub trait Recording: Sync {
    /// The number of channels.
    fn channels(&self) -> usize;

    /// The number of samples of each channel.
    fn samples(&self) -> usize;

    /// Writes a span of all channels to `out`, one channel after the other.
    ///
    /// # Errors
    /// If the samples cannot be read: [`Error::Io`], or what [`Error::external`] makes of another
    /// program's error.
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

/// A recording in memory, in any order.
///
/// ```
/// use codiag::signals::{Recording, View};
///
/// let data = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]; // two channels of three samples
/// let recording = View::new(&data, 2, 3)?;
/// let by_columns = View::with_strides(&data, 3, 2, (1, 3))?; // the transpose, without a copy
/// let mut span = [0.0; 3];
/// by_columns.read(1..2, &mut span)?;
/// assert_eq!(span, [4.0, 5.0, 6.0]);
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    data: &'a [f64],
    channels: usize,
    samples: usize,
    strides: (usize, usize),
}

impl<'a> View<'a> {
    /// A recording whose channels lie one after the other.
    ///
    /// # Errors
    /// If there are no channels or samples, or not as many numbers as they need.
    pub fn new(data: &'a [f64], channels: usize, samples: usize) -> Result<Self, Error> {
        let view = Self::with_strides(data, channels, samples, (samples, 1))?;
        if data.len() != numbers(&[channels, samples]) {
            return Err(length(&[channels, samples], data.len()));
        }
        Ok(view)
    }

    /// A recording whose number (c, t) is `data[c * strides.0 + t * strides.1]`.
    ///
    /// # Errors
    /// If there are no channels or samples, or the last number is not in `data`.
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

impl Recording for View<'_> {
    fn channels(&self) -> usize {
        self.channels
    }

    fn samples(&self) -> usize {
        self.samples
    }

    fn read(&self, span: Range<usize>, out: &mut [f64]) -> Result<(), Error> {
        // Where samples are far apart, channels are near: tiles keep both in the cache.
        const TILE: usize = 64;
        let length = span.len();
        if length == 0 {
            return Ok(());
        }
        let (by_channel, by_sample) = self.strides;
        if by_sample == 1 {
            for (c, out) in out.chunks_exact_mut(length).enumerate() {
                out.copy_from_slice(&self.data[c * by_channel + span.start..][..length]);
            }
            return Ok(());
        }
        for tile in (0..length).step_by(TILE) {
            let end = (tile + TILE).min(length);
            for (c, out) in out.chunks_exact_mut(length).enumerate() {
                let first = c * by_channel + (span.start + tile) * by_sample;
                let numbers = self.data[first..].iter().step_by(by_sample.max(1));
                if by_sample == 0 {
                    out[tile..end].fill(self.data[first]);
                    continue;
                }
                out[tile..end]
                    .iter_mut()
                    .zip(numbers)
                    .for_each(|(out, x)| *out = *x);
            }
        }
        Ok(())
    }
}

/// Epochs × channels × samples in memory, in any order; as a recording, one epoch after the other.
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
///
/// // A recording of two channels, one after the other, cut into epochs without a copy.
/// let cut = Epochs::with_strides(&data, [3, 2, 2], [2, 6, 1])?;
/// cut.epoch(1).read(0..2, &mut second)?;
/// assert_eq!(second, [2.0, 3.0, 8.0, 9.0]);
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Epochs<'a> {
    data: &'a [f64],
    shape: [usize; 3],
    strides: [usize; 3],
}

impl<'a> Epochs<'a> {
    /// Epochs that lie one after the other, each channel after channel.
    ///
    /// # Errors
    /// If there are no epochs, channels or samples, or not as many numbers as they need.
    pub fn new(
        data: &'a [f64],
        epochs: usize,
        channels: usize,
        samples: usize,
    ) -> Result<Self, Error> {
        let shape = [epochs, channels, samples];
        let made = Self::with_strides(data, shape, [numbers(&shape[1..]), samples, 1])?;
        if data.len() != numbers(&shape) {
            return Err(length(&shape, data.len()));
        }
        Ok(made)
    }

    /// Epochs whose number (e, c, t) is `data[e * strides[0] + c * strides[1] + t * strides[2]]`.
    ///
    /// # Errors
    /// If there are no epochs, channels or samples, or the last number is not in `data`.
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

    /// The number of epochs.
    #[allow(clippy::len_without_is_empty)] // there is at least one
    pub fn len(&self) -> usize {
        self.shape[0]
    }

    /// The samples of each epoch.
    pub fn epoch_samples(&self) -> usize {
        self.shape[2]
    }

    /// Epoch `e`.
    ///
    /// # Panics
    /// If there is no such epoch.
    pub fn epoch(&self, e: usize) -> View<'a> {
        assert!(e < self.len(), "there is no epoch {e}");
        View {
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
            let mut own = vec![0.0; self.channels() * (end - at)];
            epoch.read(within, &mut own)?;
            for (out, own) in out.chunks_exact_mut(length).zip(own.chunks(end - at)) {
                out[at - span.start..end - span.start].copy_from_slice(own);
            }
            at = end;
        }
        Ok(())
    }
}

fn length(shape: &[usize], actual: usize) -> Error {
    Error::Length {
        shape: shape.to_vec(),
        expected: numbers(shape),
        actual,
    }
}

/// How many numbers an array of this shape has; the largest there is, if they cannot be counted.
fn numbers(shape: &[usize]) -> usize {
    shape.iter().copied().fold(1, usize::saturating_mul)
}

/// Whether the last number is there.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn ascending(n: usize) -> Vec<f64> {
        (0..n).map(|k| k as f64).collect()
    }

    #[test]
    fn any_order_reads_the_same_numbers() {
        let (channels, samples) = (3, 200);
        let rows = ascending(channels * samples);
        let columns: Vec<f64> = (0..samples)
            .flat_map(|t| (0..channels).map(move |c| (c * samples + t) as f64))
            .collect();
        let mut expected = vec![0.0; channels * 130];
        let view = View::new(&rows, channels, samples).unwrap();
        view.read(50..180, &mut expected).unwrap();
        assert_eq!(expected[131], 251.0);
        let mut out = vec![0.0; channels * 130];
        let transposed = View::with_strides(&columns, channels, samples, (1, channels)).unwrap();
        transposed.read(50..180, &mut out).unwrap();
        assert_eq!(out, expected);
        let constant = View::with_strides(&rows, 2, 5, (1, 0)).unwrap();
        constant.read(1..4, &mut out[..6]).unwrap();
        assert_eq!(out[..6], [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]);
    }

    #[test]
    fn epochs_are_one_recording() {
        let data = ascending(4 * 2 * 5);
        let epochs = Epochs::new(&data, 4, 2, 5).unwrap();
        assert_eq!((epochs.channels(), epochs.samples()), (2, 20));
        let mut out = vec![0.0; 2 * 9];
        epochs.read(3..12, &mut out).unwrap();
        let expected: Vec<f64> = (0..2_usize)
            .flat_map(|c| (3..12).map(move |t| (t / 5 * 10 + c * 5 + t % 5) as f64))
            .collect();
        assert_eq!(out, expected);
    }

    #[test]
    fn shapes_are_checked() {
        let data = ascending(6);
        assert!(matches!(
            View::new(&data, 0, 6),
            Err(Error::RecordingShape { .. })
        ));
        assert!(matches!(View::new(&data, 2, 2), Err(Error::Length { .. })));
        // Their product is 0 where it is taken modulo 2⁶⁴.
        assert!(matches!(
            View::new(&[], 1 << 32, 1 << 32),
            Err(Error::Length { .. })
        ));
        assert!(matches!(
            View::with_strides(&data, 2, 3, (4, 1)),
            Err(Error::Length { .. })
        ));
        assert!(matches!(
            Epochs::new(&data, 2, 0, 3),
            Err(Error::RecordingShape { .. })
        ));
    }
}
