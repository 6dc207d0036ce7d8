//! The sources of a recording: diagnostics, and application of filters and patterns span by span.

use super::reader::samples_per_span;
use super::{Recording, Spans, invalid};
use crate::error::Setting;
use crate::linalg::{self, Matrix};
use crate::threads::Workers;
use crate::{Diagonalization, Error};

/// The source from which another one is least separable, see [`SeparationResult::rivals`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct SeparabilityMargin {
    /// The other source.
    pub partner: usize,
    /// Zero if the two cannot be separated. For segments and bands Γ_ab Γ_ba − 1, which is zero if
    /// their powers are proportional; for lags and cumulants Σ_i (Dⁱ_aa − Dⁱ_bb)², which is zero if
    /// their autocorrelations are equal, or both are Gaussian.
    pub margin: f64,
}

/// The sources of a recording: filters B, patterns A, and how separable they are.
///
/// They are sorted in descending order of how much their powers vary (segments, bands), of their
/// summed squared autocorrelations or the single autocorrelation (lags), or of their kurtosis
/// (cumulants).
///
/// ```
/// use codiag::signals::{Separation, RecordingView, simulate};
///
/// let made = simulate::nonstationary(3, 100, 100, 0);
/// let recording = RecordingView::new(&made.data, 3, 10_000)?;
/// let found = Separation::default().fit(&recording)?;
/// assert_eq!((found.components(), found.channels()), (3, 3));
/// assert!(found.least_separable[0].is_some_and(|rival| rival.source != 0 && rival.margin > 0.0));
/// assert_eq!(found.sources(&recording)?.columns(), 10_000);
/// // The recording without its first source, span by span.
/// let mut samples = 0;
/// found.remove_with(&recording, &[0], &mut |first, rows| {
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
    /// The result of the solver. Its `powers` are those of each source in each segment or band
    /// (segment after segment, if there are both), or its autocorrelations, one row per lag,
    /// segment after segment; its `b` and `a` are the filters and patterns in the recording's
    /// units.
    pub diagonalization: Diagonalization,
    /// The fraction of the recording's variance due to each source, in the units of
    /// [`Scale`](super::Scale). They need not sum to 1, since patterns need not be orthogonal.
    pub explained_variance_ratio: Vec<f64>,
    /// Variation of the power of each source over the segments or bands: standard deviation divided
    /// by mean. Segments of L independent Gaussian samples of constant variance have √(2/L). Empty
    /// for lags and cumulants.
    pub nonstationarity: Vec<f64>,
    /// The excess kurtosis E\[s⁴\] − 3 of each source of unit variance: 0 for a Gaussian one. Empty
    /// except for cumulants.
    pub kurtosis: Vec<f64>,
    /// For each source the one from which it is least separable; None if there is only one.
    pub least_separable: Vec<Option<SeparabilityMargin>>,
    /// The fraction of the recording's variance in the separated components.
    pub explained_variance_ratio_total: f64,
    /// The factor of each channel, by [`Scale`](super::Scale), with which principal components were
    /// computed: in these units the patterns lie in the space of the filters.
    pub scale: Vec<f64>,
    /// The amount of shrinkage of each matrix, from 0 to 1. Empty for lags and cumulants.
    pub shrinkages: Vec<f64>,
    /// The samples of each segment, epoch or class; empty for bands of the whole recording.
    pub segments: Vec<Spans>,
    pub(super) n_jobs: Option<usize>,
}

impl SeparationResult {
    /// B: one filter per row, components x channels.
    pub fn filters(&self) -> &Matrix {
        &self.diagonalization.b
    }

    /// A: one pattern per column, channels x components.
    pub fn patterns(&self) -> &Matrix {
        &self.diagonalization.a
    }

    /// The number of sources.
    pub fn n_components(&self) -> usize {
        self.filters().rows()
    }

    /// The number of channels.
    pub fn n_channels(&self) -> usize {
        self.filters().columns()
    }

    /// The sources B x of this or another recording of these channels: components x samples.
    ///
    /// # Errors
    /// If the recording has other channels, or cannot be read.
    pub fn sources(&self, recording: &dyn Recording) -> Result<Matrix, Error> {
        gather(self.n_components(), recording, |sink| {
            self.sources_with(recording, sink)
        })
    }

    /// Like [`SeparationResult::sources`], span by span and in order: the sink receives the number of the
    /// first sample, and the sources as components x samples of the span.
    ///
    /// # Errors
    /// Those of [`SeparationResult::sources`] and of the sink.
    pub fn sources_with(
        &self,
        recording: &dyn Recording,
        sink: SampleSink<'_>,
    ) -> Result<(), Error> {
        apply(self.filters(), recording, self.n_jobs, sink)
    }

    /// The recording without the excluded sources, x − A_e B_e x: channels x samples. Signals
    /// outside the components remain.
    ///
    /// # Errors
    /// If there is no such source, the recording has other channels, or cannot be read.
    pub fn remove(&self, recording: &dyn Recording, exclude: &[usize]) -> Result<Matrix, Error> {
        gather(self.n_channels(), recording, |sink| {
            self.remove_with(recording, exclude, sink)
        })
    }

    /// Like [`SeparationResult::remove`], span by span.
    ///
    /// # Errors
    /// Those of [`SeparationResult::remove`] and of the sink.
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

/// A function that receives the number of a span's first sample, and the span: one row per source
/// or channel. See [`apply`] for an example.
pub type SampleSink<'a> = &'a mut dyn FnMut(usize, &Matrix) -> Result<(), Error>;

/// Passes M x to the sink, span by span and in order, for a matrix M of one column per channel. If
/// its rows are filters, M x are sources.
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

/// Passes x − A_e B_e x to the sink, span by span and in order, for the excluded sources of filters
/// B and patterns A.
///
/// # Errors
/// If there is no such source, the recording has not one channel per column of B or cannot be read,
/// or the sink fails.
pub fn remove(
    filters: &Matrix,
    patterns: &Matrix,
    exclude: &[usize],
    recording: &dyn Recording,
    n_jobs: Option<usize>,
    sink: SampleSink<'_>,
) -> Result<(), Error> {
    let (r, p) = (filters.rows(), filters.columns());
    if let Some(beyond) = exclude.iter().find(|e| **e >= r) {
        let value = format!("{beyond} of {r} sources");
        return Err(invalid(
            Setting::BadSpans,
            "numbers of sources, counted from 0",
            value,
        ));
    }
    let mut chosen = exclude.to_vec();
    chosen.sort_unstable();
    chosen.dedup();
    let filters = Matrix::from_fn(chosen.len(), p, |e, c| filters[(chosen[e], c)]);
    let negated = Matrix::from_fn(p, chosen.len(), |c, e| -patterns[(c, chosen[e])]);
    let compute = |x: Vec<f64>, length: usize| {
        let mut sources = vec![0.0; chosen.len() * length];
        linalg::product_into(&filters, &x, length, &mut sources);
        let mut rest = Matrix::from_rows(p, length, x);
        linalg::add_product(&negated, &sources, length, rest.as_mut_slice());
        rest
    };
    stream(p, 2 * p * chosen.len(), recording, n_jobs, sink, compute)
}

/// Passes the output of `compute` for each span to the sink, in order.
fn stream(
    channels: usize,
    multiply_adds: usize,
    recording: &dyn Recording,
    n_jobs: Option<usize>,
    sink: SampleSink<'_>,
    compute: impl Fn(Vec<f64>, usize) -> Matrix + Sync + Send,
) -> Result<(), Error> {
    // Number of spans computed at once, and of their results in memory.
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

/// Collects the spans that a sink receives.
fn gather(
    rows: usize,
    recording: &dyn Recording,
    compute: impl FnOnce(SampleSink<'_>) -> Result<(), Error>,
) -> Result<Matrix, Error> {
    let mut out = Matrix::zeros(rows, recording.samples());
    compute(&mut |start, some| {
        for a in 0..rows {
            out.row_mut(a)[start..start + some.columns()].copy_from_slice(some.row(a));
        }
        Ok(())
    })?;
    Ok(out)
}
