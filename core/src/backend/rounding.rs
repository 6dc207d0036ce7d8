//! The rounding errors that the matrices Dⁱ bring along, and when to make the Dⁱ anew.
//!
//! Made from B, an entry of Dⁱ = B Cⁱ Bᴴ has errors of the size of the terms b_ak Cⁱ_kl b̄_bl that it is the sum of: with
//! signs as they fall, ε √(v_a v_b) where v_a = Σ_k |b_ak|² C̄_kk. A step D ← M D Mᴴ takes these errors along, to
//! v_a ← Σ_c |M_ac|² v_c. So where a start mixes channels of very different units and the steps take them apart
//! again, the Dⁱ keep errors of the size of the strongest channels, however weak the components become,
//! while those of a new B Cⁱ Bᴴ shrink with them.

use crate::linalg::{self, Matrix, Scalar};
use crate::matrices::PairStep;

/// New matrices must have errors so many times smaller: a pass is not worth less.
const WORTHWHILE: f64 = 10.0;
/// Errors below this share of a component's power do not matter.
const NEGLIGIBLE: f64 = 1e-10;

/// How much smaller than its mean a power may be in single matrices, in a bound of errors.
const POWER_RANGE: f64 = 100.0;

/// Whether to make the matrices anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Renewal {
    /// They would have errors of the same size.
    Needless,
    /// They would be better, but what they carry does not seem to matter. Where near-singular steps have been taken it may be more
    /// than the variances tell: then the drift of the mean does.
    Doubtful,
    /// They would be better by enough to matter.
    Needed,
}

/// Beyond this share of its size, the drift of the mean matters.
pub(crate) const DRIFT: f64 = 1e-9;

/// v_a of each component: the variance of the errors in the Dⁱ, in units of ε².
#[derive(Clone, Debug)]
pub(crate) struct CarriedErrors(Vec<f64>);

impl CarriedErrors {
    /// Those of matrices made from B, in a set of that mean.
    pub fn fresh<T: Scalar>(b: &Matrix<T>, mean: &Matrix<T>) -> Self {
        let powers: Vec<f64> = (0..mean.rows()).map(|k| mean[(k, k)].real()).collect();
        let variance = |a: usize| {
            let terms = b.row(a).iter().zip(&powers);
            terms.map(|(x, power)| x.norm_sqr() * power).sum()
        };
        Self((0..b.rows()).map(variance).collect())
    }

    /// Those of matrices in the gauge, of powers of 1, that were rounded to fewer digits, in units of these.
    pub fn rounded(p: usize) -> Self {
        Self(vec![1.0; p])
    }

    /// The largest.
    pub fn most(&self) -> f64 {
        self.0.iter().copied().fold(0.0, f64::max)
    }

    /// Takes them along D ← S (I + αE) D (I + αE)ᴴ S, S = diag(`scale`).
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

    /// The same for the step of a pair.
    pub fn pair_step<T: Scalar>(&mut self, step: PairStep<T>, [a, b]: [usize; 2]) {
        let (x, y) = (self.0[a], self.0[b]);
        (self.0[a], self.0[b]) = match step {
            PairStep::Shear { ab, ba } => (x + ab.norm_sqr() * y, y + ba.norm_sqr() * x),
            PairStep::Rotation { cosine, sine } => {
                let (own, other) = (cosine * cosine, sine.norm_sqr());
                (own * x + other * y, own * y + other * x)
            }
        };
    }

    /// Adds what comes of a B that is made orthogonal again while the matrices stay: it turns by ε, which mixes ε √(v_a v_c)
    /// into the power of a.
    pub fn turn<T: Scalar>(&mut self, b: &Matrix<T>, mean: &Matrix<T>) {
        let fresh = Self::fresh(b, mean).0;
        let most = fresh.iter().copied().fold(0.0, f64::max);
        let pairs = self.0.iter_mut().zip(&fresh);
        pairs.for_each(|(v, own)| *v += (own * most).sqrt());
    }

    /// A bound of what the errors change in an entry Σ_i w_i Dⁱ_ab / Dⁱ_aa of the gradient, for matrices that stand at B.
    pub fn gradient_bound<T: Scalar>(&self, b: &Matrix<T>, mean: &Matrix<T>) -> f64 {
        let half = linalg::product(b, mean);
        let power = |a: usize| linalg::dot(half.row(a), b.row(a));
        let largest = (0..b.rows()).map(|a| self.0[a].sqrt() / power(a));
        let largest = largest.fold(0.0, |most: f64, ratio| {
            // NaN counts as infinite.
            if ratio <= most { most } else { ratio }
        });
        let largest = largest * self.most().sqrt();
        POWER_RANGE * f64::EPSILON * largest
    }

    /// What matrices made anew from B, where they stand, would be worth.
    pub fn against_new<T: Scalar>(&self, b: &Matrix<T>, mean: &Matrix<T>) -> Renewal {
        let fresh = Self::fresh(b, mean);
        let better = |a: usize| self.0[a] > WORTHWHILE * fresh.0[a];
        if !(0..b.rows()).any(better) {
            return Renewal::Needless;
        }
        let half = linalg::product(b, mean);
        let power = |a: usize| linalg::dot(half.row(a), b.row(a));
        if (0..b.rows()).any(|a| better(a) && f64::EPSILON * self.0[a] > NEGLIGIBLE * power(a)) {
            Renewal::Needed
        } else {
            Renewal::Doubtful
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
    fn long_steps_make_rounding_matter_more() {
        let mut errors = CarriedErrors::rounded(2);
        // A row that a step takes most of its power from, and that the gauge makes large again.
        let e = Matrix::from_rows(2, 2, vec![0.0, 2.0, 0.0, 0.0]);
        errors.step(&e, 1.0, &[10.0, 1.0]);
        assert_eq!(errors.most(), 500.0);
    }

    #[test]
    fn errors_outlive_the_mixing() {
        let (b, mean) = mixed();
        let mut errors = CarriedErrors::fresh(&b, &mean);
        assert_eq!(errors.against_new(&b, &mean), Renewal::Needless);
        // A rotation back to the channels.
        let back = b.transpose();
        let e = Matrix::from_fn(2, 2, |a, c| back[(a, c)] - f64::from(u8::from(a == c)));
        errors.step(&e, 1.0, &[1.0; 2]);
        let apart = linalg::product(&back, &b);
        assert_eq!(errors.against_new(&apart, &mean), Renewal::Needed);
        let fresh = CarriedErrors::fresh(&apart, &mean);
        assert_eq!(fresh.against_new(&apart, &mean), Renewal::Needless);
    }

    #[test]
    fn turns_matter_to_the_weak_alone() {
        for (power, expected) in [(1e6, Renewal::Doubtful), (1e14, Renewal::Needed)] {
            let (b, mean) = (Matrix::identity(2), Matrix::diagonal(&[power, 1.0]));
            let mut errors = CarriedErrors::fresh(&b, &mean);
            errors.turn(&b, &mean);
            assert_eq!(errors.against_new(&b, &mean), expected);
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

    #[test]
    fn steps_and_pairs_agree() {
        let (b, mean) = mixed();
        let (mut whole, mut pair) = (
            CarriedErrors::fresh(&b, &mean),
            CarriedErrors::fresh(&b, &mean),
        );
        let e = Matrix::from_rows(2, 2, vec![0.0, 0.4, -0.2, 0.0]);
        whole.step(&e, 0.5, &[1.0; 2]);
        let shear = PairStep::Shear { ab: -0.1, ba: 0.2 };
        pair.pair_step(shear, [1, 0]);
        for (x, y) in whole.0.iter().zip(&pair.0) {
            assert!((x - y).abs() <= 1e-15 * x);
        }
    }
}
