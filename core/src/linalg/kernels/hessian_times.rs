//! The product of the row blocks of the Hessian with a matrix, in the layout of
//! [`hessian`](super::hessian).
//!
//! Every entry is read once, for four flops: the product is bound by memory.
#![allow(unsafe_code)]

use pulp::{Simd, WithSimd};

use super::{Real, arch, vectors_per_group};
use crate::linalg::Triangle;

/// out[b, a] = Σ_c M^a_bc e[c, a]: the product of every M^a, of that size, with column a of `e`,
/// for some groups of [`Real::LANES`] row blocks. Both are laid out in groups like the Hessian:
/// number (g, b, l), where b counts the real parts of a row and then, if complex, the imaginary
/// ones.
pub fn hessian_times<N: Real>(size: usize, hessian: &[N], e: &[N], out: &mut [N]) {
    let groups = e.len() / (size * N::LANES);
    assert_eq!(hessian.len(), groups * Triangle::new(size).len() * N::LANES);
    let panels = groups * size * N::LANES;
    assert_eq!((e.len(), out.len()), (panels, panels));
    arch().dispatch(Times {
        size,
        hessian,
        e,
        out,
    });
}

pub(super) struct Times<'a, N> {
    /// The size of the M^a.
    pub(super) size: usize,
    pub(super) hessian: &'a [N],
    pub(super) e: &'a [N],
    pub(super) out: &'a mut [N],
}

impl<N: Real> WithSimd for Times<'_, N> {
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
            // SAFETY: `rows` was cut to the whole triangle, `e` and `out` to p rows, and b + R ≤ p.
            unsafe {
                // A few rows at a time share loads and stores. The number does not depend on the
                // vector width, and so neither do the sums.
                let mut b = 0;
                while b + 4 <= p {
                    (0..per_group).for_each(|half| times_rows::<S, N, 4>(simd, &group, b, half));
                    b += 4;
                }
                while b < p {
                    (0..per_group).for_each(|half| times_rows::<S, N, 1>(simd, &group, b, half));
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

/// The contribution of rows b..b+R of one group's lower triangles to a product, for vector `half`
/// of the group. Each row has two independent sums.
///
/// # Safety
/// The group must have the rows of the triangle up to row b+R, with a group's vectors for each
/// entry, and b+R rows of vectors of `e` and `out`; `half` must be less than the vectors of a
/// group.
#[inline(always)]
unsafe fn times_rows<S: Simd, N: Real, const R: usize>(
    simd: S,
    group: &Group<N::Vector<S>>,
    b: usize,
    half: usize,
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
        // SAFETY: the caller promises row b + r of the triangle, and of `e`, of `per_group` vectors.
        unsafe {
            rows[r] = group.rows.add(triangle.index(b + r, 0) * per_group);
            e_own[r] = *e.add((b + r) * per_group + half);
        }
    }
    let mut step = |c: usize, u: usize| {
        let at = c * per_group + half;
        // SAFETY: c < b: in rows before b of `e` and `out`, and in the entries before the diagonal
        // of rows b to b + R of the triangle.
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
        // SAFETY: r < R and half < per_group: within row b + r of `out`.
        let place = unsafe { &mut *out.add((b + r) * per_group + half) };
        let products = N::plus(simd, own[r][0], own[r][1]);
        let mut sum = N::plus(simd, *place, products);
        // The entries between the R rows.
        for c in 0..R {
            let (row, column) = (r.max(c), r.min(c));
            let entry = (b + column) * per_group + half;
            // SAFETY: column ≤ row < R: entry (b + row, b + column) of the triangle, and row b + c
            // of `e`.
            let (m, x) = unsafe { (*rows[row].add(entry), *e.add((b + c) * per_group + half)) };
            sum = N::mul_add(simd, m, x, sum);
        }
        *place = sum;
    }
}
