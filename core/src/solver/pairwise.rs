//! Pham's algorithm and Jacobi rotations: one sweep over all pairs of components per iteration.
//!
//! Pham's algorithm: D.-T. Pham, "Joint approximate diagonalization of positive definite Hermitian
//! matrices", SIAM J. Matrix Anal. Appl. 22 (2001). Each pair is transformed by a 2×2 matrix that
//! decreases an upper bound of the loss. The rotations are those of [`crate::init::rotation`].

use super::Stepper;
use super::state::{Iteration, State, Step};
use crate::Error;
use crate::backend::{PairStep, PairSums};
use crate::error::Conflict;
use crate::init::jacobi_rotation;
use crate::linalg::{self, Matrix, Scalar};
use crate::objective::Point;
use crate::report::StepKind;

/// Lower bound of ω − 1 for a pair, as in Pham's original program.
const MIN_DETERMINANT_ROOT: f64 = 1e-9;
/// Rotations by angles below this, in radians, are skipped as rounding.
const MIN_ANGLE: f64 = 1e-15;
/// Cost of a sweep in data passes: 4p³ flops per matrix, compared with 3p³ for a transform.
const SWEEP_PASSES: f64 = 4.0 / 3.0;

/// A sweep over all pairs, by the kind of its steps.
pub(super) enum Pairwise {
    Pham,
    Jacobi,
}

impl<T: Scalar> Stepper<T> for Pairwise {
    fn step(&mut self, state: &mut State<'_, '_, T>) -> Result<Iteration, Error> {
        let (mut b, before) = (state.point.b.clone(), state.point.loss);
        let p = b.rows();
        let Some(pairs) = state.backend.pairs(&b)? else {
            return Err(Error::Conflict(Conflict::PairsNotInMemory));
        };
        let (mut decrement, mut largest_sine) = (0.0, 0.0_f64);
        for (x, y) in (1..p).flat_map(|x| (0..x).map(move |y| (x, y))) {
            let step = match self {
                Self::Pham => {
                    let (step, predicted) = pham_step(pairs.pair_sums(x, y));
                    decrement += predicted;
                    step
                }
                Self::Jacobi => {
                    let Some((step, sine)) = jacobi_rotation(pairs.rotation_sums(x, y), MIN_ANGLE)
                    else {
                        continue;
                    };
                    largest_sine = largest_sine.max(sine);
                    step
                }
            };
            pairs.apply(x, y, step);
            step.apply_to_rows(&mut b, x, y);
        }
        let is_jacobi = matches!(self, Self::Jacobi);
        if is_jacobi && largest_sine == 0.0 {
            return Ok(Iteration::Stalled);
        }
        if is_jacobi {
            b = linalg::reorthogonalize(&b);
        }
        pairs.finish(b.clone());
        state.add_passes(SWEEP_PASSES);
        let point = next_point(state, b)?;
        if !(point.loss.is_finite() && point.b.is_finite()) {
            // A matrix has become numerically singular: keep the previous B.
            return Ok(Iteration::Stalled);
        }
        let change = point.loss - before;
        let criterion = state.backend.summary().criterion;
        let rounding = criterion.rounding(p, state.sums.numbers()[0]);
        state.move_to(point, change, rounding);
        Ok(Iteration::Moved(match self {
            Self::Pham => Step {
                decrement: Some(decrement),
                ..Step::new(StepKind::Sweep, 1.0)
            },
            Self::Jacobi => Step::new(StepKind::Sweep, largest_sine),
        }))
    }
}

/// Evaluates the point after a sweep. The rows of B are not rescaled, since the steps do not depend
/// on their scale, but the statistics are converted to normalized rows.
fn next_point<T: Scalar>(state: &mut State<'_, '_, T>, b: Matrix<T>) -> Result<Point<T>, Error> {
    let before = state.point.clone();
    let (context, _) = state.context();
    let settings = context.settings;
    let mut point = before.after_sweep(context.backend, settings, b, context.sums)?;
    let summary = context.backend.summary();
    if settings.rescale && !settings.orthogonal {
        let scale = summary.criterion.row_scale(&point.b, &summary.mean);
        for (a, scale_a) in scale.iter().enumerate() {
            for (c, scale_c) in scale.iter().enumerate() {
                let ratio = scale_c / scale_a;
                let statistics = &mut point.statistics;
                statistics.gradient[(a, c)] = statistics.gradient[(a, c)] * ratio;
                statistics.gamma[(a, c)] *= ratio * ratio;
            }
        }
    }
    Ok(point)
}

/// Computes the transform of one pair, and the decrease of the loss that it predicts.
///
/// With ω = √(Γ_ab Γ_ba) and τ = √(Γ_ba / Γ_ab), the 2×2 system \[\[Γ_ab, 1\], \[1, Γ_ba\]\] is
/// solved for h_ab and the conjugate of h_ba. The transform is I − 2h / (1 + √(1 − 4 h_ab h_ba)),
/// for which the determinant term of the loss is exact.
fn pham_step<T: Scalar>(sums: PairSums<T>) -> (PairStep<T>, f64) {
    let PairSums {
        gradient_ab,
        gradient_ba,
        gamma_ab,
        gamma_ba,
    } = sums;
    let omega = (gamma_ab * gamma_ba).sqrt();
    let tau = (gamma_ba / gamma_ab).sqrt();
    let (left, right) = (gradient_ab * tau, gradient_ba.conj());
    let plus = (left + right) / (omega + 1.0);
    let minus = (left - right) / (omega - 1.0).max(MIN_DETERMINANT_ROOT);
    let (h_ab, h_ba) = (plus + minus, ((plus - minus) / tau).conj());
    let product = h_ab * h_ba;
    // The divisor with q = 4 h_ab h_ba is 1 + √(1 − q) for real q, and in general
    // 1 + ½ i Im q + √(1 − Re q − ¼ (Im q)²).
    let imaginary = 0.5 * product.imaginary();
    let root = (1.0 - product.real() - imaginary * imaginary)
        .max(0.0)
        .sqrt();
    let divisor = T::from_parts(1.0 + root, imaginary);
    let inner = |x: T, y: T| (x * y.conj()).real();
    let decrement = 0.5 * (inner(gradient_ab, h_ab) + inner(gradient_ba, h_ba));
    let step = PairStep::Shear {
        ab: -h_ab / divisor,
        ba: -h_ba / divisor,
    };
    (step, decrement)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pham_step_solves_the_two_by_two_block() {
        // h is twice the solution x of [[Γ_ab, 1], [1, Γ_ba]] x = g, as in Pham's original program.
        let sums = PairSums {
            gradient_ab: 0.02,
            gradient_ba: -0.01,
            gamma_ab: 2.0,
            gamma_ba: 1.5,
        };
        let (PairStep::Shear { ab, ba }, decrement) = pham_step(sums) else {
            panic!("Pham's step is a shear");
        };
        let determinant = 2.0 * 1.5 - 1.0;
        let x = (
            (1.5 * 0.02 + 0.01) / determinant,
            (-0.02 + 2.0 * -0.01) / determinant,
        );
        // To first order in the gradient the step is −x.
        assert!(
            (ab + x.0).abs() < 1e-4 && (ba + x.1).abs() < 1e-4,
            "{ab} {ba}"
        );
        assert!((decrement - (0.02 * x.0 - 0.01 * x.1)).abs() < 1e-12);
    }
}
