//! How reproducible the components of a result are.

use crate::linalg::{self, Matrix};

/// How reproducible each component of a result is: from another start, and from other matrices of the
/// same kind.
///
/// ```
/// use codiag::{Settings, diagonalize, synthetic};
/// let set = synthetic::noisy(100, 5, 0.01, 0);
/// let answer = diagonalize(&set, &Settings::default().n_resamples(20))?;
/// let stability = answer.stability.expect("20 resamples were solved");
/// assert_eq!((stability.matches.rows(), stability.starts), (20, 0));
/// assert!(stability.values.iter().all(|x| *x > 0.99)); // all are determined by these matrices
///
/// // Nothing was tried, nothing is known.
/// assert!(diagonalize(&set, &Settings::default())?.stability.is_none());
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Stability {
    /// One number per component, from 0 to 1: the median of its matches.
    pub values: Vec<f64>,
    /// One row per trial, one column per component: how much the trial's component that matches it is like
    /// it, from 0 to 1.
    pub matches: Matrix,
    /// How many of the trials are further starts whose loss is within [`Stability::LOSS_MARGIN`] of the lowest;
    /// they come first. The others are resamples.
    pub starts: usize,
}

impl Stability {
    /// Starts whose loss exceeds the lowest by at most this share of it are trials: the data hardly prefer one of
    /// these answers to another. Worse ones are failures of the start, and say nothing of the data.
    pub const LOSS_MARGIN: f64 = 1e-3;

    /// Components of at least this stability are called reproducible.
    pub const STABLE: f64 = 0.9;

    /// From the matches of all trials; None if there were none.
    pub(crate) fn of(trials: &[Vec<f64>], starts: usize) -> Option<Self> {
        let components = trials.first()?.len();
        let matches = Matrix::from_fn(trials.len(), components, |k, a| trials[k][a]);
        let column = |a: usize| (0..trials.len()).map(|k| trials[k][a]).collect();
        Some(Self {
            values: (0..components).map(|a| median(column(a))).collect(),
            matches,
            starts,
        })
    }

    /// How many of the trials are resamples.
    pub fn resamples(&self) -> usize {
        self.matches.rows() - self.starts
    }

    /// Component `order[a]` becomes component a.
    pub(crate) fn rearrange(&mut self, order: &[usize]) {
        let (values, matches) = (&self.values, &self.matches);
        let (rows, columns) = (matches.rows(), matches.columns());
        self.values = order.iter().map(|a| values[*a]).collect();
        self.matches = Matrix::from_fn(rows, columns, |k, a| matches[(k, order[a])]);
    }

    /// The components, the most stable first; those that tie stay in their order.
    pub fn order(&self) -> Vec<usize> {
        linalg::argsort_descending(&self.values)
    }
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    let half = numbers.len() / 2;
    if numbers.len() % 2 == 1 {
        numbers[half]
    } else {
        0.5 * (numbers[half - 1] + numbers[half])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_the_matches() {
        let trials = [vec![0.1, 1.0], vec![0.9, 1.0], vec![0.4, 0.0]];
        let stability = Stability::of(&trials, 1).unwrap();
        assert_eq!(stability.values, [0.4, 1.0]);
        assert_eq!((stability.starts, stability.resamples()), (1, 2));
        assert_eq!(stability.order(), [1, 0]);
        assert_eq!(median(vec![4.0, 1.0, 2.0, 8.0]), 3.0);
        assert_eq!(Stability::of(&[], 0), None);
    }
}
