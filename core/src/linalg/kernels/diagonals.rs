//! The diagonals needed by a line search, from the original matrices Cⁱ: 4p³ flops per matrix,
//! compared with 6p³ for computing D = B C Bᴴ and then E D Eᴴ.

use pulp::{Simd, WithSimd};

use super::coefficients::{LeftFactor, right};
use super::transform::half_product;
use super::{LANES, arch, planes, vectors, vectors_mut, vectors_per_row};
use crate::linalg::{Matrix, Scalar, Scratch};

/// Writes 3p rows, with F = E B: the diagonals of D = B C Bᴴ, of E D + (E D)ᴴ = F C Bᴴ + B C Fᴴ,
/// and of E D Eᴴ = F C Fᴴ.
pub fn line_diagonals<T: Scalar>(
    b: &Matrix<T>,
    f: &Matrix<T>,
    input: &[f64],
    lanes: usize,
    out: &mut [f64],
) {
    let p = b.rows();
    assert_eq!((b.columns(), f.rows(), f.columns()), (p, p, p));
    assert_eq!(lanes % LANES, 0);
    assert_eq!(planes(input, p, lanes), T::PLANES);
    assert_eq!(out.len(), 3 * p * lanes);
    let (b_left, f_left) = (LeftFactor::new(b), LeftFactor::new(f));
    let mut scratch = Scratch::of_len(b_left.scratch_len());
    run(Diagonals {
        b: (b_left, &right(b)),
        f: (f_left, &right(f)),
        input,
        lanes,
        out,
        scratch: &mut scratch,
    });
}

// Not generic, so that real and complex matrices share the compiled kernel.
fn run(task: Diagonals<'_>) {
    arch().dispatch(task);
}

struct Diagonals<'a> {
    /// Coefficients of B as left factor of C, and of Bᴴ as right factor.
    b: (LeftFactor<'a>, &'a [f64]),
    /// Coefficients of F as left factor of C, and of Fᴴ as right factor.
    f: (LeftFactor<'a>, &'a [f64]),
    input: &'a [f64],
    lanes: usize,
    out: &'a mut [f64],
    scratch: &'a mut [f64],
}

impl WithSimd for Diagonals<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let vectors = vectors_per_row::<f64, S>(self.lanes);
        for at in (0..vectors - vectors % 2).step_by(2) {
            self.slice::<S, 2>(simd, vectors, at);
        }
        if vectors % 2 == 1 {
            self.slice::<S, 1>(simd, vectors, vectors - 1);
        }
    }
}

impl Diagonals<'_> {
    #[inline(always)]
    fn slice<S: Simd, const W: usize>(&mut self, simd: S, stride: usize, at: usize) {
        let ((b, b_right), (f, f_right)) = (&self.b, &self.f);
        let (planes, p) = (b.planes(), b.columns());
        let input = vectors::<S>(self.input);
        let out = vectors_mut::<S>(self.out);
        let half = &mut vectors_mut::<S>(self.scratch)[..b.half_len(W)];
        // The real part of entry (a, a) of the product with the right factor.
        let inner = planes * p;
        let real = |right: &'_ [f64], half: &[S::f64s], a: usize| {
            let coefficients = &right[a * inner..][..inner];
            combine::<S, W>(
                simd,
                coefficients,
                &half[a * inner * W..(a + 1) * inner * W],
            )
        };
        half_product::<S, f64, W>(simd, b, input, stride, at, half);
        for a in 0..p {
            let power = real(b_right, half, a);
            let cross = real(f_right, half, a);
            for w in 0..W {
                out[a * stride + at + w] = power[w];
                out[(p + a) * stride + at + w] = simd.add_f64s(cross[w], cross[w]);
            }
        }
        half_product::<S, f64, W>(simd, f, input, stride, at, half);
        for a in 0..p {
            let square = real(f_right, half, a);
            out[(2 * p + a) * stride + at..][..W].copy_from_slice(&square);
        }
    }
}

/// Returns Σ_c coefficients[c] · row[c], for W vectors of matrices.
#[inline(always)]
pub(super) fn combine<S: Simd, const W: usize>(
    simd: S,
    coefficients: &[f64],
    row: &[S::f64s],
) -> [S::f64s; W] {
    let mut sums = [simd.splat_f64s(0.0); W];
    let (vectors, _) = row.as_chunks::<W>();
    for (coefficient, values) in coefficients.iter().zip(vectors) {
        let coefficient = simd.splat_f64s(*coefficient);
        for w in 0..W {
            sums[w] = simd.mul_add_e_f64s(coefficient, values[w], sums[w]);
        }
    }
    sums
}
