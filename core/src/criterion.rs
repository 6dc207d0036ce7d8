//! What "as diagonal as can be" means: the one place that spells a criterion out.
//!
//! A criterion is a function of one diagonal entry: with Dⁱ = B Cⁱ Bᵀ its loss is
//!
//! ```text
//! L(B) = Σ_i w_i Σ_a φ(Dⁱ_aa) − log |det B| + a constant of the set,   φ(x) = ½ log x
//! ```
//!
//! The sums over the set that make up gradient and Hessian are the same for any φ, with the scalar
//! weights w_i 2φ'(Dⁱ_aa) and w_i 4φ''(Dⁱ_aa). So all that the rest of the library asks is here: the
//! loss at a point and along a line, those weights, how much of a loss is rounding, and what is
//! required of a set.

use std::str::FromStr;

use crate::Error;
use crate::error::{Expected, Setting};
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
