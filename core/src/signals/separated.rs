//! The sources of a recording, and what is known about them.

use super::separation::Basis;
use super::streaming::{Sink, apply, gather, remove};
use super::{Piece, Recording};
use crate::linalg::{self, Matrix};
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
    /// Γ_ab Γ_ba − 1: zero if the powers of the two are proportional, when any mixture of them
    /// serves as well.
    pub margin: f64,
}

/// A recording's sources: filters B, patterns A, and how well they are told apart.
///
/// Sources are in the order of the solver: those first whose powers vary most.
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
    /// The solver's answer. Its `powers` are those of each source in each segment or band, its
    /// `b` and `a` the filters and patterns in the recording's units.
    pub diagonalization: Diagonalization,
    /// Each source's share of the variance of the recording, in the units of
    /// [`Scale`](super::Scale). They need not sum to 1: patterns need not be orthogonal.
    pub variance_shares: Vec<f64>,
    /// How much the power of each source varies over the segments or bands: its standard
    /// deviation, divided by its mean. Segments of L independent Gaussian samples of constant
    /// variance show √(2/L) by chance.
    pub nonstationarity: Vec<f64>,
    /// For each source the one that is hardest to tell from it; None if there is only one.
    pub rivals: Vec<Option<Rival>>,
    /// The share of the recording's variance that the components separated have.
    pub kept_variance: f64,
    /// The amount of shrinkage of each matrix, from 0 to 1.
    pub shrinkages: Vec<f64>,
    /// The samples of each segment, epoch or class; empty for bands.
    pub segments: Vec<Piece>,
    threads: Option<usize>,
}

impl Separated {
    pub(super) fn new(
        diagonalization: Diagonalization,
        basis: &Basis,
        shrinkages: Vec<f64>,
        segments: Vec<Piece>,
        threads: Option<usize>,
    ) -> Self {
        let powers = &diagonalization.powers;
        Self {
            variance_shares: variance_shares(&diagonalization, basis),
            nonstationarity: nonstationarity(powers),
            rivals: rivals(powers),
            kept_variance: basis.kept_variance,
            shrinkages,
            segments,
            diagonalization,
            threads,
        }
    }

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

/// ‖S a‖² times the source's mean power, as a share of tr(S C S), for the factors S of the channels.
fn variance_shares(answer: &Diagonalization, basis: &Basis) -> Vec<f64> {
    let factor = |c: usize| basis.scale.as_ref().map_or(1.0, |s| s[c]);
    let p = basis.mean.rows();
    let total: f64 = (0..p).map(|c| basis.mean[(c, c)] * factor(c).powi(2)).sum();
    let means = mean_powers(&answer.powers);
    (0..answer.b.rows())
        .map(|k| {
            let square: f64 = (0..p).map(|c| (answer.a[(c, k)] * factor(c)).powi(2)).sum();
            square * means[k] / total
        })
        .collect()
}

fn mean_powers(powers: &Matrix) -> Vec<f64> {
    let n = powers.rows() as f64;
    (0..powers.columns())
        .map(|k| (0..powers.rows()).map(|i| powers[(i, k)] / n).sum())
        .collect()
}

fn nonstationarity(powers: &Matrix) -> Vec<f64> {
    let n = powers.rows() as f64;
    let means = mean_powers(powers);
    let variance = |k: usize| -> f64 {
        let deviation = |i: usize| powers[(i, k)] / means[k] - 1.0;
        (0..powers.rows()).map(|i| deviation(i).powi(2) / n).sum()
    };
    (0..powers.columns()).map(|k| variance(k).sqrt()).collect()
}

/// The rivals by Γ_ab = Σ_i Dⁱ_bb / Dⁱ_aa / n.
fn rivals(powers: &Matrix) -> Vec<Option<Rival>> {
    let (n, r) = (powers.rows(), powers.columns());
    let inverse = Matrix::from_fn(r, n, |a, i| 1.0 / (powers[(i, a)] * n as f64));
    let gamma = linalg::product(&inverse, powers);
    (0..r)
        .map(|a| {
            (0..r)
                .filter(|&b| b != a)
                .map(|b| Rival {
                    source: b,
                    margin: gamma[(a, b)] * gamma[(b, a)] - 1.0,
                })
                .min_by(|x, y| x.margin.total_cmp(&y.margin))
        })
        .collect()
}
