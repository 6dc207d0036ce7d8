//! Options of a set.

use crate::Error;
use crate::data::Criterion;
use crate::error::{Expected, Setting};
use crate::setters::setters;

/// Dimension to which a set is reduced before it is diagonalized.
///
/// ```
/// use codiag::{MatrixSet, Rank, SetOptions};
/// // The third channel is the sum of the others.
/// let data = [2.0, 0.0, 2.0, 0.0, 1.0, 1.0, 2.0, 1.0, 3.0];
/// assert!(MatrixSet::new(&data, 1, 3).is_err());
/// let set = MatrixSet::with_options(&data, 1, 3, &SetOptions::default().n_components(Rank::Auto))?;
/// assert_eq!((set.channels(), set.dimension()), (3, 2));
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rank {
    /// No reduction: a singular set is an error.
    #[default]
    Full,
    /// The numerical rank of the mean.
    Auto,
    /// A given number of leading dimensions of the mean. The mean is scaled to unit diagonal first,
    /// so that the units of the channels do not matter.
    Exactly(usize),
}

/// Accepted values of a rank.
pub(crate) const RANK_CHOICES: Expected =
    Expected::OneOfOr(&["full", "auto"], "a number from 1 to p");

/// Options of a set of matrices.
///
/// ```
/// use codiag::{MatrixSet, SetOptions};
/// let options = SetOptions::default().weights(vec![2.0, 1.0]).shrinkage(0.01).n_jobs(1);
/// let set = MatrixSet::with_options(&[2.0, 0.5, 0.5, 1.0, 1.0, 0.1, 0.1, 3.0], 2, 2, &options)?;
/// assert!((set.weights()[0] - 2.0 / 3.0).abs() < 1e-15);
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct SetOptions {
    /// Criterion by which the set is diagonalized (default: [`Criterion::Likelihood`]). It
    /// determines whether the matrices must be positive definite.
    pub criterion: Criterion,
    /// One nonnegative weight per matrix, not all zero (default None: equal weights).
    pub weights: Option<Vec<f64>>,
    /// Dimension to which the set is reduced (default: [`Rank::Full`], no reduction).
    pub n_components: Rank,
    /// Shrinkage s in \[0, 1\]: each matrix becomes (1 − s) C + s tr(C)/p I (default 0).
    pub shrinkage: f64,
    /// Whether matrices that are not symmetric are replaced by their symmetric parts (default
    /// false). If not, an asymmetry above 1e-8 of the largest entry is an error; data in single
    /// precision may have such an asymmetry.
    pub symmetrize: bool,
    /// Maximum number of threads that prepare and solve the set (default None: chosen
    /// automatically). The result does not depend on it.
    pub n_jobs: Option<usize>,
}

setters!(SetOptions {
    criterion: Criterion,
    n_components: Rank,
    shrinkage: f64,
    symmetrize: bool,
});

impl SetOptions {
    /// Sets the [`weights`](Self#structfield.weights), or equal weights for None.
    #[must_use]
    pub fn weights(mut self, weights: impl Into<Option<Vec<f64>>>) -> Self {
        self.weights = weights.into();
        self
    }

    /// Sets the maximum number of [threads](Self#structfield.n_jobs), or an automatic choice for
    /// None.
    #[must_use]
    pub fn n_jobs(mut self, n_jobs: impl Into<Option<usize>>) -> Self {
        self.n_jobs = n_jobs.into();
        self
    }

    /// Checks the options that do not depend on the number of matrices.
    pub(crate) fn check_ranges(&self) -> Result<(), Error> {
        if !(0.0..=1.0).contains(&self.shrinkage) {
            let expected = Expected::Between(0.0, 1.0);
            return Err(Error::setting(Setting::Shrinkage, expected, self.shrinkage));
        }
        if self.n_jobs == Some(0) {
            return Err(Error::setting(Setting::NJobs, Expected::AtLeast(1), 0));
        }
        if self.n_components == Rank::Exactly(0) {
            return Err(Error::setting(Setting::Rank, RANK_CHOICES, 0));
        }
        Ok(())
    }

    pub(crate) fn check(&self, n: usize) -> Result<(), Error> {
        self.check_ranges()?;
        let Some(weights) = &self.weights else {
            return Ok(());
        };
        Self::check_weights(weights, n)?;
        if weights.iter().all(|w| *w == 0.0) {
            return Err(Error::WeightsZero);
        }
        Ok(())
    }

    /// Checks that there are n weights, all finite and nonnegative.
    pub(crate) fn check_weights(weights: &[f64], n: usize) -> Result<(), Error> {
        if weights.len() != n {
            return Err(Error::WeightsLength {
                expected: n,
                actual: weights.len(),
            });
        }
        match weights.iter().position(|w| !(w.is_finite() && *w >= 0.0)) {
            Some(index) => Err(Error::Weight {
                index,
                value: weights[index],
            }),
            None => Ok(()),
        }
    }

    pub(crate) fn normalized_weights(&self, n: usize) -> Vec<f64> {
        let Some(weights) = &self.weights else {
            return vec![1.0 / n as f64; n];
        };
        // The weights are divided by the largest first, so that the sum neither overflows nor
        // underflows.
        let largest = weights.iter().fold(0.0_f64, |m, w| m.max(*w));
        let total: f64 = weights.iter().map(|w| w / largest).sum();
        weights.iter().map(|w| w / largest / total).collect()
    }
}
