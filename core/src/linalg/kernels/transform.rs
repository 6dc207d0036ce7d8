//! The congruence D ↦ M D Mᴴ of every matrix of a block: 3p³ flops per matrix, 12p³ if complex.
#![allow(unsafe_code)]

use std::cmp::Ordering;

use pulp::{Simd, WithSimd};

use super::coefficients::{LeftFactor, Offsets, right};
use super::{LANES, Real, arch, planes, vectors_per_row, width};
use crate::linalg::{Matrix, Scalar, Scratch, Triangle};

/// Operands and outputs of the congruence of one block.
pub struct Congruence<'a, T = f64, R = f64> {
    /// M, r×p.
    pub transform: &'a Matrix<T>,
    /// The p×p matrices D, packed.
    pub input: &'a [R],
    /// Number of lanes per row.
    pub lanes: usize,
    /// Number of lanes that hold matrices. Vectors without a matrix are neither read nor written.
    pub matrices: usize,
    /// Receives M D Mᴴ, r×r, packed.
    pub square: &'a mut [R],
    /// Receives M D + (M D)ᴴ, packed, if given. M must then be square.
    pub cross: Option<&'a mut [R]>,
}

/// Scratch length of a congruence in units of `f64`, for a slice that is two vectors wide.
pub fn congruence_scratch(r: usize, p: usize, planes: usize) -> usize {
    entries_of_scratch(r, p, planes) * 2 * LANES
}

fn entries_of_scratch(r: usize, p: usize, planes: usize) -> usize {
    if planes == 1 && p >= MIN_PANELED_SIZE {
        panel_len(p) + p * p
    } else {
        planes * r * p
    }
}

/// Computes a congruence.
pub fn congruence<T: Scalar, R: Real>(task: Congruence<'_, T, R>) {
    let (r, p) = (task.transform.rows(), task.transform.columns());
    assert_eq!(task.lanes % R::LANES, 0);
    assert!(task.matrices <= task.lanes);
    assert_eq!(planes(task.input, p, task.lanes), T::PLANES);
    assert_eq!(planes(task.square, r, task.lanes), T::PLANES);
    if let Some(cross) = &task.cross {
        assert_eq!((r, cross.len()), (p, task.square.len()));
    }
    let left = LeftFactor::new(task.transform);
    let scratch_len = entries_of_scratch(r, p, T::PLANES) * 2 * R::LANES;
    let mut scratch = Scratch::of_len(scratch_len);
    run(CongruenceTask {
        left,
        right: &right(task.transform),
        input: task.input,
        lanes: task.lanes,
        matrices: task.matrices,
        square: task.square,
        cross: task.cross,
        scratch: &mut scratch,
    });
}

// Not generic over the scalar, so that real and complex matrices share the compiled kernel.
#[inline(never)]
fn run<R: Real>(task: CongruenceTask<'_, R>) {
    arch().dispatch(task);
}

struct CongruenceTask<'a, R: Real> {
    left: LeftFactor<'a, R>,
    right: &'a [R],
    input: &'a [R],
    lanes: usize,
    matrices: usize,
    square: &'a mut [R],
    cross: Option<&'a mut [R]>,
    scratch: &'a mut [R],
}

impl<R: Real> WithSimd for CongruenceTask<'_, R> {
    type Output = ();

    /// Processes the block in slices that are two vectors wide. A tile of 6×2 accumulators hides
    /// the latency of the multiply-adds within 16 registers, and a slice of D fits into the L1
    /// cache.
    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let vectors = self.matrices.div_ceil(width::<R, S>());
        for at in (0..vectors - vectors % 2).step_by(2) {
            self.slice::<S, 2>(simd, at);
        }
        if vectors % 2 == 1 {
            self.slice::<S, 1>(simd, vectors - 1);
        }
    }
}

/// Real matrices of at least this size are transformed one panel of rows of M D at a time, since
/// all of M D and D would exceed the L2 cache, and M the L1 cache. Every panel reads all of D, so D
/// is first copied to contiguous columns, which enables hardware prefetching.
const MIN_PANELED_SIZE: usize = 48;
/// Rows of a panel, which fit into the caches together with the corresponding rows of M.
const PANEL_ROWS: usize = 24;

/// Size of a panel in numbers per matrix. The row stride is odd, since a power of two would map the
/// entries of a column to few cache sets.
fn panel_len(p: usize) -> usize {
    PANEL_ROWS * (p | 1)
}

impl<R: Real> CongruenceTask<'_, R> {
    #[inline(always)]
    fn slice<S: Simd, const W: usize>(&mut self, simd: S, at: usize) {
        let (planes, r, p) = (self.left.planes(), self.left.rows(), self.left.columns());
        if planes == 1 && p >= MIN_PANELED_SIZE {
            self.unpack_slice::<S, W>(at);
            for from in (0..r).step_by(PANEL_ROWS) {
                self.panel::<S, W>(simd, at, from);
            }
            return;
        }
        let stride = vectors_per_row::<R, S>(self.lanes);
        let triangle = Triangle::new(r);
        let plane = triangle.len() * stride;
        let input = R::vectors::<S>(self.input);
        let square = R::vectors_mut::<S>(self.square);
        let half = &mut R::vectors_mut::<S>(self.scratch)[..self.left.half_len(W)];
        assert!(at + W <= stride);
        assert_eq!(square.len(), planes * plane);
        half_product::<S, R, W>(simd, &self.left, input, stride, at, half);
        if let Some(cross) = &mut self.cross {
            let cross = R::vectors_mut::<S>(cross);
            let (half, _) = half.as_chunks::<W>();
            for a in 0..p {
                for b in 0..=a {
                    let out = &mut cross[triangle.index(a, b) * stride + at..];
                    let (left, right) = (planes * a * p + b, planes * b * p + a);
                    let (x, y) = (half[left], half[right]);
                    for w in 0..W {
                        out[w] = R::plus(simd, x[w], y[w]);
                    }
                    if planes == 2 {
                        let (x, y) = (half[left + p], half[right + p]);
                        for w in 0..W {
                            out[plane + w] = R::minus(simd, x[w], y[w]);
                        }
                    }
                }
            }
        }
        // (M D Mᴴ)_ab = Σ_c half[a, c] conj(M_bc), for b ≤ a only.
        let inner = planes * p;
        let mut offsets = Offsets::new(inner);
        let offsets = offsets.fill(|c| c * W);
        for a in 0..r {
            let source = &half[a * inner * W..(a + 1) * inner * W];
            let row = triangle.row(a).start * stride + at;
            for part in 0..planes {
                let out = square[part * plane + row..].as_mut_ptr();
                let store = |b: usize, tile: [R::Vector<S>; W]| {
                    for w in 0..W {
                        // SAFETY: b ≤ a < r and at + W ≤ stride, so these are vectors `at + w` of
                        // row (a, b) of a plane of `square`, which has `stride` vectors per row.
                        unsafe { *out.add(b * stride + w) = tile[w] };
                    }
                };
                let coefficients = &self.right[part * r * inner..];
                // The diagonal has no imaginary part.
                let rows = a + 1 - part;
                // SAFETY: `source` has `inner` times W vectors, and the offsets are c·W for c <
                // `inner`.
                unsafe {
                    rows_times_source(simd, coefficients, inner, rows, source, offsets, store);
                }
            }
            if planes == 2 {
                let diagonal = plane + triangle.diagonal(a) * stride + at;
                square[diagonal..][..W].fill(R::splat(simd, R::zeroed()));
            }
        }
    }
}

impl<R: Real> CongruenceTask<'_, R> {
    /// Copies D to full storage, W vectors per entry, in the scratch memory behind the panel.
    #[inline(always)]
    fn unpack_slice<S: Simd, const W: usize>(&mut self, at: usize) {
        let p = self.left.columns();
        let stride = vectors_per_row::<R, S>(self.lanes);
        let triangle = Triangle::new(p);
        let input = R::vectors::<S>(self.input);
        assert!(at + W <= stride);
        let unpacked = &mut R::vectors_mut::<S>(self.scratch)[panel_len(p) * W..][..p * p * W];
        // In square tiles, so that the rows and columns that are written stay in the caches.
        let tiles = (0..p).step_by(LANES);
        for (from, columns) in tiles.flat_map(|a| (0..=a).step_by(LANES).map(move |b| (a, b))) {
            for a in from..p.min(from + LANES) {
                let row = triangle.row(a).start;
                for b in columns..=a.min(columns + LANES - 1) {
                    let entry = &input[(row + b) * stride + at..][..W];
                    unpacked[(a * p + b) * W..][..W].copy_from_slice(entry);
                    unpacked[(b * p + a) * W..][..W].copy_from_slice(entry);
                }
            }
        }
    }

    /// Computes rows `from..from + PANEL_ROWS` of M D and their contributions to the outputs, for W
    /// vectors of real matrices.
    #[inline(always)]
    fn panel<S: Simd, const W: usize>(&mut self, simd: S, at: usize, from: usize) {
        let (r, p) = (self.left.rows(), self.left.columns());
        let (rows, row_stride) = (PANEL_ROWS.min(r - from), p | 1);
        let stride = vectors_per_row::<R, S>(self.lanes);
        let triangle = Triangle::new(r);
        let (half, unpacked) = R::vectors_mut::<S>(self.scratch).split_at_mut(panel_len(p) * W);
        let half = &mut half[..rows * row_stride * W];
        assert!(at + W <= stride);
        let mut offsets = Offsets::new(p);
        let offsets = offsets.fill(|k| k * W);
        for c in 0..p {
            let column = &unpacked[c * p * W..][..p * W];
            let (coefficients, spacing) = self.left.for_column(c);
            let out = half[c * W..].as_mut_ptr();
            let store = |a: usize, tile: [R::Vector<S>; W]| {
                for w in 0..W {
                    // SAFETY: a < rows and c < p ≤ row_stride: the W vectors end within those of
                    // `half`.
                    unsafe { *out.add(a * row_stride * W + w) = tile[w] };
                }
            };
            let coefficients = &coefficients[from * spacing..];
            // SAFETY: `column` has p times W vectors, and the offsets are k·W for k < p.
            unsafe { rows_times_source(simd, coefficients, spacing, rows, column, offsets, store) };
        }
        if let Some(cross) = &mut self.cross {
            // Entry (a, c) of the output is (M D)_ac + (M D)_ca. The term of the smaller row is
            // computed first.
            let cross = R::vectors_mut::<S>(cross);
            let (half, _) = half.as_chunks::<W>();
            for a in from..from + rows {
                let row = &half[(a - from) * row_stride..][..p];
                for (c, x) in row.iter().enumerate() {
                    let out = &mut cross[triangle.index(a, c) * stride + at..][..W];
                    for w in 0..W {
                        out[w] = match c.cmp(&a) {
                            Ordering::Less => R::plus(simd, x[w], out[w]),
                            Ordering::Equal => R::plus(simd, x[w], x[w]),
                            Ordering::Greater => x[w],
                        };
                    }
                }
            }
        }
        let square = R::vectors_mut::<S>(self.square);
        assert_eq!(square.len(), triangle.len() * stride);
        for columns in (0..from + rows).step_by(PANEL_ROWS) {
            for a in columns.max(from)..from + rows {
                let source = &half[(a - from) * row_stride * W..][..p * W];
                let place = (triangle.row(a).start + columns) * stride + at;
                let out = square[place..].as_mut_ptr();
                let store = |b: usize, tile: [R::Vector<S>; W]| {
                    for w in 0..W {
                        // SAFETY: `columns` + b ≤ a < r and at + W ≤ stride, so these are vectors
                        // `at + w` of that row of `square`, which has `stride` vectors per row.
                        unsafe { *out.add(b * stride + w) = tile[w] };
                    }
                };
                let coefficients = &self.right[columns * p..];
                let count = PANEL_ROWS.min(a + 1 - columns);
                // SAFETY: `source` has p times W vectors, and the offsets are c·W for c < p.
                unsafe { rows_times_source(simd, coefficients, p, count, source, offsets, store) };
            }
        }
    }
}

/// half[a, c] = Σ_k M_ak D_kc for W vectors of matrices. For complex matrices, row a consists of
/// the p real parts followed by the p imaginary parts.
#[inline(always)]
pub(super) fn half_product<S: Simd, R: Real, const W: usize>(
    simd: S,
    left: &LeftFactor<'_, R>,
    input: &[R::Vector<S>],
    stride: usize,
    at: usize,
    half: &mut [R::Vector<S>],
) {
    let (planes, p) = (left.planes(), left.columns());
    let rows = planes * left.rows();
    assert_eq!(half.len(), rows * p * W);
    assert_eq!(input.len(), planes * Triangle::new(p).len() * stride);
    assert!(at + W <= stride);
    let mut offsets = Offsets::new(planes * p);
    for c in 0..p {
        let offsets = left.fill_offsets(&mut offsets, c, stride, at);
        let (coefficients, spacing) = left.for_column(c);
        let out = half[c * W..].as_mut_ptr();
        let store = |a: usize, tile: [R::Vector<S>; W]| {
            for w in 0..W {
                // SAFETY: a < rows and c < p, so the W vectors end within the rows·p·W of `half`.
                unsafe { *out.add(a * p * W + w) = tile[w] };
            }
        };
        // SAFETY: c and k < p, so each offset is that of vector `at` in one of the rows of `input`,
        // which have `stride` vectors, and at + W ≤ stride.
        unsafe { rows_times_source(simd, coefficients, spacing, rows, input, offsets, store) };
    }
}

/// Computes Σ_k coefficients[row, k] · source[offsets[k]..][..W] for each of the first `rows` rows
/// of `coefficients`, which have a stride of `spacing`, and passes the results to `store`.
///
/// # Safety
/// For each offset, `offset + W` must be at most the length of `source`.
#[inline(always)]
pub(super) unsafe fn rows_times_source<S: Simd, R: Real, const W: usize>(
    simd: S,
    coefficients: &[R],
    spacing: usize,
    rows: usize,
    source: &[R::Vector<S>],
    offsets: &[usize],
    mut store: impl FnMut(usize, [R::Vector<S>; W]),
) {
    assert!(rows == 0 || coefficients.len() >= (rows - 1) * spacing + offsets.len());
    debug_assert!(offsets.iter().all(|offset| offset + W <= source.len()));
    macro_rules! tile {
        ($row:expr, $rows:literal) => {{
            // SAFETY: $row + $rows ≤ rows, and `coefficients` has `rows` rows with a number for
            // each offset; the caller guarantees W vectors at every offset.
            let tile = unsafe {
                tile::<S, R, $rows, W>(
                    simd,
                    coefficients.as_ptr().add($row * spacing),
                    spacing,
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
        // Tiles of six rows. The remainder is split such that no tile has fewer than three rows if
        // possible: fewer accumulators would not hide the latency of the multiply-adds.
        match rows - row {
            // With one vector per row, twelve rows give the same number of accumulators.
            12.. if W == 1 => tile!(row, 12),
            1 => tile!(row, 1),
            2 => tile!(row, 2),
            3 => tile!(row, 3),
            4 | 7 | 8 => tile!(row, 4),
            5 | 9 => tile!(row, 5),
            _ => tile!(row, 6),
        }
    }
}

/// Computes a tile of ROWS×W vectors in registers.
///
/// # Safety
/// `coefficients` must have ROWS rows of `offsets.len()` numbers, `spacing` apart, and `source` W
/// vectors at each offset.
#[inline(always)]
unsafe fn tile<S: Simd, R: Real, const ROWS: usize, const W: usize>(
    simd: S,
    coefficients: *const R,
    spacing: usize,
    source: *const R::Vector<S>,
    offsets: &[usize],
) -> [[R::Vector<S>; W]; ROWS] {
    let mut sums = [[R::splat(simd, R::zeroed()); W]; ROWS];
    for (k, &offset) in offsets.iter().enumerate() {
        let mut values = [R::splat(simd, R::zeroed()); W];
        for w in 0..W {
            // SAFETY: the caller guarantees W vectors at each offset.
            values[w] = unsafe { *source.add(offset + w) };
        }
        for r in 0..ROWS {
            // SAFETY: r < ROWS, and the caller guarantees ROWS rows with a number for each offset.
            let coefficient = R::splat(simd, unsafe { *coefficients.add(r * spacing + k) });
            for w in 0..W {
                sums[r][w] = R::mul_add(simd, coefficient, values[w], sums[r][w]);
            }
        }
    }
    sums
}
