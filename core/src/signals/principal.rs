//! Reduction of a recording to its principal components.

use crate::data::RANK_TOLERANCE;
use crate::error::{Expected, Setting};
use crate::linalg::{self, Matrix};
use crate::{Error, Rank, Reduction};

/// How many principal components of a recording are separated.
///
/// ```
/// use codiag::signals::{Components, Separation, View, simulate};
///
/// let made = simulate::nonstationary(5, 100, 100, 0);
/// let recording = View::new(&made.data, 5, 10_000)?;
/// let most = Separation::default().components(Components::Share(0.9)).fit(&recording)?;
/// assert!(most.components() < 5 && most.kept_variance >= 0.9);
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Components {
    /// As many as there are: all channels, or the rank of the recording if that is less, as after
    /// an average reference or a projection.
    #[default]
    All,
    /// This many.
    Number(usize),
    /// The fewest that together have at least this share of the variance.
    Share(f64),
}

impl Components {
    /// How many there are at most.
    pub(super) fn at_most(self, channels: usize) -> usize {
        match self {
            Self::Number(r) => r.clamp(1, channels),
            _ => channels,
        }
    }
}

/// The coordinates in which a recording of this covariance is separated, and the share of its
/// variance that they keep. None if they are the channels, which they are not if it is to be `whitened`.
pub(super) fn reduce(
    covariance: &Matrix,
    scale: Option<&[f64]>,
    components: Components,
    whitened: bool,
) -> Result<(Option<Reduction>, f64), Error> {
    let p = covariance.rows();
    let refused = |expected, value: String| {
        let expected = Expected::Words(expected);
        Err(Error::setting(Setting::Components, expected, value))
    };
    if (0..p).all(|a| covariance[(a, a)] == 0.0) {
        return Err(Error::Constant);
    }
    match components {
        Components::Number(r) if r == 0 || r > p => {
            return refused("a number from 1 to that of the channels", r.to_string());
        }
        Components::Share(share) if !(share > 0.0 && share <= 1.0) => {
            return refused("a share above 0 and at most 1", share.to_string());
        }
        Components::All => {
            // The rank is that of the correlations: it does not depend on units.
            let range = Reduction::of_mean(covariance, Rank::Auto)?;
            let kept = if whitened || range.rank() < p {
                Some(range)
            } else {
                scale.map(diagonal)
            };
            return Ok((kept, 1.0));
        }
        _ => {}
    }
    let factor = |a: usize| scale.map_or(1.0, |s| s[a]);
    let scaled = Matrix::from_fn(p, p, |a, b| covariance[(a, b)] * factor(a) * factor(b));
    let (mut values, vectors) = linalg::symmetric_eigen(&scaled).ok_or(Error::NoEigenvalues)?;
    values.iter_mut().for_each(|v| *v = v.max(0.0));
    let total: f64 = values.iter().sum();
    let rank = values
        .iter()
        .filter(|v| **v > RANK_TOLERANCE * values[p - 1])
        .count();
    let leading = |k: usize| p - 1 - k;
    let share = |r: usize| values[p - r..].iter().rev().sum::<f64>() / total;
    let r = match components {
        Components::Number(r) if r > rank => {
            return refused(
                "at most the rank of the recording",
                format!("{r} for rank {rank}"),
            );
        }
        Components::Number(r) => r,
        Components::Share(wanted) => (1..rank).find(|&r| share(r) >= wanted).unwrap_or(rank),
        Components::All => rank,
    };
    let root = |k: usize| values[leading(k)].sqrt();
    let filters = Matrix::from_fn(r, p, |k, c| vectors[(leading(k), c)] * factor(c) / root(k));
    let patterns = Matrix::from_fn(p, r, |c, k| vectors[(leading(k), c)] / factor(c) * root(k));
    Ok((Some(Reduction::new(filters, patterns)), share(r)))
}

/// Coordinates in which a recording of this covariance is white.
pub(super) fn whiten(
    covariance: &Matrix,
    scale: Option<&[f64]>,
    components: Components,
) -> Result<(Reduction, f64), Error> {
    let (reduction, kept) = reduce(covariance, scale, components, true)?;
    Ok((
        reduction.expect("white coordinates are not the channels"),
        kept,
    ))
}

fn diagonal(scale: &[f64]) -> Reduction {
    let inverse: Vec<f64> = scale.iter().map(|s| 1.0 / s).collect();
    Reduction::new(Matrix::diagonal(scale), Matrix::diagonal(&inverse))
}
