//! Blocks of time, drawn anew: how surely sources come again where one set of matrices is made of the whole
//! recording.
//!
//! Lagged covariances, cumulants and cospectra are means over time. What would be different in another recording of
//! the same sources is which moments it has, not which lags, cumulants or bands are looked at. So the sums behind the
//! matrices are kept block by block of time, and weighed anew: by independent exponential numbers (Rubin's
//! bootstrap), which leave no block out entirely, so that all that was positive definite stays so. What was whitened is
//! whitened again, as the recording of these weights would have been.

mod drawn;

use super::centered::Centered;
use super::cospectra::SpectraEstimator;
use super::cumulants::FourthMoments;
use super::lags::{add_products, symmetrize};
use super::{Covariances, Shrinkage, cumulants};
use crate::data::needs;
use crate::error::MemoryRemedy;
use crate::init::SplitMix;
use crate::linalg::{self, Matrix, Triangle};
use crate::report::Observer;
use crate::stability::{Outputs, Resample, add_trials, settings_from, solve_all};
use crate::{
    Criterion, Diagonalization, Error, MatrixSet, Memory, SetOptions, Settings, diagonalize_with,
};

use drawn::Drawn;

/// How many blocks there are, unless that takes too much memory.
const MOST: usize = 30;
/// How many there are at least, if there are samples for them.
const FEWEST: usize = 8;
/// The numbers that all sums of blocks may hold before there are fewer blocks.
const NUMBERS: usize = 1 << 25;

/// How many blocks of so many numbers.
fn number_of_blocks(numbers: usize) -> usize {
    (NUMBERS / numbers.max(1)).clamp(FEWEST, MOST)
}

/// The sums of every block of time.
pub(super) enum Blocks {
    /// Of each set of pieces its blocks; and the number of lags.
    Lags(Vec<Vec<LagSums>>, usize),
    /// Fourth moments, second moments, and the number of samples.
    Cumulants(Vec<(FourthMoments, Matrix, f64)>),
    /// The cospectra of all blocks, how many windows each of them has, and by how much the bands were shrunk.
    Spectra(Covariances, Vec<usize>, Vec<f64>),
}

/// Of one block: the sums of products at lag 0 and at all others, as lower triangles, and how many they are.
pub(super) struct LagSums {
    sums: Vec<f64>,
    products: Vec<f64>,
}

impl Blocks {
    /// Of lagged covariances, in the reader's coordinates.
    pub fn of_lags(
        centered: &Centered<'_>,
        lags: &[usize],
        threads: Option<usize>,
    ) -> Result<Self, Error> {
        let p = centered.dimension();
        let triangle = Triangle::new(p);
        let lags: Vec<usize> = std::iter::once(0).chain(lags.iter().copied()).collect();
        let largest = lags.iter().copied().max().unwrap_or(0);
        let sets = centered.sets().len();
        let count = number_of_blocks(lags.len() * triangle.len() * sets);
        let numbers = Memory::of_numbers(&[count, sets, lags.len(), triangle.len()]);
        let what = || {
            format!(
                "the stability of {} lagged covariances of {p} x {p}",
                lags.len() - 1
            )
        };
        numbers.check(what, |_| MemoryRemedy::None)?;
        let mut all = Vec::new();
        for blocks in centered.blocks(count) {
            let mut of_set = Vec::new();
            for spans in blocks {
                let mut full = vec![0.0; lags.len() * p * p];
                add_products(centered, &spans, &lags, largest, threads, &mut full)?;
                let packed = full.chunks_exact_mut(p * p).flat_map(|sums| {
                    symmetrize(sums, p, 1.0);
                    let sums = &*sums;
                    triangle.pairs().map(move |(a, b)| sums[a * p + b])
                });
                let reach = |lag: usize| -> usize {
                    let own = spans.iter();
                    own.map(|span| span.reaching(lag).samples.len().saturating_sub(lag))
                        .sum()
                };
                of_set.push(LagSums {
                    sums: packed.collect(),
                    products: lags.iter().map(|lag| reach(*lag) as f64).collect(),
                });
            }
            all.push(of_set);
        }
        Ok(Self::Lags(all, lags.len()))
    }

    /// Of fourth-order cumulants, in the reader's coordinates.
    pub fn of_cumulants(centered: &Centered<'_>, threads: Option<usize>) -> Result<Self, Error> {
        let p = centered.dimension();
        let count = number_of_blocks((p * p).saturating_mul(p * p) / 16);
        cumulants::check_memory("the stability of JADE", p, |p| {
            let blocks = FourthMoments::memory(p).times(count);
            blocks.plus(cumulants::memory_of_draw(p))
        })?;
        let mut all = Vec::new();
        for spans in centered.blocks(count).into_iter().flatten() {
            let fourth = FourthMoments::sums(centered, &spans, threads)?;
            let mut second = vec![0.0; p * p];
            add_products(centered, &spans, &[0], 0, threads, &mut second)?;
            let samples: usize = spans.iter().map(|span| span.samples.len()).sum();
            all.push((fourth, Matrix::from_rows(p, p, second), samples as f64));
        }
        Ok(Self::Cumulants(all))
    }

    /// Of cospectra of the whole recording, in the reader's coordinates, which are shrunk by these amounts. The
    /// estimator's windows are those of the blocks from then on.
    pub fn of_spectra(
        estimator: &mut SpectraEstimator<'_>,
        shrinkages: Vec<f64>,
    ) -> Result<Self, Error> {
        let p = estimator.reader.dimension();
        let windows = estimator.regroup(number_of_blocks(shrinkages.len() * p * p));
        let spectra = estimator.estimate(Shrinkage::default())?;
        Ok(Self::Spectra(spectra, windows, shrinkages))
    }

    /// How many blocks can be weighed against each other.
    fn sizes(&self) -> Vec<usize> {
        match self {
            Self::Lags(sets, _) => sets.iter().map(Vec::len).collect(),
            Self::Cumulants(blocks) => vec![blocks.len()],
            Self::Spectra(_, windows, _) => vec![windows.len()],
        }
    }

    /// The matrices of the blocks, weighed: of each set its weights.
    fn drawn(&self, weights: &[Vec<f64>]) -> Result<Drawn, Error> {
        match self {
            Self::Lags(sets, lags) => Drawn::lagged(sets, *lags, weights),
            Self::Cumulants(blocks) => Drawn::fourth_order(blocks, &weights[0]),
            Self::Spectra(spectra, windows, shrinkages) => {
                Ok(Drawn::spectral(spectra, windows, shrinkages, &weights[0]))
            }
        }
    }

    /// Adds to the stability of an answer what solves of draws tell of it, as many as the settings ask for.
    pub fn assess(
        &self,
        set: &MatrixSet,
        settings: &Settings,
        answer: &mut Diagonalization,
        observer: &mut dyn Observer,
    ) -> Result<(), Error> {
        let sizes = self.sizes();
        if sizes.iter().all(|blocks| *blocks < 2) {
            return Ok(()); // Every draw of a single block is the same.
        }
        let summary = set.summary();
        let b = summary.to_reduced(&answer.b);
        let reference = Outputs::of(summary, &b);
        let draws = draws(&sizes, settings.stability);
        let options = SetOptions::default().criterion(set.criterion()).threads(1);
        let p = set.dimension();
        let work = draws.len() * set.len() * p * p * p;
        add_trials(answer, settings, draws.len(), observer, |settings, seen| {
            let solve = |k: usize, observer: &mut dyn Observer| -> Result<Resample, Error> {
                let Drawn { matrices, whitener } = self.drawn(&draws[k])?;
                let drawn = matrices.set(&options)?;
                // A rotation stays one.
                let start = match &whitener {
                    Some(whitener) if set.criterion() == Criterion::LeastSquares => {
                        linalg::product(&b, &whitener.inverse)
                    }
                    _ => b.clone(),
                };
                let settings = settings_from(settings, &start);
                let diagonalization = diagonalize_with(&drawn, &settings, observer)?;
                let found = match &whitener {
                    Some(whitener) => linalg::product(&diagonalization.b, &whitener.w),
                    None => diagonalization.b.clone(),
                };
                Ok(Resample {
                    matches: reference.matches(&Outputs::of(summary, &found)),
                    diagonalization,
                })
            };
            let each = match self {
                Self::Cumulants(_) => cumulants::memory_of_draw(p),
                _ => needs::of_blocks::<f64>(set.len(), p)
                    .times(3)
                    .plus(needs::of_solve::<f64>(set.len(), p)),
            };
            solve_all(draws.len(), work, each, set.threads(), &solve, seen)
        })
    }
}

/// Weights of blocks, of mean 1 in each set, always the same ones.
fn draws(sizes: &[usize], count: usize) -> Vec<Vec<Vec<f64>>> {
    let mut random = SplitMix::new(0x424C_4F43);
    let mut of_set = |size: &usize| {
        let drawn: Vec<f64> = (0..*size).map(|_| -(0.5 - random.next()).ln()).collect();
        let mean = drawn.iter().sum::<f64>() / *size as f64;
        drawn.into_iter().map(|x| x / mean).collect()
    };
    (0..count)
        .map(|_| sizes.iter().map(&mut of_set).collect())
        .collect()
}

#[cfg(all(test, feature = "synthetic"))]
mod tests {
    use super::*;
    use crate::signals::reader::{Coordinates, Reader};
    use crate::signals::{
        Bands, CovarianceOptions, Piece, Recording, View, cospectra, cumulants, lags, simulate,
    };

    /// Three channels that are neither white nor Gaussian.
    fn recording(data: &mut Vec<f64>) -> View<'_> {
        let made = simulate::nonstationary(3, 20, 50, 5);
        let later = made.data.iter().skip(1).chain(&[0.0]);
        *data = made
            .data
            .iter()
            .zip(later)
            .map(|(x, y)| x + 0.7 * y)
            .collect();
        View::new(data, 3, 1000).unwrap()
    }

    fn centered<'a>(recording: &'a dyn Recording, sets: &[Vec<Piece>]) -> Centered<'a> {
        let reader = Reader {
            recording,
            coordinates: Coordinates::Channels,
            center: true,
        };
        Centered::new(reader, sets).unwrap()
    }

    fn assert_close(x: &[f64], y: &[f64]) {
        assert_within(1e-10, x, y);
    }

    fn assert_within(share: f64, x: &[f64], y: &[f64]) {
        assert_eq!(x.len(), y.len());
        let size = x.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
        for (x, y) in x.iter().zip(y) {
            assert!((x - y).abs() < share * size, "{x} {y} {share:e}");
        }
    }

    /// With a gap, and in two segments: no product is lost or counted twice.
    #[test]
    fn blocks_of_weight_one_are_the_whole() {
        let mut data = Vec::new();
        let recording = recording(&mut data);
        let sets = [vec![vec![0..310, 350..601]], vec![vec![601..1000]]];
        let centered = centered(&recording, &sets);
        let lagged_whole = lags::lagged(&centered, &[1, 7, 40], None).unwrap();
        let blocks = Blocks::of_lags(&centered, &[1, 7, 40], None).unwrap();
        assert_eq!(blocks.sizes(), [MOST, MOST]);
        let ones: Vec<Vec<f64>> = blocks.sizes().iter().map(|n| vec![1.0; *n]).collect();
        let Drawn { matrices, whitener } = blocks.drawn(&ones).unwrap();
        let w = whitener.unwrap().inverse;
        for (whole, own) in lagged_whole.data.chunks(9).zip(matrices.data.chunks(9)) {
            let own = Matrix::from_rows(3, 3, own.to_vec());
            assert_close(
                whole,
                linalg::product(&linalg::product(&w, &own), &w).as_slice(),
            );
        }
        // What is drawn is white.
        let covariance = centered.covariance(None).unwrap();
        assert_close(linalg::product(&w, &w).as_slice(), covariance.as_slice());

        let bands = Bands::new(vec![(5.0, 20.0), (20.0, 45.0)], 100.0);
        let options = CovarianceOptions::default();
        let whole = cospectra(&recording, &bands, &options).unwrap();
        let pieces = std::iter::once(0..1000).collect();
        let mut estimator = SpectraEstimator::new(&recording, &bands, &[pieces], &options).unwrap();
        let blocks = Blocks::of_spectra(&mut estimator, vec![0.0; 2]).unwrap();
        let ones = vec![vec![1.0; blocks.sizes()[0]]];
        assert!(blocks.sizes()[0] > 1);
        assert_close(&whole.data, &blocks.drawn(&ones).unwrap().matrices.data);
    }

    /// Cumulants of blocks, whitened, are those of the recording whitened beforehand.
    #[test]
    fn cumulants_are_whitened_in_all_four_indices() {
        let mut data = Vec::new();
        let recording = recording(&mut data);
        let sets = [vec![vec![0..1000]]];
        let mut centered = centered(&recording, &sets);
        let blocks = Blocks::of_cumulants(&centered, None).unwrap();
        let ones = vec![vec![1.0; blocks.sizes()[0]]];
        let Drawn { matrices, whitener } = blocks.drawn(&ones).unwrap();
        let w = whitener.unwrap().w;
        // Whitened four times over, moments of the channels lose the square of the covariance's condition.
        let (values, _) = linalg::symmetric_eigen(&w).unwrap();
        let condition = (values[2] / values[0]).powi(2);
        centered.reader.coordinates = Coordinates::Filtered(w);
        let white = cumulants::of_white(&centered, None).unwrap();
        assert_within(1e-14 * condition.powi(2), &white.data, &matrices.data);
    }

    #[test]
    fn weights_are_positive_and_of_mean_one() {
        for draw in draws(&[30, 8], 20) {
            assert_eq!((draw[0].len(), draw[1].len()), (30, 8));
            for own in draw {
                assert!(own.iter().all(|x| *x > 0.0));
                assert!((own.iter().sum::<f64>() / own.len() as f64 - 1.0).abs() < 1e-12);
            }
        }
        let (one, other) = (draws(&[30], 2), draws(&[30], 2));
        assert_eq!(one, other);
        assert_ne!(one[0], one[1]);
    }
}
