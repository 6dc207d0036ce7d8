//! Levenberg and Marquardt's damping: how long a Gauss–Newton step may be.

use super::gauss_newton::{Direction, Model};
use super::{Fit, diagonalizer, stopping_measure};
use crate::Error;
use crate::linalg::{Matrix, Scalar};
use crate::matrices::WorkingSet;
use crate::statistics::Statistics;

/// The residual of the Gauss–Newton system may be this share of the gradient, or ĝ if that is less.
const FORCING: f64 = 0.1;
/// How often the damping is raised before a step is given up.
const MOST_TRIALS: usize = 25;
/// The damping at the start, and the smallest.
const FIRST: f64 = 1e-3;
const SMALLEST: f64 = 1e-9;

/// Where a fit stands.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    pub b: Matrix,
    pub loss: f64,
    pub statistics: Statistics,
}

impl Point {
    /// Brings the set to B.
    pub fn at<T: Scalar, S: WorkingSet<T>>(set: &mut S, b: Matrix) -> Result<Self, Error> {
        let captured = set.reset(&Matrix::from_real(&b))?;
        let statistics = set.statistics()?.to_real();
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
pub(crate) struct Taken {
    /// Where it led; the set stands there.
    pub point: Point,
    /// How many points were tried, each a pass over the set.
    pub trials: usize,
    /// The conjugate gradient iterations of all of them.
    pub iterations: usize,
}

/// The damping, from step to step.
#[derive(Clone, Debug)]
pub(crate) struct Levenberg {
    damping: f64,
}

impl Levenberg {
    pub fn new() -> Self {
        Self { damping: FIRST }
    }

    /// A Gauss–Newton step from a point in the gauge that lowers the loss, or, where it is all rounding,
    /// does not raise it beyond; None, with the set where it stood, if none is found.
    pub fn step<T: Scalar, S: WorkingSet<T>>(
        &mut self,
        set: &mut S,
        here: &Point,
    ) -> Result<Option<Taken>, Error> {
        let summary = set.summary();
        let (criterion, energy) = (summary.criterion, summary.constant);
        let (unit, noise) = (
            criterion.loss_unit(summary),
            criterion.rounding(here.b.rows(), 0.0),
        );
        let forcing = stopping_measure(&here.statistics, energy).min(FORCING);
        let fit = Fit::at(&here.b);
        let model = Model::new(&here.b, &fit, &here.statistics);
        let mut iterations = 0;
        for trials in 1..=MOST_TRIALS {
            let Direction {
                e,
                predicted,
                iterations: own,
            } = model.direction(self.damping, forcing);
            iterations += own;
            if let Some(b) = diagonalizer(&model.moved(&e)) {
                let point = Point::at(set, b)?;
                let decrease = here.loss - point.loss;
                if decrease >= -noise {
                    let ratio = decrease / (unit * predicted).max(noise);
                    if ratio > 0.75 || decrease.abs() <= noise {
                        self.damping = (self.damping / 5.0).max(SMALLEST);
                    } else if ratio < 0.25 {
                        self.damping *= 4.0;
                    }
                    let taken = Taken {
                        point,
                        trials,
                        iterations,
                    };
                    return Ok(Some(taken));
                }
            }
            self.damping = (4.0 * self.damping).max(1e-6);
        }
        set.reset(&Matrix::from_real(&here.b))?;
        Ok(None)
    }
}
