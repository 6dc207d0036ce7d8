//! Access pair by pair.

use super::{InMemory, TransformedBlock, Work};
use crate::linalg::kernels::{self, MOST_SELECTED, PairSums, RotationSums, Steps};
use crate::linalg::{AlignedBuffer, Scalar};
use crate::matrices::{Block, PairStep, Pairs, groups};

/// A set of at most so many numbers is selected as a whole: where all of it stays in a second level cache, steps that bring the
/// other entries along cost more than they save.
const SMALL: usize = 16_384; // 128 kB

impl<T: Scalar> Pairs<T> for InMemory<T> {
    fn selection_size(&self) -> usize {
        let p = self.dimension();
        let lanes: usize = self.originals().map(Block::lanes).sum();
        if groups::packed_len::<T>(p) * lanes <= SMALL {
            p
        } else {
            MOST_SELECTED.min(p)
        }
    }

    fn select(&mut self, components: &[usize]) {
        let count = components.len();
        self.each(Work::Pair(count), |group| {
            for block in &mut group.blocks {
                block.select(components);
            }
        });
        self.selected = components.to_vec();
        self.steps = Steps::new(count);
    }

    fn pair_sums(&mut self, a: usize, b: usize) -> PairSums<T> {
        let (count, criterion) = (self.selected.len(), self.summary.criterion);
        self.sum(
            Work::Pair(count),
            |group| {
                let mut sums = PairSums::default();
                for block in &mut group.blocks {
                    let (entries, weights) = block.selected(count);
                    sums += kernels::pair_sums(criterion, count, entries, weights, (a, b));
                }
                sums
            },
            |total, sums| *total += *sums,
        )
    }

    fn rotation_sums(&mut self, a: usize, b: usize) -> RotationSums<T> {
        let count = self.selected.len();
        self.sum(
            Work::Pair(count),
            |group| {
                let mut sums = RotationSums::default();
                for block in &mut group.blocks {
                    let (entries, weights) = block.selected(count);
                    sums += kernels::rotation_sums(count, entries, weights, (a, b));
                }
                sums
            },
            |total, sums| *total += *sums,
        )
    }

    fn apply(&mut self, a: usize, b: usize, step: PairStep<T>) {
        let count = self.selected.len();
        self.each(Work::Pair(count), |group| {
            for block in &mut group.blocks {
                let (entries, weights) = block.selected(count);
                let lanes = weights.len();
                match step {
                    PairStep::Shear { ab, ba } => {
                        kernels::shear_pair(count, entries, lanes, (a, b), (ab, ba));
                    }
                    PairStep::Rotation { cosine, sine } => {
                        kernels::rotate_pair(count, entries, lanes, (a, b), (cosine, sine));
                    }
                }
            }
        });
        match step {
            PairStep::Shear { ab, ba } => self.steps.push((a, b), 1.0, (ab, ba)),
            PairStep::Rotation { cosine, sine } => {
                self.steps.push((a, b), cosine, (sine, -sine.conj()));
            }
        }
    }

    fn rejoin(&mut self) {
        let components = std::mem::take(&mut self.selected);
        let steps = std::mem::take(&mut self.steps);
        if steps.is_empty() {
            return;
        }
        self.each(Work::Steps(components.len()), |group| {
            for block in &mut group.blocks {
                block.rejoin(&components, &steps);
            }
        });
    }

    fn diagonal_sum(&mut self) -> f64 {
        let (p, criterion) = (self.dimension(), self.summary.criterion);
        self.sum(
            Work::Diagonals,
            |group| {
                let of = |block: &TransformedBlock<T>| {
                    kernels::diagonal_sum(criterion, p, block.entries(), block.weights())
                };
                group.blocks.iter().map(of).sum::<f64>()
            },
            |total, part| *total += *part,
        )
    }
}

impl<T: Scalar> TransformedBlock<T> {
    /// Sets the entries between some components apart.
    fn select(&mut self, components: &[usize]) {
        let (p, lanes) = (self.original.size(), self.original.lanes());
        // The largest that is to be expected, so that it is not given back for a larger one.
        let count = components.len();
        let most = groups::packed_len::<T>(count.max(MOST_SELECTED.min(p))) * lanes;
        if self.selected.len() < most {
            self.selected = AlignedBuffer::of_len(most);
        }
        let d = self.transformed.as_ref().expect("reset comes first");
        let selected = &mut self.selected[..groups::packed_len::<T>(count) * lanes];
        kernels::select(p, d.entries(), lanes, components, selected);
    }

    /// The entries between so many components that were set apart, and the weights.
    fn selected(&mut self, count: usize) -> (&mut [f64], &[f64]) {
        let weights = &self.original.weights;
        let len = groups::packed_len::<T>(count) * weights.len();
        (&mut self.selected[..len], weights)
    }

    /// Brings all entries of the components to where those that were set apart are.
    fn rejoin(&mut self, components: &[usize], steps: &Steps) {
        let (p, lanes) = (self.original.size(), self.original.lanes());
        let selected = &self.selected[..groups::packed_len::<T>(components.len()) * lanes];
        let d = self.transformed.as_mut().expect("reset comes first");
        kernels::rejoin(p, d.entries_mut(), lanes, components, selected, steps);
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

    /// A set of which all components are selected at once: its pairs have their turns in the plain order.
    struct Whole<T>(InMemory<T>);

    impl<T: Scalar> Pairs<T> for Whole<T> {
        fn selection_size(&self) -> usize {
            self.0.dimension()
        }

        fn select(&mut self, components: &[usize]) {
            self.0.select(components);
        }

        fn pair_sums(&mut self, a: usize, b: usize) -> PairSums<T> {
            self.0.pair_sums(a, b)
        }

        fn rotation_sums(&mut self, a: usize, b: usize) -> RotationSums<T> {
            self.0.rotation_sums(a, b)
        }

        fn apply(&mut self, a: usize, b: usize, step: PairStep<T>) {
            self.0.apply(a, b, step);
        }

        fn rejoin(&mut self) {
            self.0.rejoin();
        }

        fn diagonal_sum(&mut self) -> f64 {
            self.0.diagonal_sum()
        }
    }

    type Sweep<'a, T> = &'a dyn Fn(&mut dyn Pairs<T>, &mut Matrix<T>) -> f64;

    /// That sweeps of a few components at a time are those of all at once.
    fn assert_same_sweeps<T: Scalar>(set: &MatrixSet<T>) {
        let p = set.dimension();
        let identity = Matrix::identity(p);
        let at_start = || {
            let mut set = InMemory::new(set);
            set.reset(&identity).unwrap();
            set
        };
        let pham = |set: &mut dyn Pairs<T>, b: &mut Matrix<T>| {
            let errors = &mut CarriedErrors::fresh(b, &identity);
            pham::sweep(set, b, errors)
        };
        let jacobi = |set: &mut dyn Pairs<T>, b: &mut Matrix<T>| jacobi::sweep(set, b, 0.01);
        let sweeps: [Sweep<'_, T>; 2] = [&pham, &jacobi];
        for sweep in sweeps {
            let (mut set, mut whole) = (at_start(), Whole(at_start()));
            assert!(set.selection_size() < p);
            let (mut b, mut expected) = (identity.clone(), identity.clone());
            for _ in 0..2 {
                let (x, y) = (sweep(&mut set, &mut b), sweep(&mut whole, &mut expected));
                assert!((x - y).abs() <= 1e-12 * y.abs(), "{x} {y}");
            }
            let close = |x: &Matrix<T>, y: &Matrix<T>| {
                let pairs = x.as_slice().iter().zip(y.as_slice());
                pairs.fold(0.0_f64, |most, (x, y)| most.max((*x - *y).abs())) <= 1e-12 * y.norm()
            };
            assert!(close(&b, &expected));
            assert!(close(&set.mean().unwrap(), &whole.0.mean().unwrap()));
            // And they are where B is.
            let moved = set.statistics().unwrap();
            set.reset(&b).unwrap();
            let made = set.statistics().unwrap();
            assert!((moved.gradient.norm() / made.gradient.norm() - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn sweeps_of_a_few_components_at_a_time_are_those_of_all() {
        assert_same_sweeps(&synthetic::noisy(300, 25, 0.1, 0));
        assert_same_sweeps(&synthetic::hermitian(40, 21, 0.1, 0));
    }
}
