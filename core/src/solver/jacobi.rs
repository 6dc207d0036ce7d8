//! Jacobi's method: one sweep of rotations over all pairs per iteration.

use super::Stepper;
use super::iteration::{Iteration, Step};
use crate::Error;
use crate::error::Conflict;
use crate::linalg::{self, Scalar};
use crate::pairwise::jacobi;
use crate::report::StepKind;

/// Angles smaller than this are rounding.
const SMALLEST: f64 = 1e-15;

/// Jacobi's method.
pub(super) struct Jacobi;

impl<T: Scalar> Stepper<T> for Jacobi {
    fn step(&mut self, iteration: &mut Iteration<'_, '_, T>) -> Result<Option<Step>, Error> {
        let mut b = iteration.b.clone();
        let Some(pairs) = iteration.set.pairs() else {
            return Err(Error::Conflict(Conflict::PairsNotInMemory));
        };
        let sine = jacobi::sweep(pairs, &mut b, SMALLEST);
        if sine == 0.0 {
            return Ok(None);
        }
        let diagonal_sum = pairs.diagonal_sum();
        iteration.count(4.0 / 3.0);
        let statistics = iteration.set.statistics()?;
        let summary = iteration.set.summary();
        let loss = summary.criterion.loss(summary, diagonal_sum, 0.0);
        let noise = summary.criterion.rounding(b.rows(), diagonal_sum);
        let change = loss - iteration.loss;
        iteration.replace(linalg::reorthogonalize(&b), statistics, change, noise);
        Ok(Some(Step::new(StepKind::Sweep, sine)))
    }
}
