//! Linear combinations of the matrices of a block, and of their entries.
#![allow(unsafe_code)]

use pulp::{Arch, Simd, WithSimd};

use super::moments::dot;
use super::transform::rows_times_source;
use super::{LANES, Real, dispatch, vectors, vectors_mut, vectors_per_group, vectors_per_row};

/// Adds Σ_i c_i Dⁱ over the block to the packed rows `out` (one number per entry).
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
        let coefficients = vectors::<S>(self.coefficients);
        for (row, out) in self.block.chunks_exact(lanes).zip(self.out) {
            *out += f64::sum(simd, dot::<f64, S>(simd, vectors::<S>(row), coefficients));
        }
    }
}

/// Eight combinations at once: out[row, k] += Σ_i block[row, i] coefficients[i, k].
pub fn combine_eight(block: &[f64], coefficients: &[f64], out: &mut [f64]) {
    let lanes = coefficients.len() / LANES;
    assert_eq!(coefficients.len(), lanes * LANES);
    assert_eq!(lanes % LANES, 0);
    assert_eq!(block.len() * LANES, out.len() * lanes);
    Arch::new().dispatch(CombineEight {
        block,
        coefficients,
        out,
    });
}

struct CombineEight<'a> {
    block: &'a [f64],
    coefficients: &'a [f64],
    out: &'a mut [f64],
}

impl WithSimd for CombineEight<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let lanes = self.coefficients.len() / LANES;
        let u = vectors::<S>(self.coefficients);
        let out = vectors_mut::<S>(self.out);
        add_products(simd, self.block, lanes, u, out, false);
    }
}

/// Adds Σ_row entry_row · D_row to `out`, one number per matrix of the block.
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

/// For each matrix i of the block and each of eight rows of weights for the packed entries,
/// out[k, i] = Σ_row entries[k, row] block[row, i].
pub fn correlate_eight(block: &[f64], entries: &[f64], out: &mut [f64]) {
    let (lanes, rows) = (out.len() / LANES, entries.len() / LANES);
    assert_eq!(lanes % LANES, 0);
    assert_eq!(block.len(), rows * lanes);
    Arch::new().dispatch(CorrelateEight {
        block,
        entries,
        out,
    });
}

struct CorrelateEight<'a> {
    block: &'a [f64],
    entries: &'a [f64],
    out: &'a mut [f64],
}

impl WithSimd for CorrelateEight<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let stride = vectors_per_row::<f64, S>(self.out.len() / LANES);
        let block = vectors::<S>(self.block);
        let out = vectors_mut::<S>(self.out);
        let offsets = &mut vec![0; self.entries.len() / LANES];
        for at in (0..stride - stride % 2).step_by(2) {
            correlate_slice::<S, 2>(simd, self.entries, block, offsets, out, at);
        }
        if stride % 2 == 1 {
            correlate_slice::<S, 1>(simd, self.entries, block, offsets, out, stride - 1);
        }
    }
}

/// The W vectors from `at` on of each of the eight rows of [`correlate_eight`].
#[inline(always)]
fn correlate_slice<S: Simd, const W: usize>(
    simd: S,
    entries: &[f64],
    block: &[S::f64s],
    offsets: &mut [usize],
    out: &mut [S::f64s],
    at: usize,
) {
    let stride = out.len() / LANES;
    assert_eq!(block.len(), offsets.len() * stride);
    assert!(at + W <= stride);
    for (row, offset) in offsets.iter_mut().enumerate() {
        *offset = row * stride + at;
    }
    let store = |k: usize, tile: [S::f64s; W]| {
        out[k * stride + at..][..W].copy_from_slice(&tile);
    };
    // SAFETY: each offset is that of vector `at` in one of the rows of `block`, which have `stride`
    // vectors, and at + W ≤ stride.
    unsafe {
        rows_times_source(simd, entries, offsets.len(), LANES, block, offsets, store);
    };
}

/// out[g, row, l] += Σ_i block[row, i] u[g, i, l] for all rows of a block and all groups g of LANES
/// columns of u; if that `begins` the sums, whatever was in them.
#[inline(always)]
pub(super) fn add_products<R: Real, S: Simd>(
    simd: S,
    block: &[R],
    lanes: usize,
    u: &[R::Vector<S>],
    out: &mut [R::Vector<S>],
    begins: bool,
) {
    let halves = vectors_per_group::<R, S>();
    let (rows, groups) = (block.len() / lanes, u.len() / (lanes * halves));
    assert_eq!(block.len(), rows * lanes);
    assert_eq!(u.len(), groups * lanes * halves);
    assert_eq!(out.len(), groups * rows * halves);
    let mut row = 0;
    while row < rows {
        let tile = match rows - row {
            left @ 1..=6 => left,
            // Where a group is one vector, more rows make up for the second.
            12.. if halves == 1 => 12,
            7 | 8 => 4,
            9 => 5,
            _ => 6,
        };
        for g in 0..groups {
            macro_rules! outer {
                ($r:literal) => {
                    // SAFETY: row + $r ≤ rows, so these rows exist in `block` and in group g of
                    // `out`; group g of `u` has `lanes` times `halves` vectors. The lengths of all
                    // three are asserted above.
                    unsafe {
                        outer::<R, S, $r>(
                            simd,
                            block.as_ptr().add(row * lanes),
                            lanes,
                            u.as_ptr().add(g * lanes * halves),
                            out.as_mut_ptr().add((g * rows + row) * halves),
                            begins,
                        )
                    }
                };
            }
            match tile {
                1 => outer!(1),
                2 => outer!(2),
                3 => outer!(3),
                4 => outer!(4),
                5 => outer!(5),
                12 => outer!(12),
                _ => outer!(6),
            }
        }
        row += tile;
    }
}

/// out[r, l] (+)= Σ_i rows[r, i] u[i, l], a tile of ROWS groups kept in registers.
///
/// # Safety
/// `rows` must have ROWS rows of `lanes` numbers, `u` `lanes` groups, `out` ROWS groups.
#[inline(always)]
unsafe fn outer<R: Real, S: Simd, const ROWS: usize>(
    simd: S,
    rows: *const R,
    lanes: usize,
    u: *const R::Vector<S>,
    out: *mut R::Vector<S>,
    begins: bool,
) {
    let halves = vectors_per_group::<R, S>();
    // Two vectors at a time, or the one that a group is on the widest machines.
    let mut half = 0;
    while half < halves {
        let second = (half + 1).min(halves - 1);
        let mut sums = [[R::splat(simd, R::zeroed()); 2]; ROWS];
        for i in 0..lanes {
            // SAFETY: i < lanes and half ≤ second < halves: within the promised groups of `u`.
            let (left, right) = unsafe { (*u.add(i * halves + half), *u.add(i * halves + second)) };
            for r in 0..ROWS {
                // SAFETY: r < ROWS and i < lanes: within the promised rows.
                let entry = R::splat(simd, unsafe { *rows.add(r * lanes + i) });
                sums[r][0] = R::mul_add(simd, entry, left, sums[r][0]);
                if halves > 1 {
                    sums[r][1] = R::mul_add(simd, entry, right, sums[r][1]);
                }
            }
        }
        for r in 0..ROWS {
            // SAFETY: r < ROWS, and both places are below `halves`: within the promised groups of `out`.
            unsafe {
                let out = out.add(r * halves);
                for (place, sum) in [(half, sums[r][0]), (second, sums[r][1])] {
                    let old = if begins {
                        R::splat(simd, R::zeroed())
                    } else {
                        *out.add(place)
                    };
                    *out.add(place) = R::plus(simd, old, sum);
                    if halves == 1 {
                        break;
                    }
                }
            }
        }
        half += 2;
    }
}
