//! Division of a memory limit.
//!
//! Each thread of a data pass needs a few pieces of the file and one block. In addition, the groups
//! in progress need memory for their sums and Hessians. The rest of the memory limit is used for
//! the tables of the line search, which save data passes, and then for keeping blocks, which saves
//! reading.

use crate::backend::COMBINATIONS_AT_ONCE;
use crate::linalg::Triangle;
use crate::linalg::kernels::{LANES, congruence_scratch, hessian_len};
use crate::tuning::DEFAULT_HESSIAN_MEMORY;
use crate::{Error, Memory};

/// Number of pieces of the file in memory for each thread: waiting, being read, or being processed.
pub const PIECES_PER_THREAD: usize = 4;
/// Approximate size of a piece of the file in bytes. A piece has at least eight matrices.
const PIECE_BYTES: usize = 1 << 20;

/// Properties of a set that determine how its memory limit is divided.
pub struct PlanInput {
    /// Number of matrices.
    pub n: usize,
    /// 1 for real matrices, 2 for complex matrices.
    pub planes: usize,
    /// Size of the matrices in the file.
    pub channels: usize,
    /// Size of the matrices after reduction.
    pub dimension: usize,
    /// Number of matrices in a block.
    pub capacity: usize,
    /// Number of bytes of the file that are read for each matrix.
    pub span: usize,
    /// `capacity` and `span` for a sample of the set, which shares the memory limit.
    pub sample: (usize, usize),
    /// Whether the numbers in the file are converted to `f64`.
    pub converted: bool,
    /// Whether there are weights.
    pub weighted: bool,
    /// Whether the criterion is least squares, which needs a product of each matrix with A.
    pub fitted: bool,
}

/// Division of a memory limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Number of computing threads. Each has another thread that reads.
    pub threads: usize,
    /// Maximum number of groups that are in progress or wait to be added.
    pub window: usize,
    /// Whether exact Hessians are stored.
    pub hessian: bool,
    /// Number of matrices in one piece of the file.
    pub piece: usize,
    /// Number of blocks whose line-search tables are kept in memory.
    pub lines: usize,
    /// Number of blocks that are kept in memory.
    pub kept: usize,
    /// Whether the tables of a result fit into the memory limit.
    pub tables: bool,
}

impl PlanInput {
    /// Divides `memory` for at most this number of threads. Fails if it is not sufficient for one
    /// thread.
    pub fn plan(&self, memory: Memory, threads: usize) -> Result<Plan, Error> {
        let limit = usize::try_from(memory.0).unwrap_or(usize::MAX);
        let choices = (1..=threads.max(1)).rev().flat_map(|threads| {
            let windows = [2 * threads, threads];
            windows.map(|window| (threads, window))
        });
        for (threads, window) in choices {
            let fixed = self.fixed(threads, window);
            if fixed > limit {
                continue;
            }
            let blocks = self.n.div_ceil(self.capacity);
            let left = limit - fixed;
            let line = 8 * 3 * self.dimension * self.capacity;
            let lines = blocks.min(left / line);
            let numbers = self.planes * Triangle::new(self.dimension).len() + 1;
            let block = 8 * numbers * self.capacity;
            return Ok(Plan {
                threads,
                window,
                hessian: self.stores_hessian(),
                piece: self.piece(self.span),
                lines,
                kept: blocks.min((left - lines * line) / block),
                tables: 8 * self.n * (self.dimension + 3) <= left,
            });
        }
        Err(Error::Memory {
            smallest: Memory(round_up(self.fixed(1, 1) as u64)),
            given: memory,
        })
    }

    /// Returns the number of matrices in a piece, a multiple of eight. `span` bytes are read for
    /// each.
    fn piece(&self, span: usize) -> usize {
        let most = self.capacity - self.capacity % LANES;
        let some = PIECE_BYTES / span;
        (some - some % LANES).clamp(LANES, most)
    }

    /// Whether exact Hessians are stored, as they are in a solve in memory.
    fn stores_hessian(&self) -> bool {
        8 * hessian_len(self.dimension, self.planes) <= DEFAULT_HESSIAN_MEMORY
    }

    /// Returns the number of bytes that each data pass needs.
    fn fixed(&self, threads: usize, window: usize) -> usize {
        let (p, r) = (self.channels, self.dimension);
        let lanes = self.capacity.max(self.sample.0);
        let width = r.next_multiple_of(LANES);
        let hessian = if self.stores_hessian() {
            hessian_len(r, self.planes)
        } else {
            0
        };
        // Scratch memory of the kernels.
        let scratch =
            congruence_scratch(r, p, 1) + lanes * (2 * width + 1) + (768 + 24 * r) * width;
        // Kernels for complex matrices also store the coefficients of their products.
        let scratch = self.planes * self.planes * scratch;
        let products = if self.fitted { self.planes * r * r } else { 0 };
        let entries = self.planes * (Triangle::new(p).len() + 2 * Triangle::new(r).len());
        let blocks = (entries + products + 6 * r + 4) * lanes;
        let pieces = PIECES_PER_THREAD * self.piece(self.span) * self.planes * p * p;
        let through = |span: usize| self.piece(span) * span;
        let bytes = if self.converted {
            through(self.span)
        } else {
            0
        };
        let bytes = if self.sample.1 > self.span {
            bytes.max(through(self.sample.1))
        } else {
            bytes
        };
        let packed = self.planes * Triangle::new(r).len();
        // Sums of the spectral starting point, with operands and results of the same size.
        let start = (window + 6) * COMBINATIONS_AT_ONCE * packed;
        let sums = (1 + self.planes) * r * r + hessian;
        let weights = if self.weighted { self.n } else { 0 };
        // The solver holds a copy of the Hessian, and about a dozen p×p matrices.
        let iterations = (window + 1) * sums + hessian;
        let shared = start.max(iterations) + 12 * self.planes * p * p + weights;
        8 * (threads * (scratch + blocks + pieces) + shared) + threads * bytes
    }
}

/// Rounds up to two digits, so that the printed memory limit is sufficient.
fn round_up(bytes: u64) -> u64 {
    let unit = 10_u64.pow(bytes.max(10).ilog10() - 1);
    bytes.next_multiple_of(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needs(n: usize, p: usize) -> PlanInput {
        PlanInput {
            n,
            channels: p,
            dimension: p,
            planes: 1,
            capacity: crate::data::Block::<f64>::capacity(p),
            span: 8 * p * p,
            sample: (crate::data::Block::<f64>::capacity(p), 8 * p * p),
            converted: false,
            weighted: false,
            fitted: false,
        }
    }

    #[test]
    fn larger_memory_limit_keeps_more_and_smallest_memory_limit_is_sufficient() {
        for (n, p) in [(50_000, 40), (1_000_000, 4), (500, 200), (3, 1)] {
            let needs = needs(n, p);
            let Err(Error::Memory { smallest, .. }) = needs.plan(Memory(1), 4) else {
                panic!("a byte is not enough");
            };
            let least = needs.plan(smallest, 4).unwrap();
            assert_eq!(least.threads, 1);
            assert!(needs.plan(Memory(smallest.0 * 9 / 10), 4).is_err());
            assert_eq!(smallest.to_string().parse(), Ok(smallest));
            let blocks = n.div_ceil(needs.capacity);
            let mut before = least;
            for shift in 1..24 {
                let plan = needs.plan(Memory(smallest.0 << shift), 4).unwrap();
                if plan.threads == before.threads && plan.window == before.window {
                    assert!(plan.lines >= before.lines);
                    assert!(plan.lines + plan.kept >= before.lines + before.kept);
                }
                before = plan;
            }
            assert_eq!(
                (before.threads, before.lines, before.kept, before.tables),
                (4, blocks, blocks, true),
                "{n} {p}"
            );
        }
    }
}
