//! Access pair by pair, for Pham's method.

use super::{InMemory, Moving, Sweep};
use crate::linalg::kernels::{self, PairSums};
use crate::matrices::{Pairs, groups};

impl Pairs for InMemory {
    fn pair_sums(&mut self, a: usize, b: usize) -> PairSums {
        self.sum(
            Sweep::Pair,
            |group| {
                let mut sums = PairSums::default();
                for block in &group.blocks {
                    sums += kernels::pair_sums(&block.entries, &block.original.weights, a, b);
                }
                sums
            },
            |total, sums| *total += *sums,
        )
    }

    fn rotate_pair(&mut self, pair: (usize, usize), e: (f64, f64)) {
        let p = self.dimension();
        self.each(Sweep::Pair, |group| {
            for block in &mut group.blocks {
                let lanes = block.original.lanes();
                kernels::rotate_pair(p, &mut block.entries, lanes, pair, e);
            }
        });
    }

    fn log_powers(&mut self) -> f64 {
        let p = self.dimension();
        self.sum(
            Sweep::Diagonals,
            |group| {
                let of = |b: &Moving| groups::log_powers(p, &b.entries, &b.original.weights);
                group.blocks.iter().map(of).sum::<f64>()
            },
            |total, part| *total += *part,
        )
    }
}
