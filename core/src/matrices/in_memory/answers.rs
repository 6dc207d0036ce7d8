//! What the start and the solvers ask, answered from memory.

use std::sync::Arc;

use super::{Group, InMemory, Work};
use crate::Error;
use crate::linalg::{self, Matrix, Scalar, kernels, unpacked};
use crate::matrices::groups::{self, add_slices, packed_len};
use crate::matrices::recycled::Recycled;
use crate::matrices::{
    FinalSums, LinePoint, Pairs, Probe, Summary, Tables, WorkingSet, start_sums,
};
use crate::statistics::{Hessian, Statistics};

/// The groups' Hessians are added in slices of so many numbers, which the nearest cache holds.
const SLICE: usize = 2048;

/// From this size on, the Hessian of a set of few matrices is shared out by its row blocks: sums for each group of
/// the set, and their sum, would take as long as some of its products.
const BY_COMPONENTS: usize = 64;

impl<T: Scalar> InMemory<T> {
    /// Each number is summed over all blocks in order, whoever sums it.
    fn hessian_by_components(&mut self, hessian: &mut Hessian<T>) {
        let (n, p, criterion) = (self.summary.len, self.dimension(), self.summary.criterion);
        let workers = self
            .workers
            .if_worthwhile(Work::Products.multiply_adds(n, p, T::PLANES));
        hessian.work_on(&self.workers);
        let rows = hessian.rows_mut();
        let groups = p.div_ceil(kernels::LANES);
        // Each task reads all matrices: a few are enough to keep all workers busy.
        let tasks = match workers.count() {
            1 => 1,
            count => groups.min(2 * count),
        };
        let share = groups.div_ceil(tasks);
        let len = rows.len() / groups * share;
        self.hessian_scratch.resize_with(tasks, Vec::new);
        let tasks = rows.chunks_mut(len).zip(&mut self.hessian_scratch);
        let mut tasks: Vec<_> = tasks.enumerate().collect();
        let blocks = self.groups.iter().flat_map(|group| &group.blocks);
        let blocks: Vec<(&[f64], &[f64])> = blocks.map(|b| (b.entries(), b.weights())).collect();
        workers.each(&mut tasks, |(task, (rows, scratch))| {
            for (k, (entries, weights)) in blocks.iter().enumerate() {
                let (first, begins) = (*task * share, k == 0);
                kernels::accumulate_groups(
                    criterion, p, entries, weights, first, rows, begins, scratch,
                );
            }
        });
    }
}

impl<T: Scalar> WorkingSet<T> for InMemory<T> {
    fn summary(&self) -> &Summary<T> {
        &self.summary
    }

    #[inline(never)] // see instances.rs
    fn sample(&mut self, step: usize) -> Result<Option<Box<dyn WorkingSet<T> + '_>>, Error> {
        let Some((_, sample)) = self.sample_of(|i| i.is_multiple_of(step)) else {
            return Ok(None);
        };
        Ok(Some(Box::new(sample)))
    }

    #[inline(never)] // see instances.rs
    fn balance(&mut self, metric: &Matrix<T>) -> Result<Matrix<T>, Error> {
        let p = self.dimension();
        let metric = start_sums::inner_product_weights(metric);
        let sums = self.sum(
            Work::Entries,
            |group| {
                let mut sums = vec![0.0; packed_len::<T>(p)];
                for block in &mut group.blocks {
                    block.inverse_sizes = start_sums::inverse_sizes(p, &block.original, &metric);
                    start_sums::add_scaled(&block.original, &block.inverse_sizes, &mut sums);
                }
                sums
            },
            add_slices,
        );
        Ok(unpacked(p, &sums))
    }

    #[inline(never)] // see instances.rs
    fn correlate(&mut self, eight: &[f64]) -> Result<Vec<f64>, Error> {
        let eight = start_sums::inner_product_rows(eight, self.dimension());
        Ok(self.sum(
            Work::Entries,
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

    #[inline(never)] // see instances.rs
    fn reset(&mut self, b: &Matrix<T>) -> Result<f64, Error> {
        if self.summary.criterion.fits_originals() {
            return Ok(self.fit(b));
        }
        self.each(Work::Products, |group| {
            for block in &mut group.blocks {
                block.reset(b, &mut group.scratch);
            }
        });
        Ok(self.diagonal_sum())
    }

    #[inline(never)] // see instances.rs
    fn mean(&mut self) -> Result<Matrix<T>, Error> {
        let p = self.dimension();
        let sums = self.sum(
            Work::Entries,
            |group| {
                let mut sums = vec![0.0; packed_len::<T>(p)];
                for block in &group.blocks {
                    kernels::combine(block.entries(), block.weights(), &mut sums);
                }
                sums
            },
            add_slices,
        );
        Ok(unpacked(p, &sums))
    }

    #[inline(never)] // see instances.rs
    fn statistics(&mut self) -> Result<Statistics<T>, Error> {
        if let Some(fitted) = &self.fitted {
            return Ok(fitted.statistics.clone());
        }
        Ok(self.moments(None))
    }

    #[inline(never)] // see instances.rs
    fn hessian(&mut self, hessian: &mut Hessian<T>) -> Result<(), Error> {
        let (p, criterion) = (self.dimension(), self.summary.criterion);
        if !criterion.fits_originals() && p >= BY_COMPONENTS && self.summary.len <= 4 * p {
            self.hessian_by_components(hessian);
            return Ok(());
        }
        self.each(Work::Products, |group| {
            let len = kernels::hessian_len(p, T::PLANES);
            if group.hessian.len() != len {
                group.hessian = Recycled::of_len(len);
            }
            if criterion.fits_originals() {
                group.weigh_originals(p);
                return;
            }
            for (k, block) in group.blocks.iter().enumerate() {
                let (entries, weights) = (block.entries(), block.weights());
                let (rows, scratch) = (&mut group.hessian, &mut group.scratch);
                kernels::accumulate_hessian(criterion, p, entries, weights, rows, k == 0, scratch);
            }
        });
        let (first, others) = self.groups.split_first_mut().expect("a set has a group");
        hessian.swap_rows(&mut first.hessian);
        hessian.work_on(&self.workers);
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

    #[inline(never)] // see instances.rs
    fn hessian_product(&mut self, e: &Matrix<T>) -> Result<Matrix<T>, Error> {
        if self.fitted.is_some() {
            return self.fitted_product(e);
        }
        let (p, criterion) = (self.dimension(), self.summary.criterion);
        let mut product = self.sum(
            Work::Products,
            |group| {
                let mut sums = Matrix::zeros(p, p);
                for block in &group.blocks {
                    let (entries, weights) = (block.entries(), block.weights());
                    let scratch = &mut group.scratch;
                    kernels::accumulate_product(criterion, e, entries, weights, &mut sums, scratch);
                }
                sums
            },
            |total, sums| {
                linalg::add_multiple(total.as_mut_slice(), 1.0, sums.as_slice());
            },
        );
        criterion.add_determinant(&mut product, e);
        Ok(product)
    }

    #[inline(never)] // see instances.rs
    fn probe(&mut self, e: &Matrix<T>) -> Result<Probe, Error> {
        let p = self.dimension();
        let (linear, quadratic) = self.sum(
            Work::Products,
            |group| {
                let mut sums = (vec![0.0; p], vec![0.0; p]);
                for block in &mut group.blocks {
                    let original = Arc::clone(&block.original);
                    let line = block.probe(e, &mut group.scratch);
                    for a in 0..p {
                        let weights = &original.weights;
                        sums.0[a] += linalg::dot(line.cross.diagonal(a), weights);
                        sums.1[a] += linalg::dot(line.square.diagonal(a), weights);
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

    #[inline(never)] // see instances.rs
    fn line_point(&mut self, alpha: f64) -> Result<LinePoint, Error> {
        let criterion = self.summary.criterion;
        let work = |group: &mut Group<T>| {
            let mut sums = LinePoint::default();
            for block in &group.blocks {
                sums += block.line_point(criterion, alpha);
            }
            sums
        };
        Ok(self.sum(Work::Diagonals, work, |total, sums| *total += *sums))
    }

    #[inline(never)] // see instances.rs
    fn advance(&mut self, alpha: f64, scale: &[f64]) -> Result<Statistics<T>, Error> {
        Ok(self.moments(Some((alpha, scale))))
    }

    #[inline(never)] // see instances.rs
    fn wedge_sums(&mut self) -> Result<Statistics<T>, Error> {
        Ok(self.sums_for_wedge())
    }

    #[inline(never)] // see instances.rs
    fn final_sums(&mut self, mean_powers: &[f64]) -> Result<FinalSums, Error> {
        if let Some(fitted) = &self.fitted {
            return Ok(self.fitted_sums(fitted, mean_powers));
        }
        let (p, criterion) = (self.dimension(), self.summary.criterion);
        let variations = self.sum(
            Work::Diagonals,
            |group| {
                let mut sums = vec![0.0; p];
                for block in &group.blocks {
                    let (d, weights) = (block.d(), block.weights());
                    groups::add_variations(criterion, d, weights, mean_powers, &mut sums);
                }
                sums
            },
            add_slices,
        );
        let mut powers = vec![0.0; self.summary.len * p];
        let mut rest = &mut powers[..];
        for block in self.blocks() {
            let (own, others) = rest.split_at_mut(block.original.matrices * p);
            groups::write_powers(block.d(), own);
            rest = others;
        }
        Ok(FinalSums {
            diagonal_sum: self.diagonal_sum(),
            variations,
            tables: Some(Tables {
                powers,
                constants: self.constants.to_vec(),
            }),
        })
    }

    #[inline(never)] // see instances.rs
    fn pairs(&mut self) -> Option<&mut dyn Pairs<T>> {
        Some(self)
    }
}

#[cfg(all(test, feature = "synthetic"))]
mod tests {
    use super::*;
    use crate::{Criterion, synthetic};

    #[test]
    fn hessians_shared_out_by_row_blocks_are_those_of_a_pass() {
        // A last group that is not whole, and two blocks.
        let (n, p) = (30, BY_COMPONENTS + 3);
        let set = synthetic::noisy(n, p, 0.3, 1);
        let e = Matrix::from_fn(p, p, |a, b| {
            if a == b {
                0.0
            } else {
                ((a * 7 + b * 3) % 5) as f64 - 2.0
            }
        });
        let mut rows: Vec<Vec<f64>> = Vec::new();
        for threads in [1, 2, 3] {
            let mut working = InMemory::new(&set.clone().with_threads(threads));
            working.reset(&Matrix::identity(p)).unwrap();
            let mut hessian = Hessian::zeros(Criterion::Likelihood, p);
            working.hessian(&mut hessian).unwrap();
            let by_pass = working.hessian_product(&e).unwrap();
            let product = hessian.product(&e);
            // Products read row blocks of this size in single precision.
            let pairs = product.as_slice().iter().zip(by_pass.as_slice());
            let off = pairs.fold(0.0_f64, |off, (x, y)| off.max((x - y).abs()));
            assert!(off < 1e-5 * by_pass.norm(), "{off}");
            rows.push(hessian.rows().to_vec());
        }
        assert!(rows.iter().all(|numbers| *numbers == rows[0]));
    }
}
