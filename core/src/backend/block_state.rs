//! Evaluation of requests for one block, and the data that it caches for later requests.

use super::hessian::RowPrecision;
use super::request::{Request, Sums};
use super::start_sums;
use super::task::Task;
use crate::Error;
use crate::data::Block;
use crate::data::build::block_energy;
use crate::linalg::kernels::{self, LinePoint, MomentSums, Real};
use crate::linalg::{self, AlignedBuffer, Matrix, Scalar, Triangle};

/// The matrices Cⁱ of a block and their weights.
pub(crate) struct BlockView<'a, T, R = f64> {
    /// Size of the matrices.
    pub p: usize,
    /// Packed entries, row after row.
    pub entries: &'a [R],
    /// One weight per lane, zero for the padding.
    pub weights: &'a [f64],
    /// Number of lanes that hold matrices of the set.
    pub matrices: usize,
    /// The block itself, if it is in double precision.
    pub block: Option<&'a Block<T>>,
}

impl<'a, T: Scalar> BlockView<'a, T> {
    pub fn of(block: &'a Block<T>) -> Self {
        Self {
            p: block.size(),
            entries: block.entries(),
            weights: &block.weights,
            matrices: block.matrices,
            block: Some(block),
        }
    }
}

/// Packed matrices in double or single precision. The padding is written only when the shape
/// changes.
#[derive(Debug)]
struct PackedMatrices<R> {
    memory: AlignedBuffer<R>,
    /// Number of lanes, and number of matrices in them.
    shape: (usize, usize),
}

impl<R: Real> Default for PackedMatrices<R> {
    fn default() -> Self {
        Self {
            memory: AlignedBuffer::zeros(0),
            shape: (0, 0),
        }
    }
}

impl<R: Real> PackedMatrices<R> {
    fn numbers(&self) -> &[R] {
        &self.memory
    }

    /// Allocates the entries of a block, if the shape differs, with multiples of the identity in
    /// the padding. The caller must write the other lanes.
    fn allocate_like<T: Scalar>(&mut self, view: &BlockView<'_, T, R>, identity: f64) -> &mut [R] {
        let (lanes, triangle) = (view.weights.len(), Triangle::new(view.p));
        let len = T::PLANES * triangle.len() * lanes;
        if self.memory.len() != len || self.shape != (lanes, view.matrices) {
            if self.memory.len() != len {
                self.memory = AlignedBuffer::of_len(len);
            }
            self.shape = (lanes, view.matrices);
            let rows = self.memory.chunks_exact_mut(lanes);
            rows.for_each(|row| row[view.matrices..].fill(R::rounded(0.0)));
            for a in 0..view.p {
                let row = &mut self.memory[triangle.diagonal(a) * lanes..][..lanes];
                row[view.matrices..].fill(R::rounded(identity));
            }
        }
        &mut self.memory
    }
}

/// Data that one block caches between requests. Their memory is reused.
#[derive(Debug)]
pub(crate) struct BlockState<R = f64> {
    /// 1 / s_i.
    inverse_sizes: Vec<f64>,
    /// Dⁱ.
    transformed: PackedMatrices<R>,
    /// E Dⁱ + (E Dⁱ)ᴴ and E Dⁱ Eᴴ.
    cross: PackedMatrices<R>,
    square: PackedMatrices<R>,
    /// Rows of lanes: λⁱ for least squares, 1 / Dⁱ_aa for weighted sums, and the diagonals along a
    /// line that is computed from the Cⁱ.
    diagonals: Vec<f64>,
    /// Cⁱ A.
    products: Vec<f64>,
}

impl<R: Real> Default for BlockState<R> {
    fn default() -> Self {
        Self {
            inverse_sizes: Vec::new(),
            transformed: PackedMatrices::default(),
            cross: PackedMatrices::default(),
            square: PackedMatrices::default(),
            diagonals: Vec::new(),
            products: Vec::new(),
        }
    }
}

impl<R: RowPrecision> BlockState<R> {
    /// Adds the block to the sums of a request.
    pub fn evaluate<T: Scalar>(
        &mut self,
        view: &BlockView<'_, T, R>,
        task: &Task<'_, T>,
        sums: &mut Sums<T>,
    ) -> Result<(), Error> {
        let (p, weights) = (view.p, view.weights);
        let has_matrices = !view.entries.is_empty() || task.reuse.transformed || task.reuse.update;
        if !has_matrices {
            return Err(Error::InvalidRequest);
        }
        match task.request {
            Request::Balance { .. } | Request::SecondMoment | Request::Correlate { .. } => {
                self.add_start_sums(view.block.ok_or(Error::InvalidRequest)?, task, sums);
            }
            _ if task.fit.is_some() => {
                self.add_fit(view.block.ok_or(Error::InvalidRequest)?, task, sums);
            }
            Request::Point { .. } => {
                self.transform(view, task);
                let (function, d) = (task.function(), self.transformed.numbers());
                sums.numbers[0] += kernels::diagonal_sum(function, p, d, weights);
                kernels::accumulate_moments(function, p, d, weights, &mut sums.moments);
                self.add_hessian(view, task, sums)?;
            }
            Request::Hessian { .. } => {
                self.transform(view, task);
                self.add_hessian(view, task, sums)?;
            }
            Request::HessianProduct { e, .. } => {
                self.transform(view, task);
                let (d, product) = (self.double()?, &mut sums.moments.gradient);
                kernels::accumulate_product(task.function(), e, d, weights, product);
            }
            Request::Mean { .. } => {
                self.transform(view, task);
                kernels::combine(self.double()?, weights, &mut sums.numbers);
            }
            Request::Line { .. } | Request::LinePoint { .. } if task.lines_from_originals => {
                self.add_line_from_originals(view.block.ok_or(Error::InvalidRequest)?, task, sums);
            }
            Request::Line { e, .. } => {
                self.transform(view, task);
                self.prepare_line(view, task, e);
                self.add_power_changes(view, sums);
                for (at, alpha) in [(2 * p, 0.0), (2 * p + 3, 1.0)] {
                    sums.add_line_point(at, self.line_point(view, task, alpha));
                }
            }
            Request::LinePoint { e, alpha, .. } => {
                self.transform(view, task);
                self.prepare_line(view, task, e);
                sums.add_line_point(0, self.line_point(view, task, *alpha));
            }
            Request::Weighted { .. } => {
                self.transform(view, task);
                let lanes = weights.len();
                let mut inverses = std::mem::take(&mut self.diagonals);
                inverses.clear();
                let (d, triangle) = (self.double()?, Triangle::new(p));
                for a in 0..p {
                    let row = &d[triangle.diagonal(a) * lanes..][..lanes];
                    inverses.extend(row.iter().map(|x| 1.0 / x));
                }
                let rows = sums.hessian.double_mut();
                kernels::accumulate_weighted(p, d, weights, &inverses, rows);
                self.diagonals = inverses;
            }
            Request::Wedge { .. } => {
                self.transform(view, task);
                let (function, d) = (task.function(), self.transformed.numbers());
                kernels::accumulate_moments(function, p, d, weights, &mut sums.moments);
            }
            Request::Components { mean_powers, .. } => {
                self.transform(view, task);
                let (function, d) = (task.function(), self.transformed.numbers());
                sums.numbers[0] += kernels::diagonal_sum(function, p, d, weights);
                let (lanes, triangle) = (weights.len(), Triangle::new(p));
                let powers = sums.numbers[1..].iter_mut().zip(mean_powers);
                for (a, (sum, mean)) in powers.enumerate() {
                    let row = &d[triangle.diagonal(a) * lanes..][..lanes];
                    let terms = row.iter().zip(weights);
                    *sum += terms
                        .map(|(x, w)| w * task.variation(x.widened(), *mean))
                        .sum::<f64>();
                }
            }
        }
        Ok(())
    }

    /// Adds the row blocks of the Hessian, if each block adds them.
    fn add_hessian<T: Scalar>(
        &self,
        view: &BlockView<'_, T, R>,
        task: &Task<'_, T>,
        sums: &mut Sums<T>,
    ) -> Result<(), Error> {
        if task.with_hessian {
            let (d, rows) = (self.double()?, sums.hessian.double_mut());
            kernels::accumulate_hessian(task.function(), view.p, d, view.weights, rows, false);
        }
        Ok(())
    }

    /// Returns the transformed matrices in double precision. Fails in single precision.
    fn double(&self) -> Result<&[f64], Error> {
        R::as_double(self.transformed.numbers()).ok_or(Error::InvalidRequest)
    }

    /// Allocates the transformed matrices, with identities in the padding. The caller must write
    /// the other lanes.
    pub fn allocate_transformed<T: Scalar>(&mut self, view: &BlockView<'_, T, R>) -> &mut [R] {
        self.transformed.allocate_like(view, 1.0)
    }

    /// Returns the transformed matrices.
    pub fn transformed(&self) -> &[R] {
        self.transformed.numbers()
    }

    /// Returns the transformed matrices, mutably.
    pub fn transformed_mut(&mut self) -> &mut [R] {
        &mut self.transformed.memory
    }

    /// Updates or recomputes the transformed matrices at the point of the request.
    pub fn transform<T: Scalar>(&mut self, view: &BlockView<'_, T, R>, task: &Task<'_, T>) {
        if task.reuse.transformed {
            return;
        }
        if let (true, Request::Point { update, .. }) = (task.reuse.update, task.request)
            && let Some(update) = update
        {
            let (cross, square) = (self.cross.numbers(), self.square.numbers());
            let (d, lanes) = (&mut *self.transformed.memory, view.weights.len());
            kernels::advance(d, cross, square, lanes, update.alpha, &update.scale);
            return;
        }
        let b = task.request.point().expect("a request with a point");
        let d = self.transformed.allocate_like(view, 1.0);
        kernels::congruence(kernels::Congruence {
            transform: b,
            input: view.entries,
            lanes: view.weights.len(),
            matrices: view.matrices,
            square: d,
            cross: None,
        });
    }

    /// Computes the tables along a direction.
    fn prepare_line<T: Scalar>(
        &mut self,
        view: &BlockView<'_, T, R>,
        task: &Task<'_, T>,
        e: &Matrix<T>,
    ) {
        if task.reuse.line {
            return;
        }
        let square = self.square.allocate_like(view, 0.0);
        kernels::congruence(kernels::Congruence {
            transform: e,
            input: self.transformed.numbers(),
            lanes: view.weights.len(),
            matrices: view.matrices,
            square,
            cross: Some(self.cross.allocate_like(view, 0.0)),
        });
    }

    /// Adds the linear and quadratic coefficients of the powers along the direction.
    fn add_power_changes<T: Scalar>(&self, view: &BlockView<'_, T, R>, sums: &mut Sums<T>) {
        let (lanes, triangle) = (view.weights.len(), Triangle::new(view.p));
        let (linear, rest) = sums.numbers.split_at_mut(view.p);
        for (table, totals) in [(&self.cross, linear), (&self.square, &mut rest[..view.p])] {
            for (a, total) in totals.iter_mut().enumerate() {
                let row = &table.numbers()[triangle.diagonal(a) * lanes..][..lanes];
                let terms = row.iter().zip(view.weights);
                *total += terms.map(|(x, w)| w * x.widened()).sum::<f64>();
            }
        }
    }

    fn line_point<T: Scalar>(
        &self,
        view: &BlockView<'_, T, R>,
        task: &Task<'_, T>,
        alpha: f64,
    ) -> LinePoint {
        let (d, cross, square) = (&self.transformed, &self.cross, &self.square);
        let (d, cross, square) = (d.numbers(), cross.numbers(), square.numbers());
        kernels::line_point(
            task.function(),
            view.p,
            d,
            cross,
            square,
            view.weights,
            alpha,
        )
    }

    fn add_start_sums<T: Scalar>(
        &mut self,
        block: &Block<T>,
        task: &Task<'_, T>,
        sums: &mut Sums<T>,
    ) {
        let sizes = |metric: &[f64]| start_sums::inverse_sizes(block.size(), block, metric);
        match task.request {
            Request::Balance { .. } => {
                self.inverse_sizes = sizes(&task.metric);
                start_sums::add_balanced(block, &self.inverse_sizes, &mut sums.numbers);
            }
            Request::Correlate { metric, .. } => {
                if metric.is_some() && !task.reuse.sizes {
                    self.inverse_sizes = sizes(&task.metric);
                }
                let sizes = match metric {
                    Some(_) => &self.inverse_sizes[..],
                    None => &[],
                };
                start_sums::add_correlations(block, sizes, &task.matrices, &mut sums.numbers);
            }
            _ => {
                let energy = block_energy(block);
                let total = sums.moments.gradient.as_mut_slice();
                linalg::add_multiple(total, 1.0, energy.as_slice());
            }
        }
    }

    /// Evaluates a request of least squares.
    fn add_fit<T: Scalar>(&mut self, block: &Block<T>, task: &Task<'_, T>, sums: &mut Sums<T>) {
        let (p, lanes, weights) = (block.size(), block.lanes(), &block.weights);
        let fit = task.fit.as_ref().expect("a request of least squares");
        let mut fitted = std::mem::take(&mut self.diagonals);
        fitted.resize(p * lanes, 0.0);
        let mut energy = 0.0;
        match task.request {
            Request::Point { .. } => {
                let task = fit.task(block, &mut fitted);
                energy = kernels::accumulate_fit(task, &mut sums.moments);
                sums.numbers[0] += energy;
            }
            _ if task.reuse.fit && !matches!(task.request, Request::Components { .. }) => {}
            _ => {
                let task = fit.task(block, &mut fitted);
                energy = kernels::accumulate_fit(task, &mut MomentSums::new(p));
            }
        }
        if task.with_hessian {
            let (entries, rows) = (block.entries(), sums.hessian.double_mut());
            kernels::accumulate_weighted(p, entries, weights, &fitted, rows);
        }
        match task.request {
            Request::HessianProduct { .. } => {
                if !task.reuse.products {
                    self.products.resize(T::PLANES * p * p * lanes, 0.0);
                    let (entries, products) = (block.entries(), &mut self.products);
                    kernels::fit_products(&fit.components, entries, lanes, products);
                }
                let change = task.change.as_ref().expect("a change of A");
                let response = fit.response(change, &self.products, weights, &fitted);
                kernels::accumulate_response(&response, &mut sums.moments);
            }
            Request::Components { mean_powers, .. } => {
                sums.numbers[0] += energy;
                let rows = fitted.chunks_exact(lanes).zip(mean_powers);
                for (sum, (row, mean)) in sums.numbers[1..].iter_mut().zip(rows) {
                    let terms = row.iter().zip(weights);
                    *sum += terms.map(|(x, w)| w * (x / mean).powi(2)).sum::<f64>();
                }
            }
            _ => {}
        }
        self.diagonals = fitted;
    }

    /// Writes the powers, one row per matrix, after a request for the components. For least
    /// squares, the energies of the fit are subtracted from the constants, which leaves the
    /// energies of the residuals.
    pub fn write_tables<T: Scalar>(
        &self,
        view: &BlockView<'_, T, R>,
        task: &Task<'_, T>,
        powers: &mut [f64],
        constants: &mut [f64],
    ) {
        let (p, lanes, triangle) = (view.p, view.weights.len(), Triangle::new(view.p));
        let power = |a: usize, lane: usize| match &task.fit {
            Some(_) => self.diagonals[a * lanes + lane],
            None => self.transformed.numbers()[triangle.diagonal(a) * lanes + lane].widened(),
        };
        let rows = powers.chunks_exact_mut(p).zip(constants).enumerate();
        for (lane, (row, constant)) in rows {
            row.iter_mut()
                .enumerate()
                .for_each(|(a, x)| *x = power(a, lane));
            if let Some(fit) = &task.fit {
                *constant -= fit.energy(row);
            }
        }
    }

    /// Evaluates a request along a line from the diagonals of B Cⁱ Bᴴ, of E B Cⁱ Bᴴ plus its
    /// adjoint, and of E B Cⁱ (E B)ᴴ. The state keeps the table for [`line_point_of_table`].
    fn add_line_from_originals<T: Scalar>(
        &mut self,
        block: &Block<T>,
        task: &Task<'_, T>,
        sums: &mut Sums<T>,
    ) {
        let (p, lanes, weights) = (block.size(), block.lanes(), &block.weights);
        let b = task.request.point().expect("a request along a line");
        let f = task.f.as_ref().expect("a request along a line");
        self.diagonals.resize(3 * p * lanes, 0.0);
        kernels::line_diagonals(b, f, block.entries(), lanes, &mut self.diagonals);
        let table = &self.diagonals[..];
        let point = |alpha| line_point_of_table(task, p, table, weights, alpha);
        match task.request {
            Request::Line { .. } => {
                let rows = table[p * lanes..].chunks_exact(lanes);
                let totals = sums.numbers[..2 * p].iter_mut().zip(rows);
                totals.for_each(|(total, row)| *total += linalg::dot(row, weights));
                sums.add_line_point(2 * p, point(0.0));
                sums.add_line_point(2 * p + 3, point(1.0));
            }
            Request::LinePoint { alpha, .. } => sums.add_line_point(0, point(*alpha)),
            _ => {}
        }
    }

    /// Returns the table of the last line that was computed from the Cⁱ.
    pub fn line_table(&self) -> &[f64] {
        &self.diagonals
    }
}

/// Computes the contribution of a block to a line point from the table of its diagonals.
pub(crate) fn line_point_of_table<T>(
    task: &Task<'_, T>,
    p: usize,
    table: &[f64],
    weights: &[f64],
    alpha: f64,
) -> LinePoint {
    let function = task.criterion.function();
    kernels::line_point_of_diagonals(function, p, table, weights, alpha)
}
