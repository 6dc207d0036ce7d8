//! Result of a solve as the reports need it, from the library or from arrays.

use codiag::{Criterion, Diagonalization, Matrix, Scalar, Stability, Status};

use crate::format;

/// Result of a solve, borrowed from wherever it is.
pub struct SolveResult<'a, T = f64> {
    /// Filters, one per row.
    pub b: &'a Matrix<T>,
    /// Patterns, one per column.
    pub a: &'a Matrix<T>,
    /// Criterion that was minimized.
    pub criterion: Criterion,
    /// Reason why the solve ended.
    pub status: Status,
    /// Number of iterations.
    pub n_iter: usize,
    /// Loss at B.
    pub loss: f64,
    /// Gradient norm at B.
    pub gradient_norm: f64,
    /// Power of each component (columns) in each matrix (rows); no rows if they were not kept.
    pub powers: &'a Matrix,
    /// Contribution of each matrix to the loss; empty if they were not kept.
    pub residuals: &'a [f64],
    /// Final loss of each start.
    pub start_losses: &'a [f64],
    /// Margin of the least separable pair of components, and the pair; None if there is only one
    /// component.
    pub identifiability: Option<(f64, (usize, usize))>,
    /// Ratio of the largest to the smallest singular value of B.
    pub condition_number: f64,
    /// One point per iteration; empty if unknown.
    pub history: Vec<HistoryPoint>,
    /// Stability of each component, if it was estimated.
    pub stability: Option<StabilityEstimate<'a>>,
}

/// Loss and gradient norm after a number of iterations.
#[derive(Clone, Copy, Debug)]
pub struct HistoryPoint {
    /// Number of iterations.
    pub iteration: usize,
    /// Loss.
    pub loss: f64,
    /// Gradient norm.
    pub gradient_norm: f64,
}

/// Stability of each component, and the number of trials that it was estimated from.
#[derive(Clone, Copy, Debug)]
pub struct StabilityEstimate<'a> {
    /// Stability of each component, from 0 to 1.
    pub values: &'a [f64],
    /// Number of trials that are resamples.
    pub resamples: usize,
    /// Number of trials that are solves from additional starting points.
    pub starts: usize,
}

impl<'a> From<&'a Stability> for StabilityEstimate<'a> {
    fn from(found: &'a Stability) -> Self {
        Self {
            values: &found.values,
            resamples: found.resamples(),
            starts: found.starts,
        }
    }
}

impl<T: Scalar> SolveResult<'_, T> {
    /// Name of a component: S00, S01, ...
    pub fn name(&self, component: usize) -> String {
        format::component(component, self.b.rows())
    }
}

impl<'a, T: Scalar> From<&'a Diagonalization<T>> for SolveResult<'a, T> {
    fn from(result: &'a Diagonalization<T>) -> Self {
        let history = result.history.iter().map(|record| HistoryPoint {
            iteration: record.iteration,
            loss: record.loss,
            gradient_norm: record.gradient_norm,
        });
        Self {
            b: &result.b,
            a: &result.a,
            criterion: result.criterion,
            status: result.status,
            n_iter: result.n_iter,
            loss: result.loss,
            gradient_norm: result.gradient_norm,
            powers: &result.powers,
            residuals: &result.residuals,
            start_losses: &result.start_losses,
            identifiability: result.identifiability.as_ref().map(|i| (i.margin, i.pair)),
            condition_number: result.condition_number(),
            history: history.collect(),
            stability: result.stability.as_ref().map(StabilityEstimate::from),
        }
    }
}
