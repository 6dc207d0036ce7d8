//! The formulas of the three criteria.
//!
//! The likelihood and the Frobenius criterion sum a function φ of the diagonal entries. With
//! Dⁱ = B Cⁱ Bᵀ the loss is
//!
//! ```text
//! L(B) = Σ_i w_i Σ_a φ(Dⁱ_aa) (− log |det B|) + a constant of the set
//! ```
//!
//! with φ(x) = ½ log x for the likelihood. For the Frobenius criterion φ(x) = −x²/4, and the
//! determinant term is absent because B is orthogonal. Gradient, Γ and Hessian are sums over the
//! set of the same form for any φ, with the scalar weights
//!
//! ```text
//!                        likelihood          Frobenius
//! u_ia = w_i 2φ'(Dⁱ_aa)   w_i / Dⁱ_aa         −w_i Dⁱ_aa
//! v_ia = w_i 4φ''(Dⁱ_aa)  −2w_i / (Dⁱ_aa)²    −2w_i
//! ```
//!
//! Least squares is not a function of the diagonals, since it fits the Cⁱ themselves; see
//! [`least_squares`].

use super::least_squares;
use super::line_search::LogDeterminant;
use crate::backend::{LinePoint, Statistics, Summary};
use crate::data::Criterion;
use crate::linalg::{self, Matrix, Scalar};

impl Criterion {
    /// Returns the loss. `log_det` is log |det B|, and `diagonal_sum` is Σ_i w_i Σ_a log Dⁱ_aa for
    /// the likelihood, Σ_i w_i Σ_a (Dⁱ_aa)² for the Frobenius criterion, and the energy of the fit
    /// for least squares.
    pub(crate) fn loss<T>(self, summary: &Summary<T>, diagonal_sum: f64, log_det: f64) -> f64 {
        match self {
            Self::Likelihood => 0.5 * (diagonal_sum - summary.constant) - log_det,
            _ if summary.constant > 0.0 => clipped(1.0 - diagonal_sum / summary.constant),
            _ => 0.0,
        }
    }

    /// Returns a loss that was updated by adding changes, set to 0 if rounding has made it
    /// negative.
    pub(crate) fn clip_negative_rounding(self, loss: f64) -> f64 {
        match self {
            Self::Likelihood => loss,
            Self::Frobenius | Self::LeastSquares => clipped(loss),
        }
    }

    /// Returns the contribution of one matrix to the loss, from its row of
    /// [`Tables`](crate::backend::Tables); `log_det` is log |det B|. The weighted mean of the
    /// contributions is the loss.
    pub(crate) fn residual<T>(
        self,
        summary: &Summary<T>,
        powers: &[f64],
        constant: f64,
        log_det: f64,
    ) -> f64 {
        match self {
            Self::Likelihood => {
                // One logarithm of the product of eight powers, unless it overflows or underflows.
                let logs = powers
                    .chunks(8)
                    .map(|some| match some.iter().product::<f64>() {
                        product if product.is_normal() => product.ln(),
                        _ => some.iter().map(|x| x.ln()).sum(),
                    });
                0.5 * (logs.sum::<f64>() - constant) - log_det
            }
            _ if summary.constant <= 0.0 => 0.0,
            Self::Frobenius => {
                let squares: f64 = powers.iter().map(|x| x * x).sum();
                clipped((constant - squares) / summary.constant)
            }
            Self::LeastSquares => clipped(constant / summary.constant),
        }
    }

    /// Returns the change of the loss along (I + αE)B and its first two derivatives in α, from the
    /// sums over the set at α, the `diagonal_sum` at α = 0, and log det(I + αE).
    pub(crate) fn along<T>(
        self,
        summary: &Summary<T>,
        diagonal_sum: f64,
        point: LinePoint,
        determinant: LogDeterminant,
    ) -> (f64, f64, f64) {
        match self {
            Self::Likelihood => (
                0.5 * (point.sum - diagonal_sum) - determinant.value,
                0.5 * point.first - determinant.first,
                0.5 * point.second - determinant.second,
            ),
            Self::Frobenius | Self::LeastSquares => {
                let unit = -1.0 / summary.constant.max(f64::MIN_POSITIVE);
                let change = unit * (point.sum - diagonal_sum);
                (change, unit * point.first, unit * point.second)
            }
        }
    }

    /// Returns a bound of the rounding error of changes of the loss.
    pub(crate) fn rounding(self, p: usize, diagonal_sum: f64) -> f64 {
        match self {
            Self::Likelihood => 4.0 * f64::EPSILON * (p as f64 + diagonal_sum.abs()),
            // The loss is a fraction of the energy, so at most 1.
            Self::Frobenius | Self::LeastSquares => 8.0 * f64::EPSILON,
        }
    }

    /// Returns the normalization: factors of the rows of B that do not change the loss and make ĝ
    /// independent of units. For the likelihood they scale the mean powers
    /// Σ_i w_i Dⁱ_aa = b_a C̄ b_aᴴ to 1.
    pub(crate) fn row_scale<T: Scalar>(self, b: &Matrix<T>, mean: &Matrix<T>) -> Vec<f64> {
        match self {
            Self::Likelihood => {
                let half = linalg::product(b, mean);
                (0..b.rows())
                    .map(|a| 1.0 / linalg::dot(half.row(a), b.row(a)).sqrt())
                    .collect()
            }
            // Rows already have unit norm.
            Self::Frobenius => vec![1.0; b.rows()],
            // Columns of A get unit norm.
            Self::LeastSquares => least_squares::column_norms(&linalg::inverse(b)),
        }
    }

    /// Returns the factor that normalizes a row after a step from a normalized point in which the
    /// mean power of its component has changed by `change`.
    pub(crate) fn row_scale_after(self, change: f64) -> f64 {
        match self {
            Self::Likelihood => 1.0 / (1.0 + change).sqrt(),
            Self::Frobenius | Self::LeastSquares => 1.0,
        }
    }

    /// Returns the identifiability margin of two components from Γ: zero if any mixture of them is
    /// a solution. For the Frobenius criterion it is Σ_i w_i (Dⁱ_aa − Dⁱ_bb)² relative to the two
    /// energies; for least squares the squared sine of the angle between the diagonal entries Λⁱ_aa
    /// and Λⁱ_bb as vectors over the set.
    pub(crate) fn margin(self, gamma: &Matrix, a: usize, b: usize) -> f64 {
        match self {
            Self::Likelihood => gamma[(a, b)] * gamma[(b, a)] - 1.0,
            Self::Frobenius => {
                let energies = -gamma[(a, a)] - gamma[(b, b)];
                self.rotation_curvature(gamma, a, b) / energies.max(f64::MIN_POSITIVE)
            }
            Self::LeastSquares => {
                let cosine = gamma[(a, b)] / gamma[(a, a)].sqrt() / gamma[(b, b)].sqrt();
                if cosine.is_finite() {
                    1.0 - cosine * cosine
                } else {
                    0.0
                }
            }
        }
    }

    /// Returns the second derivative of the loss, in the units of Γ, along the rotation of two
    /// components if all Dⁱ are diagonal: Γ_ab + Γ_ba − Γ_aa − Γ_bb.
    #[inline(always)]
    pub(crate) fn rotation_curvature(self, gamma: &Matrix, a: usize, b: usize) -> f64 {
        let sum = gamma[(a, b)] + gamma[(b, a)];
        match self {
            // Γ_aa = 1.
            Self::Likelihood => sum - 2.0,
            Self::Frobenius | Self::LeastSquares => sum - gamma[(a, a)] - gamma[(b, b)],
        }
    }

    /// Returns the scale of the curvatures of rotations, relative to which lower bounds are given.
    #[inline(always)]
    pub(crate) fn curvature_unit(self, gamma: &Matrix, a: usize, b: usize) -> f64 {
        match self {
            Self::Likelihood => gamma[(a, b)] + gamma[(b, a)] + 2.0,
            Self::Frobenius | Self::LeastSquares => -gamma[(a, a)] - gamma[(b, b)],
        }
    }

    /// Returns the lower bound of the quasi-Newton curvatures in the units of Γ, from that of the
    /// settings.
    #[inline(always)]
    pub(crate) fn curvature_floor(self, floor: f64, gamma: &Matrix, a: usize, b: usize) -> f64 {
        match self {
            Self::Likelihood => floor,
            Self::Frobenius | Self::LeastSquares => {
                (floor * self.curvature_unit(gamma, a, b)).max(f64::MIN_POSITIVE)
            }
        }
    }

    /// Returns the gradient norm ĝ that is compared with the tolerance: ‖G‖_F / √p, with the
    /// antisymmetric part of G over rotations; for least squares √(Σ_ab |G_ab|² / (Γ_bb Σ_i w_i
    /// ‖Cⁱ‖²)). For a normalized B it depends neither on units nor on n; the Frobenius criterion
    /// and least squares are relative to the energy of the set.
    pub(crate) fn stopping_measure<T: Scalar>(
        self,
        statistics: &Statistics<T>,
        orthogonal: bool,
        summary: &Summary<T>,
    ) -> f64 {
        if self.is_least_squares() {
            return least_squares::stopping_measure(statistics, summary.constant);
        }
        if !orthogonal {
            return statistics.gradient_norm();
        }
        let p = statistics.gradient.rows() as f64;
        let antisymmetric = statistics.rotation_gradient().norm() / p.sqrt();
        match self {
            Self::Likelihood => antisymmetric,
            _ if summary.constant > 0.0 => 0.5 * antisymmetric * p / summary.constant,
            _ => 0.0,
        }
    }

    /// Returns the factor that converts decreases from the units of the gradient to those of the
    /// loss.
    pub(crate) fn loss_unit<T>(self, summary: &Summary<T>) -> f64 {
        match self {
            Self::Likelihood => 1.0,
            // The loss of matrices that are zero is constant.
            _ if summary.constant <= 0.0 => 0.0,
            Self::Frobenius | Self::LeastSquares => 4.0 / summary.constant,
        }
    }
}

/// Negative fractions of the energy above this are set to zero as rounding errors. Larger negative
/// values are kept, because they indicate an error.
const NEGATIVE_ROUNDING: f64 = -1e-9;

/// Returns a fraction of the energy, set to 0 if rounding has made it negative.
fn clipped(fraction: f64) -> f64 {
    if (NEGATIVE_ROUNDING..0.0).contains(&fraction) {
        0.0
    } else {
        fraction
    }
}

/// Returns the least separable pair of components and its identifiability margin.
pub(crate) fn identifiability(
    criterion: Criterion,
    gamma: &Matrix,
) -> Option<(f64, (usize, usize))> {
    let p = gamma.rows();
    (0..p)
        .flat_map(|a| (a + 1..p).map(move |b| (a, b)))
        .map(|(a, b)| (criterion.margin(gamma, a, b), (a, b)))
        .min_by(|x, y| x.0.total_cmp(&y.0))
}
