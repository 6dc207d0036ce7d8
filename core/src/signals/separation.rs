//! From a recording to its sources.

use std::ops::{ControlFlow, Range};

use super::covariance::epoch_pieces;
use super::lags::epoch_sets;
use super::principal::Components;
use super::segments::usable_spans;
use super::{Bands, Epochs, Lags, Recording, Scale, Segments, Separated, Shrinkage};
use crate::linalg::Matrix;
use crate::report::{Observer, Record};
use crate::setters::setters;
use crate::{Criterion, Error, Settings};

/// What tells sources apart.
///
/// ```
/// use codiag::signals::{Bands, Contrast, Lags, Separation};
/// let bands = Bands::even(1.0, 40.0, 20, 250.0); // 250 samples per second
/// let by_spectra = Separation::default().contrast(Contrast::Bands(bands));
/// assert!(matches!(by_spectra.contrast, Contrast::Bands(_)));
/// let sobi = Separation::default().contrast(Contrast::Lags(Lags::new(1..=100)));
/// let jade = Separation::default().contrast(Contrast::Cumulants { exclude: Vec::new() });
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Contrast {
    /// Their powers change over time, each in its own way: covariances of segments.
    Segments(Segments),
    /// Their spectra differ: cospectra in frequency bands; of segments, if those are
    /// [asked for](Bands#structfield.cut), for sources of which either differs.
    Bands(Bands),
    /// Their autocorrelations differ: lagged covariances of the whitened recording, diagonalized by
    /// rotations, unless they say otherwise. This is SOBI (Belouchrani et al. 1997), and AMUSE (Tong et
    /// al. 1990) with one lag.
    Lags(Lags),
    /// They are not Gaussian, but for one: fourth-order cumulants of the whitened recording,
    /// diagonalized by rotations. This is JADE (Cardoso & Souloumiac 1993).
    Cumulants {
        /// Spans of samples that do not count, in any order.
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

/// How a recording is separated into sources: x = A s + rest, s = B x.
///
/// The sources are found by joint diagonalization of covariances of segments, of cospectra, of lagged
/// covariances or of cumulants: they must differ in what the [`Contrast`] looks at. By default that is
/// how their powers change over time.
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
///
/// use codiag::Settings;
/// use codiag::signals::{Components, Contrast, Cut, Segments};
/// let other = Separation::default()
///     .components(Components::Number(3)) // the leading principal components
///     .contrast(Contrast::Segments(Segments::default().cut(Cut::Length(200))))
///     .solver(Settings::default().tolerance(1e-6));
/// assert_eq!(other.fit(&recording)?.components(), 3);
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Separation {
    /// How many components are separated.
    pub components: Components,
    /// What tells them apart.
    pub contrast: Contrast,
    /// Whether the mean of every segment (or window) is subtracted.
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
    /// recording, is components x channels, in the recording's units. For its
    /// [stability](Settings#structfield.stability) segments, epochs or classes are drawn anew; where all matrices are
    /// of the whole recording (lags, cumulants, bands alone), blocks of its time.
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

setters!(Separation {
    components: Components,
    contrast: Contrast,
    center: bool,
    scale: Scale,
    shrinkage: Shrinkage,
    solver: Settings,
});

impl Separation {
    /// The same with another number of [`threads`](Self#structfield.threads), or as many as pay for
    /// None.
    #[must_use]
    pub fn threads(mut self, threads: impl Into<Option<usize>>) -> Self {
        self.threads = threads.into();
        self
    }

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
    /// ```
    /// use std::ops::ControlFlow;
    /// use codiag::signals::{Separation, View, simulate};
    ///
    /// let made = simulate::nonstationary(4, 100, 100, 0);
    /// let recording = View::new(&made.data, 4, 10_000)?;
    /// let mut iterations = 0;
    /// let found = Separation::default().fit_with(&recording, &mut |record: &codiag::Record, _: &_| {
    ///     iterations = record.iteration;
    ///     ControlFlow::Continue(())
    /// })?;
    /// assert_eq!(iterations, found.diagonalization.iterations);
    /// # Ok::<(), codiag::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Separation::fit`].
    pub fn fit_with(
        &self,
        recording: &dyn Recording,
        observer: &mut dyn Observer,
    ) -> Result<Separated, Error> {
        self.solver.check(self.contrast.criterion())?;
        match &self.contrast {
            Contrast::Segments(segments) => {
                self.fit_segments(recording, segments.clone(), observer)
            }
            Contrast::Bands(bands) => {
                let most = self.components.at_most(recording.channels());
                let pieces = bands.pieces(recording.samples(), most)?;
                self.fit_cospectra(recording, bands, pieces, observer)
            }
            Contrast::Lags(lags) => {
                let most = self.components.at_most(recording.channels());
                let pieces = lags.segments.pieces(recording.samples(), most)?;
                let sets = pieces.into_iter().map(|piece| vec![piece]);
                self.fit_whitened(recording, sets.collect(), observer)
            }
            Contrast::Cumulants { exclude } => {
                let piece = usable_spans(recording.samples(), exclude)?;
                self.fit_whitened(recording, vec![vec![piece]], observer)
            }
        }
    }

    /// Separates epochs: the covariances are those of single epochs or, with labels, of classes
    /// (numbers from 0 on), whatever [`Segments`] say. Lagged covariances are those of all epochs together,
    /// or of classes. Neither windows of cospectra nor lags cross the borders of epochs; labels do not
    /// matter to cumulants, and to cospectra only if they are [of segments](Bands#structfield.cut), which
    /// then are the epochs or classes.
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
    /// As for [`Separation::fit`], or if there is not one label per epoch.
    pub fn fit_epochs(
        &self,
        epochs: &Epochs<'_>,
        labels: Option<&[usize]>,
        observer: &mut dyn Observer,
    ) -> Result<Separated, Error> {
        self.solver.check(self.contrast.criterion())?;
        match &self.contrast {
            Contrast::Segments(_) => {
                let (matrices, portion) = epoch_pieces(epochs, labels)?;
                self.fit_covariances(epochs, &|_| Ok(matrices.clone()), portion, observer)
            }
            Contrast::Bands(bands) => {
                let sets = match bands.cut {
                    Some(_) => epoch_pieces(epochs, labels)?.0,
                    None => epoch_sets(epochs, None)?,
                };
                let pieces = sets
                    .into_iter()
                    .map(|set| set.into_iter().flatten().collect());
                self.fit_cospectra(epochs, bands, pieces.collect(), observer)
            }
            Contrast::Lags(_) => self.fit_whitened(epochs, epoch_sets(epochs, labels)?, observer),
            Contrast::Cumulants { .. } => {
                self.fit_whitened(epochs, epoch_sets(epochs, None)?, observer)
            }
        }
    }
}

fn unobserved(_: &Record, _: &Matrix) -> ControlFlow<()> {
    ControlFlow::Continue(())
}
