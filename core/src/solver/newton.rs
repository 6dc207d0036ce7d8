//! Newton's method.

use super::course::Course;
use crate::Error;
use crate::direction::{newton, quasi_newton};
use crate::line_search::Line;
use crate::matrices::WorkingSet;
use crate::report::{Status, StepKind};

/// Runs to the end.
pub(crate) fn run<S: WorkingSet>(course: &mut Course<'_, S>) -> Result<Status, Error> {
    let settings = course.settings;
    let mut arrived = course.arrive(StepKind::Start, 0.0, 0);
    loop {
        if let Some(status) = arrived {
            return Ok(status);
        }
        let gradient_norm = course.gradient_norm();
        let (e, kind, cg) = if gradient_norm > 0.05 {
            (
                quasi_newton::direction(&course.statistics, settings.lambda_min),
                StepKind::QuasiNewton,
                0,
            )
        } else {
            let preconditioner =
                newton::Preconditioner::new(&course.statistics, settings.lambda_min);
            let mut hessian = course.set.hessian()?;
            course.count(2.0 / 3.0);
            let found = newton::direction(
                &course.statistics.gradient,
                &preconditioner,
                gradient_norm.min(0.1),
                100,
                |e| Ok(hessian.product(e)),
            )?;
            (found.e, StepKind::Newton, found.iterations)
        };
        let probe = course.set.probe(&e)?;
        course.count(1.0);
        let mut line = Line::new(course.set, &e)?;
        let noise = line.noise;
        let Some(point) = line.minimize(1.0, 0.1)? else {
            return Ok(Status::NoFurtherDecrease);
        };
        course.advance(&e, &probe, point, noise)?;
        arrived = course.arrive(kind, point.alpha, cg);
    }
}
