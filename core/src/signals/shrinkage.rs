//! Shrinkage of a covariance towards a multiple of the identity: a given amount, or the best one.

use std::str::FromStr;

use crate::Error;
use crate::error::{Expected, Setting};

/// How far a covariance C is drawn towards tr(C)/p · I.
///
/// ```
/// use codiag::signals::Shrinkage;
/// assert_eq!("auto".parse(), Ok(Shrinkage::LedoitWolf));
/// assert_eq!("0.1".parse(), Ok(Shrinkage::Fixed(0.1)));
/// assert_eq!(Shrinkage::default(), Shrinkage::Fixed(0.0)); // none
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Shrinkage {
    /// (1 − s) C + s tr(C)/p I for this s in \[0, 1\].
    Fixed(f64),
    /// The s that Ledoit & Wolf (2004) estimate from the samples of each matrix.
    LedoitWolf,
    /// The s of the oracle approximating estimator for Gaussian samples, Chen et al. (2010).
    Oas,
}

impl Default for Shrinkage {
    fn default() -> Self {
        Self::Fixed(0.0)
    }
}

impl FromStr for Shrinkage {
    type Err = Error;

    /// A number, `"auto"` or `"ledoit-wolf"`, or `"oas"`.
    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "auto" | "ledoit-wolf" => return Ok(Self::LedoitWolf),
            "oas" => return Ok(Self::Oas),
            _ => {}
        }
        let fixed = text.parse().map(Self::Fixed);
        fixed.map_err(|_| refused(&format!("{text:?}")))
    }
}

fn refused(value: &str) -> Error {
    let names = &["auto", "ledoit-wolf", "oas"];
    let expected = Expected::OneOfOr(names, "a number between 0 and 1");
    Error::setting(Setting::Shrinkage, expected, value)
}

impl Shrinkage {
    pub(super) fn check(self) -> Result<(), Error> {
        match self {
            Self::Fixed(s) if !(0.0..=1.0).contains(&s) => Err(refused(&s.to_string())),
            _ => Ok(()),
        }
    }

    /// Refuses any, for matrices that are not positive definite.
    pub(super) fn refuse(self) -> Result<(), Error> {
        if self.is_none() {
            return Ok(());
        }
        let expected = Expected::Words("0 for lags and cumulants, which are not positive definite");
        let value = match self {
            Self::Fixed(s) => s.to_string(),
            Self::LedoitWolf => "\"auto\"".to_owned(),
            Self::Oas => "\"oas\"".to_owned(),
        };
        Err(Error::setting(Setting::Shrinkage, expected, value))
    }

    /// Whether nothing is done.
    pub(super) fn is_none(self) -> bool {
        self == Self::Fixed(0.0)
    }

    /// Shrinks a whole row-major covariance of so many samples, and returns the amount. `fourth` is
    /// Σ_t ‖x_t‖⁴, which only [`Shrinkage::LedoitWolf`] asks for.
    pub(super) fn apply(
        self,
        covariance: &mut [f64],
        p: usize,
        samples: usize,
        fourth: f64,
    ) -> f64 {
        let mean = (0..p).map(|a| covariance[a * p + a]).sum::<f64>() / p as f64;
        let amount = match self {
            Self::Fixed(s) => s,
            Self::LedoitWolf => ledoit_wolf(covariance, p, mean, samples as f64, fourth),
            Self::Oas => oas(covariance, p as f64, mean, samples as f64),
        };
        if amount > 0.0 {
            covariance.iter_mut().for_each(|x| *x *= 1.0 - amount);
            for a in 0..p {
                covariance[a * p + a] += amount * mean;
            }
        }
        amount
    }
}

/// b² / d², where d² = ‖C − m I‖² / p is how far C is from the target, and
/// b² = Σ_t ‖x_t x_tᵀ − C‖² / (p n²) how far it may be from the truth by chance.
fn ledoit_wolf(c: &[f64], p: usize, mean: f64, n: f64, fourth: f64) -> f64 {
    let p = p as f64;
    let squares: f64 = c.iter().map(|x| x * x).sum();
    let distance = squares / p - mean * mean;
    let chance = (fourth / n - squares) / (p * n);
    if distance > 0.0 {
        (chance / distance).clamp(0.0, 1.0)
    } else {
        0.0
    }
}

/// (m₂ + m²) / ((n + 1)(m₂ − m²/p)), m₂ being the mean of the squared entries.
fn oas(c: &[f64], p: f64, mean: f64, n: f64) -> f64 {
    let squares = c.iter().map(|x| x * x).sum::<f64>() / (p * p);
    let distance = (n + 1.0) * (squares - mean * mean / p);
    if distance > 0.0 {
        ((squares + mean * mean) / distance).min(1.0)
    } else {
        1.0
    }
}
