//! Access pair by pair.

use super::{InMemory, TransformedBlock, Work};
use crate::linalg::Scalar;
use crate::linalg::kernels::{self, PairSums, RotationSums};
use crate::matrices::{PairStep, Pairs, groups};

impl<T: Scalar> Pairs<T> for InMemory<T> {
    fn pair_sums(&mut self, a: usize, b: usize) -> PairSums<T> {
        let (p, criterion) = (self.dimension(), self.summary.criterion);
        self.sum(
            Work::Pair,
            |group| {
                let mut sums = PairSums::default();
                for block in &group.blocks {
                    let (entries, weights) = (block.entries(), block.weights());
                    sums += kernels::pair_sums(criterion, p, entries, weights, (a, b));
                }
                sums
            },
            |total, sums| *total += *sums,
        )
    }

    fn rotation_sums(&mut self, a: usize, b: usize) -> RotationSums<T> {
        let p = self.dimension();
        self.sum(
            Work::Pair,
            |group| {
                let mut sums = RotationSums::default();
                for block in &group.blocks {
                    let (entries, weights) = (block.entries(), block.weights());
                    sums += kernels::rotation_sums(p, entries, weights, (a, b));
                }
                sums
            },
            |total, sums| *total += *sums,
        )
    }

    fn apply(&mut self, a: usize, b: usize, step: PairStep<T>) {
        self.each(Work::Pair, |group| {
            for block in &mut group.blocks {
                let d = block.transformed.as_mut().expect("reset comes first");
                step.apply_to_batch(d, a, b);
            }
        });
    }

    fn diagonal_sum(&mut self) -> f64 {
        let (p, criterion) = (self.dimension(), self.summary.criterion);
        self.sum(
            Work::Diagonals,
            |group| {
                let of = |block: &TransformedBlock<T>| {
                    groups::diagonal_sum(criterion, p, block.entries(), block.weights())
                };
                group.blocks.iter().map(of).sum::<f64>()
            },
            |total, part| *total += *part,
        )
    }
}
