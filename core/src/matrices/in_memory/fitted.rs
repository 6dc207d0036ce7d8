//! The least-squares fit, from memory.

use super::{Group, InMemory, TransformedBlock, Work};
use crate::Error;
use crate::least_squares::{Change, Fit, wedge};
use crate::linalg::kernels::{self, MomentSums};
use crate::linalg::{Matrix, Scalar};
use crate::matrices::groups::Diagonals;
use crate::matrices::{FinalSums, Tables, WorkingSet};
use crate::statistics::{Hessian, Statistics};

/// The fit where the set stands.
pub(super) struct Fitted<T> {
    b: Matrix<T>,
    fit: Fit<T>,
    /// Σ_i w_i ‖A Λⁱ Aᴴ‖².
    energy: f64,
    pub statistics: Statistics<T>,
    /// Σ_i w_i λⁱ_a Cⁱ, once products of the exact Hessian have been asked for.
    weighted: Option<Hessian<T>>,
}

impl<T: Scalar> TransformedBlock<T> {
    /// λⁱ of all matrices of the block.
    fn fitted(&self) -> Diagonals<'_> {
        Diagonals {
            rows: &self.diagonals,
            weights: &self.original.weights,
            matrices: self.original.matrices,
        }
    }
}

impl<T: Scalar> Group<T> {
    /// Σ_i w_i λⁱ_a Cⁱ, in place of the Hessian.
    pub(super) fn weigh_originals(&mut self, p: usize, rows: &mut [f64]) {
        rows.fill(0.0);
        for block in &self.blocks {
            let (entries, weights) = (block.original.entries(), block.weights());
            kernels::accumulate_weighted(p, entries, weights, &block.diagonals, rows);
        }
    }
}

impl<T: Scalar> InMemory<T> {
    /// Fits the matrices at B; returns the energy of the fit.
    pub(super) fn fit(&mut self, b: &Matrix<T>) -> f64 {
        let (p, b) = (self.dimension(), b.clone());
        let fit = Fit::at(&b);
        let (energy, sums) = self.sum(
            Work::Products,
            |group| {
                let (mut energy, mut sums) = (0.0, MomentSums::new(p));
                for block in &mut group.blocks {
                    block.diagonals.resize(p * block.original.lanes(), 0.0);
                    let task = fit.task(&block.original, &mut block.diagonals);
                    energy += kernels::accumulate_fit(task, &mut sums);
                }
                (energy, sums)
            },
            |total, part| {
                total.0 += part.0;
                total.1.add(&part.1);
            },
        );
        self.fitted = Some(Fitted {
            b,
            statistics: fit.statistics(&sums),
            energy,
            fit,
            weighted: None,
        });
        energy
    }

    /// The sums of B Cⁱ Bᴴ for U-WEDGE and FFDIAG.
    pub(super) fn sums_for_wedge(&mut self) -> Statistics<T> {
        let (p, criterion) = (self.dimension(), self.summary.criterion);
        let fitted = self.fitted.as_ref().expect("reset comes first");
        let b = fitted.b.clone();
        let sums = self.sum(
            Work::Products,
            |group| {
                let mut sums = MomentSums::<T>::new(p);
                for block in &mut group.blocks {
                    block.reset(&b);
                    let (entries, weights) = (block.entries(), block.weights());
                    kernels::accumulate_moments(criterion, p, entries, weights, &mut sums);
                }
                sums
            },
            MomentSums::add,
        );
        wedge::sums(&sums)
    }

    /// The product of the exact Hessian with a change of A; what does not depend on it is made once.
    pub(super) fn fitted_product(&mut self, e: &Matrix<T>) -> Result<Matrix<T>, Error> {
        let p = self.dimension();
        let mut fitted = self.fitted.take().expect("reset comes first");
        if fitted.weighted.is_none() {
            let mut weighted = Hessian::zeros(self.summary.criterion, p);
            self.hessian(&mut weighted)?;
            fitted.weighted = Some(weighted);
            let components = &fitted.fit.components;
            self.each(Work::Products, |group| {
                for block in &mut group.blocks {
                    let (entries, lanes) = (block.original.entries(), block.original.lanes());
                    block.products.resize(T::PLANES * p * p * lanes, 0.0);
                    kernels::fit_products(components, entries, lanes, &mut block.products);
                }
            });
        }
        let change = Change::new(&fitted.fit, e);
        let fit = &fitted.fit;
        let sums = self.sum(
            Work::Entries,
            |group| {
                let mut sums = MomentSums::new(p);
                for block in &group.blocks {
                    let (products, diagonals) = (&block.products, &block.diagonals);
                    let task = fit.response(&change, products, block.weights(), diagonals);
                    kernels::accumulate_response(&task, &mut sums);
                }
                sums
            },
            MomentSums::add,
        );
        let weighted = fitted.weighted.as_mut().expect("it was just made");
        let moments = &fitted.statistics.gamma;
        let product = fitted
            .fit
            .hessian_product(&change, moments, weighted, &sums);
        self.fitted = Some(fitted);
        Ok(product)
    }

    /// What the answer says of the fit.
    pub(super) fn fitted_sums(&self, fitted: &Fitted<T>, mean_powers: &[f64]) -> FinalSums {
        let (n, p) = (self.summary.len, self.dimension());
        let mut variations = vec![0.0; p];
        let (mut powers, mut constants) = (vec![0.0; n * p], self.constants.to_vec());
        let (mut rows, mut rest) = (&mut powers[..], &mut constants[..]);
        for block in self.blocks() {
            let diagonals = block.fitted();
            diagonals.add_variations(mean_powers, &mut variations);
            let (own_rows, other_rows) = rows.split_at_mut(diagonals.matrices * p);
            let (own, others) = rest.split_at_mut(diagonals.matrices);
            diagonals.write(&fitted.fit, own_rows, own);
            (rows, rest) = (other_rows, others);
        }
        FinalSums {
            diagonal_sum: fitted.energy,
            variations,
            tables: Some(Tables { powers, constants }),
        }
    }
}
