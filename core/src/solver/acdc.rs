//! AC-DC (Yeredor 2002) for least squares: one sweep over the columns of A per iteration.

use super::Stepper;
use super::state::{Iteration, State, Step};
use crate::Error;
use crate::backend::Request;
use crate::linalg::{self, Scalar};
use crate::objective::Point;
use crate::objective::least_squares::{FIT_PASSES, acdc, diagonalizer};
use crate::report::StepKind;

/// The method AC-DC.
pub(super) struct Acdc;

impl<T: Scalar> Stepper<T> for Acdc {
    fn step(&mut self, state: &mut State<'_, '_, T>) -> Result<Iteration, Error> {
        let mut a = linalg::inverse_by_elimination(&state.point.b);
        let request = Request::Weighted {
            b: state.point.b.clone(),
        };
        state.backend.evaluate(&request, &mut state.sums)?;
        let rows = state.sums.row_blocks();
        acdc::sweep(&mut a, rows, &state.point.statistics.gamma)?;
        let Some(b) = diagonalizer(&a) else {
            state.a_is_singular = true;
            return Ok(Iteration::Stalled);
        };
        state.add_passes(1.0 / 3.0 + FIT_PASSES);
        let (context, _) = state.context();
        let point = Point::at(context.backend, context.settings, b, context.sums, false)?;
        state.move_to_fit(point);
        Ok(Iteration::Moved(Step::new(StepKind::Sweep, 1.0)))
    }
}
