//! Linear combinations of the matrices of a block, and inner products with them.
#![allow(unsafe_code)]

use pulp::{Simd, WithSimd};

use super::lane_sums::dot;
use super::transform::rows_times_source;
use super::{
    LANES, Real, arch, dispatch, vectors, vectors_mut, vectors_per_group, vectors_per_row,
};

/// Adds Σ_i c_i Dⁱ over the block to the packed matrix `out`.
pub fn combine(block: &[f64], coefficients: &[f64], out: &mut [f64]) {
    let lanes = coefficients.len();
    assert_eq!(lanes % LANES, 0);
    assert_eq!(block.len(), out.len() * lanes);
    arch().dispatch(Combine {
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
        let coefficients = vectors::<S>(self.coefficients);
        for (row, out) in self.block.chunks_exact(lanes).zip(self.out) {
            *out += dot::<f64, S>(simd, vectors::<S>(row), coefficients);
        }
    }
}

/// Computes several linear combinations, in groups g of [`LANES`]:
/// out[row, g, l] += Σ_i block[row, i] coefficients[g, i, l].
pub fn combine_many(block: &[f64], lanes: usize, coefficients: &[f64], out: &mut [f64]) {
    assert_eq!(lanes % LANES, 0);
    assert_eq!(coefficients.len() % (lanes * LANES), 0);
    assert_eq!(
        block.len() * (coefficients.len() / lanes),
        out.len() * lanes
    );
    arch().dispatch(CombineMany {
        block,
        lanes,
        coefficients,
        out,
    });
}

struct CombineMany<'a> {
    block: &'a [f64],
    lanes: usize,
    coefficients: &'a [f64],
    out: &'a mut [f64],
}

impl WithSimd for CombineMany<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let u = vectors::<S>(self.coefficients);
        let out = vectors_mut::<S>(self.out);
        let depth = self.lanes;
        add_products(simd, self.block, self.lanes, depth, u, out, false);
    }
}

/// leftᵀ · right of row-major matrices with `columns` columns, a multiple of [`LANES`].
pub fn column_products(left: &[f64], right: &[f64], columns: usize) -> Vec<f64> {
    assert_eq!(columns % LANES, 0);
    assert_eq!(left.len(), right.len());
    assert_eq!(left.len() % columns, 0);
    let mut out = vec![0.0; columns * columns];
    arch().dispatch(ColumnProducts {
        left,
        right,
        columns,
        out: &mut out,
    });
    out
}

struct ColumnProducts<'a> {
    left: &'a [f64],
    right: &'a [f64],
    columns: usize,
    out: &'a mut [f64],
}

impl WithSimd for ColumnProducts<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        const ROWS: usize = 8;
        let columns = self.columns;
        let stride = vectors_per_row::<f64, S>(columns);
        let right = vectors::<S>(self.right);
        let out = vectors_mut::<S>(self.out);
        // A tile of eight columns of `left` and one vector of `right` stays in registers.
        for from in (0..columns).step_by(ROWS) {
            for v in 0..stride {
                let mut sums = [simd.splat_f64s(0.0); ROWS];
                let rows = self.left.chunks_exact(columns);
                for (left, right) in rows.zip(right.chunks_exact(stride)) {
                    let (left, right) = (&left[from..][..ROWS], right[v]);
                    for j in 0..ROWS {
                        sums[j] = simd.mul_add_e_f64s(simd.splat_f64s(left[j]), right, sums[j]);
                    }
                }
                for j in 0..ROWS {
                    out[(from + j) * stride + v] = sums[j];
                }
            }
        }
    }
}

/// Adds the inner product Σ_row entries[row] block[row, i] to `out[i]` for each matrix i of the
/// block.
pub fn correlate(block: &[f64], entries: &[f64], out: &mut [f64]) {
    let lanes = out.len();
    assert_eq!(block.len(), entries.len() * lanes);
    dispatch(
        #[inline(always)]
        || {
            for (row, entry) in block.chunks_exact(lanes).zip(entries) {
                for (sum, x) in out.iter_mut().zip(row) {
                    *sum += entry * x;
                }
            }
        },
    );
}

/// Returns the inner product of each matrix i of the block with each row k of `entries`:
/// out[k, i] = Σ_row entries[k, row] block[row, i].
pub fn correlate_many(block: &[f64], lanes: usize, entries: &[f64], out: &mut [f64]) {
    assert_eq!(lanes % LANES, 0);
    assert_eq!(block.len() * (out.len() / lanes), entries.len() * lanes);
    arch().dispatch(CorrelateMany {
        block,
        lanes,
        entries,
        out,
    });
}

struct CorrelateMany<'a> {
    block: &'a [f64],
    lanes: usize,
    entries: &'a [f64],
    out: &'a mut [f64],
}

impl WithSimd for CorrelateMany<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let stride = vectors_per_row::<f64, S>(self.lanes);
        let block = vectors::<S>(self.block);
        let out = vectors_mut::<S>(self.out);
        let offsets = &mut vec![0; block.len() / stride];
        for at in (0..stride - stride % 2).step_by(2) {
            correlate_slice::<S, 2>(simd, self.entries, block, offsets, out, at);
        }
        if stride % 2 == 1 {
            correlate_slice::<S, 1>(simd, self.entries, block, offsets, out, stride - 1);
        }
    }
}

/// W vectors, from vector `at` on, of all rows of the output of [`correlate_many`].
#[inline(always)]
fn correlate_slice<S: Simd, const W: usize>(
    simd: S,
    entries: &[f64],
    block: &[S::f64s],
    offsets: &mut [usize],
    out: &mut [S::f64s],
    at: usize,
) {
    let (rows, stride) = (entries.len() / offsets.len(), block.len() / offsets.len());
    assert_eq!(entries.len(), rows * offsets.len());
    assert_eq!(block.len(), offsets.len() * stride);
    assert!(at + W <= stride);
    for (row, offset) in offsets.iter_mut().enumerate() {
        *offset = row * stride + at;
    }
    let store = |k: usize, tile: [S::f64s; W]| {
        out[k * stride + at..][..W].copy_from_slice(&tile);
    };
    // SAFETY: each offset is that of vector `at` in a row of `block`; rows have `stride` vectors,
    // and at + W ≤ stride.
    unsafe {
        rows_times_source(simd, entries, offsets.len(), rows, block, offsets, store);
    };
}

/// out[row, g, l] += Σ_i block[row, i] u[g, i, l] for all rows of a block, all groups g of LANES
/// columns of u, and the first `depth` matrices i. The content of `out` is replaced if `overwrite`.
#[inline(always)]
pub(super) fn add_products<R: Real, S: Simd>(
    simd: S,
    block: &[R],
    lanes: usize,
    depth: usize,
    u: &[R::Vector<S>],
    out: &mut [R::Vector<S>],
    overwrite: bool,
) {
    let per_group = vectors_per_group::<R, S>();
    let (rows, groups) = (block.len() / lanes, u.len() / (lanes * per_group));
    assert_eq!(block.len(), rows * lanes);
    assert_eq!(u.len(), groups * lanes * per_group);
    assert_eq!(out.len(), groups * rows * per_group);
    assert!(depth <= lanes);
    let mut row = 0;
    while row < rows {
        let tile_rows = match rows - row {
            remaining @ 1..=6 => remaining,
            // If a group is a single vector, twelve rows give the same number of accumulators.
            12.. if per_group == 1 => 12,
            7 | 8 => 4,
            9 => 5,
            _ => 6,
        };
        for g in 0..groups {
            macro_rules! tile {
                ($r:literal) => {
                    // SAFETY: row + $r ≤ rows, so these rows exist in `block` and in `out`, whose
                    // rows have `groups` groups. Group g of `u` has `lanes` times `per_group`
                    // vectors, and depth ≤ lanes. The lengths of all three are asserted above.
                    unsafe {
                        product_tile::<R, S, $r>(
                            simd,
                            block.as_ptr().add(row * lanes),
                            lanes,
                            depth,
                            u.as_ptr().add(g * lanes * per_group),
                            out.as_mut_ptr().add((row * groups + g) * per_group),
                            groups * per_group,
                            overwrite,
                        )
                    }
                };
            }
            match tile_rows {
                1 => tile!(1),
                2 => tile!(2),
                3 => tile!(3),
                4 => tile!(4),
                5 => tile!(5),
                12 => tile!(12),
                _ => tile!(6),
            }
        }
        row += tile_rows;
    }
}

/// out[r, l] += Σ_i rows[r, i] u[i, l] for ROWS rows, a tile of sums in registers. The content of
/// `out` is replaced if `overwrite`.
///
/// # Safety
/// `rows` must have ROWS rows of `lanes` ≥ `depth` numbers, `u` `depth` groups, and `out` ROWS
/// groups with a stride of `stride` vectors.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
unsafe fn product_tile<R: Real, S: Simd, const ROWS: usize>(
    simd: S,
    rows: *const R,
    lanes: usize,
    depth: usize,
    u: *const R::Vector<S>,
    out: *mut R::Vector<S>,
    stride: usize,
    overwrite: bool,
) {
    let per_group = vectors_per_group::<R, S>();
    // Two vectors at a time, or one if a group is a single vector.
    let mut first = 0;
    while first < per_group {
        let second = (first + 1).min(per_group - 1);
        let mut sums = [[R::splat(simd, R::zeroed()); 2]; ROWS];
        for i in 0..depth {
            // SAFETY: i < depth and first ≤ second < per_group: within the groups of `u`.
            let (left, right) = unsafe {
                (
                    *u.add(i * per_group + first),
                    *u.add(i * per_group + second),
                )
            };
            for r in 0..ROWS {
                // SAFETY: r < ROWS and i < depth: within `rows`.
                let entry = R::splat(simd, unsafe { *rows.add(r * lanes + i) });
                sums[r][0] = R::mul_add(simd, entry, left, sums[r][0]);
                if per_group > 1 {
                    sums[r][1] = R::mul_add(simd, entry, right, sums[r][1]);
                }
            }
        }
        for r in 0..ROWS {
            // SAFETY: r < ROWS, and both places are below `per_group`: within the groups of `out`.
            unsafe {
                let out = out.add(r * stride);
                for (place, sum) in [(first, sums[r][0]), (second, sums[r][1])] {
                    let old = if overwrite {
                        R::splat(simd, R::zeroed())
                    } else {
                        *out.add(place)
                    };
                    *out.add(place) = R::plus(simd, old, sum);
                    if per_group == 1 {
                        break;
                    }
                }
            }
        }
        first += 2;
    }
}
