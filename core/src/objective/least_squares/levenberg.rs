//! Least squares as an objective: Gauss–Newton steps, or Newton steps with the exact Hessian near
//! the solution, with Levenberg–Marquardt damping (Nocedal & Wright, Numerical Optimization,
//! section 10.3).

use super::gauss_newton::{Model, Preconditioner, project};
use super::{FIT_PASSES, column_norms, diagonalizer, stopping_measure};
use crate::Error;
use crate::backend::{Backend, Change, Fit, Hessian, HessianRows, Request, Sums};
use crate::linalg::{Matrix, Scalar, reals, scalars};
use crate::objective::{
    CgLimits, Context, Direction, Objective, Point, QuadraticModel, StepResult,
};
use crate::settings::Settings;
use crate::tuning::TUNING;

/// The least-squares objective, with its damping and choice of the Hessian.
pub(crate) struct LeastSquares<T> {
    damping: f64,
    /// Factor by which the damping grows after the next failed step.
    growth: f64,
    failed_steps: usize,
    /// Whether the exact Hessian can be used.
    may_be_exact: bool,
    /// Whether the exact Hessian is used.
    exact: bool,
    /// The gradient norm before the last step.
    previous_gradient_norm: f64,
    fit: Option<Fit<T>>,
}

/// Maximum number of consecutive failed steps, each of which raises the damping.
const MAX_FAILED_STEPS: usize = 10;
/// Initial damping.
const INITIAL_DAMPING: f64 = 1e-3;
/// Smallest damping.
const MIN_DAMPING: f64 = 1e-9;
/// Smallest damping after a failed step.
const MIN_RAISED_DAMPING: f64 = 1e-6;
/// Largest norm of a column of a step. Columns of A have unit norm.
const MAX_COLUMN_STEP: f64 = 0.5;

impl<T: Scalar> LeastSquares<T> {
    pub fn new(backend: &dyn Backend<T>, settings: &Settings) -> Self {
        let p = backend.summary().dimension();
        Self {
            damping: INITIAL_DAMPING,
            growth: 4.0,
            failed_steps: 0,
            may_be_exact: Hessian::<T>::bytes(p) <= settings.hessian_memory
                && backend.capabilities().stores_hessian,
            exact: false,
            previous_gradient_norm: f64::INFINITY,
            fit: None,
        }
    }

    fn direction(direction: &Direction) -> (Matrix<T>, f64) {
        let e: &[T] = scalars(&direction.x);
        let p = e.len().isqrt();
        let e = Matrix::from_rows(p, p, e.to_vec());
        let longest = column_norms(&e).into_iter().fold(0.0, f64::max);
        (e, (MAX_COLUMN_STEP / longest).min(1.0))
    }
}

impl<T: Scalar> Objective<T> for LeastSquares<T> {
    fn model<'a>(
        &'a mut self,
        context: &'a mut Context<'_, T>,
        point: &'a Point<T>,
    ) -> Result<Box<dyn QuadraticModel + 'a>, Error> {
        let energy = context.backend.summary().constant;
        let gradient_norm = stopping_measure(&point.statistics, energy);
        if self.failed_steps == 0 {
            // Slow convergence means that residuals are too large for the Gauss–Newton model. Far
            // from the minimum, negative curvature makes the exact Hessian unsuitable.
            let slow =
                gradient_norm > self.previous_gradient_norm / TUNING.gauss_newton_min_reduction;
            let begins = !self.exact
                && self.may_be_exact
                && slow
                && gradient_norm < TUNING.exact_fit_hessian_below;
            self.exact = begins || (self.exact && gradient_norm < TUNING.gauss_newton_above);
            self.previous_gradient_norm = gradient_norm;
            self.fit = Some(Fit::at(&point.b));
        }
        if self.exact && self.failed_steps == 0 {
            let request = Request::Weighted { b: point.b.clone() };
            context.backend.evaluate(&request, context.sums)?;
        }
        let fit = self.fit.as_ref().expect("`model` has stored the fit");
        let model = Model::new(&point.b, fit, &point.statistics);
        let Sums { hessian, .. } = &mut *context.sums;
        let exact = self.exact.then(|| ExactProducts {
            backend: &mut *context.backend,
            weighted: hessian,
            sums: Sums::default(),
        });
        Ok(Box::new(DampedModel {
            preconditioner: Preconditioner::new(&model, self.damping),
            damping: self.damping,
            fit,
            point,
            model,
            exact,
        }))
    }

    fn cg_limits(&self, _: &Context<'_, T>, gradient_norm: f64) -> CgLimits {
        CgLimits {
            forcing_term: gradient_norm.min(TUNING.max_forcing_term),
            max_iter: TUNING.max_fit_cg_iterations,
        }
    }

    fn try_step(
        &mut self,
        context: &mut Context<'_, T>,
        point: &Point<T>,
        direction: &Direction,
        _: f64,
    ) -> Result<Option<StepResult<T>>, Error> {
        let summary = context.backend.summary();
        let (criterion, unit) = (summary.criterion, summary.criterion.loss_unit(summary));
        let rounding = criterion.rounding(point.b.rows(), 0.0);
        let (e, factor) = Self::direction(direction);
        let e = e.scaled(factor);
        let fit = self.fit.as_ref().expect("`model` has stored the fit");
        let model = Model::new(&point.b, fit, &point.statistics);
        let damping = model.damping_energy(self.damping, &e);
        let predicted = damping - direction.predicted_change(factor);
        let Some(b) = diagonalizer(&model.moved(&e)) else {
            return Ok(None);
        };
        *context.passes += FIT_PASSES;
        let next = Point::at(context.backend, context.settings, b, context.sums, false)?;
        let decrease = point.loss - next.loss;
        // NaN is not accepted.
        let accepted = decrease >= -rounding;
        if !accepted {
            return Ok(None);
        }
        let ratio = decrease / (unit * predicted).max(rounding);
        if ratio > 0.75 || decrease.abs() <= rounding {
            self.damping = (self.damping / TUNING.damping_reduction).max(MIN_DAMPING);
        } else if ratio < 0.25 {
            self.damping *= 4.0;
        }
        (self.growth, self.failed_steps) = (4.0, 0);
        Ok(Some(StepResult {
            point: next,
            trial_fraction: 1.0,
            accepted_fraction: 1.0,
            loss_change: -decrease,
            rounding,
        }))
    }

    fn retry(&mut self) -> bool {
        self.damping = (self.growth * self.damping).max(MIN_RAISED_DAMPING);
        self.growth *= 2.0;
        self.failed_steps += 1;
        if self.failed_steps < MAX_FAILED_STEPS {
            return true;
        }
        (self.growth, self.failed_steps) = (4.0, 0);
        false
    }

    fn has_trust_region(&self) -> bool {
        false
    }

    fn passes(&self, p: usize, iterations: usize) -> f64 {
        if self.exact {
            // Computing Cⁱ A and Σ_i w_i λⁱ_a Cⁱ, then O(p²) per matrix for each product.
            FIT_PASSES + 1.0 / 3.0 + iterations as f64 * 10.0 / (3.0 * p as f64)
        } else {
            0.0
        }
    }
}

/// Products with the exact Hessian. Each is a data pass that sums the change of the fit over the
/// set.
struct ExactProducts<'a, T: Scalar> {
    backend: &'a mut dyn Backend<T>,
    /// Σ_i w_i λⁱ_a Cⁱ.
    weighted: &'a mut HessianRows,
    sums: Sums<T>,
}

/// The Gauss–Newton model, or that of the exact Hessian, with the damping μ T_aa added to the
/// Hessian.
struct DampedModel<'a, T: Scalar> {
    model: Model<'a, T>,
    fit: &'a Fit<T>,
    point: &'a Point<T>,
    damping: f64,
    preconditioner: Preconditioner<T>,
    exact: Option<ExactProducts<'a, T>>,
}

impl<T: Scalar> DampedModel<'_, T> {
    fn matrix(&self, x: &[f64]) -> Matrix<T> {
        let p = self.point.b.rows();
        Matrix::from_rows(p, p, scalars(x).to_vec())
    }
}

impl<T: Scalar> QuadraticModel for DampedModel<'_, T> {
    fn gradient(&self) -> &[f64] {
        reals(self.model.gradient.as_slice())
    }

    fn precondition(&mut self, r: &[f64], out: &mut [f64]) {
        let solution = self.preconditioner.solve(&self.matrix(r));
        out.copy_from_slice(reals(solution.as_slice()));
    }

    fn product(&mut self, x: &[f64], out: &mut [f64]) -> Result<(), Error> {
        let e = self.matrix(x);
        let mut product = match &mut self.exact {
            None => self.model.product(&e),
            Some(exact) => {
                let (b, change) = (self.point.b.clone(), Change::new(self.fit, &e));
                let request = Request::HessianProduct { b, e: e.clone() };
                exact.backend.evaluate(&request, &mut exact.sums)?;
                let (moments, response) = (&self.point.statistics.gamma, &exact.sums.moments);
                let weighted = &mut *exact.weighted;
                self.fit
                    .hessian_product(&change, moments, weighted, response)
            }
        };
        project(&self.model.a, &mut product);
        for k in 0..e.rows() {
            let row = product.row_mut(k).iter_mut().zip(e.row(k));
            row.zip(&self.model.energies)
                .for_each(|((x, e), energy)| *x += *e * (self.damping * energy));
        }
        out.copy_from_slice(reals(product.as_slice()));
        Ok(())
    }
}
