//! Separation of a recording into sources: what to diagonalize, and how.

use std::ops::{ControlFlow, Range};

use super::covariance::{epoch_pieces, epoch_sets, one_each};
use super::segments::usable_spans;
use super::{
    Bands, Components, Epochs, Lags, Recording, Scale, Segments, SeparationResult, Shrinkage,
};
use crate::linalg::Matrix;
use crate::report::{Observer, Record};
use crate::setters::setters;
use crate::{Criterion, Error, Settings};

/// The property by which sources are separated.
///
/// ```
/// use codiag::signals::{Bands, Contrast, Lags, Separation};
/// let bands = Bands::even(1.0, 40.0, 20, 250.0); // 250 samples per second
/// let by_spectra = Separation::default().contrast(Contrast::Bands(bands));
/// let sobi = Separation::default().contrast(Contrast::Lags(Lags::new(1..=100)));
/// let jade = Separation::default().contrast(Contrast::Cumulants { exclude: Vec::new() });
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Contrast {
    /// Powers that change over time, differently for each source: covariances of segments.
    Segments(Segments),
    /// Different spectra: cospectra in frequency bands, or in frequency bands of
    /// [segments](Bands#structfield.cut).
    Bands(Bands),
    /// Different autocorrelations: lagged covariances of the whitened recording, diagonalized by
    /// rotations unless [`Lags::orthogonal`] is false. This is SOBI (Belouchrani et al. 1997), and
    /// AMUSE (Tong et al. 1990) with one lag.
    Lags(Lags),
    /// Distributions of which at most one is Gaussian: fourth-order cumulants of the whitened
    /// recording, diagonalized by rotations. This is JADE (Cardoso & Souloumiac 1993).
    Cumulants {
        /// Spans of samples that are not used, in any order.
        exclude: Vec<Range<usize>>,
    },
}

impl Contrast {
    /// Whether the recording is whitened.
    pub(super) fn whitens(&self) -> bool {
        matches!(self, Self::Lags(_) | Self::Cumulants { .. })
    }

    pub(super) fn criterion(&self) -> Criterion {
        match self {
            Self::Lags(lags) if !lags.orthogonal => Criterion::LeastSquares,
            Self::Lags(_) | Self::Cumulants { .. } => Criterion::Frobenius,
            _ => Criterion::Likelihood,
        }
    }
}

impl Default for Contrast {
    fn default() -> Self {
        Self::Segments(Segments::default())
    }
}

/// Separation of a recording into sources: x = A s + rest, s = B x.
///
/// Joint diagonalization of covariances of segments, of cospectra, of lagged covariances or of
/// cumulants separates sources that differ in the property of the [`Contrast`] (default: how their
/// powers change over time).
///
/// ```
/// use codiag::signals::{Separation, RecordingView, simulate};
/// use codiag::synthetic::amari_distance;
///
/// let made = simulate::nonstationary(5, 100, 200, 0); // 5 channels, 20,000 samples
/// let recording = RecordingView::new(&made.data, 5, 20_000)?;
/// let found = Separation::default().fit(&recording)?;
/// assert!(found.diagonalization.status.is_converged());
/// assert!(amari_distance(found.filters(), &made.mixing) < 0.05);
/// let sources = found.sources(&recording)?; // 5 x 20,000
///
/// use codiag::Settings;
/// use codiag::signals::{Components, Contrast, SegmentLength, Segments};
/// let other = Separation::default()
///     .n_components(Components::Count(3)) // the leading principal components
///     .contrast(Contrast::Segments(Segments::default().length(SegmentLength::Length(200))))
///     .solver(Settings::default().tol(1e-6));
/// assert_eq!(other.fit(&recording)?.components(), 3);
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Separation {
    /// Number of components.
    pub n_components: Components,
    /// The property by which they are separated.
    pub contrast: Contrast,
    /// Whether the mean of every segment (or window) is subtracted.
    pub center: bool,
    /// Scaling of the channels for principal components, shrinkage and fractions of variance.
    /// Filters and patterns are in the recording's own units.
    pub scale: Scale,
    /// Shrinkage of each matrix towards a multiple of the identity, in the coordinates of the
    /// components.
    pub shrinkage: Shrinkage,
    /// Number of threads; None chooses it by the amount of work.
    pub n_jobs: Option<usize>,
    /// How the matrices are diagonalized. A given start, such as the filters of another recording,
    /// is components x channels, in the recording's units. The bootstrap for
    /// [stability](Settings#structfield.stability) resamples segments, epochs or classes, or blocks
    /// of time if all matrices are of the whole recording (lags, cumulants, bands without
    /// segments).
    pub solver: Settings,
}

impl Default for Separation {
    fn default() -> Self {
        Self {
            n_components: Components::All,
            contrast: Contrast::default(),
            center: true,
            scale: Scale::Unchanged,
            shrinkage: Shrinkage::default(),
            n_jobs: None,
            solver: Settings::default(),
        }
    }
}

setters!(Separation {
    n_components: Components,
    contrast: Contrast,
    center: bool,
    scale: Scale,
    shrinkage: Shrinkage,
    solver: Settings,
} optional { n_jobs: usize });

impl Separation {
    /// Separates a recording.
    ///
    /// # Errors
    /// If a segment has fewer samples than components, a sample is not finite, or an option is out
    /// of its range. A solve that does not converge is a [`Status`](crate::Status) instead.
    pub fn fit(&self, recording: &dyn Recording) -> Result<SeparationResult, Error> {
        self.fit_with(recording, &mut unobserved)
    }

    /// Like [`Separation::fit`], with an observer that follows the solver and may stop it.
    ///
    /// # Errors
    /// Those of [`Separation::fit`].
    pub fn fit_with(
        &self,
        recording: &dyn Recording,
        observer: &mut dyn Observer,
    ) -> Result<SeparationResult, Error> {
        self.solver.check(self.contrast.criterion())?;
        match &self.contrast {
            Contrast::Segments(segments) => {
                self.fit_segments(recording, segments.clone(), observer)
            }
            Contrast::Bands(bands) => {
                let most = self.n_components.at_most(recording.channels());
                let pieces = bands.pieces(recording.samples(), most)?;
                self.fit_cospectra(recording, bands, pieces, observer)
            }
            Contrast::Lags(lags) => {
                let most = self.n_components.at_most(recording.channels());
                let pieces = lags.segments.pieces(recording.samples(), most)?;
                self.fit_whitened(recording, &one_each(pieces), observer)
            }
            Contrast::Cumulants { exclude } => {
                let piece = usable_spans(recording.samples(), exclude)?;
                self.fit_whitened(recording, &[vec![piece]], observer)
            }
        }
    }

    /// Separates epochs. The covariances are those of epochs or, with labels (numbers from 0 on),
    /// of classes; lagged covariances are those of all epochs together, or of classes; [`Segments`]
    /// are not used. Windows of cospectra and lags do not cross the borders of epochs. Labels have
    /// no effect on cumulants, and on cospectra only with a [cut](Bands#structfield.cut), whose
    /// segments are then the epochs or classes.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use codiag::signals::{Epochs, Separation, simulate};
    ///
    /// let made = simulate::nonstationary(3, 3, 2000, 0);
    /// // The recording as 30 epochs of 3 channels and 200 samples, without a copy.
    /// let epochs = Epochs::with_strides(&made.data, [30, 3, 200], [200, 6000, 1])?;
    /// let labels: Vec<usize> = (0..30).map(|e| e / 10).collect();
    /// let mut silent = |_: &codiag::Record, _: &_| ControlFlow::Continue(());
    /// let found = Separation::default().fit_epochs(&epochs, Some(&labels), &mut silent)?;
    /// assert_eq!(found.diagonalization.powers.rows(), 3); // one covariance per class
    /// # Ok::<(), codiag::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Separation::fit`], or if the number of labels differs from that of the epochs.
    pub fn fit_epochs(
        &self,
        epochs: &Epochs<'_>,
        labels: Option<&[usize]>,
        observer: &mut dyn Observer,
    ) -> Result<SeparationResult, Error> {
        self.solver.check(self.contrast.criterion())?;
        match &self.contrast {
            Contrast::Segments(_) => {
                let (matrices, portion) = epoch_pieces(epochs, labels)?;
                self.fit_covariances(epochs, &|_| Ok(matrices.clone()), portion, observer)
            }
            Contrast::Bands(bands) => {
                let sets = match bands.segment_length {
                    Some(_) => epoch_pieces(epochs, labels)?.0,
                    None => epoch_sets(epochs, None)?,
                };
                let pieces = sets.into_iter().map(|set| set.concat());
                self.fit_cospectra(epochs, bands, pieces.collect(), observer)
            }
            Contrast::Lags(_) => self.fit_whitened(epochs, &epoch_sets(epochs, labels)?, observer),
            Contrast::Cumulants { .. } => {
                self.fit_whitened(epochs, &epoch_sets(epochs, None)?, observer)
            }
        }
    }
}

fn unobserved(_: &Record, _: &Matrix) -> ControlFlow<()> {
    ControlFlow::Continue(())
}
