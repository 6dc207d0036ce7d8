//! What "as diagonal as can be" means: the one place that spells a criterion out.
//!
//! A criterion is a function φ of one diagonal entry. With Dⁱ = B Cⁱ Bᵀ its loss is
//!
//! ```text
//! L(B) = Σ_i w_i Σ_a φ(Dⁱ_aa) − log |det B| + a constant of the set,   φ(x) = ½ log x
//! ```
//!
//! The sums over the set that make gradient, Γ and Hessian are the same for any φ, with the scalar
//! weights
//!
//! ```text
//! u_ia = w_i 2φ'(Dⁱ_aa) = w_i / Dⁱ_aa,   v_ia = w_i 4φ''(Dⁱ_aa) = −2 w_i / (Dⁱ_aa)²
//! ```
//!
//! So all that the rest of the library asks of a criterion is here: the loss at a point and along a
//! line, those weights, how much of a loss is rounding, its gauge, and what it requires of a set.

use std::str::FromStr;

use crate::Error;
use crate::error::{Expected, Setting};
use crate::linalg::{self, Matrix};
use crate::line_search::LogDeterminant;
use crate::matrices::{LinePoint, Summary};
use crate::settings::Method;

/// What is minimized.
///
/// ```
/// use codiag::{Criterion, Method};
/// assert_eq!(Criterion::default(), Criterion::Likelihood);
/// assert!(Criterion::Likelihood.methods().contains(&Method::Pham));
/// assert_eq!("likelihood".parse(), Ok(Criterion::Likelihood));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Criterion {
    /// Pham's (2001) likelihood, for positive definite matrices:
    /// L(B) = ½ Σ_i w_i \[Σ_a log Dⁱ_aa − log det Dⁱ\].
    #[default]
    Likelihood,
}

impl Criterion {
    /// All criteria.
    pub const ALL: [Self; 1] = [Self::Likelihood];

    const NAMES: [&'static str; 1] = ["likelihood"];

    /// The name used in Python and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Likelihood => "likelihood",
        }
    }

    /// The methods that minimize it.
    pub fn methods(self) -> &'static [Method] {
        match self {
            Self::Likelihood => &Method::ALL,
        }
    }

    /// Whether all matrices must be positive definite; symmetric and finite they always are.
    pub fn requires_definite(self) -> bool {
        match self {
            Self::Likelihood => true,
        }
    }

    /// u = w 2φ'(d), the weight of a matrix whose diagonal entry is d.
    #[inline(always)]
    pub(crate) fn first_weight(self, w: f64, d: f64) -> f64 {
        match self {
            Self::Likelihood => w / d,
        }
    }

    /// √(−w 4φ''(d)) for a weight given by its root √(2w): φ is concave.
    #[inline(always)]
    pub(crate) fn second_weight_root(self, root: f64, d: f64) -> f64 {
        match self {
            Self::Likelihood => root / d,
        }
    }

    /// The loss at a B of that log |det|, where Σ_i w_i Σ_a log Dⁱ_aa is `diagonal_sum`.
    pub(crate) fn loss(self, summary: &Summary, diagonal_sum: f64, log_det: f64) -> f64 {
        match self {
            Self::Likelihood => 0.5 * (diagonal_sum - summary.mean_log_det) - log_det,
        }
    }

    /// One matrix's share of the loss at a B of that log |det|, from its Dⁱ_aa and its log det Cⁱ.
    pub(crate) fn residual(self, powers: &[f64], log_det_c: f64, log_det: f64) -> f64 {
        match self {
            Self::Likelihood => {
                let logs: f64 = powers.iter().map(|x| x.ln()).sum();
                0.5 * (logs - log_det_c) - log_det
            }
        }
    }

    /// The change of the loss along (I + αE)B, and its derivatives: from the sums over the set at α,
    /// its `diagonal_sum` at 0, and log det(I + αE).
    pub(crate) fn along(
        self,
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
        }
    }

    /// Changes of the loss smaller than this are rounding.
    pub(crate) fn rounding(self, p: usize, diagonal_sum: f64) -> f64 {
        match self {
            Self::Likelihood => 4.0 * f64::EPSILON * (p as f64 + diagonal_sum.abs()),
        }
    }

    /// The gauge: the factors of the rows of B that leave the loss as it is and make ĝ free of
    /// units. Here they bring the mean powers Σ_i w_i Dⁱ_aa = b_a C̄ b_aᵀ to 1.
    pub(crate) fn gauge(self, b: &Matrix, mean: &Matrix) -> Vec<f64> {
        match self {
            Self::Likelihood => {
                let half = linalg::product(b, mean);
                (0..b.rows())
                    .map(|a| 1.0 / linalg::dot(half.row(a), b.row(a)).sqrt())
                    .collect()
            }
        }
    }

    /// The same after a step from a point in the gauge, along which the mean power of a component
    /// changes by `change`.
    pub(crate) fn gauge_after(self, change: f64) -> f64 {
        match self {
            Self::Likelihood => 1.0 / (1.0 + change).sqrt(),
        }
    }

    /// How well two components can be told apart, from Γ_ab and Γ_ba: zero if any mixture of them
    /// serves as well.
    pub(crate) fn margin(self, gamma_ab: f64, gamma_ba: f64) -> f64 {
        match self {
            Self::Likelihood => gamma_ab * gamma_ba - 1.0,
        }
    }
}

impl FromStr for Criterion {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let mut all = Self::ALL.into_iter();
        all.find(|criterion| criterion.name() == name)
            .ok_or_else(|| {
                let expected = Expected::OneOf(&Self::NAMES);
                Error::setting(Setting::Criterion, expected, format!("{name:?}"))
            })
    }
}
