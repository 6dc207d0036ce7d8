//! Sums over the matrices of a block whose rounding does not depend on the SIMD width.
//!
//! Every sum has [`Real::LANES`] partial sums on every processor, in one vector of the widest
//! registers or in several narrower ones. Partial sum l adds the matrices l, l + LANES,
//! l + 2·LANES, …; at the end, the upper half is repeatedly added to the lower half. All processors
//! with fused multiply-add therefore compute bitwise identical results.

use pulp::Simd;

use super::{Real, vectors_per_group};

/// The [`Real::LANES`] partial sums of one quantity, in H vectors.
#[derive(Clone, Copy)]
pub(super) struct LaneSums<R: Real, S: Simd, const H: usize>([R::Vector<S>; H]);

impl<R: Real, S: Simd, const H: usize> LaneSums<R, S, H> {
    #[inline(always)]
    pub fn zero(simd: S) -> Self {
        Self([R::splat(simd, R::zeroed()); H])
    }

    /// Adds x·y to vector `h` of the partial sums.
    #[inline(always)]
    pub fn add_product(&mut self, simd: S, h: usize, x: R::Vector<S>, y: R::Vector<S>) {
        self.0[h] = R::mul_add(simd, x, y, self.0[h]);
    }

    /// Adds x to vector `h` of the partial sums.
    #[inline(always)]
    pub fn add(&mut self, simd: S, h: usize, x: R::Vector<S>) {
        self.0[h] = R::plus(simd, self.0[h], x);
    }

    /// Returns the sum of all partial sums.
    #[inline(always)]
    pub fn total(self) -> f64 {
        R::sum_of_lanes(self.0)
    }
}

/// Evaluates an expression with a constant `$H`, the number of vectors per group:
/// `with_vectors_per_group!(R, S, H => …)`.
macro_rules! with_vectors_per_group {
    ($R:ty, $S:ty, $H:ident => $body:expr) => {
        match $crate::linalg::kernels::vectors_per_group::<$R, $S>() {
            1 => {
                const $H: usize = 1;
                $body
            }
            2 => {
                const $H: usize = 2;
                $body
            }
            4 => {
                const $H: usize = 4;
                $body
            }
            8 => {
                const $H: usize = 8;
                $body
            }
            _ => {
                const $H: usize = 16;
                $body
            }
        }
    };
}
pub(super) use with_vectors_per_group;

/// Returns Σ x·y over two rows.
#[inline(always)]
pub(super) fn dot<R: Real, S: Simd>(simd: S, x: &[R::Vector<S>], y: &[R::Vector<S>]) -> f64 {
    assert!(x.len().is_multiple_of(vectors_per_group::<R, S>()));
    with_vectors_per_group!(R, S, H => {
        let mut sums = LaneSums::<R, S, H>::zero(simd);
        let (x, y) = (x.as_chunks::<H>().0, y.as_chunks::<H>().0);
        for (x, y) in x.iter().zip(y) {
            for h in 0..H {
                sums.add_product(simd, h, x[h], y[h]);
            }
        }
        sums.total()
    })
}

#[cfg(test)]
mod tests {
    use pulp::{Scalar128b, Scalar256b, Scalar512b};

    use super::*;

    fn in_vectors<R: Real, S: Simd>(simd: S, x: &[R], y: &[R]) -> f64 {
        dot::<R, S>(simd, R::vectors::<S>(x), R::vectors::<S>(y))
    }

    fn dots<R: Real>() -> [f64; 3] {
        let row = |seed: usize| -> Vec<R> {
            let entry = |k: usize| ((k * 7919 + seed * 104_729) % 1009) as f64 / 1009.0 - 0.4;
            (0..5 * R::LANES).map(|k| R::rounded(entry(k))).collect()
        };
        let (x, y) = (row(1), row(2));
        [
            in_vectors(Scalar128b, &x, &y),
            in_vectors(Scalar256b, &x, &y),
            in_vectors(Scalar512b, &x, &y),
        ]
    }

    #[test]
    fn dot_products_do_not_depend_on_vector_width() {
        let singles = dots::<f32>();
        assert_eq!(singles, [singles[0]; 3]);
        let doubles = dots::<f64>();
        assert_eq!(doubles, [doubles[0]; 3]);
    }
}
