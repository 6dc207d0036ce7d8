//! The formulas of the three criteria.
//!
//! A criterion is a function φ of one diagonal entry. With Dⁱ = B Cⁱ Bᵀ its loss is
//!
//! ```text
//! L(B) = Σ_i w_i Σ_a φ(Dⁱ_aa) (− log |det B|) + a constant of the set
//! ```
//!
//! with φ(x) = ½ log x for the likelihood, and −x²/4 for the Frobenius criterion, which has no
//! determinant, since it moves over rotations. The sums over the set that make gradient, Γ and Hessian
//! are the same for any φ, with the scalar weights
//!
//! ```text
//!                        likelihood          Frobenius
//! u_ia = w_i 2φ'(Dⁱ_aa)   w_i / Dⁱ_aa         −w_i Dⁱ_aa
//! v_ia = w_i 4φ''(Dⁱ_aa)  −2w_i / (Dⁱ_aa)²    −2w_i
//! ```
//!
//! Least squares is no function of the diagonals, since it fits the Cⁱ themselves: see
//! [`least_squares`].

use super::least_squares;
use super::line_search::LogDeterminant;
use crate::backend::{LinePoint, Statistics, Summary};
use crate::data::Criterion;
use crate::linalg::{self, Matrix, Scalar};

impl Criterion {
    /// The loss at a B of that log |det|, where Σ_i w_i Σ_a log Dⁱ_aa, or the same of (Dⁱ_aa)², or the
    /// energy of the fit, is `diagonal_sum`.
    pub(crate) fn loss<T>(self, summary: &Summary<T>, diagonal_sum: f64, log_det: f64) -> f64 {
        match self {
            Self::Likelihood => 0.5 * (diagonal_sum - summary.constant) - log_det,
            _ if summary.constant > 0.0 => clipped(1.0 - diagonal_sum / summary.constant),
            _ => 0.0,
        }
    }

    /// A loss reached by adding changes, of which rounding may have left less than nothing.
    pub(crate) fn without_negative_rounding(self, loss: f64) -> f64 {
        match self {
            Self::Likelihood => loss,
            Self::Frobenius | Self::LeastSquares => clipped(loss),
        }
    }

    /// One matrix's own loss at a B of that log |det|, from its row of [`Tables`](crate::backend::Tables), in
    /// a set of that constant: their weighted mean is the loss.
    pub(crate) fn residual<T>(
        self,
        summary: &Summary<T>,
        powers: &[f64],
        constant: f64,
        log_det: f64,
    ) -> f64 {
        match self {
            Self::Likelihood => {
                // One logarithm for eight, unless their product leaves the range of numbers.
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

    /// The change of the loss along (I + αE)B, and its derivatives: from the sums over the set at α,
    /// its `diagonal_sum` at 0, and log det(I + αE).
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

    /// Changes of the loss smaller than this are rounding.
    pub(crate) fn rounding(self, p: usize, diagonal_sum: f64) -> f64 {
        match self {
            Self::Likelihood => 4.0 * f64::EPSILON * (p as f64 + diagonal_sum.abs()),
            // Shares of the energy, of which there is 1.
            Self::Frobenius | Self::LeastSquares => 8.0 * f64::EPSILON,
        }
    }

    /// The normalization: the factors of the rows of B that leave the loss as it is and make ĝ free of
    /// units. For the likelihood they bring the mean powers Σ_i w_i Dⁱ_aa = b_a C̄ b_aᴴ to 1.
    pub(crate) fn gauge<T: Scalar>(self, b: &Matrix<T>, mean: &Matrix<T>) -> Vec<f64> {
        match self {
            Self::Likelihood => {
                let half = linalg::product(b, mean);
                (0..b.rows())
                    .map(|a| 1.0 / linalg::dot(half.row(a), b.row(a)).sqrt())
                    .collect()
            }
            // Rows have unit norm.
            Self::Frobenius => vec![1.0; b.rows()],
            // Columns of A have.
            Self::LeastSquares => least_squares::column_norms(&linalg::inverse(b)),
        }
    }

    /// The factor of a row after a step from a point in the gauge, along which the mean power of a component
    /// changes by `change`.
    pub(crate) fn gauge_after(self, change: f64) -> f64 {
        match self {
            Self::Likelihood => 1.0 / (1.0 + change).sqrt(),
            Self::Frobenius | Self::LeastSquares => 1.0,
        }
    }

    /// How well two components can be told apart, from Γ: zero if any mixture of them serves as well.
    /// For the Frobenius criterion it is Σ_i w_i (Dⁱ_aa − Dⁱ_bb)², as a share of the two energies; for least
    /// squares the squared sine of the angle between the diagonals Λⁱ_aa and Λⁱ_bb over the set.
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

    /// The second derivative of the loss (in the units of Γ) along the rotation of two components, if all
    /// Dⁱ are diagonal: Γ_ab + Γ_ba − Γ_aa − Γ_bb.
    #[inline(always)]
    pub(crate) fn rotation_curvature(self, gamma: &Matrix, a: usize, b: usize) -> f64 {
        let sum = gamma[(a, b)] + gamma[(b, a)];
        match self {
            // Γ_aa = 1.
            Self::Likelihood => sum - 2.0,
            Self::Frobenius | Self::LeastSquares => sum - gamma[(a, a)] - gamma[(b, b)],
        }
    }

    /// What curvatures of rotations are compared with: a floor for them is a share of it.
    #[inline(always)]
    pub(crate) fn curvature_unit(self, gamma: &Matrix, a: usize, b: usize) -> f64 {
        match self {
            Self::Likelihood => gamma[(a, b)] + gamma[(b, a)] + 2.0,
            Self::Frobenius | Self::LeastSquares => -gamma[(a, a)] - gamma[(b, b)],
        }
    }

    /// The floor of the quasi-Newton curvatures, in the units of Γ, from that of the settings.
    #[inline(always)]
    pub(crate) fn curvature_floor(self, floor: f64, gamma: &Matrix, a: usize, b: usize) -> f64 {
        match self {
            Self::Likelihood => floor,
            Self::Frobenius | Self::LeastSquares => {
                (floor * self.curvature_unit(gamma, a, b)).max(f64::MIN_POSITIVE)
            }
        }
    }

    /// What is compared with the tolerance: ĝ = ‖G‖_F / √p or, over rotations, that of the antisymmetric
    /// part; for least squares √(Σ_ab |G_ab|² / (Γ_bb Σ_i w_i ‖Cⁱ‖²)). In the gauge, and for the latter two in
    /// units of the set's energy, it is free of units and of n.
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

    /// From decreases in the units of the gradient to those of the loss.
    pub(crate) fn loss_unit<T>(self, summary: &Summary<T>) -> f64 {
        match self {
            Self::Likelihood => 1.0,
            // The loss of matrices that are zero is constant.
            _ if summary.constant <= 0.0 => 0.0,
            Self::Frobenius | Self::LeastSquares => 4.0 / summary.constant,
        }
    }
}

/// Fractions of the energy above this, and below zero, are rounding. What is further below is not clipped,
/// because it would hide that the numbers are wrong.
const NEGATIVE_ROUNDING: f64 = -1e-9;

/// A fraction of the energy, which is 0 if rounding has made it negative.
fn clipped(fraction: f64) -> f64 {
    if (NEGATIVE_ROUNDING..0.0).contains(&fraction) {
        0.0
    } else {
        fraction
    }
}

/// The pair of components that is hardest to separate, and its margin.
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
