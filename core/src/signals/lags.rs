//! Lagged covariances: how a recording goes together with itself some samples later.

use super::centered::{Centered, Span, parts};
use super::covariance::epoch_pieces;
use super::reader::{Buffers, Coordinates, Reader};
use super::{CovarianceOptions, Covariances, Cut, Epochs, Piece, Recording, Segments};
use crate::error::{Expected, MemoryRemedy, Setting};
use crate::linalg;
use crate::setters::setters;
use crate::threads::Workers;
use crate::{Error, Memory};

/// The lags of lagged covariances, and the segments in which they are taken: one, the whole recording,
/// unless said otherwise.
///
/// ```
/// use codiag::signals::{Cut, Lags, Segments};
/// let lags = Lags::new(1..=100);
/// assert_eq!(lags.lags.len(), 100);
/// // One set for each of ten segments, and nothing of the first second.
/// let segments = Segments::default().cut(Cut::Count(10)).exclude(vec![0..600]);
/// assert_eq!(lags.segments(segments).segments.cut, Cut::Count(10));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Lags {
    /// In samples; each gives one matrix per segment.
    pub lags: Vec<usize>,
    /// Products are taken within a segment only. What is excluded belongs to none of them.
    pub segments: Segments,
    /// Whether a [`Separation`](super::Separation) by them is to be a rotation of the whitened recording, so
    /// that sources have no correlation, whatever the lagged covariances say. Otherwise a fit A Λ Aᵀ to
    /// them finds the sources ([`LeastSquares`](crate::Criterion::LeastSquares)), and correlation counts
    /// as much as lag 0 does among the lags.
    pub orthogonal: bool,
}

setters!(Lags {
    segments: Segments,
    orthogonal: bool,
});

impl Lags {
    /// These lags, over the whole recording.
    pub fn new(lags: impl IntoIterator<Item = usize>) -> Self {
        Self {
            lags: lags.into_iter().collect(),
            segments: Segments::default().cut(Cut::Count(1)),
            orthogonal: true,
        }
    }
}

/// The lagged covariances of each segment: (R_τ + R_τᵀ) / 2 with R_τ = Σ_t x_{t+τ} x_tᵀ, divided by the
/// number of products. No product reaches across the border of a segment, or over samples that are
/// excluded. The matrices of a segment come one after the other, in the order of the lags.
///
/// They need not be positive definite: their criterion is [`Frobenius`](crate::Criterion::Frobenius).
/// The shrinkage of the options must be none.
///
/// ```
/// use codiag::signals::{CovarianceOptions, Lags, View, lagged_covariances};
///
/// let data = [1.0, 2.0, -1.0, -2.0]; // one channel
/// let recording = View::new(&data, 1, 4)?;
/// let lags = Lags::new([0, 1, 2]);
/// let found = lagged_covariances(&recording, &lags, &CovarianceOptions::default())?;
/// assert_eq!(found.data, [10.0 / 4.0, 2.0 / 3.0, -5.0 / 2.0]);
/// # Ok::<(), codiag::Error>(())
/// ```
///
/// # Errors
/// If there are no lags, one is longer than all spans of a segment, a sample is not finite, or an
/// option is out of its range.
pub fn lagged_covariances(
    recording: &dyn Recording,
    lags: &Lags,
    options: &CovarianceOptions,
) -> Result<Covariances, Error> {
    let pieces = lags
        .segments
        .pieces(recording.samples(), recording.channels())?;
    let sets: Vec<Vec<Piece>> = pieces.into_iter().map(|piece| vec![piece]).collect();
    of_sets(recording, &sets, &lags.lags, options)
}

/// The lagged covariances of all epochs together or, with labels (numbers from 0 on), of each class:
/// products are taken within epochs, each of which is centred by itself.
///
/// ```
/// use codiag::signals::{CovarianceOptions, Epochs, epoch_lagged_covariances, simulate};
///
/// let made = simulate::nonstationary(2, 6, 50, 0);
/// // The recording as 6 epochs of 2 channels and 50 samples, without a copy.
/// let epochs = Epochs::with_strides(&made.data, [6, 2, 50], [50, 300, 1])?;
/// let options = CovarianceOptions::default();
/// assert_eq!(epoch_lagged_covariances(&epochs, None, &[1, 2, 3], &options)?.n, 3);
/// let labels = [0, 1, 0, 1, 1, 0];
/// assert_eq!(epoch_lagged_covariances(&epochs, Some(&labels), &[1, 2, 3], &options)?.n, 6);
/// # Ok::<(), codiag::Error>(())
/// ```
///
/// # Errors
/// As for [`lagged_covariances`], or if there is not one label per epoch.
pub fn epoch_lagged_covariances(
    epochs: &Epochs<'_>,
    labels: Option<&[usize]>,
    lags: &[usize],
    options: &CovarianceOptions,
) -> Result<Covariances, Error> {
    of_sets(epochs, &epoch_sets(epochs, labels)?, lags, options)
}

/// The epochs of each class, or all of them.
pub(super) fn epoch_sets(
    epochs: &Epochs<'_>,
    labels: Option<&[usize]>,
) -> Result<Vec<Vec<Piece>>, Error> {
    let (sets, _) = epoch_pieces(epochs, labels)?;
    Ok(match labels {
        Some(_) => sets,
        None => vec![sets.into_iter().flatten().collect()],
    })
}

fn of_sets(
    recording: &dyn Recording,
    sets: &[Vec<Piece>],
    lags: &[usize],
    options: &CovarianceOptions,
) -> Result<Covariances, Error> {
    options.shrinkage.refuse()?;
    let reader = Reader {
        recording,
        coordinates: Coordinates::Channels,
        center: options.center,
    };
    let mut centered = Centered::new(reader, sets)?;
    let powers = || centered.powers();
    if let Some(factors) = options.scale.factors(recording.channels(), powers)? {
        centered.reader.coordinates = Coordinates::Scaled(factors);
    }
    lagged(&centered, lags, options.threads)
}

/// The lagged covariances of every set of pieces, in the reader's coordinates.
pub(super) fn lagged(
    centered: &Centered<'_>,
    lags: &[usize],
    threads: Option<usize>,
) -> Result<Covariances, Error> {
    let p = centered.dimension();
    let Some(largest) = lags.iter().copied().max() else {
        return Err(refused("at least one", "none".to_owned()));
    };
    let sets = centered.sets();
    let products = |spans: &[Span], lag: usize| -> usize {
        let lengths = spans.iter().map(|span| span.samples.len());
        lengths.map(|length| length.saturating_sub(lag)).sum()
    };
    // Known before anything is allocated.
    if let Some(short) = sets.iter().find(|spans| products(spans, largest) == 0) {
        let longest = short.iter().map(|span| span.samples.len()).max();
        let value = format!(
            "{largest} for {} samples without a gap",
            longest.unwrap_or(0)
        );
        return Err(refused(
            "shorter than the recording and its segments",
            value,
        ));
    }
    check_memory(centered, lags.len(), largest)?;
    let n = sets.len() * lags.len();
    let mut data = vec![0.0; n * p * p];
    for (spans, sums) in sets.iter().zip(data.chunks_exact_mut(lags.len() * p * p)) {
        add_products(centered, spans, lags, largest, threads, sums)?;
        for (sums, lag) in sums.chunks_exact_mut(p * p).zip(lags) {
            symmetrize(sums, p, 1.0 / products(spans, *lag) as f64);
        }
    }
    Ok(Covariances {
        data,
        n,
        p,
        shrinkages: vec![0.0; n],
    })
}

/// Fails if the matrices of that number of lags, and the samples that are read at once for them, do not fit into memory.
fn check_memory(centered: &Centered<'_>, lags: usize, largest: usize) -> Result<(), Error> {
    let (p, sets) = (centered.dimension(), centered.sets().len());
    let at_once = centered.samples().min(at_once(centered, largest));
    let samples = Memory::of_numbers(&[2, p, at_once.saturating_add(largest)]);
    let memory = |lags: usize| samples.plus(Memory::of_numbers(&[sets, lags, p, p]));
    memory(lags).check(
        || format!("a set of {} lagged covariances of {p} x {p}", sets * lags),
        |available| MemoryRemedy::largest(Setting::Lags, lags, available, memory),
    )
}

/// How many samples are read at once: what is read twice, because it is in the reach of the span before, is a small
/// part.
fn at_once(centered: &Centered<'_>, largest: usize) -> usize {
    centered.convenient_length().max(largest.saturating_mul(4))
}

fn refused(expected: &'static str, value: String) -> Error {
    Error::setting(Setting::Lags, Expected::Words(expected), value)
}

/// Adds Σ_t x_{t+τ} x_tᵀ for all lags, one after the other.
pub(super) fn add_products(
    centered: &Centered<'_>,
    spans: &[Span],
    lags: &[usize],
    largest: usize,
    threads: Option<usize>,
    sums: &mut [f64],
) -> Result<(), Error> {
    // Rows of a product, and the samples that are multiplied at once: both factors stay in the caches.
    const ROWS: usize = 128;
    const TILE: usize = 512;
    let p = centered.dimension();
    let most = at_once(centered, largest);
    let mut buffers = Buffers::default();
    let mut padded = Vec::new();
    for part in parts(spans.iter(), most) {
        let (length, width) = (part.samples.len(), part.samples.len() + largest);
        let reach = part.reaching(largest);
        let x = centered.read(&reach, &mut buffers)?;
        // Beyond the end are zeros, so that all lags have products of the same length.
        padded.clear();
        padded.resize(p * width, 0.0);
        let rows = padded.chunks_exact_mut(width);
        for (out, row) in rows.zip(x.chunks_exact(reach.samples.len())) {
            out[..row.len()].copy_from_slice(row);
        }
        let work = (p * p).saturating_mul(lags.len() * length);
        let workers = Workers::for_work(threads, work);
        // A row is the sum of one channel, some samples later, with all channels.
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
