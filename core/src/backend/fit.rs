//! Least-squares fit Cⁱ ≈ A Λⁱ Aᴴ at one B = A⁻¹: the factors that are used for all matrices.

use super::hessian::{HessianRows, Statistics};
use crate::data::Block;
use crate::linalg::kernels::{FitTask, InverseFactors, MomentSums, ResponseTask};
use crate::linalg::{self, Matrix, Scalar};

/// Eigenvalues of K below this fraction of the largest are treated as zero: the columns of A are
/// collinear.
const EIGENVALUE_FLOOR: f64 = 1e-14;
/// Above this condition number of K, its inverse is applied as two factors. Large rounding errors
/// of λ = K⁻¹c are then confined to the weak eigenvectors of K, along which the fit does not
/// change.
const FACTOR_ABOVE_CONDITION: f64 = 1e8;

/// A = B⁻¹, and the matrices from which the optimal diagonals λⁱ of the fit are computed.
#[derive(Clone, Debug)]
pub(crate) struct Fit<T = f64> {
    /// Aᴴ: one component per row.
    pub components: Matrix<T>,
    /// g = AᴴA.
    pub gram: Matrix<T>,
    /// K⁻¹ with K_ab = |g_ab|² or, if K is ill-conditioned, the factor F with K⁻¹ = F Fᵀ.
    outer: Matrix,
    /// Fᵀ if K is ill-conditioned.
    inner: Option<Matrix>,
}

impl<T: Scalar> Fit<T> {
    /// Prepares the fit at B.
    pub fn at(b: &Matrix<T>) -> Self {
        let a = linalg::inverse_by_elimination(b);
        let components = a.adjoint();
        let gram = linalg::product(&components, &a);
        let p = gram.rows();
        let squared = Matrix::from_fn(p, p, |x, y| gram[(x, y)].norm_sqr());
        let (outer, inner) = inverse_of(&squared);
        Self {
            components,
            gram,
            outer,
            inner,
        }
    }

    fn inverse(&self) -> InverseFactors<'_> {
        InverseFactors {
            outer: &self.outer,
            inner: self.inner.as_ref(),
        }
    }

    /// Returns K⁻¹ X.
    pub fn solve(&self, x: &Matrix) -> Matrix {
        match &self.inner {
            None => linalg::product(&self.outer, x),
            Some(inner) => linalg::product(&self.outer, &linalg::product(inner, x)),
        }
    }

    /// Returns the task of fitting a block. The diagonals are written to `fitted`.
    pub fn task<'a>(&'a self, block: &'a Block<T>, fitted: &'a mut [f64]) -> FitTask<'a, T> {
        FitTask {
            components: &self.components,
            inverse: self.inverse(),
            block: block.entries(),
            weights: &block.weights,
            fitted,
        }
    }

    /// Returns the relative gradient G, and Γ = T = Σ_i w_i λⁱλⁱᵀ, from the sums over the set.
    pub fn statistics(&self, sums: &MomentSums<T>) -> Statistics<T> {
        let p = self.gram.rows();
        let gamma = Matrix::from_fn(p, p, |a, b| sums.gamma[(a.max(b), a.min(b))]);
        let weighted = Matrix::from_fn(p, p, |a, b| self.gram[(a, b)] * gamma[(a, b)]);
        let fitted = linalg::product(&self.gram, &weighted);
        let mut gradient = linalg::product_adjoint(&self.components, &sums.gradient);
        linalg::add_multiple(gradient.as_mut_slice(), -1.0, fitted.as_slice());
        // The diagonals are optimal: their gradient is rounding error.
        (0..p).for_each(|a| gradient[(a, a)] = T::ZERO);
        Statistics { gradient, gamma }
    }

    /// Returns the task of computing the response of a block to a change E of A, from Aᴴ Cⁱ and λⁱ.
    pub fn response<'a>(
        &'a self,
        change: &'a Change<T>,
        products: &'a [f64],
        weights: &'a [f64],
        fitted: &'a [f64],
    ) -> ResponseTask<'a, T> {
        ResponseTask {
            change: &change.adjoint,
            coupling: &change.coupling,
            inverse: self.inverse(),
            products,
            weights,
            fitted,
        }
    }

    /// Returns the product of the exact Hessian with a change E of A,
    /// E(g∘T) + A\[g∘(S + Sᵀ) + T∘(U + Uᴴ)\] − V − \[Qᵃ e_a\],
    /// from T, the sums Qᵃ = Σ_i w_i λⁱ_a Cⁱ, and the sums V = \[Σ_i w_i δλⁱ_a Cⁱ a_a\] and
    /// S = Σ_i w_i δλⁱλⁱᵀ of the response.
    pub fn hessian_product(
        &self,
        change: &Change<T>,
        moments: &Matrix,
        weighted: &mut HessianRows,
        response: &MomentSums<T>,
    ) -> Matrix<T> {
        let p = self.gram.rows();
        let (g, s) = (&self.gram, &response.gamma);
        let scaled = Matrix::from_fn(p, p, |a, b| g[(a, b)] * moments[(a, b)]);
        let inner = Matrix::from_fn(p, p, |a, b| {
            let both = change.inner[(a, b)] + change.inner[(b, a)].conj();
            g[(a, b)] * (s[(a, b)] + s[(b, a)]) + both * moments[(a, b)]
        });
        // The adjoint of the product, with one component per row as in the sums.
        let mut product = linalg::product(&scaled, &change.adjoint);
        let fitted = linalg::product(&inner, &self.components);
        let curved = weighted.product(&change.adjoint);
        for (factor, matrix) in [(1.0, &fitted), (-1.0, &response.gradient), (-1.0, &curved)] {
            linalg::add_multiple(product.as_mut_slice(), factor, matrix.as_slice());
        }
        product.adjoint()
    }

    /// Returns λᵀKλ, the energy of the fit of one matrix.
    pub fn energy(&self, diagonal: &[f64]) -> f64 {
        let rows = diagonal.iter().enumerate();
        rows.map(|(a, x)| {
            let pairs = self.gram.row(a).iter().zip(diagonal);
            x * pairs.map(|(g, y)| g.norm_sqr() * y).sum::<f64>()
        })
        .sum()
    }
}

/// A change E of A.
pub(crate) struct Change<T = f64> {
    /// Eᴴ.
    adjoint: Matrix<T>,
    /// U = AᴴE.
    inner: Matrix<T>,
    /// The real parts of ḡ∘(U + Uᴴ).
    coupling: Matrix,
}

impl<T: Scalar> Change<T> {
    pub fn new(fit: &Fit<T>, e: &Matrix<T>) -> Self {
        let inner = linalg::product(&fit.components, e);
        let coupling = Matrix::from_fn(e.rows(), e.rows(), |a, b| {
            (fit.gram[(a, b)].conj() * (inner[(a, b)] + inner[(b, a)].conj())).real()
        });
        Self {
            adjoint: e.adjoint(),
            inner,
            coupling,
        }
    }
}

/// Returns the inverse of a positive semidefinite matrix on its range, or the factors F and Fᵀ of
/// the inverse if the matrix is ill-conditioned.
fn inverse_of(k: &Matrix) -> (Matrix, Option<Matrix>) {
    let (log_det, inverse) = linalg::log_det_and_inverse(k);
    let condition = linalg::max_abs(k.as_slice()) * linalg::max_abs(inverse.as_slice());
    if log_det.is_finite() && condition < FACTOR_ABOVE_CONDITION {
        return (inverse, None);
    }
    let p = k.rows();
    let Some((values, vectors)) = linalg::symmetric_eigen(k) else {
        return (Matrix::zeros(p, p), None);
    };
    let floor = EIGENVALUE_FLOOR * values[p - 1];
    let inverse_root = |value: &f64| {
        if *value > floor {
            value.sqrt().recip()
        } else {
            0.0
        }
    };
    let roots: Vec<f64> = values.iter().map(inverse_root).collect();
    let inner = vectors.scale_rows(&roots);
    (inner.transpose(), Some(inner))
}
