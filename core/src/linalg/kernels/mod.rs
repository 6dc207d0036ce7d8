//! SIMD kernels over one block of symmetric matrices in structure-of-arrays layout.
//!
//! A block holds `lanes` matrices of size p×p. Its row (a, b), b ≤ a, in the order of
//! [`Triangle`](super::Triangle), holds the entries (a, b) of all its matrices contiguously. Every
//! kernel therefore runs along contiguous memory for any p, and symmetric entries are stored and
//! computed once. `lanes` is a multiple of [`LANES`], which is a multiple of every SIMD width, so
//! that there are no remainder loops. The kernels used in each iteration are generic over the
//! precision, [`Real`].
//!
//! A block of complex (Hermitian) matrices has two planes of such rows: the real parts, followed by
//! the imaginary parts, whose diagonal is zero. Entry (b, a) is the conjugate of (a, b). Products
//! of complex matrices are computed as products of real matrices of twice the size, with the
//! register tiles of the real case.
//!
//! Kernels are generic over the SIMD width and dispatched at run time by pulp. Accesses in the
//! innermost loops are unchecked; the safe functions assert the required lengths, in release builds
//! too.
#![allow(clippy::missing_panics_doc)] // the assertions check internal invariants
#![allow(unsafe_code)]

mod cholesky;
mod coefficients;
mod combine;
mod diagonals;
mod fit;
mod function;
mod hessian;
mod hessian_times;
mod lane_sums;
mod line;
mod moments;
mod pairs;
mod product;
mod real;
mod response;
mod rounds;
#[cfg(test)]
mod tests;
mod transform;

pub use cholesky::cholesky_pivots;
pub use combine::{column_products, combine, combine_many, correlate, correlate_many};
pub use diagonals::line_diagonals;
pub use fit::{FitTask, InverseFactors, accumulate_fit, accumulate_weighted};
pub use function::DiagonalFunction;
pub use hessian::{accumulate_groups, accumulate_hessian, hessian_len, hessian_len_in};
pub use hessian_times::hessian_times;
pub use line::{
    LinePoint, advance, diagonal_sum, line_point, line_point_of_diagonals, sum_of_logs,
};
pub use moments::{MomentSums, accumulate_moments};
pub use pairs::{PairSums, RotationSums, pair_sums, rotation_sums, transform_pair};
pub use product::accumulate_product;
pub use real::Real;
pub use response::{ResponseTask, accumulate_response, fit_products};
pub use rounds::{ROUND_LANES, RotatedPair, rotate_round, rotation_sums_of_round};
pub use transform::{Congruence, congruence, congruence_scratch};

use std::sync::OnceLock;

use pulp::{Arch, Simd};

use super::Triangle;
use real::width;

/// Environment variable that limits the SIMD instructions: `avx2` disables AVX-512, `none` disables
/// all SIMD instructions and fused multiply-add. Other values have no effect. It is used to compare
/// processors.
const SIMD_VARIABLE: &str = "CODIAG_SIMD";

/// Returns the widest SIMD instruction set of this processor that `CODIAG_SIMD` allows.
#[inline]
fn arch() -> Arch {
    static ARCH: OnceLock<Arch> = OnceLock::new();
    *ARCH.get_or_init(|| match std::env::var(SIMD_VARIABLE).as_deref() {
        Ok("none") => Arch::Scalar,
        #[cfg(target_arch = "x86_64")]
        Ok("avx2") => pulp::x86::V3::try_new().map_or(Arch::Scalar, Arch::V3),
        _ => Arch::new(),
    })
}

/// Runs plain loops compiled for the widest SIMD instruction set of this processor.
///
/// The closure must be `#[inline(always)]`. It is called as `FnMut`: a call as `FnOnce` would wrap
/// it in a function that may not be inlined, and would then not use these instructions.
#[inline(always)]
pub fn dispatch(loops: impl FnMut()) {
    arch().dispatch(Loops(loops));
}

struct Loops<F>(F);

impl<F: FnMut()> pulp::WithSimd for Loops<F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, _: S) {
        (self.0)();
    }
}

/// Views `f64` numbers as SIMD vectors. The length must be a multiple of the SIMD width.
#[inline(always)]
fn vectors<S: Simd>(numbers: &[f64]) -> &[S::f64s] {
    f64::vectors::<S>(numbers)
}

/// Mutable version of [`vectors`].
#[inline(always)]
fn vectors_mut<S: Simd>(numbers: &mut [f64]) -> &mut [S::f64s] {
    f64::vectors_mut::<S>(numbers)
}

/// Returns the number of planes of a block of p×p matrices: 1 if they are real, 2 if they are
/// complex.
///
/// # Panics
/// If the length of the block fits neither.
fn planes<R: Real>(block: &[R], p: usize, lanes: usize) -> usize {
    let plane = Triangle::new(p).len() * lanes;
    let planes = if block.len() == plane { 1 } else { 2 };
    assert_eq!(block.len(), planes * plane, "the length of a block");
    planes
}

/// Returns the number of SIMD vectors in a group of [`Real::LANES`] numbers.
#[inline(always)]
const fn vectors_per_group<R: Real, S: Simd>() -> usize {
    const { assert!(R::LANES.is_multiple_of(width::<R, S>())) };
    R::LANES / width::<R, S>()
}

/// Returns the number of SIMD vectors in a row of `lanes` numbers.
#[inline(always)]
fn vectors_per_row<R: Real, S: Simd>(lanes: usize) -> usize {
    assert!(
        lanes.is_multiple_of(R::LANES),
        "the length of a row must be a multiple of the number of lanes"
    );
    lanes / R::LANES * vectors_per_group::<R, S>()
}

/// The number of matrices of a double-precision block is padded to a multiple of this number.
pub const LANES: usize = 8;
