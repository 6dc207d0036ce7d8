//! Index arithmetic of packed lower triangles.

use std::ops::Range;

/// The packed lower triangle of a p×p matrix in row-major order: entry (a, b), b ≤ a, has index
/// a(a+1)/2 + b.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Triangle {
    size: usize,
}

impl Triangle {
    /// Returns the triangle of a p×p matrix.
    ///
    /// # Panics
    /// If the number of entries overflows.
    #[inline(always)]
    pub const fn new(p: usize) -> Self {
        assert!(
            p <= (usize::MAX >> (usize::BITS / 2)),
            "the number of entries of the triangle overflows"
        );
        Self { size: p }
    }

    /// Returns the largest triangle with at most `len` entries.
    pub const fn of_len(len: usize) -> Self {
        Self::new(((8 * len + 1).isqrt() - 1) / 2)
    }

    /// Returns the size p of the matrix.
    #[inline(always)]
    pub const fn size(self) -> usize {
        self.size
    }

    /// Returns the number of stored entries, p(p+1)/2.
    #[inline(always)]
    #[allow(clippy::len_without_is_empty)] // a number of entries, not a collection
    pub const fn len(self) -> usize {
        row_start(self.size)
    }

    /// Returns the index of entry (a, b), which is also that of (b, a). Outside the matrix the
    /// result is at least [`len`](Self::len), so that a checked access fails.
    #[inline(always)]
    pub const fn index(self, a: usize, b: usize) -> usize {
        debug_assert!(a < self.size && b < self.size);
        if a >= b {
            row_start(a) + b
        } else {
            row_start(b) + a
        }
    }

    /// Returns the index of entry (a, a).
    #[inline(always)]
    pub const fn diagonal(self, a: usize) -> usize {
        self.index(a, a)
    }

    /// Returns the indices of the entries (a, 0) to (a, a).
    #[inline(always)]
    #[allow(clippy::unused_self)] // the index does not depend on the size
    pub const fn row(self, a: usize) -> Range<usize> {
        row_start(a)..row_start(a + 1)
    }

    /// Returns all pairs (a, b) with b ≤ a, in storage order.
    #[inline(always)]
    pub fn pairs(self) -> impl Iterator<Item = (usize, usize)> + Clone {
        (0..self.size).flat_map(|a| (0..=a).map(move |b| (a, b)))
    }
}

/// Returns the index of the first entry of row `a`.
#[inline(always)]
const fn row_start(a: usize) -> usize {
    a * (a + 1) / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_follow_the_order_of_pairs() {
        for p in 0..20 {
            let triangle = Triangle::new(p);
            let indices: Vec<usize> = triangle
                .pairs()
                .map(|(a, b)| triangle.index(a, b))
                .collect();
            assert_eq!(indices, (0..triangle.len()).collect::<Vec<_>>());
            assert_eq!(Triangle::of_len(triangle.len()), triangle);
            for (a, b) in triangle.pairs() {
                assert_eq!(triangle.index(a, b), triangle.index(b, a));
                assert_eq!(triangle.row(a).nth(b), Some(triangle.index(a, b)));
            }
            for a in 0..p {
                assert_eq!(triangle.row(a).last(), Some(triangle.diagonal(a)));
            }
        }
    }

    #[test]
    fn triangle_functions_are_const() {
        const LEN: usize = Triangle::new(4).len();
        const LAST: usize = Triangle::new(4).diagonal(3);
        assert_eq!((LEN, LAST), (10, 9));
    }

    #[test]
    #[should_panic(expected = "overflows")]
    fn overflowing_triangle_panics() {
        Triangle::new(1 << 32);
    }
}
