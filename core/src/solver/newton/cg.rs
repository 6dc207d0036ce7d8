//! Preconditioned conjugate gradients for a quadratic model that may have negative curvature
//! (Steihaug, SIAM J. Numer. Anal. 20, 1983), with a box constraint.

use super::box_constraint::BoxConstraint;
use crate::Error;
use crate::linalg::{add_multiple, dot};
use crate::objective::{CgLimits, Direction, QuadraticModel};
use crate::tuning::TUNING;

/// Curvatures below this, relative to the norm of the preconditioner, are treated as negative.
const MIN_CURVATURE: f64 = 1e-10;
/// A step along a direction of negative curvature uses its absolute value, but at least this,
/// relative to the norm of the preconditioner.
const MIN_STEP_CURVATURE: f64 = 0.01;

/// Minimizes ⟨g, x⟩ + ½⟨x, H x⟩ approximately.
///
/// If a step meets a bound of the box, entries near their bounds are fixed, and conjugate gradients
/// restart over the others. Along a direction of negative curvature, a step is taken with the
/// absolute value of the curvature; unless it fixes further entries, the minimization ends.
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
    let (mut iterations, mut max_iter) = (0, limits.max_iter);
    while iterations < max_iter && rz > goal {
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
            max_iter = limits.max_iter / TUNING.cg_limit_divisor_after_restart;
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
    // The model has decreased at every step. If x is nevertheless not a descent direction, its
    // curvature is negative, and −x is a descent direction.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::init::SplitMix;
    use crate::linalg::{Matrix, product, product_transposed};

    /// A dense quadratic model, preconditioned by the absolute values of the diagonal.
    struct Dense {
        gradient: Vec<f64>,
        hessian: Matrix,
        bounded: Option<(usize, usize)>,
    }

    impl Dense {
        /// Returns a random model of p² unknowns, with `shift` added to the diagonal of its
        /// Hessian.
        fn random(p: usize, shift: f64, seed: u64, bounded: bool) -> Self {
            let (mut random, len) = (SplitMix::new(seed), p * p);
            let root = Matrix::from_fn(len, len, |_, _| random.next());
            let mut hessian = product_transposed(&root, &root);
            (0..len).for_each(|k| hessian[(k, k)] += shift);
            Self {
                gradient: (0..len).map(|_| random.next()).collect(),
                hessian,
                bounded: bounded.then_some((p, 1)),
            }
        }
    }

    impl QuadraticModel for Dense {
        fn gradient(&self) -> &[f64] {
            &self.gradient
        }

        fn precondition(&mut self, r: &[f64], out: &mut [f64]) {
            for (k, (x, r)) in out.iter_mut().zip(r).enumerate() {
                *x = r / self.hessian[(k, k)].abs().max(1e-3);
            }
        }

        fn product(&mut self, x: &[f64], out: &mut [f64]) -> Result<(), Error> {
            let x = Matrix::from_rows(x.len(), 1, x.to_vec());
            out.copy_from_slice(product(&self.hessian, &x).as_slice());
            Ok(())
        }

        fn bounded_shape(&self) -> Option<(usize, usize)> {
            self.bounded
        }
    }

    const ACCURATE: CgLimits = CgLimits {
        forcing_term: 1e-12,
        max_iter: 200,
    };

    #[test]
    fn convex_models_are_minimized() {
        for seed in 0..5 {
            let mut model = Dense::random(3, 0.1, seed, false);
            let direction = minimize(&mut model, ACCURATE).unwrap();
            let mut residual = vec![0.0; 9];
            model.product(&direction.x, &mut residual).unwrap();
            add_multiple(&mut residual, 1.0, &model.gradient);
            assert!(dot(&residual, &residual).sqrt() < 1e-9);
        }
    }

    #[test]
    fn directions_descend_stay_in_the_box_and_predict_their_change() {
        let (mut at_bound, mut indefinite) = (0, 0);
        for seed in 0..200 {
            // Half of the models have negative curvatures.
            let shift = if seed % 2 == 0 { 0.01 } else { -0.4 };
            let mut model = Dense::random(3, shift, seed, true);
            let limits = CgLimits {
                forcing_term: 0.1,
                max_iter: 20,
            };
            let direction = minimize(&mut model, limits).unwrap();
            let mut product = vec![0.0; 9];
            model.product(&direction.x, &mut product).unwrap();
            let (slope, curvature) = (
                dot(&direction.x, &model.gradient),
                dot(&direction.x, &product),
            );
            assert!(slope < 0.0);
            for fraction in [0.3, 1.0] {
                let expected = fraction * slope + 0.5 * fraction * fraction * curvature;
                let error = (direction.predicted_change(fraction) - expected).abs();
                assert!(error < 1e-9 * (slope.abs() + curvature.abs()));
            }
            let largest = direction
                .x
                .iter()
                .fold(0.0_f64, |largest, x| largest.max(x.abs()));
            assert!(largest <= TUNING.max_entry + 1e-12, "{largest}");
            at_bound += usize::from(largest > 0.95 * TUNING.max_entry);
            indefinite += usize::from(curvature < 0.0);
        }
        assert!(at_bound > 50 && indefinite > 0, "{at_bound} {indefinite}");
    }
}
