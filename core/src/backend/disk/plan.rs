//! How a budget of memory is spent.
//!
//! First what no pass can do without: for each thread a few pieces of the file and one block on its
//! way; the sums of the groups under way, and the Hessians among them. Then, while there is room, the
//! tables of the line search, which save whole passes, and blocks, which save reading.

use crate::backend::COMBINATIONS_AT_ONCE;
use crate::linalg::Triangle;
use crate::linalg::kernels::{LANES, congruence_scratch, hessian_len};
use crate::tuning::DEFAULT_HESSIAN_MEMORY;
use crate::{Error, Memory};

/// Pieces of the file that wait, are read and are worked on, for each thread.
pub const PIECES: usize = 4;
/// Pieces of the file have about this many bytes, but at least eight matrices.
const PIECE: usize = 1 << 20;

/// What a plan depends on.
pub struct Needs {
    /// The number of matrices.
    pub n: usize,
    /// 1, or 2 if they are complex.
    pub planes: usize,
    /// Their size in the file.
    pub channels: usize,
    /// Their size when they are diagonalized.
    pub dimension: usize,
    /// How many a block holds.
    pub capacity: usize,
    /// How many bytes of the file are read for each.
    pub span: usize,
    /// As the two above, for a sample of the set, which has the same budget.
    pub sample: (usize, usize),
    /// Whether they are read by way of other bytes.
    pub converted: bool,
    /// Whether weights are kept.
    pub weighted: bool,
    /// Whether they are fitted as they came, which takes a product of each with A.
    pub fitted: bool,
}

/// How the budget is spent.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Threads that compute; each has another one that reads.
    pub threads: usize,
    /// How many groups may be under way or wait for their turn to be added.
    pub window: usize,
    /// Whether exact Hessians are stored.
    pub hessian: bool,
    /// Matrices in one piece of the file.
    pub piece: usize,
    /// For how many blocks the tables of a line are kept.
    pub lines: usize,
    /// How many blocks are kept.
    pub kept: usize,
    /// Whether there is room for the tables of an answer.
    pub tables: bool,
}

impl Needs {
    /// Spends `memory` on at most so many threads.
    pub fn plan(&self, memory: Memory, threads: usize) -> Result<Plan, Error> {
        let budget = usize::try_from(memory.0).unwrap_or(usize::MAX);
        let choices = (1..=threads.max(1)).rev().flat_map(|threads| {
            let windows = [2 * threads, threads];
            windows.map(|window| (threads, window))
        });
        for (threads, window) in choices {
            let fixed = self.fixed(threads, window);
            if fixed > budget {
                continue;
            }
            let blocks = self.n.div_ceil(self.capacity);
            let left = budget - fixed;
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

    /// Matrices in a piece for which that many bytes each are read: a multiple of eight.
    fn piece(&self, span: usize) -> usize {
        let most = self.capacity - self.capacity % LANES;
        let some = PIECE / span;
        (some - some % LANES).clamp(LANES, most)
    }

    /// Whether exact Hessians are stored: where a solve in memory would do so too.
    fn stores_hessian(&self) -> bool {
        8 * hessian_len(self.dimension, self.planes) <= DEFAULT_HESSIAN_MEMORY
    }

    /// The bytes without which no pass can do.
    fn fixed(&self, threads: usize, window: usize) -> usize {
        let (p, r) = (self.channels, self.dimension);
        let lanes = self.capacity.max(self.sample.0);
        let width = r.next_multiple_of(LANES);
        let hessian = if self.stores_hessian() {
            hessian_len(r, self.planes)
        } else {
            0
        };
        // What the kernels take for their own.
        let scratch =
            congruence_scratch(r, p, 1) + lanes * (2 * width + 1) + (768 + 24 * r) * width;
        // Those of complex matrices have the coefficients of their products besides.
        let scratch = self.planes * self.planes * scratch;
        let products = if self.fitted { self.planes * r * r } else { 0 };
        let entries = self.planes * (Triangle::new(p).len() + 2 * Triangle::new(r).len());
        let blocks = (entries + products + 6 * r + 4) * lanes;
        let pieces = PIECES * self.piece(self.span) * self.planes * p * p;
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
        // The start sums for some matrices at once, and has as many before and after.
        let start = (window + 6) * COMBINATIONS_AT_ONCE * packed;
        let sums = (1 + self.planes) * r * r + hessian;
        let weights = if self.weighted { self.n } else { 0 };
        // The solver holds the Hessian once more, and a dozen p×p matrices.
        let iterations = (window + 1) * sums + hessian;
        let shared = start.max(iterations) + 12 * self.planes * p * p + weights;
        8 * (threads * (scratch + blocks + pieces) + shared) + threads * bytes
    }
}

/// To two digits, so that the number that is printed works too.
fn round_up(bytes: u64) -> u64 {
    let unit = 10_u64.pow(bytes.max(10).ilog10() - 1);
    bytes.next_multiple_of(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needs(n: usize, p: usize) -> Needs {
        Needs {
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
    fn a_larger_budget_keeps_more_and_the_smallest_works() {
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
