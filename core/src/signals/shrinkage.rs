//! Shrinkage of a covariance towards a multiple of the identity: a given amount, or the best one.

use std::str::FromStr;

use crate::Error;
use crate::error::{Expected, Setting};
use crate::linalg::Scalar;

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
    pub(super) fn apply<T: Scalar>(
        self,
        covariance: &mut [T],
        p: usize,
        samples: usize,
        fourth: f64,
    ) -> f64 {
        let mean = (0..p).map(|a| covariance[a * p + a].real()).sum::<f64>() / p as f64;
        let amount = match self {
            Self::Fixed(s) => s,
            Self::LedoitWolf => ledoit_wolf(covariance, p, mean, samples as f64, fourth),
            Self::Oas => oas(covariance, p as f64, mean, samples as f64),
        };
        if amount > 0.0 {
            covariance.iter_mut().for_each(|x| *x = *x * (1.0 - amount));
            for a in 0..p {
                covariance[a * p + a] += T::from_real(amount * mean);
            }
        }
        amount
    }
}

/// b² / d², where d² = ‖C − m I‖² / p is how far C is from the target, and
/// b² = Σ_t ‖x_t x_tᴴ − C‖² / (p n²) how far it may be from the truth by chance.
fn ledoit_wolf<T: Scalar>(c: &[T], p: usize, mean: f64, n: f64, fourth: f64) -> f64 {
    let p = p as f64;
    let squares: f64 = c.iter().map(|x| x.norm_sqr()).sum();
    let distance = squares / p - mean * mean;
    let chance = (fourth / n - squares) / (p * n);
    if distance > 0.0 {
        (chance / distance).clamp(0.0, 1.0)
    } else {
        0.0
    }
}

/// (m₂ + m²) / ((n + 1)(m₂ − m²/p)), m₂ being the mean of the squared entries. Of complex Gaussian samples
/// the moments are others, E‖C‖² = ‖Σ‖² + (tr Σ)²/n and E(tr C)² = (tr Σ)² + ‖Σ‖²/n, and the same steps lead
/// to (m² − m₂/p) / ((n − 1/p)(m₂ − m²/p)).
fn oas<T: Scalar>(c: &[T], p: f64, mean: f64, n: f64) -> f64 {
    let squares = c.iter().map(|x| x.norm_sqr()).sum::<f64>() / (p * p);
    let distance = squares - mean * mean / p;
    if distance <= 0.0 {
        return 1.0;
    }
    let amount = if T::PLANES == 1 {
        (squares + mean * mean) / ((n + 1.0) * distance)
    } else {
        (mean * mean - squares / p) / ((n - 1.0 / p) * distance)
    };
    amount.clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::c64;

    /// A Hermitian 3×3 matrix.
    fn hermitian() -> Vec<c64> {
        let of = c64::new;
        vec![
            of(2.0, 0.0),
            of(0.3, -0.4),
            of(0.1, 0.2),
            of(0.3, 0.4),
            of(1.0, 0.0),
            of(-0.2, 0.5),
            of(0.1, -0.2),
            of(-0.2, -0.5),
            of(3.0, 0.0),
        ]
    }

    /// The oracle's formula, with the estimate for the truth, again and again: its fixed point.
    #[test]
    fn the_complex_oas_is_where_the_iteration_ends() {
        let (c, p, n) = (hermitian(), 3.0, 40.0);
        let trace = 6.0;
        let squares: f64 = c.iter().map(|x| x.re * x.re + x.im * x.im).sum();
        let mut amount = 0.5;
        for _ in 0..2000 {
            // tr(Σ̂ C) of Σ̂ = (1 − ρ) C + ρ m I.
            let inner = (1.0 - amount) * squares + amount * trace * trace / p;
            amount = (trace * trace - inner / p)
                / ((n - 1.0 / p) * inner + (1.0 - n / p) * trace * trace);
        }
        assert!(amount > 0.1 && amount < 0.9);
        assert!((oas(&c, p, trace / p, n) - amount).abs() < 1e-9);
    }

    /// Real numbers given as complex ones are shrunk alike, where the formula is the same.
    #[test]
    fn hermitian_matrices_are_shrunk_towards_the_identity() {
        let mut c = hermitian();
        let before = c.clone();
        assert_eq!(Shrinkage::Fixed(0.25).apply(&mut c, 3, 10, 0.0), 0.25);
        assert!((c[1] - before[1] * 0.75).norm() < 1e-15);
        assert!((c[4] - c64::new(0.75 + 0.5, 0.0)).norm() < 1e-15);
        let real = [2.0, 0.5, 0.5, 1.0];
        let complex = real.map(|x| c64::new(x, 0.0));
        let amounts = (
            ledoit_wolf(&real, 2, 1.5, 20.0, 300.0),
            ledoit_wolf(&complex, 2, 1.5, 20.0, 300.0),
        );
        assert_eq!(amounts.0, amounts.1);
        assert!(amounts.0 > 0.0 && amounts.0 < 1.0);
    }
}
