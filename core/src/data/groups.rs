//! Partition of the blocks of a set into groups.
//!
//! Each group sums over its blocks in order, and the sums of the groups are added in order. The
//! partition depends only on the size of the set. Sums are therefore bitwise identical for any
//! number of threads, in memory or on disk.

use std::ops::Range;

use crate::linalg::kernels::hessian_len;
use crate::linalg::{self, Scalar, Triangle};

/// Maximum number of groups, for any number of threads.
const MAX_GROUPS: usize = 32;

/// Partitions blocks into groups. `lanes` is the total number of their lanes.
pub fn partition_blocks<T: Scalar>(
    blocks: usize,
    lanes: usize,
    dimension: usize,
) -> Vec<Range<usize>> {
    // Each group sums its own Hessian: all of them should not need more memory than the set.
    let bytes = 8 * T::PLANES * Triangle::new(dimension).len() * lanes;
    let hessian_bytes = 8 * hessian_len(dimension, T::PLANES);
    let affordable = bytes.max(64 << 20) / hessian_bytes;
    // At least two blocks per group, and a multiple of four groups, if there are enough blocks.
    let wanted = (blocks / 2 / 4 * 4).clamp(blocks.min(4), MAX_GROUPS);
    let groups = affordable.clamp(1, wanted);
    let edge = |g: usize| g * blocks / groups;
    (0..groups).map(|g| edge(g)..edge(g + 1)).collect()
}

/// Returns the number of packed entries of a p×p matrix.
pub fn packed_len<T: Scalar>(p: usize) -> usize {
    T::PLANES * Triangle::new(p).len()
}

/// Adds the sums of one group to the total.
#[allow(clippy::ptr_arg)] // signature of a reduction over groups
pub fn add_slices(total: &mut Vec<f64>, part: &Vec<f64>) {
    linalg::add_multiple(total, 1.0, part);
}
