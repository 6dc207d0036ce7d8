//! Pham's algorithm: one sweep over all pairs per iteration.

use super::Stepper;
use super::iteration::{Iteration, Step};
use crate::Error;
use crate::error::Conflict;
use crate::linalg::{self, Scalar};
use crate::pairwise::pham;
use crate::report::StepKind;
use crate::statistics::Statistics;

/// Pham's algorithm.
pub(super) struct Pham;

impl<T: Scalar> Stepper<T> for Pham {
    fn step(&mut self, iteration: &mut Iteration<'_, '_, T>) -> Result<Option<Step>, Error> {
        let mut b = iteration.b.clone();
        let Some(pairs) = iteration.set.pairs() else {
            return Err(Error::Conflict(Conflict::PairsNotInMemory));
        };
        let decrement = pham::sweep(pairs, &mut b, &mut iteration.errors);
        let diagonal_sum = pairs.diagonal_sum();
        iteration.count(4.0 / 3.0);
        let mut statistics = iteration.set.statistics()?;
        let summary = iteration.set.summary();
        let criterion = summary.criterion;
        let loss = criterion.loss(summary, diagonal_sum, linalg::log_abs_det(&b));
        if !(loss.is_finite() && b.is_finite()) {
            // Rounding has made a matrix singular: B stays where it was.
            iteration.set.reset(&iteration.b)?;
            iteration.statistics = iteration.set.statistics()?;
            return Ok(None);
        }
        let noise = criterion.rounding(b.rows(), diagonal_sum);
        if iteration.settings.rescale {
            in_gauge(&mut statistics, &criterion.gauge(&b, &summary.mean));
        }
        let change = loss - iteration.loss;
        iteration.replace(b, statistics, change, noise);
        Ok(Some(Step {
            decrement: Some(decrement),
            ..Step::new(StepKind::Sweep, 1.0)
        }))
    }
}

/// The statistics as they are once rows are multiplied by `scale`: the matrices themselves need
/// not be touched, since the pairs' steps do not depend on it.
fn in_gauge<T: Scalar>(statistics: &mut Statistics<T>, scale: &[f64]) {
    for (a, by) in scale.iter().enumerate() {
        for (b, to) in scale.iter().enumerate() {
            let ratio = to / by;
            statistics.gradient[(a, b)] = statistics.gradient[(a, b)] * ratio;
            statistics.gamma[(a, b)] *= ratio * ratio;
        }
    }
}
