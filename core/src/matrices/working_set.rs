//! The trait through which the solvers see the matrices.

use crate::Error;
use crate::linalg::Matrix;
use crate::linalg::kernels::Slope;
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

/// The transformed matrices Dⁱ = B Cⁱ Bᵀ, wherever they are.
///
/// These are all the questions a solver asks. Nothing of size n is in them: answers are sums over
/// the set, so that blocks in memory, blocks on disk and workers on other machines can answer alike.
/// All that must survive a fault is B: [`reset`](Self::reset) brings any set to it.
pub trait WorkingSet {
    /// The size of the matrices.
    fn dimension(&self) -> usize;

    /// D ← B C Bᵀ. Returns Σ_i w_i Σ_a log Dⁱ_aa.
    ///
    /// # Errors
    /// If the matrices cannot be read.
    fn reset(&mut self, b: &Matrix) -> Result<f64, Error>;

    /// Σ_i w_i Dⁱ.
    ///
    /// # Errors
    /// If the matrices cannot be read.
    fn mean(&mut self) -> Result<Matrix, Error>;

    /// The sums that make gradient and Γ at the current D.
    ///
    /// # Errors
    /// If the matrices cannot be read.
    fn statistics(&mut self) -> Result<Statistics, Error>;

    /// Writes the exact Hessian at the current D.
    ///
    /// # Errors
    /// If the matrices cannot be read.
    fn hessian(&mut self, hessian: &mut Hessian) -> Result<(), Error>;

    /// The product of the exact Hessian at the current D with `e`, by a sweep over the set: for
    /// when the Hessian would not fit into memory.
    ///
    /// # Errors
    /// If the matrices cannot be read.
    fn hessian_product(&mut self, e: &Matrix) -> Result<Matrix, Error>;

    /// Prepares D(α) = (I + αE) D (I + αE)ᵀ for all α.
    ///
    /// # Errors
    /// If the matrices cannot be read.
    fn probe(&mut self, e: &Matrix) -> Result<Probe, Error>;

    /// Σ_i w_i Σ_a log Dⁱ_aa(α) along the probed direction, with two derivatives.
    ///
    /// # Errors
    /// If the matrices cannot be read.
    fn slope(&mut self, alpha: f64) -> Result<Slope, Error>;

    /// D ← S D(α) S along the probed direction, with S = diag(`scale`). Returns the statistics
    /// there.
    ///
    /// # Errors
    /// If the matrices cannot be read.
    fn advance(&mut self, alpha: f64, scale: &[f64]) -> Result<Statistics, Error>;
}
