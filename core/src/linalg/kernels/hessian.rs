//! The row blocks of the exact Hessian, and their product with a matrix.
//!
//! M^a = Σ_i w_i [ D_bc / D_aa − 2 D_ab D_ac / D_aa² ] are p symmetric matrices. They are kept
//! like the set itself, entry-major, in groups of [`LANES`]: number (g, bc, l), for the place bc of
//! (b, c) in the [`Triangle`], is entry (b, c) of M^a for a = g·LANES + l (zero for a ≥ p). Both sums are then products whose vectors
//! run over a: no horizontal sums, and each number of the block is loaded once for many a.
//! Group by group both sums are made, so that what they add to is in the caches for the second.
#![allow(unsafe_code)]

use pulp::{Arch, Simd, WithSimd};

use super::combine::add_products;
use super::{LANES, room, vectors, vectors_mut, vectors_per_group};
use crate::linalg::Triangle;

/// How many numbers the row blocks of a p×p problem take.
pub fn hessian_len(p: usize) -> usize {
    p.div_ceil(LANES) * Triangle::new(p).len() * LANES
}

/// Adds one block's share to `hessian`, or begins with it, whatever was there.
/// `scratch` grows as needed and is worth keeping between calls.
pub fn accumulate_hessian(
    p: usize,
    block: &[f64],
    weights: &[f64],
    hessian: &mut [f64],
    begins: bool,
    scratch: &mut Vec<f64>,
) {
    let (lanes, width) = (weights.len(), p.next_multiple_of(LANES));
    assert_eq!(lanes % LANES, 0);
    assert_eq!(block.len(), Triangle::new(p).len() * lanes);
    assert_eq!(hessian.len(), hessian_len(p));
    let scratch = room(scratch, lanes * (2 * width + 1 + LANES * p));
    let (scale, rest) = scratch.split_at_mut(width * lanes);
    let (inverse_transposed, rest) = rest.split_at_mut(width * lanes);
    let (root_weights, scaled_rows) = rest.split_at_mut(lanes);
    Arch::new().dispatch(Accumulate {
        p,
        block,
        weights,
        hessian,
        begins,
        scale,
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
    begins: bool,
    /// √(2w_i) / D_aa, row a; rows beyond p are zero.
    scale: &'a mut [f64],
    /// u = w_i / D_aa, number (g, i, l) for a = g·LANES + l.
    inverse_transposed: &'a mut [f64],
    root_weights: &'a mut [f64],
    /// Z of one vector of a's.
    scaled_rows: &'a mut [f64],
}

impl WithSimd for Accumulate<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (lanes, triangle) = (self.weights.len(), Triangle::new(self.p));
        for (root, w) in self.root_weights.iter_mut().zip(self.weights) {
            *root = (2.0 * w).sqrt();
        }
        for (a, row) in self.scale.chunks_exact_mut(lanes).enumerate() {
            let group = &mut self.inverse_transposed[a / LANES * LANES * lanes..][..LANES * lanes];
            let (group, _) = group.as_chunks_mut::<LANES>();
            if a < self.p {
                let power = &self.block[triangle.diagonal(a) * lanes..][..lanes];
                for i in 0..lanes {
                    let inverse = 1.0 / power[i];
                    row[i] = inverse * self.root_weights[i];
                    group[i][a % LANES] = inverse * self.weights[i];
                }
            } else {
                row.fill(0.0);
                group.iter_mut().for_each(|u| u[a % LANES] = 0.0);
            }
        }
        let hessian = vectors_mut::<S>(self.hessian);
        let u = vectors::<S>(self.inverse_transposed);
        let halves = vectors_per_group::<S>();
        let groups = hessian.chunks_exact_mut(triangle.len() * halves);
        for (g, group) in groups.enumerate() {
            // The first sum: hessian[bc, a] += Σ_i D_bc,i u[i, a].
            let u = &u[g * lanes * halves..][..lanes * halves];
            add_products(simd, self.block, lanes, u, group, self.begins);
            for half in 0..halves {
                let v = g * halves + half;
                if v * S::F64_LANES < self.p {
                    let z = &mut self.scaled_rows[..self.p * lanes * S::F64_LANES];
                    scale_rows(simd, self.p, self.block, self.scale, lanes, v, z);
                    subtract_squares(simd, self.p, vectors::<S>(z), group, half);
                }
            }
        }
    }
}

/// Z = √(2w_i) D_ab / D_aa for vector v of the a's, as z[(b, i, l)], a = v·width + l.
#[inline(always)]
fn scale_rows<S: Simd>(
    simd: S,
    p: usize,
    block: &[f64],
    scale: &[f64],
    lanes: usize,
    v: usize,
    z: &mut [f64],
) {
    match S::F64_LANES {
        8 => scale_rows_by::<8>(p, block, scale, lanes, v, z),
        4 => scale_rows_by::<4>(p, block, scale, lanes, v, z),
        2 => scale_rows_by::<2>(p, block, scale, lanes, v, z),
        _ => scale_rows_by::<1>(p, block, scale, lanes, v, z),
    }
    let _ = simd;
}

#[inline(always)]
fn scale_rows_by<'a, const L: usize>(
    p: usize,
    block: &'a [f64],
    scale: &'a [f64],
    lanes: usize,
    v: usize,
    z: &mut [f64],
) {
    let triangle = Triangle::new(p);
    let row_of = |numbers: &'a [f64], row: usize| numbers[row * lanes..][..lanes].as_chunks().0;
    let factors: [&[[f64; L]]; L] = std::array::from_fn(|l| row_of(scale, v * L + l));
    for (b, z) in z.chunks_exact_mut(lanes * L).enumerate() {
        // Rows beyond p read those of the last component; their factors are zero.
        let component = |l: usize| (v * L + l).min(p - 1);
        let rows: [&[[f64; L]]; L] =
            std::array::from_fn(|l| row_of(block, triangle.index(component(l), b)));
        let (tiles, _) = z.as_chunks_mut::<L>();
        let (tiles, _) = tiles.as_chunks_mut::<L>();
        for (i, tile) in tiles.iter_mut().enumerate() {
            let scaled: [[f64; L]; L] = std::array::from_fn(|l| {
                // SAFETY: `z` was cut to lanes·L numbers, so i < lanes / L, and the rows were cut to
                // `lanes` numbers, lanes / L pieces each.
                let (row, factor) =
                    unsafe { (rows[l].get_unchecked(i), factors[l].get_unchecked(i)) };
                std::array::from_fn(|k| row[k] * factor[k])
            });
            *tile = std::array::from_fn(|k| std::array::from_fn(|l| scaled[l][k]));
        }
    }
}

/// The second sum, for one vector of a's: hessian[bc] −= Σ_i z[b, i] z[c, i].
#[inline(always)]
fn subtract_squares<S: Simd>(
    simd: S,
    p: usize,
    z: &[S::f64s],
    hessian: &mut [S::f64s],
    half: usize,
) {
    let (halves, triangle) = (vectors_per_group::<S>(), Triangle::new(p));
    let depth = z.len() / p;
    assert_eq!(z.len(), p * depth);
    assert_eq!(hessian.len(), triangle.len() * halves);
    assert!(half < halves);
    let mut b = 0;
    while b < p {
        let rows = (p - b).min(4);
        let mut c = 0;
        while c < b + rows {
            // Never a last column alone, whose few accumulators would wait for each other.
            let columns = match b + rows - c {
                4 => 2,
                left => left.min(3),
            };
            macro_rules! inner {
                ($r:literal, $c:literal) => {
                    // SAFETY: b + $r ≤ p and c + $c ≤ b + $r, so these rows exist in `z`, and the
                    // pairs below the diagonal in `hessian`; half < halves.
                    unsafe {
                        inner::<S, $r, $c>(
                            simd,
                            z.as_ptr(),
                            depth,
                            triangle,
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

/// The share of the pairs of rows b..b+R with rows c..c+C: a tile of sums kept in registers.
///
/// # Safety
/// `z` must have rows b..b+R and c..c+C of `depth` vectors, `hessian` a vector for each of these
/// pairs that is in the triangle, at every (LANES / width)th place.
#[inline(always)]
unsafe fn inner<S: Simd, const R: usize, const C: usize>(
    simd: S,
    z: *const S::f64s,
    depth: usize,
    triangle: Triangle,
    (b, c): (usize, usize),
    hessian: *mut S::f64s,
) {
    let halves = vectors_per_group::<S>();
    // SAFETY: the caller promises rows b and c of `z`.
    let (left, right) = unsafe { (z.add(b * depth), z.add(c * depth)) };
    let mut sums = [[simd.splat_f64s(0.0); C]; R];
    for i in 0..depth {
        let mut columns = [simd.splat_f64s(0.0); C];
        for k in 0..C {
            // SAFETY: k < C and i < depth: vector i of row c + k.
            columns[k] = unsafe { *right.add(k * depth + i) };
        }
        for r in 0..R {
            // SAFETY: r < R and i < depth: vector i of row b + r.
            let row = unsafe { *left.add(r * depth + i) };
            for k in 0..C {
                sums[r][k] = simd.mul_add_e_f64s(row, columns[k], sums[r][k]);
            }
        }
    }
    let whole = c + C <= b + 1;
    for r in 0..R {
        for k in 0..C {
            if whole || c + k <= b + r {
                // SAFETY: c + k ≤ b + r: the pair is in the triangle.
                unsafe {
                    let out = hessian.add((triangle.row(b + r).start + c + k) * halves);
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
        let (halves, triangle) = (vectors_per_group::<S>(), Triangle::new(p));
        let hessian = vectors::<S>(self.hessian);
        let e = vectors::<S>(self.e);
        let out = vectors_mut::<S>(self.out);
        out.fill(simd.splat_f64s(0.0));
        let groups = hessian
            .chunks_exact(triangle.len() * halves)
            .zip(e.chunks_exact(p * halves))
            .zip(out.chunks_exact_mut(p * halves));
        for ((m, e), out) in groups {
            let (m, e, out) = (m.as_ptr(), e.as_ptr(), out.as_mut_ptr());
            // SAFETY: `m` was cut to the whole triangle, `e` and `out` to p rows, and b + R ≤ p.
            unsafe {
                if halves > 4 {
                    (0..p).for_each(|b| times_rows::<S, 1, LANES>(simd, triangle, m, e, out, b));
                    continue;
                }
                // Two rows at a time, which share what they read and write.
                for b in (0..p - p % 2).step_by(2) {
                    times_rows::<S, 2, 4>(simd, triangle, m, e, out, b);
                }
                if p % 2 == 1 {
                    times_rows::<S, 1, 4>(simd, triangle, m, e, out, p - 1);
                }
            }
        }
    }
}

/// What rows b..b+R of one group's lower triangles contribute to a product, with U sums per row that
/// do not wait for each other, U being a multiple of the vectors of a group.
///
/// # Safety
/// `m` must have the rows of the triangle up to row b+R, `e` and `out` b+R rows, of one group's
/// vectors each.
#[inline(always)]
unsafe fn times_rows<S: Simd, const R: usize, const U: usize>(
    simd: S,
    triangle: Triangle,
    m: *const S::f64s,
    e: *const S::f64s,
    out: *mut S::f64s,
    b: usize,
) {
    let halves = vectors_per_group::<S>();
    assert!(U.is_multiple_of(halves)); // constants both
    let mut own = [[simd.splat_f64s(0.0); U]; R];
    let mut e_own = [[simd.splat_f64s(0.0); U]; R];
    let mut rows = [m; R];
    for r in 0..R {
        // SAFETY: the caller promises row b + r of the triangle.
        rows[r] = unsafe { m.add(triangle.index(b + r, 0) * halves) };
        for u in 0..U {
            // SAFETY: the caller promises row b + r of `e`, of `halves` vectors.
            e_own[r][u] = unsafe { *e.add((b + r) * halves + u % halves) };
        }
    }
    macro_rules! step {
        ($at:expr, $u:expr) => {
            // SAFETY: $at + $u < b · halves: in rows before b of `e` and `out`, and in the entries
            // before the diagonal of rows b to b + R of the triangle.
            unsafe {
                let e_k = *e.add($at + $u);
                let mut sum = *out.add($at + $u);
                for r in 0..R {
                    let m = *rows[r].add($at + $u);
                    own[r][$u] = simd.mul_add_e_f64s(m, e_k, own[r][$u]);
                    sum = simd.mul_add_e_f64s(m, e_own[r][$u], sum);
                }
                *out.add($at + $u) = sum;
            }
        };
    }
    let below = b * halves;
    let whole = below - below % U;
    for at in (0..whole).step_by(U) {
        for u in 0..U {
            step!(at, u);
        }
    }
    for u in 0..below - whole {
        step!(whole, u);
    }
    for half in 0..halves {
        for r in 0..R {
            // SAFETY: r < R and half < halves: within row b + r of `out`.
            let place = unsafe { &mut *out.add((b + r) * halves + half) };
            let mut sum = *place;
            for u in (half..U).step_by(halves) {
                sum = simd.add_f64s(sum, own[r][u]);
            }
            // The corner of the R rows among themselves.
            for c in 0..R {
                let (row, column) = (r.max(c), r.min(c));
                // SAFETY: column ≤ row < R: entry (b + row, b + column) of the triangle.
                let m = unsafe { *rows[row].add((b + column) * halves + half) };
                sum = simd.mul_add_e_f64s(m, e_own[c][half], sum);
            }
            *place = sum;
        }
    }
}

#[cfg(test)]
mod tests {
    use pulp::{Scalar, Scalar128b, Scalar256b, Scalar512b};

    use super::*;

    /// Row blocks and product of one set, in vectors of one width.
    fn in_vectors<S: Simd>(simd: S, p: usize) -> Vec<f64> {
        let (lanes, width) = (2 * LANES, p.next_multiple_of(LANES));
        let block: Vec<f64> = (0..Triangle::new(p).len() * lanes)
            .map(|k| 1.0 + 0.1 * ((k * 7) % 11) as f64)
            .collect();
        let weights: Vec<f64> = (0..lanes).map(|i| 0.01 * (1 + i % 3) as f64).collect();
        let mut hessian = vec![f64::NAN; hessian_len(p)];
        let table = |len: usize| vec![f64::NAN; len];
        Accumulate {
            p,
            block: &block,
            weights: &weights,
            hessian: &mut hessian,
            begins: true,
            scale: &mut table(width * lanes),
            inverse_transposed: &mut table(width * lanes),
            root_weights: &mut table(lanes),
            scaled_rows: &mut table(LANES * p * lanes),
        }
        .with_simd(simd);
        let e: Vec<f64> = (0..width * p).map(|k| 0.1 * (k % 7) as f64 - 0.2).collect();
        let mut product = vec![f64::NAN; e.len()];
        Times {
            p,
            hessian: &hessian,
            e: &e,
            out: &mut product,
        }
        .with_simd(simd);
        hessian.extend(product);
        hessian
    }

    #[test]
    fn every_width_of_vectors_gives_the_same_numbers() {
        for p in [1, 2, 3, 5, 8, 9, 12] {
            let expected = in_vectors(Scalar, p);
            assert!(expected.iter().all(|x| x.is_finite()));
            let others = [
                in_vectors(Scalar128b, p),
                in_vectors(Scalar256b, p),
                in_vectors(Scalar512b, p),
            ];
            for numbers in others {
                for (x, y) in numbers.iter().zip(&expected) {
                    assert!((x - y).abs() <= 1e-12 * (1.0 + y.abs()), "p {p}: {x} {y}");
                }
            }
        }
    }
}
