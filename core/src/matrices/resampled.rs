//! Sets drawn from a set.

use std::sync::Arc;

use super::build::weighted_mean;
use super::{Block, MatrixSet, Summary};
use crate::linalg::{self, Scalar};
use crate::threads::Workers;

impl<T: Scalar> MatrixSet<T> {
    /// The matrices that were drawn, each as often as `draws` say, in the coordinates of this set. It is
    /// worked on by one thread; those that were not drawn take no time. None if what was drawn has no weight.
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
            threads: Some(1),
        })
    }
}

#[cfg(all(test, feature = "synthetic"))]
mod tests {
    use crate::{MatrixSet, SetOptions, synthetic};

    #[test]
    fn drawing_is_weighing() {
        let made = synthetic::Synthetic::new(30, 4, 0.1, 3);
        let own: Vec<f64> = (0..30).map(|i| f64::from(i % 7)).collect();
        let draws: Vec<f64> = (0..30).map(|i| f64::from((i * 5) % 4)).collect();
        let options = SetOptions::default().weights(own.clone());
        let set = MatrixSet::with_options(&made.data, 30, 4, &options).unwrap();
        let drawn = set.resampled(&draws).unwrap();
        let both = own
            .iter()
            .zip(&draws)
            .map(|(w, d)| w * d)
            .collect::<Vec<_>>();
        let weighed = SetOptions::default().weights(both.clone());
        let weighed = MatrixSet::with_options(&made.data, 30, 4, &weighed).unwrap();
        assert_eq!(drawn.len(), both.iter().filter(|w| **w > 0.0).count());
        assert!((drawn.constant() - weighed.constant()).abs() < 1e-12);
        let mut pairs = drawn
            .mean()
            .as_slice()
            .iter()
            .zip(weighed.mean().as_slice());
        assert!(pairs.all(|(x, y)| (x - y).abs() < 1e-12));
        assert!((drawn.weights().iter().sum::<f64>() - 1.0).abs() < 1e-12);
        // Nothing but a matrix of weight zero.
        let nothing: Vec<f64> = (0..30).map(|i| f64::from(u8::from(i == 7))).collect();
        assert!(set.resampled(&nothing).is_none());
    }
}
