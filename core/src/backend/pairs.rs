//! Access to the transformed matrices pair by pair, for Pham's algorithm and Jacobi rotations.

use super::memory::InMemory;
use crate::linalg::kernels::{self, PairSums, RotationSums};
use crate::linalg::{Matrix, Scalar};

/// Access to the transformed matrices Dⁱ = B Cⁱ Bᴴ by pairs of components: computes sums over the
/// set for one pair, and transforms one pair.
///
/// ```
/// use codiag::backend::{Backend, InMemory, PairStep};
/// use codiag::{Matrix, MatrixSet};
/// // A rotation by 45° diagonalizes this matrix, with eigenvalues 3 and 1.
/// let mut set = InMemory::new(&MatrixSet::new(&[2.0, 1.0, 1.0, 2.0], 1, 2)?);
/// let pairs = set.pairs(&Matrix::identity(2))?.expect("matrices in memory");
/// let half = 0.5_f64.sqrt();
/// pairs.apply(1, 0, PairStep::Rotation { cosine: half, sine: half });
/// assert!(pairs.rotation_sums(1, 0).off.abs() < 1e-12);
/// # Ok::<(), codiag::Error>(())
/// ```
pub trait Pairs<T: Scalar = f64> {
    /// Returns the sums that determine the step of Pham's algorithm, for components a > b.
    fn pair_sums(&mut self, a: usize, b: usize) -> PairSums<T>;

    /// Returns the sums that determine the angle of a Jacobi rotation, for components a > b.
    fn rotation_sums(&mut self, a: usize, b: usize) -> RotationSums<T>;

    /// Applies a step to components a > b.
    fn apply(&mut self, a: usize, b: usize, step: PairStep<T>);

    /// Ends the sequence of steps. `b` is the resulting B.
    fn finish(&mut self, b: Matrix<T>);
}

/// Transformation of two components a and b.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PairStep<T = f64> {
    /// (a, b) ← (a + `ab`·b, b + `ba`·a).
    Shear {
        /// Multiple of b that is added to a.
        ab: T,
        /// Multiple of a that is added to b.
        ba: T,
    },
    /// (a, b) ← (c·a + s·b, c·b − s̄·a).
    Rotation {
        /// c, which is not 0.
        cosine: f64,
        /// s.
        sine: T,
    },
}

impl<T: Scalar> PairStep<T> {
    /// Returns (c, e, f) of (a, b) ← (c·a + e·b, c·b + f·a).
    fn coefficients(self) -> (f64, T, T) {
        match self {
            Self::Shear { ab, ba } => (1.0, ab, ba),
            Self::Rotation { cosine, sine } => (cosine, sine, -sine.conj()),
        }
    }

    /// Applies the step to rows a > b of a matrix.
    pub(crate) fn apply_to_rows(self, m: &mut Matrix<T>, a: usize, b: usize) {
        let columns = m.columns();
        let (head, tail) = m.as_mut_slice().split_at_mut(a * columns);
        let rows = tail[..columns]
            .iter_mut()
            .zip(&mut head[b * columns..][..columns]);
        let (c, e, f) = self.coefficients();
        rows.for_each(|(x, y)| (*x, *y) = (*x * c + e * *y, *y * c + f * *x));
    }
}

impl<T: Scalar> Pairs<T> for InMemory<T> {
    fn pair_sums(&mut self, a: usize, b: usize) -> PairSums<T> {
        let (p, function) = (self.dimension(), self.summary.criterion.function());
        let work = |entries: &mut [f64], weights: &[f64], _: usize| {
            kernels::pair_sums(function, p, entries, weights, (a, b))
        };
        self.sum_transformed(8 * p, work, |total, sums| *total += *sums)
    }

    fn rotation_sums(&mut self, a: usize, b: usize) -> RotationSums<T> {
        let p = self.dimension();
        let work = |entries: &mut [f64], weights: &[f64], _: usize| {
            kernels::rotation_sums(p, entries, weights, (a, b))
        };
        self.sum_transformed(8 * p, work, |total, sums| *total += *sums)
    }

    fn apply(&mut self, a: usize, b: usize, step: PairStep<T>) {
        let p = self.dimension();
        let work = |entries: &mut [f64], weights: &[f64], _: usize| {
            let lanes = weights.len();
            kernels::transform_pair(p, entries, lanes, (a, b), step.coefficients());
        };
        self.sum_transformed(8 * p, work, |(), ()| {});
    }

    fn finish(&mut self, b: Matrix<T>) {
        self.move_to(b);
    }
}

#[cfg(all(test, feature = "synthetic"))]
mod tests {
    use super::*;
    use crate::backend::Backend;
    use crate::{Evaluation, synthetic};

    #[test]
    fn pair_sums_are_entries_of_gradient_and_gamma_before_and_after_a_step() {
        let set = synthetic::noisy(40, 4, 0.3, 0);
        let (mut backend, mut b) = (InMemory::new(&set), Matrix::identity(4));
        let pairs = backend.pairs(&b).unwrap().expect("matrices in memory");
        for _ in 0..2 {
            let expected = Evaluation::at(&set, &b).unwrap();
            let sums = pairs.pair_sums(2, 0);
            assert!((sums.gradient_ab - expected.gradient[(2, 0)]).abs() < 1e-12);
            assert!((sums.gamma_ba / expected.gamma[(0, 2)] - 1.0).abs() < 1e-12);
            let step = PairStep::Shear { ab: 0.1, ba: -0.2 };
            pairs.apply(2, 0, step);
            step.apply_to_rows(&mut b, 2, 0);
        }
    }
}
