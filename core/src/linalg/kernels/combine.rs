//! Linear combinations of the matrices of a block, and of their entries.
#![allow(unsafe_code)]

use pulp::{Arch, Simd, WithSimd};

use super::moments::dot;
use super::transform::rows_times_source;
use super::{LANES, Real};

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
        add_products::<S, f64>(simd, self.block, lanes, &mut Vec::new(), u, out);
    }
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

/// The rows of a block that are worked on at once.
const TILE: usize = 6;

/// out[g, row, l] += Σ_i block[row, i] u[g, i, l] for all rows of a block and all groups g of LANES
/// columns of u. `rounded` is room for a tile of rows in the precision of the rest.
#[inline(always)]
pub(super) fn add_products<S: Simd, T: Real>(
    simd: S,
    block: &[f64],
    lanes: usize,
    rounded: &mut Vec<T>,
    u: &[T::Vector<S>],
    out: &mut [T::Vector<S>],
) {
    let halves = LANES / T::lanes::<S>();
    let (rows, groups) = (block.len() / lanes, u.len() / (lanes * halves));
    assert_eq!(block.len(), rows * lanes);
    assert_eq!(u.len(), groups * lanes * halves);
    assert_eq!(out.len(), groups * rows * halves);
    rounded.resize(TILE * lanes, T::default());
    // Vector v of all columns, in u and in the given row of out.
    let place = |v: usize, row: usize| {
        let (group, half) = (v / halves, v % halves);
        (
            group * lanes * halves + half,
            (group * rows + row) * halves + half,
        )
    };
    let vectors = groups * halves;
    let mut row = 0;
    while row < rows {
        let tile = match rows - row {
            left @ 1..=TILE => left,
            7 | 8 => 4,
            9 => 5,
            _ => TILE,
        };
        let entries = &block[row * lanes..(row + tile) * lanes];
        for (x, d) in rounded.iter_mut().zip(entries) {
            *x = T::round(*d);
        }
        // Two vectors at a time, so that their sums need not wait for each other.
        for v in (0..vectors).step_by(2) {
            let (u_0, out_0) = place(v, row);
            let (u_1, out_1) = place((v + 1).min(vectors - 1), row);
            macro_rules! outer {
                ($r:literal) => {
                    // SAFETY: the tile has $r rows, which exist in each group of out, and each
                    // group of u has `lanes` times `halves` vectors.
                    unsafe {
                        let (u, out) = (u.as_ptr(), out.as_mut_ptr());
                        let rows = (rounded.as_ptr(), lanes);
                        let u = [u.add(u_0), u.add(u_1)];
                        let out = [out.add(out_0), out.add(out_1)];
                        if v + 1 < vectors {
                            outer::<S, T, $r, 2>(simd, rows, u, out, halves);
                        } else {
                            outer::<S, T, $r, 1>(simd, rows, [u[0]], [out[0]], halves);
                        }
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

/// out[w][r] += Σ_i rows[r, i] u[w][i], an R×W tile kept in registers; neighbours in u[w] and out[w]
/// are `halves` vectors apart.
///
/// # Safety
/// `rows` must have R rows of `lanes` numbers, each of `u` `lanes` vectors and each of `out` R.
#[inline(always)]
unsafe fn outer<S: Simd, T: Real, const R: usize, const W: usize>(
    simd: S,
    (rows, lanes): (*const T, usize),
    u: [*const T::Vector<S>; W],
    out: [*mut T::Vector<S>; W],
    halves: usize,
) {
    let zero = T::splat(simd, T::default());
    let mut sums = [[zero; W]; R];
    for i in 0..lanes {
        let mut columns = [zero; W];
        for w in 0..W {
            columns[w] = unsafe { *u[w].add(i * halves) };
        }
        for r in 0..R {
            let entry = T::splat(simd, unsafe { *rows.add(r * lanes + i) });
            for w in 0..W {
                sums[r][w] = T::mul_add(simd, entry, columns[w], sums[r][w]);
            }
        }
    }
    for r in 0..R {
        for w in 0..W {
            unsafe {
                let out = out[w].add(r * halves);
                *out = T::add(simd, *out, sums[r][w]);
            }
        }
    }
}
