//! The product of the row blocks of the Hessian with a matrix, in the layout of
//! [`hessian`](super::hessian).
//!
//! Every entry is read once and used for four flops, so that the product is bound by memory
//! bandwidth.
#![allow(unsafe_code)]

use pulp::{Simd, WithSimd};

use super::{Real, arch, vectors_per_group};
use crate::linalg::Triangle;

/// out[b, a] = Σ_c M^a_bc e[c, a]: the product of every size×size matrix M^a with column a of `e`,
/// for some groups of [`Real::LANES`] row blocks. `e` and `out` are stored in groups like the
/// Hessian, at (g, b, l), where b runs over the real parts of a row and, if complex, then over the
/// imaginary parts.
pub fn hessian_times<N: Real>(size: usize, hessian: &[N], e: &[N], out: &mut [N]) {
    let groups = e.len() / (size * N::LANES);
    assert_eq!(hessian.len(), groups * Triangle::new(size).len() * N::LANES);
    let panels = groups * size * N::LANES;
    assert_eq!((e.len(), out.len()), (panels, panels));
    arch().dispatch(HessianTimes {
        size,
        hessian,
        e,
        out,
    });
}

pub(super) struct HessianTimes<'a, N> {
    /// The size of the M^a.
    pub(super) size: usize,
    pub(super) hessian: &'a [N],
    pub(super) e: &'a [N],
    pub(super) out: &'a mut [N],
}

impl<N: Real> WithSimd for HessianTimes<'_, N> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let p = self.size;
        let (per_group, triangle) = (vectors_per_group::<N, S>(), Triangle::new(p));
        let e = N::vectors::<S>(self.e);
        let rows = N::vectors::<S>(self.hessian);
        let out = N::vectors_mut::<S>(self.out);
        out.fill(N::splat(simd, N::zeroed()));
        let groups = rows
            .chunks_exact(triangle.len() * per_group)
            .zip(e.chunks_exact(p * per_group))
            .zip(out.chunks_exact_mut(p * per_group));
        for ((rows, e), out) in groups {
            let group = Group {
                triangle,
                rows: rows.as_ptr(),
                e: e.as_ptr(),
                out: out.as_mut_ptr(),
            };
            // SAFETY: `rows` holds the complete triangle, `e` and `out` p rows, and b + R ≤ p.
            unsafe {
                // Four rows at a time share loads and stores. The number does not depend on the
                // SIMD width, and so neither does the rounding of the sums.
                let mut b = 0;
                while b + 4 <= p {
                    (0..per_group).for_each(|v| times_rows::<S, N, 4>(simd, &group, b, v));
                    b += 4;
                }
                while b < p {
                    (0..per_group).for_each(|v| times_rows::<S, N, 1>(simd, &group, b, v));
                    b += 1;
                }
            }
        }
    }
}

/// Pointers to the numbers of one group.
struct Group<V> {
    triangle: Triangle,
    rows: *const V,
    e: *const V,
    out: *mut V,
}

/// Adds the contribution of rows b..b+R of the lower triangles of a group to the product, for
/// vector `v` of the group. Each row has two independent sums.
///
/// # Safety
/// `group.rows` must hold the rows of the triangle before b+R, and `e` and `out` b+R rows, with
/// `vectors_per_group` vectors per entry. `v` must be less than `vectors_per_group`.
#[inline(always)]
unsafe fn times_rows<S: Simd, N: Real, const R: usize>(
    simd: S,
    group: &Group<N::Vector<S>>,
    b: usize,
    v: usize,
) {
    let Group {
        triangle, e, out, ..
    } = *group;
    let per_group = vectors_per_group::<N, S>();
    let zero = N::splat(simd, N::zeroed());
    let mut own = [[zero; 2]; R];
    let mut e_own = [zero; R];
    let mut rows = [group.rows; R];
    for r in 0..R {
        // SAFETY: the caller guarantees row b + r of the triangle and of `e`.
        unsafe {
            rows[r] = group.rows.add(triangle.index(b + r, 0) * per_group);
            e_own[r] = *e.add((b + r) * per_group + v);
        }
    }
    let mut step = |c: usize, u: usize| {
        let at = c * per_group + v;
        // SAFETY: c < b, so `at` is in a row before b of `e` and `out`, and in an entry before the
        // diagonal of rows b..b+R of the triangle.
        unsafe {
            let e_c = *e.add(at);
            let mut sum = *out.add(at);
            for r in 0..R {
                let m = *rows[r].add(at);
                own[r][u] = N::mul_add(simd, m, e_c, own[r][u]);
                sum = N::mul_add(simd, m, e_own[r], sum);
            }
            *out.add(at) = sum;
        }
    };
    for c in (0..b - b % 2).step_by(2) {
        step(c, 0);
        step(c + 1, 1);
    }
    if b % 2 == 1 {
        step(b - 1, 0);
    }
    for r in 0..R {
        // SAFETY: r < R and v < per_group, so the vector is in row b + r of `out`.
        let place = unsafe { &mut *out.add((b + r) * per_group + v) };
        let products = N::plus(simd, own[r][0], own[r][1]);
        let mut sum = N::plus(simd, *place, products);
        // The R×R diagonal block.
        for c in 0..R {
            let (row, column) = (r.max(c), r.min(c));
            let entry = (b + column) * per_group + v;
            // SAFETY: column ≤ row < R, so this is entry (b + row, b + column) of the triangle; and
            // row b + c of `e` exists.
            let (m, x) = unsafe { (*rows[row].add(entry), *e.add((b + c) * per_group + v)) };
            sum = N::mul_add(simd, m, x, sum);
        }
        *place = sum;
    }
}
