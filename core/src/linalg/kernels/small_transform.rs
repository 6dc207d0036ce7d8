//! The congruence of real matrices so small that their size is best known when it is compiled: what it takes to prepare
//! tiles of any size is more than they cost. The same sums in the same order as [`transform`](super::transform) makes.

use pulp::Simd;

use super::Real;

/// Up to this size the sums of a column, for two vectors of matrices, are held by registers.
pub(super) const LARGEST: usize = 6;

/// W vectors of each entry of a block, of `stride` vectors each, from vector `at` on.
#[derive(Clone, Copy)]
pub(super) struct Slice {
    pub stride: usize,
    pub at: usize,
}

impl Slice {
    #[inline(always)]
    fn of<V: Copy, const W: usize>(self, block: &[V], entry: usize) -> [V; W] {
        *block[entry * self.stride + self.at..]
            .first_chunk()
            .expect("rows of whole slices")
    }

    #[inline(always)]
    fn put<V: Copy, const W: usize>(self, block: &mut [V], entry: usize, numbers: [V; W]) {
        block[entry * self.stride + self.at..][..W].copy_from_slice(&numbers);
    }
}

/// Adds a multiple of some vectors.
#[inline(always)]
fn add<S: Simd, R: Real, const W: usize>(
    simd: S,
    sums: &mut [R::Vector<S>; W],
    factor: R,
    numbers: &[R::Vector<S>; W],
) {
    let factor = R::splat(simd, factor);
    for w in 0..W {
        sums[w] = R::mul_add(simd, factor, numbers[w], sums[w]);
    }
}

/// Writes M D Mᵀ and, if wanted, M D + (M D)ᵀ, for P×P matrices M and D.
#[inline(always)]
#[allow(clippy::range_plus_one)] // ranges that include their end take longer
pub(super) fn congruence<S: Simd, R: Real, const P: usize, const W: usize>(
    simd: S,
    m: &[R],
    slice: Slice,
    input: &[R::Vector<S>],
    square: &mut [R::Vector<S>],
    cross: Option<&mut [R::Vector<S>]>,
) {
    let m: &[[R; P]; P] = m.as_chunks().0.try_into().expect("P rows of P numbers");
    let zero = [R::splat(simd, R::zeroed()); W];
    let mut d = [[zero; P]; P];
    let mut entry = 0;
    for a in 0..P {
        for b in 0..a + 1 {
            d[a][b] = slice.of(input, entry);
            d[b][a] = d[a][b];
            entry += 1;
        }
    }
    // half[c][a] = Σ_k M_ak D_kc.
    let mut half = [[zero; P]; P];
    for c in 0..P {
        let mut sums = [zero; P];
        for k in 0..P {
            for a in 0..P {
                add::<S, R, W>(simd, &mut sums[a], m[a][k], &d[c][k]);
            }
        }
        half[c] = sums;
    }
    if let Some(cross) = cross {
        let mut entry = 0;
        for a in 0..P {
            for b in 0..a + 1 {
                let (mut sum, other) = (half[b][a], half[a][b]);
                for w in 0..W {
                    sum[w] = R::plus(simd, sum[w], other[w]);
                }
                slice.put(cross, entry, sum);
                entry += 1;
            }
        }
    }
    // (M D Mᵀ)_ab = Σ_c half[c][a] M_bc. Those of b > a are not wanted, but loops of a fixed length are faster.
    let mut entry = 0;
    for a in 0..P {
        let mut sums = [zero; P];
        for c in 0..P {
            for b in 0..P {
                add::<S, R, W>(simd, &mut sums[b], m[b][c], &half[c][a]);
            }
        }
        for b in 0..a + 1 {
            slice.put(square, entry, sums[b]);
            entry += 1;
        }
    }
}
