//! The optimal Jacobi rotation of a pair: J.-F. Cardoso & A. Souloumiac, "Jacobi angles for
//! simultaneous diagonalization", SIAM J. Matrix Anal. Appl. 17 (1996).
//!
//! For a pair (a, b) with h = Dⁱ_aa − Dⁱ_bb and g = 2Dⁱ_ab, a rotation by θ turns every (h, g) by
//! 2θ, and Σ w_i g² is least where 4θ is the angle of the vector (Σ w_i (h² − g²), Σ w_i 2hg). If g
//! is complex, the rotation of cosine cos θ and sine e^{iφ} sin θ makes h the inner product of (h,
//! Re g, Im g) with (cos 2θ, sin 2θ cos φ, sin 2θ sin φ), and Σ w_i h² is largest for the leading
//! eigenvector of the real 3×3 matrix Σ w_i (h, Re g, Im g)ᵀ(h, Re g, Im g).

use crate::backend::{PairStep, RotationSums};
use crate::linalg::Scalar;

/// Returns the rotation that minimizes the off-diagonal energy of a pair, and the absolute value of
/// its sine; None if the angle is at most `min_angle`.
pub(crate) fn rotation<T: Scalar>(
    sums: RotationSums<T>,
    min_angle: f64,
) -> Option<(PairStep<T>, f64)> {
    // A vector proportional to (cos 2θ, e^{iφ} sin 2θ).
    let (x, y) = if T::PLANES == 1 {
        // 4θ is the angle of the vector (on, off). It is halved here, and again below.
        let (on, off) = (sums.on, sums.off.real());
        if off == 0.0 && on < 0.0 {
            // The off-diagonal energy is at its maximum; a rotation by 45° minimizes it.
            (0.0, T::ONE)
        } else {
            (on + (on * on + off * off).sqrt(), sums.off)
        }
    } else {
        leading_vector(sums)
    };
    if y.abs() <= 2.0 * min_angle * x {
        return None;
    }
    let length = (x * x + y.norm_sqr()).sqrt();
    let cosine = (0.5 + 0.5 * x / length).sqrt();
    let sine = y * 0.5 / length / cosine;
    Some((PairStep::Rotation { cosine, sine }, sine.abs()))
}

/// Computes the leading eigenvector of the 3×3 matrix by Jacobi's method. Returns its first entry,
/// which is not negative, and the other two as one complex number. The unknown Σ w_i (Re g)² is set
/// to zero in all diagonal entries, which shifts all eigenvalues equally.
fn leading_vector<T: Scalar>(sums: RotationSums<T>) -> (f64, T) {
    let (off, square) = (sums.off * 0.5, sums.square);
    let cross = 0.5 * square.imaginary();
    let mut m = [
        [sums.on, off.real(), off.imaginary()],
        [off.real(), 0.0, cross],
        [off.imaginary(), cross, -square.real()],
    ];
    let mut vectors = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    for _ in 0..SWEEPS_OF_3X3 {
        for (a, b) in [(1, 0), (2, 0), (2, 1)] {
            let (h, g) = (m[a][a] - m[b][b], 2.0 * m[a][b]);
            if g == 0.0 {
                continue;
            }
            // t is the tangent of the smaller of the two angles.
            let t = g / (h.abs() + h.hypot(g)) * h.signum();
            let cosine = 1.0 / (1.0 + t * t).sqrt();
            let sine = t * cosine;
            let rotate = |x: &mut f64, y: &mut f64| {
                (*x, *y) = (cosine * *x + sine * *y, cosine * *y - sine * *x);
            };
            let (head, tail) = m.split_at_mut(a);
            head[b]
                .iter_mut()
                .zip(&mut tail[0])
                .for_each(|(y, x)| rotate(x, y));
            for row in &mut m {
                let (head, tail) = row.split_at_mut(a);
                rotate(&mut tail[0], &mut head[b]);
            }
            let (head, tail) = vectors.split_at_mut(a);
            head[b]
                .iter_mut()
                .zip(&mut tail[0])
                .for_each(|(y, x)| rotate(x, y));
        }
    }
    // In a tie the first eigenvector is used, which means no rotation.
    let leading = (1..3).fold(0, |best, k| if m[k][k] > m[best][best] { k } else { best });
    let [x, re, im] = vectors[leading];
    let sign = if x < 0.0 { -1.0 } else { 1.0 };
    (sign * x, T::from_parts(sign * re, sign * im))
}

/// Number of sweeps after which a 3×3 matrix is diagonal to rounding; convergence is quadratic.
const SWEEPS_OF_3X3: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::c64;

    #[test]
    fn real_rotation_minimizes_the_off_diagonal_energy() {
        // (h, g) of three matrices, and the off-diagonal energy after a rotation by θ.
        let pairs = [(1.0_f64, 0.7_f64), (-0.4, 0.9), (0.2, -0.3)];
        let (mut on, mut off) = (0.0, 0.0);
        for (h, g) in pairs {
            on += h * h - g * g;
            off += 2.0 * h * g;
        }
        let energy = |theta: f64| -> f64 {
            let rotated = |(h, g): (f64, f64)| g * (2.0 * theta).cos() - h * (2.0 * theta).sin();
            pairs.into_iter().map(|pair| rotated(pair).powi(2)).sum()
        };
        let sums = |on, off| RotationSums {
            on,
            off,
            square: 0.0,
        };
        let Some((PairStep::Rotation { cosine, sine }, _)) = rotation(sums(on, off), 0.0) else {
            panic!("a rotation is needed");
        };
        assert!((cosine * cosine + sine * sine - 1.0).abs() < 1e-15);
        let optimal = energy(sine.atan2(cosine));
        for k in -100..100 {
            let theta = f64::from(k) / 100.0 * std::f64::consts::FRAC_PI_4;
            assert!(optimal <= energy(theta) + 1e-12);
        }
        // All energy is off the diagonal: the gradient vanishes, but this is a maximum.
        let (_, sine) = rotation(sums(-1.0, 0.0), 0.01).expect("a maximum is rotated away");
        assert!((sine - std::f64::consts::FRAC_1_SQRT_2).abs() < 1e-15);
        assert_eq!(rotation(sums(1.0, 1e-3), 0.01), None);
    }

    #[test]
    fn complex_rotation_maximizes_the_diagonal_energy() {
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
        // The diagonal energy after a rotation.
        let energy = |cosine: f64, sine: c64| -> f64 {
            let rotated = |(h, g): (f64, c64)| {
                h * (cosine * cosine - sine.norm_sqr()) + 2.0 * cosine * (g * sine.conj()).re
            };
            pairs.into_iter().map(|pair| rotated(pair).powi(2)).sum()
        };
        let Some((PairStep::Rotation { cosine, sine }, _)) = rotation(sums, 0.0) else {
            panic!("a rotation is needed");
        };
        assert!((cosine * cosine + sine.norm_sqr() - 1.0).abs() < 1e-15);
        let optimal = energy(cosine, sine);
        for k in 0..2500 {
            let (theta, phase) = (0.016 * f64::from(k % 50), 0.126 * f64::from(k / 50));
            let sine = c64::from_polar(theta.sin(), phase);
            assert!(energy(theta.cos(), sine) <= optimal + 1e-12);
        }
        // Complex matrices with real entries are rotated like real ones.
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
            panic!("a rotation is needed");
        };
        assert!((c - cosine).abs() < 1e-15 && (sine - s).norm() < 1e-15);
        assert_eq!(rotation(RotationSums::<c64>::default(), 0.0), None);
    }
}
