//! What the start and the solvers ask, answered from memory.

use super::{Group, InMemory, Sweep};
use crate::Error;
use crate::linalg::kernels::{self, Slope, packed, packed_len};
use crate::linalg::{self, Matrix};
use crate::matrices::groups::{self, add_slices, symmetric};
use crate::matrices::recycled::Recycled;
use crate::matrices::{Ending, Pairs, Probe, Summary, Tables, WorkingSet, start_sums};
use crate::statistics::{Hessian, Statistics, add_transposed};

/// The groups' Hessians are added in slices of so many numbers, which the nearest cache holds.
const SLICE: usize = 2048;

impl WorkingSet for InMemory {
    fn summary(&self) -> &Summary {
        &self.summary
    }

    fn sample(&mut self, step: usize) -> Result<Option<Self>, Error> {
        let sample = self.sample_of(|i| i.is_multiple_of(step));
        Ok(sample.map(|(_, sample)| sample))
    }

    fn balance(&mut self, metric: &Matrix) -> Result<Matrix, Error> {
        let p = self.dimension();
        let metric = start_sums::inner_product_weights(metric);
        let sums = self.sum(
            Sweep::Entries,
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
        Ok(symmetric(p, &sums))
    }

    fn correlate(&mut self, eight: &[f64]) -> Result<Vec<f64>, Error> {
        let eight = start_sums::inner_product_rows(eight, self.dimension());
        Ok(self.sum(
            Sweep::Entries,
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
        for block in self.blocks_mut().filter(|b| b.entries.is_empty()) {
            block.entries = Recycled::of_len(block.original.entries.len());
        }
        self.each(Sweep::Products, |group| {
            for block in &mut group.blocks {
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
            Sweep::Entries,
            |group| {
                let mut sums = vec![0.0; packed_len(p)];
                for block in &group.blocks {
                    kernels::combine(&block.entries, &block.original.weights, &mut sums);
                }
                sums
            },
            add_slices,
        );
        Ok(symmetric(p, &sums))
    }

    fn statistics(&mut self) -> Result<Statistics, Error> {
        Ok(self.moments(None))
    }

    fn hessian(&mut self, hessian: &mut Hessian) -> Result<(), Error> {
        let p = self.dimension();
        self.each(Sweep::Products, |group| {
            group.hessian.resize(kernels::hessian_len(p), 0.0);
            for (k, block) in group.blocks.iter().enumerate() {
                let (entries, weights) = (&block.entries, &block.original.weights);
                let (rows, scratch) = (&mut group.hessian, &mut group.scratch);
                kernels::accumulate_hessian(p, entries, weights, rows, k == 0, scratch);
            }
        });
        let (first, others) = self.groups.split_first_mut().expect("a set has a group");
        hessian.swap_rows(&mut first.hessian);
        // Slice by slice of the entries, the groups in order.
        let rows = hessian.rows_mut();
        let workers = self.workers.if_worthwhile(4 * others.len() * rows.len());
        let mut slices: Vec<_> = rows.chunks_mut(SLICE).enumerate().collect();
        workers.each(&mut slices, |(k, rows)| {
            for group in &*others {
                linalg::add_multiple(rows, 1.0, &group.hessian[*k * SLICE..][..rows.len()]);
            }
        });
        Ok(())
    }

    fn hessian_product(&mut self, e: &Matrix) -> Result<Matrix, Error> {
        let p = self.dimension();
        let mut product = self.sum(
            Sweep::Products,
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
        add_transposed(&mut product, e);
        Ok(product)
    }

    fn probe(&mut self, e: &Matrix) -> Result<Probe, Error> {
        let p = self.dimension();
        for block in self.blocks_mut().filter(|b| b.cross.is_empty()) {
            block.cross = Recycled::of_len(block.entries.len());
            block.square = Recycled::of_len(block.entries.len());
        }
        let (linear, quadratic) = self.sum(
            Sweep::Products,
            |group| {
                let mut sums = (vec![0.0; p], vec![0.0; p]);
                for block in &mut group.blocks {
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
        Ok(self.sum(Sweep::Diagonals, work, |total, sums| *total += *sums))
    }

    fn advance(&mut self, alpha: f64, scale: &[f64]) -> Result<Statistics, Error> {
        Ok(self.moments(Some((alpha, scale))))
    }

    fn ending(&mut self, mean_powers: &[f64]) -> Result<Ending, Error> {
        let p = self.dimension();
        let variations = self.sum(
            Sweep::Diagonals,
            |group| {
                let mut sums = vec![0.0; p];
                for block in &group.blocks {
                    let (entries, weights) = (&block.entries, &block.original.weights);
                    groups::add_variations(entries, weights, mean_powers, &mut sums);
                }
                sums
            },
            add_slices,
        );
        let mut powers = Vec::with_capacity(self.summary.len * p);
        for block in self.blocks() {
            let (lanes, matrices) = (block.original.lanes(), block.original.matrices);
            groups::extend_powers(p, &block.entries, lanes, matrices, &mut powers);
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
