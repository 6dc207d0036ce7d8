//! The product of the row blocks of the Hessian with a matrix, in the layout of [`hessian`](super::hessian).
//!
//! It reads every entry once, for four flops: what it costs is memory. Large row blocks are therefore read
//! in single precision, whatever that of the sums is, or, where no more digits are known, as whole numbers of sixteen bits in units of the
//! largest of their row: five digits, for half of the memory.
#![allow(unsafe_code)]

use pulp::{Simd, WithSimd};

use super::real::width;
use super::{ReadAs, Real, arch, dispatch};
use crate::linalg::Triangle;

/// out[b, a] = Σ_c M^a_bc e[c, a]: the product of every M^a, of that size, with column a of `e`, for some
/// groups of [`Real::LANES`] row blocks. Both are laid out in groups like the Hessian: number (g, b, l), where b
/// counts the real parts of a row and then, if the matrices are complex, the imaginary ones. The same is `units`, those of row b
/// of M^a, if the numbers are in units.
pub fn hessian_times<M: ReadAs<N>, N: Real>(
    size: usize,
    hessian: &[M],
    units: &[N],
    e: &[N],
    out: &mut [N],
) {
    let groups = e.len() / (size * M::GROUP);
    assert_eq!(hessian.len(), groups * Triangle::new(size).len() * M::GROUP);
    let panels = groups * size * M::GROUP;
    assert_eq!((e.len(), out.len()), (panels, panels));
    assert_eq!(units.len(), if M::IN_UNITS { panels } else { 0 });
    arch().dispatch(Times {
        size,
        hessian,
        units,
        e,
        out,
    });
}

pub(super) struct Times<'a, M, N> {
    /// That of the M^a.
    pub(super) size: usize,
    pub(super) hessian: &'a [M],
    pub(super) units: &'a [N],
    pub(super) e: &'a [N],
    pub(super) out: &'a mut [N],
}

impl<M: ReadAs<N>, N: Real> WithSimd for Times<'_, M, N> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let p = self.size;
        let (halves, triangle) = (per_group::<M, N, S>(), Triangle::new(p));
        let (e, units) = (N::vectors::<S>(self.e), N::vectors::<S>(self.units));
        let out = N::vectors_mut::<S>(self.out);
        out.fill(N::splat(simd, N::zeroed()));
        let groups = self
            .hessian
            .chunks_exact(triangle.len() * M::GROUP)
            .zip(e.chunks_exact(p * halves))
            .zip(out.chunks_exact_mut(p * halves));
        for (g, ((m, e), out)) in groups.enumerate() {
            let units = if M::IN_UNITS {
                &units[g * p * halves..][..p * halves]
            } else {
                &[]
            };
            let group = Group {
                triangle,
                rows: m.as_ptr(),
                units: units.as_ptr(),
                e: e.as_ptr(),
                out: out.as_mut_ptr(),
            };
            // SAFETY: `m` was cut to the whole triangle, `e`, `out` and the units to p rows, and b + R ≤ p.
            unsafe {
                // A few rows at a time, which share what they read and write; the same rows for every width of vectors, so that all
                // have the same sums.
                let mut b = 0;
                while b + 4 <= p {
                    (0..halves).for_each(|half| times_rows::<S, M, N, 4>(simd, &group, b, half));
                    b += 4;
                }
                while b < p {
                    (0..halves).for_each(|half| times_rows::<S, M, N, 1>(simd, &group, b, half));
                    b += 1;
                }
            }
        }
    }
}

/// How many vectors of the sums' precision the numbers of a group make.
#[inline(always)]
const fn per_group<M: ReadAs<N>, N: Real, S: Simd>() -> usize {
    const { assert!(M::GROUP.is_multiple_of(width::<N, S>())) };
    M::GROUP / width::<N, S>()
}

/// Where the numbers of one group are.
struct Group<M, V> {
    triangle: Triangle,
    rows: *const M,
    units: *const V,
    e: *const V,
    out: *mut V,
}

/// What rows b..b+R of one group's lower triangles contribute to a product, for vector `half` of the group. Each row has two
/// sums that do not wait for each other.
///
/// # Safety
/// The group must have the rows of the triangle up to row b+R, of [`ReadAs::GROUP`] numbers for each entry, and b+R rows of vectors of `e` and
/// `out`, and of units if there are any; `half` must be less than the number of vectors of a group.
#[inline(always)]
unsafe fn times_rows<S: Simd, M: ReadAs<N>, N: Real, const R: usize>(
    simd: S,
    group: &Group<M, N::Vector<S>>,
    b: usize,
    half: usize,
) {
    let Group {
        triangle, e, out, ..
    } = *group;
    let halves = per_group::<M, N, S>();
    let zero = N::splat(simd, N::zeroed());
    let mut own = [[zero; 2]; R];
    let mut e_own = [zero; R];
    let mut rows = [group.rows; R];
    // In the units of its row, so that entries need not be brought to theirs.
    let scaled = |x: N::Vector<S>, row: usize| {
        if M::IN_UNITS {
            // SAFETY: the caller promises the units of the rows up to b + R.
            N::times(simd, x, unsafe { *group.units.add(row * halves + half) })
        } else {
            x
        }
    };
    for r in 0..R {
        // SAFETY: the caller promises row b + r of the triangle, and of `e`, of `halves` vectors.
        unsafe {
            rows[r] = group.rows.add(triangle.index(b + r, 0) * M::GROUP);
            e_own[r] = scaled(*e.add((b + r) * halves + half), b + r);
        }
    }
    let mut step = |c: usize, u: usize| {
        let at = c * halves + half;
        // SAFETY: c < b: in rows before b of `e` and `out`, and in the entries before the diagonal of rows b to b + R of the
        // triangle.
        unsafe {
            let e_c = *e.add(at);
            let mut sum = *out.add(at);
            for r in 0..R {
                let m = M::load::<S>(rows[r].add(at * width::<N, S>()));
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
        // SAFETY: r < R and half < halves: within row b + r of `out`.
        let place = unsafe { &mut *out.add((b + r) * halves + half) };
        let products = N::plus(simd, own[r][0], own[r][1]);
        let mut sum = N::plus(simd, *place, scaled(products, b + r));
        // The corner of the R rows among themselves.
        for c in 0..R {
            let (row, column) = (r.max(c), r.min(c));
            let entry = ((b + column) * halves + half) * width::<N, S>();
            // SAFETY: column ≤ row < R: entry (b + row, b + column) of the triangle, and row b + c of `e`.
            let (m, x) = unsafe {
                (
                    M::load::<S>(rows[row].add(entry)),
                    *e.add((b + c) * halves + half),
                )
            };
            sum = N::mul_add(simd, m, scaled(x, b + row), sum);
        }
        *place = sum;
    }
}

/// The largest whole number of sixteen bits.
const LARGEST: f32 = i16::MAX as f32;
/// Added to a number of that size, it leaves a whole number in the last bits of the sum: 1.5·2²³.
const SHIFT: f32 = 12_582_912.0;

/// The rows of one group of row blocks of that size, as whole numbers in units of the largest of each.
pub fn round_to_units(size: usize, rows: &[f32], rounded: &mut [i16], units: &mut [f32]) {
    const GROUP: usize = f32::LANES;
    let triangle = Triangle::new(size);
    assert_eq!(rows.len(), triangle.len() * GROUP);
    assert_eq!((rounded.len(), units.len()), (rows.len(), size * GROUP));
    let (rows, _) = rows.as_chunks::<GROUP>();
    let (rounded, _) = rounded.as_chunks_mut::<GROUP>();
    let (units, _) = units.as_chunks_mut::<GROUP>();
    dispatch(
        #[inline(always)]
        || {
            for (b, unit) in units.iter_mut().enumerate() {
                let (row, out) = (&rows[triangle.row(b)], &mut rounded[triangle.row(b)]);
                let mut largest = [0.0_f32; GROUP];
                for numbers in row {
                    for l in 0..GROUP {
                        let size = numbers[l].abs();
                        largest[l] = if size > largest[l] { size } else { largest[l] };
                    }
                }
                let mut inverse = [0.0; GROUP];
                for l in 0..GROUP {
                    unit[l] = largest[l] / LARGEST;
                    inverse[l] = if unit[l] > 0.0 { 1.0 / unit[l] } else { 0.0 };
                }
                for (numbers, out) in row.iter().zip(out) {
                    for l in 0..GROUP {
                        out[l] = (numbers[l] * inverse[l] + SHIFT).to_bits() as i16;
                    }
                }
            }
        },
    );
}
