//! The product of the row blocks of the Hessian with a matrix, in the layout of [`hessian`](super::hessian).
#![allow(unsafe_code)]

use pulp::{Arch, Simd, WithSimd};

use super::hessian::hessian_len;
use super::{LANES, vectors, vectors_mut, vectors_per_group};
use crate::linalg::Triangle;

/// out[b, a] = Σ_c M^a_bc e[c, a]: the product of every M^a with column a of `e`.
/// Both are laid out in groups like the Hessian: number (g, b, l), where b counts the real parts of a row
/// and then, if the matrices are complex, the imaginary ones.
pub fn hessian_times(p: usize, hessian: &[f64], e: &[f64], out: &mut [f64]) {
    let panel = p.div_ceil(LANES) * p * LANES;
    let planes = if e.len() == panel { 1 } else { 2 };
    assert_eq!(hessian.len(), hessian_len(p, planes));
    assert_eq!((e.len(), out.len()), (planes * panel, planes * panel));
    Arch::new().dispatch(Times {
        size: planes * p,
        hessian,
        e,
        out,
    });
}

pub(super) struct Times<'a> {
    /// That of the M^a.
    pub(super) size: usize,
    pub(super) hessian: &'a [f64],
    pub(super) e: &'a [f64],
    pub(super) out: &'a mut [f64],
}

impl WithSimd for Times<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let p = self.size;
        let (halves, triangle) = (vectors_per_group::<S>(), Triangle::new(p));
        let hessian = vectors::<S>(self.hessian);
        let e = vectors::<S>(self.e);
        let out = vectors_mut::<S>(self.out);
        out.fill(simd.splat_f64s(0.0));
        let groups = hessian
            .chunks_exact(triangle.len() * halves)
            .zip(e.chunks_exact(p * halves))
            .zip(out.chunks_exact_mut(p * halves));
        for ((m, e), out) in groups {
            let (m, e, out) = (m.as_ptr(), e.as_ptr(), out.as_mut_ptr());
            // SAFETY: `m` was cut to the whole triangle, `e` and `out` to p rows, and b + R ≤ p.
            unsafe {
                if halves > 4 {
                    (0..p).for_each(|b| times_rows::<S, 1, LANES>(simd, triangle, m, e, out, b));
                    continue;
                }
                // Two rows at a time, which share what they read and write.
                for b in (0..p - p % 2).step_by(2) {
                    times_rows::<S, 2, 4>(simd, triangle, m, e, out, b);
                }
                if p % 2 == 1 {
                    times_rows::<S, 1, 4>(simd, triangle, m, e, out, p - 1);
                }
            }
        }
    }
}

/// What rows b..b+R of one group's lower triangles contribute to a product, with U sums per row that
/// do not wait for each other, U being a multiple of the vectors of a group.
///
/// # Safety
/// `m` must have the rows of the triangle up to row b+R, `e` and `out` b+R rows, of one group's
/// vectors each.
#[inline(always)]
unsafe fn times_rows<S: Simd, const R: usize, const U: usize>(
    simd: S,
    triangle: Triangle,
    m: *const S::f64s,
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
        rows[r] = unsafe { m.add(triangle.index(b + r, 0) * halves) };
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
                    let m = *rows[r].add($at + $u);
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
                // SAFETY: column ≤ row < R: entry (b + row, b + column) of the triangle.
                let m = unsafe { *rows[row].add((b + column) * halves + half) };
                sum = simd.mul_add_e_f64s(m, e_own[c][half], sum);
            }
            *place = sum;
        }
    }
}
