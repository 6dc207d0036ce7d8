//! The trait through which the solvers see the matrices.

use super::Summary;
use crate::Error;
use crate::linalg::Matrix;
pub use crate::linalg::kernels::{PairSums, Slope};
use crate::statistics::{Hessian, Statistics};

/// How the powers Σ_i w_i Dⁱ_aa change along a probed direction:
/// power(α) = 1 + α·`linear` + α²·`quadratic` in the gauge where they are 1.
#[derive(Clone, Debug)]
pub struct Probe {
    /// Σ_i w_i of the diagonals of E Dⁱ + (E Dⁱ)ᵀ.
    pub linear: Vec<f64>,
    /// Σ_i w_i of the diagonals of E Dⁱ Eᵀ.
    pub quadratic: Vec<f64>,
}

/// What an answer says of the set at the last B.
#[derive(Clone, Debug)]
pub struct Ending {
    /// Σ_i w_i Σ_a log Dⁱ_aa.
    pub log_powers: f64,
    /// Σ_i w_i (Dⁱ_aa / m_a − 1)² for the mean powers m_a.
    pub variations: Vec<f64>,
    /// What is known of each matrix; None where that is too much to bring here.
    pub tables: Option<Tables>,
}

/// The parts of an answer that grow with the number of matrices.
#[derive(Clone, Debug)]
pub struct Tables {
    /// Dⁱ_aa, one row a matrix.
    pub powers: Vec<f64>,
    /// log det Cⁱ.
    pub log_dets: Vec<f64>,
}

/// Checked matrices Cⁱ and the transformed Dⁱ = B Cⁱ Bᵀ, wherever they are.
///
/// These are all the questions a solver asks. But for the tables at the end, nothing of size n is in
/// them: answers are sums over the set, so that blocks in memory, blocks on disk and workers on
/// other machines can answer alike. All that must survive a fault is B: [`reset`](Self::reset)
/// brings any set to it.
///
/// Every call fails, with [`Error::External`], if the matrices cannot be reached any more. It may fail
/// with [`Error::Interrupted`] if whoever watches the set wants the solve to end where it stands.
#[allow(clippy::missing_errors_doc)] // said above
pub trait WorkingSet {
    /// What is known of the Cⁱ without a sweep.
    fn summary(&self) -> &Summary;

    /// Every `step`-th matrix as a set of its own, its weights summing to 1 again; None if these
    /// are all zero. Determinants are not carried along: losses on this set lack a constant.
    fn sample(&mut self, step: usize) -> Result<Option<Self>, Error>
    where
        Self: Sized;

    /// Balances the matrices by their sizes s_i = ⟨Cⁱ, S⟩ / p in the metric of a positive definite
    /// S: returns Σ_i w_i Cⁱ / s_i, and keeps the sizes where the matrices are.
    fn balance(&mut self, metric: &Matrix) -> Result<Matrix, Error>;

    /// Σ_i w_i ⟨Cⁱ, S⟩ Cⁱ / s_i² for eight symmetric S at once, with the sizes of
    /// [`balance`](Self::balance). Both sides are lower triangles, row after row, each entry being
    /// eight numbers.
    fn correlate(&mut self, eight: &[f64]) -> Result<Vec<f64>, Error>;

    /// D ← B C Bᵀ. Returns Σ_i w_i Σ_a log Dⁱ_aa.
    fn reset(&mut self, b: &Matrix) -> Result<f64, Error>;

    /// Σ_i w_i Dⁱ.
    fn mean(&mut self) -> Result<Matrix, Error>;

    /// The sums that make gradient and Γ at the current D.
    fn statistics(&mut self) -> Result<Statistics, Error>;

    /// Hears that exact Hessians will be asked for at the points to come, so that they may be summed
    /// together with the statistics; says whether there is room for them.
    fn expect_hessian(&mut self) -> bool {
        true
    }

    /// Writes the exact Hessian at the current D.
    fn hessian(&mut self, hessian: &mut Hessian) -> Result<(), Error>;

    /// The product of the exact Hessian at the current D with `e`, by a sweep over the set: for
    /// when the Hessian would not fit into memory.
    fn hessian_product(&mut self, e: &Matrix) -> Result<Matrix, Error>;

    /// Prepares D(α) = (I + αE) D (I + αE)ᵀ for all α.
    fn probe(&mut self, e: &Matrix) -> Result<Probe, Error>;

    /// Σ_i w_i Σ_a log Dⁱ_aa(α) along the probed direction, with two derivatives.
    fn slope(&mut self, alpha: f64) -> Result<Slope, Error>;

    /// D ← S D(α) S along the probed direction, with S = diag(`scale`). Returns the statistics
    /// there.
    fn advance(&mut self, alpha: f64, scale: &[f64]) -> Result<Statistics, Error>;

    /// What the answer says of the current D, whose mean powers are given.
    fn ending(&mut self, mean_powers: &[f64]) -> Result<Ending, Error>;

    /// Access pair by pair, for Pham's method; None where p²/2 sweeps an iteration would not do.
    fn pairs(&mut self) -> Option<&mut dyn Pairs> {
        None
    }
}

/// What Pham's method asks of a set, one pair of components at a time.
pub trait Pairs {
    /// The sums for one pair.
    fn pair_sums(&mut self, a: usize, b: usize) -> PairSums;

    /// Rows (a, b) ← (a + e_ab·b, b + e_ba·a) on both sides of every matrix.
    fn rotate_pair(&mut self, pair: (usize, usize), e: (f64, f64));

    /// Σ_i w_i Σ_a log Dⁱ_aa.
    fn log_powers(&mut self) -> f64;
}
