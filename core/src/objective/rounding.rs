//! Rounding errors of the transformed matrices Dⁱ, and when they are recomputed from B.
//!
//! Computed from B, an entry of Dⁱ = B Cⁱ Bᴴ has errors of the size of its terms b_ak Cⁱ_kl b̄_bl: with
//! random signs, ε √(v_a v_b) where v_a = Σ_k |b_ak|² C̄_kk. An update D ← M D Mᴴ transforms these
//! errors too, to v_a ← Σ_c |M_ac|² v_c. If a start mixes channels of very different units and the steps
//! separate them again, the Dⁱ keep errors of the size of the strongest channels, however weak the
//! components become, while those of a recomputed B Cⁱ Bᴴ shrink with them.

use crate::linalg::{self, Matrix, Scalar};
use crate::tuning::TUNING;

/// What recomputing the matrices from B would be worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Drift {
    /// Their errors would be of the same size.
    None,
    /// They would be smaller, but the present ones do not seem to matter. After steps that were nearly
    /// singular the errors may be larger than the variances say: then the mean shows it.
    Doubtful,
    /// They would be smaller by enough to matter.
    Large,
}

/// v_a of each component: the variance of the errors in the Dⁱ, in units of ε².
#[derive(Clone, Debug)]
pub(super) struct CarriedErrors(Vec<f64>);

impl CarriedErrors {
    /// Of matrices computed from B, in a set of that mean.
    pub fn fresh<T: Scalar>(b: &Matrix<T>, mean: &Matrix<T>) -> Self {
        let powers: Vec<f64> = (0..mean.rows()).map(|k| mean[(k, k)].real()).collect();
        let variance = |a: usize| {
            let terms = b.row(a).iter().zip(&powers);
            terms.map(|(x, power)| x.norm_sqr() * power).sum()
        };
        Self((0..b.rows()).map(variance).collect())
    }

    /// The largest.
    pub fn most(&self) -> f64 {
        self.0.iter().copied().fold(0.0, f64::max)
    }

    /// After the update D ← S (I + αE) D (I + αE)ᴴ S, S = diag(`scale`).
    pub fn step<T: Scalar>(&mut self, e: &Matrix<T>, alpha: f64, scale: &[f64]) {
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

    /// After B is made orthogonal again, and the matrices are not: B turns by ε, which mixes
    /// ε √(v_a v_c) into the power of a.
    pub fn reorthogonalize<T: Scalar>(&mut self, b: &Matrix<T>, mean: &Matrix<T>) {
        let fresh = Self::fresh(b, mean).0;
        let most = fresh.iter().copied().fold(0.0, f64::max);
        let pairs = self.0.iter_mut().zip(&fresh);
        pairs.for_each(|(v, own)| *v += (own * most).sqrt());
    }

    /// A bound of what the errors change in an entry Σ_i w_i Dⁱ_ab / Dⁱ_aa of the gradient at B.
    pub fn gradient_bound<T: Scalar>(&self, b: &Matrix<T>, mean: &Matrix<T>) -> f64 {
        let half = linalg::product(b, mean);
        let power = |a: usize| linalg::dot(half.row(a), b.row(a));
        let largest = (0..b.rows()).map(|a| self.0[a].sqrt() / power(a));
        let largest = largest.fold(0.0, |most: f64, ratio| {
            // NaN counts as infinite.
            if ratio <= most { most } else { ratio }
        });
        let largest = largest * self.most().sqrt();
        TUNING.power_range * f64::EPSILON * largest
    }

    /// What recomputing the matrices from B would be worth.
    pub fn compared_with_fresh<T: Scalar>(&self, b: &Matrix<T>, mean: &Matrix<T>) -> Drift {
        let fresh = Self::fresh(b, mean);
        let better = |a: usize| self.0[a] > TUNING.drift_min_gain * fresh.0[a];
        if !(0..b.rows()).any(better) {
            return Drift::None;
        }
        let half = linalg::product(b, mean);
        let power = |a: usize| linalg::dot(half.row(a), b.row(a));
        if (0..b.rows())
            .any(|a| better(a) && f64::EPSILON * self.0[a] > TUNING.drift_negligible * power(a))
        {
            Drift::Large
        } else {
            Drift::Doubtful
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two channels, one of 10¹⁰ times the power of the other, and a start that mixes them.
    fn mixed() -> (Matrix, Matrix) {
        let mean = Matrix::from_rows(2, 2, vec![1e10, 0.0, 0.0, 1.0]);
        let b = Matrix::from_rows(2, 2, vec![0.8, 0.6, -0.6, 0.8]);
        (b, mean)
    }

    #[test]
    fn errors_persist_when_channels_are_separated() {
        let (b, mean) = mixed();
        let mut errors = CarriedErrors::fresh(&b, &mean);
        assert_eq!(errors.compared_with_fresh(&b, &mean), Drift::None);
        // A rotation back to the channels.
        let back = b.transpose();
        let e = Matrix::from_fn(2, 2, |a, c| back[(a, c)] - f64::from(u8::from(a == c)));
        errors.step(&e, 1.0, &[1.0; 2]);
        let apart = linalg::product(&back, &b);
        assert_eq!(errors.compared_with_fresh(&apart, &mean), Drift::Large);
        let fresh = CarriedErrors::fresh(&apart, &mean);
        assert_eq!(fresh.compared_with_fresh(&apart, &mean), Drift::None);
    }

    #[test]
    fn reorthogonalization_affects_weak_components_only() {
        for (power, expected) in [(1e6, Drift::Doubtful), (1e14, Drift::Large)] {
            let (b, mean) = (Matrix::identity(2), Matrix::diagonal(&[power, 1.0]));
            let mut errors = CarriedErrors::fresh(&b, &mean);
            errors.reorthogonalize(&b, &mean);
            assert_eq!(errors.compared_with_fresh(&b, &mean), expected);
        }
    }

    #[test]
    fn the_bound_of_the_gradient_grows_with_the_condition_number() {
        let bound = |power: f64| {
            let mean = Matrix::from_rows(2, 2, vec![power, 0.0, 0.0, 1.0]);
            let (b, _) = mixed();
            // Errors of the mixture stay, while a rotation back separates the channels.
            let errors = CarriedErrors::fresh(&b, &mean);
            errors.gradient_bound(&Matrix::identity(2), &mean)
        };
        assert!(bound(1.0) < 1e-12);
        assert!(bound(1e10) > 1e-6);
    }
}
