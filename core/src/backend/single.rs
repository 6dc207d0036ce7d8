//! The matrices of a set in memory in single precision, for the stage that comes before the solve in
//! double precision.

use std::sync::Arc;

use super::block_state::{BlockState, View};
use super::request::{Request, Sums};
use super::resident::{Blocks, Precision, Resident};
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
            // Rounding errors of the matrices are independent: most of them cancel in a sum.
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

    fn view<T: Scalar>(block: &SingleBlock) -> View<'_, T, f32> {
        View {
            p: block.p,
            // Points are reached by updates from the identity alone.
            entries: &[],
            weights: &block.weights,
            matrices: block.matrices,
            block: None,
        }
    }
}

/// A block of matrices in single precision, which are kept in its state alone.
pub(super) struct SingleBlock {
    p: usize,
    weights: Vec<f64>,
    matrices: usize,
}

/// The transformed matrices of a block in single precision, divided by `unit`, a power of two.
pub(super) fn rounded<T: Scalar>(
    block: &Block<T>,
    transformed: &[f64],
    unit: f64,
) -> Resident<T, f32> {
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
    let entries = state.room_for_transformed(&f32::view::<T>(&original));
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
    Resident { original, state }
}
