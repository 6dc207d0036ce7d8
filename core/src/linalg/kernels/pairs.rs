//! Sums over a block for one pair of components, and the congruence that transforms the pair.

use super::DiagonalFunction;
use super::{LANES, dispatch, planes};
use crate::linalg::{Scalar, Triangle};

/// The four sums over the set that determine the transform of the pair (a, b).
#[derive(Clone, Copy, Debug, Default)]
pub struct PairSums<T = f64> {
    /// Σ_i w_i Dⁱ_ab / Dⁱ_aa.
    pub gradient_ab: T,
    /// Σ_i w_i Dⁱ_ba / Dⁱ_bb.
    pub gradient_ba: T,
    /// Σ_i w_i Dⁱ_bb / Dⁱ_aa.
    pub gamma_ab: f64,
    /// Σ_i w_i Dⁱ_aa / Dⁱ_bb.
    pub gamma_ba: f64,
}

impl<T: Scalar> std::ops::AddAssign for PairSums<T> {
    fn add_assign(&mut self, other: Self) {
        self.gradient_ab += other.gradient_ab;
        self.gradient_ba += other.gradient_ba;
        self.gamma_ab += other.gamma_ab;
        self.gamma_ba += other.gamma_ba;
    }
}

/// Returns the contribution of a block to the sums for the pair (a, b).
pub fn pair_sums<T: Scalar>(
    function: DiagonalFunction,
    p: usize,
    block: &[f64],
    weights: &[f64],
    pair: (usize, usize),
) -> PairSums<T> {
    let [ab, ba, gamma_ab, gamma_ba] = sums_of_pair(
        p,
        block,
        weights,
        pair,
        #[inline(always)]
        |w, aa, bb, ab, _| {
            let by_a = function.first_weight(w, aa);
            let by_b = function.first_weight(w, bb);
            [ab * by_a, ab * by_b, bb * by_a, aa * by_b]
        },
    );
    let mut imaginary = [0.0; 2];
    if T::PLANES == 2 {
        imaginary = sums_of_pair(
            p,
            block,
            weights,
            pair,
            #[inline(always)]
            |w, aa, bb, _, im| {
                let by_a = function.first_weight(w, aa);
                let by_b = function.first_weight(w, bb);
                [im * by_a, -im * by_b]
            },
        );
    }
    PairSums {
        gradient_ab: T::from_parts(ab, imaginary[0]),
        gradient_ba: T::from_parts(ba, imaginary[1]),
        gamma_ab,
        gamma_ba,
    }
}

/// The sums over the set that determine the Jacobi rotation of the pair (a, b), with
/// h = Dⁱ_aa − Dⁱ_bb and g = 2Dⁱ_ab.
#[derive(Clone, Copy, Debug, Default)]
pub struct RotationSums<T = f64> {
    /// Σ_i w_i (h² − (Re g)²).
    pub on: f64,
    /// Σ_i w_i 2hg.
    pub off: T,
    /// Σ_i w_i g² if g is complex. It is 0 for real matrices, whose rotations do not depend on it.
    pub square: T,
}

impl<T: Scalar> std::ops::AddAssign for RotationSums<T> {
    fn add_assign(&mut self, other: Self) {
        self.on += other.on;
        self.off += other.off;
        self.square += other.square;
    }
}

/// Returns the contribution of a block to the sums for a rotation of the pair (a, b).
pub fn rotation_sums<T: Scalar>(
    p: usize,
    block: &[f64],
    weights: &[f64],
    pair: (usize, usize),
) -> RotationSums<T> {
    let [on, off] = sums_of_pair(
        p,
        block,
        weights,
        pair,
        #[inline(always)]
        |w, aa, bb, ab, _| {
            let (h, g) = (aa - bb, 2.0 * ab);
            [w * (h * h - g * g), w * (2.0 * h * g)]
        },
    );
    let mut imaginary = [0.0; 3];
    if T::PLANES == 2 {
        imaginary = sums_of_pair(
            p,
            block,
            weights,
            pair,
            #[inline(always)]
            |w, aa, bb, re, im| {
                let (h, re, im) = (aa - bb, 2.0 * re, 2.0 * im);
                [
                    w * (2.0 * h * im),
                    w * (re * re - im * im),
                    w * (2.0 * re * im),
                ]
            },
        );
    }
    let [imaginary_off, square, imaginary_square] = imaginary;
    RotationSums {
        on,
        off: T::from_parts(off, imaginary_off),
        square: T::from_parts(square, imaginary_square),
    }
}

/// Returns Σ_i `terms`(w_i, Dⁱ_aa, Dⁱ_bb, Re Dⁱ_ab, Im Dⁱ_ab) over a block, for a > b. The last
/// argument is unspecified for real matrices.
#[inline(always)]
fn sums_of_pair<const N: usize>(
    p: usize,
    block: &[f64],
    weights: &[f64],
    (a, b): (usize, usize),
    terms: impl Fn(f64, f64, f64, f64, f64) -> [f64; N],
) -> [f64; N] {
    let (lanes, triangle) = (weights.len(), Triangle::new(p));
    assert_eq!(lanes % LANES, 0);
    assert!(b < a && a < p);
    let row = |number: usize| groups(&block[number * lanes..][..lanes]);
    let (aa, bb) = (row(triangle.diagonal(a)), row(triangle.diagonal(b)));
    let ab = triangle.index(a, b);
    let imaginary = (planes(block, p, lanes) - 1) * triangle.len();
    let (ab, im) = (row(ab), row(imaginary + ab));
    let weights = groups(weights);
    let mut result = [[0.0; LANES]; N];
    dispatch(
        #[inline(always)]
        || {
            // Local accumulators stay in registers, unlike captured variables.
            let mut sums = [[0.0; LANES]; N];
            let entries = aa.iter().zip(bb).zip(ab.iter().zip(im));
            for (((aa, bb), (ab, im)), w) in entries.zip(weights) {
                for l in 0..LANES {
                    let terms = terms(w[l], aa[l], bb[l], ab[l], im[l]);
                    for k in 0..N {
                        sums[k][l] += terms[k];
                    }
                }
            }
            result = sums;
        },
    );
    result.map(|s| s.iter().sum())
}

/// Applies (a, b) ← (c·a + e·b, c·b + f·a) to rows a and b, and its conjugate to the columns, of
/// every matrix of the block.
pub fn transform_pair<T: Scalar>(
    p: usize,
    block: &mut [f64],
    lanes: usize,
    pair: (usize, usize),
    (c, e, f): (f64, T, T),
) {
    dispatch(
        #[inline(always)]
        || {
            apply(p, block, lanes, pair, |x: T, y: T| {
                (x * c + e * y, y * c + f * x)
            });
        },
    );
}

/// Applies the 2×2 map `m` to rows a > b, and its conjugate to columns a and b.
#[inline(always)]
fn apply<T: Scalar>(
    p: usize,
    block: &mut [f64],
    lanes: usize,
    (a, b): (usize, usize),
    m: impl Fn(T, T) -> (T, T),
) {
    let triangle = Triangle::new(p);
    assert_eq!(planes(block, p, lanes), T::PLANES);
    assert!(b < a && a < p);
    let (real, imaginary) = block.split_at_mut(triangle.len() * lanes);
    // Entries (b, c) come before entries (a, c), since b < a. Up to column b they are contiguous.
    let place = |c: usize| (triangle.index(b, c) * lanes, triangle.index(a, c) * lanes);
    let (first, second) = place(0);
    map_pairs(
        [real, imaginary],
        [first, second],
        [false; 2],
        b * lanes,
        &m,
    );
    for c in (b + 1..a).chain(a + 1..p) {
        let (first, second) = place(c);
        // Entry (c, b) is stored for c > b, and (c, a) for c > a.
        map_pairs([real, imaginary], [first, second], [true, c > a], lanes, &m);
    }
    // The 2×2 block [[aa, ab], [ab̄, bb]] is mapped from the left and, conjugated, from the right.
    let (row_aa, row_ab) = (triangle.index(a, a) * lanes, triangle.index(a, b) * lanes);
    let row_bb = triangle.index(b, b) * lanes;
    // Real matrices have no imaginary row; zeros are used instead.
    let imaginary_ab = match T::PLANES {
        1 => &mut [][..],
        _ => groups_mut(&mut imaginary[row_ab..][..lanes]),
    };
    let (head, row_aa) = real.split_at_mut(row_aa);
    let (head, row_ab) = head.split_at_mut(row_ab);
    let row_bb = groups_mut(&mut head[row_bb..][..lanes]);
    let corner = groups_mut(&mut row_aa[..lanes])
        .iter_mut()
        .zip(groups_mut(&mut row_ab[..lanes]));
    for (i, ((aa, ab), bb)) in corner.zip(row_bb).enumerate() {
        let (mut x, mut y, mut z) = (*aa, *ab, *bb);
        let mut im = imaginary_ab.get(i).copied().unwrap_or_default();
        for l in 0..LANES {
            let entry = T::from_parts(y[l], im[l]);
            // Columns a and b of the 2×2 block, then its rows.
            let (left_a, right_a) = m(T::from_real(x[l]), entry.conj());
            let (left_b, right_b) = m(entry, T::from_real(z[l]));
            let (new_aa, new_ab) = m(left_a.conj(), left_b.conj());
            let new_bb = m(right_a.conj(), right_b.conj()).1;
            (x[l], y[l], z[l]) = (new_aa.real(), new_ab.real(), new_bb.real());
            im[l] = -new_ab.imaginary();
        }
        (*aa, *ab, *bb) = (x, y, z);
        if let Some(row) = imaginary_ab.get_mut(i) {
            *row = im;
        }
    }
}

/// Applies `m` to `len` pairs of numbers, which begin at offsets `second` and `first` of both
/// planes. Each offset may refer to entries that are stored as their conjugates.
#[inline(always)]
fn map_pairs<T: Scalar>(
    [real, imaginary]: [&mut [f64]; 2],
    [first, second]: [usize; 2],
    conjugated: [bool; 2],
    len: usize,
    m: &impl Fn(T, T) -> (T, T),
) {
    let (head, tail) = real.split_at_mut(second);
    let (x, y) = (&mut tail[..len], &mut head[first..][..len]);
    if T::PLANES == 1 {
        for (x, y) in groups_mut(x).iter_mut().zip(groups_mut(y)) {
            // Groups are copied, mapped and written back, so that aliasing cannot prevent
            // vectorization.
            let (mut left, mut right) = (*x, *y);
            for l in 0..LANES {
                let mapped = m(T::from_real(left[l]), T::from_real(right[l]));
                (left[l], right[l]) = (mapped.0.real(), mapped.1.real());
            }
            (*x, *y) = (left, right);
        }
        return;
    }
    let (head, tail) = imaginary.split_at_mut(second);
    let (x_im, y_im) = (&mut tail[..len], &mut head[first..][..len]);
    let [y_sign, x_sign] = conjugated.map(|conjugated| if conjugated { -1.0 } else { 1.0 });
    let imaginary = groups_mut(x_im).iter_mut().zip(groups_mut(y_im));
    for ((x, y), (x_im, y_im)) in groups_mut(x).iter_mut().zip(groups_mut(y)).zip(imaginary) {
        let (mut left, mut right) = ((*x, *x_im), (*y, *y_im));
        for l in 0..LANES {
            let mapped = m(
                T::from_parts(left.0[l], x_sign * left.1[l]),
                T::from_parts(right.0[l], y_sign * right.1[l]),
            );
            (left.0[l], left.1[l]) = (mapped.0.real(), x_sign * mapped.0.imaginary());
            (right.0[l], right.1[l]) = (mapped.1.real(), y_sign * mapped.1.imaginary());
        }
        ((*x, *x_im), (*y, *y_im)) = (left, right);
    }
}

/// Views a row as groups of [`LANES`] numbers, so that loops of fixed length vectorize.
#[inline(always)]
fn groups(row: &[f64]) -> &[[f64; LANES]] {
    let (groups, rest) = row.as_chunks();
    assert!(
        rest.is_empty(),
        "the length of a row must be a multiple of the number of lanes"
    );
    groups
}

/// Mutable version of [`groups`].
#[inline(always)]
fn groups_mut(row: &mut [f64]) -> &mut [[f64; LANES]] {
    let (groups, rest) = row.as_chunks_mut();
    assert!(
        rest.is_empty(),
        "the length of a row must be a multiple of the number of lanes"
    );
    groups
}
