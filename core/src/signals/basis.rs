//! Coordinates in which a recording is separated: channels, principal components or whitened
//! components.

use super::reader::Coordinates;
use super::{Scale, invalid};
use crate::data::RANK_TOLERANCE;
use crate::error::Setting;
use crate::linalg::{self, Matrix};
use crate::{Error, Rank, Reduction};

/// Number of components to separate.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Components {
    /// The rank of the recording. It is the number of channels, or less after an average reference
    /// or a projection.
    #[default]
    All,
    /// The given number of leading principal components.
    Count(usize),
    /// The smallest number of leading principal components with at least the given fraction of the
    /// variance.
    VarianceFraction(f64),
}

impl Components {
    /// Returns an upper bound on the number of components.
    pub(super) fn at_most(self, channels: usize) -> usize {
        match self {
            Self::Count(r) => r.clamp(1, channels),
            _ => channels,
        }
    }
}

/// The coordinates of a separation, and the covariance from which they were computed.
pub(super) struct Basis {
    /// The mean covariance in the units of the recording.
    mean: Matrix,
    /// The scale factors of the channels; None if all are 1.
    scale: Option<Vec<f64>>,
    /// The filters and patterns of the coordinates; None if they are the channels.
    pub reduction: Option<Reduction>,
    /// Fraction of the variance in these coordinates.
    pub explained_variance_ratio_total: f64,
}

impl Basis {
    /// Computes the coordinates for a recording with mean covariance `mean`. If `whitened`, they
    /// are white, for a separation by rotations.
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

    /// Returns the number of coordinates.
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

    /// ‖S a‖² times the mean power of each source, divided by tr(S C S), for the scale factors S.
    pub fn explained_variance_ratio(&self, patterns: &Matrix, mean_powers: &[f64]) -> Vec<f64> {
        let factor = |c: usize| self.scale.as_ref().map_or(1.0, |s| s[c]);
        let p = self.mean.rows();
        let total: f64 = (0..p).map(|c| self.mean[(c, c)] * factor(c).powi(2)).sum();
        let ratio = |(k, power): (usize, &f64)| {
            let square: f64 = (0..p).map(|c| (patterns[(c, k)] * factor(c)).powi(2)).sum();
            square * power / total
        };
        mean_powers.iter().enumerate().map(ratio).collect()
    }

    /// Returns the scale factor of each channel.
    pub fn factors(&self) -> Vec<f64> {
        let ones = || vec![1.0; self.mean.rows()];
        self.scale.clone().unwrap_or_else(ones)
    }

    /// Returns the filters whose rotation of the whitened components is nearest to that of the
    /// given filters, which may come from another recording. Invalid filters are returned
    /// unchanged; the solver rejects them.
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

/// Computes the coordinates in which a recording is separated (None: the channels, unless
/// `whitened`) and the fraction of the variance in them.
fn reduce(
    covariance: &Matrix,
    scale: Option<&[f64]>,
    components: Components,
    whitened: bool,
) -> Result<(Option<Reduction>, f64), Error> {
    let p = covariance.rows();
    let error = |expected, value: String| Err(invalid(Setting::Components, expected, value));
    if (0..p).all(|a| covariance[(a, a)] == 0.0) {
        return Err(Error::Constant);
    }
    match components {
        Components::Count(r) if r == 0 || r > p => {
            let value = format!("{r} for {p} channels");
            return error("from 1 to the number of channels", value);
        }
        Components::VarianceFraction(fraction) if !(fraction > 0.0 && fraction <= 1.0) => {
            return error("a fraction above 0 and at most 1", fraction.to_string());
        }
        Components::All => {
            // The rank is determined from the correlations, which do not depend on units.
            let full_rank = Reduction::of_mean(covariance, Rank::Auto)?;
            let reduction = if whitened || full_rank.rank() < p {
                Some(full_rank)
            } else {
                scale.map(diagonal)
            };
            return Ok((reduction, 1.0));
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
    let fraction = |r: usize| values[p - r..].iter().rev().sum::<f64>() / total;
    let r = match components {
        Components::Count(r) if r > rank => {
            let value = format!("{r} for rank {rank}");
            return error("at most the rank of the recording", value);
        }
        Components::Count(r) => r,
        Components::VarianceFraction(target) => {
            (1..rank).find(|&r| fraction(r) >= target).unwrap_or(rank)
        }
        Components::All => rank,
    };
    let root = |k: usize| values[leading(k)].sqrt();
    let filters = Matrix::from_fn(r, p, |k, c| vectors[(leading(k), c)] * factor(c) / root(k));
    let patterns = Matrix::from_fn(p, r, |c, k| vectors[(leading(k), c)] / factor(c) * root(k));
    Ok((Some(Reduction::new(filters, patterns)), fraction(r)))
}

/// Computes coordinates in which a recording of this covariance is white.
pub(super) fn whiten(
    covariance: &Matrix,
    scale: Option<&[f64]>,
    components: Components,
) -> Result<Reduction, Error> {
    let (reduction, _) = reduce(covariance, scale, components, true)?;
    Ok(reduction.expect("whitening always needs a reduction"))
}

/// Coordinates that only scale the channels.
fn diagonal(scale: &[f64]) -> Reduction {
    let inverse: Vec<f64> = scale.iter().map(|s| 1.0 / s).collect();
    Reduction::new(Matrix::diagonal(scale), Matrix::diagonal(&inverse))
}
