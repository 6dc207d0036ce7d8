//! Sums over a block: gradient, Γ and powers; linear combinations of its matrices.
#![allow(unsafe_code)]

use pulp::{Arch, Simd, WithSimd};

use super::{LANES, packed, packed_len};
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
    scratch.resize(p * lanes, 0.0);
    Arch::new().dispatch(Moments {
        p,
        lanes,
        block,
        weights,
        sums,
        inverse_power: scratch,
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
fn dot<S: Simd>(simd: S, x: &[S::f64s], y: &[S::f64s]) -> S::f64s {
    let mut sum = simd.splat_f64s(0.0);
    for (x, y) in x.iter().zip(y) {
        sum = simd.mul_add_e_f64s(*x, *y, sum);
    }
    sum
}

/// Adds Σ_i c_i Dⁱ over the block to the packed rows `out` (one number an entry).
pub fn combine(block: &[f64], coefficients: &[f64], out: &mut [f64]) {
    let lanes = coefficients.len();
    assert_eq!(lanes % LANES, 0);
    assert_eq!(block.len(), out.len() * lanes);
    Arch::new().dispatch(Combine {
        block,
        coefficients,
        out,
    });
}

struct Combine<'a> {
    block: &'a [f64],
    coefficients: &'a [f64],
    out: &'a mut [f64],
}

impl WithSimd for Combine<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let lanes = self.coefficients.len();
        let (coefficients, _) = S::as_simd_f64s(self.coefficients);
        for (row, out) in self.block.chunks_exact(lanes).zip(self.out) {
            let (row, _) = S::as_simd_f64s(row);
            *out += simd.reduce_sum_f64s(dot(simd, row, coefficients));
        }
    }
}

/// For each matrix of the block, Σ_ab s_ab D_ab over the packed entries: `out` += that.
pub fn correlate(block: &[f64], entries: &[f64], out: &mut [f64]) {
    let lanes = out.len();
    assert_eq!(block.len(), entries.len() * lanes);
    Arch::new().dispatch(
        #[inline(always)]
        || {
            for (row, s) in block.chunks_exact(lanes).zip(entries) {
                for (x, d) in out.iter_mut().zip(row) {
                    *x += s * d;
                }
            }
        },
    );
}
