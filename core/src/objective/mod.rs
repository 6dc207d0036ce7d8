//! The objective functions: values and derivatives at a point, and the steps of a truncated Newton
//! method.
//!
//! An [`Objective`] builds a [`QuadraticModel`] of the loss at a [`Point`], which conjugate
//! gradients minimize, and evaluates the resulting step. Vectors contain the real numbers of a
//! matrix E in row-major order, with real and imaginary parts interleaved if E is complex.

pub(crate) mod criterion;
pub(crate) mod diagonal;
pub(crate) mod least_squares;
pub(crate) mod line_search;
mod point;
pub(crate) mod quasi_newton;
mod rounding;

pub(crate) use criterion::identifiability;
pub(crate) use point::{Point, gradient_distance, normalized, singular};
pub(crate) use rounding::Drift;

use crate::Error;
use crate::backend::{Backend, Sums};
use crate::linalg::{Matrix, Scalar};
use crate::settings::Settings;

/// Everything that a step needs besides the current point.
pub(crate) struct Context<'a, T: Scalar> {
    pub backend: &'a mut dyn Backend<T>,
    pub settings: &'a Settings,
    /// The tolerance of the whole solve, of which this may be a stage.
    pub final_tolerance: f64,
    /// Buffers of the sums. They hold the Hessian of the current point if its `has_hessian` is
    /// true.
    pub sums: &'a mut Sums<T>,
    /// Work so far, in data passes.
    pub passes: &'a mut f64,
    /// Whether the Hessian at the next point is requested together with its gradient.
    pub joint_hessian: bool,
}

/// A second-order model of the loss at a point: ⟨g, x⟩ + ½⟨x, H x⟩.
pub(crate) trait QuadraticModel {
    /// Returns g.
    fn gradient(&self) -> &[f64];

    /// Writes an approximation of H⁻¹ r.
    fn precondition(&mut self, r: &[f64], out: &mut [f64]);

    /// Writes H x.
    fn product(&mut self, x: &[f64], out: &mut [f64]) -> Result<(), Error>;

    /// Returns the shape of E if its entries are subject to a box constraint: the number of rows
    /// (and columns), and of real numbers per entry.
    fn bounded_shape(&self) -> Option<(usize, usize)> {
        None
    }
}

/// An approximate minimizer of the quadratic model.
#[derive(Debug)]
pub(crate) struct Direction {
    /// The minimizer x.
    pub x: Vec<f64>,
    /// Slope ⟨g, x⟩.
    pub slope: f64,
    /// Curvature ⟨x, H x⟩.
    pub curvature: f64,
    /// Number of conjugate gradient iterations.
    pub iterations: usize,
}

impl Direction {
    /// Returns the change of the loss that the model predicts for a fraction of x, in the units of
    /// the gradient.
    pub fn predicted_change(&self, fraction: f64) -> f64 {
        fraction * (self.slope + 0.5 * fraction * self.curvature)
    }

    /// Returns ‖x‖.
    pub fn norm(&self) -> f64 {
        self.x.iter().map(|x| x * x).sum::<f64>().sqrt()
    }
}

/// An accepted step.
pub(crate) struct StepResult<T: Scalar> {
    /// The new point.
    pub point: Point<T>,
    /// The fraction of the direction along which the line search was generated.
    pub trial_fraction: f64,
    /// The fraction of the direction that was taken.
    pub accepted_fraction: f64,
    pub loss_change: f64,
    /// Bound of the rounding error of `loss_change`.
    pub rounding: f64,
}

/// Accuracy to which the model is minimized.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CgLimits {
    /// Forcing term of the inexact Newton method: the largest residual relative to the gradient, in
    /// the norm of the preconditioner.
    pub forcing_term: f64,
    pub max_iter: usize,
}

/// A loss that the truncated Newton method minimizes.
pub(crate) trait Objective<T: Scalar> {
    /// Builds the quadratic model at a point.
    fn model<'a>(
        &'a mut self,
        context: &'a mut Context<'_, T>,
        point: &'a Point<T>,
    ) -> Result<Box<dyn QuadraticModel + 'a>, Error>;

    /// Returns the accuracy to which the model at a point is minimized.
    fn cg_limits(&self, context: &Context<'_, T>, gradient_norm: f64) -> CgLimits;

    /// Tries a fraction of a direction; None if the loss does not decrease.
    fn try_step(
        &mut self,
        context: &mut Context<'_, T>,
        point: &Point<T>,
        direction: &Direction,
        fraction: f64,
    ) -> Result<Option<StepResult<T>>, Error>;

    /// Returns the B after a full step without evaluating it; None if the step requires a search.
    fn full_step(&self, _: &Context<'_, T>, _: &Point<T>, _: &Direction) -> Option<Matrix<T>> {
        None
    }

    /// Adjusts the model after a failed step, and returns whether it should be tried.
    fn retry(&mut self) -> bool {
        false
    }

    /// Whether a trust region bounds the length of steps.
    fn has_trust_region(&self) -> bool {
        true
    }

    /// Returns the cost in data passes of a model with this number of products.
    fn passes(&self, p: usize, iterations: usize) -> f64;
}
