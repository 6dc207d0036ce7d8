//! Single and double precision under one name, for kernels that work in both.

use pulp::{Arch, Simd, WithSimd};

/// `f32` or `f64`, and the vectors of them.
pub trait Real: Copy + Default + PartialEq + Send + Sync + std::fmt::Debug + 'static {
    /// A vector.
    type Vector<S: Simd>: Copy;

    /// How many numbers a vector has.
    fn lanes<S: Simd>() -> usize;
    /// The nearest number; in single precision, the nearest one whose products with others still
    /// have room for a sum. Only powers that differ by as much, and the padding of a block, whose
    /// weight is zero, are ever that large.
    fn round(x: f64) -> Self;
    /// The number itself.
    fn widen(self) -> f64;
    /// The vectors of a slice.
    fn vectors<S: Simd>(slice: &[Self]) -> &[Self::Vector<S>];
    /// The vectors of a slice.
    fn vectors_mut<S: Simd>(slice: &mut [Self]) -> &mut [Self::Vector<S>];
    /// A vector of one number.
    fn splat<S: Simd>(simd: S, x: Self) -> Self::Vector<S>;
    /// x · y + z, rounded once or twice.
    fn mul_add<S: Simd>(
        simd: S,
        x: Self::Vector<S>,
        y: Self::Vector<S>,
        z: Self::Vector<S>,
    ) -> Self::Vector<S>;
    /// x + y.
    fn add<S: Simd>(simd: S, x: Self::Vector<S>, y: Self::Vector<S>) -> Self::Vector<S>;
    /// x − y.
    fn sub<S: Simd>(simd: S, x: Self::Vector<S>, y: Self::Vector<S>) -> Self::Vector<S>;
    /// Runs on vectors of at most [`LANES`](super::LANES) numbers.
    fn dispatch<Op: WithSimd>(op: Op) -> Op::Output;
}

macro_rules! real {
    ($real:ty, $vector:ident, $lanes:ident, $as_simd:ident, $as_mut_simd:ident, $splat:ident,
     $mul_add:ident, $add:ident, $sub:ident, $round:expr, $dispatch:expr) => {
        impl Real for $real {
            type Vector<S: Simd> = S::$vector;

            #[inline(always)]
            fn lanes<S: Simd>() -> usize {
                S::$lanes
            }
            #[inline(always)]
            fn round(x: f64) -> Self {
                $round(x)
            }
            #[inline(always)]
            fn widen(self) -> f64 {
                f64::from(self)
            }
            #[inline(always)]
            fn vectors<S: Simd>(slice: &[Self]) -> &[S::$vector] {
                S::$as_simd(slice).0
            }
            #[inline(always)]
            fn vectors_mut<S: Simd>(slice: &mut [Self]) -> &mut [S::$vector] {
                S::$as_mut_simd(slice).0
            }
            #[inline(always)]
            fn splat<S: Simd>(simd: S, x: Self) -> S::$vector {
                simd.$splat(x)
            }
            #[inline(always)]
            fn mul_add<S: Simd>(
                simd: S,
                x: S::$vector,
                y: S::$vector,
                z: S::$vector,
            ) -> S::$vector {
                simd.$mul_add(x, y, z)
            }
            #[inline(always)]
            fn add<S: Simd>(simd: S, x: S::$vector, y: S::$vector) -> S::$vector {
                simd.$add(x, y)
            }
            #[inline(always)]
            fn sub<S: Simd>(simd: S, x: S::$vector, y: S::$vector) -> S::$vector {
                simd.$sub(x, y)
            }
            #[inline(always)]
            fn dispatch<Op: WithSimd>(op: Op) -> Op::Output {
                $dispatch(op)
            }
        }
    };
}

real!(
    f64,
    f64s,
    F64_LANES,
    as_simd_f64s,
    as_mut_simd_f64s,
    splat_f64s,
    mul_add_e_f64s,
    add_f64s,
    sub_f64s,
    |x| x,
    |op| Arch::new().dispatch(op)
);
real!(
    f32,
    f32s,
    F32_LANES,
    as_simd_f32s,
    as_mut_simd_f32s,
    splat_f32s,
    mul_add_e_f32s,
    add_f32s,
    sub_f32s,
    |x: f64| x.clamp(-1e17, 1e17) as f32,
    dispatch_f32
);

/// AVX-512 has sixteen numbers in a vector, twice as many as a group of LANES: AVX2 serves instead.
#[inline(always)]
fn dispatch_f32<Op: WithSimd>(op: Op) -> Op::Output {
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    if let Some(simd) = pulp::x86::V3::try_new() {
        return Simd::vectorize(simd, op);
    }
    Arch::new().dispatch(op)
}
