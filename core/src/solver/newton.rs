//! Newton's method: truncated conjugate gradients on the exact Hessian, and an exact line search.

use super::course::Course;
use super::rotation;
use crate::Error;
use crate::direction::newton::{self, Effort, Group, Newton};
use crate::linalg::Matrix;
use crate::line_search::Line;
use crate::matrices::WorkingSet;
use crate::report::{Status, StepKind};
use crate::settings::Settings;
use crate::statistics::Hessian;

/// The residual of the Newton system may be this share of the gradient, or ĝ if that is less:
/// convergence is then quadratic.
const FORCING: f64 = 0.1;
/// Below this ĝ the chart's own curvature, which vanishes with the gradient, is left out.
const STRAIGHT: f64 = 1e-3;
/// A step shorter than this was probed in vain: half the direction is tried instead.
const SHORTEST: f64 = 0.1;
/// How often.
const MAX_HALVINGS: usize = 40;

/// Whether the exact Hessian is stored, as the set is told, or applied by sweeps.
pub(crate) fn stores_hessian<S: WorkingSet>(set: &mut S, settings: &Settings) -> bool {
    let (n, p) = (set.summary().len, set.summary().dimension());
    let fits = Hessian::bytes(p) <= settings.hessian_memory;
    fits && !sweeps_are_cheaper(n, p) && set.expect_hessian()
}

/// Runs to the end.
pub(crate) fn run<S: WorkingSet>(
    course: &mut Course<'_, S>,
    stored: bool,
) -> Result<Status, Error> {
    let summary = course.set.summary();
    let (n, p) = (summary.len, summary.dimension());
    let mut hessian: Option<Hessian> = None;
    let mut arrived = course.arrive(StepKind::Start, 0.0, 0)?;
    loop {
        if let Some(status) = arrived {
            return Ok(status);
        }
        if stored && hessian.is_none() {
            hessian = Some(Hessian::zeros(p));
        }
        let Newton { e, iterations } = direction(course, hessian.as_mut(), n)?;
        let step = if course.settings.orthogonal {
            rotation::turn(course, &e)?
        } else {
            search(course, e)?
        };
        let Some(step) = step else {
            return Ok(Status::NoFurtherDecrease);
        };
        arrived = course.arrive(StepKind::Newton, step, iterations)?;
    }
}

/// Conjugate gradient iterations at most: fewer for few matrices, where they take as long as a pass.
fn most_iterations(n: usize) -> usize {
    (3 * n / 10).clamp(20, 100)
}

/// Whether, for very few large matrices, a sweep over them reads less than the Hessian has.
fn sweeps_are_cheaper(n: usize, p: usize) -> bool {
    n <= 4 && p >= 64
}

/// The direction from here; without room for the Hessian, each product is a sweep over the set.
fn direction<S: WorkingSet>(
    course: &mut Course<'_, S>,
    hessian: Option<&mut Hessian>,
    n: usize,
) -> Result<Newton, Error> {
    let gradient_norm = course.gradient_norm();
    let effort = Effort {
        forcing: gradient_norm.min(FORCING),
        most: most_iterations(n),
    };
    // Over rotations only the antisymmetric part of the gradient vanishes at the solution, and
    // the chart's curvature remains.
    let (group, curved) = if course.settings.orthogonal {
        (Group::Rotations, true)
    } else {
        (Group::Linear, gradient_norm > STRAIGHT)
    };
    let statistics = &course.statistics;
    if let Some(hessian) = hessian {
        course.set.hessian(hessian)?;
        let found =
            newton::direction(
                statistics,
                group,
                effort,
                curved,
                |e| Ok(hessian.product(e)),
            )?;
        course.count(2.0 / 3.0);
        Ok(found)
    } else {
        let set = &mut *course.set;
        let found = newton::direction(statistics, group, effort, curved, |e| {
            set.hessian_product(e)
        })?;
        course.count(found.iterations as f64 * 2.0 / 3.0);
        Ok(found)
    }
}

/// Follows exp(E), to second order, to a minimiser along it; returns the length of the step.
fn search<S: WorkingSet>(course: &mut Course<'_, S>, mut e: Matrix) -> Result<Option<f64>, Error> {
    for _ in 0..MAX_HALVINGS {
        let f = newton::retract(&e);
        if f.dot(&course.statistics.gradient) < 0.0 {
            let probe = course.set.probe(&f)?;
            course.count(1.0);
            let mut line = Line::new(course.set, &f)?;
            let noise = line.noise;
            if let Some(point) = line.minimize(1.0, 0.1)?
                && point.alpha >= SHORTEST
            {
                course.advance(&f, &probe, point, noise)?;
                return Ok(Some(point.alpha));
            }
        }
        e.as_mut_slice().iter_mut().for_each(|x| *x *= 0.5);
    }
    Ok(None)
}
