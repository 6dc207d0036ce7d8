//! The product of the row blocks of the Hessian with a matrix, in the layout of [`hessian`](super::hessian).
//!
//! It reads every entry once, for four flops: what it costs is memory. Large row blocks are therefore read
//! in single precision; all sums are in double precision.
#![allow(unsafe_code)]

use bytemuck::Pod;
use pulp::{Arch, Simd, WithSimd};

use super::{LANES, vectors, vectors_mut, vectors_per_group};
use crate::linalg::Triangle;

/// A number as row blocks are stored: `f64`, or `f32` where they are large.
pub trait Stored: Pod + Send + Sync {
    /// Some neighbouring numbers as a vector.
    ///
    /// # Safety
    /// `place` must be that of as many numbers as a vector has.
    #[doc(hidden)]
    unsafe fn load<S: Simd>(place: *const Self) -> S::f64s;
}

impl Stored for f64 {
    #[inline(always)]
    unsafe fn load<S: Simd>(place: *const Self) -> S::f64s {
        // SAFETY: the caller promises the numbers; vectors of pulp are aligned as their numbers are.
        unsafe { *place.cast() }
    }
}

impl Stored for f32 {
    #[inline(always)]
    unsafe fn load<S: Simd>(place: *const Self) -> S::f64s {
        macro_rules! widened {
            ($width:literal) => {{
                // SAFETY: the caller promises as many numbers as a vector has, which is $width.
                let numbers = unsafe { *place.cast::<[f32; $width]>() };
                bytemuck::cast(numbers.map(f64::from))
            }};
        }
        match S::F64_LANES {
            8 => widened!(8),
            4 => widened!(4),
            2 => widened!(2),
            _ => widened!(1),
        }
    }
}

/// out[b, a] = Σ_c M^a_bc e[c, a]: the product of every M^a, of that size, with column a of `e`, for some
/// groups of [`LANES`] row blocks. Both are laid out in groups like the Hessian: number (g, b, l), where b
/// counts the real parts of a row and then, if the matrices are complex, the imaginary ones.
pub fn hessian_times<M: Stored>(size: usize, hessian: &[M], e: &[f64], out: &mut [f64]) {
    let groups = e.len() / (size * LANES);
    assert_eq!(hessian.len(), groups * Triangle::new(size).len() * LANES);
    let panels = groups * size * LANES;
    assert_eq!((e.len(), out.len()), (panels, panels));
    Arch::new().dispatch(Times {
        size,
        hessian,
        e,
        out,
    });
}

pub(super) struct Times<'a, M> {
    /// That of the M^a.
    pub(super) size: usize,
    pub(super) hessian: &'a [M],
    pub(super) e: &'a [f64],
    pub(super) out: &'a mut [f64],
}

impl<M: Stored> WithSimd for Times<'_, M> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let p = self.size;
        let (halves, triangle) = (vectors_per_group::<S>(), Triangle::new(p));
        let e = vectors::<S>(self.e);
        let out = vectors_mut::<S>(self.out);
        out.fill(simd.splat_f64s(0.0));
        let groups = self
            .hessian
            .chunks_exact(triangle.len() * LANES)
            .zip(e.chunks_exact(p * halves))
            .zip(out.chunks_exact_mut(p * halves));
        for ((m, e), out) in groups {
            let (m, e, out) = (m.as_ptr(), e.as_ptr(), out.as_mut_ptr());
            // SAFETY: `m` was cut to the whole triangle, `e` and `out` to p rows, and b + R ≤ p.
            unsafe {
                if halves > 4 {
                    (0..p).for_each(|b| times_rows::<S, M, 1, LANES>(simd, triangle, m, e, out, b));
                    continue;
                }
                // Two rows at a time, which share what they read and write.
                for b in (0..p - p % 2).step_by(2) {
                    times_rows::<S, M, 2, 4>(simd, triangle, m, e, out, b);
                }
                if p % 2 == 1 {
                    times_rows::<S, M, 1, 4>(simd, triangle, m, e, out, p - 1);
                }
            }
        }
    }
}

/// What rows b..b+R of one group's lower triangles contribute to a product, with U sums per row that
/// do not wait for each other, U being a multiple of the vectors of a group.
///
/// # Safety
/// `m` must have the rows of the triangle up to row b+R, of [`LANES`] numbers for each entry, `e` and `out`
/// b+R rows of one group's vectors.
#[inline(always)]
unsafe fn times_rows<S: Simd, M: Stored, const R: usize, const U: usize>(
    simd: S,
    triangle: Triangle,
    m: *const M,
    e: *const S::f64s,
    out: *mut S::f64s,
    b: usize,
) {
    let halves = vectors_per_group::<S>();
    assert!(U.is_multiple_of(halves)); // constants both
    let mut own = [[simd.splat_f64s(0.0); U]; R];
    let mut e_own = [[simd.splat_f64s(0.0); U]; R];
    let mut rows = [m; R];
    for r in 0..R {
        // SAFETY: the caller promises row b + r of the triangle.
        rows[r] = unsafe { m.add(triangle.index(b + r, 0) * LANES) };
        for u in 0..U {
            // SAFETY: the caller promises row b + r of `e`, of `halves` vectors.
            e_own[r][u] = unsafe { *e.add((b + r) * halves + u % halves) };
        }
    }
    macro_rules! step {
        ($at:expr, $u:expr) => {
            // SAFETY: $at + $u < b · halves: in rows before b of `e` and `out`, and in the entries
            // before the diagonal of rows b to b + R of the triangle.
            unsafe {
                let e_k = *e.add($at + $u);
                let mut sum = *out.add($at + $u);
                for r in 0..R {
                    let m = M::load::<S>(rows[r].add(($at + $u) * S::F64_LANES));
                    own[r][$u] = simd.mul_add_e_f64s(m, e_k, own[r][$u]);
                    sum = simd.mul_add_e_f64s(m, e_own[r][$u], sum);
                }
                *out.add($at + $u) = sum;
            }
        };
    }
    let below = b * halves;
    let whole = below - below % U;
    for at in (0..whole).step_by(U) {
        for u in 0..U {
            step!(at, u);
        }
    }
    for u in 0..below - whole {
        step!(whole, u);
    }
    for half in 0..halves {
        for r in 0..R {
            // SAFETY: r < R and half < halves: within row b + r of `out`.
            let place = unsafe { &mut *out.add((b + r) * halves + half) };
            let mut sum = *place;
            for u in (half..U).step_by(halves) {
                sum = simd.add_f64s(sum, own[r][u]);
            }
            // The corner of the R rows among themselves.
            for c in 0..R {
                let (row, column) = (r.max(c), r.min(c));
                let entry = ((b + column) * halves + half) * S::F64_LANES;
                // SAFETY: column ≤ row < R: entry (b + row, b + column) of the triangle.
                let m = unsafe { M::load::<S>(rows[row].add(entry)) };
                sum = simd.mul_add_e_f64s(m, e_own[c][half], sum);
            }
            *place = sum;
        }
    }
}
