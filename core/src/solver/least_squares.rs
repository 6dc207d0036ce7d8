//! The methods of least squares: Gauss–Newton, AC-DC, U-WEDGE and FFDIAG.

use super::Stepper;
use super::iteration::{Iteration, Step};
use crate::Error;
use crate::least_squares::{FIT_PASSES, Levenberg, Point, acdc, diagonalizer, wedge};
use crate::linalg::{self, Matrix, Scalar};
use crate::matrices::WorkingSet;
use crate::report::StepKind;
use crate::settings::{Method, Settings};
use crate::statistics::{Hessian, Statistics};

/// What the method stops by, where the set stands: the gradient of the fit or, for the methods that solve
/// another equation, its residual.
pub(super) fn statistics<T: Scalar>(
    set: &mut dyn WorkingSet<T>,
    settings: &Settings,
) -> Result<Statistics<T>, Error> {
    if !matches!(settings.method, Method::Uwedge | Method::Ffdiag) {
        return set.statistics();
    }
    let sums = set.wedge_sums()?;
    Ok(wedge::in_units_of(set.summary().constant, sums))
}

/// The Gauss–Newton method.
pub(super) struct GaussNewton(Levenberg);

impl GaussNewton {
    /// Decides whether there is room for what the exact Hessian takes.
    pub fn new<T: Scalar>(set: &dyn WorkingSet<T>, settings: &Settings) -> Self {
        let p = set.summary().dimension();
        Self(Levenberg::new(
            Hessian::<T>::bytes(p) <= settings.hessian_memory,
        ))
    }
}

impl<T: Scalar> Stepper<T> for GaussNewton {
    fn step(&mut self, iteration: &mut Iteration<'_, '_, T>) -> Result<Option<Step>, Error> {
        let here = Point {
            b: iteration.b.clone(),
            loss: iteration.loss,
            statistics: iteration.statistics.clone(),
        };
        let Some(taken) = self.0.step(iteration.set, &here)? else {
            return Ok(None);
        };
        iteration.count(taken.effort.passes);
        iteration.fit(taken.point);
        Ok(Some(Step {
            cg_iterations: taken.effort.iterations,
            ..Step::new(StepKind::Newton, 1.0)
        }))
    }
}

/// AC-DC.
pub(super) struct Acdc<T> {
    /// Its memory, kept from step to step.
    weighted: Option<Hessian<T>>,
}

impl<T: Scalar> Acdc<T> {
    /// Tells the set what will be asked.
    pub fn new(set: &mut dyn WorkingSet<T>) -> Self {
        set.expect_hessian();
        Self { weighted: None }
    }
}

impl<T: Scalar> Stepper<T> for Acdc<T> {
    fn step(&mut self, iteration: &mut Iteration<'_, '_, T>) -> Result<Option<Step>, Error> {
        let mut a = linalg::inverse_by_elimination(&iteration.b);
        let criterion = iteration.set.summary().criterion;
        let weighted = self
            .weighted
            .get_or_insert_with(|| Hessian::zeros(criterion, a.rows()));
        iteration.set.hessian(weighted)?;
        acdc::sweep(&mut a, weighted, &iteration.statistics.gamma)?;
        let Some(b) = diagonalizer(&a) else {
            iteration.dependent = true;
            return Ok(None);
        };
        iteration.count(1.0 / 3.0 + FIT_PASSES);
        let point = Point::at(iteration.set, b)?;
        iteration.fit(point);
        Ok(Some(Step::new(StepKind::Sweep, 1.0)))
    }
}

/// U-WEDGE or FFDIAG.
pub(super) struct Wedge;

impl Wedge {
    /// The next B, and how much of the direction was taken.
    fn next<T: Scalar>(method: Method, b: &Matrix<T>, e: &Matrix<T>) -> Option<(Matrix<T>, f64)> {
        let (b, length) = match method {
            Method::Ffdiag => wedge::ffdiag(b, e),
            _ => (wedge::uwedge(b, e)?, 1.0),
        };
        let a = linalg::inverse_by_elimination(&b);
        Some((diagonalizer(&a)?, length))
    }
}

impl<T: Scalar> Stepper<T> for Wedge {
    fn step(&mut self, iteration: &mut Iteration<'_, '_, T>) -> Result<Option<Step>, Error> {
        let e = wedge::direction(&iteration.statistics);
        let method = iteration.settings.method;
        let Some((b, length)) = Self::next(method, &iteration.b, &e) else {
            iteration.dependent = true;
            return Ok(None);
        };
        let Point { b, loss, .. } = Point::at(iteration.set, b)?;
        let statistics = statistics(iteration.set, iteration.settings)?;
        iteration.count(1.0 + FIT_PASSES);
        iteration.fit(Point {
            b,
            loss,
            statistics,
        });
        Ok(Some(Step::new(StepKind::Wedge, length)))
    }
}
