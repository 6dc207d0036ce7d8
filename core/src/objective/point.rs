//! A point B: the loss, its first derivatives, and the rounding errors of the matrices there.

use super::least_squares::wedge;
use super::rounding::{CarriedErrors, Drift};
use crate::Error;
use crate::backend::{Backend, Fit, Request, Statistics, Summary, Sums, Update};
use crate::choices::Method;
use crate::error::{InitProblem, Remedy};
use crate::linalg::{self, Matrix, Scalar};
use crate::settings::Settings;

/// Where a solve is.
#[derive(Clone, Debug)]
pub(crate) struct Point<T = f64> {
    pub b: Matrix<T>,
    pub loss: f64,
    /// Gradient and Γ of the loss or, for methods that solve another equation, its residual.
    pub statistics: Statistics<T>,
    /// Whether the sums hold the Hessian of this point.
    pub has_hessian: bool,
    /// Whether the transformed matrices were computed from B, not updated from another point.
    pub is_fresh: bool,
    errors: CarriedErrors,
}

impl<T: Scalar> Point<T> {
    /// Evaluates B, with matrices computed from it.
    pub fn at(
        backend: &mut dyn Backend<T>,
        settings: &Settings,
        b: Matrix<T>,
        sums: &mut Sums<T>,
        hessian: bool,
    ) -> Result<Self, Error> {
        let errors = CarriedErrors::fresh(&b, &backend.summary().mean);
        Self::evaluate(backend, settings, b, None, errors, sums, hessian)
    }

    /// The point that an update leads to, or B close to it.
    pub fn updated(
        &self,
        backend: &mut dyn Backend<T>,
        settings: &Settings,
        b: Matrix<T>,
        update: Update<T>,
        sums: &mut Sums<T>,
        hessian: bool,
    ) -> Result<Self, Error> {
        let mut errors = self.errors.clone();
        errors.step(&update.e, update.alpha, &update.scale);
        if settings.orthogonal {
            errors.reorthogonalize(&b, &backend.summary().mean);
        }
        Self::evaluate(backend, settings, b, Some(update), errors, sums, hessian)
    }

    /// The point that a sweep over pairs has led to, to which the backend has moved its matrices.
    pub fn after_sweep(
        &self,
        backend: &mut dyn Backend<T>,
        settings: &Settings,
        b: Matrix<T>,
        sums: &mut Sums<T>,
    ) -> Result<Self, Error> {
        // B = (I + E) B₀.
        let mut e = linalg::product(&b, &linalg::inverse(&self.b));
        (0..b.rows()).for_each(|a| e[(a, a)] -= T::ONE);
        let scale = vec![1.0; b.rows()];
        let from = self.b.clone();
        let alpha = 1.0;
        let update = Update {
            from,
            e,
            alpha,
            scale,
        };
        self.updated(backend, settings, b, update, sums, false)
    }

    fn evaluate(
        backend: &mut dyn Backend<T>,
        settings: &Settings,
        b: Matrix<T>,
        update: Option<Update<T>>,
        errors: CarriedErrors,
        sums: &mut Sums<T>,
        hessian: bool,
    ) -> Result<Self, Error> {
        let is_fresh = update.is_none();
        let b_of_request = b.clone();
        backend.evaluate(
            &Request::Point {
                b: b_of_request,
                update,
                hessian,
            },
            sums,
        )?;
        let summary = backend.summary();
        let criterion = summary.criterion;
        let (log_det, statistics) = if criterion.is_least_squares() {
            (0.0, Fit::at(&b).statistics(&sums.moments))
        } else {
            let statistics = Statistics::new(criterion, &sums.moments);
            (linalg::log_abs_det(&b), statistics)
        };
        let loss = criterion.loss(summary, sums.numbers[0], log_det);
        let statistics = match settings.method {
            Method::Uwedge | Method::Ffdiag => {
                let constant = summary.constant;
                backend.evaluate(&Request::Wedge { b: b.clone() }, sums)?;
                wedge::in_units_of(constant, wedge::sums(&sums.moments))
            }
            _ => statistics,
        };
        Ok(Self {
            b,
            loss,
            statistics,
            has_hessian: hessian,
            is_fresh,
            errors,
        })
    }

    /// What is compared with the tolerance.
    pub fn gradient_norm(&self, summary: &Summary<T>, settings: &Settings) -> f64 {
        let criterion = summary.criterion;
        criterion.stopping_measure(&self.statistics, settings.orthogonal, summary)
    }

    /// What recomputing the matrices from B would be worth.
    pub fn drift(&self, summary: &Summary<T>) -> Drift {
        self.errors.compared_with_fresh(&self.b, &summary.mean)
    }

    /// How much larger than in fresh matrices the variance of rounding errors is, for matrices whose
    /// components had power 1.
    pub fn error_variance(&self) -> f64 {
        self.errors.most()
    }

    /// A bound of what rounding may change in an entry of the gradient.
    pub fn gradient_error(&self, summary: &Summary<T>) -> f64 {
        self.errors.gradient_bound(&self.b, &summary.mean)
    }
}

/// B with the rows scaled as the criterion has them, unless rows are to keep their scale.
pub(crate) fn in_gauge<T: Scalar>(
    summary: &Summary<T>,
    settings: &Settings,
    b: Matrix<T>,
) -> Matrix<T> {
    if !settings.rescale || settings.orthogonal {
        return b;
    }
    let gauge = summary.criterion.gauge(&b, &summary.mean);
    b.scale_rows(&gauge)
}

/// How far two gradients are apart, measured as the gradient norm is.
pub(crate) fn mean_gradient_change<T: Scalar>(
    summary: &Summary<T>,
    settings: &Settings,
    before: &Statistics<T>,
    after: &Statistics<T>,
) -> f64 {
    let mut change = after.clone();
    let difference = change.gradient.as_mut_slice();
    linalg::add_multiple(difference, -1.0, before.gradient.as_slice());
    let criterion = summary.criterion;
    criterion.stopping_measure(&change, settings.orthogonal, summary)
}

/// The error for a set that was accepted by the criterion but is singular to rounding.
pub(crate) fn singular<T: Scalar>(summary: &Summary<T>) -> Error {
    let values = linalg::symmetric_eigenvalues(&summary.mean);
    match values {
        Some(values) if summary.criterion.requires_definite() => Error::NotPositiveDefinite {
            matrix: None,
            eigenvalue: values[0],
            remedy: Remedy::None,
        },
        _ => Error::Init {
            problem: InitProblem::Singular,
        },
    }
}
