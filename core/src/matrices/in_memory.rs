//! The working set whose matrices are all in memory, shared out among threads.

use super::{Block, MatrixSet, Probe, WorkingSet};
use crate::Error;
use crate::linalg::Matrix;
use crate::linalg::kernels::{self, MomentSums, PairSums, Slope, packed};
use crate::statistics::{Hessian, Statistics};
use crate::threads::Workers;

/// At most this many groups of blocks are summed apart, whatever the number of threads.
const GROUPS: usize = 32;

/// The matrices Dⁱ in memory.
///
/// Blocks are dealt out to groups by the set's size alone. A group sums over its blocks in order,
/// and the groups' sums are added in order: the same bits on one thread or many.
pub struct InMemory<'a> {
    dimension: usize,
    groups: Vec<Group<'a>>,
    workers: Workers,
}

struct Group<'a> {
    blocks: Vec<Moving<'a>>,
    // Kept from sweep to sweep, so that none allocates.
    scratch: Vec<f64>,
    hessian: Vec<f64>,
}

/// A block of the set on its way.
struct Moving<'a> {
    original: &'a Block,
    /// Dⁱ.
    entries: Vec<f64>,
    /// E Dⁱ + (E Dⁱ)ᵀ of the probed direction.
    cross: Vec<f64>,
    /// E Dⁱ Eᵀ of the probed direction.
    square: Vec<f64>,
}

impl<'a> InMemory<'a> {
    /// The set, nowhere yet: the first call must be [`reset`](WorkingSet::reset).
    pub(crate) fn new(set: &'a MatrixSet, workers: Workers) -> Self {
        let blocks = set.blocks();
        // Each group sums a Hessian of its own: together they should not weigh more than the set.
        let hessian_bytes = 8 * kernels::hessian_len(set.dimension());
        let affordable = set.bytes().max(64 << 20) / hessian_bytes;
        let groups = affordable.clamp(1, GROUPS).min(blocks.len());
        let groups = (0..groups).map(|g| {
            let range = g * blocks.len() / groups..(g + 1) * blocks.len() / groups;
            let blocks = blocks[range].iter().map(|original| Moving {
                original,
                entries: Vec::new(),
                cross: Vec::new(),
                square: Vec::new(),
            });
            Group {
                blocks: blocks.collect(),
                scratch: Vec::new(),
                hessian: Vec::new(),
            }
        });
        Self {
            dimension: set.dimension(),
            groups: groups.collect(),
            workers,
        }
    }

    /// Sums over the set what `work` makes of each group.
    fn sum<R: Send>(
        &mut self,
        work: impl Fn(&mut Group) -> R + Sync + Send,
        mut add: impl FnMut(&mut R, R),
    ) -> R {
        let mut slots: Vec<(&mut Group, Option<R>)> =
            self.groups.iter_mut().map(|g| (g, None)).collect();
        self.workers
            .each(&mut slots, |(group, result)| *result = Some(work(group)));
        let mut results = slots.into_iter().filter_map(|(_, result)| result);
        let mut total = results.next().expect("a set has at least one group");
        results.for_each(|result| add(&mut total, result));
        total
    }

    fn moments(&mut self, advance: Option<(f64, &[f64])>) -> Statistics {
        let p = self.dimension;
        let sums = self.sum(
            |group| {
                let mut sums = MomentSums::new(p);
                for block in &mut group.blocks {
                    let weights = &block.original.weights;
                    if let Some((alpha, scale)) = advance {
                        let (cross, square) = (&block.cross, &block.square);
                        let lanes = weights.len();
                        kernels::advance(&mut block.entries, cross, square, lanes, alpha, scale);
                    }
                    let scratch = &mut group.scratch;
                    kernels::accumulate_moments(p, &block.entries, weights, &mut sums, scratch);
                }
                sums
            },
            |total, sums| total.add(&sums),
        );
        Statistics {
            gradient: sums.gradient,
            gamma: sums.gamma,
        }
    }

    /// Gradient and Γ at the current D.
    pub(crate) fn sums(&mut self) -> Statistics {
        self.moments(None)
    }

    /// The diagonals Dⁱ_aa, one row a matrix of the set.
    pub(crate) fn powers(&self) -> Vec<f64> {
        let p = self.dimension;
        let matrices = self.groups.iter().flat_map(|g| &g.blocks);
        let n: usize = matrices.map(|b| b.original.matrices).sum();
        let mut powers = Vec::with_capacity(n * p);
        for block in self.groups.iter().flat_map(|g| &g.blocks) {
            let lanes = block.original.lanes();
            for lane in 0..block.original.matrices {
                powers.extend((0..p).map(|a| block.entries[packed(a, a) * lanes + lane]));
            }
        }
        powers
    }

    /// Σ_i w_i Σ_a log Dⁱ_aa.
    pub(crate) fn log_powers(&mut self) -> f64 {
        let p = self.dimension;
        self.sum(
            |group| {
                let mut total = 0.0;
                for block in &group.blocks {
                    let weights = &block.original.weights;
                    let lanes = weights.len();
                    let mut logs = vec![0.0; lanes];
                    kernels::diagonal_logs(p, &block.entries, lanes, &mut logs);
                    total += crate::linalg::dot(weights, &logs);
                }
                total
            },
            |total, part| *total += part,
        )
    }

    /// The sums for one pair of components.
    pub(crate) fn pair_sums(&mut self, a: usize, b: usize) -> PairSums {
        self.sum(
            |group| {
                let mut sums = PairSums::default();
                for block in &group.blocks {
                    sums += kernels::pair_sums(&block.entries, &block.original.weights, a, b);
                }
                sums
            },
            |total, sums| *total += sums,
        )
    }

    /// Rows (a, b) ← (a + e_ab·b, b + e_ba·a) on both sides of every matrix.
    pub(crate) fn rotate_pair(&mut self, pair: (usize, usize), e: (f64, f64)) {
        let p = self.dimension;
        self.workers.each(&mut self.groups, |group| {
            for block in &mut group.blocks {
                let lanes = block.original.lanes();
                kernels::rotate_pair(p, &mut block.entries, lanes, pair, e);
            }
        });
    }
}

impl WorkingSet for InMemory<'_> {
    fn dimension(&self) -> usize {
        self.dimension
    }

    fn reset(&mut self, b: &Matrix) -> Result<f64, Error> {
        self.workers.each(&mut self.groups, |group| {
            for block in &mut group.blocks {
                block.entries.resize(block.original.entries.len(), 0.0);
                let task = kernels::Congruence {
                    transform: b,
                    input: &block.original.entries,
                    lanes: block.original.lanes(),
                    square: &mut block.entries,
                    cross: None,
                };
                kernels::congruence(task, &mut group.scratch);
            }
        });
        Ok(self.log_powers())
    }

    fn mean(&mut self) -> Result<Matrix, Error> {
        let p = self.dimension;
        let sums = self.sum(
            |group| {
                let mut sums = vec![0.0; kernels::packed_len(p)];
                for block in &group.blocks {
                    kernels::combine(&block.entries, &block.original.weights, &mut sums);
                }
                sums
            },
            |total, sums| total.iter_mut().zip(sums).for_each(|(x, y)| *x += y),
        );
        Ok(Matrix::from_fn(p, p, |a, b| sums[packed(a, b)]))
    }

    fn statistics(&mut self) -> Result<Statistics, Error> {
        Ok(self.sums())
    }

    fn hessian(&mut self, hessian: &mut Hessian) -> Result<(), Error> {
        let p = self.dimension;
        self.workers.each(&mut self.groups, |group| {
            group.hessian.clear();
            group.hessian.resize(kernels::hessian_len(p), 0.0);
            for block in &group.blocks {
                let (entries, weights) = (&block.entries, &block.original.weights);
                let (rows, scratch) = (&mut group.hessian, &mut group.scratch);
                kernels::accumulate_hessian(p, entries, weights, rows, scratch);
            }
        });
        let rows = hessian.rows_mut();
        rows.copy_from_slice(&self.groups[0].hessian);
        for group in &self.groups[1..] {
            rows.iter_mut()
                .zip(&group.hessian)
                .for_each(|(x, y)| *x += y);
        }
        Ok(())
    }

    fn hessian_product(&mut self, e: &Matrix) -> Result<Matrix, Error> {
        let p = self.dimension;
        let mut product = self.sum(
            |group| {
                let mut sums = Matrix::zeros(p, p);
                for block in &group.blocks {
                    let (entries, weights) = (&block.entries, &block.original.weights);
                    let scratch = &mut group.scratch;
                    kernels::accumulate_product(e, entries, weights, &mut sums, scratch);
                }
                sums
            },
            |total, sums| {
                let pairs = total.as_mut_slice().iter_mut().zip(sums.as_slice());
                pairs.for_each(|(x, y)| *x += y);
            },
        );
        Hessian::add_transposed(&mut product, e);
        Ok(product)
    }

    fn probe(&mut self, e: &Matrix) -> Result<Probe, Error> {
        let p = self.dimension;
        let (linear, quadratic) = self.sum(
            |group| {
                let mut sums = (vec![0.0; p], vec![0.0; p]);
                for block in &mut group.blocks {
                    block.cross.resize(block.entries.len(), 0.0);
                    block.square.resize(block.entries.len(), 0.0);
                    let weights = &block.original.weights;
                    let lanes = weights.len();
                    let task = kernels::Congruence {
                        transform: e,
                        input: &block.entries,
                        lanes,
                        square: &mut block.square,
                        cross: Some(&mut block.cross),
                    };
                    kernels::congruence(task, &mut group.scratch);
                    for a in 0..p {
                        let row = packed(a, a) * lanes..(packed(a, a) + 1) * lanes;
                        sums.0[a] += crate::linalg::dot(&block.cross[row.clone()], weights);
                        sums.1[a] += crate::linalg::dot(&block.square[row], weights);
                    }
                }
                sums
            },
            |total, sums| {
                total.0.iter_mut().zip(sums.0).for_each(|(x, y)| *x += y);
                total.1.iter_mut().zip(sums.1).for_each(|(x, y)| *x += y);
            },
        );
        Ok(Probe { linear, quadratic })
    }

    fn slope(&mut self, alpha: f64) -> Result<Slope, Error> {
        let p = self.dimension;
        let work = |group: &mut Group| {
            let mut sums = Slope::default();
            for block in &group.blocks {
                let (cross, square) = (&block.cross, &block.square);
                let weights = &block.original.weights;
                sums += kernels::slope(p, &block.entries, cross, square, weights, alpha);
            }
            sums
        };
        Ok(self.sum(work, |total, sums| *total += sums))
    }

    fn advance(&mut self, alpha: f64, scale: &[f64]) -> Result<Statistics, Error> {
        Ok(self.moments(Some((alpha, scale))))
    }
}
