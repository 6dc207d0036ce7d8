//! Options of a separation of a recording into sources.

use std::ops::{ControlFlow, Range};

use super::covariance::{epoch_pieces, epoch_sets, one_matrix_per_piece};
use super::segments::usable_spans;
use super::{
    Bands, Components, Epochs, Lags, Recording, Scale, Segments, SeparationResult, Shrinkage,
};
use crate::linalg::Matrix;
use crate::report::{Observer, Record};
use crate::setters::setters;
use crate::{Criterion, Error, Settings};

/// The property of the sources that is used to separate them.
///
/// ```
/// use codiag::signals::{Bands, Contrast, Lags, Separation};
/// let bands = Bands::even(1.0, 40.0, 20, 250.0); // 250 samples per second
/// let by_spectra = Separation::default().contrast(Contrast::Bands(bands));
/// let sobi = Separation::default().contrast(Contrast::Lags(Lags::new(1..=100)));
/// let jade = Separation::default().contrast(Contrast::Cumulants { bad_spans: Vec::new() });
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Contrast {
    /// Powers that vary over time, differently for each source. Diagonalizes covariances of
    /// segments.
    Segments(Segments),
    /// Different spectra. Diagonalizes cospectra in frequency bands of the recording, or of its
    /// [segments](Bands#structfield.segment_length).
    Bands(Bands),
    /// Different autocorrelations. Diagonalizes lagged covariances of the whitened recording by a
    /// rotation, unless [`Lags::orthogonal`] is false. This is SOBI (Belouchrani et al. 1997), and
    /// AMUSE (Tong et al. 1990) with one lag.
    Lags(Lags),
    /// Non-Gaussian distributions; at most one source may be Gaussian. Diagonalizes fourth-order
    /// cumulants of the whitened recording by a rotation. This is JADE (Cardoso & Souloumiac 1993).
    Cumulants {
        /// Spans of samples that are not used, in any order.
        bad_spans: Vec<Range<usize>>,
    },
}

impl Contrast {
    /// Whether the recording is whitened before matrices are estimated.
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

/// Separation of a recording x into sources s = B x, with x = A s plus the signals outside of the
/// components.
///
/// Joint diagonalization of covariances of segments, cospectra, lagged covariances or cumulants
/// separates sources that differ in the property given by the [`Contrast`] (default: the variation
/// of their powers over time).
///
/// ```
/// use codiag::signals::{Separation, RecordingView, simulate};
/// use codiag::synthetic::amari_distance;
///
/// let simulated = simulate::nonstationary(5, 100, 200, 0); // 5 channels, 20,000 samples
/// let recording = RecordingView::new(&simulated.data, 5, 20_000)?;
/// let result = Separation::default().fit(&recording)?;
/// assert!(result.diagonalization.status.is_converged());
/// assert!(amari_distance(result.filters(), &simulated.mixing) < 0.05);
/// let sources = result.sources(&recording)?; // 5 x 20,000
///
/// use codiag::Settings;
/// use codiag::signals::{Components, Contrast, SegmentLength, Segments};
/// let separation = Separation::default()
///     .n_components(Components::Count(3)) // the leading principal components
///     .contrast(Contrast::Segments(Segments::default().length(SegmentLength::Length(200))))
///     .solver(Settings::default().tol(1e-6));
/// assert_eq!(separation.fit(&recording)?.n_components(), 3);
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Separation {
    /// Number of components (default: the rank of the recording).
    pub n_components: Components,
    /// The property used to separate the sources (default: variation of their powers over time).
    pub contrast: Contrast,
    /// Whether the mean of every segment or window is subtracted (default true).
    pub center: bool,
    /// Scaling of the channels for principal components, shrinkage and explained variance (default:
    /// none). Filters and patterns are in the units of the recording.
    pub scale: Scale,
    /// Shrinkage of each matrix towards a multiple of the identity, in the coordinates of the
    /// components (default: none).
    pub shrinkage: Shrinkage,
    /// Number of threads (default: chosen by the amount of work).
    pub n_jobs: Option<usize>,
    /// Settings of the joint diagonalization. A given starting point, such as the filters of
    /// another recording, is components x channels, in the units of the recording. The bootstrap of
    /// [`n_resamples`](Settings#structfield.n_resamples) resamples segments, epochs or classes. If
    /// all matrices are estimated from the whole recording (lags, cumulants, bands without
    /// segments), it resamples blocks of time.
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
    /// If a segment has too few samples, a sample is not finite, or an option is out of range. A
    /// solve that does not converge is not an error; see [`Status`](crate::Status).
    pub fn fit(&self, recording: &dyn Recording) -> Result<SeparationResult, Error> {
        self.fit_with(recording, &mut no_observer)
    }

    /// Separates a recording with an observer that is called after each iteration of the solver and
    /// may stop it; see [`Separation::fit`].
    ///
    /// # Errors
    /// The errors of [`Separation::fit`].
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
                let max_components = self.n_components.at_most(recording.channels());
                let pieces = bands.spans(recording.samples(), max_components)?;
                self.fit_cospectra(recording, bands, pieces, observer)
            }
            Contrast::Lags(lags) => {
                let max_components = self.n_components.at_most(recording.channels());
                let pieces = lags.segments.spans(recording.samples(), max_components)?;
                self.fit_whitened(recording, &one_matrix_per_piece(pieces), observer)
            }
            Contrast::Cumulants { bad_spans } => {
                let piece = usable_spans(recording.samples(), bad_spans)?;
                self.fit_whitened(recording, &[vec![piece]], observer)
            }
        }
    }

    /// Separates epochs.
    ///
    /// Covariances are estimated per epoch or, if labels (class numbers from 0 on) are given, per
    /// class. Lagged covariances are estimated from all epochs together, or per class. [`Segments`]
    /// are not used. Windows of cospectra and products of lagged covariances do not cross the
    /// boundaries of epochs. Labels have no effect on cumulants. They affect cospectra only if
    /// [`segment_length`](Bands#structfield.segment_length) is set; the segments are then the
    /// epochs or classes.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use codiag::signals::{Epochs, Separation, simulate};
    ///
    /// let simulated = simulate::nonstationary(3, 3, 2000, 0);
    /// // A view of the recording as 30 epochs of 3 channels and 200 samples.
    /// let epochs = Epochs::with_strides(&simulated.data, [30, 3, 200], [200, 6000, 1])?;
    /// let labels: Vec<usize> = (0..30).map(|e| e / 10).collect();
    /// let mut observer = |_: &codiag::Record, _: &_| ControlFlow::Continue(());
    /// let result = Separation::default().fit_epochs(&epochs, Some(&labels), &mut observer)?;
    /// assert_eq!(result.diagonalization.powers.rows(), 3); // one covariance per class
    /// # Ok::<(), codiag::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Separation::fit`], or if the number of labels differs from the number of
    /// epochs.
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

fn no_observer(_: &Record, _: &Matrix) -> ControlFlow<()> {
    ControlFlow::Continue(())
}
