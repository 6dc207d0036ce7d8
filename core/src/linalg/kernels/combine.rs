//! Linear combinations of the matrices of a block, and of their entries.
#![allow(unsafe_code)]

use pulp::{Arch, Simd, WithSimd};

use super::moments::dot;
use super::transform::rows_times_source;
use super::{LANES, dispatch};

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

/// Eight combinations at once: out[row, k] += Σ_i block[row, i] coefficients[i, k].
pub fn combine_eight(block: &[f64], coefficients: &[f64], out: &mut [f64]) {
    let lanes = coefficients.len() / LANES;
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
        let (u, _) = S::as_simd_f64s(self.coefficients);
        let (out, _) = S::as_mut_simd_f64s(self.out);
        add_products(simd, self.block, lanes, u, out, false);
    }
}

/// Adds Σ_row entry_row · D_row to `out`, one number a matrix of the block.
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
        let rows = self.entries.len() / LANES;
        let stride = self.out.len() / LANES / S::F64_LANES;
        let (block, _) = S::as_simd_f64s(self.block);
        let (out, _) = S::as_mut_simd_f64s(self.out);
        let mut offsets: Vec<usize> = (0..rows).map(|row| row * stride).collect();
        let mut at = 0;
        while at < stride {
            if at + 1 < stride {
                let task = (self.entries, block, &offsets[..]);
                correlate_slice::<S, 2>(simd, task, &mut out[at..], stride);
            } else {
                let task = (self.entries, block, &offsets[..]);
                correlate_slice::<S, 1>(simd, task, &mut out[at..], stride);
            }
            offsets.iter_mut().for_each(|offset| *offset += 2);
            at += 2;
        }
    }
}

/// W vectors of matrices of [`correlate_eight`].
#[inline(always)]
fn correlate_slice<S: Simd, const W: usize>(
    simd: S,
    (entries, block, offsets): (&[f64], &[S::f64s], &[usize]),
    out: &mut [S::f64s],
    stride: usize,
) {
    rows_times_source::<S, W>(simd, entries, LANES, block, offsets, |k, tile| {
        out[k * stride..][..W].copy_from_slice(&tile);
    });
}

/// out[g, row, l] += Σ_i block[row, i] u[g, i, l] for all rows of a block and all groups g of LANES
/// columns of u; if that `begins` the sums, whatever was in them.
#[inline(always)]
pub(super) fn add_products<S: Simd>(
    simd: S,
    block: &[f64],
    lanes: usize,
    u: &[S::f64s],
    out: &mut [S::f64s],
    begins: bool,
) {
    let halves = LANES / S::F64_LANES;
    let (rows, groups) = (block.len() / lanes, u.len() / (lanes * halves));
    assert_eq!(block.len(), rows * lanes);
    assert_eq!(u.len(), groups * lanes * halves);
    assert_eq!(out.len(), groups * rows * halves);
    let mut row = 0;
    while row < rows {
        let tile = match rows - row {
            left @ 1..=6 => left,
            7 | 8 => 4,
            9 => 5,
            _ => 6,
        };
        for g in 0..groups {
            macro_rules! outer {
                ($r:literal) => {
                    // SAFETY: rows row..row+$r exist in block and in group g of out, and
                    // group g of u has `lanes` times `halves` vectors.
                    unsafe {
                        outer::<S, $r>(
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
                _ => outer!(6),
            }
        }
        row += tile;
    }
}

/// out[r, l] (+)= Σ_i rows[r, i] u[i, l], an R × LANES tile kept in registers.
///
/// # Safety
/// `rows` must have R rows of `lanes` numbers, `u` `lanes` groups of LANES, `out` R such groups.
#[inline(always)]
unsafe fn outer<S: Simd, const R: usize>(
    simd: S,
    rows: *const f64,
    lanes: usize,
    u: *const S::f64s,
    out: *mut S::f64s,
    begins: bool,
) {
    let halves = LANES / S::F64_LANES;
    // Two vectors at a time, or the one that a group is on the widest machines.
    let mut half = 0;
    while half < halves {
        let second = (half + 1).min(halves - 1);
        let mut sums = [[simd.splat_f64s(0.0); 2]; R];
        for i in 0..lanes {
            let left = unsafe { *u.add(i * halves + half) };
            let right = unsafe { *u.add(i * halves + second) };
            for r in 0..R {
                let entry = simd.splat_f64s(unsafe { *rows.add(r * lanes + i) });
                sums[r][0] = simd.mul_add_e_f64s(entry, left, sums[r][0]);
                if halves > 1 {
                    sums[r][1] = simd.mul_add_e_f64s(entry, right, sums[r][1]);
                }
            }
        }
        for r in 0..R {
            unsafe {
                let out = out.add(r * halves);
                for (place, sum) in [(half, sums[r][0]), (second, sums[r][1])] {
                    let old = if begins {
                        simd.splat_f64s(0.0)
                    } else {
                        *out.add(place)
                    };
                    *out.add(place) = simd.add_f64s(old, sum);
                    if halves == 1 {
                        break;
                    }
                }
            }
        }
        half += 2;
    }
}
