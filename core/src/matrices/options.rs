//! How a set is made from matrices.

use crate::Error;

/// To what dimension a set is reduced before it is diagonalised.
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

/// How a set is made from matrices.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SetOptions {
    /// One weight a matrix, not negative, not all zero; equal weights if None.
    pub weights: Option<Vec<f64>>,
    /// The dimension to reduce to.
    pub rank: Rank,
    /// Each matrix becomes (1 − s) C + s tr(C)/p I, for s in \[0, 1\].
    pub shrinkage: f64,
    /// How many threads prepare the set; as many as pay if None.
    pub threads: Option<usize>,
}

impl SetOptions {
    pub(super) fn check_shrinkage(&self) -> Result<(), Error> {
        if (0.0..=1.0).contains(&self.shrinkage) {
            return Ok(());
        }
        Err(Error::Setting {
            name: "shrinkage",
            expected: "between 0 and 1",
            value: self.shrinkage.to_string(),
        })
    }

    pub(super) fn check(&self, n: usize) -> Result<(), Error> {
        self.check_shrinkage()?;
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

    pub(super) fn normalized_weights(&self, n: usize) -> Vec<f64> {
        let Some(weights) = &self.weights else {
            return vec![1.0 / n as f64; n];
        };
        // Divided by the largest first, so that the sum neither overflows nor vanishes.
        let largest = weights.iter().fold(0.0_f64, |m, w| m.max(*w));
        let total: f64 = weights.iter().map(|w| w / largest).sum();
        weights.iter().map(|w| w / largest / total).collect()
    }
}
