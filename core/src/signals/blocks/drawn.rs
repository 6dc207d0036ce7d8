//! The matrices of a recording whose blocks of time are weighed.

use super::LagSums;
use crate::Error;
use crate::linalg::{self, Matrix, Triangle};
use crate::signals::Covariances;
use crate::signals::cumulants::{self, FourthMoments};
use crate::signals::lags::symmetrize;

/// The matrices of a draw, and the W that whitens it again, if that is to be.
pub(super) struct Drawn {
    pub matrices: Covariances,
    pub whitener: Option<Whitener>,
}

/// W = C^(−½), and its inverse.
pub(super) struct Whitener {
    pub w: Matrix,
    pub inverse: Matrix,
}

impl Drawn {
    /// The lagged covariances of each set.
    pub fn lagged(
        sets: &[Vec<LagSums>],
        lags: usize,
        weights: &[Vec<f64>],
    ) -> Result<Drawn, Error> {
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
        let n = means.len();
        data.chunks_exact_mut((p * p).max(1))
            .for_each(|matrix| symmetrize(matrix, p, 1.0));
        Ok(Drawn {
            matrices: Covariances {
                data,
                n,
                p,
                shrinkages: vec![0.0; n],
            },
            whitener: Some(whitener),
        })
    }

    /// The fourth-order cumulants.
    pub fn fourth_order(
        blocks: &[(FourthMoments, Matrix, f64)],
        weights: &[f64],
    ) -> Result<Drawn, Error> {
        let samples: f64 = blocks.iter().zip(weights).map(|(own, w)| own.2 * w).sum();
        let mut fourth = blocks[0].0.clone();
        fourth.scale(weights[0] / samples);
        let p = blocks[0].1.rows();
        let mut second = vec![0.0; p * p];
        for (k, (own, weight)) in blocks.iter().zip(weights).enumerate() {
            if k > 0 {
                fourth.add(weight / samples, &own.0);
            }
            linalg::add_multiple(&mut second, weight / samples, own.1.as_slice());
        }
        let second = Matrix::from_rows(p, p, second);
        let whitener = Whitener::new(&second)?;
        let cumulants = cumulants::of_moments(&fourth, &second);
        let mut matrices = cumulants::transformed(cumulants, &whitener.w);
        let own = matrices.data.chunks_exact_mut((p * p).max(1));
        own.for_each(|matrix| symmetrize(matrix, p, 1.0));
        Ok(Drawn {
            matrices,
            whitener: Some(whitener),
        })
    }

    /// The cospectra.
    pub fn spectral(
        spectra: &Covariances,
        windows: &[usize],
        shrinkages: &[f64],
        weights: &[f64],
    ) -> Drawn {
        let (p, bands) = (spectra.p, shrinkages.len());
        let shares = || windows.iter().zip(weights).map(|(n, w)| *n as f64 * w);
        let total: f64 = shares().sum();
        let mut data = vec![0.0; bands * p * p];
        for (block, share) in spectra.data.chunks_exact(bands * p * p).zip(shares()) {
            linalg::add_multiple(&mut data, share / total, block);
        }
        for (matrix, amount) in data.chunks_exact_mut(p * p).zip(shrinkages) {
            let mean = (0..p).map(|a| matrix[a * p + a]).sum::<f64>() / p as f64;
            matrix.iter_mut().for_each(|x| *x *= 1.0 - amount);
            (0..p).for_each(|a| matrix[a * p + a] += amount * mean);
        }
        Drawn {
            matrices: Covariances {
                data,
                n: bands,
                p,
                shrinkages: shrinkages.to_vec(),
            },
            whitener: None,
        }
    }
}

impl Whitener {
    /// C^(−½) and C^½: of all whiteners the one that changes least.
    fn new(covariance: &Matrix) -> Result<Self, Error> {
        let p = covariance.rows();
        let (values, vectors) = linalg::symmetric_eigen(covariance).ok_or(Error::NoEigenvalues)?;
        let least = f64::EPSILON * values[p - 1];
        let root = |power: f64| {
            let value = |a: usize| values[a].max(least).powf(power);
            let scaled = Matrix::from_fn(p, p, |a, c| value(a) * vectors[(a, c)]);
            linalg::product(&vectors.transpose(), &scaled)
        };
        Ok(Self {
            w: root(-0.5),
            inverse: root(0.5),
        })
    }
}
