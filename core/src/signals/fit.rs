//! The steps of a separation: coordinates, matrices, joint diagonalization, diagnostics.

use std::cell::Cell;

use super::basis::Basis;
use super::bootstrap::Blocks;
use super::cospectra::SpectraEstimator;
use super::covariance::{CovarianceEstimator, PortionOf, one_matrix_per_piece};
use super::reader::{CenteredRecording, Reader};
use super::{
    Bands, Components, Contrast, CovarianceOptions, Recording, SegmentLength, Segments,
    SeparabilityMargin, Separation, SeparationResult, Spans, cumulants, lags,
};
use crate::error::Portion;
use crate::linalg::{self, Matrix, Triangle};
use crate::report::Observer;
use crate::{
    Criterion, Diagonalization, Error, Init, MatrixSet, SetOptions, SortBy, diagonalize_with,
    stability,
};

/// Automatic segments are made longer only while there are more segments than this.
const MIN_AUTOMATIC_SEGMENTS: usize = 20;

/// The units that the bootstrap resamples to estimate the stability of the sources.
enum ResampledUnits {
    /// Segments, epochs or classes with the given number of matrices each.
    Matrices { matrices_per_unit: usize },
    /// Blocks of time.
    Blocks(Blocks),
}

impl Separation {
    /// Separates sources by covariances of segments. If the segment length is automatic, it is
    /// doubled as long as a covariance is not positive definite, which happens if a source is
    /// silent in a segment.
    pub(super) fn fit_segments(
        &self,
        recording: &dyn Recording,
        mut segments: Segments,
        observer: &mut dyn Observer,
    ) -> Result<SeparationResult, Error> {
        let automatic = segments.length == SegmentLength::Auto;
        loop {
            let count = Cell::new(0);
            let matrices = |components: usize| {
                let pieces = segments.spans(recording.samples(), components)?;
                count.set(pieces.len());
                Ok(one_matrix_per_piece(pieces))
            };
            let fitted = self.fit_covariances(recording, &matrices, Portion::Segment, observer);
            let has_silent_source = match &fitted {
                Err(Error::NotPositiveDefinite { matrix, .. }) => matrix.is_some(),
                _ => false,
            };
            if !(automatic && has_silent_source && count.get() > MIN_AUTOMATIC_SEGMENTS) {
                return fitted;
            }
            segments.length = SegmentLength::Count(count.get() / 2);
        }
    }

    /// Separates sources by covariances. `pieces` returns the pieces of each matrix for a number of
    /// components.
    pub(super) fn fit_covariances(
        &self,
        recording: &dyn Recording,
        pieces: &dyn Fn(usize) -> Result<Vec<Vec<Spans>>, Error>,
        portion: PortionOf,
        observer: &mut dyn Observer,
    ) -> Result<SeparationResult, Error> {
        self.shrinkage.check()?;
        let max_components = self.n_components.at_most(recording.channels());
        let options = self.options();
        let matrices = pieces(max_components)?;
        let mut estimator = CovarianceEstimator::new(recording, matrices, portion, &options)?;
        // An early check with the known lower bound on the number of components.
        estimator.check_samples(match self.n_components {
            Components::Count(_) => max_components,
            _ => 1,
        })?;
        let mut basis = self.basis(estimator.mean()?)?;
        if basis.components() < max_components {
            // Fewer components than channels may allow shorter segments.
            let finer = pieces(basis.components())?;
            if finer.len() != estimator.matrices.len() {
                estimator.matrices = finer;
                basis = self.basis(estimator.mean()?)?;
            }
        }
        estimator.reader.coordinates = basis.coordinates();
        estimator.check_samples(basis.components())?;
        let (set, amounts) = estimator.set(&self.set_options())?;
        let units = ResampledUnits::Matrices {
            matrices_per_unit: 1,
        };
        self.solve(set, &basis, amounts, &estimator.matrices, &units, observer)
    }

    /// Separates sources by cospectra.
    pub(super) fn fit_cospectra(
        &self,
        recording: &dyn Recording,
        bands: &Bands,
        pieces: Vec<Spans>,
        observer: &mut dyn Observer,
    ) -> Result<SeparationResult, Error> {
        let mut estimator = SpectraEstimator::new(recording, bands, &pieces, &self.options())?;
        let basis = self.basis(estimator.mean()?)?;
        estimator.reader.coordinates = basis.coordinates();
        estimator.check_samples::<f64>(estimator.reader.dimension(), self.shrinkage)?;
        let cospectra = estimator.estimate(self.shrinkage)?;
        let set = cospectra.set(&self.set_options())?;
        // The cospectra are freed before the solve.
        let amounts = cospectra.shrinkages.clone();
        drop(cospectra);
        let (segments, units) = if bands.segment_length.is_some() {
            let matrices_per_unit = bands.bands.len();
            (pieces, ResampledUnits::Matrices { matrices_per_unit })
        } else {
            let blocks = self.blocks(|| Blocks::from_spectra(&mut estimator, &amounts))?;
            (Vec::new(), blocks)
        };
        self.solve(
            set,
            &basis,
            amounts,
            &one_matrix_per_piece(segments),
            &units,
            observer,
        )
    }

    /// Separates sources by lagged covariances or cumulants of the whitened recording.
    pub(super) fn fit_whitened(
        &self,
        recording: &dyn Recording,
        sets: &[Vec<Spans>],
        observer: &mut dyn Observer,
    ) -> Result<SeparationResult, Error> {
        self.shrinkage.check_none()?;
        let mut centered = CenteredRecording::new(Reader::new(recording, self.center), sets)?;
        let basis = self.basis(centered.covariance(self.n_jobs)?)?;
        centered.reader.coordinates = basis.coordinates();
        let options = self.set_options();
        // Only the set remains in memory during the solve.
        let set = match &self.contrast {
            Contrast::Lags(lags) => {
                lags::lagged(&centered, &lags.lags, self.n_jobs)?.set(&options)?
            }
            _ => cumulants::white_cumulant_set(&centered, self.n_jobs, &options)?,
        };
        let units = self.blocks(|| match &self.contrast {
            Contrast::Lags(lags) => Blocks::from_lags(&centered, &lags.lags, self.n_jobs),
            _ => Blocks::from_cumulants(&centered, self.n_jobs),
        })?;
        self.solve(set, &basis, Vec::new(), sets, &units, observer)
    }

    /// Returns the blocks of time of the bootstrap, if stability is to be estimated.
    fn blocks(
        &self,
        make: impl FnOnce() -> Result<Blocks, Error>,
    ) -> Result<ResampledUnits, Error> {
        Ok(if self.solver.n_resamples > 0 {
            ResampledUnits::Blocks(make()?)
        } else {
            ResampledUnits::Matrices {
                matrices_per_unit: 1,
            }
        })
    }

    fn options(&self) -> CovarianceOptions {
        CovarianceOptions::default()
            .center(self.center)
            .shrinkage(self.shrinkage)
            .n_jobs(self.n_jobs)
    }

    fn set_options(&self) -> SetOptions {
        SetOptions::default()
            .criterion(self.contrast.criterion())
            .n_jobs(self.n_jobs)
    }

    fn basis(&self, mean: Matrix) -> Result<Basis, Error> {
        Basis::new(
            mean,
            &self.scale,
            self.n_components,
            self.contrast.whitens(),
        )
    }

    /// Diagonalizes the matrices and computes the diagnostics.
    fn solve(
        &self,
        set: MatrixSet,
        basis: &Basis,
        shrinkages: Vec<f64>,
        matrices: &[Vec<Spans>],
        units: &ResampledUnits,
        observer: &mut dyn Observer,
    ) -> Result<SeparationResult, Error> {
        let set = set.with_reduction(basis.reduction.clone());
        let solver = match &self.solver.init {
            Init::Given(b) if self.contrast.criterion().requires_rotations() => {
                let start = Init::Given(basis.nearest_rotation(b)?);
                &self.solver.clone().init(start)
            }
            _ => &self.solver,
        };
        // Lags and cumulants are sorted below, and sorting by stability comes last.
        let by_contrast = solver.clone().sort_by(SortBy::Contrast).n_resamples(0);
        solver.check(set.criterion())?;
        stability::check_memory(solver.n_resamples, set.len(), set.dimension())?;
        let mut result = diagonalize_with(&set, &by_contrast, observer)?;
        match units {
            ResampledUnits::Matrices { matrices_per_unit } => {
                let draws = stability::draws(set.weights(), *matrices_per_unit, solver.n_resamples);
                stability::add_draws(&set, solver, &mut result, &draws, observer)?;
            }
            ResampledUnits::Blocks(blocks) => {
                blocks.add_stability(&set, solver, &mut result, observer)?;
            }
        }
        if self.contrast.criterion() == Criterion::LeastSquares {
            let white_filters = set.summary().to_reduced(&result.b);
            normalize(&mut result, &white_filters);
        }
        let mut kurtosis = Vec::new();
        let ranks = match &self.contrast {
            Contrast::Lags(lags) if lags.lags.len() == 1 => means(&result.powers),
            Contrast::Lags(lags) if !lags.orthogonal => column_sums(&result.powers, |x| x.powi(2)),
            Contrast::Cumulants { .. } => {
                let rotation = set.summary().to_reduced(&result.b);
                kurtosis = excess_kurtosis(&rotation, &result.powers);
                kurtosis.clone()
            }
            _ => Vec::new(),
        };
        if solver.canonical && !ranks.is_empty() {
            let order = linalg::argsort_descending(&ranks);
            result.rearrange(&order, &vec![1.0; order.len()]);
            kurtosis.sort_by(f64::total_cmp);
            kurtosis.reverse();
        }
        if solver.sort_by == SortBy::Stability
            && let Some(stability) = &result.stability
        {
            let order = stability.order();
            result.rearrange(&order, &vec![1.0; order.len()]);
            if !kurtosis.is_empty() {
                kurtosis = order.iter().map(|k| kurtosis[*k]).collect();
            }
        }
        let powers = &result.powers;
        // Whitened components have unit power.
        let (mean_powers, nonstationarity, least_separable) = if self.contrast.whitens() {
            let ones = vec![1.0; result.b.rows()];
            (ones, Vec::new(), least_separable_by_differences(powers))
        } else {
            (
                means(powers),
                nonstationarity(powers),
                least_separable_by_ratios(powers),
            )
        };
        let pieces = matrices.iter().map(|pieces| pieces.concat());
        Ok(SeparationResult {
            explained_variance_ratio: basis.explained_variance_ratio(&result.a, &mean_powers),
            nonstationarity,
            kurtosis,
            least_separable,
            explained_variance_ratio_total: basis.explained_variance_ratio_total,
            scale: basis.factors(),
            shrinkages,
            segments: pieces.collect(),
            diagonalization: result,
            n_jobs: self.n_jobs,
        })
    }
}

/// Returns the sums of a function of the entries over every column.
fn column_sums(powers: &Matrix, term: impl Fn(f64) -> f64) -> Vec<f64> {
    let sum = |k: usize| (0..powers.rows()).map(|i| term(powers[(i, k)])).sum();
    (0..powers.columns()).map(sum).collect()
}

/// Returns the mean of every column.
fn means(powers: &Matrix) -> Vec<f64> {
    let n = powers.rows() as f64;
    column_sums(powers, |x| x / n)
}

/// Scales the sources to unit variance. `white_filters` are the filters of the whitened components.
fn normalize(result: &mut Diagonalization, white_filters: &Matrix) {
    let norm = |k: usize| linalg::dot(white_filters.row(k), white_filters.row(k)).sqrt();
    let norms: Vec<f64> = (0..white_filters.rows()).map(norm).collect();
    let Diagonalization { b, a, powers, .. } = result;
    for (k, norm) in norms.iter().enumerate() {
        b.row_mut(k).iter_mut().for_each(|x| *x /= norm);
        (0..a.rows()).for_each(|c| a[(c, k)] *= norm);
        (0..powers.rows()).for_each(|i| powers[(i, k)] /= norm * norm);
    }
}

/// Returns the standard deviation of every column divided by its mean.
fn nonstationarity(powers: &Matrix) -> Vec<f64> {
    let n = powers.rows() as f64;
    let means = means(powers);
    let variance = |k: usize| -> f64 {
        let deviation = |i: usize| powers[(i, k)] / means[k] - 1.0;
        (0..powers.rows()).map(|i| deviation(i).powi(2) / n).sum()
    };
    (0..powers.columns()).map(|k| variance(k).sqrt()).collect()
}

/// Returns the excess kurtosis of the sources V z of whitened components z, from the diagonals of V
/// Q_ij Vᵀ for all cumulant matrices: Σ_ij v_i v_j v Q_ij vᵀ for each row v of V.
fn excess_kurtosis(v: &Matrix, diagonals: &Matrix) -> Vec<f64> {
    let pairs = || Triangle::new(v.columns()).pairs();
    let one = |a: usize| {
        let terms = pairs().zip(0..diagonals.rows()).map(|((i, j), q)| {
            // Q_ij with i ≠ j represents two matrices, and already has one factor √2.
            cumulants::factor(i, j) * v[(a, i)] * v[(a, j)] * diagonals[(q, a)]
        });
        terms.sum()
    };
    (0..v.rows()).map(one).collect()
}

/// Returns the least separable partners by the margins Γ_ab Γ_ba − 1, with
/// Γ_ab = (1/n) Σ_i Dⁱ_bb / Dⁱ_aa.
fn least_separable_by_ratios(powers: &Matrix) -> Vec<Option<SeparabilityMargin>> {
    let (n, r) = (powers.rows(), powers.columns());
    let inverse = Matrix::from_fn(r, n, |a, i| 1.0 / (powers[(i, a)] * n as f64));
    let gamma = linalg::product(&inverse, powers);
    least_separable(r, |a, b| gamma[(a, b)] * gamma[(b, a)] - 1.0)
}

/// Returns the least separable partners of rotations, by the margins Σ_i (Dⁱ_aa − Dⁱ_bb)².
fn least_separable_by_differences(diagonals: &Matrix) -> Vec<Option<SeparabilityMargin>> {
    let gram = linalg::product(&diagonals.transpose(), diagonals);
    let margin = |a: usize, b: usize| gram[(a, a)] + gram[(b, b)] - 2.0 * gram[(a, b)];
    least_separable(diagonals.columns(), |a, b| margin(a, b).max(0.0))
}

/// Returns the partner of smallest margin of each source.
fn least_separable(
    r: usize,
    margin: impl Fn(usize, usize) -> f64,
) -> Vec<Option<SeparabilityMargin>> {
    let closest = |a: usize| {
        let others = (0..r).filter(|b| *b != a).map(|b| SeparabilityMargin {
            partner: b,
            margin: margin(a, b),
        });
        others.min_by(|x, y| x.margin.total_cmp(&y.margin))
    };
    (0..r).map(closest).collect()
}
