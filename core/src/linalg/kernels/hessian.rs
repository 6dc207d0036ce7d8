//! The row blocks of the exact Hessian, and their product with a matrix.
//!
//! M^a = Σ_i w_i [ D_bc / D_aa − 2 D_ab D_ac / D_aa² ] are p symmetric matrices. They are kept
//! like the set itself, entry-major, in groups of [`LANES`]: number (g, packed(b, c), l) is entry
//! (b, c) of M^a for a = g·LANES + l (zero for a ≥ p). Both sums are then products whose vectors
//! run over a: no horizontal sums, and each number of the block is loaded once for many a.
#![allow(unsafe_code)]

use pulp::{Simd, WithSimd};

use super::combine::add_products;
use super::{LANES, Real, packed, packed_len};

/// How many numbers the row blocks of a p×p problem take.
pub fn hessian_len(p: usize) -> usize {
    p.div_ceil(LANES) * packed_len(p) * LANES
}

/// How many matrices' scaled rows are prepared at once: few enough that one vector of a's stays in
/// the nearest cache, a multiple of every vector width.
fn depth(p: usize, lanes: usize) -> usize {
    (768 / p)
        .next_multiple_of(LANES)
        .clamp(2 * LANES, lanes.max(2 * LANES))
}

/// What [`accumulate_hessian`] works in: worth keeping between calls.
#[derive(Clone, Debug, Default)]
pub struct HessianScratch<T> {
    scale: Vec<f64>,
    scaled: Vec<T>,
    rounded: Vec<T>,
}

/// Adds one block's share to `hessian`.
pub fn accumulate_hessian<T: Real>(
    p: usize,
    block: &[f64],
    weights: &[f64],
    hessian: &mut [T],
    scratch: &mut HessianScratch<T>,
) {
    let (lanes, width) = (weights.len(), p.next_multiple_of(LANES));
    assert_eq!(lanes % LANES, 0);
    assert_eq!(block.len(), packed_len(p) * lanes);
    assert_eq!(hessian.len(), hessian_len(p));
    scratch.scale.resize(lanes * (width + 1), 0.0);
    let len = width * lanes + depth(p, lanes) * width * p;
    scratch.scaled.resize(len, T::default());
    let (inverse, root_weights) = scratch.scale.split_at_mut(width * lanes);
    let (inverse_transposed, scaled_rows) = scratch.scaled.split_at_mut(width * lanes);
    T::dispatch(Accumulate {
        p,
        block,
        weights,
        hessian,
        inverse,
        root_weights,
        rounded: &mut scratch.rounded,
        inverse_transposed,
        scaled_rows,
    });
}

struct Accumulate<'a, T> {
    p: usize,
    block: &'a [f64],
    weights: &'a [f64],
    hessian: &'a mut [T],
    /// 1 / D_aa, row a; rows beyond p are zero.
    inverse: &'a mut [f64],
    root_weights: &'a mut [f64],
    rounded: &'a mut Vec<T>,
    /// u = w_i / D_aa, number (g, i, l) for a = g·LANES + l.
    inverse_transposed: &'a mut [T],
    scaled_rows: &'a mut [T],
}

impl<T: Real> WithSimd for Accumulate<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let lanes = self.weights.len();
        for (root, w) in self.root_weights.iter_mut().zip(self.weights) {
            *root = (2.0 * w).sqrt();
        }
        for (a, row) in self.inverse.chunks_exact_mut(lanes).enumerate() {
            if a < self.p {
                let power = &self.block[packed(a, a) * lanes..][..lanes];
                row.iter_mut().zip(power).for_each(|(x, d)| *x = 1.0 / d);
            } else {
                row.fill(0.0);
            }
            let group = &mut self.inverse_transposed[a / LANES * LANES * lanes..][..LANES * lanes];
            let (group, _) = group.as_chunks_mut::<LANES>();
            for ((u, x), w) in group.iter_mut().zip(&*row).zip(self.weights) {
                u[a % LANES] = T::round(x * w);
            }
        }
        let hessian = T::vectors_mut::<S>(self.hessian);
        let u = T::vectors::<S>(self.inverse_transposed);
        // The first sum: hessian[bc, a] += Σ_i D_bc,i u[i, a].
        add_products(simd, self.block, lanes, self.rounded, u, hessian);
        let most = depth(self.p, lanes);
        for start in (0..lanes).step_by(most) {
            let range = start..lanes.min(start + most);
            let depth = range.len();
            let scale = (&*self.inverse, &*self.root_weights);
            scale_rows::<S, T>(self.p, self.block, lanes, scale, range, self.scaled_rows);
            let z = T::vectors::<S>(self.scaled_rows);
            let halves = LANES / T::lanes::<S>();
            let group_len = packed_len(self.p) * halves;
            for (v, z) in z.chunks_exact(self.p * depth).enumerate() {
                if v / halves < self.p.div_ceil(LANES) {
                    let group = &mut hessian[v / halves * group_len..][..group_len];
                    subtract_squares::<S, T>(simd, self.p, depth, z, group, v % halves);
                }
            }
        }
    }
}

/// Z = √(2w_i) D_ab / D_aa for the matrices of `range`, as z[(v, b, i, l)], a = v·width + l.
#[inline(always)]
fn scale_rows<S: Simd, T: Real>(
    p: usize,
    block: &[f64],
    lanes: usize,
    scale: (&[f64], &[f64]),
    range: std::ops::Range<usize>,
    z: &mut [T],
) {
    match T::lanes::<S>() {
        8 => scale_rows_by::<T, 8>(p, block, lanes, scale, range, z),
        4 => scale_rows_by::<T, 4>(p, block, lanes, scale, range, z),
        2 => scale_rows_by::<T, 2>(p, block, lanes, scale, range, z),
        _ => scale_rows_by::<T, 1>(p, block, lanes, scale, range, z),
    }
}

#[inline(always)]
fn scale_rows_by<T: Real, const L: usize>(
    p: usize,
    block: &[f64],
    lanes: usize,
    (inverse, root_weights): (&[f64], &[f64]),
    range: std::ops::Range<usize>,
    z: &mut [T],
) {
    let depth = range.len();
    for v in 0..p.next_multiple_of(LANES) / L {
        // Rows beyond p read those of the last component; their inverse power is zero.
        let component: [usize; L] = std::array::from_fn(|l| (v * L + l).min(p - 1));
        for i in (0..depth).step_by(L) {
            let at = range.start + i;
            let mut scale = [[0.0; L]; L];
            for l in 0..L {
                let inverse: &[f64; L] = inverse[(v * L + l) * lanes + at..].first_chunk().unwrap();
                let root: &[f64; L] = root_weights[at..].first_chunk().unwrap();
                for k in 0..L {
                    scale[l][k] = inverse[k] * root[k];
                }
            }
            for b in 0..p {
                let mut tile = [[T::default(); L]; L];
                for l in 0..L {
                    let row: &[f64; L] = block[packed(component[l], b) * lanes + at..]
                        .first_chunk()
                        .unwrap();
                    for k in 0..L {
                        tile[l][k] = T::round(row[k] * scale[l][k]);
                    }
                }
                let out = &mut z[((v * p + b) * depth + i) * L..][..L * L];
                let (out, _) = out.as_chunks_mut::<L>();
                for k in 0..L {
                    for l in 0..L {
                        out[k][l] = tile[l][k];
                    }
                }
            }
        }
    }
}

/// The second sum, for one vector of a's: hessian[bc] −= Σ_i z[b, i] z[c, i].
#[inline(always)]
fn subtract_squares<S: Simd, T: Real>(
    simd: S,
    p: usize,
    depth: usize,
    z: &[T::Vector<S>],
    hessian: &mut [T::Vector<S>],
    half: usize,
) {
    let halves = LANES / T::lanes::<S>();
    assert_eq!(z.len(), p * depth);
    assert_eq!(hessian.len(), packed_len(p) * halves);
    let mut b = 0;
    while b < p {
        let rows = (p - b).min(4);
        let mut c = 0;
        while c < b + rows {
            let columns = (b + rows - c).min(3);
            macro_rules! inner {
                ($r:literal, $c:literal) => {
                    // SAFETY: rows b..b+$r and c..c+$c exist in z; of the Hessian only c ≤ b.
                    unsafe {
                        inner::<S, T, $r, $c>(
                            simd,
                            z.as_ptr(),
                            depth,
                            (b, c),
                            hessian.as_mut_ptr().add(half),
                        )
                    }
                };
            }
            match (rows, columns) {
                (4, 3) => inner!(4, 3),
                (4, 2) => inner!(4, 2),
                (4, _) => inner!(4, 1),
                (3, 3) => inner!(3, 3),
                (3, 2) => inner!(3, 2),
                (3, _) => inner!(3, 1),
                (2, 3) => inner!(2, 3),
                (2, 2) => inner!(2, 2),
                (2, _) => inner!(2, 1),
                (_, 3) => inner!(1, 3),
                (_, 2) => inner!(1, 2),
                _ => inner!(1, 1),
            }
            c += columns;
        }
        b += rows;
    }
}

/// # Safety
/// `z` must have rows b..b+R and c..c+C of `depth` vectors, `hessian` the packed rows of these
/// pairs with c ≤ b.
#[inline(always)]
unsafe fn inner<S: Simd, T: Real, const R: usize, const C: usize>(
    simd: S,
    z: *const T::Vector<S>,
    depth: usize,
    (b, c): (usize, usize),
    hessian: *mut T::Vector<S>,
) {
    let halves = LANES / T::lanes::<S>();
    let (left, right) = unsafe { (z.add(b * depth), z.add(c * depth)) };
    let zero = T::splat(simd, T::default());
    let mut sums = [[zero; C]; R];
    for i in 0..depth {
        let mut columns = [zero; C];
        for k in 0..C {
            columns[k] = unsafe { *right.add(k * depth + i) };
        }
        for r in 0..R {
            let row = unsafe { *left.add(r * depth + i) };
            for k in 0..C {
                sums[r][k] = T::mul_add(simd, row, columns[k], sums[r][k]);
            }
        }
    }
    let whole = c + C <= b + 1;
    for r in 0..R {
        let out = unsafe { hessian.add((packed(b + r, 0) + c) * halves) };
        for k in 0..C {
            if whole || c + k <= b + r {
                unsafe {
                    let out = out.add(k * halves);
                    *out = T::sub(simd, *out, sums[r][k]);
                }
            }
        }
    }
}

/// sums += part.
pub fn add_to<T: Real>(sums: &mut [T], part: &[T]) {
    assert_eq!(sums.len(), part.len());
    T::dispatch(Add { sums, part });
}

struct Add<'a, T> {
    sums: &'a mut [T],
    part: &'a [T],
}

impl<T: Real> WithSimd for Add<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let part = T::vectors::<S>(self.part);
        for (x, y) in T::vectors_mut::<S>(self.sums).iter_mut().zip(part) {
            *x = T::add(simd, *x, *y);
        }
    }
}

/// out[b, a] = Σ_c M^a_bc e[c, a]: the product of every M^a with column a of `e`.
/// Both are laid out in groups like the Hessian: number (g, b, l).
pub fn hessian_times<T: Real>(p: usize, hessian: &[T], e: &[T], out: &mut [T]) {
    let groups = p.div_ceil(LANES);
    assert_eq!(hessian.len(), hessian_len(p));
    assert_eq!(
        (e.len(), out.len()),
        (groups * p * LANES, groups * p * LANES)
    );
    T::dispatch(Times { p, hessian, e, out });
}

struct Times<'a, T> {
    p: usize,
    hessian: &'a [T],
    e: &'a [T],
    out: &'a mut [T],
}

impl<T: Real> WithSimd for Times<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let p = self.p;
        let halves = LANES / T::lanes::<S>();
        let zero = T::splat(simd, T::default());
        let hessian = T::vectors::<S>(self.hessian);
        let e = T::vectors::<S>(self.e);
        let out = T::vectors_mut::<S>(self.out);
        out.fill(zero);
        let groups = hessian
            .chunks_exact(packed_len(p) * halves)
            .zip(e.chunks_exact(p * halves))
            .zip(out.chunks_exact_mut(p * halves));
        for ((m, e), out) in groups {
            let mut row = 0;
            for b in 0..p {
                let end = (b + 1) * halves;
                let (m, e_below, out_below) = (&m[row..row + end], &e[..end], &mut out[..end]);
                row += end;
                for half in 0..halves {
                    let e_b = e_below[b * halves + half];
                    let mut own = zero;
                    for k in (half..b * halves).step_by(halves) {
                        own = T::mul_add(simd, m[k], e_below[k], own);
                        out_below[k] = T::mul_add(simd, m[k], e_b, out_below[k]);
                    }
                    let last = b * halves + half;
                    own = T::mul_add(simd, m[last], e_b, own);
                    out_below[last] = T::add(simd, out_below[last], own);
                }
            }
        }
    }
}
