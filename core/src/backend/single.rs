//! A set in memory in single precision, for the stage before the solve in double precision.

use std::sync::Arc;

use super::block_state::{BlockState, BlockView};
use super::request::{Request, Sums};
use super::resident::{Blocks, CachedBlock, Precision};
use super::{Backend, Capabilities, Summary};
use crate::Error;
use crate::data::Block;
use crate::linalg::Scalar;
use crate::linalg::kernels::{self, Real};

/// Matrices in single precision.
pub(super) struct InSinglePrecision<T: Scalar> {
    pub summary: Summary<T>,
    pub blocks: Blocks<T, f32>,
}

impl<T: Scalar> Backend<T> for InSinglePrecision<T> {
    fn summary(&self) -> &Summary<T> {
        &self.summary
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            // Rounding errors of the matrices are independent and mostly cancel in a sum.
            epsilon: f64::from(f32::EPSILON) / 16.0,
            ..Capabilities::default()
        }
    }

    fn evaluate(&mut self, request: &Request<T>, sums: &mut Sums<T>) -> Result<(), Error> {
        self.blocks.evaluate(&self.summary, request, sums, Vec::new)
    }

    fn sample(&mut self, _: usize) -> Result<Option<Box<dyn Backend<T> + '_>>, Error> {
        Ok(None)
    }
}

impl Precision for f32 {
    type Block<T: Scalar> = SingleBlock;

    fn view<T: Scalar>(block: &SingleBlock) -> BlockView<'_, T, f32> {
        BlockView {
            p: block.p,
            // There are no original matrices: points are reached by updates from the identity.
            entries: &[],
            weights: &block.weights,
            matrices: block.matrices,
            block: None,
        }
    }
}

/// Weights of a block in single precision. Its matrices are in the block state.
pub(super) struct SingleBlock {
    p: usize,
    weights: Vec<f64>,
    matrices: usize,
}

/// Converts the transformed matrices of a block to single precision, divided by `unit`, a power of
/// two.
pub(super) fn rounded<T: Scalar>(
    block: &Block<T>,
    transformed: &[f64],
    unit: f64,
) -> CachedBlock<T, f32> {
    let (p, matrices) = (block.size(), block.matrices);
    let lanes = block.lanes().next_multiple_of(f32::LANES);
    let mut weights = block.weights.clone();
    weights.resize(lanes, 0.0);
    let original = SingleBlock {
        p,
        weights,
        matrices,
    };
    let mut state = BlockState::default();
    let entries = state.allocate_transformed(&f32::view::<T>(&original));
    let mut rows = entries
        .chunks_exact_mut(lanes)
        .zip(transformed.chunks_exact(block.lanes()));
    let inverse = 1.0 / unit;
    kernels::dispatch(
        #[inline(always)]
        || {
            for (row, numbers) in rows.by_ref() {
                let pairs = row[..matrices].iter_mut().zip(numbers);
                pairs.for_each(|(place, x)| *place = f32::rounded(*x * inverse));
            }
        },
    );
    let original = Arc::new(original);
    CachedBlock { original, state }
}

#[cfg(all(test, feature = "synthetic"))]
mod tests {
    use super::*;
    use crate::backend::{InMemory, Update};
    use crate::linalg::{self, Matrix};
    use crate::{MatrixSet, synthetic};

    fn assert_near<T: Scalar>(x: &Matrix<T>, y: &Matrix<T>, what: &str) {
        let pairs = x.as_slice().iter().zip(y.as_slice());
        let off: f64 = pairs.map(|(x, y)| (*x - *y).norm_sqr()).sum();
        assert!(off.sqrt() < 3e-6 * y.norm(), "{what}: {off:e}");
    }

    /// Compares the results of requests to a set in double and in single precision.
    fn compare<T: Scalar>(set: &MatrixSet<T>) {
        let p = set.dimension();
        let small = |scale: f64| {
            Matrix::from_fn(p, p, |a, b| {
                let x = if a == b {
                    0.0
                } else {
                    scale * (((a * 7 + b * 3) % 5) as f64 - 2.0)
                };
                T::from_parts(x, 0.5 * x)
            })
        };
        let (e, mut b) = (small(0.01), small(0.003));
        (0..p).for_each(|a| b[(a, a)] = T::ONE);
        let mut double = InMemory::new(set);
        let mut single = InMemory::new(set);
        let mut single = single
            .in_single_precision(&b)
            .unwrap()
            .expect("similar powers");
        let (mut x, mut y) = (Sums::default(), Sums::default());
        // B in the coordinates of each set.
        let (mut here, mut there) = (b, Matrix::identity(p));
        for alpha in [0.7, 1.0] {
            let line = |b: &Matrix<T>| Request::Line {
                b: b.clone(),
                e: e.clone(),
            };
            double.evaluate(&line(&here), &mut x).unwrap();
            single.evaluate(&line(&there), &mut y).unwrap();
            for (x, y) in x.numbers.iter().zip(&y.numbers) {
                assert!((x - y).abs() < 1e-5 * (1.0 + x.abs()), "{x} {y}");
            }
            let update = |from: &Matrix<T>| Update {
                from: from.clone(),
                e: e.clone(),
                alpha,
                scale: vec![0.9; p],
            };
            let (to_here, to_there) = (update(&here), update(&there));
            (here, there) = (to_here.point(), to_there.point());
            let point = |b: &Matrix<T>, update| Request::Point {
                b: b.clone(),
                update: Some(update),
                hessian: true,
            };
            double.evaluate(&point(&here, to_here), &mut x).unwrap();
            single.evaluate(&point(&there, to_there), &mut y).unwrap();
            assert_near(&y.moments.gradient, &x.moments.gradient, "gradient");
            assert_near(&y.moments.gamma, &x.moments.gamma, "gamma");
            let (y, x) = (y.hessian.product(&e), x.hessian.product(&e));
            assert_near(&y, &x, "hessian");
        }
        // The loss includes the B at which the set in single precision starts.
        let loss = |summary: &Summary<T>, sums: &Sums<T>, b: &Matrix<T>| {
            let log_det = linalg::log_abs_det(b);
            summary.criterion.loss(summary, sums.numbers[0], log_det)
        };
        let (x, y) = (
            loss(double.summary(), &x, &here),
            loss(single.summary(), &y, &there),
        );
        assert!((x - y).abs() < 1e-5, "{x} {y}");
        // Points that are not reached by an update are not supported.
        let elsewhere = Request::Hessian { b: here };
        assert_eq!(
            single.evaluate(&elsewhere, &mut Sums::default()),
            Err(Error::InvalidRequest)
        );
    }

    #[test]
    fn sums_agree_with_double_precision() {
        // One block or several, full or not.
        for (n, p) in [(5, 33), (100, 40), (190, 40), (70, 67), (20, 131)] {
            compare(&synthetic::noisy(n, p, 0.1, 1));
        }
        for (n, p) in [(5, 33), (100, 34)] {
            compare(&synthetic::hermitian(n, p, 0.1, 1));
        }
    }

    #[test]
    fn small_or_nearly_singular_matrices_have_no_single_precision() {
        let small = synthetic::noisy(50, 8, 0.1, 1);
        let b = Matrix::identity(8);
        assert!(
            InMemory::new(&small)
                .in_single_precision(&b)
                .unwrap()
                .is_none()
        );
        let mut powers = vec![1.0; 40];
        powers[7] = 1e-7;
        let data = Matrix::<f64>::diagonal(&powers);
        let set = MatrixSet::new(data.as_slice(), 1, 40).unwrap();
        let b = Matrix::identity(40);
        assert!(
            InMemory::new(&set)
                .in_single_precision(&b)
                .unwrap()
                .is_none()
        );
    }

    #[test]
    fn bits_do_not_depend_on_the_number_of_threads() {
        for (n, p) in [(230, 40), (20, 131)] {
            let set = synthetic::noisy(n, p, 0.1, 1);
            let results = [1, 2, 3].map(|threads| {
                let mut set = InMemory::new(&set.clone().with_n_jobs(threads));
                let b = Matrix::identity(p);
                let mut single = set.in_single_precision(&b).unwrap().expect("a set");
                let (request, mut sums) = (
                    Request::Point {
                        b,
                        update: None,
                        hessian: true,
                    },
                    Sums::default(),
                );
                single.evaluate(&request, &mut sums).unwrap();
                let gradient = sums.moments.gradient.clone();
                (sums.hessian.product(&gradient), gradient)
            });
            assert!(results.iter().all(|result| *result == results[0]));
        }
    }
}
