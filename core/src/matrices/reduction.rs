//! Reduction of a set to the range of its mean.

use super::Rank;
use super::options::RANK_CHOICES;
use crate::Error;
use crate::error::{Expected, Remedy, Setting};
use crate::linalg::{self, Matrix, Scalar};

/// Eigenvalues of the mean's correlations below this share of the largest are rounding.
pub(crate) const RANK_TOLERANCE: f64 = 1e-11;

/// Coordinates on the range of the mean: r filters and r patterns, filters · patterns = I.
///
/// ```
/// use codiag::{MatrixSet, Rank, SetOptions};
/// // The third channel is the sum of the others.
/// let data = [2.0, 0.0, 2.0, 0.0, 1.0, 1.0, 2.0, 1.0, 3.0];
/// let set = MatrixSet::with_options(&data, 1, 3, &SetOptions::default().rank(Rank::Auto))?;
/// let reduction = set.reduction().expect("the set is reduced");
/// assert_eq!((reduction.rank(), reduction.channels()), (2, 3));
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Reduction<T = f64> {
    filters: Matrix<T>,
    patterns: Matrix<T>,
    /// Whether rotations are those of these coordinates.
    rotates: bool,
}

impl<T: Scalar> Reduction<T> {
    /// Coordinates found elsewhere.
    #[cfg(feature = "signals")]
    pub(crate) fn new(filters: Matrix<T>, patterns: Matrix<T>) -> Self {
        Self {
            filters,
            patterns,
            rotates: false,
        }
    }

    /// The same coordinates, for rotations of them: a recording that was whitened stays white.
    #[cfg(feature = "signals")]
    pub(crate) fn for_rotations(self) -> Self {
        Self {
            rotates: true,
            ..self
        }
    }

    /// Whether B may be asked to be a rotation of these coordinates. Of a set that was reduced in rank it may
    /// not: its axes are not those of the channels.
    pub(crate) fn rotates(&self) -> bool {
        self.rotates
    }

    /// The leading dimensions of the mean, whitened. The mean is brought to unit diagonal first, so
    /// that the units of the channels change nothing.
    ///
    /// # Errors
    /// If the mean does not have that rank.
    pub fn of_mean(mean: &Matrix<T>, rank: Rank) -> Result<Self, Error> {
        let p = mean.rows();
        if let Rank::Exactly(r) = rank
            && (r == 0 || r > p)
        {
            return Err(Error::setting(Setting::Rank, RANK_CHOICES, r));
        }
        let (scale, values, vectors) = correlation_eigen(mean).ok_or(Error::NoEigenvalues)?;
        if is_negative(mean, &values) {
            let eigenvalues = linalg::symmetric_eigenvalues(mean);
            return Err(Error::NotPositiveDefinite {
                matrix: None,
                eigenvalue: eigenvalues.map_or(f64::NAN, |values| values[0]),
                remedy: Remedy::None,
            });
        }
        let available = count_rank(&values);
        let r = match rank {
            Rank::Full => p,
            Rank::Auto => available,
            Rank::Exactly(r) if r > available => {
                let expected = Expected::Words("at most the rank of the mean");
                let value = format!("{r} for a mean of rank {available}");
                return Err(Error::setting(Setting::Rank, expected, value));
            }
            Rank::Exactly(r) => r,
        };
        if r == 0 {
            return Err(Error::NotPositiveDefinite {
                matrix: None,
                eigenvalue: values[0],
                remedy: Remedy::None,
            });
        }
        let leading = |k: usize| p - 1 - k;
        let filters = Matrix::from_fn(r, p, |k, c| {
            vectors[(leading(k), c)] * scale[c] / values[leading(k)].sqrt()
        });
        let patterns = Matrix::from_fn(p, r, |c, k| {
            if scale[c] > 0.0 {
                vectors[(leading(k), c)].conj() / scale[c] * values[leading(k)].sqrt()
            } else {
                T::ZERO
            }
        });
        Ok(Self {
            filters,
            patterns,
            rotates: false,
        })
    }

    /// r×p: from channels to the reduced dimensions.
    pub fn filters(&self) -> &Matrix<T> {
        &self.filters
    }

    /// p×r: from the reduced dimensions back to the channels.
    pub fn patterns(&self) -> &Matrix<T> {
        &self.patterns
    }

    /// The dimension r reduced to.
    pub fn rank(&self) -> usize {
        self.filters.rows()
    }

    /// The number of channels p.
    pub fn channels(&self) -> usize {
        self.filters.columns()
    }
}

/// The numerical rank of a positive semidefinite mean that is singular but not zero.
pub(super) fn shared_rank<T: Scalar>(mean: &Matrix<T>) -> Option<usize> {
    let (_, values, _) = correlation_eigen(mean)?;
    let rank = count_rank(&values);
    let semidefinite = !is_negative(mean, &values);
    (semidefinite && 0 < rank && rank < mean.rows()).then_some(rank)
}

/// The numerical rank of a mean, whatever its units; None if its eigenvalues cannot be computed.
pub(crate) fn numerical_rank<T: Scalar>(mean: &Matrix<T>) -> Option<usize> {
    let (_, values, _) = correlation_eigen(mean)?;
    if is_negative(mean, &values) {
        // It has no correlations.
        return linalg::symmetric_eigenvalues(mean).map(|values| rank_by_size(&values));
    }
    Some(count_rank(&values))
}

/// How many eigenvalues are no rounding beside the largest, positive or negative.
pub(crate) fn rank_by_size(values: &[f64]) -> usize {
    let largest = values.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
    let counted = values.iter().filter(|x| x.abs() > RANK_TOLERANCE * largest);
    counted.count()
}

/// Whether a mean, whose correlations have these eigenvalues, is clearly negative in some direction.
fn is_negative<T: Scalar>(mean: &Matrix<T>, values: &[f64]) -> bool {
    let largest = values.last().map_or(0.0, |x| x.abs());
    let power = |a: usize| mean[(a, a)].real();
    let most = (0..mean.rows()).fold(0.0_f64, |most, a| most.max(power(a).abs()));
    let negative_channel = (0..mean.rows()).any(|a| power(a) < -RANK_TOLERANCE * most);
    negative_channel || values.iter().any(|v| *v < -RANK_TOLERANCE * largest)
}

fn count_rank(values: &[f64]) -> usize {
    let largest = values.last().copied().unwrap_or(0.0);
    values
        .iter()
        .filter(|v| **v > RANK_TOLERANCE * largest)
        .count()
}

/// The inverse standard deviations (0 for channels without power), and the eigenvalues and eigenvectors of the correlations.
fn correlation_eigen<T: Scalar>(mean: &Matrix<T>) -> Option<(Vec<f64>, Vec<f64>, Matrix<T>)> {
    let p = mean.rows();
    let scale: Vec<f64> = (0..p)
        .map(|a| {
            let power = mean[(a, a)].real();
            if power > 0.0 { 1.0 / power.sqrt() } else { 0.0 }
        })
        .collect();
    let correlations = Matrix::from_fn(p, p, |a, b| mean[(a, b)] * scale[a] * scale[b]);
    let (values, vectors) = linalg::symmetric_eigen(&correlations)?;
    Some((scale, values, vectors))
}
