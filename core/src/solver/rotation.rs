//! Steps that keep B orthogonal (unitary): B ← exp(αE) B with E antisymmetric (antihermitian).

use super::iteration::{Iteration, Stride};
use crate::Error;
use crate::linalg::{self, Matrix, Scalar};

/// Rotates by exp(αE), α = 1, ½, ¼ … until the loss decreases; None if it never does.
pub(super) fn rotate<T: Scalar>(
    iteration: &mut Iteration<'_, '_, T>,
    e: &Matrix<T>,
) -> Result<Option<Stride>, Error> {
    let p = e.rows();
    let mut alpha = 1.0;
    for _ in 0..iteration.settings.max_halvings.max(1) {
        let mut change = linalg::unitary_exponential(&e.scaled(alpha));
        (0..p).for_each(|a| change[(a, a)] -= T::ONE);
        // I + change is the rotation: one full step along `change` makes it.
        let probe = iteration.set.probe(&change)?;
        iteration.count(1.0);
        let mut line = iteration.line(&change)?;
        let noise = line.noise;
        let trial = line.at(1.0)?;
        // Only I + change is a rotation: the slope along the line says nothing. Where rounding hides the change of the loss, ĝ at the new
        // point decides.
        if trial.change <= noise {
            iteration.advance(&change, &probe, trial, noise)?;
            return Ok(Some(Stride {
                probed: alpha,
                taken: alpha,
                change: trial.change,
                noise,
            }));
        }
        alpha *= 0.5;
    }
    Ok(None)
}
