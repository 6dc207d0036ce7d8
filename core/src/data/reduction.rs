//! Reduction of a set to the range of its mean, or of its matrices.

use super::Rank;
use super::options::RANK_CHOICES;
use crate::Error;
use crate::data::Criterion;
use crate::error::{Expected, Remedy, Setting};
use crate::linalg::{self, Matrix, Scalar};

/// Eigenvalues of the mean, scaled to unit diagonal, below this fraction of the largest are
/// rounding errors.
pub(crate) const RANK_TOLERANCE: f64 = 1e-11;
/// Eigenvalues of Σ_i w_i (Cⁱ)² below p times this fraction of the largest are rounding errors.
const ENERGY_TOLERANCE: f64 = 1e-14;

/// Coordinates on the range of a set: r filters and r patterns, filters · patterns = I.
///
/// ```
/// use codiag::{MatrixSet, Rank, SetOptions};
/// // The third channel is the sum of the others.
/// let data = [2.0, 0.0, 2.0, 0.0, 1.0, 1.0, 2.0, 1.0, 3.0];
/// let set = MatrixSet::with_options(&data, 1, 3, &SetOptions::default().n_components(Rank::Auto))?;
/// let reduction = set.reduction().expect("the set is reduced");
/// assert_eq!((reduction.rank(), reduction.channels()), (2, 3));
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Reduction<T = f64> {
    filters: Matrix<T>,
    patterns: Matrix<T>,
    /// Whether B may be orthogonal in these coordinates.
    allows_orthogonal: bool,
}

impl<T: Scalar> Reduction<T> {
    /// Wraps filters and patterns that were computed elsewhere.
    #[cfg(feature = "signals")]
    pub(crate) fn new(filters: Matrix<T>, patterns: Matrix<T>) -> Self {
        Self {
            filters,
            patterns,
            allows_orthogonal: false,
        }
    }

    /// Returns the reduction with an orthogonal B allowed: an orthogonal B keeps the sources of a
    /// whitened recording white.
    #[cfg(feature = "signals")]
    pub(crate) fn for_rotations(self) -> Self {
        Self {
            allows_orthogonal: true,
            ..self
        }
    }

    /// Whether B may be constrained to be orthogonal in these coordinates. This is false if the
    /// rank was reduced by whitening the mean, because the axes are then not the channels.
    pub(crate) fn allows_orthogonal(&self) -> bool {
        self.allows_orthogonal
    }

    /// Computes the reduction from a sum over the set: the mean for the likelihood
    /// ([`of_mean`](Self::of_mean)), Σ_i w_i (Cⁱ)² for the other criteria, whose matrices may be
    /// indefinite ([`of_energy`](Self::of_energy)).
    /// [`Chunk::range_sum`](crate::backend::Chunk::range_sum) computes either sum.
    ///
    /// ```
    /// use codiag::{Criterion, Matrix, Rank, Reduction};
    /// let sum = Matrix::diagonal(&[4.0, 0.0, 1.0]);
    /// let reduction = Reduction::of_sum(Criterion::Frobenius, &sum, Rank::Auto)?;
    /// assert_eq!(reduction.rank(), 2);
    /// # Ok::<(), codiag::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the set has a lower rank.
    pub fn of_sum(criterion: Criterion, sum: &Matrix<T>, rank: Rank) -> Result<Self, Error> {
        if criterion.requires_definite() {
            Self::of_mean(sum, rank)
        } else {
            Self::of_energy(sum, rank)
        }
    }

    /// Reduces to the leading eigenvectors of Σ_i w_i (Cⁱ)²: the dimensions in which the matrices,
    /// definite or not, have most of their energy. The eigenvectors are orthonormal. If the
    /// matrices vanish in the other dimensions, a least-squares fit in these coordinates is
    /// therefore a fit of the original matrices.
    ///
    /// ```
    /// use codiag::{Matrix, Rank, Reduction};
    /// let energy = Matrix::diagonal(&[4.0, 0.0, 1.0]);
    /// let reduction = Reduction::of_energy(&energy, Rank::Exactly(1))?;
    /// assert_eq!((reduction.rank(), reduction.channels()), (1, 3));
    /// assert!((reduction.filters()[(0, 0)].abs() - 1.0).abs() < 1e-12);
    /// # Ok::<(), codiag::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the sum has a lower rank.
    pub fn of_energy(energy: &Matrix<T>, rank: Rank) -> Result<Self, Error> {
        let p = energy.rows();
        let (values, vectors) = linalg::hermitian_eigen(energy).ok_or(Error::NoEigenvalues)?;
        let floor = p as f64 * ENERGY_TOLERANCE * values[p - 1];
        let available = match values.iter().filter(|x| **x > floor).count() {
            // All matrices are zero: no dimension is distinguished.
            0 => p,
            count => count,
        };
        let r = choose_rank(rank, p, available)?;
        let filters = Matrix::from_fn(r, p, |k, c| vectors[(p - 1 - k, c)]);
        Ok(Self {
            patterns: filters.adjoint(),
            filters,
            allows_orthogonal: true,
        })
    }

    /// Whitens the leading dimensions of the mean. The mean is scaled to unit diagonal first, so
    /// that the result does not depend on the units of the channels.
    ///
    /// # Errors
    /// If the mean has a lower rank.
    pub fn of_mean(mean: &Matrix<T>, rank: Rank) -> Result<Self, Error> {
        let p = mean.rows();
        choose_rank(rank, p, p)?;
        let (scale, values, vectors) = correlation_eigen(mean).ok_or(Error::NoEigenvalues)?;
        if is_indefinite(mean, &values) {
            let eigenvalues = linalg::symmetric_eigenvalues(mean);
            return Err(Error::NotPositiveDefinite {
                matrix: None,
                eigenvalue: eigenvalues.map_or(f64::NAN, |values| values[0]),
                remedy: Remedy::None,
            });
        }
        let r = choose_rank(rank, p, count_rank(&values))?;
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
            allows_orthogonal: false,
        })
    }

    /// Returns the filters, r×p: they map channels to the reduced dimensions.
    pub fn filters(&self) -> &Matrix<T> {
        &self.filters
    }

    /// Returns the patterns, p×r: they map the reduced dimensions to channels.
    pub fn patterns(&self) -> &Matrix<T> {
        &self.patterns
    }

    /// Returns the reduced dimension r.
    pub fn rank(&self) -> usize {
        self.filters.rows()
    }

    /// Returns the number of channels p.
    pub fn channels(&self) -> usize {
        self.filters.columns()
    }
}

/// Returns the rank to which a set of p channels with the given numerical rank is reduced.
fn choose_rank(rank: Rank, p: usize, available: usize) -> Result<usize, Error> {
    match rank {
        Rank::Full => Ok(p),
        Rank::Auto => Ok(available),
        Rank::Exactly(r) if r == 0 || r > p => Err(Error::setting(Setting::Rank, RANK_CHOICES, r)),
        Rank::Exactly(r) if r > available => {
            let expected = Expected::Words("at most the rank of the set");
            let value = format!("{r} for a set of rank {available}");
            Err(Error::setting(Setting::Rank, expected, value))
        }
        Rank::Exactly(r) => Ok(r),
    }
}

/// Returns the numerical rank of a positive semidefinite mean that is singular but not zero; None
/// for other means.
pub(crate) fn shared_rank<T: Scalar>(mean: &Matrix<T>) -> Option<usize> {
    let (_, values, _) = correlation_eigen(mean)?;
    let rank = count_rank(&values);
    let semidefinite = !is_indefinite(mean, &values);
    (semidefinite && 0 < rank && rank < mean.rows()).then_some(rank)
}

/// Returns the numerical rank of a mean, which does not depend on the units of the channels. None
/// if its eigenvalues cannot be computed.
pub(crate) fn numerical_rank<T: Scalar>(mean: &Matrix<T>) -> Option<usize> {
    let (_, values, _) = correlation_eigen(mean)?;
    if is_indefinite(mean, &values) {
        // An indefinite mean cannot be scaled to unit diagonal.
        return linalg::symmetric_eigenvalues(mean).map(|values| rank_by_size(&values));
    }
    Some(count_rank(&values))
}

/// Counts the eigenvalues whose absolute values exceed the rounding error of the largest.
pub(crate) fn rank_by_size(values: &[f64]) -> usize {
    let largest = values
        .iter()
        .fold(0.0_f64, |largest, x| largest.max(x.abs()));
    let counted = values.iter().filter(|x| x.abs() > RANK_TOLERANCE * largest);
    counted.count()
}

/// Whether a mean is clearly indefinite. `values` are its eigenvalues after scaling to unit
/// diagonal.
fn is_indefinite<T: Scalar>(mean: &Matrix<T>, values: &[f64]) -> bool {
    let largest = values.last().map_or(0.0, |x| x.abs());
    let power = |a: usize| mean[(a, a)].real();
    let max_power = (0..mean.rows()).fold(0.0_f64, |largest, a| largest.max(power(a).abs()));
    let negative_channel = (0..mean.rows()).any(|a| power(a) < -RANK_TOLERANCE * max_power);
    negative_channel || values.iter().any(|v| *v < -RANK_TOLERANCE * largest)
}

fn count_rank(values: &[f64]) -> usize {
    let largest = values.last().copied().unwrap_or(0.0);
    values
        .iter()
        .filter(|v| **v > RANK_TOLERANCE * largest)
        .count()
}

/// Returns the inverse standard deviations (0 for channels without power), and the eigenvalues and
/// eigenvectors of the mean scaled by them.
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
