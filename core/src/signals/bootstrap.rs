//! Bayesian bootstrap over blocks of time (Rubin 1981). It estimates the stability of sources if
//! all matrices are estimated from the whole recording.
//!
//! Lagged covariances, cumulants and cospectra are means over time. Their sums are stored for each
//! block of time, and a resample weights the blocks by independent exponential random numbers. No
//! block has weight zero, so that positive definite matrices remain positive definite. If the
//! recording is whitened, the resample is whitened by its own covariance.

use super::cospectra::SpectraEstimator;
use super::covariance::Covariances;
use super::cumulants::{self, FourthMoments};
use super::lags::{add_products, symmetrize};
use super::options::Shrinkage;
use super::reader::{CenteredRecording, count_samples};
use crate::data::needs;
use crate::error::MemoryRemedy;
use crate::init::SplitMix;
use crate::linalg::{self, Matrix, Triangle};
use crate::report::Observer;
use crate::stability::{Outputs, Resample, add_trials, settings_from, solve_all};
use crate::{
    Criterion, Diagonalization, Error, MatrixSet, Memory, SetOptions, Settings, diagonalize_with,
};

/// Maximum number of blocks, which is used unless the sums exceed [`MAX_TOTAL_LEN`].
const MAX_BLOCKS: usize = 30;
/// Minimum number of blocks, if there are enough samples.
const MIN_BLOCKS: usize = 8;
/// Maximum total length of the sums, with at least [`MIN_BLOCKS`] blocks.
const MAX_TOTAL_LEN: usize = 1 << 25;

/// Returns the number of blocks if the sums of a block have length `block_len`.
fn number_of_blocks(block_len: usize) -> usize {
    (MAX_TOTAL_LEN / block_len.max(1)).clamp(MIN_BLOCKS, MAX_BLOCKS)
}

/// The sums of each block of time.
pub(super) enum Blocks {
    /// The blocks of each set of pieces, and the number of lags.
    Lags(Vec<Vec<LagSums>>, usize),
    /// The blocks of the whole recording.
    Cumulants(Vec<MomentSums>),
    /// The cospectra of all blocks, the number of windows of each block, and the amounts of
    /// shrinkage.
    Spectra(Covariances, Vec<usize>, Vec<f64>),
}

/// The fourth moments, second moments and number of samples of a block.
type MomentSums = (FourthMoments, Matrix, f64);

/// The sums of products of a block at lag 0 and all other lags, as packed lower triangles, and the
/// numbers of products.
pub(super) struct LagSums {
    sums: Vec<f64>,
    products: Vec<f64>,
}

impl Blocks {
    /// Blocks of lagged covariances in the coordinates of the reader.
    pub fn from_lags(
        centered: &CenteredRecording<'_>,
        lags: &[usize],
        n_jobs: Option<usize>,
    ) -> Result<Self, Error> {
        let p = centered.dimension();
        let triangle = Triangle::new(p);
        let lags: Vec<usize> = std::iter::once(0).chain(lags.iter().copied()).collect();
        let largest = lags.iter().copied().max().unwrap_or(0);
        let sets = centered.sets.len();
        let count = number_of_blocks(lags.len() * triangle.len() * sets);
        let numbers = Memory::of_numbers(&[count, sets, lags.len(), triangle.len()]);
        let others = lags.len() - 1;
        let what = || format!("the stability of {others} lagged covariances of {p} x {p}");
        numbers.check(what, |_| MemoryRemedy::None)?;
        let mut all = Vec::new();
        for blocks in centered.blocks(count) {
            let mut set_blocks = Vec::new();
            for spans in blocks {
                let mut full = vec![0.0; lags.len() * p * p];
                add_products(centered, &spans, &lags, largest, n_jobs, &mut full)?;
                let packed = full.chunks_exact_mut(p * p).flat_map(|sums| {
                    symmetrize(sums, p, 1.0);
                    let sums = &*sums;
                    triangle.pairs().map(move |(a, b)| sums[a * p + b])
                });
                let products =
                    |lag: &usize| spans.iter().map(|s| s.products(*lag)).sum::<usize>() as f64;
                set_blocks.push(LagSums {
                    sums: packed.collect(),
                    products: lags.iter().map(products).collect(),
                });
            }
            all.push(set_blocks);
        }
        Ok(Self::Lags(all, lags.len()))
    }

    /// Blocks of fourth-order cumulants in the coordinates of the reader.
    pub fn from_cumulants(
        centered: &CenteredRecording<'_>,
        n_jobs: Option<usize>,
    ) -> Result<Self, Error> {
        let p = centered.dimension();
        let count = number_of_blocks((p * p).saturating_mul(p * p) / 16);
        cumulants::check_memory("the stability of JADE", p, |p| {
            let blocks = FourthMoments::memory(p).times(count);
            blocks.plus(cumulants::memory_of_resample(p))
        })?;
        let mut all = Vec::new();
        for spans in centered.blocks(count).into_iter().flatten() {
            let fourth = FourthMoments::sums(centered, &spans, n_jobs)?;
            let mut second = vec![0.0; p * p];
            add_products(centered, &spans, &[0], 0, n_jobs, &mut second)?;
            let samples = count_samples(&spans) as f64;
            all.push((fourth, Matrix::from_rows(p, p, second), samples));
        }
        Ok(Self::Cumulants(all))
    }

    /// Blocks of cospectra of the whole recording in the coordinates of the reader, with the given
    /// amounts of shrinkage. Regroups the windows of the estimator.
    pub fn from_spectra(
        estimator: &mut SpectraEstimator<'_>,
        amounts: &[f64],
    ) -> Result<Self, Error> {
        let p = estimator.reader.dimension();
        let windows = estimator.regroup(number_of_blocks(amounts.len() * p * p));
        let spectra = estimator.estimate(Shrinkage::default())?;
        Ok(Self::Spectra(spectra, windows, amounts.to_vec()))
    }

    /// Returns the number of blocks of each set.
    fn sizes(&self) -> Vec<usize> {
        match self {
            Self::Lags(sets, _) => sets.iter().map(Vec::len).collect(),
            Self::Cumulants(blocks) => vec![blocks.len()],
            Self::Spectra(_, windows, _) => vec![windows.len()],
        }
    }

    /// Returns the matrices of a resample with the given weights of the blocks of each set.
    fn resampled(&self, weights: &[Vec<f64>]) -> Result<ResampledMatrices, Error> {
        match self {
            Self::Lags(sets, lags) => ResampledMatrices::lagged(sets, *lags, weights),
            Self::Cumulants(blocks) => ResampledMatrices::fourth_order(blocks, &weights[0]),
            Self::Spectra(spectra, windows, amounts) => Ok(ResampledMatrices::spectral(
                spectra,
                windows,
                amounts,
                &weights[0],
            )),
        }
    }

    /// Estimates the stability by bootstrap resamples, and adds it to a result.
    pub fn add_stability(
        &self,
        set: &MatrixSet,
        settings: &Settings,
        result: &mut Diagonalization,
        observer: &mut dyn Observer,
    ) -> Result<(), Error> {
        let sizes = self.sizes();
        if sizes.iter().all(|blocks| *blocks < 2) {
            return Ok(()); // All resamples of a single block are equal.
        }
        let summary = set.summary();
        let b = summary.to_reduced(&result.b);
        let reference = Outputs::of(summary, &b);
        let draws = draws(&sizes, settings.n_resamples);
        let options = SetOptions::default().criterion(set.criterion()).n_jobs(1);
        let p = set.dimension();
        let work = draws.len() * set.len() * p * p * p;
        add_trials(result, settings, draws.len(), observer, |settings, seen| {
            let solve = |k: usize, observer: &mut dyn Observer| -> Result<Resample, Error> {
                let ResampledMatrices { matrices, whitener } = self.resampled(&draws[k])?;
                let resampled = matrices.set(&options)?;
                // A rotation needs no conversion to the coordinates of the resample.
                let start = match &whitener {
                    Some(whitener) if set.criterion() == Criterion::LeastSquares => {
                        linalg::product(&b, &whitener.inverse)
                    }
                    _ => b.clone(),
                };
                let settings = settings_from(settings, &start);
                let diagonalization = diagonalize_with(&resampled, &settings, observer)?;
                let found = match &whitener {
                    Some(whitener) => linalg::product(&diagonalization.b, &whitener.w),
                    None => diagonalization.b.clone(),
                };
                Ok(Resample {
                    matches: reference.matches(&Outputs::of(summary, &found)),
                    diagonalization,
                })
            };
            let memory_per_solve = match self {
                Self::Cumulants(_) => cumulants::memory_of_resample(p),
                _ => needs::of_blocks::<f64>(set.len(), p)
                    .times(3)
                    .plus(needs::of_solve::<f64>(set.len(), p)),
            };
            solve_all(
                draws.len(),
                work,
                memory_per_solve,
                set.n_jobs(),
                &solve,
                seen,
            )
        })
    }
}

/// Random weights of the blocks from a fixed seed, with mean 1 in each set.
fn draws(sizes: &[usize], count: usize) -> Vec<Vec<Vec<f64>>> {
    let mut random = SplitMix::new(0x424C_4F43);
    let mut set_weights = |size: &usize| {
        let exponential: Vec<f64> = (0..*size).map(|_| -(0.5 - random.next()).ln()).collect();
        let mean = exponential.iter().sum::<f64>() / *size as f64;
        exponential.into_iter().map(|x| x / mean).collect()
    };
    (0..count)
        .map(|_| sizes.iter().map(&mut set_weights).collect())
        .collect()
}

/// The matrices of a resample, and its whitener if the recording is whitened.
struct ResampledMatrices {
    matrices: Covariances,
    whitener: Option<Whitener>,
}

/// The whitener W = C^(−½) and its inverse.
struct Whitener {
    w: Matrix,
    inverse: Matrix,
}

impl ResampledMatrices {
    /// Creates a resample of the lagged covariances of each set.
    fn lagged(sets: &[Vec<LagSums>], lags: usize, weights: &[Vec<f64>]) -> Result<Self, Error> {
        let length = sets[0][0].sums.len() / lags;
        let triangle = Triangle::of_len(length);
        let p = triangle.size();
        let (mut covariance, mut samples) = (vec![0.0; length], 0.0);
        let mut means = Vec::new();
        for (blocks, weights) in sets.iter().zip(weights) {
            let (mut sums, mut products) = (vec![0.0; lags * length], vec![0.0; lags]);
            for (block, weight) in blocks.iter().zip(weights) {
                linalg::add_multiple(&mut sums, *weight, &block.sums);
                linalg::add_multiple(&mut products, *weight, &block.products);
            }
            linalg::add_multiple(&mut covariance, 1.0, &sums[..length]);
            samples += products[0];
            for (sums, products) in sums.chunks_exact(length).zip(&products).skip(1) {
                let sums = sums.iter().map(|x| x / products.max(1.0));
                means.push(sums.collect::<Vec<f64>>());
            }
        }
        let full = |packed: &[f64]| Matrix::from_fn(p, p, |a, b| packed[triangle.index(a, b)]);
        let covariance: Vec<f64> = covariance.iter().map(|x| x / samples).collect();
        let whitener = Whitener::new(&full(&covariance))?;
        let mut data = Vec::with_capacity(means.len() * p * p);
        for mean in &means {
            let half = linalg::product(&whitener.w, &full(mean));
            data.extend_from_slice(linalg::product(&half, &whitener.w).as_slice());
        }
        let matrices = Covariances::without_shrinkage(data, p);
        Ok(Self::whitened(matrices, whitener))
    }

    /// Creates a resample of the fourth-order cumulants.
    fn fourth_order(blocks: &[MomentSums], weights: &[f64]) -> Result<Self, Error> {
        let samples: f64 = blocks
            .iter()
            .zip(weights)
            .map(|(block, w)| block.2 * w)
            .sum();
        let mut fourth = blocks[0].0.clone();
        fourth.scale(weights[0] / samples);
        let p = blocks[0].1.rows();
        let mut second = vec![0.0; p * p];
        for (k, (block, weight)) in blocks.iter().zip(weights).enumerate() {
            if k > 0 {
                fourth.add(weight / samples, &block.0);
            }
            linalg::add_multiple(&mut second, weight / samples, block.1.as_slice());
        }
        let second = Matrix::from_rows(p, p, second);
        let whitener = Whitener::new(&second)?;
        let cumulants = cumulants::from_moments(&fourth, &second);
        let matrices = cumulants::transformed(cumulants, &whitener.w);
        Ok(Self::whitened(matrices, whitener))
    }

    /// Creates a resample with whitened matrices, which are made exactly symmetric.
    fn whitened(mut matrices: Covariances, whitener: Whitener) -> Self {
        let p = matrices.p;
        let rows = matrices.data.chunks_exact_mut((p * p).max(1));
        rows.for_each(|matrix| symmetrize(matrix, p, 1.0));
        Self {
            matrices,
            whitener: Some(whitener),
        }
    }

    /// Creates a resample of the cospectra.
    fn spectral(
        spectra: &Covariances,
        windows: &[usize],
        shrinkages: &[f64],
        weights: &[f64],
    ) -> Self {
        let (p, bands) = (spectra.p, shrinkages.len());
        let block_weights = || windows.iter().zip(weights).map(|(n, w)| *n as f64 * w);
        let total: f64 = block_weights().sum();
        let mut data = vec![0.0; bands * p * p];
        let blocks = spectra.data.chunks_exact(bands * p * p);
        for (block, weight) in blocks.zip(block_weights()) {
            linalg::add_multiple(&mut data, weight / total, block);
        }
        for (matrix, amount) in data.chunks_exact_mut(p * p).zip(shrinkages) {
            Shrinkage::Fixed(*amount).apply(matrix, p, 0, 0.0);
        }
        Self {
            matrices: Covariances::without_shrinkage(data, p),
            whitener: None,
        }
    }
}

impl Whitener {
    /// Computes C^(−½), which is the symmetric whitener, and C^½.
    fn new(covariance: &Matrix) -> Result<Self, Error> {
        let p = covariance.rows();
        let (values, vectors) = linalg::symmetric_eigen(covariance).ok_or(Error::NoEigenvalues)?;
        let floor = f64::EPSILON * values[p - 1];
        let power = |exponent: f64| {
            let value = |a: usize| values[a].max(floor).powf(exponent);
            let scaled = Matrix::from_fn(p, p, |a, c| value(a) * vectors[(a, c)]);
            linalg::product(&vectors.transpose(), &scaled)
        };
        Ok(Self {
            w: power(-0.5),
            inverse: power(0.5),
        })
    }
}

#[cfg(all(test, feature = "synthetic"))]
mod tests;
