//! Pham's algorithm: D.-T. Pham, "Joint approximate diagonalization of positive definite Hermitian
//! matrices", SIAM J. Matrix Anal. Appl. 22 (2001). Each pair is transformed by the 2×2 matrix that
//! decreases a bound of the likelihood.

use crate::linalg::{Matrix, Scalar};
use crate::matrices::{PairStep, PairSums, Pairs};
use crate::rounding::CarriedErrors;

/// The smallest ω − 1 of a pair, as in the original program.
const MIN_OMEGA_MINUS_ONE: f64 = 1e-9;

/// Transforms every pair once, together with the rows of B and the errors. Returns the
/// decrease of the loss that the pairs predicted together.
pub(crate) fn sweep<T: Scalar>(
    set: &mut dyn Pairs<T>,
    b: &mut Matrix<T>,
    errors: &mut CarriedErrors,
) -> f64 {
    let mut decrement = 0.0;
    super::sweep(set, b, |set, [a, b]| {
        let (step, predicted) = step(set.pair_sums(a, b));
        decrement += predicted;
        errors.pair_step(step, [a, b]);
        Some(step)
    });
    decrement
}

/// The transform of one pair: with ω = √(Γ_ab Γ_ba) and τ = √(Γ_ba / Γ_ab), the 2×2 block [[Γ_ab,
/// 1], [1, Γ_ba]], which acts on h_ab and the conjugate of h_ba, is solved, and I − 2h / (1 + √(1 −
/// 4 h_ab h_ba)) is applied, which keeps the determinant's part of the loss exact. (For complex h
/// see the divisor.) Also the decrease this predicts.
fn step<T: Scalar>(sums: PairSums<T>) -> (PairStep<T>, f64) {
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
    let minus = (left - right) / (omega - 1.0).max(MIN_OMEGA_MINUS_ONE);
    let (h_ab, h_ba) = (plus + minus, ((plus - minus) / tau).conj());
    let product = h_ab * h_ba;
    // With q = 4 h_ab h_ba: 1 + √(1 − q) for real q, in general 1 + ½ i Im q + √(1 − Re q − ¼ (Im
    // q)²).
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
    fn a_step_solves_the_block_of_its_pair() {
        // With h twice the solution x of [[Γ_ab, 1], [1, Γ_ba]] x = g, as in the original program.
        let sums = PairSums {
            gradient_ab: 0.02,
            gradient_ba: -0.01,
            gamma_ab: 2.0,
            gamma_ba: 1.5,
        };
        let (PairStep::Shear { ab, ba }, decrement) = step(sums) else {
            panic!("a shear");
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
