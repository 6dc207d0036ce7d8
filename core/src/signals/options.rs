//! Options of matrix estimation: centering, scaling of channels, shrinkage, threads.

use std::str::FromStr;

use super::invalid;
use crate::Error;
use crate::error::{Expected, Setting};
use crate::linalg::Scalar;
use crate::setters::setters;

/// Options for estimating covariances, spectra, lagged covariances and cumulants.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CovarianceOptions {
    /// Whether the mean of each channel over a segment or epoch is subtracted (default true).
    pub center: bool,
    /// Scaling of the channels (default: none).
    pub scale: Scale,
    /// Shrinkage of each covariance towards a multiple of the identity (default: none).
    pub shrinkage: Shrinkage,
    /// Number of threads (default: chosen by the amount of work). Results do not depend on it.
    pub n_jobs: Option<usize>,
}

impl Default for CovarianceOptions {
    fn default() -> Self {
        Self {
            center: true,
            scale: Scale::Unchanged,
            shrinkage: Shrinkage::default(),
            n_jobs: None,
        }
    }
}

setters!(CovarianceOptions { center: bool, scale: Scale, shrinkage: Shrinkage } optional { n_jobs: usize });

/// Scaling of channels with different units. It affects principal components, shrinkage and
/// explained variance.
///
/// ```
/// use codiag::signals::{
///     CovarianceOptions, RecordingView, Scale, SegmentLength, Segments, segment_covariances,
/// };
///
/// let data = [1.0, -1.0, 1.0, -1.0, 2.0, 2.0, -2.0, -2.0]; // two channels of four samples
/// let recording = RecordingView::new(&data, 2, 4)?;
/// let whole = Segments::default().length(SegmentLength::Count(1));
/// let options = CovarianceOptions::default().scale(Scale::UnitRms);
/// let covariances = segment_covariances(&recording, &whole, &options)?;
/// assert_eq!(covariances.data, [1.0, 0.0, 0.0, 1.0]);
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Scale {
    /// Channels are not scaled.
    #[default]
    Unchanged,
    /// Every channel is divided by its root mean square.
    UnitRms,
    /// Every channel is divided by the root mean square of its group, such as all magnetometers.
    /// Contains one group number per channel.
    Groups(Vec<usize>),
    /// Every channel is multiplied by a positive factor. Contains one factor per channel.
    Given(Vec<f64>),
}

impl Scale {
    /// Returns the scale factors; None if all are 1. `powers` is called only if needed.
    pub(super) fn factors(
        &self,
        channels: usize,
        powers: impl FnOnce() -> Result<Vec<f64>, Error>,
    ) -> Result<Option<Vec<f64>>, Error> {
        let one_per_channel = |length: usize| {
            if length == channels {
                return Ok(());
            }
            let value = format!("{length} for {channels} channels");
            Err(invalid(Setting::Scale, "one number per channel", value))
        };
        Ok(Some(match self {
            Self::Unchanged => return Ok(None),
            Self::UnitRms => powers()?.into_iter().map(inverse_root).collect(),
            Self::Groups(groups) => {
                one_per_channel(groups.len())?;
                let powers = powers()?;
                let mean = |group: usize| {
                    let members = groups.iter().zip(&powers).filter(|(g, _)| **g == group);
                    let count = members.clone().count() as f64;
                    members.map(|(_, power)| power / count).sum()
                };
                groups.iter().map(|g| inverse_root(mean(*g))).collect()
            }
            Self::Given(factors) => {
                one_per_channel(factors.len())?;
                if let Some(factor) = factors.iter().find(|f| !(f.is_finite() && **f > 0.0)) {
                    return Err(invalid(Setting::Scale, "positive numbers", factor));
                }
                factors.clone()
            }
        }))
    }
}

/// 1/√power, or 1 for a channel of zeros.
fn inverse_root(power: f64) -> f64 {
    if power > 0.0 { 1.0 / power.sqrt() } else { 1.0 }
}

/// Shrinkage of a covariance C towards tr(C)/p · I.
///
/// ```
/// use codiag::signals::Shrinkage;
/// assert_eq!("auto".parse(), Ok(Shrinkage::LedoitWolf));
/// assert_eq!("0.1".parse(), Ok(Shrinkage::Fixed(0.1)));
/// assert_eq!(Shrinkage::default(), Shrinkage::Fixed(0.0)); // no shrinkage
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Shrinkage {
    /// (1 − s) C + s tr(C)/p I with a given amount s in \[0, 1\].
    Fixed(f64),
    /// The amount is estimated from the samples of each matrix by the method of Ledoit & Wolf
    /// (2004).
    LedoitWolf,
    /// The amount of the oracle approximating shrinkage for Gaussian samples (Chen et al. 2010).
    Oas,
}

impl Default for Shrinkage {
    fn default() -> Self {
        Self::Fixed(0.0)
    }
}

impl FromStr for Shrinkage {
    type Err = Error;

    /// Parses a number, `"auto"` or `"ledoit-wolf"`, or `"oas"`.
    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "auto" | "ledoit-wolf" => return Ok(Self::LedoitWolf),
            "oas" => return Ok(Self::Oas),
            _ => {}
        }
        let fixed = text.parse().map(Self::Fixed);
        fixed.map_err(|_| shrinkage_error(&format!("{text:?}")))
    }
}

/// Returns the error of an invalid shrinkage.
fn shrinkage_error(value: &str) -> Error {
    let names = &["auto", "ledoit-wolf", "oas"];
    let expected = Expected::OneOfOr(names, "a number between 0 and 1");
    Error::setting(Setting::Shrinkage, expected, value)
}

impl Shrinkage {
    /// Fails if the amount is out of range.
    pub(super) fn check(self) -> Result<(), Error> {
        match self {
            Self::Fixed(s) if !(0.0..=1.0).contains(&s) => Err(shrinkage_error(&s.to_string())),
            _ => Ok(()),
        }
    }

    /// Fails if there is shrinkage, for matrices that need not be positive definite.
    pub(super) fn check_none(self) -> Result<(), Error> {
        if self.is_none() {
            return Ok(());
        }
        let expected = "0 for lags and cumulants, which are not positive definite";
        let value = match self {
            Self::Fixed(s) => s.to_string(),
            Self::LedoitWolf => "\"auto\"".to_owned(),
            Self::Oas => "\"oas\"".to_owned(),
        };
        Err(invalid(Setting::Shrinkage, expected, value))
    }

    /// Whether there is no shrinkage.
    pub(super) fn is_none(self) -> bool {
        self == Self::Fixed(0.0)
    }

    /// Shrinks a covariance and returns the amount. `fourth` is Σ_t ‖x_t‖⁴ over the samples, which
    /// is used by [`Shrinkage::LedoitWolf`] only.
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

/// Returns the amount b² / d² of Ledoit & Wolf, where d² = ‖C − m I‖² / p is the squared distance
/// of C from the target and b² = Σ_t ‖x_t x_tᴴ − C‖² / (p n²) is the estimated sampling variance of
/// C.
fn ledoit_wolf<T: Scalar>(c: &[T], p: usize, mean: f64, n: f64, fourth: f64) -> f64 {
    let p = p as f64;
    let squares: f64 = c.iter().map(|x| x.norm_sqr()).sum();
    let distance = squares / p - mean * mean;
    let variance = (fourth / n - squares) / (p * n);
    if distance > 0.0 {
        (variance / distance).clamp(0.0, 1.0)
    } else {
        0.0
    }
}

/// Returns the amount of oracle approximating shrinkage, (m₂ + m²) / ((n + 1)(m₂ − m²/p)), where m₂
/// is the mean of the squared entries. For complex Gaussian samples E‖C‖² = ‖Σ‖² + (tr Σ)²/n and
/// E(tr C)² = (tr Σ)² + ‖Σ‖²/n, which leads to (m² − m₂/p) / ((n − 1/p)(m₂ − m²/p)).
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

    /// Iterates the formula of the oracle with its estimate in place of the true covariance.
    #[test]
    fn complex_oas_is_the_fixed_point_of_the_oracle() {
        let (a, b, d) = (c64::new(0.3, -0.4), c64::new(0.1, 0.2), c64::new(-0.2, 0.5));
        let [x, y, z] = [2.0, 1.0, 3.0].map(c64::from);
        let c = [x, a, b, a.conj(), y, d, b.conj(), d.conj(), z];
        let (p, n) = (3.0, 40.0);
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
}
