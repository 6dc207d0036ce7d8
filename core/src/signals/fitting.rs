//! The steps of a separation: coordinates, matrices in them, their diagonalizer, and what it tells of the sources.

use std::cell::Cell;

use super::basis::Basis;
use super::blocks::Blocks;
use super::centered::Centered;
use super::cospectra::SpectraEstimator;
use super::estimation::{self, PortionOf};
use super::reader::{Coordinates, Reader};
use super::{
    Bands, Components, Contrast, CovarianceOptions, Covariances, Cut, Piece, Recording, Segments,
    Separated, Separation, cumulants, lags, measures,
};
use crate::error::Portion;
use crate::linalg::{self, Matrix};
use crate::report::Observer;
use crate::{Criterion, Error, MatrixSet, Order, SetOptions, Start, diagonalize_with, stability};

/// Segments are not made longer if there are no more than this.
const FEWEST_SEGMENTS: usize = 20;

/// What is drawn anew to learn how surely sources come again.
enum Again {
    /// Segments, epochs or classes: as many matrices as each of them has are drawn together.
    Matrices { together: usize },
    /// Blocks of time.
    Blocks(Blocks),
}

impl Separation {
    /// Of segments whose length is not given, longer ones if a source is silent in one of them.
    pub(super) fn fit_segments(
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
    pub(super) fn fit_covariances(
        &self,
        recording: &dyn Recording,
        cut: &dyn Fn(usize) -> Result<Vec<Vec<Piece>>, Error>,
        portion: PortionOf,
        observer: &mut dyn Observer,
    ) -> Result<Separated, Error> {
        self.shrinkage.check()?;
        let most = self.components.at_most(recording.channels());
        let mut matrices = cut(most)?;
        // Of segments too short for the components that were asked for (or for any) nothing else can be said.
        let least = match self.components {
            Components::Number(_) => most,
            _ => 1,
        };
        estimation::check_samples(&matrices, portion, least, self.center, self.shrinkage)?;
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
        let again = Again::Matrices { together: 1 };
        self.solve(set, &basis, shrinkages, matrices, &again, observer)
    }

    pub(super) fn fit_cospectra(
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
        // Only the set is kept during the solve.
        let Covariances {
            shrinkages: amounts,
            data,
            ..
        } = cospectra;
        drop(data);
        let (segments, again) = if bands.cut.is_some() {
            let together = bands.bands.len();
            (pieces, Again::Matrices { together })
        } else {
            let blocks = self.blocks(|| Blocks::of_spectra(&mut estimator, amounts.clone()))?;
            (Vec::new(), blocks)
        };
        let matrices = segments.into_iter().map(|piece| vec![piece]).collect();
        self.solve(set, &basis, amounts, matrices, &again, observer)
    }

    /// Whitens, and diagonalizes what tells the whitened components apart.
    pub(super) fn fit_whitened(
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
        let options = self.set_options();
        // Matrices that are not in the set are not kept during the solve.
        let set = match &self.contrast {
            Contrast::Lags(lags) => {
                lags::lagged(&centered, &lags.lags, self.threads)?.set(&options)?
            }
            _ => cumulants::set_of_white(&centered, self.threads, &options)?,
        };
        let again = self.blocks(|| match &self.contrast {
            Contrast::Lags(lags) => Blocks::of_lags(&centered, &lags.lags, self.threads),
            _ => Blocks::of_cumulants(&centered, self.threads),
        })?;
        self.solve(set, &basis, Vec::new(), sets, &again, observer)
    }

    /// The blocks of time that are drawn anew, if any are to be.
    fn blocks(&self, make: impl FnOnce() -> Result<Blocks, Error>) -> Result<Again, Error> {
        Ok(if self.solver.stability > 0 {
            Again::Blocks(make()?)
        } else {
            Again::Matrices { together: 1 }
        })
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
        again: &Again,
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
        let by_contrast = solver.clone().order(Order::Contrast).stability(0);
        solver.check(set.criterion())?;
        stability::check_memory(solver.stability, set.len(), set.dimension())?;
        let mut answer = diagonalize_with(&set, &by_contrast, observer)?;
        match again {
            Again::Matrices { together } => {
                let draws = stability::draws(set.weights(), *together, solver.stability);
                stability::add_draws(&set, solver, &mut answer, &draws, observer)?;
            }
            Again::Blocks(blocks) => blocks.assess(&set, solver, &mut answer, observer)?,
        }
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
            let order = linalg::descending(&ranks);
            answer.rearrange(&order, &vec![1.0; order.len()]);
            kurtosis.sort_by(f64::total_cmp);
            kurtosis.reverse();
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
