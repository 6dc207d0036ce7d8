//! Arithmetic: dense p×p matrices, and the SIMD kernels over blocks of many matrices.
//!
//! Nothing outside this module names faer or pulp, or is `unsafe`.

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
// The names of the real case, for real code.
pub use dense::{
    hermitian_eigen as symmetric_eigen, hermitian_eigenvalues as symmetric_eigenvalues,
    product_adjoint as product_transposed,
};
pub use matrix::Matrix;
pub use scalar::{Scalar, c64};
pub use triangle::Triangle;

/// Loops over at most this many numbers are not worth the call of a SIMD dispatch.
const MAX_UNDISPATCHED_LEN: usize = 64;

/// The real numbers that scalars consist of: interleaved parts if they are complex.
pub fn reals<T: Scalar>(numbers: &[T]) -> &[f64] {
    bytemuck::cast_slice(numbers)
}

/// Scalars from the real numbers that they consist of.
pub fn scalars<T: Scalar>(numbers: &[f64]) -> &[T] {
    bytemuck::cast_slice(numbers)
}

/// Real numbers as the scalars that consist of them, mutable.
pub fn scalars_mut<T: Scalar>(numbers: &mut [f64]) -> &mut [T] {
    bytemuck::cast_slice_mut(numbers)
}

/// The real numbers that scalars consist of, mutable.
pub fn reals_mut<T: Scalar>(numbers: &mut [T]) -> &mut [f64] {
    bytemuck::cast_slice_mut(numbers)
}

/// The largest power of two that is at most x; 1 unless x is positive and normal.
pub fn power_of_two_below(x: f64) -> f64 {
    const EXPONENT: u64 = 0x7FF0_0000_0000_0000;
    if x > 0.0 && x.is_normal() {
        f64::from_bits(x.to_bits() & EXPONENT)
    } else {
        1.0
    }
}

/// The largest absolute value.
pub fn largest(x: &[f64]) -> f64 {
    let mut largest = [0.0_f64; 8];
    let (eights, rest) = x.as_chunks::<8>();
    kernels::dispatch(
        #[inline(always)]
        || {
            for x in eights {
                for k in 0..8 {
                    largest[k] = largest[k].max(x[k].abs());
                }
            }
        },
    );
    let all = largest.iter().chain(rest);
    all.fold(0.0, |largest, x| largest.max(x.abs()))
}

/// The indices of numbers in descending order (stable).
pub fn descending(numbers: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..numbers.len()).collect();
    order.sort_by(|x, y| numbers[*y].total_cmp(&numbers[*x]));
    order
}

/// Re Σ x_k conj(y_k), in eight independent sums so that it vectorizes.
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

/// Σ x_k, in eight independent sums so that it vectorizes.
pub fn sum(x: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let (eights, rest) = x.as_chunks::<8>();
    kernels::dispatch(
        #[inline(always)]
        || {
            for x in eights {
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
