//! Algorithm 1 of Ablin, Cardoso & Gramfort (2019), "Beyond Pham's algorithm for joint
//! diagonalization": quasi-Newton directions, step lengths 1, ½, ¼, …

use super::course::Course;
use super::rotation;
use crate::Error;
use crate::direction::quasi_newton;
use crate::line_search::Line;
use crate::matrices::WorkingSet;
use crate::report::{Status, StepKind};

/// Runs to the end.
pub(crate) fn run<S: WorkingSet>(course: &mut Course<'_, S>) -> Result<Status, Error> {
    let settings = course.settings;
    let mut arrived = course.arrive(StepKind::Start, 0.0, 0)?;
    loop {
        if let Some(status) = arrived {
            return Ok(status);
        }
        let step = if settings.orthogonal {
            let e = quasi_newton::rotation(&course.statistics, settings.lambda_min);
            rotation::turn(course, &e)?
        } else {
            let e = quasi_newton::direction(&course.statistics, settings.lambda_min);
            let probe = course.set.probe(&e)?;
            course.count(1.0);
            let mut line = Line::new(course.set, &e)?;
            let noise = line.noise;
            match line.backtrack(settings.max_halvings)? {
                Some(point) => {
                    course.advance(&e, &probe, point, noise)?;
                    Some(point.alpha)
                }
                None => None,
            }
        };
        let Some(step) = step else {
            return Ok(Status::NoFurtherDecrease);
        };
        arrived = course.arrive(StepKind::QuasiNewton, step, 0)?;
    }
}
