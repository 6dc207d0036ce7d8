//! One sweep over a recording: some samples at a time, centred, in the coordinates wanted.

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
    /// Filters, one a row.
    Filtered(Matrix),
}

/// How a recording is read.
pub struct Sweep<'a> {
    pub recording: &'a dyn Recording,
    pub coordinates: Coordinates,
    /// Whether the mean of each piece is taken off.
    pub center: bool,
}

/// How many samples are read at once: some two megabytes.
pub fn chunk_samples(channels: usize) -> usize {
    ((1 << 18) / channels).clamp(256, 1 << 14)
}

/// Memory for the samples of a sweep, kept from piece to piece.
#[derive(Default)]
pub struct Buffers {
    raw: Vec<f64>,
    image: Vec<f64>,
    means: Vec<f64>,
}

impl Sweep<'_> {
    pub fn dimension(&self) -> usize {
        match &self.coordinates {
            Coordinates::Filtered(filters) => filters.rows(),
            _ => self.recording.channels(),
        }
    }

    /// Calls `work` with the samples of a piece, chunk after chunk: rows of so many numbers.
    pub fn chunks(
        &self,
        piece: &Piece,
        buffers: &mut Buffers,
        mut work: impl FnMut(&mut [f64], usize),
    ) -> Result<(), Error> {
        let Buffers { raw, image, means } = buffers;
        let channels = self.recording.channels();
        let most = chunk_samples(channels);
        let spans: Vec<_> = piece
            .iter()
            .flat_map(|span| {
                let starts = span.clone().step_by(most);
                starts.map(|start| start..span.end.min(start + most))
            })
            .collect();
        // The mean of a single chunk is found once it is read; others need a sweep of their own.
        means.clear();
        means.resize(channels, 0.0);
        let alone = spans.len() == 1;
        if self.center && !alone {
            let count: usize = spans.iter().map(ExactSizeIterator::len).sum();
            for span in &spans {
                raw.resize(channels * span.len(), 0.0);
                self.read(span, raw)?;
                add_sums(raw, span.len(), means);
            }
            means.iter_mut().for_each(|m| *m /= count as f64);
        }
        for span in &spans {
            let length = span.len();
            raw.resize(channels * length, 0.0);
            self.read(span, raw)?;
            if self.center {
                if alone {
                    add_sums(raw, length, means);
                    means.iter_mut().for_each(|m| *m /= length as f64);
                }
                for (row, mean) in raw.chunks_exact_mut(length).zip(&*means) {
                    row.iter_mut().for_each(|x| *x -= mean);
                }
            }
            work(self.transform(raw, image, length), length);
        }
        Ok(())
    }

    /// One span in the coordinates wanted, not centred: rows of as many numbers as it is long.
    pub fn span<'b>(
        &self,
        span: &Range<usize>,
        raw: &'b mut Vec<f64>,
        image: &'b mut Vec<f64>,
    ) -> Result<&'b mut [f64], Error> {
        raw.resize(self.recording.channels() * span.len(), 0.0);
        self.read(span, raw)?;
        Ok(self.transform(raw, image, span.len()))
    }

    fn transform<'b>(
        &self,
        raw: &'b mut [f64],
        image: &'b mut Vec<f64>,
        length: usize,
    ) -> &'b mut [f64] {
        match &self.coordinates {
            Coordinates::Channels => raw,
            Coordinates::Scaled(factors) => {
                for (row, factor) in raw.chunks_exact_mut(length).zip(factors) {
                    row.iter_mut().for_each(|x| *x *= factor);
                }
                raw
            }
            Coordinates::Filtered(filters) => {
                image.resize(filters.rows() * length, 0.0);
                linalg::product_into(filters, raw, length, image);
                image
            }
        }
    }

    fn read(&self, span: &Range<usize>, out: &mut [f64]) -> Result<(), Error> {
        self.recording.read(span.clone(), out)?;
        // A sum is finite only if its terms are; it may overflow, so a suspect is looked at again.
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

fn add_sums(rows: &[f64], length: usize, sums: &mut [f64]) {
    for (row, sum) in rows.chunks_exact(length).zip(sums) {
        *sum += linalg::sum(row);
    }
}
