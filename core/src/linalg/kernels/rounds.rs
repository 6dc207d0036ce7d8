//! Rounds of the parallel Jacobi method: simultaneous rotations of disjoint pairs of components.
//!
//! Every entry is read and written once per round, although both its row and its column are
//! rotated. Numbers are in single precision, in blocks of sixteen matrices.
#![allow(unsafe_code)]

#[cfg(test)]
mod tests;

use pulp::{Simd, WithSimd};

use super::lane_sums::{LaneSums, with_vectors_per_group};
use super::{Real, RotationSums, arch, width};
use crate::linalg::{Scalar, Triangle};

/// Number of matrices in a block.
pub const ROUND_LANES: usize = f32::LANES;

/// A pair of components, and its rotation (a, b) ← (c·a + s·b, c·b − s̄·a).
#[derive(Clone, Copy, Debug)]
pub struct RotatedPair {
    /// The component a, with a > b.
    pub a: usize,
    /// The component b.
    pub b: usize,
    /// The cosine c.
    pub cosine: f32,
    /// The real and the imaginary part of the sine s.
    pub sine: [f32; 2],
}

impl RotatedPair {
    /// Creates a pair that is not rotated.
    pub fn identity((a, b): (usize, usize)) -> Self {
        Self {
            a,
            b,
            cosine: 1.0,
            sine: [0.0; 2],
        }
    }

    fn is_identity(&self) -> bool {
        self.sine == [0.0; 2]
    }
}

/// Returns the triangle of p×p matrices, and the number of vectors per entry and per plane.
#[inline(always)]
fn layout<S: Simd>(p: usize) -> (Triangle, usize, usize) {
    let (triangle, per_entry) = (Triangle::new(p), ROUND_LANES / width::<f32, S>());
    (triangle, per_entry, triangle.len() * per_entry)
}

/// Returns the sums that determine the rotations of pairs of components of p×p matrices of equal
/// weight.
pub fn rotation_sums_of_round<T: Scalar>(
    p: usize,
    blocks: &[f32],
    pairs: &[RotatedPair],
    out: &mut [RotationSums<T>],
) {
    assert_eq!(
        blocks.len() % (T::PLANES * Triangle::new(p).len() * ROUND_LANES),
        0
    );
    assert_eq!(pairs.len(), out.len());
    arch().dispatch(Sums {
        p,
        blocks,
        pairs,
        out,
    });
}

struct Sums<'a, T> {
    p: usize,
    blocks: &'a [f32],
    pairs: &'a [RotatedPair],
    out: &'a mut [RotationSums<T>],
}

impl<T: Scalar> WithSimd for Sums<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        with_vectors_per_group!(f32, S, H => self.sums::<S, H>(simd));
    }
}

impl<T: Scalar> Sums<'_, T> {
    /// Computes the sums of all pairs, with H vectors per entry of a block.
    #[inline(always)]
    fn sums<S: Simd, const H: usize>(self, simd: S) {
        let (triangle, _, plane) = layout::<S>(self.p);
        let blocks = f32::vectors::<S>(self.blocks);
        for (pair, out) in self.pairs.iter().zip(self.out) {
            let (a, b) = (pair.a, pair.b);
            let entries = [
                triangle.diagonal(a),
                triangle.diagonal(b),
                triangle.index(a, b),
            ];
            let [aa, bb, ab] = entries.map(|entry| entry * H);
            // With h = aa − bb and g = 2ab: Σ h² − (Re g)², Σ h Re g, Σ h Im g,
            // Σ (Re g)² − (Im g)², Σ Re g Im g.
            let mut sums = [LaneSums::<f32, S, H>::zero(simd); 5];
            for block in blocks.chunks_exact(T::PLANES * plane) {
                for v in 0..H {
                    let h = simd.sub_f32s(block[aa + v], block[bb + v]);
                    let re = simd.add_f32s(block[ab + v], block[ab + v]);
                    sums[0].add_product(simd, v, h, h);
                    sums[0].add_product(simd, v, simd.neg_f32s(re), re);
                    sums[1].add_product(simd, v, h, re);
                    if T::PLANES == 2 {
                        let im = block[plane + ab + v];
                        let im = simd.add_f32s(im, im);
                        sums[2].add_product(simd, v, h, im);
                        sums[3].add_product(simd, v, re, re);
                        sums[3].add_product(simd, v, simd.neg_f32s(im), im);
                        sums[4].add_product(simd, v, re, im);
                    }
                }
            }
            let mut imaginary = [0.0; 3];
            if T::PLANES == 2 {
                let [_, _, off, square, imaginary_square] = sums.map(LaneSums::total);
                imaginary = [2.0 * off, square, 2.0 * imaginary_square];
            }
            *out = RotationSums {
                on: sums[0].total(),
                off: T::from_parts(2.0 * sums[1].total(), imaginary[0]),
                square: T::from_parts(imaginary[1], imaginary[2]),
            };
        }
    }
}

/// Rotates p/2 disjoint pairs, which must be sorted by a.
pub fn rotate_round(p: usize, planes: usize, blocks: &mut [f32], pairs: &[RotatedPair]) {
    assert_eq!(
        blocks.len() % (planes * Triangle::new(p).len() * ROUND_LANES),
        0
    );
    assert_eq!(2 * pairs.len(), p);
    assert!(pairs.iter().all(|pair| pair.b < pair.a && pair.a < p));
    assert!(pairs.is_sorted_by_key(|pair| pair.a));
    match planes {
        1 => arch().dispatch(Round::<1> { p, blocks, pairs }),
        _ => arch().dispatch(Round::<2> { p, blocks, pairs }),
    }
}

struct Round<'a, const PLANES: usize> {
    p: usize,
    blocks: &'a mut [f32],
    pairs: &'a [RotatedPair],
}

/// A rotation whose coefficients fill SIMD vectors.
#[derive(Clone, Copy)]
struct Rotation<V> {
    cosine: V,
    sine: [V; 2],
}

impl<const PLANES: usize> WithSimd for Round<'_, PLANES> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (triangle, per_entry, plane) = layout::<S>(self.p);
        let blocks = f32::vectors_mut::<S>(self.blocks);
        let row = |a: usize| triangle.index(a, 0);
        // The indices of the previous pairs that are rotated.
        let mut rotated = Vec::with_capacity(self.pairs.len());
        for block in blocks.chunks_exact_mut(PLANES * plane) {
            let block = Block::<S, PLANES> {
                simd,
                numbers: block.as_mut_ptr(),
                plane,
            };
            rotated.clear();
            for (k, left) in self.pairs.iter().enumerate() {
                let (rotation, is_identity) = (block.rotation(left), left.is_identity());
                let [row_a, row_b] = [left.a, left.b].map(row);
                // If neither pair is rotated, the entries between them do not change.
                let others = if is_identity { rotated.len() } else { k };
                for other in 0..others {
                    let right = &self.pairs[if is_identity { rotated[other] } else { other }];
                    // Pairs are sorted, so that left.a exceeds both components of the other pair.
                    let (c, d) = (right.a, right.b);
                    let (below_c, below_d) = (left.b < c, left.b < d);
                    let entries = [
                        row_a + c,
                        row_a + d,
                        if below_c { row(c) + left.b } else { row_b + c },
                        if below_d { row(d) + left.b } else { row_b + d },
                    ];
                    // For i < j the stored entry is (j, i), the conjugate.
                    let conjugated = [false, false, below_c, below_d];
                    let right = block.rotation(right);
                    for v in 0..per_entry {
                        let places = entries.map(|entry| entry * per_entry + v);
                        // SAFETY: the components are below p, so the entries are among those of a
                        // plane.
                        unsafe { block.rotate(rotation, right, places, conjugated) };
                    }
                }
                if !is_identity {
                    rotated.push(k);
                    let (a, b) = (left.a, left.b);
                    let corner = [
                        triangle.diagonal(a),
                        triangle.index(a, b),
                        triangle.diagonal(b),
                    ];
                    let corner = corner.map(|entry| entry * per_entry);
                    for v in 0..per_entry {
                        // SAFETY: a and b are below p, so the entries are among those of a plane.
                        unsafe { block.rotate_corner(rotation, corner.map(|entry| entry + v)) };
                    }
                }
            }
        }
    }
}

/// A block as SIMD vectors, `plane` per plane.
struct Block<S: Simd, const PLANES: usize> {
    simd: S,
    numbers: *mut S::f32s,
    plane: usize,
}

/// The real part and, if there are two planes, the imaginary part of numbers.
type Parts<S, const PLANES: usize> = [<S as Simd>::f32s; PLANES];

impl<S: Simd, const PLANES: usize> Block<S, PLANES> {
    #[inline(always)]
    fn rotation(&self, pair: &RotatedPair) -> Rotation<S::f32s> {
        let [re, im] = pair.sine;
        Rotation {
            cosine: self.simd.splat_f32s(pair.cosine),
            sine: [self.simd.splat_f32s(re), self.simd.splat_f32s(im)],
        }
    }

    /// # Safety
    /// `place` must be less than the number of vectors of a plane.
    #[inline(always)]
    unsafe fn load(&self, place: usize, conjugated: bool) -> Parts<S, PLANES> {
        // SAFETY: the caller guarantees that `place` is within a plane.
        let mut parts = [unsafe { *self.numbers.add(place) }; PLANES];
        if PLANES == 2 {
            // SAFETY: there are two planes, and `place` is within one.
            let im = unsafe { *self.numbers.add(self.plane + place) };
            parts[1] = if conjugated {
                self.simd.neg_f32s(im)
            } else {
                im
            };
        }
        parts
    }

    /// # Safety
    /// `place` must be less than the number of vectors of a plane.
    #[inline(always)]
    unsafe fn store(&self, place: usize, conjugated: bool, parts: Parts<S, PLANES>) {
        // SAFETY: the caller guarantees that `place` is within a plane.
        unsafe { *self.numbers.add(place) = parts[0] };
        if PLANES == 2 {
            let im = parts[1];
            let im = if conjugated {
                self.simd.neg_f32s(im)
            } else {
                im
            };
            // SAFETY: there are two planes, and `place` is within one.
            unsafe { *self.numbers.add(self.plane + place) = im };
        }
    }

    /// Replaces X by L X Rᴴ, for the rotations L and R of two pairs and the four entries X between
    /// them in row-major order.
    ///
    /// # Safety
    /// Every place must be less than the number of vectors of a plane.
    #[inline(always)]
    unsafe fn rotate(
        &self,
        left: Rotation<S::f32s>,
        right: Rotation<S::f32s>,
        places: [usize; 4],
        conjugated: [bool; 4],
    ) {
        // SAFETY: the caller guarantees that the places are within a plane.
        let x = unsafe {
            [
                self.load(places[0], conjugated[0]),
                self.load(places[1], conjugated[1]),
                self.load(places[2], conjugated[2]),
                self.load(places[3], conjugated[3]),
            ]
        };
        let x = self.rotate_two_sided(left, right, x);
        for e in 0..4 {
            // SAFETY: the caller guarantees that the places are within a plane.
            unsafe { self.store(places[e], conjugated[e], x[e]) };
        }
    }

    /// Replaces X by L X Lᴴ, for the rotation L of one pair and its entries (a, a), (a, b) and
    /// (b, b).
    ///
    /// # Safety
    /// Every place must be less than the number of vectors of a plane.
    #[inline(always)]
    unsafe fn rotate_corner(&self, rotation: Rotation<S::f32s>, places: [usize; 3]) {
        // SAFETY: the caller guarantees that the places are within a plane. The imaginary parts of
        // the diagonal remain zero and are not stored.
        unsafe {
            let x = [
                self.load(places[0], false),
                self.load(places[1], false),
                self.load(places[1], true),
                self.load(places[2], false),
            ];
            let x = self.rotate_two_sided(rotation, rotation, x);
            self.store(places[1], false, x[1]);
            *self.numbers.add(places[0]) = x[0][0];
            *self.numbers.add(places[2]) = x[3][0];
        }
    }

    /// L X Rᴴ.
    #[inline(always)]
    fn rotate_two_sided(
        &self,
        left: Rotation<S::f32s>,
        right: Rotation<S::f32s>,
        [x, y, z, w]: [Parts<S, PLANES>; 4],
    ) -> [Parts<S, PLANES>; 4] {
        let ([x, z], [y, w]) = (self.rotate_pair(left, x, z), self.rotate_pair(left, y, w));
        let [re, im] = right.sine;
        let right = Rotation {
            cosine: right.cosine,
            sine: [re, self.simd.neg_f32s(im)],
        };
        let ([x, y], [z, w]) = (self.rotate_pair(right, x, y), self.rotate_pair(right, z, w));
        [x, y, z, w]
    }

    /// (c·x + s·y, c·y − s̄·x).
    #[inline(always)]
    fn rotate_pair(
        &self,
        rotation: Rotation<S::f32s>,
        x: Parts<S, PLANES>,
        y: Parts<S, PLANES>,
    ) -> [Parts<S, PLANES>; 2] {
        let simd = self.simd;
        let (c, [re, im]) = (rotation.cosine, rotation.sine);
        let (mut left, mut right) = (x, y);
        for k in 0..PLANES {
            left[k] = simd.mul_add_e_f32s(re, y[k], simd.mul_f32s(c, x[k]));
            right[k] = simd.mul_add_e_f32s(simd.neg_f32s(re), x[k], simd.mul_f32s(c, y[k]));
        }
        if PLANES == 2 {
            let minus_im = simd.neg_f32s(im);
            left[0] = simd.mul_add_e_f32s(minus_im, y[1], left[0]);
            left[1] = simd.mul_add_e_f32s(im, y[0], left[1]);
            right[0] = simd.mul_add_e_f32s(minus_im, x[1], right[0]);
            right[1] = simd.mul_add_e_f32s(im, x[0], right[1]);
        }
        [left, right]
    }
}
