//! Sweeps over all pairs of components, each transformed by the best 2×2 matrix.

pub(crate) mod jacobi;
pub(crate) mod pham;

use crate::linalg::{Matrix, Scalar};
use crate::matrices::{PairStep, Pairs};

/// Applies the step that `step` chooses for each pair (1, 0), (2, 0), (2, 1), …, if any, to the set
/// and to the rows of a matrix.
fn sweep<T: Scalar>(
    set: &mut dyn Pairs<T>,
    rows: &mut Matrix<T>,
    mut step: impl FnMut(&mut dyn Pairs<T>, [usize; 2]) -> Option<PairStep<T>>,
) {
    for (a, b) in (1..rows.rows()).flat_map(|a| (0..a).map(move |b| (a, b))) {
        if let Some(step) = step(set, [a, b]) {
            set.apply(a, b, step);
            step.apply_to_rows(rows, a, b);
        }
    }
}
