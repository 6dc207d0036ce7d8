//! The coordinates in which a recording is separated: channels, principal or whitened components.

use super::reader::Coordinates;
use super::{Scale, invalid};
use crate::data::RANK_TOLERANCE;
use crate::error::Setting;
use crate::linalg::{self, Matrix};
use crate::{Error, Rank, Reduction};

/// Number of principal components of a recording that are separated.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Components {
    /// All channels, or the rank of the recording if that is less, as after an average reference or
    /// a projection.
    #[default]
    All,
    /// This many.
    Count(usize),
    /// The fewest that have at least this fraction of the variance.
    VarianceFraction(f64),
}

impl Components {
    /// An upper bound on the number of components.
    pub(super) fn at_most(self, channels: usize) -> usize {
        match self {
            Self::Count(r) => r.clamp(1, channels),
            _ => channels,
        }
    }
}

/// The coordinates of a separation, and the covariance from which they were computed.
pub(super) struct Basis {
    /// The mean covariance, in the recording's units.
    mean: Matrix,
    /// The factors of the channels; None if all are 1.
    scale: Option<Vec<f64>>,
    pub reduction: Option<Reduction>,
    /// The fraction of the variance in these coordinates.
    pub explained_variance_ratio_total: f64,
}

impl Basis {
    /// The coordinates for a recording of this covariance; if `whitened`, white ones to be rotated.
    pub fn new(
        mean: Matrix,
        scale: &Scale,
        components: Components,
        whitened: bool,
    ) -> Result<Self, Error> {
        let p = mean.rows();
        let powers = || Ok((0..p).map(|a| mean[(a, a)]).collect());
        let scale = scale.factors(p, powers)?;
        let (mut reduction, explained_variance_ratio_total) =
            reduce(&mean, scale.as_deref(), components, whitened)?;
        if whitened {
            reduction = reduction.map(Reduction::for_rotations);
        }
        Ok(Self {
            mean,
            scale,
            reduction,
            explained_variance_ratio_total,
        })
    }

    /// Number of coordinates.
    pub fn components(&self) -> usize {
        let reduction = self.reduction.as_ref();
        reduction.map_or(self.mean.rows(), Reduction::rank)
    }

    pub fn coordinates(&self) -> Coordinates {
        match &self.reduction {
            Some(reduction) => Coordinates::Filtered(reduction.filters().clone()),
            None => Coordinates::Channels,
        }
    }

    /// ‖S a‖² times the mean power of each source, divided by tr(S C S), for the factors S.
    pub fn explained_variance_ratio(&self, patterns: &Matrix, mean_powers: &[f64]) -> Vec<f64> {
        let factor = |c: usize| self.scale.as_ref().map_or(1.0, |s| s[c]);
        let p = self.mean.rows();
        let total: f64 = (0..p).map(|c| self.mean[(c, c)] * factor(c).powi(2)).sum();
        let share = |(k, power): (usize, &f64)| {
            let square: f64 = (0..p).map(|c| (patterns[(c, k)] * factor(c)).powi(2)).sum();
            square * power / total
        };
        mean_powers.iter().enumerate().map(share).collect()
    }

    /// The factor of each channel.
    pub fn factors(&self) -> Vec<f64> {
        let ones = || vec![1.0; self.mean.rows()];
        self.scale.clone().unwrap_or_else(ones)
    }

    /// The rotation of the whitened components nearest to some filters, which may be of another
    /// recording. Invalid filters are returned as they are, for the solver to reject.
    pub fn nearest_rotation(&self, filters: &Matrix) -> Result<Matrix, Error> {
        let Some(whitening) = &self.reduction else {
            return Ok(filters.clone());
        };
        let (r, channels) = (whitening.rank(), whitening.channels());
        if (filters.rows(), filters.columns()) != (r, channels) || !filters.is_finite() {
            return Ok(filters.clone());
        }
        let mut b = linalg::product(filters, whitening.patterns());
        for a in 0..r {
            let norm = linalg::dot(b.row(a), b.row(a)).sqrt();
            b.row_mut(a).iter_mut().for_each(|x| *x /= norm);
        }
        if !b.is_finite() {
            return Ok(filters.clone());
        }
        // (B Bᵀ)^(−½) B.
        let gram = linalg::product_transposed(&b, &b);
        let (values, vectors) = linalg::symmetric_eigen(&gram).ok_or(Error::NoEigenvalues)?;
        if values[0] <= r as f64 * f64::EPSILON * values[r - 1] {
            return Ok(filters.clone());
        }
        let scaled = Matrix::from_fn(r, r, |a, c| vectors[(a, c)] / values[a].sqrt());
        let root = linalg::product(&vectors.transpose(), &scaled);
        let rotation = linalg::product(&root, &b);
        Ok(linalg::product(&rotation, whitening.filters()))
    }
}

/// The coordinates in which a recording of this covariance is separated (None: the channels, unless
/// `whitened`), and the fraction of its variance in them.
fn reduce(
    covariance: &Matrix,
    scale: Option<&[f64]>,
    components: Components,
    whitened: bool,
) -> Result<(Option<Reduction>, f64), Error> {
    let p = covariance.rows();
    let refused = |expected, value: String| Err(invalid(Setting::Components, expected, value));
    if (0..p).all(|a| covariance[(a, a)] == 0.0) {
        return Err(Error::Constant);
    }
    match components {
        Components::Count(r) if r == 0 || r > p => {
            return refused("a number from 1 to that of the channels", r.to_string());
        }
        Components::VarianceFraction(share) if !(share > 0.0 && share <= 1.0) => {
            return refused("a share above 0 and at most 1", share.to_string());
        }
        Components::All => {
            // The rank of the correlations does not depend on units.
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
    let smallest = RANK_TOLERANCE * values[p - 1];
    let rank = values.iter().filter(|v| **v > smallest).count();
    let leading = |k: usize| p - 1 - k;
    let share = |r: usize| values[p - r..].iter().rev().sum::<f64>() / total;
    let r = match components {
        Components::Count(r) if r > rank => {
            let value = format!("{r} for rank {rank}");
            return refused("at most the rank of the recording", value);
        }
        Components::Count(r) => r,
        Components::VarianceFraction(wanted) => {
            (1..rank).find(|&r| share(r) >= wanted).unwrap_or(rank)
        }
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
) -> Result<Reduction, Error> {
    let (reduction, _) = reduce(covariance, scale, components, true)?;
    Ok(reduction.expect("white coordinates are not the channels"))
}

fn diagonal(scale: &[f64]) -> Reduction {
    let inverse: Vec<f64> = scale.iter().map(|s| 1.0 / s).collect();
    Reduction::new(Matrix::diagonal(scale), Matrix::diagonal(&inverse))
}
