//! The working set whose matrices are all in memory, shared out among threads.

use std::sync::Arc;

use super::build::weighted_mean;
use super::start_sums;
use super::{Block, Ending, MatrixSet, Pairs, Probe, Summary, Tables, WorkingSet};
use crate::Error;
use crate::linalg::kernels::{self, MomentSums, PairSums, Slope, packed, packed_len};
use crate::linalg::{self, Matrix};
use crate::statistics::{Hessian, Statistics};
use crate::threads::Workers;

/// At most this many groups of blocks are summed apart, whatever the number of threads.
const GROUPS: usize = 32;

/// The matrices Dⁱ in memory.
///
/// Blocks are dealt out to groups by the set's size alone. A group sums over its blocks in order,
/// and the groups' sums are added in order: the same bits on one thread or many.
pub struct InMemory {
    summary: Summary,
    log_dets: Arc<[f64]>,
    groups: Vec<Group>,
    workers: Workers,
}

struct Group {
    blocks: Vec<Moving>,
    // Kept from sweep to sweep, so that none allocates.
    scratch: Vec<f64>,
    hessian: Vec<f64>,
}

/// A block of the set on its way.
struct Moving {
    original: Arc<Block>,
    /// 1 / s_i, once the matrices have been balanced.
    inverse_sizes: Vec<f64>,
    /// Dⁱ.
    entries: Vec<f64>,
    /// E Dⁱ + (E Dⁱ)ᵀ of the probed direction.
    cross: Vec<f64>,
    /// E Dⁱ Eᵀ of the probed direction.
    square: Vec<f64>,
}

impl InMemory {
    /// The set, nowhere yet: [`reset`](WorkingSet::reset) comes before all that concerns D. At most
    /// that many threads are used, as many as pay if None.
    pub fn new(set: &MatrixSet, threads: Option<usize>) -> Self {
        let workers = Workers::new(threads, set.len(), set.dimension());
        let log_dets = Arc::clone(&set.log_dets);
        Self::of_blocks(set.blocks(), set.summary().clone(), log_dets, workers)
    }

    fn of_blocks(
        blocks: &[Arc<Block>],
        summary: Summary,
        log_dets: Arc<[f64]>,
        workers: Workers,
    ) -> Self {
        // Each group sums a Hessian of its own: together they should not weigh more than the set.
        let bytes: usize = blocks.iter().map(|b| 8 * b.entries.len()).sum();
        let hessian_bytes = 8 * kernels::hessian_len(summary.dimension());
        let affordable = bytes.max(64 << 20) / hessian_bytes;
        let groups = affordable.clamp(1, GROUPS).min(blocks.len());
        let groups = (0..groups).map(|g| {
            let range = g * blocks.len() / groups..(g + 1) * blocks.len() / groups;
            let blocks = blocks[range].iter().map(|original| Moving {
                original: Arc::clone(original),
                inverse_sizes: Vec::new(),
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
            groups: groups.collect(),
            summary,
            log_dets,
            workers,
        }
    }

    fn dimension(&self) -> usize {
        self.summary.dimension()
    }

    fn blocks(&self) -> impl Iterator<Item = &Moving> {
        self.groups.iter().flat_map(|group| &group.blocks)
    }

    /// Sums over the set what `work` makes of each group.
    fn sum<R: Send>(
        &mut self,
        work: impl Fn(&mut Group) -> R + Sync + Send,
        mut add: impl FnMut(&mut R, &R),
    ) -> R {
        let mut slots: Vec<(&mut Group, Option<R>)> =
            self.groups.iter_mut().map(|g| (g, None)).collect();
        self.workers
            .each(&mut slots, |(group, result)| *result = Some(work(group)));
        let mut results = slots.into_iter().filter_map(|(_, result)| result);
        let mut total = results.next().expect("a set has at least one group");
        results.for_each(|result| add(&mut total, &result));
        total
    }

    fn moments(&mut self, advance: Option<(f64, &[f64])>) -> Statistics {
        let p = self.dimension();
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
            MomentSums::add,
        );
        Statistics {
            gradient: sums.gradient,
            gamma: sums.gamma,
        }
    }
}

impl Pairs for InMemory {
    fn pair_sums(&mut self, a: usize, b: usize) -> PairSums {
        self.sum(
            |group| {
                let mut sums = PairSums::default();
                for block in &group.blocks {
                    sums += kernels::pair_sums(&block.entries, &block.original.weights, a, b);
                }
                sums
            },
            |total, sums| *total += *sums,
        )
    }

    fn rotate_pair(&mut self, pair: (usize, usize), e: (f64, f64)) {
        let p = self.dimension();
        self.workers.each(&mut self.groups, |group| {
            for block in &mut group.blocks {
                let lanes = block.original.lanes();
                kernels::rotate_pair(p, &mut block.entries, lanes, pair, e);
            }
        });
    }

    fn log_powers(&mut self) -> f64 {
        let p = self.dimension();
        self.sum(
            |group| {
                let mut total = 0.0;
                for block in &group.blocks {
                    let weights = &block.original.weights;
                    let lanes = weights.len();
                    let mut logs = vec![0.0; lanes];
                    kernels::diagonal_logs(p, &block.entries, lanes, &mut logs);
                    total += linalg::dot(weights, &logs);
                }
                total
            },
            |total, part| *total += *part,
        )
    }
}

impl WorkingSet for InMemory {
    fn summary(&self) -> &Summary {
        &self.summary
    }

    fn sample(&mut self, step: usize) -> Result<Option<Self>, Error> {
        let p = self.dimension();
        let places: Vec<(&Block, usize)> = self
            .blocks()
            .flat_map(|b| (0..b.original.matrices).map(|lane| (&*b.original, lane)))
            .step_by(step)
            .collect();
        let total: f64 = places.iter().map(|(b, lane)| b.weights[*lane]).sum();
        if total <= 0.0 {
            return Ok(None);
        }
        let blocks = places
            .chunks(Block::capacity(p))
            .map(|places| Block::pick(p, places, total));
        let blocks: Vec<Arc<Block>> = blocks.map(Arc::new).collect();
        let summary = Summary {
            len: places.len(),
            mean: weighted_mean(p, blocks.iter().map(|b| &**b)),
            mean_log_det: 0.0,
            reduction: None,
        };
        let log_dets = vec![0.0; places.len()].into();
        let workers = self.workers.clone();
        Ok(Some(Self::of_blocks(&blocks, summary, log_dets, workers)))
    }

    fn balance(&mut self, metric: &Matrix) -> Result<Matrix, Error> {
        let p = self.dimension();
        let metric = start_sums::one_of_eight(metric);
        let sums = self.sum(
            |group| {
                let mut sums = vec![0.0; packed_len(p)];
                for block in &mut group.blocks {
                    block.inverse_sizes = start_sums::inverse_sizes(p, &block.original, &metric);
                    start_sums::add_scaled(&block.original, &block.inverse_sizes, &mut sums);
                }
                sums
            },
            add_slices,
        );
        Ok(Matrix::from_fn(p, p, |a, b| sums[packed(a, b)]))
    }

    fn correlate(&mut self, eight: &[f64]) -> Result<Vec<f64>, Error> {
        let eight = start_sums::inner_product_entries(eight, self.dimension());
        Ok(self.sum(
            |group| {
                let mut sums = vec![0.0; eight.len()];
                for block in &group.blocks {
                    let (block, sizes) = (&block.original, &block.inverse_sizes);
                    start_sums::add_correlations(block, sizes, &eight, &mut sums);
                }
                sums
            },
            add_slices,
        ))
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
        let p = self.dimension();
        let sums = self.sum(
            |group| {
                let mut sums = vec![0.0; packed_len(p)];
                for block in &group.blocks {
                    kernels::combine(&block.entries, &block.original.weights, &mut sums);
                }
                sums
            },
            add_slices,
        );
        Ok(Matrix::from_fn(p, p, |a, b| sums[packed(a, b)]))
    }

    fn statistics(&mut self) -> Result<Statistics, Error> {
        Ok(self.moments(None))
    }

    fn hessian(&mut self, hessian: &mut Hessian) -> Result<(), Error> {
        let p = self.dimension();
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
            linalg::add_multiple(rows, 1.0, &group.hessian);
        }
        Ok(())
    }

    fn hessian_product(&mut self, e: &Matrix) -> Result<Matrix, Error> {
        let p = self.dimension();
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
                linalg::add_multiple(total.as_mut_slice(), 1.0, sums.as_slice());
            },
        );
        Hessian::add_transposed(&mut product, e);
        Ok(product)
    }

    fn probe(&mut self, e: &Matrix) -> Result<Probe, Error> {
        let p = self.dimension();
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
                        sums.0[a] += linalg::dot(&block.cross[row.clone()], weights);
                        sums.1[a] += linalg::dot(&block.square[row], weights);
                    }
                }
                sums
            },
            |total, sums| {
                linalg::add_multiple(&mut total.0, 1.0, &sums.0);
                linalg::add_multiple(&mut total.1, 1.0, &sums.1);
            },
        );
        Ok(Probe { linear, quadratic })
    }

    fn slope(&mut self, alpha: f64) -> Result<Slope, Error> {
        let p = self.dimension();
        let work = |group: &mut Group| {
            let mut sums = Slope::default();
            for block in &group.blocks {
                let (cross, square) = (&block.cross, &block.square);
                let weights = &block.original.weights;
                sums += kernels::slope(p, &block.entries, cross, square, weights, alpha);
            }
            sums
        };
        Ok(self.sum(work, |total, sums| *total += *sums))
    }

    fn advance(&mut self, alpha: f64, scale: &[f64]) -> Result<Statistics, Error> {
        Ok(self.moments(Some((alpha, scale))))
    }

    fn ending(&mut self, mean_powers: &[f64]) -> Result<Ending, Error> {
        let p = self.dimension();
        let variations = self.sum(
            |group| {
                let mut sums = vec![0.0; p];
                for block in &group.blocks {
                    let (entries, weights) = (&block.entries, &block.original.weights);
                    add_variations(entries, weights, mean_powers, &mut sums);
                }
                sums
            },
            add_slices,
        );
        let mut powers = Vec::with_capacity(self.summary.len * p);
        for block in self.blocks() {
            let lanes = block.original.lanes();
            for lane in 0..block.original.matrices {
                powers.extend((0..p).map(|a| block.entries[packed(a, a) * lanes + lane]));
            }
        }
        Ok(Ending {
            log_powers: self.log_powers(),
            variations,
            tables: Some(Tables {
                powers,
                log_dets: self.log_dets.to_vec(),
            }),
        })
    }

    fn pairs(&mut self) -> Option<&mut dyn Pairs> {
        Some(self)
    }
}

/// Adds Σ_i w_i (Dⁱ_aa / m_a − 1)² over a block, for the mean powers m_a.
fn add_variations(entries: &[f64], weights: &[f64], mean_powers: &[f64], sums: &mut [f64]) {
    let lanes = weights.len();
    for (a, (sum, mean)) in sums.iter_mut().zip(mean_powers).enumerate() {
        let row = &entries[packed(a, a) * lanes..][..lanes];
        let squares = row.iter().zip(weights);
        *sum += squares
            .map(|(x, w)| w * (x / mean - 1.0).powi(2))
            .sum::<f64>();
    }
}

#[allow(clippy::ptr_arg)] // what the groups' sums are
fn add_slices(total: &mut Vec<f64>, part: &Vec<f64>) {
    linalg::add_multiple(total, 1.0, part);
}
