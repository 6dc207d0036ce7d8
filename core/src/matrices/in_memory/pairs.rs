//! Access pair by pair.

use std::ops::AddAssign;

use super::{Group, InMemory, Work};
use crate::linalg::Scalar;
use crate::linalg::kernels::{self, PairSums, RotationSums};
use crate::matrices::{PairStep, Pairs};

impl<T: Scalar> InMemory<T> {
    /// The sum over all blocks of what `part` makes of their entries and weights.
    fn sum_of_blocks<S: Default + Copy + AddAssign + Send>(
        &mut self,
        work: Work,
        part: impl Fn(&[f64], &[f64]) -> S + Sync + Send,
    ) -> S {
        let of_group = |group: &mut Group<T>| {
            let mut sum = S::default();
            for block in &group.blocks {
                sum += part(block.entries(), block.weights());
            }
            sum
        };
        self.sum(work, of_group, |total, part| *total += *part)
    }
}

impl<T: Scalar> Pairs<T> for InMemory<T> {
    fn pair_sums(&mut self, a: usize, b: usize) -> PairSums<T> {
        let (p, criterion) = (self.dimension(), self.summary.criterion);
        self.sum_of_blocks(Work::PairSums, |entries, weights| {
            kernels::pair_sums(criterion, p, entries, weights, (a, b))
        })
    }

    fn rotation_sums(&mut self, a: usize, b: usize) -> RotationSums<T> {
        let p = self.dimension();
        self.sum_of_blocks(Work::PairSums, |entries, weights| {
            kernels::rotation_sums(p, entries, weights, (a, b))
        })
    }

    fn apply(&mut self, a: usize, b: usize, step: PairStep<T>) {
        let p = self.dimension();
        self.each(Work::PairStep, |group| {
            for block in &mut group.blocks {
                let lanes = block.original.lanes();
                let d = block.transformed.as_mut().expect("reset comes first");
                kernels::transform_pair(p, d.entries_mut(), lanes, (a, b), step.coefficients());
            }
        });
    }

    fn diagonal_sum(&mut self) -> f64 {
        let (p, criterion) = (self.dimension(), self.summary.criterion);
        self.sum_of_blocks(Work::Diagonals, |entries, weights| {
            kernels::diagonal_sum(criterion, p, entries, weights)
        })
    }
}

#[cfg(all(test, feature = "synthetic"))]
mod tests {
    use super::*;
    use crate::linalg::Matrix;
    use crate::matrices::WorkingSet;
    use crate::pairwise::{jacobi, pham};
    use crate::rounding::CarriedErrors;
    use crate::{MatrixSet, synthetic};

    /// That sweeps transform the matrices as they transform B.
    fn assert_consistent_sweeps<T: Scalar>(set: &MatrixSet<T>) {
        let identity = Matrix::identity(set.dimension());
        let (mut set, mut b) = (InMemory::new(set), identity.clone());
        set.reset(&b).unwrap();
        pham::sweep(
            &mut set,
            &mut b,
            &mut CarriedErrors::fresh(&identity, &identity),
        );
        jacobi::sweep(&mut set, &mut b, 0.01);
        let updated = set.mean().unwrap();
        set.reset(&b).unwrap();
        let recomputed = set.mean().unwrap();
        for (x, y) in updated.as_slice().iter().zip(recomputed.as_slice()) {
            assert!((*x - *y).abs() <= 1e-12 * recomputed.norm());
        }
    }

    #[test]
    fn sweeps_transform_the_matrices_as_they_transform_b() {
        assert_consistent_sweeps(&synthetic::noisy(300, 25, 0.1, 0));
        assert_consistent_sweeps(&synthetic::hermitian(40, 21, 0.1, 0));
    }
}
