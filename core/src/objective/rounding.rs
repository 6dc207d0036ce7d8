//! Model of the rounding errors of the transformed matrices Dⁱ, which decides when they are
//! recomputed from B.
//!
//! If Dⁱ = B Cⁱ Bᴴ is computed from B, the error of an entry is of the order of its terms
//! b_ak Cⁱ_kl b̄_bl: with random signs it is ε √(v_a v_b), where v_a = Σ_k |b_ak|² C̄_kk. An update
//! D ← M D Mᴴ transforms these variances to v_a ← Σ_c |M_ac|² v_c. If the starting point mixes
//! channels of very different units and the steps separate them, updated Dⁱ keep errors of the
//! order of the strongest channels, while the errors of recomputed Dⁱ decrease with the power of
//! the components.

use crate::linalg::{self, Matrix, Scalar};
use crate::tuning::TUNING;

/// Excess of the rounding errors of updated matrices over those of recomputed ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Drift {
    /// The errors are of the same order.
    None,
    /// The errors exceed those of recomputed matrices, but seem negligible. After nearly singular
    /// steps they may be larger than the model predicts, which is visible in the mean matrix.
    Possible,
    /// The errors exceed those of recomputed matrices and are not negligible.
    Large,
}

/// Variance v_a of the rounding errors of each component, in units of ε².
#[derive(Clone, Debug)]
pub(super) struct ErrorVariances(Vec<f64>);

impl ErrorVariances {
    /// Returns the variances of matrices that are computed from B, in a set with this mean.
    pub fn recomputed<T: Scalar>(b: &Matrix<T>, mean: &Matrix<T>) -> Self {
        let powers: Vec<f64> = (0..mean.rows()).map(|k| mean[(k, k)].real()).collect();
        let variance = |a: usize| {
            let terms = b.row(a).iter().zip(&powers);
            terms.map(|(x, power)| x.norm_sqr() * power).sum()
        };
        Self((0..b.rows()).map(variance).collect())
    }

    /// Returns the largest variance.
    pub fn max(&self) -> f64 {
        self.0.iter().copied().fold(0.0, f64::max)
    }

    /// Propagates the variances through the update D ← S (I + αE) D (I + αE)ᴴ S, S = diag(`scale`).
    pub fn update<T: Scalar>(&mut self, e: &Matrix<T>, alpha: f64, scale: &[f64]) {
        let before = std::mem::take(&mut self.0);
        let after = scale.iter().enumerate().map(|(a, scale)| {
            let own = (T::ONE + e[(a, a)] * alpha).norm_sqr() * before[a];
            let others = e.row(a).iter().zip(&before).enumerate();
            let others = others.filter(|(c, _)| *c != a);
            let sum: f64 = others.map(|(_, (x, v))| x.norm_sqr() * v).sum();
            scale * scale * (own + alpha * alpha * sum)
        });
        self.0 = after.collect();
    }

    /// Accounts for a reorthogonalization of B that is not applied to the matrices: B rotates by an
    /// angle of order ε, which adds an error ε √(v_a v_c) to the power of component a.
    pub fn reorthogonalize<T: Scalar>(&mut self, b: &Matrix<T>, mean: &Matrix<T>) {
        let recomputed = Self::recomputed(b, mean).0;
        let largest = recomputed.iter().copied().fold(0.0, f64::max);
        let pairs = self.0.iter_mut().zip(&recomputed);
        pairs.for_each(|(v, own)| *v += (own * largest).sqrt());
    }

    /// Returns a bound of the rounding error of an entry Σ_i w_i Dⁱ_ab / Dⁱ_aa of the gradient at
    /// B.
    pub fn gradient_bound<T: Scalar>(&self, b: &Matrix<T>, mean: &Matrix<T>) -> f64 {
        let half = linalg::product(b, mean);
        let power = |a: usize| linalg::dot(half.row(a), b.row(a));
        let largest = (0..b.rows()).map(|a| self.0[a].sqrt() / power(a));
        let largest = largest.fold(0.0, |largest: f64, ratio| {
            // NaN compares false and counts as infinite.
            if ratio <= largest { largest } else { ratio }
        });
        let largest = largest * self.max().sqrt();
        TUNING.power_range * f64::EPSILON * largest
    }

    /// Compares the errors with those of recomputed matrices.
    pub fn drift<T: Scalar>(&self, b: &Matrix<T>, mean: &Matrix<T>) -> Drift {
        let recomputed = Self::recomputed(b, mean);
        let would_improve = |a: usize| self.0[a] > TUNING.drift_min_gain * recomputed.0[a];
        if !(0..b.rows()).any(would_improve) {
            return Drift::None;
        }
        let half = linalg::product(b, mean);
        let power = |a: usize| linalg::dot(half.row(a), b.row(a));
        if (0..b.rows()).any(|a| {
            would_improve(a) && f64::EPSILON * self.0[a] > TUNING.drift_negligible * power(a)
        }) {
            Drift::Large
        } else {
            Drift::Possible
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a B that mixes two channels, and their mean, in which one has 10¹⁰ times the power
    /// of the other.
    fn mixed() -> (Matrix, Matrix) {
        let mean = Matrix::from_rows(2, 2, vec![1e10, 0.0, 0.0, 1.0]);
        let b = Matrix::from_rows(2, 2, vec![0.8, 0.6, -0.6, 0.8]);
        (b, mean)
    }

    #[test]
    fn errors_persist_when_channels_are_separated() {
        let (b, mean) = mixed();
        let mut errors = ErrorVariances::recomputed(&b, &mean);
        assert_eq!(errors.drift(&b, &mean), Drift::None);
        // Rotate back to the channels.
        let back = b.transpose();
        let e = Matrix::from_fn(2, 2, |a, c| back[(a, c)] - f64::from(u8::from(a == c)));
        errors.update(&e, 1.0, &[1.0; 2]);
        let separated = linalg::product(&back, &b);
        assert_eq!(errors.drift(&separated, &mean), Drift::Large);
        let recomputed = ErrorVariances::recomputed(&separated, &mean);
        assert_eq!(recomputed.drift(&separated, &mean), Drift::None);
    }

    #[test]
    fn reorthogonalization_affects_weak_components_only() {
        for (power, expected) in [(1e6, Drift::Possible), (1e14, Drift::Large)] {
            let (b, mean) = (Matrix::identity(2), Matrix::diagonal(&[power, 1.0]));
            let mut errors = ErrorVariances::recomputed(&b, &mean);
            errors.reorthogonalize(&b, &mean);
            assert_eq!(errors.drift(&b, &mean), expected);
        }
    }

    #[test]
    fn gradient_error_bound_grows_with_the_condition_number() {
        let bound = |power: f64| {
            let mean = Matrix::from_rows(2, 2, vec![power, 0.0, 0.0, 1.0]);
            let (b, _) = mixed();
            // The errors of the mixture persist after a rotation that separates the channels.
            let errors = ErrorVariances::recomputed(&b, &mean);
            errors.gradient_bound(&Matrix::identity(2), &mean)
        };
        assert!(bound(1.0) < 1e-12);
        assert!(bound(1e10) > 1e-6);
    }
}
