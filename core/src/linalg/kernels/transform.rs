//! The congruence D ↦ M D Mᵀ of every matrix of a block: 3p³ flops each.
#![allow(unsafe_code)]

use pulp::{Arch, Simd, WithSimd};

use super::{LANES, vectors, vectors_mut, vectors_per_row};
use crate::linalg::{Matrix, Triangle};

/// A congruence of one block, and where its results go.
pub struct Congruence<'a> {
    /// M, r×p.
    pub transform: &'a Matrix,
    /// The matrices D, p×p, packed.
    pub input: &'a [f64],
    /// The number of matrices.
    pub lanes: usize,
    /// Receives M D Mᵀ, r×r, packed.
    pub square: &'a mut [f64],
    /// Receives M D + (M D)ᵀ, packed, if wanted (M square).
    pub cross: Option<&'a mut [f64]>,
}

/// Computes a congruence. `scratch` grows as needed and is worth keeping between calls.
pub fn congruence(task: Congruence<'_>, scratch: &mut Vec<f64>) {
    let (r, p) = (task.transform.rows(), task.transform.columns());
    assert_eq!(task.lanes % LANES, 0);
    assert_eq!(task.input.len(), Triangle::new(p).len() * task.lanes);
    assert_eq!(task.square.len(), Triangle::new(r).len() * task.lanes);
    if let Some(cross) = &task.cross {
        assert_eq!((r, cross.len()), (p, task.square.len()));
    }
    // The widest slice of the block worked on at once: two of the widest vectors.
    scratch.resize(r * p * 2 * LANES, 0.0);
    Arch::new().dispatch(Sliced { task, scratch });
}

struct Sliced<'a, 'b> {
    task: Congruence<'a>,
    scratch: &'b mut [f64],
}

impl WithSimd for Sliced<'_, '_> {
    type Output = ();

    /// Cuts the block into slices two vectors wide: a tile of 6×2 accumulators hides the latency
    /// of the multiply-adds within 16 registers, and a slice of D stays in the nearest cache.
    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let vectors = vectors_per_row::<S>(self.task.lanes);
        for at in (0..vectors - vectors % 2).step_by(2) {
            self.slice::<S, 2>(simd, at);
        }
        if vectors % 2 == 1 {
            self.slice::<S, 1>(simd, vectors - 1);
        }
    }
}

impl Sliced<'_, '_> {
    #[inline(always)]
    fn slice<S: Simd, const W: usize>(&mut self, simd: S, at: usize) {
        let m = self.task.transform;
        let (r, p) = (m.rows(), m.columns());
        let stride = vectors_per_row::<S>(self.task.lanes);
        let triangle = Triangle::new(r);
        let input = vectors::<S>(self.task.input);
        let square = vectors_mut::<S>(self.task.square);
        let half = &mut vectors_mut::<S>(self.scratch)[..r * p * W];
        assert!(at + W <= stride);
        assert_eq!(square.len(), triangle.len() * stride);
        half_product::<S, W>(simd, m, input, stride, at, half);
        if let Some(cross) = &mut self.task.cross {
            let cross = vectors_mut::<S>(cross);
            for a in 0..p {
                for b in 0..=a {
                    let out = &mut cross[triangle.index(a, b) * stride + at..][..W];
                    for w in 0..W {
                        out[w] =
                            simd.add_f64s(half[(a * p + b) * W + w], half[(b * p + a) * W + w]);
                    }
                }
            }
        }
        // (M D Mᵀ)_ab = Σ_c M_bc half[a, c], for b ≤ a only.
        let mut offsets = Offsets::new(p);
        let offsets = offsets.fill(|c| c * W);
        for a in 0..r {
            let source = &half[a * p * W..(a + 1) * p * W];
            let out = square[triangle.index(a, 0) * stride + at..].as_mut_ptr();
            let store = |b: usize, tile: [S::f64s; W]| {
                for w in 0..W {
                    // SAFETY: b ≤ a < r and at + W ≤ stride, so these are vectors `at + w` of row
                    // (a, b) of `square`, which has `stride` vectors per row.
                    unsafe { *out.add(b * stride + w) = tile[w] };
                }
            };
            // SAFETY: `source` has p times W vectors, and the offsets are c·W for c < p.
            unsafe { rows_times_source(simd, m.as_slice(), a + 1, source, offsets, store) };
        }
    }
}

/// half[a, c] = Σ_k M_ak D_kc for W vectors of matrices.
#[inline(always)]
pub(super) fn half_product<S: Simd, const W: usize>(
    simd: S,
    m: &Matrix,
    input: &[S::f64s],
    stride: usize,
    at: usize,
    half: &mut [S::f64s],
) {
    let (r, p) = (m.rows(), m.columns());
    let triangle = Triangle::new(p);
    assert_eq!(half.len(), r * p * W);
    assert_eq!(input.len(), triangle.len() * stride);
    assert!(at + W <= stride);
    let mut offsets = Offsets::new(p);
    for c in 0..p {
        let offsets = offsets.fill(|k| triangle.index(k, c) * stride + at);
        let out = half[c * W..].as_mut_ptr();
        let store = |a: usize, tile: [S::f64s; W]| {
            for w in 0..W {
                // SAFETY: a < r and c < p, so the W vectors end within the r·p·W of `half`.
                unsafe { *out.add(a * p * W + w) = tile[w] };
            }
        };
        // SAFETY: c and k < p, so each offset is that of vector `at` in one of the rows of `input`,
        // which have `stride` vectors, and at + W ≤ stride.
        unsafe { rows_times_source(simd, m.as_slice(), r, input, offsets, store) };
    }
}

/// Adds to `sums` the block's share of the Hessian's product with `e`, but for the transposition:
/// Σ_i w_i [ F_ab / D_aa − 2 D_ab F_aa / D_aa² ] with F = E D, 2p³ flops per matrix.
pub fn accumulate_product(
    e: &Matrix,
    block: &[f64],
    weights: &[f64],
    sums: &mut Matrix,
    scratch: &mut Vec<f64>,
) {
    let (p, lanes) = (e.rows(), weights.len());
    assert_eq!(lanes % LANES, 0);
    assert_eq!(block.len(), Triangle::new(p).len() * lanes);
    assert_eq!(e.columns(), p);
    assert_eq!((sums.rows(), sums.columns()), (p, p));
    scratch.resize(p * p * 2 * LANES, 0.0);
    Arch::new().dispatch(Product {
        e,
        block,
        weights,
        sums,
        scratch,
    });
}

struct Product<'a> {
    e: &'a Matrix,
    block: &'a [f64],
    weights: &'a [f64],
    sums: &'a mut Matrix,
    scratch: &'a mut [f64],
}

impl WithSimd for Product<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let p = self.e.rows();
        let triangle = Triangle::new(p);
        let block = vectors::<S>(self.block);
        let weights = vectors::<S>(self.weights);
        let half = &mut vectors_mut::<S>(self.scratch)[..p * p];
        let stride = weights.len();
        for at in 0..stride {
            half_product::<S, 1>(simd, self.e, block, stride, at, half);
            for a in 0..p {
                let power = block[triangle.diagonal(a) * stride + at];
                let u = simd.div_f64s(weights[at], power);
                let twice = simd.mul_f64s(simd.splat_f64s(2.0), u);
                let t = simd.mul_f64s(twice, simd.div_f64s(half[a * p + a], power));
                for (b, sum) in self.sums.row_mut(a).iter_mut().enumerate() {
                    let d = block[triangle.index(a, b) * stride + at];
                    let term = simd.mul_f64s(half[a * p + b], u);
                    *sum += simd.reduce_sum_f64s(simd.negate_mul_add_e_f64s(d, t, term));
                }
            }
        }
    }
}

/// Where the p vectors of a combination start; on the stack unless p is large.
struct Offsets {
    p: usize,
    short: [usize; 128],
    long: Vec<usize>,
}

impl Offsets {
    #[inline(always)]
    fn new(p: usize) -> Self {
        Self {
            p,
            short: [0; 128],
            long: vec![0; if p > 128 { p } else { 0 }],
        }
    }

    #[inline(always)]
    fn fill(&mut self, offset: impl Fn(usize) -> usize) -> &[usize] {
        let offsets = if self.p > self.short.len() {
            &mut self.long[..]
        } else {
            &mut self.short[..self.p]
        };
        for (k, slot) in offsets.iter_mut().enumerate() {
            *slot = offset(k);
        }
        offsets
    }
}

/// For each of the first `rows` rows of the row-major `coefficients`, the combination
/// Σ_k coefficients[row, k] · source[offsets[k]..][..W], handed to `store`.
///
/// # Safety
/// Each offset must leave room for W vectors in `source`. It takes a loop to check what callers know
/// from the way they made the offsets.
#[inline(always)]
pub(super) unsafe fn rows_times_source<S: Simd, const W: usize>(
    simd: S,
    coefficients: &[f64],
    rows: usize,
    source: &[S::f64s],
    offsets: &[usize],
    mut store: impl FnMut(usize, [S::f64s; W]),
) {
    let p = offsets.len();
    assert!(coefficients.len() >= rows * p);
    debug_assert!(offsets.iter().all(|offset| offset + W <= source.len()));
    macro_rules! tile {
        ($row:expr, $rows:literal) => {{
            // SAFETY: $row + $rows ≤ rows, and `coefficients` has so many rows of p numbers; the
            // caller promises that every offset leaves room for W vectors.
            let tile = unsafe {
                tile::<S, $rows, W>(
                    simd,
                    coefficients.as_ptr().add($row * p),
                    source.as_ptr(),
                    offsets,
                )
            };
            for r in 0..$rows {
                store($row + r, tile[r]);
            }
            $row += $rows;
        }};
    }
    let mut row = 0;
    while row < rows {
        // Tiles of six rows, but never a last one of fewer than three, whose few accumulators
        // would wait for each other.
        match rows - row {
            1 => tile!(row, 1),
            2 => tile!(row, 2),
            3 => tile!(row, 3),
            4 | 7 | 8 => tile!(row, 4),
            5 | 9 => tile!(row, 5),
            _ => tile!(row, 6),
        }
    }
}

/// An R×W tile of vectors in registers.
///
/// # Safety
/// `coefficients` must have R rows of `offsets.len()` numbers, `source` W vectors at each offset.
#[inline(always)]
unsafe fn tile<S: Simd, const R: usize, const W: usize>(
    simd: S,
    coefficients: *const f64,
    source: *const S::f64s,
    offsets: &[usize],
) -> [[S::f64s; W]; R] {
    let p = offsets.len();
    let mut sums = [[simd.splat_f64s(0.0); W]; R];
    for (k, &offset) in offsets.iter().enumerate() {
        let mut values = [simd.splat_f64s(0.0); W];
        for w in 0..W {
            // SAFETY: the caller promises W vectors at each offset.
            values[w] = unsafe { *source.add(offset + w) };
        }
        for r in 0..R {
            // SAFETY: r < R and k < p, and the caller promises R rows of p numbers.
            let coefficient = simd.splat_f64s(unsafe { *coefficients.add(r * p + k) });
            for w in 0..W {
                sums[r][w] = simd.mul_add_e_f64s(coefficient, values[w], sums[r][w]);
            }
        }
    }
    sums
}
