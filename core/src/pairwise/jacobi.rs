//! Jacobi rotations: J.-F. Cardoso & A. Souloumiac, "Jacobi angles for simultaneous
//! diagonalization", SIAM J. Matrix Anal. Appl. 17 (1996).
//!
//! For a pair (a, b) with h = Dⁱ_aa − Dⁱ_bb and g = 2Dⁱ_ab, a rotation by θ turns every (h, g) by 2θ,
//! and Σ w_i g² is least where 4θ is the angle of the vector (Σ w_i (h² − g²), Σ w_i 2hg).

use super::pairs;
use crate::linalg::Matrix;
use crate::matrices::{PairStep, Pairs, RotationSums};

/// Rotates every pair once, unless by less than `smallest` (in radians), and the rows of `rotation`
/// with it. Returns the largest sine of the angles, 0 if no pair was rotated.
pub(crate) fn sweep<P: Pairs + ?Sized>(set: &mut P, rotation: &mut Matrix, smallest: f64) -> f64 {
    let mut largest = 0.0_f64;
    for (a, b) in pairs(rotation.rows()) {
        if let Some((step, sine)) = step(set.rotation_sums(a, b), smallest) {
            largest = largest.max(sine.abs());
            set.apply(a, b, step);
            step.apply_to_rows(rotation, a, b);
        }
    }
    largest
}

/// The rotation that minimizes the energy off the diagonal of a pair, and its sine, unless it is too
/// small.
fn step(sums: RotationSums, smallest: f64) -> Option<(PairStep, f64)> {
    let RotationSums { on, off } = sums;
    // Four times the angle is that of the vector (on, off): halved once here, once more below.
    let (mut x, mut y) = (on + (on * on + off * off).sqrt(), off);
    if off == 0.0 && on < 0.0 {
        // The energy off the diagonal is largest here: an eighth of a turn makes it least.
        (x, y) = (0.0, 1.0);
    }
    if y.abs() <= 2.0 * smallest * x {
        return None;
    }
    let length = (x * x + y * y).sqrt();
    let cosine = (0.5 + 0.5 * x / length).sqrt();
    let sine = 0.5 * y / length / cosine;
    Some((PairStep::Rotation { cosine, sine }, sine))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_angle_is_the_best_of_many() {
        // (h, g) of three matrices; the energy off the diagonal after a rotation by θ.
        let pairs = [(1.0_f64, 0.7_f64), (-0.4, 0.9), (0.2, -0.3)];
        let (mut on, mut off) = (0.0, 0.0);
        for (h, g) in pairs {
            on += h * h - g * g;
            off += 2.0 * h * g;
        }
        let energy = |theta: f64| -> f64 {
            let turned = |(h, g): (f64, f64)| g * (2.0 * theta).cos() - h * (2.0 * theta).sin();
            pairs.into_iter().map(|pair| turned(pair).powi(2)).sum()
        };
        let Some((PairStep::Rotation { cosine, sine }, _)) = step(RotationSums { on, off }, 0.0)
        else {
            panic!("there is something to rotate");
        };
        assert!((cosine * cosine + sine * sine - 1.0).abs() < 1e-15);
        let found = energy(sine.atan2(cosine));
        for k in -100..100 {
            let theta = f64::from(k) / 100.0 * std::f64::consts::FRAC_PI_4;
            assert!(found <= energy(theta) + 1e-12);
        }
        // All energy is off the diagonal, and not even a small angle says in which sense to turn.
        let worst = RotationSums { on: -1.0, off: 0.0 };
        let (_, sine) = step(worst, 0.01).expect("a maximum is no answer");
        assert!((sine - std::f64::consts::FRAC_1_SQRT_2).abs() < 1e-15);
        let small = RotationSums { on: 1.0, off: 1e-3 };
        assert_eq!(step(small, 0.01), None);
    }
}
