//! Samples less the means of the pieces that they belong to, to be read in any order.

use std::ops::Range;

use super::Piece;
use super::estimation::mirror;
use super::reader::{Buffers, Reader, samples_per_span};
use crate::Error;
use crate::linalg::{self, Matrix};
use crate::threads::Workers;

/// A span of samples, all of one piece.
#[derive(Clone)]
pub(super) struct Span {
    pub samples: Range<usize>,
    /// Where the span that it is a part of ends.
    end: usize,
    piece: usize,
}

impl Span {
    /// The span with so many more samples, or as many as there are without a gap.
    pub fn reaching(&self, further: usize) -> Self {
        let samples = self.samples.start..self.end.min(self.samples.end + further);
        Self {
            samples,
            ..self.clone()
        }
    }
}

/// Sets of pieces, and their means.
pub(super) struct Centered<'a> {
    /// Its coordinates may change: means are those of the channels.
    pub reader: Reader<'a>,
    /// Of each set.
    spans: Vec<Vec<Span>>,
    /// One per piece and channel; empty if nothing is subtracted.
    means: Vec<Vec<f64>>,
}

impl<'a> Centered<'a> {
    /// Finds the means.
    pub fn new(reader: Reader<'a>, sets: &[Vec<Piece>]) -> Result<Self, Error> {
        let (mut spans, mut means) = (Vec::new(), Vec::new());
        let (mut buffers, mut piece) = (Buffers::default(), 0);
        for pieces in sets {
            let mut of_set = Vec::new();
            for own in pieces {
                if reader.center {
                    means.push(reader.means(own, &mut buffers)?);
                }
                of_set.extend(own.iter().map(|span| Span {
                    samples: span.clone(),
                    end: span.end,
                    piece,
                }));
                piece += 1;
            }
            spans.push(of_set);
        }
        Ok(Self {
            reader,
            spans,
            means,
        })
    }

    /// The number of coordinates.
    pub fn dimension(&self) -> usize {
        self.reader.dimension()
    }

    /// The spans of each set.
    pub fn sets(&self) -> &[Vec<Span>] {
        &self.spans
    }

    /// How many samples there are.
    pub fn samples(&self) -> usize {
        self.spans.iter().flatten().map(|s| s.samples.len()).sum()
    }

    /// The spans of each set, cut into so many blocks of as many samples, or nearly. Together they are the set.
    pub fn blocks(&self, count: usize) -> Vec<Vec<Vec<Span>>> {
        self.spans.iter().map(|set| blocks(set, count)).collect()
    }

    /// As many samples as are read at once.
    pub fn convenient_length(&self) -> usize {
        samples_per_span(self.reader.recording.channels())
    }

    /// The samples of a span: one row of as many numbers as it is long per coordinate.
    pub fn read<'b>(&self, part: &Span, buffers: &'b mut Buffers) -> Result<&'b mut [f64], Error> {
        let means = self.means.get(part.piece).map(Vec::as_slice);
        self.reader.read_span(&part.samples, means, buffers)
    }

    /// Σ x_t x_tᵀ over all sets, divided by the number of samples.
    pub fn covariance(&self, threads: Option<usize>) -> Result<Matrix, Error> {
        // The groups depend on the number of samples alone and are added in order, so that the result
        // has the same bits on any number of threads.
        const GROUPS: usize = 16;
        let (p, samples) = (self.dimension(), self.samples());
        let workers = Workers::for_work(threads, samples.saturating_mul(p * p / 2));
        let spans = self.spans.iter().flatten();
        let parts: Vec<Span> = parts(spans, self.convenient_length()).collect();
        let groups: Vec<&[Span]> = parts.chunks(parts.len().div_ceil(GROUPS)).collect();
        let sums = workers.map(&groups, |_, group| -> Result<Vec<f64>, Error> {
            let mut sum = vec![0.0; p * p];
            let mut buffers = Buffers::default();
            for part in *group {
                let (x, length) = (self.read(part, &mut buffers)?, part.samples.len());
                linalg::add_gram(&mut sum, p, 1.0 / samples as f64, x, length, length);
            }
            Ok(sum)
        });
        let mut total = vec![0.0; p * p];
        for sum in sums {
            linalg::add_multiple(&mut total, 1.0, &sum?);
        }
        mirror(&mut total, p);
        Ok(Matrix::from_rows(p, p, total))
    }

    /// The diagonal of the covariance.
    pub fn powers(&self) -> Result<Vec<f64>, Error> {
        let mut powers = vec![0.0; self.dimension()];
        let (mut buffers, factor) = (Buffers::default(), 1.0 / self.samples() as f64);
        for part in parts(self.spans.iter().flatten(), self.convenient_length()) {
            let x = self.read(&part, &mut buffers)?;
            for (row, power) in x.chunks_exact(part.samples.len()).zip(&mut powers) {
                *power += factor * linalg::dot(row, row);
            }
        }
        Ok(powers)
    }
}

/// Spans, cut into blocks of time.
fn blocks(spans: &[Span], count: usize) -> Vec<Vec<Span>> {
    let total: usize = spans.iter().map(|span| span.samples.len()).sum();
    let count = count.clamp(1, total.max(1));
    let mut blocks = vec![Vec::new(); count];
    let mut before = 0;
    for span in spans {
        let (start, length) = (span.samples.start, span.samples.len());
        let within = |border: usize| start + border.clamp(before, before + length) - before;
        for (k, block) in blocks.iter_mut().enumerate() {
            let samples = within(k * total / count)..within((k + 1) * total / count);
            if !samples.is_empty() {
                block.push(Span {
                    samples,
                    ..span.clone()
                });
            }
        }
        before += length;
    }
    blocks
}

/// Spans in parts of at most so many samples.
pub(super) fn parts<'b>(
    spans: impl Iterator<Item = &'b Span>,
    most: usize,
) -> impl Iterator<Item = Span> {
    spans.flat_map(move |own| {
        let starts = own.samples.clone().step_by(most);
        starts.map(move |start| Span {
            samples: start..own.samples.end.min(start + most),
            ..own.clone()
        })
    })
}
