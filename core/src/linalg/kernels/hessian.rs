//! The row blocks of the exact Hessian, and their product with a matrix.
//!
//! M^a = Σ_i w_i [ D_bc / D_aa − 2 D_ab D_ac / D_aa² ] are p symmetric matrices. They are kept
//! like the set itself, entry-major, in groups of [`LANES`]: number (g, packed(b, c), l) is entry
//! (b, c) of M^a for a = g·LANES + l (zero for a ≥ p). Both sums are then products whose vectors
//! run over a: no horizontal sums, and each number of the block is loaded once for many a.
#![allow(unsafe_code)]

use pulp::{Arch, Simd, WithSimd};

use super::combine::add_products;
use super::{LANES, packed, packed_len};

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

/// Adds one block's share to `hessian`.
/// `scratch` grows as needed and is worth keeping between calls.
pub fn accumulate_hessian(
    p: usize,
    block: &[f64],
    weights: &[f64],
    hessian: &mut [f64],
    scratch: &mut Vec<f64>,
) {
    let (lanes, width) = (weights.len(), p.next_multiple_of(LANES));
    assert_eq!(lanes % LANES, 0);
    assert_eq!(block.len(), packed_len(p) * lanes);
    assert_eq!(hessian.len(), hessian_len(p));
    scratch.resize(lanes * (2 * width + 1) + depth(p, lanes) * width * p, 0.0);
    let (inverse, rest) = scratch.split_at_mut(width * lanes);
    let (inverse_transposed, rest) = rest.split_at_mut(width * lanes);
    let (root_weights, scaled_rows) = rest.split_at_mut(lanes);
    Arch::new().dispatch(Accumulate {
        p,
        block,
        weights,
        hessian,
        inverse,
        inverse_transposed,
        root_weights,
        scaled_rows,
    });
}

struct Accumulate<'a> {
    p: usize,
    block: &'a [f64],
    weights: &'a [f64],
    hessian: &'a mut [f64],
    /// 1 / D_aa, row a; rows beyond p are zero.
    inverse: &'a mut [f64],
    /// u = w_i / D_aa, number (g, i, l) for a = g·LANES + l.
    inverse_transposed: &'a mut [f64],
    root_weights: &'a mut [f64],
    scaled_rows: &'a mut [f64],
}

impl WithSimd for Accumulate<'_> {
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
                u[a % LANES] = x * w;
            }
        }
        let (hessian, _) = S::as_mut_simd_f64s(self.hessian);
        let (u, _) = S::as_simd_f64s(self.inverse_transposed);
        // The first sum: hessian[bc, a] += Σ_i D_bc,i u[i, a].
        add_products(simd, self.block, lanes, u, hessian);
        let most = depth(self.p, lanes);
        for start in (0..lanes).step_by(most) {
            let range = start..lanes.min(start + most);
            let depth = range.len();
            let scale = (&*self.inverse, &*self.root_weights);
            scale_rows(
                simd,
                self.p,
                self.block,
                lanes,
                scale,
                range,
                self.scaled_rows,
            );
            let (z, _) = S::as_simd_f64s(self.scaled_rows);
            let halves = LANES / S::F64_LANES;
            let group_len = packed_len(self.p) * halves;
            for (v, z) in z[..].chunks_exact(self.p * depth).enumerate() {
                if v / halves < self.p.div_ceil(LANES) {
                    let group = &mut hessian[v / halves * group_len..][..group_len];
                    subtract_squares(simd, self.p, depth, z, group, v % halves);
                }
            }
        }
    }
}

/// Z = √(2w_i) D_ab / D_aa for the matrices of `range`, as z[(v, b, i, l)], a = v·width + l.
#[inline(always)]
fn scale_rows<S: Simd>(
    simd: S,
    p: usize,
    block: &[f64],
    lanes: usize,
    scale: (&[f64], &[f64]),
    range: std::ops::Range<usize>,
    z: &mut [f64],
) {
    match S::F64_LANES {
        8 => scale_rows_by::<8>(p, block, lanes, scale, range, z),
        4 => scale_rows_by::<4>(p, block, lanes, scale, range, z),
        2 => scale_rows_by::<2>(p, block, lanes, scale, range, z),
        _ => scale_rows_by::<1>(p, block, lanes, scale, range, z),
    }
    let _ = simd;
}

#[inline(always)]
fn scale_rows_by<const L: usize>(
    p: usize,
    block: &[f64],
    lanes: usize,
    (inverse, root_weights): (&[f64], &[f64]),
    range: std::ops::Range<usize>,
    z: &mut [f64],
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
                let mut tile = [[0.0; L]; L];
                for l in 0..L {
                    let row: &[f64; L] = block[packed(component[l], b) * lanes + at..]
                        .first_chunk()
                        .unwrap();
                    for k in 0..L {
                        tile[l][k] = row[k] * scale[l][k];
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
fn subtract_squares<S: Simd>(
    simd: S,
    p: usize,
    depth: usize,
    z: &[S::f64s],
    hessian: &mut [S::f64s],
    half: usize,
) {
    let halves = LANES / S::F64_LANES;
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
                        inner::<S, $r, $c>(
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
unsafe fn inner<S: Simd, const R: usize, const C: usize>(
    simd: S,
    z: *const S::f64s,
    depth: usize,
    (b, c): (usize, usize),
    hessian: *mut S::f64s,
) {
    let halves = LANES / S::F64_LANES;
    let (left, right) = unsafe { (z.add(b * depth), z.add(c * depth)) };
    let mut sums = [[simd.splat_f64s(0.0); C]; R];
    for i in 0..depth {
        let mut columns = [simd.splat_f64s(0.0); C];
        for k in 0..C {
            columns[k] = unsafe { *right.add(k * depth + i) };
        }
        for r in 0..R {
            let row = unsafe { *left.add(r * depth + i) };
            for k in 0..C {
                sums[r][k] = simd.mul_add_e_f64s(row, columns[k], sums[r][k]);
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
                    *out = simd.sub_f64s(*out, sums[r][k]);
                }
            }
        }
    }
}

/// out[b, a] = Σ_c M^a_bc e[c, a]: the product of every M^a with column a of `e`.
/// Both are laid out in groups like the Hessian: number (g, b, l).
pub fn hessian_times(p: usize, hessian: &[f64], e: &[f64], out: &mut [f64]) {
    let groups = p.div_ceil(LANES);
    assert_eq!(hessian.len(), hessian_len(p));
    assert_eq!(
        (e.len(), out.len()),
        (groups * p * LANES, groups * p * LANES)
    );
    Arch::new().dispatch(Times { p, hessian, e, out });
}

struct Times<'a> {
    p: usize,
    hessian: &'a [f64],
    e: &'a [f64],
    out: &'a mut [f64],
}

impl WithSimd for Times<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let p = self.p;
        let halves = LANES / S::F64_LANES;
        let (hessian, _) = S::as_simd_f64s(self.hessian);
        let (e, _) = S::as_simd_f64s(self.e);
        let (out, _) = S::as_mut_simd_f64s(self.out);
        out.fill(simd.splat_f64s(0.0));
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
                    let mut own = simd.splat_f64s(0.0);
                    for k in (half..b * halves).step_by(halves) {
                        own = simd.mul_add_e_f64s(m[k], e_below[k], own);
                        out_below[k] = simd.mul_add_e_f64s(m[k], e_b, out_below[k]);
                    }
                    let last = b * halves + half;
                    own = simd.mul_add_e_f64s(m[last], e_b, own);
                    out_below[last] = simd.add_f64s(out_below[last], own);
                }
            }
        }
    }
}
