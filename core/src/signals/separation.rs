//! From a recording to its sources.

use std::cell::Cell;
use std::ops::{ControlFlow, Range};

use super::basis::Basis;
use super::centered::Centered;
use super::cospectra::SpectraEstimator;
use super::covariance::epoch_pieces;
use super::estimation::{self, PortionOf};
use super::lags::epoch_sets;
use super::principal::Components;
use super::reader::{Coordinates, Reader};
use super::segments::usable_spans;
use super::{
    Bands, CovarianceOptions, Cut, Epochs, Lags, Piece, Recording, Scale, Segments, Separated,
    Shrinkage, cumulants, lags, measures,
};
use crate::error::Portion;
use crate::linalg::Matrix;
use crate::report::{Observer, Record};
use crate::setters::setters;
use crate::{Criterion, Error, MatrixSet, Order, SetOptions, Settings, Start, diagonalize_with};

/// Segments are not made longer if there are no more than this.
const FEWEST_SEGMENTS: usize = 20;

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
    fn whitens(&self) -> bool {
        matches!(self, Self::Lags(_) | Self::Cumulants { .. })
    }

    fn criterion(&self) -> Criterion {
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

    /// Of segments whose length is not given, longer ones if a source is silent in one of them.
    fn fit_segments(
        &self,
        recording: &dyn Recording,
        mut segments: Segments,
        observer: &mut dyn Observer,
    ) -> Result<Separated, Error> {
        let found = segments.cut == Cut::Auto;
        loop {
            let count = Cell::new(0);
            let cut = |components: usize| {
                let pieces = segments.pieces(recording.samples(), components)?;
                count.set(pieces.len());
                Ok(pieces.into_iter().map(|piece| vec![piece]).collect())
            };
            let fitted = self.fit_covariances(recording, &cut, Portion::Segment, observer);
            let silent = matches!(
                fitted,
                Err(Error::NotPositiveDefinite {
                    matrix: Some(_),
                    ..
                })
            );
            if !(found && silent && count.get() > FEWEST_SEGMENTS) {
                return fitted;
            }
            segments.cut = Cut::Count(count.get() / 2);
        }
    }

    /// `cut` tells which samples make which matrix, for so many components.
    fn fit_covariances(
        &self,
        recording: &dyn Recording,
        cut: &dyn Fn(usize) -> Result<Vec<Vec<Piece>>, Error>,
        portion: PortionOf,
        observer: &mut dyn Observer,
    ) -> Result<Separated, Error> {
        self.shrinkage.check()?;
        let most = self.components.at_most(recording.channels());
        let mut matrices = cut(most)?;
        let workers = estimation::workers(&matrices, recording.channels(), self.threads);
        let mut reader = Reader {
            recording,
            coordinates: Coordinates::Channels,
            center: self.center,
        };
        let mut basis = self.basis(estimation::mean_covariance(&reader, &matrices, &workers)?)?;
        if basis.components() < most {
            // Fewer components than channels may allow shorter segments.
            let finer = cut(basis.components())?;
            if finer.len() != matrices.len() {
                matrices = finer;
                basis = self.basis(estimation::mean_covariance(&reader, &matrices, &workers)?)?;
            }
        }
        reader.coordinates = basis.coordinates();
        let dimension = reader.dimension();
        estimation::check_samples(&matrices, portion, dimension, self.center, self.shrinkage)?;
        let options = self.set_options();
        let (set, shrinkages) =
            estimation::covariance_set(&reader, &matrices, self.shrinkage, &workers, &options)?;
        self.solve(set, &basis, shrinkages, matrices, observer)
    }

    fn fit_cospectra(
        &self,
        recording: &dyn Recording,
        bands: &Bands,
        pieces: Vec<Piece>,
        observer: &mut dyn Observer,
    ) -> Result<Separated, Error> {
        let options = CovarianceOptions::default()
            .center(self.center)
            .shrinkage(self.shrinkage)
            .threads(self.threads);
        let mut estimator = SpectraEstimator::new(recording, bands, &pieces, &options)?;
        let basis = self.basis(estimator.mean()?)?;
        estimator.reader.coordinates = basis.coordinates();
        estimator.check_samples::<f64>(estimator.reader.dimension(), self.shrinkage)?;
        let cospectra = estimator.estimate(self.shrinkage)?;
        let set = cospectra.set(&self.set_options())?;
        let segments = if bands.cut.is_some() {
            pieces
        } else {
            Vec::new()
        };
        let matrices = segments.into_iter().map(|piece| vec![piece]).collect();
        self.solve(set, &basis, cospectra.shrinkages, matrices, observer)
    }

    /// Whitens, and diagonalizes what tells the whitened components apart.
    fn fit_whitened(
        &self,
        recording: &dyn Recording,
        sets: Vec<Vec<Piece>>,
        observer: &mut dyn Observer,
    ) -> Result<Separated, Error> {
        self.shrinkage.refuse()?;
        let reader = Reader {
            recording,
            coordinates: Coordinates::Channels,
            center: self.center,
        };
        let mut centered = Centered::new(reader, &sets)?;
        let basis = self.basis(centered.covariance(self.threads)?)?;
        centered.reader.coordinates = basis.coordinates();
        let matrices = match &self.contrast {
            Contrast::Lags(lags) => lags::lagged(&centered, &lags.lags, self.threads)?,
            _ => cumulants::of_white(&centered, self.threads)?,
        };
        let set = matrices.set(&self.set_options())?;
        self.solve(set, &basis, Vec::new(), sets, observer)
    }

    fn set_options(&self) -> SetOptions {
        SetOptions::default()
            .criterion(self.contrast.criterion())
            .threads(self.threads)
    }

    fn basis(&self, mean: Matrix) -> Result<Basis, Error> {
        Basis::new(mean, &self.scale, self.components, self.contrast.whitens())
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
        let solver = match &self.solver.start {
            Start::Given(b) if self.contrast.criterion().requires_rotations() => {
                let start = Start::Given(basis.nearest_rotation(b)?);
                &self.solver.clone().start(start)
            }
            _ => &self.solver,
        };
        // Those that the contrast puts in an order of its own are ordered by stability thereafter.
        let by_contrast = solver.clone().order(Order::Contrast);
        solver.check(set.criterion())?;
        let mut answer = diagonalize_with(&set, &by_contrast, observer)?;
        if self.contrast.criterion() == Criterion::LeastSquares {
            let in_white = set.summary().to_reduced(&answer.b);
            measures::normalize(&mut answer, &in_white);
        }
        let mut kurtosis = Vec::new();
        let ranks = match &self.contrast {
            Contrast::Lags(lags) if lags.lags.len() == 1 => measures::means(&answer.powers),
            Contrast::Lags(lags) if !lags.orthogonal => measures::energies(&answer.powers),
            Contrast::Cumulants { .. } => {
                let rotation = set.summary().to_reduced(&answer.b);
                kurtosis = measures::kurtosis(&rotation, &answer.powers);
                kurtosis.clone()
            }
            _ => Vec::new(),
        };
        if solver.canonical && !ranks.is_empty() {
            let mut order: Vec<usize> = (0..ranks.len()).collect();
            order.sort_by(|x, y| ranks[*y].total_cmp(&ranks[*x]));
            answer.rearrange(&order, &vec![1.0; order.len()]);
            kurtosis.sort_by(|x, y| y.total_cmp(x));
        }
        if solver.order == Order::Stability
            && let Some(stability) = &answer.stability
        {
            let order = stability.order();
            answer.rearrange(&order, &vec![1.0; order.len()]);
            if !kurtosis.is_empty() {
                kurtosis = order.iter().map(|k| kurtosis[*k]).collect();
            }
        }
        let powers = &answer.powers;
        // What was whitened has unit powers.
        let (mean_powers, nonstationarity, rivals) = if self.contrast.whitens() {
            let rivals = measures::rivals_by_differences(powers);
            (vec![1.0; answer.b.rows()], Vec::new(), rivals)
        } else {
            let rivals = measures::rivals_by_ratios(powers);
            let varies = measures::nonstationarity(powers);
            (measures::means(powers), varies, rivals)
        };
        let pieces = matrices
            .into_iter()
            .map(|m| m.into_iter().flatten().collect());
        Ok(Separated {
            variance_shares: basis.variance_shares(&answer.a, &mean_powers),
            nonstationarity,
            kurtosis,
            rivals,
            kept_variance: basis.kept_variance,
            scale: basis.factors(),
            shrinkages,
            segments: pieces.collect(),
            diagonalization: answer,
            threads: self.threads,
        })
    }
}

fn unobserved(_: &Record, _: &Matrix) -> ControlFlow<()> {
    ControlFlow::Continue(())
}
