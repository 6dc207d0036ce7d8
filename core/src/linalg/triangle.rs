//! Indices of the packed lower triangle of a symmetric matrix.

use std::ops::Range;

/// The lower triangle of a p×p matrix, stored row after row: entry (a, b), b ≤ a, is number
/// a(a+1)/2 + b. All index arithmetic of packed triangles is here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Triangle {
    size: usize,
}

impl Triangle {
    /// The triangle of a p×p matrix.
    ///
    /// # Panics
    /// If the number of entries overflows.
    #[inline(always)]
    pub const fn new(p: usize) -> Self {
        assert!(
            p <= (usize::MAX >> (usize::BITS / 2)),
            "the triangle of a matrix of that size has more entries than can be counted"
        );
        Self { size: p }
    }

    /// The largest triangle of at most that many entries.
    pub const fn of_len(len: usize) -> Self {
        Self::new(((8 * len + 1).isqrt() - 1) / 2)
    }

    /// The size p of the matrix.
    #[inline(always)]
    pub const fn size(self) -> usize {
        self.size
    }

    /// The number of entries stored, p(p+1)/2.
    #[inline(always)]
    #[allow(clippy::len_without_is_empty)] // a number of entries, not a collection
    pub const fn len(self) -> usize {
        row_start(self.size)
    }

    /// The number of entry (a, b), and so of (b, a). Outside the matrix the result is at least
    /// [`len`](Self::len), so that an access by it fails.
    #[inline(always)]
    pub const fn index(self, a: usize, b: usize) -> usize {
        debug_assert!(a < self.size && b < self.size);
        if a >= b {
            row_start(a) + b
        } else {
            row_start(b) + a
        }
    }

    /// The number of entry (a, a).
    #[inline(always)]
    pub const fn diagonal(self, a: usize) -> usize {
        self.index(a, a)
    }

    /// The numbers of the entries (a, 0) to (a, a).
    #[inline(always)]
    #[allow(clippy::unused_self)] // rows begin at the same places in triangles of any size
    pub const fn row(self, a: usize) -> Range<usize> {
        row_start(a)..row_start(a + 1)
    }

    /// All pairs (a, b) with b ≤ a, in the order in which they are stored.
    #[inline(always)]
    pub fn pairs(self) -> impl Iterator<Item = (usize, usize)> + Clone {
        (0..self.size).flat_map(|a| (0..=a).map(move |b| (a, b)))
    }
}

/// The number of the first entry of row `a`.
#[inline(always)]
const fn row_start(a: usize) -> usize {
    a * (a + 1) / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_count_the_pairs_in_order() {
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
    #[should_panic(expected = "more entries than can be counted")]
    fn overflowing_triangle_panics() {
        Triangle::new(1 << 32);
    }
}
