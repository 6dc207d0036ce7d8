//! Resamples and subsets of a set.

use std::sync::Arc;

use super::build::{assign_weights, gather, weighted_mean};
use super::{Block, Criterion, MatrixSet, SetOptions, Summary};
use crate::Error;
use crate::linalg::{self, Scalar};
use crate::threads::Workers;

impl<T: Scalar> MatrixSet<T> {
    /// Returns the resample in which matrix i was drawn `draws[i]` times, in the coordinates of
    /// this set and for one thread. Matrices that were not drawn are left out. None if the total
    /// weight is zero.
    pub(crate) fn resampled(&self, draws: &[f64]) -> Option<Self> {
        let places = self.blocks.iter().flat_map(|block| {
            let lanes = 0..block.matrices;
            lanes.map(move |lane| (&**block, lane))
        });
        let drawn: Vec<(usize, (&Block<T>, usize))> = places
            .enumerate()
            .filter(|(i, _)| draws[*i] * self.weights[*i] > 0.0)
            .collect();
        let total: f64 = drawn
            .iter()
            .map(|(i, _)| draws[*i] * self.weights[*i])
            .sum();
        if total <= 0.0 {
            return None;
        }
        let p = self.dimension();
        let block = |chunk: &[(usize, (&Block<T>, usize))]| {
            let places: Vec<(&Block<T>, usize)> = chunk.iter().map(|(_, place)| *place).collect();
            let mut block = Block::pick(p, &places, total);
            let weights = block.weights.iter_mut().zip(chunk);
            weights.for_each(|(weight, (i, _))| *weight *= draws[*i]);
            Arc::new(block)
        };
        let blocks: Vec<Arc<Block<T>>> = drawn.chunks(Block::<T>::capacity(p)).map(block).collect();
        let weight = |(i, _): &(usize, _)| draws[*i] * self.weights[*i] / total;
        let weights: Vec<f64> = drawn.iter().map(weight).collect();
        let constants: Vec<f64> = drawn.iter().map(|(i, _)| self.constants[*i]).collect();
        Some(Self {
            summary: Summary {
                criterion: self.summary.criterion,
                len: drawn.len(),
                mean: weighted_mean(p, &blocks, &Workers::One),
                constant: linalg::dot(&weights, &constants),
                reduction: self.summary.reduction.clone(),
            },
            blocks,
            weights,
            constants: constants.into(),
            n_jobs: Some(1),
        })
    }

    /// Returns the sum of the weights of the chosen matrices, and the chosen matrices as a set with
    /// normalized weights. None if the sum is zero. The constants are set to 0: losses of the
    /// sample lack a constant.
    pub(crate) fn sample(&self, chosen: impl Fn(usize) -> bool) -> Option<(f64, Self)> {
        let p = self.dimension();
        let places = self.blocks.iter().flat_map(|block| {
            let lanes = 0..block.matrices;
            lanes.map(move |lane| (&**block, lane))
        });
        let places = places.enumerate().filter(|(i, _)| chosen(*i));
        let places: Vec<(&Block<T>, usize)> = places.map(|(_, place)| place).collect();
        let total: f64 = places.iter().map(|(b, lane)| b.weights[*lane]).sum();
        if total <= 0.0 {
            return None;
        }
        let places_of_blocks: Vec<_> = places.chunks(Block::<T>::capacity(p)).collect();
        let workers = Workers::for_work(self.n_jobs, 8 * T::PLANES * places.len() * p * p);
        let pick = |_, places: &&[_]| Arc::new(Block::pick(p, places, total));
        let blocks = workers.map(&places_of_blocks, pick);
        Some((total, self.without_constants(blocks, &workers)))
    }

    /// Creates a set of other blocks with the criterion and the threads of this one. The constants
    /// are set to 0.
    fn without_constants(&self, blocks: Vec<Arc<Block<T>>>, workers: &Workers) -> Self {
        let weights = blocks.iter().flat_map(|b| &b.weights[..b.matrices]);
        let weights: Vec<f64> = weights.copied().collect();
        Self {
            summary: Summary {
                criterion: self.summary.criterion,
                len: weights.len(),
                mean: weighted_mean(self.dimension(), &blocks, workers),
                constant: 0.0,
                reduction: None,
            },
            blocks,
            constants: vec![0.0; weights.len()].into(),
            weights,
            n_jobs: self.n_jobs,
        }
    }

    /// Creates a set from matrices of another set in row-major order, whose weights sum to 1. The
    /// constants are set to 0.
    pub(crate) fn of_sample(
        criterion: Criterion,
        p: usize,
        data: &[T],
        weights: &[f64],
        n_jobs: Option<usize>,
    ) -> Result<Self, Error> {
        let options = SetOptions::default().criterion(criterion).n_jobs(n_jobs);
        let mut blocks = gather(data, p, 0, &options)?;
        assign_weights(weights, &mut blocks);
        let workers = Workers::new(n_jobs, weights.len() * T::PLANES.pow(2), p);
        Ok(Self {
            summary: Summary {
                criterion,
                len: weights.len(),
                mean: weighted_mean(p, &blocks, &workers),
                constant: 0.0,
                reduction: None,
            },
            blocks: blocks.into_iter().map(Arc::new).collect(),
            weights: weights.to_vec(),
            constants: vec![0.0; weights.len()].into(),
            n_jobs,
        })
    }
}

#[cfg(all(test, feature = "synthetic"))]
mod tests {
    use crate::{MatrixSet, SetOptions, synthetic};

    #[test]
    fn resample_is_equivalent_to_weights() {
        let generated = synthetic::Synthetic::new(30, 4, 0.1, 3);
        let own: Vec<f64> = (0..30).map(|i| f64::from(i % 7)).collect();
        let draws: Vec<f64> = (0..30).map(|i| f64::from((i * 5) % 4)).collect();
        let options = SetOptions::default().weights(own.clone());
        let set = MatrixSet::with_options(&generated.data, 30, 4, &options).unwrap();
        let drawn = set.resampled(&draws).unwrap();
        let both = own
            .iter()
            .zip(&draws)
            .map(|(w, d)| w * d)
            .collect::<Vec<_>>();
        let options = SetOptions::default().weights(both.clone());
        let weighted = MatrixSet::with_options(&generated.data, 30, 4, &options).unwrap();
        assert_eq!(drawn.len(), both.iter().filter(|w| **w > 0.0).count());
        assert!((drawn.constant() - weighted.constant()).abs() < 1e-12);
        let mut pairs = drawn
            .mean()
            .as_slice()
            .iter()
            .zip(weighted.mean().as_slice());
        assert!(pairs.all(|(x, y)| (x - y).abs() < 1e-12));
        assert!((drawn.weights().iter().sum::<f64>() - 1.0).abs() < 1e-12);
        // Only a matrix of weight zero is drawn.
        let nothing: Vec<f64> = (0..30).map(|i| f64::from(u8::from(i == 7))).collect();
        assert!(set.resampled(&nothing).is_none());
    }
}
