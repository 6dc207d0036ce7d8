//! A truncated Newton method (Newton-CG; Nocedal & Wright, Numerical Optimization, section 7.1).
//!
//! Each iteration minimizes a quadratic model by preconditioned conjugate gradients, to a relative
//! residual given by a forcing term (Eisenstat & Walker, SIAM J. Sci. Comput. 17, 1996), subject to
//! a box constraint on the entries of the step. The step is scaled to a trust region, followed by a
//! line search.

mod box_constraint;
mod cg;
mod trust_region;

use super::state::{Iteration, State, Step};
use super::{Stepper, stages};
use crate::Error;
use crate::linalg::Scalar;
use crate::objective::{Direction, Objective, StepResult};
use crate::report::{Status, StepKind};
use crate::tuning::TUNING;
use trust_region::TrustRegion;

/// The truncated Newton method.
pub(super) struct TruncatedNewton<T: Scalar> {
    objective: Box<dyn Objective<T>>,
    trust_region: TrustRegion,
    /// Whether Hessians are requested together with gradients, because the backend prefers it.
    joint_requests: bool,
    /// The gradient norm before the last step.
    previous_gradient_norm: Option<f64>,
    /// The fraction of the direction that the last step took.
    last_length: f64,
    /// Number of stages in single precision that are still allowed.
    remaining_single_precision_stages: usize,
}

impl<T: Scalar> TruncatedNewton<T> {
    pub fn new(
        objective: Box<dyn Objective<T>>,
        joint_requests: bool,
        single_precision: bool,
    ) -> Self {
        Self {
            objective,
            trust_region: TrustRegion::default(),
            joint_requests,
            previous_gradient_norm: None,
            last_length: 0.0,
            remaining_single_precision_stages: if single_precision {
                TUNING.max_single_precision_stages
            } else {
                0
            },
        }
    }

    /// Whether the Hessian at the next point will be needed. It will not if the gradient norm,
    /// assuming quadratic convergence as in the last step, is expected to be below any tolerance.
    fn expects_hessian(&self, gradient_norm: f64) -> bool {
        let expected = self
            .previous_gradient_norm
            .map(|before| gradient_norm * (gradient_norm / before).powi(2));
        self.joint_requests && expected.is_none_or(|expected| expected > TUNING.last_step_gradient)
    }

    /// Whether a full step is expected to reach the tolerance of the whole solve. The stage in
    /// single precision then ends with this step, and the new point is evaluated only in double
    /// precision.
    fn full_step_will_converge(&self, state: &State<'_, '_, T>) -> bool {
        let current = state.gradient_norm();
        let previous = self
            .previous_gradient_norm
            .filter(|_| (self.last_length - 1.0).abs() < 1e-3);
        previous.is_some_and(|before| {
            current * (current / before).powi(2)
                <= TUNING.tolerance_margin * state.final_tolerance()
        })
    }

    fn update_trust_region(
        &mut self,
        loss_unit: f64,
        direction: &Direction,
        result: &StepResult<T>,
    ) {
        let predicted = loss_unit * direction.predicted_change(result.accepted_fraction);
        let is_significant = predicted.abs() > TUNING.min_signal_to_rounding * result.rounding;
        if self.objective.has_trust_region() && is_significant {
            let length = result.trial_fraction * direction.norm();
            let is_full = result.trial_fraction == 1.0;
            self.trust_region
                .update(length, is_full, result.loss_change, predicted);
        }
    }
}

impl<T: Scalar> Stepper<T> for TruncatedNewton<T> {
    fn wants_joint_hessian(&self) -> bool {
        self.joint_requests
    }

    fn step(&mut self, state: &mut State<'_, '_, T>) -> Result<Iteration, Error> {
        if self.remaining_single_precision_stages > 0 {
            self.remaining_single_precision_stages -= 1;
            if let Some(outcome) = stages::in_single_precision(state)? {
                if state.is_sample() && outcome.status == Status::Converged {
                    // The solve of the whole set starts from this point, so its loss on the sample
                    // in double precision is not needed.
                    state.history = outcome.history;
                    state.unevaluated = Some((outcome.b, None));
                    return Ok(Iteration::Ended(Status::Converged));
                }
                return state.resume(outcome).map(Iteration::Moved);
            }
            self.remaining_single_precision_stages = 0;
        }
        let gradient_norm = state.gradient_norm();
        state.joint_hessian = self.expects_hessian(gradient_norm);
        let is_last =
            state.is_single() && !state.is_sample() && self.full_step_will_converge(state);
        let p = state.point.b.rows();
        let mut cg_iterations = 0;
        loop {
            let (mut context, point) = state.context();
            let limits = self.objective.cg_limits(&context, gradient_norm);
            let mut model = self.objective.model(&mut context, point)?;
            let direction = cg::minimize(&mut *model, limits)?;
            drop(model);
            cg_iterations += direction.iterations;
            *context.passes += self.objective.passes(p, direction.iterations);
            let fraction = if self.objective.has_trust_region() {
                self.trust_region.fraction(direction.norm())
            } else {
                1.0
            };
            if is_last && fraction == 1.0 {
                let last = self.objective.full_step(&context, point, &direction);
                if let Some(b) = last {
                    let step = Step {
                        cg_iterations,
                        ..Step::new(StepKind::Newton, 1.0)
                    };
                    state.unevaluated = Some((b, Some(step)));
                    return Ok(Iteration::Ended(Status::Converged));
                }
            }
            let summary = context.backend.summary();
            let loss_unit = summary.criterion.loss_unit(summary);
            let step_result = self
                .objective
                .try_step(&mut context, point, &direction, fraction)?;
            if let Some(result) = step_result {
                self.update_trust_region(loss_unit, &direction, &result);
                let length = result.accepted_fraction;
                (self.previous_gradient_norm, self.last_length) = (Some(gradient_norm), length);
                state.move_to(result.point, result.loss_change, result.rounding);
                return Ok(Iteration::Moved(Step {
                    cg_iterations,
                    ..Step::new(StepKind::Newton, length)
                }));
            }
            if !self.objective.retry() {
                return Ok(Iteration::Stalled);
            }
        }
    }
}
