//! SIMD kernels over one block of symmetric matrices, entry-major.
//!
//! A block holds `lanes` matrices of size p×p. Its row (a, b), b ≤ a, counted as
//! [`Triangle`](super::Triangle) does, is the vector of the entries (a, b) of all its matrices, so
//! that every operation below runs along contiguous memory, whatever p is, and symmetric entries
//! are stored and computed once. `lanes` is a multiple of [`LANES`], which every vector width
//! divides: there are no remainder loops. The kernels of an iteration are generic over the
//! precision, [`Real`].
//!
//! A block of complex (Hermitian) matrices has two planes of such rows, the real parts and, after
//! them, the imaginary parts, whose diagonal is zero. Entry (b, a) is the conjugate of (a, b). The
//! products of complex matrices are those of real ones twice the size, made of the planes: the
//! tiles are the same.
//!
//! Kernels are written once, generic over the vector width, and dispatched at run time by pulp.
//! Accesses inside the innermost loops are unchecked; each safe function asserts, in release builds
//! too, the lengths that they rely on.
#![allow(clippy::missing_panics_doc)] // only those assertions
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

/// The environment variable that limits the vector instructions: `avx2` disables AVX-512, `none`
/// all of them and fused multiply-add. Other values have no effect. It serves to compare
/// processors.
const SIMD_VARIABLE: &str = "CODIAG_SIMD";

/// The widest vector instructions of this processor that `CODIAG_SIMD` allows.
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

/// Runs plain loops compiled for the widest vectors of this machine.
///
/// The closure must be `#[inline(always)]`, and is called as the `FnMut` that it is: called as
/// `FnOnce`, it is wrapped in a function that need not be inlined, and then runs without them.
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

/// Numbers of double precision as vectors, with none left over.
#[inline(always)]
fn vectors<S: Simd>(numbers: &[f64]) -> &[S::f64s] {
    f64::vectors::<S>(numbers)
}

/// Numbers of double precision as mutable vectors, with none left over.
#[inline(always)]
fn vectors_mut<S: Simd>(numbers: &mut [f64]) -> &mut [S::f64s] {
    f64::vectors_mut::<S>(numbers)
}

/// Number of planes of a block of p×p matrices: 1 if they are real, 2 if they are complex.
///
/// # Panics
/// If it has neither.
fn planes<R: Real>(block: &[R], p: usize, lanes: usize) -> usize {
    let plane = Triangle::new(p).len() * lanes;
    let planes = if block.len() == plane { 1 } else { 2 };
    assert_eq!(block.len(), planes * plane, "the length of a block");
    planes
}

/// Number of vectors that hold a group of [`Real::LANES`] numbers.
#[inline(always)]
const fn vectors_per_group<R: Real, S: Simd>() -> usize {
    const { assert!(R::LANES.is_multiple_of(width::<R, S>())) };
    R::LANES / width::<R, S>()
}

/// Number of vectors of a row of that many lanes.
#[inline(always)]
fn vectors_per_row<R: Real, S: Simd>(lanes: usize) -> usize {
    assert!(lanes.is_multiple_of(R::LANES), "rows are whole groups");
    lanes / R::LANES * vectors_per_group::<R, S>()
}

/// Blocks of double precision hold a multiple of this many matrices.
pub const LANES: usize = 8;
