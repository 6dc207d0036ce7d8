//! What is minimized: the criteria by name, and what they require of a set.

use std::str::FromStr;

use crate::Error;
use crate::error::{Expected, Setting};
use crate::linalg::kernels::DiagonalFunction;

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
    /// The energy off the diagonals, over rotations (Cardoso & Souloumiac 1996), for any symmetric
    /// matrices: L(B) = Σ_i w_i Σ_{a≠b} (Dⁱ_ab)² / Σ_i w_i ‖Cⁱ‖², B orthogonal. It is 0 if all Dⁱ are
    /// diagonal, and at most 1.
    Frobenius,
    /// The energy that a fit leaves (Yeredor 2002), for any symmetric matrices:
    /// L(B) = Σ_i w_i ‖Cⁱ − A Λⁱ Aᵀ‖² / Σ_i w_i ‖Cⁱ‖² with A = B⁻¹ and the best diagonal Λⁱ. It is 0 if
    /// all B Cⁱ Bᵀ are diagonal, and at most 1.
    LeastSquares,
}

impl Criterion {
    /// All criteria.
    pub const ALL: [Self; 3] = [Self::Likelihood, Self::Frobenius, Self::LeastSquares];

    const NAMES: [&'static str; 3] = ["likelihood", "frobenius", "least-squares"];

    /// The name used in Python and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Likelihood => "likelihood",
            Self::Frobenius => "frobenius",
            Self::LeastSquares => "least-squares",
        }
    }

    /// Whether B is always orthogonal.
    pub fn requires_rotations(self) -> bool {
        self == Self::Frobenius
    }

    /// Whether all matrices must be positive definite; symmetric and finite they always are.
    pub fn requires_definite(self) -> bool {
        self == Self::Likelihood
    }

    /// Those that take any symmetric matrices.
    ///
    /// ```
    /// use codiag::Criterion;
    /// assert!(Criterion::for_any_symmetric().any(|criterion| criterion == Criterion::Frobenius));
    /// ```
    pub fn for_any_symmetric() -> impl Iterator<Item = Self> {
        let all = Self::ALL.into_iter();
        all.filter(|criterion| !criterion.requires_definite())
    }

    /// Whether the matrices are fitted in the coordinates in which they came, and not diagonalized as B Cⁱ Bᴴ.
    pub(crate) fn is_least_squares(self) -> bool {
        self == Self::LeastSquares
    }

    /// The function of the diagonal entries that is summed; for least squares that of U-WEDGE and FFDIAG.
    pub(crate) fn function(self) -> DiagonalFunction {
        match self {
            Self::Likelihood => DiagonalFunction::Log,
            Self::Frobenius | Self::LeastSquares => DiagonalFunction::Square,
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
