//! Algorithm 1 of Ablin, Cardoso & Gramfort (2019), "Beyond Pham's algorithm for joint
//! diagonalization": quasi-Newton directions, step lengths 1, ½, ¼, …

use super::Stepper;
use super::state::{Iteration, State, Step};
use crate::Error;
use crate::linalg::Scalar;
use crate::objective::diagonal::{advance, rotate};
use crate::objective::line_search::Line;
use crate::objective::{Context, Point, StepResult, quasi_newton};
use crate::report::StepKind;

/// The quasi-Newton method.
pub(super) struct QuasiNewton;

impl<T: Scalar> Stepper<T> for QuasiNewton {
    fn step(&mut self, state: &mut State<'_, '_, T>) -> Result<Iteration, Error> {
        let (mut context, point) = state.context();
        let step_result = if context.settings.orthogonal {
            let criterion = context.backend.summary().criterion;
            let floor = context.settings.lambda_min;
            let e = quasi_newton::rotation(criterion, &point.statistics, floor);
            rotate(&mut context, point, &e, 1.0)?
        } else {
            backtrack(&mut context, point)?
        };
        let Some(result) = step_result else {
            return Ok(Iteration::Stalled);
        };
        let length = result.accepted_fraction;
        state.move_to(result.point, result.loss_change, result.rounding);
        Ok(Iteration::Moved(Step::new(StepKind::QuasiNewton, length)))
    }
}

/// Takes a step over all invertible B by backtracking; None if the loss does not decrease.
fn backtrack<T: Scalar>(
    context: &mut Context<'_, T>,
    point: &Point<T>,
) -> Result<Option<StepResult<T>>, Error> {
    let settings = context.settings;
    let e = quasi_newton::direction(&point.statistics, settings.lambda_min);
    *context.passes += 1.0;
    let mut line = Line::new(context.backend, &point.b, &e, context.sums)?;
    let rounding = line.rounding;
    let Some(trial) = line.backtrack(settings.max_halvings)? else {
        return Ok(None);
    };
    let scale = line.scale(trial.alpha);
    Ok(Some(StepResult {
        point: advance(context, point, e, trial.alpha, scale)?,
        trial_fraction: trial.alpha,
        accepted_fraction: trial.alpha,
        loss_change: trial.change,
        rounding,
    }))
}
