//! What the start and the solvers ask, answered from memory.

use std::sync::Arc;

use super::{Group, InMemory, Work};
use crate::Error;
use crate::criterion::Criterion;
use crate::linalg::{self, AlignedBuffer, Matrix, Scalar, kernels, unpacked};
use crate::matrices::build::block_energy;
use crate::matrices::groups::{self, add_slices, packed_len};
use crate::matrices::{
    Balanced, FinalSums, LinePoint, Pairs, Probe, Summary, Tables, WorkingSet, needs, start_sums,
};
use crate::statistics::{Hessian, Statistics};

/// Smaller matrices, for which it saves less, keep all digits on the way, and agree to rounding with those from disk and on a cluster.
const SMALLEST_SINGLE: usize = 20;

impl<T: Scalar> WorkingSet<T> for InMemory<T> {
    fn summary(&self) -> &Summary<T> {
        &self.summary
    }

    fn sample(&mut self, step: usize) -> Result<Option<Box<dyn WorkingSet<T> + '_>>, Error> {
        let Some((_, sample)) = self.sample_of(|i| i.is_multiple_of(step)) else {
            return Ok(None);
        };
        Ok(Some(Box::new(sample)))
    }

    fn in_memory(&self) -> Option<&InMemory<T>> {
        Some(self)
    }

    fn balance(&mut self, metric: &Matrix<T>) -> Result<Balanced<T>, Error> {
        let p = self.dimension();
        let metric = start_sums::inner_product_weights(metric);
        let sums = self.sum(
            Work::Entries,
            |group| {
                let mut sums = vec![0.0; 2 * packed_len::<T>(p)];
                for block in &mut group.blocks {
                    block.inverse_sizes = start_sums::inverse_sizes(p, &block.original, &metric);
                    start_sums::add_balanced(&block.original, &block.inverse_sizes, &mut sums);
                }
                sums
            },
            add_slices,
        );
        Ok(start_sums::balanced(p, &sums))
    }

    fn second_moment(&mut self) -> Result<Matrix<T>, Error> {
        let p = self.dimension();
        let add = |total: &mut Matrix<T>, part: &Matrix<T>| {
            linalg::add_multiple(total.as_mut_slice(), 1.0, part.as_slice());
        };
        Ok(self.sum(
            Work::Products,
            |group| {
                let mut sums = Matrix::zeros(p, p);
                for block in &group.blocks {
                    add(&mut sums, &block_energy(&block.original));
                }
                sums
            },
            add,
        ))
    }

    fn correlate(&mut self, matrices: &[f64], sums: &mut [f64]) -> Result<(), Error> {
        let matrices = start_sums::inner_product_rows::<T>(matrices, self.dimension());
        let total = self.sum(
            Work::Entries,
            |group| {
                let mut sums = AlignedBuffer::zeros(matrices.len());
                for block in &group.blocks {
                    let (block, sizes) = (&block.original, &block.inverse_sizes);
                    start_sums::add_correlations(block, sizes, &matrices, &mut sums);
                }
                sums
            },
            |total, part| linalg::add_multiple(total, 1.0, part),
        );
        sums.copy_from_slice(&total);
        Ok(())
    }

    fn reset(&mut self, b: &Matrix<T>) -> Result<f64, Error> {
        if self.summary.criterion.fits_originals() {
            return Ok(self.fit(b));
        }
        let is_new = self.blocks().any(|block| block.transformed.is_none());
        if is_new {
            needs::check_blocks::<T>(self.summary.len, self.dimension())?;
        }
        self.each(Work::Products, |group| {
            group.single.clear();
            for block in &mut group.blocks {
                block.reset(b);
            }
        });
        Ok(self.diagonal_sum())
    }

    fn round_to_single(&mut self) -> bool {
        let p = self.dimension();
        let criterion = self.summary.criterion;
        if criterion.fits_originals() || p < SMALLEST_SINGLE {
            return false;
        }
        // Only a logarithm asks for digits of weak components.
        if criterion == Criterion::Likelihood && !self.is_narrow() {
            return false;
        }
        if !self.is_single() {
            let unit = self.unit();
            self.each(Work::Entries, |group| group.round(p, unit));
        }
        true
    }

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

    fn statistics(&mut self) -> Result<Statistics<T>, Error> {
        if let Some(fitted) = &self.fitted {
            return Ok(fitted.statistics.clone());
        }
        Ok(self.moments(None))
    }

    fn hessian(&mut self, hessian: &mut Hessian<T>) -> Result<(), Error> {
        self.write_hessian(hessian);
        Ok(())
    }

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
                    kernels::accumulate_product(criterion, e, entries, weights, &mut sums);
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

    fn probe(&mut self, e: &Matrix<T>) -> Result<Probe, Error> {
        let p = self.dimension();
        let unit = self.single_unit();
        let (mut linear, mut quadratic) = self.sum(
            Work::Products,
            |group| {
                let mut sums = (vec![0.0; p], vec![0.0; p]);
                for block in &mut group.single {
                    block.probe(e, &mut sums);
                }
                if !group.single.is_empty() {
                    return sums;
                }
                for block in &mut group.blocks {
                    let original = Arc::clone(&block.original);
                    let line = block.probe(e);
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
        for sums in [&mut linear, &mut quadratic] {
            sums.iter_mut().for_each(|x| *x *= unit);
        }
        Ok(Probe { linear, quadratic })
    }

    fn line_point(&mut self, alpha: f64) -> Result<LinePoint, Error> {
        let criterion = self.summary.criterion;
        let work = |group: &mut Group<T>| {
            let mut sums = LinePoint::default();
            for block in &group.single {
                sums += block.line_point(criterion, alpha);
            }
            if group.single.is_empty() {
                for block in &group.blocks {
                    sums += block.line_point(criterion, alpha);
                }
            }
            sums
        };
        let squared_unit = self.single_unit().powi(2);
        let point = self.sum(Work::Diagonals, work, |total, sums| *total += *sums);
        Ok(LinePoint {
            sum: squared_unit * point.sum,
            first: squared_unit * point.first,
            second: squared_unit * point.second,
        })
    }

    fn advance(&mut self, alpha: f64, scale: &[f64]) -> Result<Statistics<T>, Error> {
        Ok(self.moments(Some((alpha, scale))))
    }

    fn wedge_sums(&mut self) -> Result<Statistics<T>, Error> {
        Ok(self.sums_for_wedge())
    }

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

    fn pairs(&mut self) -> Option<&mut dyn Pairs<T>> {
        Some(self)
    }
}
