//! From a recording to its sources.

use std::ops::{ControlFlow, Range};

use super::cospectra::Cospectra;
use super::covariance::{self, PortionOf};
use super::principal::{self, Components};
use super::segments::good_spans;
use super::sweep::{Coordinates, Sweep};
use super::{
    Bands, CovarianceOptions, Epochs, Piece, Recording, Scale, Segments, Separated, Shrinkage,
};
use crate::error::Portion;
use crate::linalg::Matrix;
use crate::report::{Observer, Record};
use crate::{Error, MatrixSet, SetOptions, Settings, diagonalize_with};

/// What tells sources apart.
#[derive(Clone, Debug, PartialEq)]
pub enum Contrast {
    /// Their powers change over time, each in its own way: covariances of segments.
    Segments(Segments),
    /// Their spectra differ: cospectra in frequency bands.
    Bands(Bands),
}

impl Default for Contrast {
    fn default() -> Self {
        Self::Segments(Segments::default())
    }
}

/// How a recording is separated into sources: x = A s + rest, s = B x.
///
/// The sources are found by joint diagonalization of covariances of segments, or of cospectra, so
/// they must differ in how their powers change over time, or in their spectra. That they are not
/// Gaussian is not used: stationary sources of the same spectrum cannot be told apart.
///
/// ```
/// use codiag::signals::{Separation, View, simulate};
/// use codiag::synthetic::amari_distance;
///
/// let made = simulate::nonstationary(5, 100, 200, 0); // 5 channels, 20,000 samples
/// let recording = View::new(&made.data, 5, 20_000)?;
/// let found = Separation::default().fit(&recording)?;
/// assert!(found.diagonalization.status.converged());
/// assert!(amari_distance(found.filters(), &made.mixing) < 0.05);
/// let sources = found.sources(&recording)?; // 5 x 20,000
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Separation {
    /// How many components are separated.
    pub components: Components,
    /// What tells them apart.
    pub contrast: Contrast,
    /// Whether the mean of every segment (or window) is taken off.
    pub center: bool,
    /// The unit in which each channel counts in principal components, shrinkage and shares of
    /// variance. Filters and patterns are in the recording's own units all the same.
    pub scale: Scale,
    /// How far each matrix is drawn towards a multiple of the identity, in the coordinates of the
    /// components.
    pub shrinkage: Shrinkage,
    /// How many threads work; as many as pay if None.
    pub threads: Option<usize>,
    /// How the matrices are diagonalized. A start that is given, such as the filters of another
    /// recording, is components x channels, in the recording's units.
    pub solver: Settings,
}

impl Default for Separation {
    fn default() -> Self {
        Self {
            components: Components::All,
            contrast: Contrast::default(),
            center: true,
            scale: Scale::Unchanged,
            shrinkage: Shrinkage::default(),
            threads: None,
            solver: Settings::default(),
        }
    }
}

impl Separation {
    /// Separates a recording.
    ///
    /// # Errors
    /// If a segment has fewer samples than there are components, a sample is not finite, or a
    /// choice is out of its range. Not converging is no error, but a
    /// [`Status`](crate::Status) of the diagonalization.
    pub fn fit(&self, recording: &dyn Recording) -> Result<Separated, Error> {
        self.fit_with(recording, &mut unobserved)
    }

    /// As [`Separation::fit`], with an observer that follows the solver and may stop it.
    ///
    /// # Errors
    /// As for [`Separation::fit`].
    pub fn fit_with(
        &self,
        recording: &dyn Recording,
        observer: &mut dyn Observer,
    ) -> Result<Separated, Error> {
        match &self.contrast {
            Contrast::Segments(segments) => {
                let pieces = segments.pieces(recording.samples())?;
                let matrices: Vec<Vec<Piece>> =
                    pieces.into_iter().map(|piece| vec![piece]).collect();
                self.fit_covariances(recording, matrices, Portion::Segment, observer)
            }
            Contrast::Bands(bands) => {
                let spans = good_spans(recording.samples(), &bands.exclude)?;
                self.fit_cospectra(recording, bands, &spans, observer)
            }
        }
    }

    /// Separates epochs: the covariances are those of single epochs or, with labels, of classes
    /// (numbers from 0 on), whatever [`Segments`] say; windows of cospectra do not cross the
    /// borders of epochs, and labels do not matter to them.
    ///
    /// # Errors
    /// As for [`Separation::fit`], or if there is not one label an epoch.
    pub fn fit_epochs(
        &self,
        epochs: &Epochs<'_>,
        labels: Option<&[usize]>,
        observer: &mut dyn Observer,
    ) -> Result<Separated, Error> {
        let (matrices, portion) = covariance::epoch_pieces(epochs, labels)?;
        match &self.contrast {
            Contrast::Segments(_) => self.fit_covariances(epochs, matrices, portion, observer),
            Contrast::Bands(bands) => {
                let each = epochs.epoch_samples();
                let spans: Vec<_> = (0..epochs.len())
                    .map(|e| e * each..(e + 1) * each)
                    .collect();
                self.fit_cospectra(epochs, bands, &spans, observer)
            }
        }
    }

    fn fit_covariances(
        &self,
        recording: &dyn Recording,
        matrices: Vec<Vec<Piece>>,
        portion: PortionOf,
        observer: &mut dyn Observer,
    ) -> Result<Separated, Error> {
        self.shrinkage.check()?;
        let threads = self.threads;
        let workers = covariance::workers(&matrices, recording.channels(), threads);
        let mut sweep = Sweep {
            recording,
            coordinates: Coordinates::Channels,
            center: self.center,
        };
        let total = covariance::mean_covariance(&sweep, &matrices, &workers)?;
        let basis = self.basis(total)?;
        sweep.coordinates = basis.coordinates();
        let dimension = sweep.dimension();
        covariance::check_samples(&matrices, portion, dimension, self.center, self.shrinkage)?;
        let options = self.set_options();
        let (set, shrinkages) =
            covariance::covariance_set(&sweep, &matrices, self.shrinkage, &workers, &options)?;
        self.solve(set, &basis, shrinkages, matrices, observer)
    }

    fn fit_cospectra(
        &self,
        recording: &dyn Recording,
        bands: &Bands,
        spans: &[Range<usize>],
        observer: &mut dyn Observer,
    ) -> Result<Separated, Error> {
        let options = CovarianceOptions {
            center: self.center,
            scale: Scale::Unchanged,
            shrinkage: self.shrinkage,
            threads: self.threads,
        };
        let mut welch = Cospectra::new(recording, bands, spans, &options)?;
        let basis = self.basis(welch.mean()?)?;
        welch.sweep.coordinates = basis.coordinates();
        welch.check_samples(welch.sweep.dimension(), self.shrinkage)?;
        let cospectra = welch.estimate(self.shrinkage)?;
        let set = cospectra.set(&self.set_options())?;
        self.solve(set, &basis, cospectra.shrinkages, Vec::new(), observer)
    }

    fn set_options(&self) -> SetOptions {
        SetOptions::default().threads(self.threads)
    }

    fn basis(&self, total: Matrix) -> Result<Basis, Error> {
        let p = total.rows();
        let powers = || Ok((0..p).map(|a| total[(a, a)]).collect());
        let scale = self.scale.factors(p, powers)?;
        let (reduction, kept) = principal::reduce(&total, scale.as_deref(), self.components)?;
        Ok(Basis {
            total,
            scale,
            reduction,
            kept,
        })
    }

    fn solve(
        &self,
        set: MatrixSet,
        basis: &Basis,
        shrinkages: Vec<f64>,
        matrices: Vec<Vec<Piece>>,
        observer: &mut dyn Observer,
    ) -> Result<Separated, Error> {
        let set = set.with_reduction(basis.reduction.clone());
        let diagonalization = diagonalize_with(&set, &self.solver, observer)?;
        let pieces = matrices
            .into_iter()
            .map(|m| m.into_iter().flatten().collect());
        Ok(Separated::new(
            diagonalization,
            basis,
            shrinkages,
            pieces.collect(),
            self.threads,
        ))
    }
}

fn unobserved(_: &Record, _: &Matrix) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// The coordinates of a separation, and what they were found from.
pub(super) struct Basis {
    /// The mean of the covariances, in the recording's units.
    pub total: Matrix,
    pub scale: Option<Vec<f64>>,
    reduction: Option<crate::Reduction>,
    pub kept: f64,
}

impl Basis {
    fn coordinates(&self) -> Coordinates {
        match &self.reduction {
            Some(reduction) => Coordinates::Filtered(reduction.filters().clone()),
            None => Coordinates::Channels,
        }
    }
}
