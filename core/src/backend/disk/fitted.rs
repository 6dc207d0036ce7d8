//! The least-squares fit, from disk.

use std::sync::Mutex;

use super::pass::{Sums, Workspace, pass};
use super::{Block, OnDisk, PointSums};
use crate::Error;
use crate::least_squares::{Change, Fit, wedge};
use crate::linalg::kernels::{self, MomentSums};
use crate::linalg::{Matrix, Scalar};
use crate::matrices::build::block_constants;
use crate::matrices::groups::{Diagonals, add_slices};
use crate::matrices::{FinalSums, Tables, WorkingSet};
use crate::statistics::{Hessian, Statistics};

impl<T: Scalar> OnDisk<'_, T> {
    /// The sums of the fit at the current B, with or without Σ_i w_i λⁱ_a Cⁱ in place of the Hessian.
    pub(super) fn fit_sums(&self, with_weighted: bool) -> Result<PointSums<T>, Error> {
        let (p, fit) = (self.dimension(), Fit::at(&self.b));
        let len = if with_weighted {
            kernels::hessian_len(p, T::PLANES)
        } else {
            0
        };
        self.sum(
            || PointSums {
                diagonal_sum: 0.0,
                moments: MomentSums::new(p),
                hessian: vec![0.0; len],
            },
            |sums, block, workspace| {
                sums.diagonal_sum += fit_block(&fit, block, &mut sums.moments, workspace);
                if len > 0 {
                    let fitted = &workspace.diagonals;
                    let (entries, weights) = (block.entries(), &block.weights);
                    let rows = &mut sums.hessian;
                    kernels::accumulate_weighted(p, entries, weights, fitted, rows);
                }
            },
            PointSums::add,
        )
    }

    /// The product of the exact Hessian with a change of A.
    pub(super) fn fitted_product(&mut self, e: &Matrix<T>) -> Result<Matrix<T>, Error> {
        let (p, fit) = (self.dimension(), Fit::at(&self.b));
        let mut weighted = Hessian::<T>::zeros(self.summary.criterion, p);
        self.hessian(&mut weighted)?;
        let change = Change::new(&fit, e);
        let sums = self.sum(
            || MomentSums::new(p),
            |sums, block, workspace| {
                let (entries, lanes) = (block.entries(), block.lanes());
                fit_block(&fit, block, &mut MomentSums::new(p), workspace);
                let mut products = std::mem::take(&mut workspace.products);
                products.resize(T::PLANES * p * p * lanes, 0.0);
                kernels::fit_products(&fit.components, entries, lanes, &mut products);
                let diagonals = &workspace.diagonals;
                let task = fit.response(&change, &products, &block.weights, diagonals);
                kernels::accumulate_response(&task, sums);
                workspace.products = products;
            },
            MomentSums::add,
        )?;
        let moments = fit.statistics(&self.here()?.moments).gamma;
        Ok(fit.hessian_product(&change, &moments, &mut weighted, &sums))
    }

    /// The sums of B Cⁱ Bᴴ for U-WEDGE and FFDIAG.
    pub(super) fn sums_for_wedge(&self) -> Result<Statistics<T>, Error> {
        let (p, criterion) = (self.dimension(), self.summary.criterion);
        let sums = self.sum_transformed(
            || MomentSums::<T>::new(p),
            |sums, block, workspace| {
                let entries = &workspace.entries;
                kernels::accumulate_moments(criterion, p, entries, &block.weights, sums);
            },
            MomentSums::add,
        )?;
        Ok(wedge::sums(&sums))
    }

    /// What the answer says of the fit; `wanted` are tables, too.
    pub(super) fn fitted_sums(
        &self,
        mean_powers: &[f64],
        wanted: bool,
    ) -> Result<FinalSums, Error> {
        let (p, criterion) = (self.dimension(), self.summary.criterion);
        let fit = Fit::at(&self.b);
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
                let mut moments = MomentSums::new(p);
                sums.0 += fit_block(&fit, block, &mut moments, workspace);
                let diagonals = Diagonals {
                    rows: &workspace.diagonals,
                    weights: &block.weights,
                    matrices: block.matrices,
                };
                diagonals.add_variations(mean_powers, &mut sums.1);
                let Some(place) = places.get(k) else { return };
                let mut place = place.lock().expect("each block comes once");
                let (rows, rest) = &mut *place;
                rest.copy_from_slice(&block_constants(criterion, block).0);
                diagonals.write(&fit, rows, rest);
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

/// Adds a block to the sums of the fit, and leaves its λⁱ in the workspace; returns the energy of its fit.
fn fit_block<T: Scalar>(
    fit: &Fit<T>,
    block: &Block<T>,
    sums: &mut MomentSums<T>,
    workspace: &mut Workspace,
) -> f64 {
    let fitted = &mut workspace.diagonals;
    fitted.resize(block.size() * block.lanes(), 0.0);
    kernels::accumulate_fit(fit.task(block, fitted), sums)
}
