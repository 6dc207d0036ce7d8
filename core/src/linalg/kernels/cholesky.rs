//! Simultaneous Cholesky factorizations of all matrices of a block.
#![allow(unsafe_code)]

use pulp::{Simd, WithSimd};

use super::{LANES, arch, planes, vectors, vectors_mut, vectors_per_row};
use crate::linalg::{AlignedBuffer, Triangle};

/// Computes the Cholesky pivots of every matrix of a block.
///
/// `pivots` (p × lanes) receives the squared diagonals of the factors, whose product is the
/// determinant. `smallest` (one number per matrix) receives the smallest ratio of a pivot to its
/// diagonal entry. If the ratio is below `floor`, the matrix is not numerically positive definite,
/// and the factorization continues with `floor` times the diagonal entry, so that no NaN arises.
pub fn cholesky_pivots(
    p: usize,
    block: &[f64],
    lanes: usize,
    floor: f64,
    pivots: &mut [f64],
    smallest: &mut [f64],
) {
    assert_eq!(lanes % LANES, 0);
    let planes = planes(block, p, lanes);
    assert_eq!((pivots.len(), smallest.len()), (p * lanes, lanes));
    arch().dispatch(Factorize {
        p,
        planes,
        block,
        lanes,
        floor,
        pivots,
        smallest,
    });
}

struct Factorize<'a> {
    p: usize,
    planes: usize,
    block: &'a [f64],
    lanes: usize,
    floor: f64,
    pivots: &'a mut [f64],
    smallest: &'a mut [f64],
}

impl WithSimd for Factorize<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self {
            p,
            planes,
            block,
            lanes,
            floor,
            pivots,
            smallest,
        } = self;
        let stride = vectors_per_row::<f64, S>(lanes);
        let triangle = Triangle::new(p);
        let block = vectors::<S>(block);
        let pivots = vectors_mut::<S>(pivots);
        let smallest = vectors_mut::<S>(smallest);
        let floor = simd.splat_f64s(floor);
        let tiny = simd.splat_f64s(f64::MIN_POSITIVE);
        let mut factor = AlignedBuffer::of_len(planes * triangle.len() * S::F64_LANES);
        let factor = vectors_mut::<S>(&mut factor);
        for at in 0..stride {
            let mut ratio = simd.splat_f64s(f64::INFINITY);
            for b in 0..p {
                let mut pivot = block[triangle.diagonal(b) * stride + at];
                let entry = simd.max_f64s(pivot, tiny);
                for k in 0..b {
                    let l = factor[triangle.index(b, k)];
                    pivot = simd.negate_mul_add_e_f64s(l, l, pivot);
                    if planes == 2 {
                        let l = factor[triangle.len() + triangle.index(b, k)];
                        pivot = simd.negate_mul_add_e_f64s(l, l, pivot);
                    }
                }
                ratio = simd.min_f64s(ratio, simd.div_f64s(pivot, entry));
                pivot = simd.max_f64s(pivot, simd.mul_f64s(floor, entry));
                pivots[b * stride + at] = pivot;
                let root = simd.sqrt_f64s(pivot);
                factor[triangle.diagonal(b)] = root;
                let inverse = simd.div_f64s(simd.splat_f64s(1.0), root);
                if planes == 2 {
                    let input = |entry: usize| block[entry * stride + at];
                    complex_column(simd, triangle, input, b, inverse, factor);
                    continue;
                }
                // Eight independent rows of column b at a time hide the latency.
                let input = |a: usize| block[triangle.index(a, b) * stride + at];
                let mut a = b + 1;
                while a + 4 < p {
                    column_rows::<S, 8>(simd, triangle, input, (a, b), inverse, factor);
                    a += 8;
                }
                if a < p {
                    column_rows::<S, 4>(simd, triangle, input, (a, b), inverse, factor);
                }
            }
            smallest[at] = ratio;
        }
    }
}

/// Computes up to R rows, from a > b on, of column b of the factor of real matrices, from the
/// preceding columns and the inverse of its diagonal. `input` returns the entries of the column.
#[inline(always)]
fn column_rows<S: Simd, const R: usize>(
    simd: S,
    triangle: Triangle,
    input: impl Fn(usize) -> S::f64s,
    (a, b): (usize, usize),
    inverse: S::f64s,
    factor: &mut [S::f64s],
) {
    assert!(b < a && a < triangle.size() && factor.len() == triangle.len());
    // Rows beyond the last row repeat the last row.
    let rows = (triangle.size() - a).min(R);
    let (mut sums, mut starts) = ([simd.splat_f64s(0.0); R], [0; R]);
    for r in 0..R {
        let row = a + r.min(rows - 1);
        (sums[r], starts[r]) = (input(row), triangle.index(row, 0));
    }
    let own = triangle.index(b, 0);
    for k in 0..b {
        // SAFETY: k < b < a and a + rows ≤ p, so these are entries (b, k) and (a + r, k) of the
        // triangle, and `factor` holds the complete triangle.
        unsafe {
            let l = *factor.get_unchecked(own + k);
            for r in 0..R {
                let left = *factor.get_unchecked(starts[r] + k);
                sums[r] = simd.negate_mul_add_e_f64s(left, l, sums[r]);
            }
        }
    }
    for r in 0..rows {
        factor[triangle.index(a + r, b)] = simd.mul_f64s(sums[r], inverse);
    }
}

/// Computes column b of the factor of complex matrices below the diagonal, from the preceding
/// columns and the inverse of its diagonal. `input` returns the packed entries of both planes.
#[inline(always)]
fn complex_column<S: Simd>(
    simd: S,
    triangle: Triangle,
    input: impl Fn(usize) -> S::f64s,
    b: usize,
    inverse: S::f64s,
    factor: &mut [S::f64s],
) {
    let (real, imaginary) = factor.split_at_mut(triangle.len());
    for a in b + 1..triangle.size() {
        let entry = triangle.index(a, b);
        let (mut re, mut im) = (input(entry), input(triangle.len() + entry));
        // Subtracts L_ak conj(L_bk) for k < b.
        let row_a = real[triangle.row(a)][..b]
            .iter()
            .zip(&imaginary[triangle.row(a)]);
        let row_b = real[triangle.row(b)]
            .iter()
            .zip(&imaginary[triangle.row(b)]);
        for ((x, y), (u, v)) in row_a.zip(row_b) {
            re = simd.negate_mul_add_e_f64s(*x, *u, re);
            re = simd.negate_mul_add_e_f64s(*y, *v, re);
            im = simd.negate_mul_add_e_f64s(*y, *u, im);
            im = simd.mul_add_e_f64s(*x, *v, im);
        }
        real[entry] = simd.mul_f64s(re, inverse);
        imaginary[entry] = simd.mul_f64s(im, inverse);
    }
}
