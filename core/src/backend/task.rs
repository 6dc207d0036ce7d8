//! A request with the data that all blocks share.

use super::cache_keys::Reuse;
use super::fit::{Change, Fit};
use super::request::Request;
use super::start_sums;
use crate::data::Criterion;
use crate::linalg::kernels::DiagonalFunction;
use crate::linalg::{self, AlignedBuffer, Matrix, Scalar};

/// A request with the data that all blocks share.
pub(crate) struct Task<'a, T> {
    pub request: &'a Request<T>,
    pub criterion: Criterion,
    pub reuse: Reuse,
    /// Whether each block adds its row blocks of Hessians to the sums.
    pub with_hessian: bool,
    /// Whether lines are computed from Cⁱ without transforming all matrices. Diagonals are cheaper
    /// then, but the transformed matrices cannot be updated later.
    pub lines_from_originals: bool,
    /// Metric of the sizes s_i, as weights of packed entries.
    pub metric: Vec<f64>,
    /// Matrices of [`Request::Correlate`], as rows of weights of packed entries.
    pub matrices: AlignedBuffer,
    pub fit: Option<Fit<T>>,
    pub change: Option<Change<T>>,
    /// E B.
    pub f: Option<Matrix<T>>,
}

impl<'a, T: Scalar> Task<'a, T> {
    pub fn new(request: &'a Request<T>, criterion: Criterion, reuse: Reuse) -> Self {
        let metric = match request {
            Request::Balance { metric } => start_sums::inner_product_weights(metric),
            Request::Correlate {
                metric: Some(metric),
                ..
            } if !reuse.sizes => start_sums::inner_product_weights(metric),
            _ => Vec::new(),
        };
        let fitted = criterion.is_least_squares() && !matches!(request, Request::Wedge { .. });
        let fit = request.point().filter(|_| fitted).map(Fit::at);
        let change = match (request, &fit) {
            (Request::HessianProduct { e, .. }, Some(fit)) => Some(Change::new(fit, e)),
            _ => None,
        };
        Self {
            request,
            criterion,
            reuse,
            with_hessian: request.counts(0).2,
            lines_from_originals: false,
            metric,
            matrices: AlignedBuffer::default(),
            fit,
            change,
            f: None,
        }
    }

    /// Prepares the data that depend on the size of the matrices.
    pub fn for_size(mut self, p: usize) -> Self {
        if let Request::Correlate { matrices, .. } = self.request {
            self.matrices = start_sums::inner_product_rows::<T>(matrices, p);
        }
        self
    }

    /// Computes lines from the Cⁱ.
    pub fn with_lines_from_originals(mut self) -> Self {
        if let Request::Line { b, e } | Request::LinePoint { b, e, .. } = self.request {
            self.f = Some(linalg::product(e, b));
            self.lines_from_originals = true;
        }
        self
    }

    /// Whether every matrix is multiplied by p×p matrices.
    pub fn transforms(&self) -> bool {
        let reuse = self.reuse;
        match self.request {
            Request::Balance { .. } | Request::Correlate { .. } => false,
            Request::Line { .. } | Request::LinePoint { .. } => !reuse.line,
            Request::HessianProduct { .. } => !reuse.products,
            Request::SecondMoment | Request::Weighted { .. } => true,
            Request::Components { .. } if self.fit.is_some() => true,
            _ => !(reuse.transformed || reuse.update),
        }
    }

    /// Whether every entry of every matrix is read.
    pub fn reads_all_entries(&self) -> bool {
        let diagonals = [
            matches!(self.request, Request::LinePoint { .. }),
            matches!(self.request, Request::Components { .. }),
            matches!(self.request, Request::Hessian { .. }),
        ];
        !diagonals.contains(&true)
    }

    pub fn function(&self) -> DiagonalFunction {
        self.criterion.function()
    }
}

impl<T> Task<'_, T> {
    /// Returns the contribution of a power x to the contrast of its component: its squared relative
    /// deviation for the likelihood, its energy for the other criteria.
    pub fn variation(&self, x: f64, mean: f64) -> f64 {
        match self.criterion {
            Criterion::Likelihood => (x / mean - 1.0).powi(2),
            Criterion::Frobenius | Criterion::LeastSquares => x * x,
        }
    }
}
