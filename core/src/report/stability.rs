//! Stability: how reproducible the components of a result are.

use crate::linalg::{self, Matrix};

/// Stability of the components of a result: how reproducible each of them is from other starting
/// points and from resampled matrices.
///
/// ```
/// use codiag::{Settings, diagonalize, synthetic};
/// let set = synthetic::noisy(100, 5, 0.01, 0);
/// let result = diagonalize(&set, &Settings::default().n_resamples(20))?;
/// let stability = result.stability.expect("20 resamples were solved");
/// assert_eq!((stability.matches.rows(), stability.starts), (20, 0));
/// assert!(stability.values.iter().all(|x| *x > 0.99)); // all components are identifiable
///
/// // The stability is not estimated by default.
/// assert!(diagonalize(&set, &Settings::default())?.stability.is_none());
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Stability {
    /// Stability of each component, from 0 to 1: the median of its matches.
    pub values: Vec<f64>,
    /// Similarity of each component to the matching component of each trial, from 0 to 1: one row
    /// per trial, one column per component.
    pub matches: Matrix,
    /// Number of trials that are solves from additional starting points, whose loss is within
    /// [`Stability::LOSS_MARGIN`] of the lowest. They come first; the other trials are resamples.
    pub starts: usize,
}

impl Stability {
    /// Largest relative excess over the lowest loss of a solve that counts as a trial: the data
    /// hardly favor one such result over another. Solves with larger losses ended in poor local
    /// minima, which says nothing about the data.
    pub const LOSS_MARGIN: f64 = 1e-3;

    /// Components with at least this stability are called reproducible.
    pub const STABLE: f64 = 0.9;

    /// Returns the stability from the matches of all trials; None if there were no trials.
    pub(crate) fn from_matches(trials: &[Vec<f64>], starts: usize) -> Option<Self> {
        let components = trials.first()?.len();
        let matches = Matrix::from_fn(trials.len(), components, |k, a| trials[k][a]);
        let column = |a: usize| (0..trials.len()).map(|k| trials[k][a]).collect();
        Some(Self {
            values: (0..components).map(|a| median(column(a))).collect(),
            matches,
            starts,
        })
    }

    /// Returns the number of trials that are resamples.
    pub fn resamples(&self) -> usize {
        self.matches.rows() - self.starts
    }

    /// Moves component `order[a]` to position a.
    pub(crate) fn rearrange(&mut self, order: &[usize]) {
        let (values, matches) = (&self.values, &self.matches);
        let (rows, columns) = (matches.rows(), matches.columns());
        self.values = order.iter().map(|a| values[*a]).collect();
        self.matches = Matrix::from_fn(rows, columns, |k, a| matches[(k, order[a])]);
    }

    /// Returns the components by decreasing stability; ties keep their order.
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
    fn stability_is_the_median_of_the_matches() {
        let trials = [vec![0.1, 1.0], vec![0.9, 1.0], vec![0.4, 0.0]];
        let stability = Stability::from_matches(&trials, 1).unwrap();
        assert_eq!(stability.values, [0.4, 1.0]);
        assert_eq!((stability.starts, stability.resamples()), (1, 2));
        assert_eq!(stability.order(), [1, 0]);
        assert_eq!(median(vec![4.0, 1.0, 2.0, 8.0]), 3.0);
        assert_eq!(Stability::from_matches(&[], 0), None);
    }
}
