//! Lagged covariance matrices.

use super::covariance::{epoch_sets, one_matrix_per_piece};
use super::reader::{Buffers, CenteredRecording, Coordinates, Reader, Span, parts};
use super::{
    CovarianceOptions, Covariances, Epochs, Recording, SegmentLength, Segments, Spans, invalid,
};
use crate::error::{MemoryRemedy, Setting};
use crate::linalg;
use crate::setters::setters;
use crate::threads::Workers;
use crate::{Error, Memory};

/// Options of lagged covariances: lags and segments.
///
/// ```
/// use codiag::signals::{SegmentLength, Lags, Segments};
/// let lags = Lags::new(1..=100);
/// assert_eq!(lags.lags.len(), 100);
/// // One set of lagged covariances per segment.
/// let segments = Segments::default().length(SegmentLength::Count(10)).bad_spans(vec![0..600]);
/// assert_eq!(lags.segments(segments).segments.length, SegmentLength::Count(10));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Lags {
    /// Lags in samples. One matrix is estimated per segment and lag.
    pub lags: Vec<usize>,
    /// Segments and bad spans (default: the whole recording). Products of samples do not cross
    /// their boundaries.
    pub segments: Segments,
    /// Whether a [`Separation`](super::Separation) is a rotation of the whitened recording, so that
    /// sources are uncorrelated (default true). Otherwise, sources are found by a least-squares fit
    /// A Λ Aᵀ to the lagged covariances ([`LeastSquares`](crate::Criterion::LeastSquares)), and may
    /// be correlated.
    pub orthogonal: bool,
}

setters!(Lags {
    segments: Segments,
    orthogonal: bool,
});

impl Lags {
    /// Lags of the whole recording.
    pub fn new(lags: impl IntoIterator<Item = usize>) -> Self {
        Self {
            lags: lags.into_iter().collect(),
            segments: Segments::default().length(SegmentLength::Count(1)),
            orthogonal: true,
        }
    }
}

/// Estimates the lagged covariances of each segment: (R_τ + R_τᵀ) / 2 with R_τ = Σ_t x_{t+τ} x_tᵀ,
/// divided by the number of products. Products do not cross the boundaries of segments and bad
/// spans. The matrices are sorted by segment, then in the order of the lags.
///
/// They need not be positive definite. Diagonalize them by the criterion
/// [`Frobenius`](crate::Criterion::Frobenius). Shrinkage is not supported.
///
/// ```
/// use codiag::signals::{CovarianceOptions, Lags, RecordingView, lagged_covariances};
///
/// let data = [1.0, 2.0, -1.0, -2.0]; // one channel
/// let recording = RecordingView::new(&data, 1, 4)?;
/// let lags = Lags::new([0, 1, 2]);
/// let covariances = lagged_covariances(&recording, &lags, &CovarianceOptions::default())?;
/// assert_eq!(covariances.data, [10.0 / 4.0, 2.0 / 3.0, -5.0 / 2.0]);
/// # Ok::<(), codiag::Error>(())
/// ```
///
/// # Errors
/// If there are no lags, a lag is longer than all spans of a segment, a sample is not finite, or an
/// option is out of range.
pub fn lagged_covariances(
    recording: &dyn Recording,
    lags: &Lags,
    options: &CovarianceOptions,
) -> Result<Covariances, Error> {
    let segments = &lags.segments;
    let pieces = segments.spans(recording.samples(), recording.channels())?;
    estimate(
        recording,
        &one_matrix_per_piece(pieces),
        &lags.lags,
        options,
    )
}

/// Estimates the lagged covariances of all epochs together or, if labels (class numbers from 0 on)
/// are given, of each class. Products do not cross the boundaries of epochs. Every epoch is
/// centered by its own mean.
///
/// # Errors
/// The errors of [`lagged_covariances`], or if the number of labels differs from the number of
/// epochs.
pub fn epoch_lagged_covariances(
    epochs: &Epochs<'_>,
    labels: Option<&[usize]>,
    lags: &[usize],
    options: &CovarianceOptions,
) -> Result<Covariances, Error> {
    estimate(epochs, &epoch_sets(epochs, labels)?, lags, options)
}

fn estimate(
    recording: &dyn Recording,
    sets: &[Vec<Spans>],
    lags: &[usize],
    options: &CovarianceOptions,
) -> Result<Covariances, Error> {
    options.shrinkage.check_none()?;
    let mut centered = CenteredRecording::new(Reader::new(recording, options.center), sets)?;
    let powers = || centered.powers();
    if let Some(factors) = options.scale.factors(recording.channels(), powers)? {
        centered.reader.coordinates = Coordinates::Scaled(factors);
    }
    lagged(&centered, lags, options.n_jobs)
}

/// Returns the lagged covariances of each set of pieces in the coordinates of the reader.
pub(super) fn lagged(
    centered: &CenteredRecording<'_>,
    lags: &[usize],
    n_jobs: Option<usize>,
) -> Result<Covariances, Error> {
    let p = centered.dimension();
    let Some(largest) = lags.iter().copied().max() else {
        return Err(invalid(Setting::Lags, "at least one", "none"));
    };
    let sets = &centered.sets;
    let products =
        |spans: &[Span], lag: usize| -> usize { spans.iter().map(|span| span.products(lag)).sum() };
    // This check comes before allocations.
    if let Some(short) = sets.iter().find(|spans| products(spans, largest) == 0) {
        let lengths = short.iter().map(|span| span.samples.len());
        let longest = lengths.max().unwrap_or(0);
        let value = format!("{largest} for {longest} samples without a gap");
        let expected = "shorter than the recording and its segments";
        return Err(invalid(Setting::Lags, expected, value));
    }
    check_memory(centered, lags.len(), largest)?;
    let mut data = vec![0.0; sets.len() * lags.len() * p * p];
    for (spans, sums) in sets.iter().zip(data.chunks_exact_mut(lags.len() * p * p)) {
        add_products(centered, spans, lags, largest, n_jobs, sums)?;
        for (sums, lag) in sums.chunks_exact_mut(p * p).zip(lags) {
            symmetrize(sums, p, 1.0 / products(spans, *lag) as f64);
        }
    }
    Ok(Covariances::without_shrinkage(data, p))
}

/// Fails if the matrices and the samples of one read do not fit into memory.
fn check_memory(
    centered: &CenteredRecording<'_>,
    lags: usize,
    largest: usize,
) -> Result<(), Error> {
    let (p, sets) = (centered.dimension(), centered.sets.len());
    let per_read = centered.samples().min(samples_per_read(centered, largest));
    let samples = Memory::of_numbers(&[2, p, per_read.saturating_add(largest)]);
    let memory = |lags: usize| samples.plus(Memory::of_numbers(&[sets, lags, p, p]));
    memory(lags).check(
        || format!("a set of {} lagged covariances of {p} x {p}", sets * lags),
        |available| MemoryRemedy::largest(Setting::Lags, lags, available, memory),
    )
}

/// Returns the number of samples per read. It is at least four times the largest lag, since the
/// samples up to that lag after the end are read twice.
fn samples_per_read(centered: &CenteredRecording<'_>, largest: usize) -> usize {
    centered.samples_per_span().max(largest.saturating_mul(4))
}

/// Adds Σ_t x_{t+τ} x_tᵀ to the sums of each lag τ.
pub(super) fn add_products(
    centered: &CenteredRecording<'_>,
    spans: &[Span],
    lags: &[usize],
    largest: usize,
    n_jobs: Option<usize>,
    sums: &mut [f64],
) -> Result<(), Error> {
    // Rows and samples of one product, whose factors fit into the caches.
    const ROWS: usize = 128;
    const TILE: usize = 512;
    let p = centered.dimension();
    let mut buffers = Buffers::default();
    let mut padded = Vec::new();
    for part in parts(spans.iter(), samples_per_read(centered, largest)) {
        let (length, width) = (part.samples.len(), part.samples.len() + largest);
        let extended = part.extended(largest);
        let x = centered.read(&extended, &mut buffers)?;
        // Zero padding gives the products of all lags equal lengths.
        padded.clear();
        padded.resize(p * width, 0.0);
        let rows = padded.chunks_exact_mut(width);
        for (out, row) in rows.zip(x.chunks_exact(extended.samples.len())) {
            out[..row.len()].copy_from_slice(row);
        }
        let work = (p * p).saturating_mul(lags.len() * length);
        let workers = Workers::for_work(n_jobs, work);
        // A row holds the products of one lagged channel with all channels.
        let mut jobs: Vec<(usize, &mut [f64])> = sums.chunks_mut(ROWS * p).enumerate().collect();
        workers.each(&mut jobs, |(job, sums)| {
            let rows = sums.len() / p;
            let mut later = vec![0.0; rows * TILE.min(length)];
            for from in (0..length).step_by(TILE) {
                let tile = TILE.min(length - from);
                for (k, out) in later.chunks_exact_mut(tile).take(rows).enumerate() {
                    let (lag, channel) = ((*job * ROWS + k) / p, (*job * ROWS + k) % p);
                    out.copy_from_slice(&padded[channel * width + from + lags[lag]..][..tile]);
                }
                let later = &later[..rows * tile];
                linalg::add_product_transposed(sums, rows, later, &padded[from..], width, tile);
            }
        });
    }
    Ok(())
}

/// M ← factor (M + Mᵀ) / 2.
pub(super) fn symmetrize(matrix: &mut [f64], p: usize, factor: f64) {
    for a in 0..p {
        for b in 0..=a {
            let mean = 0.5 * factor * (matrix[a * p + b] + matrix[b * p + a]);
            matrix[a * p + b] = mean;
            matrix[b * p + a] = mean;
        }
    }
}
