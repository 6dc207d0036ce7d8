//! Reads a recording span by span, centered and transformed to coordinates, in bounded memory.

use std::ops::Range;

use super::{Recording, Spans};
use crate::Error;
use crate::linalg::{self, Matrix, Scalar};
use crate::threads::Workers;

/// Coordinates to which samples are transformed.
#[derive(Clone, Debug)]
pub(super) enum Coordinates {
    /// The channels as recorded.
    Channels,
    /// Each channel multiplied by a factor.
    Scaled(Vec<f64>),
    /// Outputs of spatial filters, one per row.
    Filtered(Matrix),
}

/// Reads the samples of a recording. A piece is a segment or an epoch, which may have gaps.
pub(super) struct Reader<'a> {
    pub recording: &'a dyn Recording,
    pub coordinates: Coordinates,
    /// Whether the mean of each piece is subtracted.
    pub center: bool,
}

/// Returns the number of samples per read, about two megabytes.
pub(super) fn samples_per_span(channels: usize) -> usize {
    ((1 << 18) / channels).clamp(256, 1 << 14)
}

/// Buffers for samples, reused between reads.
#[derive(Default)]
pub(super) struct Buffers {
    samples: Vec<f64>,
    transformed: Vec<f64>,
}

impl<'a> Reader<'a> {
    /// Creates a reader of the channels as recorded.
    pub fn new(recording: &'a dyn Recording, center: bool) -> Self {
        Self {
            recording,
            coordinates: Coordinates::Channels,
            center,
        }
    }

    /// Returns the number of coordinates.
    pub fn dimension(&self) -> usize {
        match &self.coordinates {
            Coordinates::Filtered(filters) => filters.rows(),
            _ => self.recording.channels(),
        }
    }

    /// Calls `work` for each span of a piece with its samples, one row per coordinate, and its
    /// length.
    pub fn for_each_span(
        &self,
        piece: &Spans,
        buffers: &mut Buffers,
        mut work: impl FnMut(&mut [f64], usize),
    ) -> Result<(), Error> {
        let (samples, transformed) = (&mut buffers.samples, &mut buffers.transformed);
        let channels = self.recording.channels();
        let spans = spans_of(piece, channels);
        // A single span is read once, and its mean computed in memory. Several spans are read
        // twice.
        let mut means = vec![0.0; channels];
        let single = spans.len() == 1;
        if self.center && !single {
            self.add_means(&spans, samples, &mut means)?;
        }
        for span in &spans {
            let length = span.len();
            self.read(span, samples)?;
            if self.center {
                if single {
                    add_sums(samples, length, &mut means);
                    means.iter_mut().for_each(|m| *m /= length as f64);
                }
                subtract(&means, samples, length);
            }
            work(self.transform(samples, transformed, length), length);
        }
        Ok(())
    }

    fn add_means(
        &self,
        spans: &[Range<usize>],
        samples: &mut Vec<f64>,
        means: &mut [f64],
    ) -> Result<(), Error> {
        let count: usize = spans.iter().map(ExactSizeIterator::len).sum();
        for span in spans {
            self.read(span, samples)?;
            add_sums(samples, span.len(), means);
        }
        means.iter_mut().for_each(|m| *m /= count as f64);
        Ok(())
    }

    /// Reads one span, one row per coordinate, and subtracts the means of the channels, if given.
    pub fn read_span<'b>(
        &self,
        span: &Range<usize>,
        means: Option<&[f64]>,
        buffers: &'b mut Buffers,
    ) -> Result<&'b mut [f64], Error> {
        let samples = &mut buffers.samples;
        self.read(span, samples)?;
        if let Some(means) = means {
            subtract(means, samples, span.len());
        }
        Ok(self.transform(samples, &mut buffers.transformed, span.len()))
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

    /// Reads a span of the channels. Fails if a sample is not finite.
    fn read(&self, span: &Range<usize>, out: &mut Vec<f64>) -> Result<(), Error> {
        out.resize(self.recording.channels() * span.len(), 0.0);
        self.recording.read(span.clone(), out)?;
        // A finite sum of squares implies finite samples. An infinite sum may be an overflow.
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

/// Splits a range of samples into parts of at most `longest` samples.
fn split(range: Range<usize>, longest: usize) -> impl Iterator<Item = Range<usize>> {
    let starts = range.clone().step_by(longest);
    starts.map(move |start| start..range.end.min(start + longest))
}

/// Returns the spans of a piece, split to the number of samples per read.
fn spans_of(piece: &Spans, channels: usize) -> Vec<Range<usize>> {
    let longest = samples_per_span(channels);
    let parts = piece.iter().flat_map(|span| split(span.clone(), longest));
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

/// Adds the sum of squares of every row, multiplied by a factor.
pub(super) fn add_powers(powers: &mut [f64], factor: f64, rows: &[f64], length: usize) {
    for (row, power) in rows.chunks_exact(length).zip(powers) {
        *power += factor * linalg::dot(row, row);
    }
}

/// Sums over all jobs in parallel. `add` adds the contribution of a job to the lower triangle; the
/// result is made symmetric.
///
/// The jobs are added in groups that depend only on their number, so that the result is bitwise
/// identical for any number of threads.
pub(super) fn sum_symmetric<J: Sync>(
    jobs: &[J],
    p: usize,
    workers: &Workers,
    add: impl Fn(&J, &mut Buffers, &mut [f64]) -> Result<(), Error> + Sync + Send,
) -> Result<Matrix, Error> {
    const GROUPS: usize = 16;
    let groups: Vec<&[J]> = jobs.chunks(jobs.len().div_ceil(GROUPS)).collect();
    let sums = workers.map(&groups, |_, group| -> Result<Vec<f64>, Error> {
        let (mut sum, mut buffers) = (vec![0.0; p * p], Buffers::default());
        for job in *group {
            add(job, &mut buffers, &mut sum)?;
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

/// Copies the conjugated lower triangle to the upper triangle.
pub(super) fn mirror<T: Scalar>(matrix: &mut [T], p: usize) {
    // Tiles make use of complete cache lines when reading columns.
    const TILE: usize = 16;
    for rows in (0..p).step_by(TILE) {
        for columns in (0..=rows).step_by(TILE) {
            for b in columns..(columns + TILE).min(p) {
                for a in rows.max(b + 1)..(rows + TILE).min(p) {
                    matrix[b * p + a] = matrix[a * p + b].conj();
                }
            }
        }
    }
}

/// A span of samples of one piece.
#[derive(Clone)]
pub(super) struct Span {
    pub samples: Range<usize>,
    /// End of the contiguous span that contains these samples.
    end: usize,
    piece: usize,
}

impl Span {
    /// Returns the span extended by at most `count` samples, without crossing a gap.
    pub fn extended(&self, count: usize) -> Self {
        let end = self.end.min(self.samples.end.saturating_add(count));
        self.with(self.samples.start..end)
    }

    /// Returns the number of products x_{t+lag} x_t without a gap between the samples, for t in the
    /// span.
    pub fn products(&self, lag: usize) -> usize {
        self.extended(lag).samples.len().saturating_sub(lag)
    }

    fn with(&self, samples: Range<usize>) -> Self {
        Self {
            samples,
            ..self.clone()
        }
    }
}

/// Splits spans into parts of at most `longest` samples.
pub(super) fn parts<'b>(
    spans: impl Iterator<Item = &'b Span>,
    longest: usize,
) -> impl Iterator<Item = Span> {
    spans.flat_map(move |span| {
        split(span.samples.clone(), longest).map(|samples| span.with(samples))
    })
}

/// Returns the total number of samples of spans.
pub(super) fn count_samples<'b>(spans: impl IntoIterator<Item = &'b Span>) -> usize {
    spans.into_iter().map(|span| span.samples.len()).sum()
}

/// Recording from whose pieces the means are subtracted. They can be read in any order.
pub(super) struct CenteredRecording<'a> {
    /// Reader. Its coordinates may be changed, because `means` refers to channels.
    pub reader: Reader<'a>,
    /// The spans of each set of pieces.
    pub sets: Vec<Vec<Span>>,
    /// The means of the channels in each piece; empty if means are not subtracted.
    means: Vec<Vec<f64>>,
}

impl<'a> CenteredRecording<'a> {
    /// Computes the means of all pieces.
    pub fn new(reader: Reader<'a>, sets: &[Vec<Spans>]) -> Result<Self, Error> {
        let channels = reader.recording.channels();
        let (mut spans, mut means) = (Vec::new(), Vec::new());
        let (mut samples, mut piece) = (Vec::new(), 0);
        for pieces in sets {
            let mut set_spans = Vec::new();
            for piece_spans in pieces {
                if reader.center {
                    let mut mean = vec![0.0; channels];
                    let parts = spans_of(piece_spans, channels);
                    reader.add_means(&parts, &mut samples, &mut mean)?;
                    means.push(mean);
                }
                set_spans.extend(piece_spans.iter().map(|span| Span {
                    samples: span.clone(),
                    end: span.end,
                    piece,
                }));
                piece += 1;
            }
            spans.push(set_spans);
        }
        Ok(Self {
            reader,
            sets: spans,
            means,
        })
    }

    /// Returns the number of coordinates.
    pub fn dimension(&self) -> usize {
        self.reader.dimension()
    }

    /// Returns the total number of samples of all sets.
    pub fn samples(&self) -> usize {
        count_samples(self.sets.iter().flatten())
    }

    /// Divides the spans of each set into `count` consecutive blocks of nearly equal length.
    pub fn blocks(&self, count: usize) -> Vec<Vec<Vec<Span>>> {
        self.sets.iter().map(|set| blocks(set, count)).collect()
    }

    /// Returns the number of samples per read.
    pub fn samples_per_span(&self) -> usize {
        samples_per_span(self.reader.recording.channels())
    }

    /// Returns all spans, split to the number of samples per read.
    fn parts(&self) -> impl Iterator<Item = Span> {
        parts(self.sets.iter().flatten(), self.samples_per_span())
    }

    /// Reads the samples of a span, one row per coordinate.
    pub fn read<'b>(&self, span: &Span, buffers: &'b mut Buffers) -> Result<&'b mut [f64], Error> {
        let means = self.means.get(span.piece).map(Vec::as_slice);
        self.reader.read_span(&span.samples, means, buffers)
    }

    /// Returns the covariance Σ x_t x_tᵀ over all sets, divided by the number of samples.
    pub fn covariance(&self, n_jobs: Option<usize>) -> Result<Matrix, Error> {
        let (p, samples) = (self.dimension(), self.samples());
        let workers = Workers::for_work(n_jobs, samples.saturating_mul(p * p / 2));
        let parts: Vec<Span> = self.parts().collect();
        sum_symmetric(&parts, p, &workers, |part, buffers, sum| {
            let (x, length) = (self.read(part, buffers)?, part.samples.len());
            linalg::add_gram(sum, p, 1.0 / samples as f64, x, length, length);
            Ok(())
        })
    }

    /// Returns the diagonal of the covariance.
    pub fn powers(&self) -> Result<Vec<f64>, Error> {
        let mut powers = vec![0.0; self.dimension()];
        let (mut buffers, factor) = (Buffers::default(), 1.0 / self.samples() as f64);
        for part in self.parts() {
            let x = self.read(&part, &mut buffers)?;
            add_powers(&mut powers, factor, x, part.samples.len());
        }
        Ok(powers)
    }
}

/// Divides spans into consecutive blocks of nearly equal length.
fn blocks(spans: &[Span], count: usize) -> Vec<Vec<Span>> {
    let total = count_samples(spans);
    let count = count.clamp(1, total.max(1));
    let mut blocks = vec![Vec::new(); count];
    let mut before = 0;
    for span in spans {
        let (start, length) = (span.samples.start, span.samples.len());
        let position = |boundary: usize| start + boundary.clamp(before, before + length) - before;
        for (k, block) in blocks.iter_mut().enumerate() {
            let samples = position(k * total / count)..position((k + 1) * total / count);
            if !samples.is_empty() {
                block.push(span.with(samples));
            }
        }
        before += length;
    }
    blocks
}
