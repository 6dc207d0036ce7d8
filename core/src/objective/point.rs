//! A point B with its loss, first derivatives, and the rounding errors of the transformed matrices.

use super::least_squares::wedge;
use super::rounding::{Drift, ErrorVariances};
use crate::Error;
use crate::backend::{Backend, Fit, Request, Statistics, Summary, Sums, Update};
use crate::choices::Method;
use crate::error::{InitProblem, Remedy};
use crate::linalg::{self, Matrix, Scalar};
use crate::settings::Settings;

/// An evaluated point of a solve.
#[derive(Clone, Debug)]
pub(crate) struct Point<T = f64> {
    pub b: Matrix<T>,
    pub loss: f64,
    /// Gradient and Γ of the loss. For U-WEDGE and FFDIAG, which solve another equation, the
    /// residual and coefficients of that equation.
    pub statistics: Statistics<T>,
    /// Whether the sums hold the Hessian of this point.
    pub has_hessian: bool,
    /// Whether the transformed matrices were computed from B rather than updated from another
    /// point.
    pub is_recomputed: bool,
    errors: ErrorVariances,
}

impl<T: Scalar> Point<T> {
    /// Evaluates B with matrices computed from it.
    pub fn at(
        backend: &mut dyn Backend<T>,
        settings: &Settings,
        b: Matrix<T>,
        sums: &mut Sums<T>,
        hessian: bool,
    ) -> Result<Self, Error> {
        let errors = ErrorVariances::recomputed(&b, &backend.summary().mean);
        Self::evaluate(backend, settings, b, None, errors, sums, hessian)
    }

    /// Evaluates the point that an update leads to. B may differ from it by rounding.
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
        errors.update(&update.e, update.alpha, &update.scale);
        if settings.orthogonal {
            errors.reorthogonalize(&b, &backend.summary().mean);
        }
        Self::evaluate(backend, settings, b, Some(update), errors, sums, hessian)
    }

    /// Evaluates the point after a sweep over pairs, which has already updated the matrices of the
    /// backend.
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
        errors: ErrorVariances,
        sums: &mut Sums<T>,
        hessian: bool,
    ) -> Result<Self, Error> {
        let is_recomputed = update.is_none();
        let requested_b = b.clone();
        backend.evaluate(
            &Request::Point {
                b: requested_b,
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
                wedge::scaled_to_energy(constant, wedge::sums(&sums.moments))
            }
            _ => statistics,
        };
        Ok(Self {
            b,
            loss,
            statistics,
            has_hessian: hessian,
            is_recomputed,
            errors,
        })
    }

    /// Returns the gradient norm ĝ that is compared with the tolerance.
    pub fn gradient_norm(&self, summary: &Summary<T>, settings: &Settings) -> f64 {
        let criterion = summary.criterion;
        criterion.stopping_measure(&self.statistics, settings.orthogonal, summary)
    }

    /// Compares the rounding errors of the matrices with those of recomputed ones.
    pub fn drift(&self, summary: &Summary<T>) -> Drift {
        self.errors.drift(&self.b, &summary.mean)
    }

    /// Returns the largest variance of rounding errors, relative to recomputed matrices whose
    /// components have power 1.
    pub fn error_variance(&self) -> f64 {
        self.errors.max()
    }

    /// Returns a bound of the rounding error of an entry of the gradient.
    pub fn gradient_error(&self, summary: &Summary<T>) -> f64 {
        self.errors.gradient_bound(&self.b, &summary.mean)
    }
}

/// Returns B with normalized rows, unless the settings keep their scale.
pub(crate) fn normalized<T: Scalar>(
    summary: &Summary<T>,
    settings: &Settings,
    b: Matrix<T>,
) -> Matrix<T> {
    if !settings.rescale || settings.orthogonal {
        return b;
    }
    let scale = summary.criterion.row_scale(&b, &summary.mean);
    b.scale_rows(&scale)
}

/// Returns the norm of the difference of two gradients, in the measure of the stopping rule.
pub(crate) fn gradient_distance<T: Scalar>(
    summary: &Summary<T>,
    settings: &Settings,
    before: &Statistics<T>,
    after: &Statistics<T>,
) -> f64 {
    let mut difference = after.clone();
    let entries = difference.gradient.as_mut_slice();
    linalg::add_multiple(entries, -1.0, before.gradient.as_slice());
    let criterion = summary.criterion;
    criterion.stopping_measure(&difference, settings.orthogonal, summary)
}

/// Returns the error for a set that passed validation but is numerically singular.
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
