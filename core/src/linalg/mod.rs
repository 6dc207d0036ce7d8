//! Linear algebra: dense p×p matrices, and SIMD kernels over blocks of many matrices.
//!
//! The dependencies faer and pulp, and all `unsafe` code of the library, are confined to this
//! module.

mod aligned;
mod batch;
mod dense;
pub mod kernels;
mod matrix;
mod scalar;
mod small;
mod triangle;

pub use aligned::{AlignedBuffer, F32Buffer, Scratch};
pub use batch::{SymmetricBatch, unpacked};
pub use dense::{
    add_gram, add_product, add_product_transposed, add_symmetric_product, cholesky, eigenvectors,
    hermitian_eigen, inverse, inverse_by_elimination, log_abs_det, log_det_and_inverse,
    lower_inverse, phase_of_largest, product, product_adjoint, product_into, reorthogonalize,
    singular_values, unitary_exponential,
};
// Aliases for real matrices.
pub use dense::{
    hermitian_eigen as symmetric_eigen, hermitian_eigenvalues as symmetric_eigenvalues,
    product_adjoint as product_transposed,
};
pub use matrix::Matrix;
pub use scalar::{Scalar, c64};
pub use triangle::Triangle;

/// Loops over at most this many numbers run without SIMD dispatch, whose call would cost more.
const MAX_UNDISPATCHED_LEN: usize = 64;

/// Views scalars as real numbers; complex numbers as interleaved real and imaginary parts.
pub fn reals<T: Scalar>(numbers: &[T]) -> &[f64] {
    bytemuck::cast_slice(numbers)
}

/// Views real numbers (interleaved real and imaginary parts, if T is complex) as scalars.
pub fn scalars<T: Scalar>(numbers: &[f64]) -> &[T] {
    bytemuck::cast_slice(numbers)
}

/// Mutable version of [`scalars`].
pub fn scalars_mut<T: Scalar>(numbers: &mut [f64]) -> &mut [T] {
    bytemuck::cast_slice_mut(numbers)
}

/// Mutable version of [`reals`].
pub fn reals_mut<T: Scalar>(numbers: &mut [T]) -> &mut [f64] {
    bytemuck::cast_slice_mut(numbers)
}

/// Returns the largest power of two that is at most x; 1 unless x is positive and normal.
pub fn power_of_two_below(x: f64) -> f64 {
    const EXPONENT: u64 = 0x7FF0_0000_0000_0000;
    if x > 0.0 && x.is_normal() {
        f64::from_bits(x.to_bits() & EXPONENT)
    } else {
        1.0
    }
}

/// Returns the largest absolute value; 0 of an empty slice.
pub fn max_abs(x: &[f64]) -> f64 {
    let mut largest = [0.0_f64; 8];
    let (chunks, rest) = x.as_chunks::<8>();
    kernels::dispatch(
        #[inline(always)]
        || {
            for x in chunks {
                for k in 0..8 {
                    largest[k] = largest[k].max(x[k].abs());
                }
            }
        },
    );
    let all = largest.iter().chain(rest);
    all.fold(0.0, |largest, x| largest.max(x.abs()))
}

/// Returns the indices that sort numbers in descending order (stable).
pub fn argsort_descending(numbers: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..numbers.len()).collect();
    order.sort_by(|x, y| numbers[*y].total_cmp(&numbers[*x]));
    order
}

/// Re Σ x_k conj(y_k), computed as eight partial sums so that the loop vectorizes.
pub fn dot<T: Scalar>(x: &[T], y: &[T]) -> f64 {
    let mut sums = [0.0; 8];
    let (xs, x_rest) = reals(x).as_chunks::<8>();
    let (ys, y_rest) = reals(y).as_chunks::<8>();
    if xs.len() <= MAX_UNDISPATCHED_LEN / 8 {
        add_products(&mut sums, xs, ys);
    } else {
        kernels::dispatch(
            #[inline(always)]
            || add_products(&mut sums, xs, ys),
        );
    }
    let rest: f64 = x_rest.iter().zip(y_rest).map(|(x, y)| x * y).sum();
    sums.iter().sum::<f64>() + rest
}

#[inline(always)]
fn add_products(sums: &mut [f64; 8], xs: &[[f64; 8]], ys: &[[f64; 8]]) {
    for (x, y) in xs.iter().zip(ys) {
        for k in 0..8 {
            sums[k] += x[k] * y[k];
        }
    }
}

/// Returns Σ x_k, computed as eight partial sums so that the loop vectorizes.
pub fn sum(x: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let (chunks, rest) = x.as_chunks::<8>();
    kernels::dispatch(
        #[inline(always)]
        || {
            for x in chunks {
                for k in 0..8 {
                    sums[k] += x[k];
                }
            }
        },
    );
    sums.iter().sum::<f64>() + rest.iter().sum::<f64>()
}

/// y ← y + factor · x.
pub fn add_multiple<T: Scalar>(y: &mut [T], factor: f64, x: &[T]) {
    let (y, x) = (reals_mut(y), reals(x));
    if y.len() <= MAX_UNDISPATCHED_LEN {
        add_multiples(y, factor, x);
    } else {
        kernels::dispatch(
            #[inline(always)]
            || add_multiples(y, factor, x),
        );
    }
}

#[inline(always)]
fn add_multiples(y: &mut [f64], factor: f64, x: &[f64]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += factor * x;
    }
}
