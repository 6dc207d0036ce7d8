//! Levenberg and Marquardt's damping: how long a Gauss–Newton step, or one of the exact Hessian, may be.

use super::gauss_newton::{Direction, Model};
use super::{Fit, diagonalizer, stopping_measure};
use crate::Error;
use crate::linalg::{Matrix, Scalar};
use crate::matrices::WorkingSet;
use crate::statistics::Statistics;

/// The residual of the Gauss–Newton system may be this share of the gradient, or ĝ if that is less.
const FORCING: f64 = 0.1;
/// Where a step brings ĝ down by less than this factor, residuals are too large for the Gauss–Newton model, and
/// the exact Hessian takes its place.
const SLOW: f64 = 6.0;
/// But only below the first ĝ, and until the second: far from the end its negative curvatures mislead.
const NEAR: f64 = 0.03;
const FAR: f64 = 0.1;
/// A fit is a pass of 2p³ flops per matrix, a transform one of 3p³.
pub(crate) const FIT_PASSES: f64 = 2.0 / 3.0;
/// How often the damping is raised before a step is given up.
const MOST_TRIALS: usize = 10;
/// The damping at the start, and the smallest.
const FIRST: f64 = 1e-3;
const SMALLEST: f64 = 1e-9;
/// What the damping is divided by after a step that brought what the model predicted.
const REDUCTION: f64 = 2.5;

/// Where a fit stands.
#[derive(Clone, Debug)]
pub(crate) struct Point<T = f64> {
    pub b: Matrix<T>,
    pub loss: f64,
    pub statistics: Statistics<T>,
}

impl<T: Scalar> Point<T> {
    /// Brings the set to B.
    pub fn at(set: &mut dyn WorkingSet<T>, b: Matrix<T>) -> Result<Self, Error> {
        let captured = set.reset(&b)?;
        let statistics = set.statistics()?;
        let summary = set.summary();
        let loss = summary.criterion.loss(summary, captured, 0.0);
        Ok(Self {
            b,
            loss,
            statistics,
        })
    }
}

/// A step that was taken.
pub(crate) struct Taken<T = f64> {
    /// Where it led; the set stands there.
    pub point: Point<T>,
    pub effort: Effort,
}

/// What a step took.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Effort {
    /// In transforms of the set.
    pub passes: f64,
    /// The conjugate gradient iterations.
    pub iterations: usize,
}

/// The damping, from step to step.
#[derive(Clone, Debug)]
pub(crate) struct Levenberg {
    damping: f64,
    /// Whether the exact Hessian may be asked for.
    allowed: bool,
    /// Whether it is.
    exact: bool,
    /// ĝ where the last step began.
    before: f64,
}

impl Levenberg {
    /// With or without the exact Hessian where the Gauss–Newton model converges slowly.
    pub fn new(allowed: bool) -> Self {
        Self {
            damping: FIRST,
            allowed,
            exact: false,
            before: f64::INFINITY,
        }
    }

    /// A step from a point in the gauge that lowers the loss, or, where it is all rounding, does not raise
    /// it beyond; None, with the set where it stood, if none is found.
    pub fn step<T: Scalar>(
        &mut self,
        set: &mut dyn WorkingSet<T>,
        here: &Point<T>,
    ) -> Result<Option<Taken<T>>, Error> {
        let summary = set.summary();
        let (criterion, energy) = (summary.criterion, summary.constant);
        let unit = criterion.loss_unit(summary);
        let noise = criterion.rounding(here.b.rows(), 0.0);
        let gradient_norm = stopping_measure(&here.statistics, energy);
        let slow = gradient_norm < NEAR && gradient_norm > self.before / SLOW;
        let begins = !self.exact && self.allowed && slow;
        self.exact = (self.exact && gradient_norm < FAR) || (begins && set.expect_hessian());
        self.before = gradient_norm;
        let fit = Fit::at(&here.b);
        let model = Model::new(&here.b, &fit, &here.statistics);
        let mut effort = Effort::default();
        let mut growth = 4.0;
        for trials in 1..=MOST_TRIALS {
            if self.exact && trials > 1 {
                // The last trial has moved the set.
                set.reset(&here.b)?;
                effort.passes += FIT_PASSES;
            }
            let found = self.direction(set, &model, gradient_norm.min(FORCING), &mut effort)?;
            if let Some(b) = diagonalizer(&model.moved(&found.e)) {
                let point = Point::at(set, b)?;
                effort.passes += FIT_PASSES;
                let decrease = here.loss - point.loss;
                if decrease >= -noise {
                    let ratio = decrease / (unit * found.predicted).max(noise);
                    if ratio > 0.75 || decrease.abs() <= noise {
                        self.damping = (self.damping / REDUCTION).max(SMALLEST);
                    } else if ratio < 0.25 {
                        self.damping *= 4.0;
                    }
                    return Ok(Some(Taken { point, effort }));
                }
            }
            self.damping = (growth * self.damping).max(1e-6);
            growth *= 2.0;
        }
        set.reset(&here.b)?;
        Ok(None)
    }

    /// The direction of the model, or of the exact Hessian.
    fn direction<T: Scalar>(
        &self,
        set: &mut dyn WorkingSet<T>,
        model: &Model<'_, T>,
        forcing: f64,
        effort: &mut Effort,
    ) -> Result<Direction<T>, Error> {
        let found = if self.exact {
            model.direction(self.damping, forcing, |e| set.hessian_product(e))?
        } else {
            model.direction(self.damping, forcing, |e| Ok(model.product(e)))?
        };
        effort.iterations += found.iterations;
        if self.exact {
            // Cⁱ A and Σ_i w_i λⁱ_a Cⁱ, then O(p²) per matrix for each product.
            let products = found.iterations as f64 * 10.0 / (3.0 * found.e.rows() as f64);
            effort.passes += FIT_PASSES + 1.0 / 3.0 + products;
        }
        Ok(found)
    }
}
