//! Parallel-order Jacobi rotations of a small batch of matrices in single precision.
//!
//! A sweep consists of rounds of disjoint pairs, in the order of a round-robin tournament, so that
//! every pair occurs once per sweep. The rotations of a round are independent of each other.

use super::rotation::rotation as best_rotation;
use crate::backend::PairStep;
use crate::linalg::kernels::{
    ROUND_LANES, RotatedPair, RotationSums, dispatch, rotate_round, rotation_sums_of_round,
};
use crate::linalg::{F32Buffer, Matrix, Scalar, SymmetricBatch, Triangle};
use std::marker::PhantomData;
use std::ops::Deref;

/// A batch of matrices of equal weight in single precision, which suffices for a starting point.
pub(super) struct F32Batch<T> {
    /// Blocks of matrices, entry-major: real parts, then imaginary parts. The size is padded to an
    /// even number by a zero component.
    blocks: F32Buffer,
    size: usize,
    /// Number of components without padding.
    used: usize,
    scalar: PhantomData<T>,
}

impl<T: Scalar> F32Batch<T> {
    /// Converts a batch. All matrices are divided by the largest entry.
    pub fn new<S: Deref<Target = [f64]>>(batch: &SymmetricBatch<S, T>) -> Self {
        let (used, lanes) = (batch.size(), batch.lanes());
        let size = used.next_multiple_of(2);
        let (own, len) = (Triangle::new(used).len(), Triangle::new(size).len());
        let mut blocks =
            F32Buffer::of_len(lanes.div_ceil(ROUND_LANES) * T::PLANES * len * ROUND_LANES);
        let largest = batch.entries().iter().fold(0.0_f64, |m, x| m.max(x.abs()));
        let scale = if largest > 0.0 { 1.0 / largest } else { 1.0 };
        let (places, _) = blocks.as_chunks_mut::<ROUND_LANES>();
        for (block, planes) in places.chunks_exact_mut(T::PLANES * len).enumerate() {
            let from = block * ROUND_LANES;
            for (plane, places) in planes.chunks_exact_mut(len).enumerate() {
                let rows = batch.entries()[plane * own * lanes..].chunks_exact(lanes);
                for (place, row) in places.iter_mut().zip(rows.take(own)) {
                    *place = [0.0; ROUND_LANES];
                    let numbers = &row[from..lanes.min(from + ROUND_LANES)];
                    let pairs = place.iter_mut().zip(numbers);
                    pairs.for_each(|(x, y)| *x = (y * scale) as f32);
                }
                places[own..].fill([0.0; ROUND_LANES]);
            }
        }
        Self {
            blocks,
            size,
            used,
            scalar: PhantomData,
        }
    }

    /// Rotates every pair once, except by angles below `min_angle` in radians, and applies the
    /// rotations to the rows of `rotation`. Returns the largest sine of the angles, or 0 if no pair
    /// was rotated.
    pub fn sweep(&mut self, rotation: &mut Matrix<T>, min_angle: f64) -> f64 {
        let (size, mut largest) = (self.size, 0.0_f64);
        let mut sums = vec![RotationSums::<T>::default(); size / 2];
        let mut steps: Vec<([usize; 2], PairStep<T>)> = Vec::with_capacity(size / 2);
        for round in 0..size - 1 {
            let mut pairs: Vec<RotatedPair> = round_robin_pairs(size, round)
                .map(RotatedPair::identity)
                .collect();
            rotation_sums_of_round(size, &self.blocks, &pairs, &mut sums);
            steps.clear();
            for (pair, sums) in pairs.iter_mut().zip(&sums) {
                if pair.a < self.used
                    && let Some((step, size)) = best_rotation(*sums, min_angle)
                    && let PairStep::Rotation { cosine, sine } = step
                {
                    largest = largest.max(size);
                    pair.cosine = cosine as f32;
                    pair.sine = [sine.real() as f32, sine.imaginary() as f32];
                    steps.push(([pair.a, pair.b], step));
                }
            }
            if steps.is_empty() {
                continue;
            }
            rotate_round(size, T::PLANES, &mut self.blocks, &pairs);
            dispatch(
                #[inline(always)]
                || {
                    for ([a, b], step) in &steps {
                        step.apply_to_rows(rotation, *a, *b);
                    }
                },
            );
        }
        largest
    }
}

/// Returns the pairs a > b of one of the `size` − 1 rounds of a round-robin schedule, by increasing
/// a; `size` is even. In round r, components with a + b = 2r modulo `size` − 1 are paired. The
/// component that would be paired with itself is paired with the last one.
fn round_robin_pairs(size: usize, round: usize) -> impl Iterator<Item = (usize, usize)> {
    let circle = size - 1;
    let partner = move |a: usize| match 2 * round + circle - a {
        _ if a == circle => round,
        sum if sum >= 2 * circle => sum - 2 * circle,
        sum if sum >= circle => sum - circle,
        sum => sum,
    };
    let pairs = (1..size).map(move |a| (a, partner(a)));
    pairs.filter(|(a, b)| b < a)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::init::SplitMix;
    use crate::linalg::{self, c64, product, product_adjoint};

    #[test]
    fn round_robin_visits_every_pair_once() {
        for size in [2, 4, 10, 16] {
            let mut visited = Vec::new();
            for round in 0..size - 1 {
                let pairs: Vec<_> = round_robin_pairs(size, round).collect();
                let mut all: Vec<usize> = pairs.iter().flat_map(|(a, b)| [*a, *b]).collect();
                all.sort_unstable();
                assert_eq!(all, (0..size).collect::<Vec<_>>());
                visited.extend(pairs);
            }
            visited.sort_unstable();
            let every = (1..size).flat_map(|a| (0..a).map(move |b| (a, b)));
            assert_eq!(visited, every.collect::<Vec<_>>());
        }
    }

    /// Asserts that sweeps diagonalize matrices with common eigenvectors.
    fn assert_diagonalized<T: Scalar>(p: usize, scale: f64) {
        let mut random = SplitMix::new(p as u64);
        let mut e = Matrix::<T>::zeros(p, p);
        for (a, b) in Triangle::new(p).pairs() {
            let part = T::from_parts(random.next(), random.next());
            (e[(a, b)], e[(b, a)]) = (part, -part.conj());
            e[(a, a)] = T::ZERO;
        }
        let q = linalg::unitary_exponential(&e);
        let mut batch = SymmetricBatch::<_, T>::zeros(p, 24);
        let plane = Triangle::new(p).len() * 24;
        for k in 0..20 {
            let d = Matrix::from_fn(p, p, |a, b| {
                T::from_real(if a == b { scale * random.next() } else { 0.0 })
            });
            let mixed = product_adjoint(&product(&q, &d), &q);
            for (entry, (a, b)) in Triangle::new(p).pairs().enumerate() {
                batch.entries_mut()[entry * 24 + k] = mixed[(a, b)].real();
                if T::PLANES == 2 {
                    batch.entries_mut()[plane + entry * 24 + k] = mixed[(a, b)].imaginary();
                }
            }
        }
        let mut single = F32Batch::new(&batch);
        let mut rotation = Matrix::identity(p);
        let mut sweeps = 0..10;
        while sweeps.next().is_some() && single.sweep(&mut rotation, 1e-4) > 0.0 {}
        assert!(!sweeps.is_empty(), "p {p}: sweeps converge");
        for k in 0..20 {
            let d = batch.matrix(k);
            let d = product_adjoint(&product(&rotation, &d), &rotation);
            let off = (1..p).flat_map(|a| (0..a).map(move |b| (a, b)));
            let off = off.fold(0.0_f64, |m, (a, b)| m.max(d[(a, b)].abs()));
            assert!(off < 1e-3 * scale, "p {p}: {off}");
        }
        let unit = product_adjoint(&rotation, &rotation);
        let identity = Matrix::<T>::identity(p);
        for (x, y) in unit.as_slice().iter().zip(identity.as_slice()) {
            assert!((*x - *y).abs() < 1e-12);
        }
    }

    #[test]
    fn sweeps_diagonalize_commuting_matrices() {
        // Even and odd sizes, and extreme scales.
        for (p, scale) in [(2, 1.0), (3, 1e-30), (7, 1e40), (10, 1.0)] {
            assert_diagonalized::<f64>(p, scale);
            assert_diagonalized::<c64>(p, scale);
        }
        // A single component forms no pair.
        let mut one = F32Batch::new(&SymmetricBatch::<_, f64>::zeros(1, 8));
        assert_eq!(one.sweep(&mut Matrix::identity(1), 1e-4), 0.0);
    }
}
