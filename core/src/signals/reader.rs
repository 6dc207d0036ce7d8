//! Reads a recording: a span at a time, centred, in the coordinates wanted.

use std::ops::Range;

use super::{Piece, Recording};
use crate::Error;
use crate::linalg::{self, Matrix};

/// The coordinates in which samples are wanted.
#[derive(Clone, Debug)]
pub enum Coordinates {
    /// Those of the recording.
    Channels,
    /// Each channel times a factor.
    Scaled(Vec<f64>),
    /// Filters, one per row.
    Filtered(Matrix),
}

/// Reads samples of a recording.
pub struct Reader<'a> {
    pub recording: &'a dyn Recording,
    pub coordinates: Coordinates,
    /// Whether the mean of each piece is subtracted.
    pub center: bool,
}

/// The length of the spans that are read at once: about two megabytes.
pub fn samples_per_span(channels: usize) -> usize {
    ((1 << 18) / channels).clamp(256, 1 << 14)
}

/// Memory for the samples that are read, kept from piece to piece.
#[derive(Default)]
pub struct Buffers {
    samples: Vec<f64>,
    transformed: Vec<f64>,
    means: Vec<f64>,
}

impl Reader<'_> {
    pub fn dimension(&self) -> usize {
        match &self.coordinates {
            Coordinates::Filtered(filters) => filters.rows(),
            _ => self.recording.channels(),
        }
    }

    /// Calls `work` with the samples of a piece, span after span, and with the length of the span:
    /// one row of so many numbers per coordinate.
    pub fn for_each_span(
        &self,
        piece: &Piece,
        buffers: &mut Buffers,
        mut work: impl FnMut(&mut [f64], usize),
    ) -> Result<(), Error> {
        let Buffers {
            samples,
            transformed,
            means,
        } = buffers;
        let channels = self.recording.channels();
        let spans = spans_of(piece, channels);
        // The mean of a single span is found once it is read; several are read twice.
        means.clear();
        means.resize(channels, 0.0);
        let single = spans.len() == 1;
        if self.center && !single {
            self.add_means(&spans, samples, means)?;
        }
        for span in &spans {
            let length = span.len();
            samples.resize(channels * length, 0.0);
            self.read(span, samples)?;
            if self.center {
                if single {
                    add_sums(samples, length, means);
                    means.iter_mut().for_each(|m| *m /= length as f64);
                }
                subtract(means, samples, length);
            }
            work(self.transform(samples, transformed, length), length);
        }
        Ok(())
    }

    /// The mean of every channel over a piece.
    pub fn means(&self, piece: &Piece, buffers: &mut Buffers) -> Result<Vec<f64>, Error> {
        let mut means = vec![0.0; self.recording.channels()];
        self.add_means(
            &spans_of(piece, means.len()),
            &mut buffers.samples,
            &mut means,
        )?;
        Ok(means)
    }

    fn add_means(
        &self,
        spans: &[Range<usize>],
        samples: &mut Vec<f64>,
        means: &mut [f64],
    ) -> Result<(), Error> {
        let count: usize = spans.iter().map(ExactSizeIterator::len).sum();
        for span in spans {
            samples.resize(means.len() * span.len(), 0.0);
            self.read(span, samples)?;
            add_sums(samples, span.len(), means);
        }
        means.iter_mut().for_each(|m| *m /= count as f64);
        Ok(())
    }

    /// One span in the coordinates wanted, less the channels' means if they are given: rows of as many
    /// numbers as it is long.
    pub fn read_span<'b>(
        &self,
        span: &Range<usize>,
        means: Option<&[f64]>,
        buffers: &'b mut Buffers,
    ) -> Result<&'b mut [f64], Error> {
        let Buffers {
            samples,
            transformed,
            ..
        } = buffers;
        samples.resize(self.recording.channels() * span.len(), 0.0);
        self.read(span, samples)?;
        if let Some(means) = means {
            subtract(means, samples, span.len());
        }
        Ok(self.transform(samples, transformed, span.len()))
    }

    fn transform<'b>(
        &self,
        samples: &'b mut [f64],
        transformed: &'b mut Vec<f64>,
        length: usize,
    ) -> &'b mut [f64] {
        match &self.coordinates {
            Coordinates::Channels => samples,
            Coordinates::Scaled(factors) => {
                for (row, factor) in samples.chunks_exact_mut(length).zip(factors) {
                    row.iter_mut().for_each(|x| *x *= factor);
                }
                samples
            }
            Coordinates::Filtered(filters) => {
                transformed.resize(filters.rows() * length, 0.0);
                linalg::product_into(filters, samples, length, transformed);
                transformed
            }
        }
    }

    fn read(&self, span: &Range<usize>, out: &mut [f64]) -> Result<(), Error> {
        self.recording.read(span.clone(), out)?;
        // The sum of squares is finite only if all samples are. As it may also overflow, the samples
        // themselves have the last word.
        if linalg::dot(out, out).is_finite() {
            return Ok(());
        }
        match out.iter().position(|x| !x.is_finite()) {
            None => Ok(()),
            Some(k) => Err(Error::SampleNotFinite {
                channel: k / span.len(),
                sample: span.start + k % span.len(),
                value: out[k],
            }),
        }
    }
}

/// The spans of a piece, in parts that are read at once.
fn spans_of(piece: &Piece, channels: usize) -> Vec<Range<usize>> {
    let most = samples_per_span(channels);
    let parts = piece.iter().flat_map(|span| {
        let starts = span.clone().step_by(most);
        starts.map(|start| start..span.end.min(start + most))
    });
    parts.collect()
}

fn subtract(means: &[f64], rows: &mut [f64], length: usize) {
    for (row, mean) in rows.chunks_exact_mut(length).zip(means) {
        row.iter_mut().for_each(|x| *x -= mean);
    }
}

fn add_sums(rows: &[f64], length: usize, sums: &mut [f64]) {
    for (row, sum) in rows.chunks_exact(length).zip(sums) {
        *sum += linalg::sum(row);
    }
}
