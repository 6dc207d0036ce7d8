//! The congruence D ↦ M D Mᵀ of every matrix of a block: 3p³ flops each.
#![allow(unsafe_code)]

use pulp::{Arch, Simd, WithSimd};

use super::{LANES, packed, packed_len};
use crate::linalg::Matrix;

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
    assert_eq!(task.input.len(), packed_len(p) * task.lanes);
    assert_eq!(task.square.len(), packed_len(r) * task.lanes);
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
        let vectors = self.task.lanes / S::F64_LANES;
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
        let stride = self.task.lanes / S::F64_LANES;
        let (input, _) = S::as_simd_f64s(self.task.input);
        let (square, _) = S::as_mut_simd_f64s(self.task.square);
        let (half, _) = S::as_mut_simd_f64s(self.scratch);
        let half = &mut half[..r * p * W];
        half_product::<S, W>(simd, m, input, stride, at, half);
        if let Some(cross) = &mut self.task.cross {
            let (cross, _) = S::as_mut_simd_f64s(cross);
            for a in 0..p {
                for b in 0..=a {
                    let out = &mut cross[packed(a, b) * stride + at..][..W];
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
            let out = square[packed(a, 0) * stride + at..].as_mut_ptr();
            rows_times_source::<S, W>(simd, m.as_slice(), a + 1, source, offsets, |b, tile| {
                // SAFETY: b ≤ a, so the W vectors end within row packed(a, b) of `square`.
                for w in 0..W {
                    unsafe { *out.add(b * stride + w) = tile[w] };
                }
            });
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
    assert_eq!(half.len(), r * p * W);
    let mut offsets = Offsets::new(p);
    for c in 0..p {
        let offsets = offsets.fill(|k| packed(k, c) * stride + at);
        let out = half[c * W..].as_mut_ptr();
        rows_times_source::<S, W>(simd, m.as_slice(), r, input, offsets, |a, tile| {
            // SAFETY: a < r, so the W vectors end within `half`.
            for w in 0..W {
                unsafe { *out.add(a * p * W + w) = tile[w] };
            }
        });
    }
}

/// Adds to `sums` the block's share of the Hessian's product with `e`, but for the transposition:
/// Σ_i w_i [ F_ab / D_aa − 2 D_ab F_aa / D_aa² ] with F = E D, 2p³ flops a matrix.
pub fn accumulate_product(
    e: &Matrix,
    block: &[f64],
    weights: &[f64],
    sums: &mut Matrix,
    scratch: &mut Vec<f64>,
) {
    let (p, lanes) = (e.rows(), weights.len());
    assert_eq!(lanes % LANES, 0);
    assert_eq!(block.len(), packed_len(p) * lanes);
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
        let (block, _) = S::as_simd_f64s(self.block);
        let (weights, _) = S::as_simd_f64s(self.weights);
        let (half, _) = S::as_mut_simd_f64s(self.scratch);
        let half = &mut half[..p * p];
        let stride = weights.len();
        for at in 0..stride {
            half_product::<S, 1>(simd, self.e, block, stride, at, half);
            for a in 0..p {
                let power = block[packed(a, a) * stride + at];
                let u = simd.div_f64s(weights[at], power);
                let twice = simd.mul_f64s(simd.splat_f64s(2.0), u);
                let t = simd.mul_f64s(twice, simd.div_f64s(half[a * p + a], power));
                for (b, sum) in self.sums.row_mut(a).iter_mut().enumerate() {
                    let d = block[packed(a, b) * stride + at];
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
#[inline(always)]
pub(super) fn rows_times_source<S: Simd, const W: usize>(
    simd: S,
    coefficients: &[f64],
    rows: usize,
    source: &[S::f64s],
    offsets: &[usize],
    mut store: impl FnMut(usize, [S::f64s; W]),
) {
    let p = offsets.len();
    assert!(coefficients.len() >= rows * p);
    debug_assert!(offsets.iter().all(|o| o + W <= source.len()));
    macro_rules! tile {
        ($row:expr, $rows:literal) => {{
            // SAFETY: rows $row..$row + $rows exist, and every offset leaves room for W vectors.
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
            values[w] = unsafe { *source.add(offset + w) };
        }
        for r in 0..R {
            let coefficient = simd.splat_f64s(unsafe { *coefficients.add(r * p + k) });
            for w in 0..W {
                sums[r][w] = simd.mul_add_e_f64s(coefficient, values[w], sums[r][w]);
            }
        }
    }
    sums
}
