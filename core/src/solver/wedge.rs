//! U-WEDGE and FFDIAG for least squares.

use super::Stepper;
use super::state::{Iteration, State, Step};
use crate::Error;
use crate::choices::Method;
use crate::linalg::{self, Scalar};
use crate::objective::Point;
use crate::objective::least_squares::{FIT_PASSES, diagonalizer, wedge};
use crate::report::StepKind;

/// U-WEDGE or FFDIAG, depending on the settings.
pub(super) struct Wedge;

impl<T: Scalar> Stepper<T> for Wedge {
    fn step(&mut self, state: &mut State<'_, '_, T>) -> Result<Iteration, Error> {
        let (e, b) = (wedge::direction(&state.point.statistics), &state.point.b);
        let (next, length) = match state.settings.method {
            Method::Ffdiag => {
                let (b, length) = wedge::ffdiag(b, &e);
                (Some(b), length)
            }
            _ => (wedge::uwedge(b, &e), 1.0),
        };
        let a = next.map(|b| linalg::inverse_by_elimination(&b));
        let Some(b) = a.and_then(|a| diagonalizer(&a)) else {
            state.a_is_singular = true;
            return Ok(Iteration::Stalled);
        };
        state.add_passes(1.0 + FIT_PASSES);
        let (context, _) = state.context();
        let point = Point::at(context.backend, context.settings, b, context.sums, false)?;
        state.move_to_fit(point);
        Ok(Iteration::Moved(Step::new(StepKind::Wedge, length)))
    }
}
