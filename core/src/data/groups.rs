//! How blocks are dealt out to groups.
//!
//! A group sums over its blocks in order, and the groups' sums are added in order. Which blocks make
//! a group depends on the set's size alone, so that the sums have the same bits on one thread or
//! many, in memory or from disk.

use std::ops::Range;

use crate::linalg::kernels::hessian_len;
use crate::linalg::{self, Scalar, Triangle};

/// At most this many groups of blocks are summed apart, whatever the number of threads.
const GROUPS: usize = 32;

/// Assigns blocks, which hold `lanes` lanes together, to groups.
pub fn deal<T: Scalar>(blocks: usize, lanes: usize, dimension: usize) -> Vec<Range<usize>> {
    // Each group sums a Hessian of its own: together they should not weigh more than the set.
    let bytes = 8 * T::PLANES * Triangle::new(dimension).len() * lanes;
    let hessian_bytes = 8 * hessian_len(dimension, T::PLANES);
    let affordable = bytes.max(64 << 20) / hessian_bytes;
    // Each has two blocks or more, once there are some for a few threads, which are mostly two, four or eight.
    let wanted = (blocks / 2 / 4 * 4).clamp(blocks.min(4), GROUPS);
    let groups = affordable.clamp(1, wanted);
    let edge = |g: usize| g * blocks / groups;
    (0..groups).map(|g| edge(g)..edge(g + 1)).collect()
}

/// How many numbers are summed over a set, if it is for each packed entry of its matrices.
pub fn packed_len<T: Scalar>(p: usize) -> usize {
    T::PLANES * Triangle::new(p).len()
}

/// Adds the sums of one group to those of others.
#[allow(clippy::ptr_arg)] // what the groups' sums are
pub fn add_slices(total: &mut Vec<f64>, part: &Vec<f64>) {
    linalg::add_multiple(total, 1.0, part);
}
