//! Accumulates the row blocks of the exact Hessian. Their product with a matrix is in
//! [`hessian_times`](super::hessian_times).
//!
//! The row blocks are the p symmetric matrices M^a with entries Σ_i [ u_ia D_bc + v_ia D_ab D_ac ],
//! for the weights u = w 2φ'(D_aa) and v = w 4φ''(D_aa) < 0 of the criterion (1/D_aa and −2/D_aa²
//! for the likelihood). They are stored like the set itself, in structure-of-arrays layout, in
//! groups of [`Real::LANES`]: number (g, bc, l), for the index bc of (b, c) in the [`Triangle`], is
//! entry (b, c) of M^a for a = g·LANES + l (zero for a ≥ p). Both sums are matrix products whose
//! SIMD vectors run over a. No horizontal sums are needed, and each number of the block is loaded
//! once for several a. The products are computed for a few rows of one group at a time, which stay
//! in the caches.
//!
//! For complex matrices M^a is real-linear, but not complex-linear. It acts on (Re e_a, Im e_a) as
//! a real symmetric 2p×2p matrix, and is stored as one. The first sum Σ_i u_ia D = R + iI
//! contributes [[R, I], [−I, R]]. The second sum is that of the vectors of real and imaginary parts
//! of row a.
#![allow(unsafe_code)]

#[cfg(test)]
mod tests;

use std::ops::Range;

use pulp::{Simd, WithSimd};

use super::DiagonalFunction;
use super::combine::add_products;
use super::real::width;
use super::{Real, arch, planes, vectors_per_group};
use crate::linalg::{Scratch, Triangle};

/// Length of the row blocks of p×p matrices with `planes` planes, in double precision.
pub fn hessian_len(p: usize, planes: usize) -> usize {
    hessian_len_in::<f64>(p, planes)
}

/// Length of the row blocks of p×p matrices with `planes` planes, in the precision R.
pub fn hessian_len_in<R: Real>(p: usize, planes: usize) -> usize {
    p.next_multiple_of(R::LANES) * Triangle::new(planes * p).len()
}

/// Adds the contribution of one block to `hessian`, or replaces its content if `overwrite`.
pub fn accumulate_hessian<R: Real>(
    function: DiagonalFunction,
    p: usize,
    block: &[R],
    weights: &[f64],
    hessian: &mut [R],
    overwrite: bool,
) {
    assert_eq!(
        hessian.len(),
        hessian_len_in::<R>(p, planes(block, p, weights.len()))
    );
    accumulate_groups(function, p, block, weights, 0, hessian, overwrite);
}

/// Adds the contribution of one block to some groups of row blocks, or replaces them if
/// `overwrite`. `hessian` holds the groups from group `first` on.
pub fn accumulate_groups<R: Real>(
    function: DiagonalFunction,
    p: usize,
    block: &[R],
    weights: &[f64],
    first: usize,
    hessian: &mut [R],
    overwrite: bool,
) {
    let (lanes, width) = (weights.len(), p.next_multiple_of(R::LANES));
    assert_eq!(lanes % R::LANES, 0);
    let planes = planes(block, p, lanes);
    let group = Triangle::new(planes * p).len() * R::LANES;
    let count = hessian.len() / group;
    assert_eq!(hessian.len(), count * group);
    assert!((first + count) * R::LANES <= width);
    let first_sum_len = if planes == 1 {
        0
    } else {
        block.len() / lanes * R::LANES
    };
    let tables_len = lanes * (2 * width + 1 + R::LANES * planes * p);
    let mut scratch = Scratch::of_len(first_sum_len + tables_len);
    let (first_sum, rest) = scratch.split_at_mut(first_sum_len);
    let (scale, rest) = rest.split_at_mut(width * lanes);
    let (first_transposed, rest) = rest.split_at_mut(width * lanes);
    let (root_weights, scaled_rows) = rest.split_at_mut(lanes);
    arch().dispatch(Accumulate {
        function,
        p,
        block,
        weights,
        first,
        hessian,
        overwrite,
        scale,
        first_transposed,
        root_weights,
        scaled_rows,
        first_sum,
    });
}

/// Row blocks of at least this size are computed one panel of rows at a time, since a whole group
/// would exceed the L2 cache. (For complex matrices this applies to the second sum only.)
const MIN_PANELED_SIZE: usize = 48;
/// Rows of a panel, a multiple of the rows of a tile.
const PANEL_ROWS: usize = 4;

struct Accumulate<'a, R> {
    function: DiagonalFunction,
    p: usize,
    block: &'a [R],
    weights: &'a [f64],
    /// The index of the first group of row blocks.
    first: usize,
    hessian: &'a mut [R],
    overwrite: bool,
    /// √(−w_i 4φ''(D_aa)) in row a; rows a ≥ p are zero.
    scale: &'a mut [R],
    /// u = w_i 2φ'(D_aa), at (g, i, l) for a = g·LANES + l.
    first_transposed: &'a mut [R],
    /// √(2w_i).
    root_weights: &'a mut [R],
    /// Z of [`scale_rows`] for one group of components a, one vector of components after the other.
    scaled_rows: &'a mut [R],
    /// The planes of the first sum of one group, for complex matrices only.
    first_sum: &'a mut [R],
}

impl<R: Real> WithSimd for Accumulate<'_, R> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (lanes, triangle) = (self.weights.len(), Triangle::new(self.p));
        let planes = if self.first_sum.is_empty() { 1 } else { 2 };
        // The size of M^a.
        let size = planes * self.p;
        for (root, w) in self.root_weights.iter_mut().zip(self.weights) {
            *root = R::rounded((2.0 * w).sqrt());
        }
        let per_group = vectors_per_group::<R, S>();
        let hessian = R::vectors_mut::<S>(self.hessian);
        let groups = hessian.chunks_exact_mut(Triangle::new(size).len() * per_group);
        let components = self.first * R::LANES..(self.first + groups.len()) * R::LANES;
        let rows = self.scale.chunks_exact_mut(lanes).enumerate();
        for (a, row) in rows.take(components.end).skip(components.start) {
            let group = &mut self.first_transposed[a / R::LANES * R::LANES * lanes..];
            let places = group.chunks_exact_mut(R::LANES).take(lanes);
            let places = places.map(|group| &mut group[a % R::LANES]);
            if a < self.p {
                let power = &self.block[triangle.diagonal(a) * lanes..][..lanes];
                for (i, u) in places.enumerate() {
                    let (w, root, d) = (self.weights[i], self.root_weights[i], power[i].widened());
                    row[i] = R::rounded(self.function.second_weight_root(root.widened(), d));
                    *u = R::rounded(self.function.first_weight(w, d));
                }
            } else {
                row.fill(R::zeroed());
                places.for_each(|u| *u = R::zeroed());
            }
        }
        // Lanes of weight 0 at the end of a row are skipped.
        let depth = self.weights.iter().rposition(|w| *w != 0.0);
        let depth = depth.map_or(0, |last| last + 1);
        let u = R::vectors::<S>(self.first_transposed);
        // One slice of Z for each vector of components a < p of the group.
        let side_by_side = components_per_vector::<R, S>();
        let slice = size * lanes * side_by_side;
        for (g, group) in groups.enumerate() {
            let g = self.first + g;
            let used = (self.p - g * R::LANES).min(R::LANES).div_ceil(side_by_side);
            let slices = self.scaled_rows.chunks_exact_mut(slice).take(used);
            for (k, z) in slices.enumerate() {
                let v = g * (R::LANES / side_by_side) + k;
                scale_rows::<R, S>(self.p, self.block, self.scale, (lanes, depth), v, z);
            }
            // The first sum: hessian[bc, a] += Σ_i D_bc,i u[i, a].
            let u = &u[g * lanes * per_group..][..lanes * per_group];
            if planes == 2 {
                let sum = R::vectors_mut::<S>(self.first_sum);
                add_products::<R, S>(simd, self.block, lanes, depth, u, sum, true);
                add_planes::<R, S>(simd, self.p, sum, group, self.overwrite);
            }
            let whole = Triangle::new(size);
            let panel = if size < MIN_PANELED_SIZE {
                size
            } else {
                PANEL_ROWS
            };
            for from in (0..size).step_by(panel) {
                let rows = from..size.min(from + panel);
                if planes == 1 {
                    let entries = whole.row(from).start..whole.row(rows.end - 1).end;
                    let block = &self.block[entries.start * lanes..entries.end * lanes];
                    let sums = &mut group[entries.start * per_group..entries.end * per_group];
                    add_products::<R, S>(simd, block, lanes, depth, u, sums, self.overwrite);
                }
                for (k, z) in self.scaled_rows.chunks_exact(slice).take(used).enumerate() {
                    let (z, at) = (R::vectors::<S>(z), k * side_by_side);
                    subtract_squares::<R, S>(simd, size, rows.clone(), (z, depth), group, at);
                }
            }
        }
    }
}

/// Adds the planes R and I of the first sum of one group as [[R, I], [−I, R]], or replaces the
/// group by them if `overwrite`.
#[inline(always)]
pub(super) fn add_planes<R: Real, S: Simd>(
    simd: S,
    p: usize,
    sum: &[R::Vector<S>],
    hessian: &mut [R::Vector<S>],
    overwrite: bool,
) {
    let (per_group, triangle) = (vectors_per_group::<R, S>(), Triangle::new(p));
    let whole = Triangle::new(2 * p);
    let (real, imaginary) = sum.split_at(triangle.len() * per_group);
    let mut add = |entry: usize, half: usize, x: R::Vector<S>| {
        let place = &mut hessian[entry * per_group + half];
        *place = if overwrite {
            x
        } else {
            R::plus(simd, *place, x)
        };
    };
    for (entry, (b, c)) in triangle.pairs().enumerate() {
        for half in 0..per_group {
            let (re, im) = (
                real[entry * per_group + half],
                imaginary[entry * per_group + half],
            );
            add(whole.index(b, c), half, re);
            add(whole.index(p + b, p + c), half, re);
            add(whole.index(p + b, c), half, R::neg(simd, im));
            if b != c {
                add(whole.index(p + c, b), half, im);
            }
        }
    }
}

/// Returns the number of consecutive matrices per component in a vector of Z. It is two, unless
/// vectors are scalars, since transposing pairs of numbers takes half the time.
#[inline(always)]
const fn matrices_per_vector<R: Real, S: Simd>() -> usize {
    if width::<R, S>() > 1 { 2 } else { 1 }
}

/// Returns the number of components in a vector of Z.
#[inline(always)]
const fn components_per_vector<R: Real, S: Simd>() -> usize {
    width::<R, S>() / matrices_per_vector::<R, S>()
}

/// Computes Z = √(−v_ia) D_ab for the components a of vector `v` and at least the first `depth`
/// matrices i. It is stored as z[(b, j, l, k)] with a = v·L + l and i = K·j + k, for L components
/// and K matrices per vector. If D is complex, the real parts for all b are followed by the
/// imaginary parts.
#[inline(always)]
fn scale_rows<R: Real, S: Simd>(
    p: usize,
    block: &[R],
    scale: &[R],
    (lanes, depth): (usize, usize),
    v: usize,
    z: &mut [R],
) {
    let (z, imaginary) = z.split_at_mut(p * lanes * components_per_vector::<R, S>());
    let (block, imaginary_block) = block.split_at(Triangle::new(p).len() * lanes);
    match width::<R, S>() {
        16 => scale_rows_by::<R, 2, 8, 4, false>(p, block, scale, (lanes, depth), v, z),
        8 => scale_rows_by::<R, 2, 4, 4, false>(p, block, scale, (lanes, depth), v, z),
        4 => scale_rows_by::<R, 2, 2, 2, false>(p, block, scale, (lanes, depth), v, z),
        2 => scale_rows_by::<R, 2, 1, 1, false>(p, block, scale, (lanes, depth), v, z),
        _ => scale_rows_by::<R, 1, 1, 1, false>(p, block, scale, (lanes, depth), v, z),
    }
    if !imaginary.is_empty() {
        let (block, z) = (imaginary_block, imaginary);
        match width::<R, S>() {
            16 => scale_rows_by::<R, 2, 8, 4, true>(p, block, scale, (lanes, depth), v, z),
            8 => scale_rows_by::<R, 2, 4, 4, true>(p, block, scale, (lanes, depth), v, z),
            4 => scale_rows_by::<R, 2, 2, 2, true>(p, block, scale, (lanes, depth), v, z),
            2 => scale_rows_by::<R, 2, 1, 1, true>(p, block, scale, (lanes, depth), v, z),
            _ => scale_rows_by::<R, 1, 1, 1, true>(p, block, scale, (lanes, depth), v, z),
        }
    }
}

/// Computes Z for one plane of D. In the imaginary plane, entry (a, b) with a < b is the negative
/// of the stored entry (b, a). The loops transpose tiles of U×U groups of K numbers, a form that
/// the compiler vectorizes.
#[inline(always)]
fn scale_rows_by<
    'a,
    R: Real,
    const K: usize,
    const L: usize,
    const U: usize,
    const IMAGINARY: bool,
>(
    p: usize,
    block: &'a [R],
    scale: &'a [R],
    (lanes, depth): (usize, usize),
    v: usize,
    z: &mut [R],
) {
    let (triangle, minus) = (Triangle::new(p), R::rounded(-1.0));
    assert!(depth <= lanes && lanes.is_multiple_of(K * U));
    let row_of = |numbers: &'a [R], row: usize| {
        let (pieces, _) = numbers[row * lanes..][..lanes].as_chunks::<K>();
        pieces.as_chunks::<U>().0
    };
    // For a ≥ p the rows of the last component are read; their factors are zero.
    let component = |l: usize| (v * L + l).min(p - 1);
    for (b, z) in z.chunks_exact_mut(lanes * L).enumerate() {
        let (places, _) = z.as_chunks_mut::<K>().0.as_chunks_mut::<U>();
        for from in (0..L).step_by(U) {
            let mut rows: [&[[[R; K]; U]]; U] = [&[]; U];
            let mut factors: [&[[[R; K]; U]]; U] = [&[]; U];
            for l in 0..U {
                rows[l] = row_of(block, triangle.index(component(from + l), b));
                factors[l] = row_of(scale, v * L + from + l);
            }
            for i in 0..depth.div_ceil(K * U) {
                let mut scaled = [[[R::zeroed(); K]; U]; U];
                for l in 0..U {
                    // SAFETY: each row has `lanes` numbers, which are lanes / (K·U) pieces, and
                    // depth ≤ lanes.
                    let (row, factor) =
                        unsafe { (rows[l].get_unchecked(i), factors[l].get_unchecked(i)) };
                    for j in 0..U {
                        for k in 0..K {
                            scaled[l][j][k] = row[j][k] * factor[j][k];
                            if IMAGINARY && v * L + from + l < b {
                                scaled[l][j][k] = minus * scaled[l][j][k];
                            }
                        }
                    }
                }
                for j in 0..U {
                    // SAFETY: i·U + j < lanes / K and `from` < L: among the lanes·L / (K·U) pieces
                    // of `z`.
                    let place = unsafe { places.get_unchecked_mut(((i * U + j) * L + from) / U) };
                    for l in 0..U {
                        place[l] = scaled[l][j];
                    }
                }
            }
        }
    }
}

/// Subtracts the second sum for the rows b in `rows_range` and one vector of components a, which
/// begins at lane `at` of the group: hessian[bc] −= Σ_i z[b, i] z[c, i] over the first `depth`
/// matrices i.
#[inline(always)]
fn subtract_squares<R: Real, S: Simd>(
    simd: S,
    p: usize,
    rows_range: Range<usize>,
    (z, depth): (&[R::Vector<S>], usize),
    hessian: &mut [R::Vector<S>],
    at: usize,
) {
    let (per_group, triangle) = (vectors_per_group::<R, S>(), Triangle::new(p));
    let (stride, depth) = (z.len() / p, depth.div_ceil(matrices_per_vector::<R, S>()));
    assert!(z.len() == p * stride && depth <= stride);
    assert_eq!(hessian.len(), triangle.len() * per_group);
    assert!(at + components_per_vector::<R, S>() <= R::LANES && rows_range.end <= p);
    let hessian: *mut R = hessian.as_mut_ptr().cast();
    let mut b = rows_range.start;
    while b < rows_range.end {
        let rows = (rows_range.end - b).min(4);
        let mut c = 0;
        while c < b + rows {
            // Three columns, but two if four are left: a single last column would have too few
            // accumulators to hide the latency.
            let columns = match b + rows - c {
                4 => 2,
                left => left.min(3),
            };
            macro_rules! tile {
                ($r:literal, $c:literal) => {
                    // SAFETY: b + $r ≤ p and c + $c ≤ b + $r, so these rows exist in `z`, and the
                    // pairs in the lower triangle in `hessian`. The components of a vector fit into
                    // a group from lane `at` on.
                    unsafe {
                        subtract_tile::<R, S, $r, $c>(
                            simd,
                            z.as_ptr(),
                            (stride, depth),
                            triangle,
                            (b, c),
                            hessian.add(at),
                        )
                    }
                };
            }
            match (rows, columns) {
                (4, 3) => tile!(4, 3),
                (4, 2) => tile!(4, 2),
                (4, _) => tile!(4, 1),
                (3, 3) => tile!(3, 3),
                (3, 2) => tile!(3, 2),
                (3, _) => tile!(3, 1),
                (2, 3) => tile!(2, 3),
                (2, 2) => tile!(2, 2),
                (2, _) => tile!(2, 1),
                (_, 3) => tile!(1, 3),
                (_, 2) => tile!(1, 2),
                _ => tile!(1, 1),
            }
            c += columns;
        }
        b += rows;
    }
}

/// Subtracts the products of rows b..b+ROWS with rows c..c+COLUMNS, a tile of sums in registers.
///
/// # Safety
/// `z` must have rows b..b+ROWS and c..c+COLUMNS of `stride` ≥ `depth` vectors. `hessian` must
/// have, for each of these pairs in the triangle, as many numbers as a vector has components, the
/// first of them at LANES times the pair's index.
#[inline(always)]
unsafe fn subtract_tile<R: Real, S: Simd, const ROWS: usize, const COLUMNS: usize>(
    simd: S,
    z: *const R::Vector<S>,
    (stride, depth): (usize, usize),
    triangle: Triangle,
    (b, c): (usize, usize),
    hessian: *mut R,
) {
    // SAFETY: the caller guarantees rows b and c of `z`.
    let (left, right) = unsafe { (z.add(b * stride), z.add(c * stride)) };
    let mut sums = [[R::splat(simd, R::zeroed()); COLUMNS]; ROWS];
    for i in 0..depth {
        let mut columns = [R::splat(simd, R::zeroed()); COLUMNS];
        for k in 0..COLUMNS {
            // SAFETY: k < COLUMNS and i < depth: vector i of row c + k.
            columns[k] = unsafe { *right.add(k * stride + i) };
        }
        for r in 0..ROWS {
            // SAFETY: r < ROWS and i < depth: vector i of row b + r.
            let row = unsafe { *left.add(r * stride + i) };
            for k in 0..COLUMNS {
                sums[r][k] = R::mul_add(simd, row, columns[k], sums[r][k]);
            }
        }
    }
    let is_below_diagonal = c + COLUMNS <= b + 1;
    for r in 0..ROWS {
        for k in 0..COLUMNS {
            if is_below_diagonal || c + k <= b + r {
                // SAFETY: c + k ≤ b + r: the pair is in the triangle.
                unsafe {
                    let out = hessian.add((triangle.row(b + r).start + c + k) * R::LANES);
                    R::subtract_pairs::<S>(sums[r][k], out);
                }
            }
        }
    }
}
