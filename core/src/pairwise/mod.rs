//! Pair by pair: sweeps over all pairs of components, each transformed by the best 2×2 matrix.

pub(crate) mod jacobi;
pub(crate) mod pham;

/// Every pair a > b of p components, in the order of a sweep.
fn pairs(p: usize) -> impl Iterator<Item = (usize, usize)> {
    (1..p).flat_map(|a| (0..a).map(move |b| (a, b)))
}
