//! Pham's algorithm: D.-T. Pham, "Joint approximate diagonalization of positive definite Hermitian
//! matrices", SIAM J. Matrix Anal. Appl. 22 (2001). Each pair is transformed by the 2×2 matrix that
//! decreases a bound of the likelihood.

use super::pairs;
use crate::linalg::Matrix;
use crate::matrices::{PairStep, PairSums, Pairs};

/// The smallest ω − 1 of a pair, as in the original program.
const FLOOR: f64 = 1e-9;

/// Transforms every pair once, and the rows of B with it. Returns the decrease of the loss that the
/// pairs predicted together.
pub(crate) fn sweep<P: Pairs + ?Sized>(set: &mut P, b: &mut Matrix) -> f64 {
    let mut decrement = 0.0;
    for (first, second) in pairs(b.rows()) {
        let (step, predicted) = step(set.pair_sums(first, second));
        decrement += predicted;
        set.apply(first, second, step);
        step.apply_to_rows(b, first, second);
    }
    decrement
}

/// The transform of one pair: with ω = √(Γ_ab Γ_ba) and τ = √(Γ_ba / Γ_ab), the 2×2 block
/// [[Γ_ab, 1], [1, Γ_ba]] is solved for h, and I − 2h / (1 + √(1 − 4 h_ab h_ba)) is applied, which
/// keeps the determinant's part of the loss exact. Also the decrease this predicts.
fn step(sums: PairSums) -> (PairStep, f64) {
    let PairSums {
        gradient_ab,
        gradient_ba,
        gamma_ab,
        gamma_ba,
    } = sums;
    let omega = (gamma_ab * gamma_ba).sqrt();
    let tau = (gamma_ba / gamma_ab).sqrt();
    let plus = (tau * gradient_ab + gradient_ba) / (omega + 1.0);
    let minus = (tau * gradient_ab - gradient_ba) / (omega - 1.0).max(FLOOR);
    let (h_ab, h_ba) = (plus + minus, (plus - minus) / tau);
    let divisor = 1.0 + (1.0 - h_ab * h_ba).max(0.0).sqrt();
    let decrement = 0.5 * (gradient_ab * h_ab + gradient_ba * h_ba);
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
