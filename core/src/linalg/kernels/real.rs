//! The precisions of blocks, `f64` and `f32`, and their SIMD operations.
#![allow(unsafe_code)]

use std::ops::{Add, AddAssign, Mul, SubAssign};

use bytemuck::Pod;
use pulp::Simd;

/// Real number type of a block: `f64` or `f32`.
pub trait Real:
    Pod + Add<Output = Self> + Mul<Output = Self> + AddAssign + SubAssign + Send + Sync
{
    /// The number of matrices of a block is padded to a multiple of this number, which is a
    /// multiple of every SIMD width.
    const LANES: usize;
    /// A SIMD vector of this type.
    type Vector<S: Simd>: Pod;

    /// Rounds a double-precision number to this type.
    fn rounded(x: f64) -> Self;
    /// Converts to double precision.
    fn widened(self) -> f64;

    /// Views numbers as SIMD vectors. The length must be a multiple of the SIMD width.
    fn vectors<S: Simd>(numbers: &[Self]) -> &[Self::Vector<S>];
    /// Mutable version of [`vectors`](Self::vectors).
    fn vectors_mut<S: Simd>(numbers: &mut [Self]) -> &mut [Self::Vector<S>];

    /// Creates a vector with all lanes equal to x.
    fn splat<S: Simd>(simd: S, x: Self) -> Self::Vector<S>;
    /// x + y.
    fn plus<S: Simd>(simd: S, x: Self::Vector<S>, y: Self::Vector<S>) -> Self::Vector<S>;
    /// x − y.
    fn minus<S: Simd>(simd: S, x: Self::Vector<S>, y: Self::Vector<S>) -> Self::Vector<S>;
    /// −x.
    fn neg<S: Simd>(simd: S, x: Self::Vector<S>) -> Self::Vector<S>;
    /// x·y + z.
    fn mul_add<S: Simd>(
        simd: S,
        x: Self::Vector<S>,
        y: Self::Vector<S>,
        z: Self::Vector<S>,
    ) -> Self::Vector<S>;
    /// Returns the sum of [`LANES`](Self::LANES) numbers, given as vectors, by repeatedly adding
    /// the upper half to the lower half.
    fn sum_of_lanes<V: Pod>(lanes: V) -> f64;
    /// Subtracts x[2k] + x[2k + 1] from `place[k]` for each pair of lanes of `x`. If `x` has a
    /// single lane, subtracts it from `place[0]`.
    ///
    /// # Safety
    /// `place` must be valid for reads and writes of one number per pair of lanes, or of one number
    /// if there is a single lane.
    unsafe fn subtract_pairs<S: Simd>(x: Self::Vector<S>, place: *mut Self);
}

macro_rules! operations {
    ($vectors:ident, $as_simd:ident, $as_mut_simd:ident, $splat:ident, $add:ident, $sub:ident, $neg:ident,
     $mul:ident, $mul_add:ident) => {
        type Vector<S: Simd> = S::$vectors;

        #[inline(always)]
        fn vectors<S: Simd>(numbers: &[Self]) -> &[S::$vectors] {
            let (vectors, rest) = S::$as_simd(numbers);
            assert!(
                rest.is_empty(),
                "the length must be a multiple of the SIMD width"
            );
            vectors
        }

        #[inline(always)]
        fn vectors_mut<S: Simd>(numbers: &mut [Self]) -> &mut [S::$vectors] {
            let (vectors, rest) = S::$as_mut_simd(numbers);
            assert!(
                rest.is_empty(),
                "the length must be a multiple of the SIMD width"
            );
            vectors
        }

        #[inline(always)]
        fn splat<S: Simd>(simd: S, x: Self) -> S::$vectors {
            simd.$splat(x)
        }

        #[inline(always)]
        fn plus<S: Simd>(simd: S, x: S::$vectors, y: S::$vectors) -> S::$vectors {
            simd.$add(x, y)
        }

        #[inline(always)]
        fn minus<S: Simd>(simd: S, x: S::$vectors, y: S::$vectors) -> S::$vectors {
            simd.$sub(x, y)
        }

        #[inline(always)]
        fn neg<S: Simd>(simd: S, x: S::$vectors) -> S::$vectors {
            simd.$neg(x)
        }

        #[inline(always)]
        fn mul_add<S: Simd>(
            simd: S,
            x: S::$vectors,
            y: S::$vectors,
            z: S::$vectors,
        ) -> S::$vectors {
            simd.$mul_add(x, y, z)
        }

        #[inline(always)]
        fn sum_of_lanes<V: Pod>(lanes: V) -> f64 {
            let mut lanes: [Self; Self::LANES] = bytemuck::cast(lanes);
            let mut half = Self::LANES / 2;
            while half > 0 {
                for l in 0..half {
                    let upper = lanes[l + half];
                    lanes[l] += upper;
                }
                half /= 2;
            }
            lanes[0].widened()
        }

        #[inline(always)]
        unsafe fn subtract_pairs<S: Simd>(x: S::$vectors, place: *mut Self) {
            macro_rules! subtract {
                ($pairs:literal) => {{
                    let x: [[Self; 2]; $pairs] = bytemuck::cast(x);
                    // SAFETY: the caller guarantees one number per pair of lanes.
                    let place = unsafe { &mut *place.cast::<[Self; $pairs]>() };
                    for l in 0..$pairs {
                        place[l] -= x[l][0] + x[l][1];
                    }
                }};
            }
            match width::<Self, S>() {
                16 => subtract!(8),
                8 => subtract!(4),
                4 => subtract!(2),
                2 => subtract!(1),
                _ => {
                    let [x]: [Self; 1] = bytemuck::cast(x);
                    // SAFETY: the caller guarantees one number.
                    unsafe { *place -= x };
                }
            }
        }
    };
}

impl Real for f64 {
    const LANES: usize = super::LANES;

    operations!(
        f64s,
        as_simd_f64s,
        as_mut_simd_f64s,
        splat_f64s,
        add_f64s,
        sub_f64s,
        neg_f64s,
        mul_f64s,
        mul_add_e_f64s
    );

    #[inline(always)]
    fn rounded(x: f64) -> Self {
        x
    }

    #[inline(always)]
    fn widened(self) -> f64 {
        self
    }
}

impl Real for f32 {
    const LANES: usize = 2 * super::LANES;

    operations!(
        f32s,
        as_simd_f32s,
        as_mut_simd_f32s,
        splat_f32s,
        add_f32s,
        sub_f32s,
        neg_f32s,
        mul_f32s,
        mul_add_e_f32s
    );

    #[inline(always)]
    fn rounded(x: f64) -> Self {
        x as f32
    }

    #[inline(always)]
    fn widened(self) -> f64 {
        f64::from(self)
    }
}

/// SIMD width: the number of lanes of a vector.
#[inline(always)]
pub(super) const fn width<R: Real, S: Simd>() -> usize {
    size_of::<R::Vector<S>>() / size_of::<R>()
}
