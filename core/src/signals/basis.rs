//! The coordinates in which a recording is separated.

use super::principal;
use super::reader::Coordinates;
use super::{Components, Scale};
use crate::linalg::{self, Matrix};
use crate::{Error, Reduction};

/// The coordinates of a separation, and what they were found from.
pub(super) struct Basis {
    /// The mean of the covariances, in the recording's units.
    mean: Matrix,
    /// The factors of the channels, if they are not all 1.
    scale: Option<Vec<f64>>,
    pub reduction: Option<Reduction>,
    /// The share of the variance that these coordinates keep.
    pub kept_variance: f64,
}

impl Basis {
    /// The coordinates for a recording of this covariance: white ones, to be rotated, if `whitened`.
    pub fn new(
        mean: Matrix,
        scale: &Scale,
        components: Components,
        whitened: bool,
    ) -> Result<Self, Error> {
        let p = mean.rows();
        let powers = || Ok((0..p).map(|a| mean[(a, a)]).collect());
        let scale = scale.factors(p, powers)?;
        let (mut reduction, kept_variance) =
            principal::reduce(&mean, scale.as_deref(), components, whitened)?;
        if whitened {
            reduction = reduction.map(Reduction::for_rotations);
        }
        Ok(Self {
            mean,
            scale,
            reduction,
            kept_variance,
        })
    }

    /// How many coordinates there are.
    pub fn components(&self) -> usize {
        self.reduction
            .as_ref()
            .map_or(self.mean.rows(), Reduction::rank)
    }

    pub fn coordinates(&self) -> Coordinates {
        match &self.reduction {
            Some(reduction) => Coordinates::Filtered(reduction.filters().clone()),
            None => Coordinates::Channels,
        }
    }

    /// ‖S a‖² times the mean power of each source, as a share of tr(S C S), for the factors S of the
    /// channels.
    pub fn variance_shares(&self, patterns: &Matrix, mean_powers: &[f64]) -> Vec<f64> {
        let factor = |c: usize| self.scale.as_ref().map_or(1.0, |s| s[c]);
        let p = self.mean.rows();
        let total: f64 = (0..p).map(|c| self.mean[(c, c)] * factor(c).powi(2)).sum();
        let share = |(k, power): (usize, &f64)| {
            let square: f64 = (0..p).map(|c| (patterns[(c, k)] * factor(c)).powi(2)).sum();
            square * power / total
        };
        mean_powers.iter().enumerate().map(share).collect()
    }

    /// The factor by which each channel was multiplied.
    pub fn factors(&self) -> Vec<f64> {
        let ones = || vec![1.0; self.mean.rows()];
        self.scale.clone().unwrap_or_else(ones)
    }

    /// Of all filters that rotate the whitened components, those nearest to some filters, which may be of
    /// another recording. What the solver refuses is left to it.
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
