//! Jacobi rotations: J.-F. Cardoso & A. Souloumiac, "Jacobi angles for simultaneous
//! diagonalization", SIAM J. Matrix Anal. Appl. 17 (1996).
//!
//! For a pair (a, b) with h = Dⁱ_aa − Dⁱ_bb and g = 2Dⁱ_ab, a rotation by θ turns every (h, g) by
//! 2θ, and Σ w_i g² is least where 4θ is the angle of the vector (Σ w_i (h² − g²), Σ w_i 2hg). If g
//! is complex, the rotation of cosine cos θ and sine e^{iφ} sin θ makes h the inner product of (h,
//! Re g, Im g) with (cos 2θ, sin 2θ cos φ, sin 2θ sin φ), and Σ w_i h² is largest for the leading
//! eigenvector of the real 3×3 matrix Σ w_i (h, Re g, Im g)ᵀ(h, Re g, Im g).

use crate::backend::{PairStep, RotationSums};
use crate::linalg::Scalar;

/// The rotation that minimizes the energy off the diagonal of a pair, and the size of its sine,
/// unless it is too small.
pub(crate) fn rotation<T: Scalar>(
    sums: RotationSums<T>,
    smallest: f64,
) -> Option<(PairStep<T>, f64)> {
    // A vector along (cos 2θ, e^{iφ} sin 2θ).
    let (x, y) = if T::PLANES == 1 {
        // 4θ is the angle of the vector (on, off), which is halved here and once more below.
        let (on, off) = (sums.on, sums.off.real());
        if off == 0.0 && on < 0.0 {
            // The energy off the diagonal is at its maximum; a rotation by 45° minimizes it.
            (0.0, T::ONE)
        } else {
            (on + (on * on + off * off).sqrt(), sums.off)
        }
    } else {
        leading_vector(sums)
    };
    if y.abs() <= 2.0 * smallest * x {
        return None;
    }
    let length = (x * x + y.norm_sqr()).sqrt();
    let cosine = (0.5 + 0.5 * x / length).sqrt();
    let sine = y * 0.5 / length / cosine;
    Some((PairStep::Rotation { cosine, sine }, sine.abs()))
}

/// The leading eigenvector of the 3×3 matrix, its first entry not negative and its other two as one
/// number: a few sweeps of Jacobi's method, for which the matrix is small enough. That Σ w_i (Re
/// g)² is not known shifts all eigenvalues alike.
fn leading_vector<T: Scalar>(sums: RotationSums<T>) -> (f64, T) {
    let (off, square) = (sums.off * 0.5, sums.square);
    let twin = 0.5 * square.imaginary();
    let mut m = [
        [sums.on, off.real(), off.imaginary()],
        [off.real(), 0.0, twin],
        [off.imaginary(), twin, -square.real()],
    ];
    let mut vectors = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    for _ in 0..SWEEPS_OF_3X3 {
        for (a, b) in [(1, 0), (2, 0), (2, 1)] {
            let (h, g) = (m[a][a] - m[b][b], 2.0 * m[a][b]);
            if g == 0.0 {
                continue;
            }
            // The smaller of the two angles, whose tangent is t.
            let t = g / (h.abs() + h.hypot(g)) * h.signum();
            let cosine = 1.0 / (1.0 + t * t).sqrt();
            let sine = t * cosine;
            let turn = |x: &mut f64, y: &mut f64| {
                (*x, *y) = (cosine * *x + sine * *y, cosine * *y - sine * *x);
            };
            let (head, tail) = m.split_at_mut(a);
            head[b]
                .iter_mut()
                .zip(&mut tail[0])
                .for_each(|(y, x)| turn(x, y));
            for row in &mut m {
                let (head, tail) = row.split_at_mut(a);
                turn(&mut tail[0], &mut head[b]);
            }
            let (head, tail) = vectors.split_at_mut(a);
            head[b]
                .iter_mut()
                .zip(&mut tail[0])
                .for_each(|(y, x)| turn(x, y));
        }
    }
    // The first one in a tie: no rotation.
    let leading = (1..3).fold(0, |best, k| if m[k][k] > m[best][best] { k } else { best });
    let [x, re, im] = vectors[leading];
    let sign = if x < 0.0 { -1.0 } else { 1.0 };
    (sign * x, T::from_parts(sign * re, sign * im))
}

/// Sweeps after which a 3×3 matrix is diagonal to rounding: they converge quadratically.
const SWEEPS_OF_3X3: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::c64;

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
        let sums = |on, off| RotationSums {
            on,
            off,
            square: 0.0,
        };
        let Some((PairStep::Rotation { cosine, sine }, _)) = rotation(sums(on, off), 0.0) else {
            panic!("there is something to rotate");
        };
        assert!((cosine * cosine + sine * sine - 1.0).abs() < 1e-15);
        let found = energy(sine.atan2(cosine));
        for k in -100..100 {
            let theta = f64::from(k) / 100.0 * std::f64::consts::FRAC_PI_4;
            assert!(found <= energy(theta) + 1e-12);
        }
        // All energy is off the diagonal, and not even a small angle says in which sense to turn.
        let (_, sine) = rotation(sums(-1.0, 0.0), 0.01).expect("a maximum is no answer");
        assert!((sine - std::f64::consts::FRAC_1_SQRT_2).abs() < 1e-15);
        assert_eq!(rotation(sums(1.0, 1e-3), 0.01), None);
    }

    #[test]
    fn the_complex_rotation_is_the_best_of_many() {
        let pairs = [
            (1.0_f64, c64::new(0.7, -0.2)),
            (-0.4, c64::new(0.9, 1.1)),
            (0.2, c64::new(-0.3, 0.5)),
        ];
        let mut sums = RotationSums::default();
        for (h, g) in pairs {
            sums += RotationSums {
                on: h * h - g.re * g.re,
                off: g * (2.0 * h),
                square: g * g,
            };
        }
        // The energy on the diagonal after a rotation.
        let energy = |cosine: f64, sine: c64| -> f64 {
            let turned = |(h, g): (f64, c64)| {
                h * (cosine * cosine - sine.norm_sqr()) + 2.0 * cosine * (g * sine.conj()).re
            };
            pairs.into_iter().map(|pair| turned(pair).powi(2)).sum()
        };
        let Some((PairStep::Rotation { cosine, sine }, _)) = rotation(sums, 0.0) else {
            panic!("there is something to rotate");
        };
        assert!((cosine * cosine + sine.norm_sqr() - 1.0).abs() < 1e-15);
        let found = energy(cosine, sine);
        for k in 0..2500 {
            let (theta, phase) = (0.016 * f64::from(k % 50), 0.126 * f64::from(k / 50));
            let sine = c64::from_polar(theta.sin(), phase);
            assert!(energy(theta.cos(), sine) <= found + 1e-12);
        }
        // Real numbers given as complex are rotated as real ones.
        let (on, off) = (0.3, -0.8);
        let real = rotation(
            RotationSums {
                on,
                off,
                square: 0.0,
            },
            0.0,
        );
        let complex = rotation(
            RotationSums {
                on,
                off: c64::new(off, 0.0),
                square: c64::new(2.0, 0.0),
            },
            0.0,
        );
        let (
            Some((PairStep::Rotation { cosine: c, sine: s }, _)),
            Some((PairStep::Rotation { cosine, sine }, _)),
        ) = (real, complex)
        else {
            panic!("there is something to rotate");
        };
        assert!((c - cosine).abs() < 1e-15 && (sine - s).norm() < 1e-15);
        assert_eq!(rotation(RotationSums::<c64>::default(), 0.0), None);
    }
}
