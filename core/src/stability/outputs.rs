//! Comparison of the components of two results.

use crate::data::Summary;
use crate::linalg::{self, Matrix, Scalar};

/// The representation of the components of a B in which they are compared with those of another B.
pub(crate) struct Outputs<T> {
    /// One row per component: filters with outputs of unit power, or normalized patterns.
    rows: Matrix<T>,
    /// The products of the filters with the mean matrix; None if patterns are compared.
    weighted: Option<Matrix<T>>,
}

impl<T: Scalar> Outputs<T> {
    /// Returns the representation of a B in the coordinates of the set: outputs under the mean
    /// matrix, or patterns if the criterion does not require positive definite matrices.
    pub fn of(summary: &Summary<T>, b: &Matrix<T>) -> Self {
        if !summary.criterion.requires_definite() {
            let patterns = linalg::inverse(b).adjoint();
            let norms = |a: usize| linalg::dot(patterns.row(a), patterns.row(a)).sqrt();
            let scale: Vec<f64> = (0..b.rows()).map(|a| 1.0 / norms(a)).collect();
            return Self {
                rows: patterns.scale_rows(&scale),
                weighted: None,
            };
        }
        let weighted = linalg::product(b, &summary.mean);
        let power = |a: usize| linalg::dot(weighted.row(a), b.row(a));
        let scale: Vec<f64> = (0..b.rows()).map(|a| 1.0 / power(a).sqrt()).collect();
        Self {
            rows: b.clone().scale_rows(&scale),
            weighted: Some(weighted.scale_rows(&scale)),
        }
    }

    /// Returns the similarity of each component, from 0 to 1, to the component of `other` that
    /// matches it. Components are matched one to one, greedily by decreasing similarity.
    pub fn matches(&self, other: &Self) -> Vec<f64> {
        let weighted = self.weighted.as_ref().unwrap_or(&self.rows);
        let similarity = linalg::product_adjoint(weighted, &other.rows);
        let p = similarity.rows();
        let sizes: Vec<f64> = similarity.as_slice().iter().map(|x| x.abs()).collect();
        let (mut found, mut taken) = (vec![None; p], vec![false; p]);
        for k in linalg::argsort_descending(&sizes) {
            let (a, b) = (k / p, k % p);
            if found[a].is_none() && !taken[b] {
                found[a] = Some(sizes[k].min(1.0));
                taken[b] = true;
            }
        }
        found.into_iter().map(Option::unwrap_or_default).collect()
    }
}

#[cfg(all(test, feature = "synthetic"))]
mod tests {
    use super::*;
    use crate::{Settings, diagonalize, synthetic};

    #[test]
    fn matches_are_invariant_to_order_sign_scale_and_units() {
        let set = synthetic::noisy(30, 5, 0.3, 2);
        let b = diagonalize(&set, &Settings::default()).unwrap().b;
        let (order, factors) = ([3, 0, 4, 1, 2], [1.0, -2.0, 0.1, -1e5, 3.0]);
        let other = Matrix::from_fn(5, 5, |a, c| factors[a] * b[(order[a], c)]);
        let matches = Outputs::of(set.summary(), &b).matches(&Outputs::of(set.summary(), &other));
        assert!(
            matches.iter().all(|x| (x - 1.0).abs() < 1e-12),
            "{matches:?}"
        );

        // Two sources rotated by an angle of 30 degrees, which still match in their order.
        let (sine, cosine) = (0.5_f64, 0.75_f64.sqrt());
        let rotated = Matrix::from_fn(5, 5, |a, c| match a {
            0 => cosine * b[(0, c)] + sine * b[(1, c)],
            1 => cosine * b[(1, c)] - sine * b[(0, c)],
            _ => b[(a, c)],
        });
        let units = [1.0, 1e-6, 1e3, 2.0, 1e-12];
        let mean = set.mean();
        let scaled = Matrix::from_fn(5, 5, |a, c| mean[(a, c)] * units[a] * units[c]);
        let scaled = Summary::new(1, scaled, 0.0);
        let in_units = |b: &Matrix| Matrix::from_fn(5, 5, |a, c| b[(a, c)] / units[c]);
        let one = Outputs::of(set.summary(), &b).matches(&Outputs::of(set.summary(), &rotated));
        let other =
            Outputs::of(&scaled, &in_units(&b)).matches(&Outputs::of(&scaled, &in_units(&rotated)));
        for (x, y) in one.iter().zip(&other) {
            assert!((x - y).abs() < 1e-9, "{one:?} {other:?}");
        }
        assert!((one[0] - cosine).abs() < 0.15 && one[2] > 0.999);
    }

    #[test]
    fn components_are_matched_one_to_one() {
        let summary = Summary::new(1, Matrix::identity(3), 0.0);
        // Both of the first two components are most similar to the first one of the reference.
        let other = Matrix::from_rows(3, 3, vec![1.0, 0.1, 0.0, 0.9, 0.5, 0.0, 0.0, 0.0, 1.0]);
        let matches =
            Outputs::of(&summary, &Matrix::identity(3)).matches(&Outputs::of(&summary, &other));
        assert!(
            matches[0] > 0.99 && matches[1] < 0.5 && matches[2] > 0.999,
            "{matches:?}"
        );
    }
}
