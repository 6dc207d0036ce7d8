//! Algorithm 1 of Ablin, Cardoso & Gramfort (2019), "Beyond Pham's algorithm for joint
//! diagonalization": quasi-Newton directions, step lengths 1, ½, ¼, …

use super::iteration::{Iteration, Step};
use super::{Stepper, rotation};
use crate::Error;
use crate::direction::quasi_newton;
use crate::linalg::Scalar;
use crate::report::StepKind;

/// The quasi-Newton method.
pub(super) struct QuasiNewton;

impl<T: Scalar> Stepper<T> for QuasiNewton {
    fn step(&mut self, iteration: &mut Iteration<'_, '_, T>) -> Result<Option<Step>, Error> {
        let length = if iteration.settings.orthogonal {
            let criterion = iteration.set.summary().criterion;
            let floor = iteration.settings.lambda_min;
            let e = quasi_newton::rotation(criterion, &iteration.statistics, floor);
            rotation::rotate(iteration, &e)?.map(|stride| stride.taken)
        } else {
            shear(iteration)?
        };
        Ok(length.map(|length| Step::new(StepKind::QuasiNewton, length)))
    }
}

/// A step over all invertible B; returns its length, or None if the loss does not decrease.
fn shear<T: Scalar>(iteration: &mut Iteration<'_, '_, T>) -> Result<Option<f64>, Error> {
    let settings = iteration.settings;
    let e = quasi_newton::direction(&iteration.statistics, settings.lambda_min);
    let probe = iteration.set.probe(&e)?;
    iteration.count(1.0);
    let mut line = iteration.line(&e)?;
    let noise = line.noise;
    let Some(trial) = line.backtrack(settings.max_halvings)? else {
        return Ok(None);
    };
    iteration.advance(&e, &probe, trial, noise)?;
    Ok(Some(trial.alpha))
}
