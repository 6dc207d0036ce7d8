//! The congruence D ↦ M D Mᴴ of every matrix of a block: 3p³ flops each, 12p³ if they are complex.
#![allow(unsafe_code)]

use std::cmp::Ordering;

use pulp::{Simd, WithSimd};

use super::coefficients::{Left, Offsets, right};
use super::{LANES, Real, arch, planes, vectors_per_row, width};
use crate::linalg::{Matrix, Scalar, Scratch, Triangle};

/// A congruence of one block, and where its results go.
pub struct Congruence<'a, T = f64, R = f64> {
    /// M, r×p.
    pub transform: &'a Matrix<T>,
    /// The matrices D, p×p, packed.
    pub input: &'a [R],
    /// Number of lanes of a row.
    pub lanes: usize,
    /// Number of lanes that hold matrices; vectors without a matrix are neither read nor written.
    pub matrices: usize,
    /// Receives M D Mᴴ, r×r, packed.
    pub square: &'a mut [R],
    /// Receives M D + (M D)ᴴ, packed, if wanted (M square).
    pub cross: Option<&'a mut [R]>,
}

/// Scratch of a congruence, in doubles (or pairs of singles): that of a slice two vectors wide.
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
    let left = Left::new(task.transform);
    let scratch_len = entries_of_scratch(r, p, T::PLANES) * 2 * R::LANES;
    let mut scratch = Scratch::of_len(scratch_len);
    run(Sliced {
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

/// Not generic over the scalar, so that real and complex matrices share the compiled kernel.
#[inline(never)]
fn run<R: Real>(task: Sliced<'_, R>) {
    arch().dispatch(task);
}

struct Sliced<'a, R: Real> {
    left: Left<'a, R>,
    right: &'a [R],
    input: &'a [R],
    lanes: usize,
    matrices: usize,
    square: &'a mut [R],
    cross: Option<&'a mut [R]>,
    scratch: &'a mut [R],
}

impl<R: Real> WithSimd for Sliced<'_, R> {
    type Output = ();

    /// Cuts the block into slices two vectors wide: a tile of 6×2 accumulators hides the latency
    /// of the multiply-adds within 16 registers, and a slice of D stays in the nearest cache.
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

/// Real matrices of at least this size are transformed one panel of rows of M D at a time: all of
/// M D and D would exceed the second level cache, and M the first. Every panel reads all of D, so
/// D is first copied to contiguous columns, which hardware prefetching recognizes.
const MIN_PANELED_SIZE: usize = 48;
/// Rows of a panel, few enough to stay in the caches with those of M.
const PANEL_ROWS: usize = 24;

/// Numbers of a panel per matrix. The stride of its rows is odd: strides of a power of two would
/// map the entries of a column to few cache sets.
fn panel_len(p: usize) -> usize {
    PANEL_ROWS * (p | 1)
}

impl<R: Real> Sliced<'_, R> {
    #[inline(always)]
    fn slice<S: Simd, const W: usize>(&mut self, simd: S, at: usize) {
        let (planes, r, p) = (self.left.planes(), self.left.rows(), self.left.columns());
        if planes == 1 && p >= MIN_PANELED_SIZE {
            self.lay_out::<S, W>(at);
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

impl<R: Real> Sliced<'_, R> {
    /// Copies all columns of D, W vectors per entry, to the scratch behind the panel.
    #[inline(always)]
    fn lay_out<S: Simd, const W: usize>(&mut self, at: usize) {
        let p = self.left.columns();
        let stride = vectors_per_row::<R, S>(self.lanes);
        let triangle = Triangle::new(p);
        let input = R::vectors::<S>(self.input);
        assert!(at + W <= stride);
        let whole = &mut R::vectors_mut::<S>(self.scratch)[panel_len(p) * W..][..p * p * W];
        // In square tiles, so that the rows and columns written to stay in the caches.
        let squares = (0..p).step_by(LANES);
        for (from, columns) in squares.flat_map(|a| (0..=a).step_by(LANES).map(move |b| (a, b))) {
            for a in from..p.min(from + LANES) {
                let row = triangle.row(a).start;
                for b in columns..=a.min(columns + LANES - 1) {
                    let entry = &input[(row + b) * stride + at..][..W];
                    whole[(a * p + b) * W..][..W].copy_from_slice(entry);
                    whole[(b * p + a) * W..][..W].copy_from_slice(entry);
                }
            }
        }
    }

    /// The contribution of rows `from..from + PANEL_ROWS` of M D, for W vectors of real matrices.
    #[inline(always)]
    fn panel<S: Simd, const W: usize>(&mut self, simd: S, at: usize, from: usize) {
        let (r, p) = (self.left.rows(), self.left.columns());
        let (rows, pitch) = (PANEL_ROWS.min(r - from), p | 1);
        let stride = vectors_per_row::<R, S>(self.lanes);
        let triangle = Triangle::new(r);
        let (half, whole) = R::vectors_mut::<S>(self.scratch).split_at_mut(panel_len(p) * W);
        let half = &mut half[..rows * pitch * W];
        assert!(at + W <= stride);
        let mut offsets = Offsets::new(p);
        let offsets = offsets.fill(|k| k * W);
        for c in 0..p {
            let column = &whole[c * p * W..][..p * W];
            let (coefficients, spacing) = self.left.for_column(c);
            let out = half[c * W..].as_mut_ptr();
            let store = |a: usize, tile: [R::Vector<S>; W]| {
                for w in 0..W {
                    // SAFETY: a < rows and c < p ≤ pitch: the W vectors end within those of `half`.
                    unsafe { *out.add(a * pitch * W + w) = tile[w] };
                }
            };
            let coefficients = &coefficients[from * spacing..];
            // SAFETY: `column` has p times W vectors, and the offsets are k·W for k < p.
            unsafe { rows_times_source(simd, coefficients, spacing, rows, column, offsets, store) };
        }
        if let Some(cross) = &mut self.cross {
            // The sum's entry (a, c) is that of M D plus its (c, a), of which the smaller row comes
            // first.
            let cross = R::vectors_mut::<S>(cross);
            let (half, _) = half.as_chunks::<W>();
            for a in from..from + rows {
                let row = &half[(a - from) * pitch..][..p];
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
                let source = &half[(a - from) * pitch * W..][..p * W];
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

/// half[a, c] = Σ_k M_ak D_kc for W vectors of matrices. If they are complex, row a is the p real
/// parts and then the p imaginary ones.
#[inline(always)]
pub(super) fn half_product<S: Simd, R: Real, const W: usize>(
    simd: S,
    left: &Left<'_, R>,
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

/// For each of the first `rows` rows of `coefficients`, which begin `spacing` numbers apart, the
/// combination Σ_k coefficients[row, k] · source[offsets[k]..][..W], passed to `store`.
///
/// # Safety
/// Each offset must leave room for W vectors in `source`.
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
            // each offset; the caller promises that every offset leaves room for W vectors.
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
        // Tiles of six rows. A last tile of fewer than three would have too few accumulators to
        // hide the latency of multiply-adds.
        match rows - row {
            // With one vector per row, twice as many rows make the same number of accumulators.
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

/// A tile of ROWS×W vectors in registers.
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
            // SAFETY: the caller promises W vectors at each offset.
            values[w] = unsafe { *source.add(offset + w) };
        }
        for r in 0..ROWS {
            // SAFETY: r < ROWS, and the caller promises as many rows of a number for each offset.
            let coefficient = R::splat(simd, unsafe { *coefficients.add(r * spacing + k) });
            for w in 0..W {
                sums[r][w] = R::mul_add(simd, coefficient, values[w], sums[r][w]);
            }
        }
    }
    sums
}
