//! The sources of a recording, and what is known about them.

use super::streaming::{Sink, apply, gather, remove};
use super::{Piece, Recording};
use crate::linalg::Matrix;
use crate::{Diagonalization, Error};

/// The source that is hardest to tell from another.
///
/// ```
/// use codiag::signals::{Separation, View, simulate};
///
/// let made = simulate::nonstationary(3, 100, 100, 0);
/// let recording = View::new(&made.data, 3, 10_000)?;
/// let found = Separation::default().fit(&recording)?;
/// let rival = found.rivals[0].expect("there are two others");
/// assert!(rival.source != 0 && rival.margin > 0.0);
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Rival {
    /// The other source.
    pub source: usize,
    /// Zero if any mixture of the two serves as well. For segments and bands Γ_ab Γ_ba − 1, which is zero
    /// if their powers are proportional; for lags and cumulants Σ_i (Dⁱ_aa − Dⁱ_bb)², which is zero if
    /// they have the same autocorrelations, or both are Gaussian.
    pub margin: f64,
}

/// A recording's sources: filters B, patterns A, and how well they are told apart.
///
/// The first sources are those of which powers vary most; of which the sum of squared autocorrelations (or
/// the one autocorrelation) is largest; or of which the kurtosis is largest.
///
/// ```
/// use codiag::signals::{Separation, View, simulate};
///
/// let made = simulate::nonstationary(3, 100, 100, 0);
/// let recording = View::new(&made.data, 3, 10_000)?;
/// let found = Separation::default().fit(&recording)?;
/// assert_eq!((found.components(), found.channels()), (3, 3));
/// let sources = found.sources(&recording)?;
/// assert_eq!((sources.rows(), sources.columns()), (3, 10_000));
///
/// // The recording without its first source, a span at a time.
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
pub struct Separated {
    /// The solver's answer. Its `powers` are those of each source in each segment or band (segment after segment,
    /// if there are both), or its autocorrelations, one row per lag, segment after segment; its `b` and `a` are the filters and
    /// patterns in the recording's units.
    pub diagonalization: Diagonalization,
    /// Each source's share of the variance of the recording, in the units of
    /// [`Scale`](super::Scale). They need not sum to 1: patterns need not be orthogonal.
    pub variance_shares: Vec<f64>,
    /// How much the power of each source varies over the segments or bands: its standard
    /// deviation, divided by its mean. Segments of L independent Gaussian samples of constant
    /// variance show √(2/L) by chance. Empty for lags and cumulants.
    pub nonstationarity: Vec<f64>,
    /// The kurtosis E\[s⁴\] − 3 of each source, which is of unit variance: 0 for a Gaussian one. Empty
    /// but for cumulants.
    pub kurtosis: Vec<f64>,
    /// For each source the one that is hardest to tell from it; None if there is only one.
    pub rivals: Vec<Option<Rival>>,
    /// The share of the recording's variance that the components separated have.
    pub kept_variance: f64,
    /// The factor by which each channel was multiplied when principal components were found, as
    /// [`Scale`](super::Scale) asks: in these units the patterns lie in the space of the filters.
    pub scale: Vec<f64>,
    /// The amount of shrinkage of each matrix, from 0 to 1. Empty for lags and cumulants.
    pub shrinkages: Vec<f64>,
    /// The samples of each segment, epoch or class; empty for bands of the whole recording.
    pub segments: Vec<Piece>,
    pub(super) threads: Option<usize>,
}

impl Separated {
    /// B: one filter per row, components x channels.
    pub fn filters(&self) -> &Matrix {
        &self.diagonalization.b
    }

    /// A: one pattern per column, channels x components.
    pub fn patterns(&self) -> &Matrix {
        &self.diagonalization.a
    }

    /// The number of sources.
    pub fn components(&self) -> usize {
        self.filters().rows()
    }

    /// The number of channels.
    pub fn channels(&self) -> usize {
        self.filters().columns()
    }

    /// The sources B x of this recording or another of the same channels: components x samples.
    ///
    /// # Errors
    /// If the recording has other channels, or cannot be read.
    pub fn sources(&self, recording: &dyn Recording) -> Result<Matrix, Error> {
        gather(self.components(), recording, |sink| {
            self.sources_with(recording, sink)
        })
    }

    /// As [`Separated::sources`], a span at a time and in order: the sink gets the number of the first
    /// sample, and the sources as components x samples of the span.
    ///
    /// # Errors
    /// As for [`Separated::sources`], or what the sink returns.
    pub fn sources_with(&self, recording: &dyn Recording, sink: Sink<'_>) -> Result<(), Error> {
        apply(self.filters(), recording, self.threads, sink)
    }

    /// The recording without some sources: x − A_e B_e x for those excluded, so that what lies
    /// outside the components stays. Channels x samples.
    ///
    /// # Errors
    /// If there is no such source, the recording has other channels, or cannot be read.
    pub fn remove(&self, recording: &dyn Recording, exclude: &[usize]) -> Result<Matrix, Error> {
        gather(self.channels(), recording, |sink| {
            self.remove_with(recording, exclude, sink)
        })
    }

    /// As [`Separated::remove`], a span at a time.
    ///
    /// # Errors
    /// As for [`Separated::remove`], or what the sink returns.
    pub fn remove_with(
        &self,
        recording: &dyn Recording,
        exclude: &[usize],
        sink: Sink<'_>,
    ) -> Result<(), Error> {
        let (filters, patterns) = (self.filters(), self.patterns());
        remove(filters, patterns, exclude, recording, self.threads, sink)
    }
}
