//! Median and quartiles over seeds of a quantity against time.

use super::summary::quantile;
use crate::format::median;

/// Number of times at which the curves of one chart are combined.
const GRID_POINTS: usize = 320;

/// Curves of several runs combined.
#[derive(Clone, Debug, PartialEq)]
pub struct Band {
    /// Times and medians.
    pub median: Vec<(f64, f64)>,
    /// Times, lower quartiles and upper quartiles.
    pub quartiles: Vec<(f64, f64, f64)>,
}

/// Combines curves of positive values on a logarithmic grid of times. A run has its latest value at
/// each time, its first value before its beginning, and its final value after its end. The result
/// begins at the median of the first times, and ends with the last run. Quantiles are interpolated
/// between logarithms.
///
/// Returns None if there are no curves, or if one of them is empty.
pub fn combine(curves: &[Vec<(f64, f64)>]) -> Option<Band> {
    let mut beginnings = Vec::with_capacity(curves.len());
    let mut end = f64::NEG_INFINITY;
    for curve in curves {
        beginnings.push(curve.first()?.0);
        end = end.max(curve.last()?.0);
    }
    if curves.is_empty() {
        return None;
    }
    let begin = median(&beginnings);
    let mut band = Band {
        median: Vec::with_capacity(GRID_POINTS),
        quartiles: Vec::with_capacity(GRID_POINTS),
    };
    for time in logarithmic_grid(begin.max(1e-9), end) {
        let mut logarithms: Vec<f64> = curves.iter().map(|c| latest(c, time).ln()).collect();
        logarithms.sort_by(f64::total_cmp);
        let at = |fraction| quantile(&logarithms, fraction).exp();
        band.median.push((time, at(0.5)));
        band.quartiles.push((time, at(0.25), at(0.75)));
    }
    Some(band)
}

/// Returns times from `begin` to `end`, both included.
fn logarithmic_grid(begin: f64, end: f64) -> impl Iterator<Item = f64> {
    let ratio = end / begin;
    let count = if ratio > 1.0 { GRID_POINTS } else { 1 };
    (0..count).map(move |k| {
        if k + 1 == count {
            end
        } else {
            begin * ratio.powf(k as f64 / (count - 1) as f64)
        }
    })
}

/// Returns the last value of a curve that is not after a time, or else its first value.
fn latest(curve: &[(f64, f64)], time: f64) -> f64 {
    let after = curve.partition_point(|point| point.0 <= time);
    curve[after.saturating_sub(1)].1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_keep_their_last_value() {
        let short = vec![(1.0, 1e-1), (2.0, 1e-8)];
        let long = vec![(1.5, 1e-1), (10.0, 1e-2), (100.0, 1e-3)];
        let longest = vec![(1.0, 1e-1), (10.0, 1e-4), (200.0, 1e-5)];
        let band = combine(&[short, long, longest]).unwrap();
        let (first, last) = (band.median[0], *band.median.last().unwrap());
        assert_eq!((first.0, last.0), (1.0, 200.0));
        // The final values are 1e-8, 1e-3 and 1e-5.
        assert!((last.1 / 1e-5 - 1.0).abs() < 1e-9);
        assert!(band.median.windows(2).all(|pair| pair[0].0 < pair[1].0));
        for ((_, median), (_, low, high)) in band.median.iter().zip(&band.quartiles) {
            assert!(low <= median && median <= high);
        }
    }

    #[test]
    fn equal_runs_give_a_band_without_width() {
        let curve = vec![(1.0, 0.5), (3.0, 0.25)];
        let band = combine(&[curve.clone(), curve]).unwrap();
        assert!(band.quartiles.iter().all(|(_, low, high)| low == high));
    }

    #[test]
    fn curves_of_one_point_and_no_curves_are_allowed() {
        let point = vec![(1.0, 0.5)];
        assert_eq!(combine(&[point.clone(), point]).unwrap().median.len(), 1);
        assert_eq!(combine(&[]), None);
        assert_eq!(combine(&[Vec::new()]), None);
    }
}
