//! What the start and the solvers ask, answered by passes over the file.

use std::sync::Mutex;

use super::pass::{Sums, Workspace, pass};
use super::{Block, OnDisk, transform};
use crate::Error;
use crate::linalg::{self, Matrix, Scalar, kernels};
use crate::matrices::build::{block_constants, block_energy};
use crate::matrices::groups::{self, add_slices};
use crate::matrices::{
    Balanced, FinalSums, LinePoint, Probe, Summary, Tables, WorkingSet, start_sums,
};
use crate::statistics::{Hessian, Statistics};
use crate::update;

impl<T: Scalar> WorkingSet<T> for OnDisk<'_, T> {
    fn summary(&self) -> &Summary<T> {
        &self.summary
    }

    fn sample(&mut self, step: usize) -> Result<Option<Box<dyn WorkingSet<T> + '_>>, Error> {
        let Some(sample) = self.every(step)? else {
            return Ok(None);
        };
        Ok(Some(Box::new(sample)))
    }

    fn balance(&mut self, metric: &Matrix<T>) -> Result<Balanced<T>, Error> {
        let p = self.dimension();
        self.metric = start_sums::inner_product_weights(metric);
        let metric = &self.metric;
        let sums = self.sum(
            || vec![0.0; 2 * groups::packed_len::<T>(p)],
            |sums, block, _| {
                let inverse_sizes = start_sums::inverse_sizes(p, block, metric);
                start_sums::add_balanced(block, &inverse_sizes, sums);
            },
            add_slices,
        )?;
        Ok(start_sums::balanced(p, &sums))
    }

    fn second_moment(&mut self) -> Result<Matrix<T>, Error> {
        let p = self.dimension();
        let add = |total: &mut Matrix<T>, part: &Matrix<T>| {
            linalg::add_multiple(total.as_mut_slice(), 1.0, part.as_slice());
        };
        self.sum(
            || Matrix::zeros(p, p),
            |sums, block, _| add(sums, &block_energy(block)),
            add,
        )
    }

    fn correlate(&mut self, matrices: &[f64], sums: &mut [f64]) -> Result<(), Error> {
        let p = self.dimension();
        let matrices = start_sums::inner_product_rows::<T>(matrices, p);
        let metric = &self.metric;
        let total = self.sum(
            || vec![0.0; matrices.len()],
            |sums, block, _| {
                // n sizes are too many to keep, and cost next to nothing beside the reading.
                let sizes = if metric.is_empty() {
                    Vec::new()
                } else {
                    start_sums::inverse_sizes(p, block, metric)
                };
                start_sums::add_correlations(block, &sizes, &matrices, sums);
            },
            add_slices,
        )?;
        sums.copy_from_slice(&total);
        Ok(())
    }

    fn reset(&mut self, b: &Matrix<T>) -> Result<f64, Error> {
        Ok(self.move_to(b.clone())?.diagonal_sum)
    }

    /// D is made from C and B in every pass: its mean is that of C, transformed.
    fn mean(&mut self) -> Result<Matrix<T>, Error> {
        let half = linalg::product(&self.b, &self.summary.mean);
        Ok(linalg::product_adjoint(&half, &self.b))
    }

    fn statistics(&mut self) -> Result<Statistics<T>, Error> {
        let (criterion, b) = (self.summary.criterion, self.b.clone());
        Ok(self.here()?.statistics(criterion, &b))
    }

    fn expect_hessian(&mut self) -> bool {
        self.hessian_expected = self.blocks.plan.hessian;
        self.hessian_expected
    }

    fn hessian(&mut self, hessian: &mut Hessian<T>) -> Result<(), Error> {
        if self.here()?.hessian.is_empty() {
            self.point = Some(self.point_sums(true)?);
        }
        let rows = hessian.rows_mut();
        rows.copy_from_slice(&self.here()?.hessian);
        Ok(())
    }

    fn hessian_product(&mut self, e: &Matrix<T>) -> Result<Matrix<T>, Error> {
        let (p, criterion) = (self.dimension(), self.summary.criterion);
        if criterion.fits_originals() {
            return self.fitted_product(e);
        }
        let mut product = self.sum_transformed(
            || Matrix::zeros(p, p),
            |sums, block, workspace| {
                let entries = &workspace.entries;
                kernels::accumulate_product(criterion, e, entries, &block.weights, sums);
            },
            |total, sums| linalg::add_multiple(total.as_mut_slice(), 1.0, sums.as_slice()),
        )?;
        criterion.add_determinant(&mut product, e);
        Ok(product)
    }

    fn probe(&mut self, e: &Matrix<T>) -> Result<Probe, Error> {
        self.probe_line(e)
    }

    fn line_point(&mut self, alpha: f64) -> Result<LinePoint, Error> {
        self.point_along(alpha)
    }

    fn advance(&mut self, alpha: f64, scale: &[f64]) -> Result<Statistics<T>, Error> {
        let line = self.line.as_ref().expect("a line was probed");
        let b = update::step(&self.b, &line.e, alpha).scale_rows(scale);
        let criterion = self.summary.criterion;
        Ok(self.move_to(b.clone())?.statistics(criterion, &b))
    }

    fn wedge_sums(&mut self) -> Result<Statistics<T>, Error> {
        self.sums_for_wedge()
    }

    fn final_sums(&mut self, mean_powers: &[f64]) -> Result<FinalSums, Error> {
        let (p, criterion) = (self.dimension(), self.summary.criterion);
        self.line = None;
        let wanted = self.blocks.plan.tables;
        if wanted {
            // Their room is wanted for the tables.
            self.blocks.clear();
            self.blocks.plan.kept = 0;
        }
        if criterion.fits_originals() {
            return self.fitted_sums(mean_powers, wanted);
        }
        let b = &self.b;
        let rows = if wanted { self.summary.len } else { 0 };
        let (mut powers, mut constants) = (vec![0.0; rows * p], vec![0.0; rows]);
        let capacity = self.blocks.recipe.capacity;
        let places = powers.chunks_mut(capacity * p);
        let places: Vec<Mutex<(&mut [f64], &mut [f64])>> = places
            .zip(constants.chunks_mut(capacity))
            .map(Mutex::new)
            .collect();
        let sums = Sums {
            zero: || (0.0, vec![0.0; p]),
            work: |sums: &mut (f64, Vec<f64>),
                   k: usize,
                   block: Option<&Block<T>>,
                   workspace: &mut Workspace| {
                let block = block.expect("every block is needed");
                transform(b, block, workspace);
                let (d, weights) = (workspace.d::<T>(), &block.weights);
                sums.0 += kernels::diagonal_sum(criterion, p, d.entries(), weights);
                groups::add_variations(criterion, &d, weights, mean_powers, &mut sums.1);
                let Some(place) = places.get(k) else { return };
                let mut place = place.lock().expect("each block comes once");
                groups::write_powers(&d, place.0);
                place
                    .1
                    .copy_from_slice(&block_constants(criterion, block).0);
            },
            add: |total: &mut (f64, Vec<f64>), part: &(f64, Vec<f64>)| {
                total.0 += part.0;
                add_slices(&mut total.1, &part.1);
            },
        };
        let (diagonal_sum, variations) = pass(&self.blocks, &*self.watcher, |_| true, &sums)?;
        drop(places);
        Ok(FinalSums {
            diagonal_sum,
            variations,
            tables: wanted.then_some(Tables { powers, constants }),
        })
    }
}
