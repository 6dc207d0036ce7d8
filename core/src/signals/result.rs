//! The result of a separation, and the application of filters and patterns to recordings.

use super::reader::samples_per_span;
use super::{Recording, Spans, invalid};
use crate::error::Setting;
use crate::linalg::{self, Matrix};
use crate::threads::Workers;
use crate::{Diagonalization, Error};

/// The least separable partner of a source. See [`SeparationResult::least_separable`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct SeparabilityMargin {
    /// Index of the other source.
    pub partner: usize,
    /// Identifiability margin, which is zero if the two sources cannot be separated. For segments
    /// and bands it is Γ_ab Γ_ba − 1, which is zero if their powers are proportional. For lags and
    /// cumulants it is Σ_i (Dⁱ_aa − Dⁱ_bb)², which is zero if their autocorrelations are equal, or
    /// if both sources are Gaussian.
    pub margin: f64,
}

/// The result of a separation: filters B, patterns A, and diagnostics of the sources.
///
/// Sources are sorted in descending order of the variation of their powers (segments, bands), of
/// the sum of their squared autocorrelations or of the single autocorrelation (lags), or of their
/// kurtosis (cumulants).
///
/// ```
/// use codiag::signals::{Separation, RecordingView, simulate};
///
/// let simulated = simulate::nonstationary(3, 100, 100, 0);
/// let recording = RecordingView::new(&simulated.data, 3, 10_000)?;
/// let result = Separation::default().fit(&recording)?;
/// assert_eq!((result.n_components(), result.n_channels()), (3, 3));
/// let least_separable = result.least_separable[0].expect("there are other sources");
/// assert!(least_separable.partner != 0 && least_separable.margin > 0.0);
/// assert_eq!(result.sources(&recording)?.columns(), 10_000);
/// // The recording without its first source, span by span.
/// let mut samples = 0;
/// result.remove_with(&recording, &[0], &mut |first, rows| {
///     assert_eq!(first, samples);
///     samples += rows.columns();
///     Ok(())
/// })?;
/// assert_eq!(samples, 10_000);
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SeparationResult {
    /// The result of the solver. `b` and `a` are the filters and patterns in the units of the
    /// recording. `powers` are the powers of each source in each segment or band (sorted by
    /// segment, then by band), or its autocorrelations (sorted by segment, then by lag).
    pub diagonalization: Diagonalization,
    /// Fraction of the variance of the recording that is explained by each source, in the units of
    /// [`Scale`](super::Scale). The fractions need not sum to 1, since patterns need not be
    /// orthogonal.
    pub explained_variance_ratio: Vec<f64>,
    /// Variation of the power of each source over the segments or bands: standard deviation divided
    /// by mean. For segments of L independent Gaussian samples of constant variance it is about
    /// √(2/L). Empty for lags and cumulants.
    pub nonstationarity: Vec<f64>,
    /// Excess kurtosis E\[s⁴\] − 3 of each source at unit variance, which is 0 for a Gaussian
    /// source. Only computed for cumulants, otherwise empty.
    pub kurtosis: Vec<f64>,
    /// The least separable partner of each source; None if there is only one source.
    pub least_separable: Vec<Option<SeparabilityMargin>>,
    /// Fraction of the variance of the recording in the space of the components.
    pub explained_variance_ratio_total: f64,
    /// Scale factor of each channel by [`Scale`](super::Scale). In the scaled units, the patterns
    /// span the same subspace as the filters.
    pub scale: Vec<f64>,
    /// Amount of shrinkage of each matrix, from 0 to 1. Empty for lags and cumulants.
    pub shrinkages: Vec<f64>,
    /// Samples of each segment, epoch or class. Empty for bands of the whole recording.
    pub segments: Vec<Spans>,
    pub(super) n_jobs: Option<usize>,
}

impl SeparationResult {
    /// Returns the filters B, components x channels, one filter per row.
    pub fn filters(&self) -> &Matrix {
        &self.diagonalization.b
    }

    /// Returns the patterns A, channels x components, one pattern per column.
    pub fn patterns(&self) -> &Matrix {
        &self.diagonalization.a
    }

    /// Returns the number of sources.
    pub fn n_components(&self) -> usize {
        self.filters().rows()
    }

    /// Returns the number of channels.
    pub fn n_channels(&self) -> usize {
        self.filters().columns()
    }

    /// Computes the sources B x of a recording with the same channels: components x samples.
    ///
    /// # Errors
    /// If the recording has another number of channels, or cannot be read.
    pub fn sources(&self, recording: &dyn Recording) -> Result<Matrix, Error> {
        gather(self.n_components(), recording, |sink| {
            self.sources_with(recording, sink)
        })
    }

    /// Computes the sources B x of a recording span by span, in order. The sink receives the index
    /// of the first sample of each span, and its sources as components x samples.
    ///
    /// # Errors
    /// The errors of [`SeparationResult::sources`] and of the sink.
    pub fn sources_with(
        &self,
        recording: &dyn Recording,
        sink: SampleSink<'_>,
    ) -> Result<(), Error> {
        apply(self.filters(), recording, self.n_jobs, sink)
    }

    /// Removes the excluded sources from a recording: x − A_e B_e x, channels x samples. Signals
    /// outside of the components are kept.
    ///
    /// # Errors
    /// If a source does not exist, the recording has another number of channels, or cannot be read.
    pub fn remove(&self, recording: &dyn Recording, exclude: &[usize]) -> Result<Matrix, Error> {
        gather(self.n_channels(), recording, |sink| {
            self.remove_with(recording, exclude, sink)
        })
    }

    /// Removes the excluded sources from a recording span by span, in order. The sink receives the
    /// index of the first sample of each span, and the cleaned channels x samples.
    ///
    /// # Errors
    /// The errors of [`SeparationResult::remove`] and of the sink.
    pub fn remove_with(
        &self,
        recording: &dyn Recording,
        exclude: &[usize],
        sink: SampleSink<'_>,
    ) -> Result<(), Error> {
        let (filters, patterns) = (self.filters(), self.patterns());
        remove(filters, patterns, exclude, recording, self.n_jobs, sink)
    }
}

/// A function that receives the index of the first sample of a span, and the span with one row per
/// source or channel. See [`apply`] for an example.
pub type SampleSink<'a> = &'a mut dyn FnMut(usize, &Matrix) -> Result<(), Error>;

/// Computes M x of a recording x, for a matrix M with one column per channel, and passes it to the
/// sink span by span and in order. If the rows of M are filters, M x are sources.
///
/// ```
/// use codiag::Matrix;
/// use codiag::signals::{RecordingView, apply};
///
/// let data = [1.0, 2.0, 3.0, 4.0]; // two channels of two samples
/// let recording = RecordingView::new(&data, 2, 2)?;
/// let difference = Matrix::from_rows(1, 2, vec![1.0, -1.0]);
/// apply(&difference, &recording, None, &mut |first, rows| {
///     assert_eq!((first, rows.row(0)), (0, &[-2.0, -2.0][..]));
///     Ok(())
/// })?;
/// # Ok::<(), codiag::Error>(())
/// ```
///
/// # Errors
/// If the recording has another number of channels or cannot be read, or the sink fails.
pub fn apply(
    matrix: &Matrix,
    recording: &dyn Recording,
    n_jobs: Option<usize>,
    sink: SampleSink<'_>,
) -> Result<(), Error> {
    let work = matrix.rows() * matrix.columns();
    let compute = |x: Vec<f64>, length: usize| {
        let mut image = Matrix::zeros(matrix.rows(), length);
        linalg::product_into(matrix, &x, length, image.as_mut_slice());
        image
    };
    stream(matrix.columns(), work, recording, n_jobs, sink, compute)
}

/// Removes the excluded sources of filters B and patterns A from a recording x. Passes x − A_e B_e
/// x to the sink span by span and in order.
///
/// # Errors
/// If a source does not exist, the number of channels differs from the number of columns of B, the
/// recording cannot be read, or the sink fails.
pub fn remove(
    filters: &Matrix,
    patterns: &Matrix,
    exclude: &[usize],
    recording: &dyn Recording,
    n_jobs: Option<usize>,
    sink: SampleSink<'_>,
) -> Result<(), Error> {
    let (r, p) = (filters.rows(), filters.columns());
    if let Some(out_of_range) = exclude.iter().find(|e| **e >= r) {
        let value = format!("{out_of_range} for {r} sources");
        let expected = "indices of sources, counted from 0";
        return Err(invalid(Setting::Exclude, expected, value));
    }
    let mut excluded = exclude.to_vec();
    excluded.sort_unstable();
    excluded.dedup();
    let filters = Matrix::from_fn(excluded.len(), p, |e, c| filters[(excluded[e], c)]);
    let negated = Matrix::from_fn(p, excluded.len(), |c, e| -patterns[(c, excluded[e])]);
    let compute = |x: Vec<f64>, length: usize| {
        let mut sources = vec![0.0; excluded.len() * length];
        linalg::product_into(&filters, &x, length, &mut sources);
        let mut cleaned = Matrix::from_rows(p, length, x);
        linalg::add_product(&negated, &sources, length, cleaned.as_mut_slice());
        cleaned
    };
    stream(p, 2 * p * excluded.len(), recording, n_jobs, sink, compute)
}

/// Computes spans in parallel, and passes them to the sink in order.
fn stream(
    channels: usize,
    multiply_adds: usize,
    recording: &dyn Recording,
    n_jobs: Option<usize>,
    sink: SampleSink<'_>,
    compute: impl Fn(Vec<f64>, usize) -> Matrix + Sync + Send,
) -> Result<(), Error> {
    // Number of spans that are computed in parallel and held in memory.
    const BATCH: usize = 8;
    let (p, samples) = (recording.channels(), recording.samples());
    if p != channels {
        return Err(Error::Channels {
            expected: channels,
            actual: p,
        });
    }
    let workers = Workers::for_work(n_jobs, samples.saturating_mul(multiply_adds));
    let step = samples_per_span(p);
    let starts: Vec<usize> = (0..samples).step_by(step).collect();
    for batch in starts.chunks(BATCH) {
        let results = workers.map(batch, |_, &start| -> Result<Matrix, Error> {
            let length = step.min(samples - start);
            let mut x = vec![0.0; p * length];
            recording.read(start..start + length, &mut x)?;
            Ok(compute(x, length))
        });
        for (start, rows) in batch.iter().zip(results) {
            sink(*start, &rows?)?;
        }
    }
    Ok(())
}

/// Collects the spans passed to a sink in one matrix.
fn gather(
    rows: usize,
    recording: &dyn Recording,
    compute: impl FnOnce(SampleSink<'_>) -> Result<(), Error>,
) -> Result<Matrix, Error> {
    let mut out = Matrix::zeros(rows, recording.samples());
    compute(&mut |start, span| {
        for a in 0..rows {
            out.row_mut(a)[start..start + span.columns()].copy_from_slice(span.row(a));
        }
        Ok(())
    })?;
    Ok(out)
}
