//! What is minimized: its value and derivatives at a point, and the steps that a truncated Newton
//! method takes.
//!
//! An [`Objective`] builds a [`QuadraticModel`] of the loss at a [`Point`], which conjugate gradients
//! minimize, and tries the step that they propose. Vectors are the real numbers of a matrix E, row
//! after row, for complex E the real and imaginary parts in turn.

pub(crate) mod criterion;
pub(crate) mod diagonal;
pub(crate) mod least_squares;
pub(crate) mod line_search;
mod point;
pub(crate) mod quasi_newton;
mod rounding;

pub(crate) use criterion::identifiability;
pub(crate) use point::{Point, in_gauge, mean_gradient_change, singular};
pub(crate) use rounding::Drift;

use crate::Error;
use crate::backend::{Backend, Sums};
use crate::linalg::{Matrix, Scalar};
use crate::settings::Settings;

/// A set, and what a step on it needs besides the point.
pub(crate) struct Context<'a, T: Scalar> {
    pub backend: &'a mut dyn Backend<T>,
    pub settings: &'a Settings,
    /// The tolerance of the whole solve, of which this may be a stage.
    pub final_tolerance: f64,
    /// Memory of the sums; its Hessian is that of the point if the point says so.
    pub sums: &'a mut Sums<T>,
    /// Work so far, in transforms of the set.
    pub passes: &'a mut f64,
    /// Whether the Hessian at the next point is wanted together with its gradient.
    pub joint_hessian: bool,
}

/// A second-order model of the loss at a point: ⟨g, x⟩ + ½⟨x, H x⟩.
pub(crate) trait QuadraticModel {
    /// g.
    fn gradient(&self) -> &[f64];

    /// An approximation of H⁻¹ r.
    fn precondition(&mut self, r: &[f64], out: &mut [f64]);

    /// H x.
    fn product(&mut self, x: &[f64], out: &mut [f64]) -> Result<(), Error>;

    /// The shape of E where its entries are bounded: rows (and columns), and real numbers per entry.
    fn bounded_shape(&self) -> Option<(usize, usize)> {
        None
    }
}

/// A minimizer of the model, as far as conjugate gradients went.
#[derive(Debug)]
pub(crate) struct Direction {
    /// x.
    pub x: Vec<f64>,
    /// ⟨g, x⟩.
    pub slope: f64,
    /// ⟨x, H x⟩.
    pub curvature: f64,
    /// Number of conjugate gradient iterations.
    pub iterations: usize,
}

impl Direction {
    /// The change of the loss that the model predicts for a fraction of x, in the units of the gradient.
    pub fn predicted_change(&self, fraction: f64) -> f64 {
        fraction * (self.slope + 0.5 * fraction * self.curvature)
    }

    /// ‖x‖.
    pub fn norm(&self) -> f64 {
        self.x.iter().map(|x| x * x).sum::<f64>().sqrt()
    }
}

/// A step that was taken.
pub(crate) struct StepResult<T: Scalar> {
    /// Where it led.
    pub point: Point<T>,
    /// The fraction of the direction that was evaluated.
    pub trial_fraction: f64,
    /// The fraction of the direction that was taken.
    pub accepted_fraction: f64,
    pub loss_change: f64,
    /// Changes of the loss below this are rounding.
    pub rounding: f64,
}

/// How accurately the model is minimized.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CgLimits {
    /// The residual, in the norm of the preconditioner, relative to the gradient: the forcing term of
    /// an inexact Newton method.
    pub forcing_term: f64,
    pub max_iter: usize,
}

/// A loss that a truncated Newton method minimizes.
pub(crate) trait Objective<T: Scalar> {
    /// The model at a point.
    fn model<'a>(
        &'a mut self,
        context: &'a mut Context<'_, T>,
        point: &'a Point<T>,
    ) -> Result<Box<dyn QuadraticModel + 'a>, Error>;

    /// How accurately the model at a point is to be minimized.
    fn cg_limits(&self, context: &Context<'_, T>, gradient_norm: f64) -> CgLimits;

    /// Tries a fraction of a direction; None if it leads to no lower loss.
    fn try_step(
        &mut self,
        context: &mut Context<'_, T>,
        point: &Point<T>,
        direction: &Direction,
        fraction: f64,
    ) -> Result<Option<StepResult<T>>, Error>;

    /// The B that a direction leads to, without evaluating it; None if only a search can
    /// tell.
    fn full_step(&self, _: &Context<'_, T>, _: &Point<T>, _: &Direction) -> Option<Matrix<T>> {
        None
    }

    /// After a failed step: whether another model is worth a trial.
    fn retry(&mut self) -> bool {
        false
    }

    /// Whether the length of steps is limited by a trust region.
    fn has_trust_region(&self) -> bool {
        true
    }

    /// Data passes that a model and that number of products with it took.
    fn passes(&self, p: usize, iterations: usize) -> f64;
}
