//! The product of the row blocks of the Hessian with a matrix, in the layout of [`hessian`](super::hessian).
//!
//! It reads every entry once, for four flops: what it costs is memory. Large row blocks are therefore read
//! in single precision, whatever that of the sums is.
#![allow(unsafe_code)]

use pulp::{Arch, Simd, WithSimd};

use super::real::width;
use super::{ReadAs, Real};
use crate::linalg::Triangle;

/// out[b, a] = Σ_c M^a_bc e[c, a]: the product of every M^a, of that size, with column a of `e`, for some
/// groups of [`Real::LANES`] row blocks. Both are laid out in groups like the Hessian: number (g, b, l), where b
/// counts the real parts of a row and then, if the matrices are complex, the imaginary ones.
pub fn hessian_times<M: ReadAs<N>, N: Real>(size: usize, hessian: &[M], e: &[N], out: &mut [N]) {
    let groups = e.len() / (size * M::LANES);
    assert_eq!(hessian.len(), groups * Triangle::new(size).len() * M::LANES);
    let panels = groups * size * M::LANES;
    assert_eq!((e.len(), out.len()), (panels, panels));
    Arch::new().dispatch(Times {
        size,
        hessian,
        e,
        out,
    });
}

pub(super) struct Times<'a, M, N> {
    /// That of the M^a.
    pub(super) size: usize,
    pub(super) hessian: &'a [M],
    pub(super) e: &'a [N],
    pub(super) out: &'a mut [N],
}

impl<M: ReadAs<N>, N: Real> WithSimd for Times<'_, M, N> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let p = self.size;
        let (halves, triangle) = (per_group::<M, N, S>(), Triangle::new(p));
        let e = N::vectors::<S>(self.e);
        let out = N::vectors_mut::<S>(self.out);
        out.fill(N::splat(simd, N::zeroed()));
        let groups = self
            .hessian
            .chunks_exact(triangle.len() * M::LANES)
            .zip(e.chunks_exact(p * halves))
            .zip(out.chunks_exact_mut(p * halves));
        for ((m, e), out) in groups {
            let (m, e, out) = (m.as_ptr(), e.as_ptr(), out.as_mut_ptr());
            // SAFETY: `m` was cut to the whole triangle, `e` and `out` to p rows, and b + R ≤ p.
            unsafe {
                if halves > 4 {
                    (0..p).for_each(|b| times_rows::<S, M, N, 1, 16>(simd, triangle, m, e, out, b));
                    continue;
                }
                // A few rows at a time, which share what they read and write: as many as there are registers for.
                let mut b = 0;
                while halves == 1 && b + 4 <= p {
                    times_rows::<S, M, N, 4, 2>(simd, triangle, m, e, out, b);
                    b += 4;
                }
                while b + 2 <= p {
                    times_rows::<S, M, N, 2, 4>(simd, triangle, m, e, out, b);
                    b += 2;
                }
                if b < p {
                    times_rows::<S, M, N, 1, 4>(simd, triangle, m, e, out, b);
                }
            }
        }
    }
}

/// How many vectors of the sums' precision the numbers of a group make.
#[inline(always)]
const fn per_group<M: Real, N: Real, S: Simd>() -> usize {
    const { assert!(M::LANES.is_multiple_of(width::<N, S>())) };
    M::LANES / width::<N, S>()
}

/// What rows b..b+R of one group's lower triangles contribute to a product, with U sums per row that
/// do not wait for each other, U being a multiple of the vectors of a group.
///
/// # Safety
/// `m` must have the rows of the triangle up to row b+R, of [`Real::LANES`] numbers for each entry, `e` and `out`
/// b+R rows of one group's vectors.
#[inline(always)]
unsafe fn times_rows<S: Simd, M: ReadAs<N>, N: Real, const R: usize, const U: usize>(
    simd: S,
    triangle: Triangle,
    m: *const M,
    e: *const N::Vector<S>,
    out: *mut N::Vector<S>,
    b: usize,
) {
    let halves = per_group::<M, N, S>();
    assert!(U.is_multiple_of(halves)); // constants both
    let zero = N::splat(simd, N::zeroed());
    let mut own = [[zero; U]; R];
    let mut e_own = [[zero; U]; R];
    let mut rows = [m; R];
    for r in 0..R {
        // SAFETY: the caller promises row b + r of the triangle.
        rows[r] = unsafe { m.add(triangle.index(b + r, 0) * M::LANES) };
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
                    let m = M::load::<S>(rows[r].add(($at + $u) * width::<N, S>()));
                    own[r][$u] = N::mul_add(simd, m, e_k, own[r][$u]);
                    sum = N::mul_add(simd, m, e_own[r][$u], sum);
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
                sum = N::plus(simd, sum, own[r][u]);
            }
            // The corner of the R rows among themselves.
            for c in 0..R {
                let (row, column) = (r.max(c), r.min(c));
                let entry = ((b + column) * halves + half) * width::<N, S>();
                // SAFETY: column ≤ row < R: entry (b + row, b + column) of the triangle.
                let m = unsafe { M::load::<S>(rows[row].add(entry)) };
                sum = N::mul_add(simd, m, e_own[c][half], sum);
            }
            *place = sum;
        }
    }
}
