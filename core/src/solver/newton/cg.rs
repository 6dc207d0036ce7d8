//! Preconditioned conjugate gradients for a quadratic model that may have negative curvature, after
//! Steihaug (SIAM J. Numer. Anal. 20, 1983), within a box.

use super::box_constraint::BoxConstraint;
use crate::Error;
use crate::linalg::{add_multiple, dot};
use crate::objective::{CgLimits, Direction, QuadraticModel};
use crate::tuning::TUNING;

/// Curvatures below this, relative to the norm of the preconditioner, count as not positive.
const MIN_CURVATURE: f64 = 1e-10;
/// A step along negative curvature is as long as if the curvature were at least this, relative to the
/// norm of the preconditioner.
const MIN_STEP_CURVATURE: f64 = 0.01;

/// Minimizes ⟨g, x⟩ + ½⟨x, H x⟩ approximately.
///
/// Where a step meets a bound of the box, entries near their bounds are fixed, and the search begins
/// again among the others. Along a direction of negative curvature a step is taken as if the curvature
/// were positive; unless that fixes further entries, the search ends.
pub(super) fn minimize(
    model: &mut dyn QuadraticModel,
    limits: CgLimits,
) -> Result<Direction, Error> {
    let gradient = model.gradient().to_vec();
    let len = gradient.len();
    let mut bounds = model
        .bounded_shape()
        .map(|(p, parts)| BoxConstraint::new(p, parts));
    let mut x = vec![0.0; len];
    let mut residual: Vec<f64> = gradient.iter().map(|g| -g).collect();
    let (mut z, mut hq) = (vec![0.0; len], vec![0.0; len]);
    model.precondition(&residual, &mut z);
    let mut q = z.clone();
    let mut rz = dot(&residual, &z);
    let goal = limits.forcing_term.powi(2) * rz;
    // ‖q‖² in the norm of the preconditioner.
    let mut squared_norm = rz;
    // The value of the model at x.
    let mut value = 0.0;
    let (mut iterations, mut max_iterations) = (0, limits.max_iterations);
    while iterations < max_iterations && rz > goal {
        iterations += 1;
        model.product(&q, &mut hq)?;
        let curvature = dot(&q, &hq);
        let is_negative = curvature <= MIN_CURVATURE * squared_norm;
        let wanted = if is_negative {
            rz / (-curvature).max(MIN_STEP_CURVATURE * squared_norm)
        } else {
            rz / curvature
        };
        let max_step = bounds
            .as_ref()
            .and_then(|_| BoxConstraint::max_step(&x, &q, wanted));
        let step = max_step.unwrap_or(wanted);
        add_multiple(&mut x, step, &q);
        value += step * (0.5 * step * curvature - rz);
        let restart = is_negative || max_step.is_some();
        if restart {
            if !bounds.as_mut().is_some_and(|bounds| bounds.activate(&x)) {
                break;
            }
            max_iterations = limits.max_iterations / TUNING.cg_limit_divisor_after_restart;
        }
        add_multiple(&mut residual, -step, &hq);
        if let Some(bounds) = &bounds {
            bounds.clear_active(&mut residual);
        }
        model.precondition(&residual, &mut z);
        let before = std::mem::replace(&mut rz, dot(&residual, &z));
        if restart {
            std::mem::swap(&mut q, &mut z);
            squared_norm = rz;
            continue;
        }
        let beta = rz / before;
        q.iter_mut().zip(&z).for_each(|(q, z)| *q = z + beta * *q);
        squared_norm = rz + beta * beta * squared_norm;
    }
    // The model has fallen at every step. If x is no direction of descent all the same, its curvature
    // is negative, and −x is one.
    let slope = dot(&x, &gradient);
    if slope > 0.0 {
        x.iter_mut().for_each(|x| *x = -*x);
    }
    Ok(Direction {
        x,
        slope: -slope.abs(),
        curvature: 2.0 * (value - slope),
        iterations,
    })
}
