//! How a set is made from matrices.

use crate::Error;
use crate::data::Criterion;
use crate::error::{Expected, Setting};
use crate::setters::setters;

/// To what dimension a set is reduced before it is diagonalized.
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
    /// Not at all: a singular set is an error.
    #[default]
    Full,
    /// To the range of the mean, its rank found from its eigenvalues.
    Auto,
    /// To this many leading dimensions of the mean (of the correlations, so that units do not
    /// matter).
    Exactly(usize),
}

/// What a rank may be.
pub(crate) const RANK_CHOICES: Expected =
    Expected::OneOfOr(&["full", "auto"], "a number from 1 to p");

/// How a set is made from matrices, and worked on.
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
    /// What the set will be diagonalized by, which decides what is required of its matrices.
    pub criterion: Criterion,
    /// One weight per matrix, not negative, not all zero; equal weights if None.
    pub weights: Option<Vec<f64>>,
    /// The dimension to reduce to.
    pub n_components: Rank,
    /// Each matrix becomes (1 − s) C + s tr(C)/p I, for s in \[0, 1\].
    pub shrinkage: f64,
    /// Whether matrices that are not symmetric are replaced by their symmetric parts. Without it,
    /// asymmetry beyond 1e-8 of the largest entry, as data in single precision have it, is an
    /// error.
    pub symmetrize: bool,
    /// How many threads prepare and solve the set; as many as pay if None. The answer does not
    /// depend on it.
    pub n_jobs: Option<usize>,
}

setters!(SetOptions {
    criterion: Criterion,
    n_components: Rank,
    shrinkage: f64,
    symmetrize: bool,
});

impl SetOptions {
    /// The same with other [`weights`](Self#structfield.weights), or with equal ones for None.
    #[must_use]
    pub fn weights(mut self, weights: impl Into<Option<Vec<f64>>>) -> Self {
        self.weights = weights.into();
        self
    }

    /// The same with another number of [`threads`](Self#structfield.n_jobs), or as many as pay for
    /// None.
    #[must_use]
    pub fn n_jobs(mut self, n_jobs: impl Into<Option<usize>>) -> Self {
        self.n_jobs = n_jobs.into();
        self
    }

    /// Checks all that does not depend on the number of matrices.
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

    /// That there are n weights, none of them negative.
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
        // Divided by the largest first, so that the sum neither overflows nor vanishes.
        let largest = weights.iter().fold(0.0_f64, |m, w| m.max(*w));
        let total: f64 = weights.iter().map(|w| w / largest).sum();
        weights.iter().map(|w| w / largest / total).collect()
    }
}
