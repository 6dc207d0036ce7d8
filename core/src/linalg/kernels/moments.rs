//! The sums over a block that make gradient and Γ.
#![allow(unsafe_code)]

use pulp::{Arch, Simd, WithSimd};

use super::{LANES, packed, packed_len, room};
use crate::linalg::Matrix;

/// The sums of one sweep, all p×p or p, over the matrices seen so far.
#[derive(Clone, Debug)]
pub struct MomentSums {
    /// Σ_i w_i Dⁱ_ab / Dⁱ_aa, off the diagonal.
    pub gradient: Matrix,
    /// Σ_i w_i Dⁱ_bb / Dⁱ_aa.
    pub gamma: Matrix,
}

impl MomentSums {
    /// No matrices yet.
    pub fn new(p: usize) -> Self {
        Self {
            gradient: Matrix::zeros(p, p),
            gamma: Matrix::zeros(p, p),
        }
    }

    /// Adds the sums over other matrices.
    pub fn add(&mut self, other: &Self) {
        for (mine, theirs) in [
            (&mut self.gradient, &other.gradient),
            (&mut self.gamma, &other.gamma),
        ] {
            for (x, y) in mine.as_mut_slice().iter_mut().zip(theirs.as_slice()) {
                *x += y;
            }
        }
    }
}

/// Adds one block's share. `scratch` grows as needed and is worth keeping between calls.
pub fn accumulate_moments(
    p: usize,
    block: &[f64],
    weights: &[f64],
    sums: &mut MomentSums,
    scratch: &mut Vec<f64>,
) {
    let lanes = weights.len();
    assert_eq!(lanes % LANES, 0);
    assert_eq!(block.len(), packed_len(p) * lanes);
    assert_eq!((sums.gradient.rows(), sums.gamma.rows()), (p, p));
    Arch::new().dispatch(Moments {
        p,
        lanes,
        block,
        weights,
        sums,
        inverse_power: room(scratch, p * lanes),
    });
}

struct Moments<'a> {
    p: usize,
    lanes: usize,
    block: &'a [f64],
    weights: &'a [f64],
    sums: &'a mut MomentSums,
    inverse_power: &'a mut [f64],
}

impl WithSimd for Moments<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self {
            p,
            lanes,
            block,
            weights,
            sums,
            inverse_power,
        } = self;
        for a in 0..p {
            let power = &block[packed(a, a) * lanes..][..lanes];
            let out = &mut inverse_power[a * lanes..(a + 1) * lanes];
            for ((u, w), d) in out.iter_mut().zip(weights).zip(power) {
                *u = w / d;
            }
        }
        let vectors = lanes / S::F64_LANES;
        let (block, _) = S::as_simd_f64s(block);
        let (u, _) = S::as_simd_f64s(inverse_power);
        let gradient = sums.gradient.as_mut_slice();
        let gamma = sums.gamma.as_mut_slice();
        for a in 0..p {
            let u_a = &u[a * vectors..(a + 1) * vectors];
            let d_a = &block[packed(a, a) * vectors..][..vectors];
            gamma[a * p + a] += simd.reduce_sum_f64s(dot(simd, u_a, d_a));
            for b in 0..a {
                let d = &block[packed(a, b) * vectors..][..vectors];
                let u_b = &u[b * vectors..(b + 1) * vectors];
                let d_b = &block[packed(b, b) * vectors..][..vectors];
                let mut dots = [simd.splat_f64s(0.0); 4];
                for v in 0..vectors {
                    // SAFETY: all five slices hold `vectors` vectors.
                    unsafe {
                        let (d, u_a, u_b) = (
                            *d.get_unchecked(v),
                            *u_a.get_unchecked(v),
                            *u_b.get_unchecked(v),
                        );
                        dots[0] = simd.mul_add_e_f64s(d, u_a, dots[0]);
                        dots[1] = simd.mul_add_e_f64s(d, u_b, dots[1]);
                        dots[2] = simd.mul_add_e_f64s(*d_b.get_unchecked(v), u_a, dots[2]);
                        dots[3] = simd.mul_add_e_f64s(*d_a.get_unchecked(v), u_b, dots[3]);
                    }
                }
                gradient[a * p + b] += simd.reduce_sum_f64s(dots[0]);
                gradient[b * p + a] += simd.reduce_sum_f64s(dots[1]);
                gamma[a * p + b] += simd.reduce_sum_f64s(dots[2]);
                gamma[b * p + a] += simd.reduce_sum_f64s(dots[3]);
            }
        }
    }
}

#[inline(always)]
pub(super) fn dot<S: Simd>(simd: S, x: &[S::f64s], y: &[S::f64s]) -> S::f64s {
    let mut sum = simd.splat_f64s(0.0);
    for (x, y) in x.iter().zip(y) {
        sum = simd.mul_add_e_f64s(*x, *y, sum);
    }
    sum
}
