//! The matrices Dⁱ in single precision.
//!
//! Far from a solution seven digits are more than a step needs, and vectors hold twice as many numbers of four bytes:
//! passes take half the time. Only what iterations ask is answered from these.

use std::marker::PhantomData;

use super::{Group, TransformedBlock};
use crate::criterion::Criterion;
use crate::linalg::kernels::{self, MomentSums, Real};
use crate::linalg::{F32Buffer, Matrix, Scalar, Triangle};
use crate::matrices::LinePoint;

/// The largest component of a matrix may have so many times the power of the smallest: the errors of the former come into
/// the latter with every step.
const RANGE: f64 = 1e4;

/// Whether the digits of single precision will do for matrices of that size, so many to a row.
pub(super) fn will_do<R: Real>(p: usize, entries: &[R], lanes: usize) -> bool {
    let triangle = Triangle::new(p);
    let diagonal = |a: usize| &entries[triangle.diagonal(a) * lanes..][..lanes];
    let widened = |x: &R| x.widened();
    let mut least: Vec<f64> = diagonal(0).iter().map(widened).collect();
    let mut most = least.clone();
    for a in 1..p {
        for ((x, least), most) in diagonal(a).iter().zip(&mut least).zip(&mut most) {
            *least = least.min(x.widened());
            *most = most.max(x.widened());
        }
    }
    // Not a number is no large one.
    let mut ranges = least.iter().zip(&most);
    ranges.all(|(least, most)| RANGE * least > *most)
}

/// The matrices of a block or two where the solver stands.
pub(super) struct SingleBlock<T> {
    p: usize,
    /// One per lane; zero for those that fill the last vector.
    pub weights: Vec<f64>,
    /// How many lanes are not only there to fill it.
    matrices: usize,
    d: F32Buffer,
    /// E Dⁱ + (E Dⁱ)ᴴ and E Dⁱ Eᴴ, once a direction has been probed.
    line: Option<(F32Buffer, F32Buffer)>,
    scalar: PhantomData<T>,
}

impl<T: Scalar> SingleBlock<T> {
    /// The matrices of some blocks side by side, divided by `unit`, a power of two.
    fn new(p: usize, blocks: &[TransformedBlock<T>], unit: f64) -> Self {
        let lanes: usize = blocks.iter().map(|block| block.original.lanes()).sum();
        let filling = blocks
            .last()
            .map_or(0, |last| last.original.lanes() - last.original.matrices);
        let all = lanes.next_multiple_of(f32::LANES);
        let mut weights: Vec<f64> = Vec::with_capacity(all);
        blocks
            .iter()
            .for_each(|block| weights.extend_from_slice(block.weights()));
        weights.resize(all, 0.0);
        let inverse = 1.0 / unit;
        let triangle = Triangle::new(p);
        let mut d = F32Buffer::of_len(T::PLANES * triangle.len() * all);
        for (row, out) in d.chunks_exact_mut(all).enumerate() {
            let mut rest = &mut out[..];
            for block in blocks {
                let own = block.original.lanes();
                let numbers = &block.entries()[row * own..][..own];
                let (places, others) = rest.split_at_mut(own);
                let pairs = places.iter_mut().zip(numbers);
                pairs.for_each(|(place, x)| *place = f32::rounded(*x * inverse));
                rest = others;
            }
            rest.fill(0.0);
        }
        // Lanes without a matrix hold the identity, whatever the unit.
        for a in 0..p {
            d[triangle.diagonal(a) * all..][lanes - filling..all].fill(1.0);
        }
        Self {
            p,
            weights,
            matrices: lanes - filling,
            d,
            line: None,
            scalar: PhantomData,
        }
    }

    /// Whether the digits of single precision still do.
    pub fn will_do(&self) -> bool {
        will_do(self.p, self.entries(), self.weights.len())
    }

    /// The entries of Dⁱ, row after row.
    pub fn entries(&self) -> &[f32] {
        &self.d
    }

    /// Prepares D(α) for all α along `e`; adds up how the powers change.
    pub fn probe(&mut self, e: &Matrix<T>, sums: &mut (Vec<f64>, Vec<f64>)) {
        let (len, lanes) = (self.entries().len(), self.weights.len());
        let room = || {
            let mut room = F32Buffer::of_len(len);
            let rows = room.chunks_exact_mut(lanes);
            rows.for_each(|row| row[self.matrices..].fill(0.0));
            room
        };
        let (cross, square) = self.line.get_or_insert_with(|| (room(), room()));
        let task = kernels::Congruence {
            transform: e,
            input: &self.d,
            lanes,
            matrices: self.matrices,
            square,
            cross: Some(cross),
        };
        kernels::congruence(task);
        let triangle = Triangle::new(self.p);
        let weigh = |numbers: &[f32], a: usize| {
            let row = &numbers[triangle.diagonal(a) * lanes..][..lanes];
            let terms = row.iter().zip(&self.weights);
            terms.map(|(x, w)| w * x.widened()).sum::<f64>()
        };
        for a in 0..self.p {
            sums.0[a] += weigh(cross, a);
            sums.1[a] += weigh(square, a);
        }
    }

    /// The block's share of the point at α along the probed direction.
    pub fn line_point(&self, criterion: Criterion, alpha: f64) -> LinePoint {
        let (cross, square) = self.line.as_ref().expect("probe comes first");
        let d = self.entries();
        kernels::line_point(criterion, self.p, d, cross, square, &self.weights, alpha)
    }

    /// D ← S D(α) S along the probed direction.
    pub fn advance(&mut self, alpha: f64, scale: &[f64]) {
        let (cross, square) = self.line.as_ref().expect("probe comes first");
        let lanes = self.weights.len();
        kernels::advance(&mut self.d, cross, square, lanes, alpha, scale);
    }

    /// Adds the block's share of gradient and Γ.
    pub fn add_moments(&self, criterion: Criterion, sums: &mut MomentSums<T>) {
        let (p, weights) = (self.p, &self.weights);
        kernels::accumulate_moments(criterion, p, self.entries(), weights, sums);
    }
}

impl<T: Scalar> Group<T> {
    /// Goes on in single precision, in multiples of `unit`. The matrices in double precision are given back.
    pub(super) fn round(&mut self, p: usize, unit: f64) {
        // Blocks of large matrices are so small that a vector would not be filled.
        let whole = |block: &TransformedBlock<T>| block.original.lanes().is_multiple_of(f32::LANES);
        let together = if self.blocks.first().is_some_and(whole) {
            1
        } else {
            2
        };
        let blocks = self.blocks.chunks(together);
        self.single = blocks.map(|some| SingleBlock::new(p, some, unit)).collect();
        for block in &mut self.blocks {
            (block.transformed, block.line) = (None, None);
        }
    }
}

#[cfg(all(test, feature = "synthetic"))]
mod tests {
    use crate::linalg::{Matrix, Scalar};
    use crate::matrices::{InMemory, WorkingSet};
    use crate::statistics::Hessian;
    use crate::{Criterion, MatrixSet, synthetic};

    fn assert_close<T: Scalar>(x: &Matrix<T>, y: &Matrix<T>, tolerance: f64, what: &str) {
        let pairs = x.as_slice().iter().zip(y.as_slice());
        let off: f64 = pairs.map(|(x, y)| (*x - *y).norm_sqr()).sum();
        assert!(off.sqrt() < tolerance * y.norm(), "{what}: {off:e}");
    }

    /// Asks the same of a set in both precisions.
    fn compare<T: Scalar>(set: &MatrixSet<T>) {
        let p = set.dimension();
        let small = |scale: f64| {
            Matrix::from_fn(p, p, |a, b| {
                let x = scale * (((a * 7 + b * 3) % 5) as f64 - 2.0);
                if a == b {
                    T::ZERO
                } else {
                    T::from_parts(x, 0.5 * x)
                }
            })
        };
        let (e, mut b) = (small(0.01), small(0.003));
        (0..p).for_each(|a| b[(a, a)] = T::ONE);
        let (mut double, mut single) = (InMemory::new(set), InMemory::new(set));
        double.reset(&b).unwrap();
        single.reset(&b).unwrap();
        assert!(single.round_to_single() && single.is_single());
        let scale = vec![0.9; p];
        for _ in 0..2 {
            let [x, y] = [&mut double, &mut single].map(|set| {
                let mut hessian = Hessian::zeros(Criterion::Likelihood, p);
                set.hessian(&mut hessian).unwrap();
                hessian.product(&e)
            });
            assert_close(&y, &x, 3e-6, "hessian");
            let [x, y] = [&mut double, &mut single].map(|set| set.probe(&e).unwrap());
            for (x, y) in x.linear.iter().zip(&y.linear) {
                assert!((x - y).abs() < 1e-6);
            }
            for (x, y) in x.quadratic.iter().zip(&y.quadratic) {
                assert!((x - y).abs() < 1e-6);
            }
            for alpha in [0.0, 0.7] {
                let x = double.line_point(alpha).unwrap();
                let y = single.line_point(alpha).unwrap();
                assert!((x.sum - y.sum).abs() < 1e-6 * (1.0 + x.sum.abs()));
                assert!((x.first - y.first).abs() < 1e-5 * (1.0 + x.first.abs()));
                assert!((x.second - y.second).abs() < 1e-5 * (1.0 + x.second.abs()));
            }
            let [x, y] = [&mut double, &mut single].map(|set| set.advance(0.7, &scale).unwrap());
            assert_close(&y.gradient, &x.gradient, 3e-6, "gradient");
            assert_close(&y.gamma, &x.gamma, 3e-6, "gamma");
        }
        single.reset(&b).unwrap();
        assert!(!single.is_single());
    }

    #[test]
    fn single_precision_answers_as_double_does() {
        // Blocks of two, of several, and of few matrices; Hessians by groups and by row blocks.
        for (n, p) in [
            (5, 33),
            (100, 40),
            (190, 40),
            (70, 67),
            (300, 67),
            (20, 131),
        ] {
            compare(&synthetic::noisy(n, p, 0.1, 1));
        }
        for (n, p) in [(5, 33), (100, 34)] {
            compare(&synthetic::hermitian(n, p, 0.1, 1));
        }
    }

    #[test]
    fn the_number_of_threads_changes_no_bit() {
        for (n, p) in [(230, 40), (230, 67), (20, 131)] {
            let set = synthetic::noisy(n, p, 0.1, 1);
            let answers = [1, 2, 3].map(|threads| {
                let mut set = InMemory::new(&set.clone().with_threads(threads));
                set.reset(&Matrix::identity(p)).unwrap();
                assert!(set.round_to_single());
                let mut hessian = Hessian::zeros(Criterion::Likelihood, p);
                set.hessian(&mut hessian).unwrap();
                let gradient = set.statistics().unwrap().gradient;
                (hessian.product(&gradient), gradient)
            });
            assert!(answers.iter().all(|answer| *answer == answers[0]));
        }
    }

    #[test]
    fn a_component_that_becomes_weak_asks_for_double_precision() {
        let set = synthetic::noisy(20, 40, 0.1, 1);
        let mut set = InMemory::new(&set);
        set.reset(&Matrix::identity(40)).unwrap();
        assert!(set.round_to_single() && set.round_to_single());
        set.probe(&Matrix::zeros(40, 40)).unwrap();
        let mut scale = vec![1.0; 40];
        scale[7] = 1e-3;
        set.advance(1.0, &scale).unwrap();
        assert!(!set.round_to_single());
    }

    #[test]
    fn small_or_nearly_singular_matrices_stay_in_double_precision() {
        let small = synthetic::noisy(50, 8, 0.1, 1);
        let mut small = InMemory::new(&small);
        small.reset(&Matrix::identity(8)).unwrap();
        assert!(!small.round_to_single());
        let mut powers = vec![1.0; 40];
        powers[7] = 1e-7;
        let data = Matrix::<f64>::diagonal(&powers);
        let set = MatrixSet::new(data.as_slice(), 1, 40).unwrap();
        let mut set = InMemory::new(&set);
        set.reset(&Matrix::identity(40)).unwrap();
        assert!(!set.round_to_single());
    }
}
