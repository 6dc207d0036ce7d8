//! How the matrices Dⁱ stand at B: just made from it, moved along with it, or rounded to single precision; and when they are made anew.

use super::{COARSER, Iteration, in_gauge};
use crate::Error;
use crate::criterion::Criterion;
use crate::linalg::{self, Matrix, Scalar};
use crate::rounding::{CarriedErrors, DRIFT, Renewal};
use crate::start::SplitMix;
use crate::update;

/// Above this ĝ single precision saves more than it takes to return to double precision.
const FAR: f64 = 1e-2;
/// Below this ĝ, or the tolerance if that is more, the matrices stand in double precision: a gradient in single precision
/// has errors of 10⁻⁷ to 10⁻⁶.
const PRECISE: f64 = 1e-6;
/// The variance of the errors that matrices in single precision may carry, in units of that of their rounding: their powers then
/// have six digits.
const CARRIED: f64 = 100.0;
/// The loss, summed from step to step, may differ so much more from one that is made anew.
const LEEWAY: f64 = 16.0;

/// How often a gradient is evaluated again where its rounding errors are as large as the tolerance.
const CONFIRMATIONS: usize = 3;

/// How the Dⁱ have come to be what they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Matrices {
    /// Made from B.
    Fresh,
    /// They have moved along with it.
    Moved,
    /// The same in single precision.
    Single,
}

impl<T: Scalar> Iteration<'_, '_, T> {
    /// Makes sure that a ĝ below the tolerance is that of B. The matrices Dⁱ were updated from step to step, and their rounding errors
    /// with them. Unless both a bound of these errors and the drift of the mean are negligible beside the tolerance, the Dⁱ are recomputed
    /// from B. Where the bound says that even then rounding may decide, its effect is measured: as the difference between two
    /// evaluations that are rounded independently. ĝ is then reported as no smaller than that.
    pub fn confirm(&mut self) -> Result<(), Error> {
        // A fit is always evaluated on the original matrices. In single precision a tolerance is reached only on the way to
        // another solve, and has fewer digits.
        let unfit = self.is_single() || self.set.summary().criterion.fits_originals();
        if unfit || self.gradient_norm() > self.settings.tolerance {
            return Ok(());
        }
        let negligible = 0.1 * self.settings.tolerance;
        if !self.may_be_wrong_by(negligible) {
            let drifted = self.matrices == Matrices::Moved && self.has_drifted(negligible)?;
            if drifted {
                self.renew()?;
                self.count_failed_confirmation();
            }
            return Ok(());
        }
        for trial in 0..CONFIRMATIONS {
            let before = self.statistics.gradient.clone();
            if self.matrices == Matrices::Fresh {
                self.perturb_b(trial);
            }
            self.renew()?;
            let mut change = self.statistics.clone();
            let difference = change.gradient.as_mut_slice();
            linalg::add_multiple(difference, -1.0, before.as_slice());
            let summary = self.set.summary();
            let orthogonal = self.settings.orthogonal;
            let noise = summary
                .criterion
                .stopping_measure(&change, orthogonal, summary);
            // NaN compares false and counts as large.
            let is_negligible = noise <= negligible;
            if !is_negligible {
                self.gradient_rounding = self.gradient_rounding.max(noise);
            }
            if is_negligible || self.gradient_norm() > self.settings.tolerance {
                break;
            }
        }
        self.count_failed_confirmation();
        Ok(())
    }

    fn count_failed_confirmation(&mut self) {
        if self.gradient_norm() > self.settings.tolerance {
            self.failed_confirmations += 1;
        }
    }

    /// Changes the entries of B in their last digit, so that a new evaluation is rounded independently.
    fn perturb_b(&mut self, seed: usize) {
        let mut random = SplitMix::new(seed as u64);
        for x in self.b.as_mut_slice() {
            *x = *x * (1.0 + 2.0 * f64::EPSILON * random.next());
        }
    }

    /// Whether the rounding errors of the Dⁱ may change entries of the gradient by more than that. Errors that are relative to the energy of
    /// the whole set, as those of the Frobenius criterion, never do.
    fn may_be_wrong_by(&self, error: f64) -> bool {
        let summary = self.set.summary();
        let likelihood = summary.criterion == Criterion::Likelihood;
        likelihood && self.errors.gradient_bound(&self.b, &summary.mean) > error
    }

    /// Whether the mean of the Dⁱ is farther from B C̄ Bᴴ than that share of its size. Where all components count
    /// alike, however weak, it is seen in units of their powers; over rotations, which do not bring these to 1, an
    /// entry of the gradient in units of the weaker.
    fn has_drifted(&mut self, share: f64) -> Result<bool, Error> {
        let half = linalg::product(&self.b, &self.set.summary().mean);
        let expected = linalg::product_adjoint(&half, &self.b);
        let actual = self.set.mean()?;
        let p = expected.rows();
        let unit = |a: usize| match self.set.summary().criterion {
            Criterion::Likelihood => expected[(a, a)].real().sqrt(),
            _ => 1.0,
        };
        let units: Vec<f64> = (0..p).map(unit).collect();
        let (mut apart, mut size) = (0.0, 0.0);
        for (a, b) in (0..p).flat_map(|a| (0..p).map(move |b| (a, b))) {
            let (x, y) = (expected[(a, b)], actual[(a, b)]);
            let unit = if self.settings.orthogonal {
                units[a].min(units[b]).powi(2)
            } else {
                units[a] * units[b]
            };
            apart += ((x - y) / unit).norm_sqr();
            size += (x / (units[a] * units[b])).norm_sqr();
        }
        // Not a number is no small one.
        let small = apart <= share * share * size;
        Ok(!small)
    }

    /// The ĝ above which single precision will do.
    fn precise_below(&self) -> f64 {
        if self.progress.provisional {
            PRECISE
        } else {
            PRECISE.max(self.settings.tolerance)
        }
    }

    /// Whether the set stands in single precision.
    pub fn is_single(&self) -> bool {
        self.matrices == Matrices::Single
    }

    /// Goes on in single precision, if that is worthwhile.
    pub fn round_to_single(&mut self) {
        let far = self.gradient_norm() > FAR.max(self.precise_below());
        if far && self.set.round_to_single() {
            self.matrices = Matrices::Single;
            self.errors = CarriedErrors::rounded(self.b.rows());
        }
    }

    /// Returns to double precision; whether the set was not there already.
    pub fn leave_single(&mut self) -> Result<bool, Error> {
        let left = self.is_single();
        if left {
            self.renew()?;
        }
        Ok(left)
    }

    /// Goes to (I + F)B at once, and makes the Dⁱ there anew: where no search is needed, D along the way would be for nothing, and the
    /// new ones need no confirmation. Whether it came closer; if not, the set stands where it stood.
    pub fn leap(&mut self, f: &Matrix<T>) -> Result<bool, Error> {
        // What ends in single precision has no use for new ones.
        if self.progress.provisional {
            return Ok(false);
        }
        let (loss, gradient_norm) = (self.loss, self.gradient_norm());
        let mut noise = self.set.summary().criterion.rounding(f.rows(), loss);
        noise *= match self.matrices {
            Matrices::Single => COARSER,
            _ => LEEWAY,
        };
        let before = std::mem::replace(&mut self.b, Matrix::zeros(0, 0));
        self.b = update::step(&before, f, 1.0);
        if let Err(error) = self.renew() {
            // Whoever interrupts a pass is left with the last point.
            (self.b, self.loss) = (before, loss);
            return Err(error);
        }
        if self.loss <= loss + noise && self.gradient_norm() < gradient_norm {
            return Ok(true);
        }
        self.b = before;
        self.renew()?;
        Ok(false)
    }

    /// Makes the matrices Dⁱ anew where those that have come here step by step have lost too much on the way.
    pub fn refresh(&mut self) -> Result<(), Error> {
        if self.is_single() {
            // Not a number is no large one.
            let will_do = self.gradient_norm() > self.precise_below()
                && self.stalled == 0
                && self.set.round_to_single();
            if will_do && !self.carries_too_much() {
                return Ok(());
            }
            self.renew()?;
            if will_do {
                // Long steps have made the errors of what they began with larger than those of new ones.
                self.round_to_single();
            }
            return Ok(());
        }
        let summary = self.set.summary();
        // Of the Frobenius criterion all errors are shares of the same energy; a fit has none to carry.
        if self.matrices == Matrices::Fresh || summary.criterion != Criterion::Likelihood {
            return Ok(());
        }
        let renewed = match self.errors.against_new(&self.b, &summary.mean) {
            Renewal::Needless => false,
            Renewal::Doubtful => self.has_drifted(DRIFT)?,
            Renewal::Needed => true,
        };
        if renewed { self.renew() } else { Ok(()) }
    }

    /// Whether, in single precision, the errors of the matrices have grown too much on the way. Rotations leave them as they are.
    fn carries_too_much(&self) -> bool {
        let likelihood = self.set.summary().criterion == Criterion::Likelihood;
        likelihood && !self.settings.orthogonal && self.errors.most() > CARRIED
    }

    /// Makes the matrices Dⁱ anew from B.
    fn renew(&mut self) -> Result<(), Error> {
        let b = std::mem::replace(&mut self.b, Matrix::zeros(0, 0));
        self.b = in_gauge(self.set.summary(), self.settings, b);
        let diagonal_sum = self.set.reset(&self.b)?;
        self.count(1.0);
        if std::mem::replace(&mut self.matrices, Matrices::Fresh) == Matrices::Single {
            (self.best, self.stalled) = (None, 0);
        }
        let summary = self.set.summary();
        let log_det = linalg::log_abs_det(&self.b);
        self.loss = summary.criterion.loss(summary, diagonal_sum, log_det);
        self.errors = CarriedErrors::fresh(&self.b, &summary.mean);
        self.statistics = self.set.statistics()?;
        Ok(())
    }
}

#[cfg(all(test, feature = "synthetic"))]
mod tests {
    use std::ops::ControlFlow;

    use super::*;
    use crate::matrices::InMemory;
    use crate::solver::iteration::Beginning;
    use crate::solver::progress::Progress;
    use crate::{Evaluation, Record, Settings, diagonalize, synthetic};

    #[test]
    fn a_leap_comes_closer_or_leaves_the_point() {
        // In double precision, and where the set can stand in single precision.
        for p in [6, 34] {
            let set = synthetic::noisy(40, p, 0.2, 1);
            let settings = Settings::default().tolerance(1e-9);
            let end = diagonalize(&set, &settings).unwrap().b;
            let nudge = Matrix::from_fn(p, p, |a, b| {
                1e-2 * f64::from(u8::from(a != b)) * (((3 * a + 5 * b) % 7) as f64 - 3.0)
            });
            let start = update::step(&end, &nudge, 1.0);
            for single in [false, p >= 20] {
                let mut working = InMemory::new(&set);
                let mut observer = |_: &Record, _: &Matrix| ControlFlow::Continue(());
                let progress = &mut Progress::new(set.summary(), &mut observer);
                let beginning = Beginning::at(start.clone());
                let mut here =
                    Iteration::begin(&mut working, &settings, beginning, progress).unwrap();
                if single {
                    here.round_to_single();
                    assert!(here.matrices == Matrices::Single);
                }
                let (b, loss, gradient_norm) = (here.b.clone(), here.loss, here.gradient_norm());
                // Away from the minimum, and back to it.
                assert!(!here.leap(&nudge).unwrap());
                let pairs = here.b.as_slice().iter().zip(b.as_slice());
                assert!(pairs.fold(0.0_f64, |off, (x, y)| off.max((x - y).abs())) < 1e-12);
                assert_eq!(here.matrices, Matrices::Fresh);
                assert!((here.loss - loss).abs() < 1e-6);
                assert!((here.gradient_norm() - gradient_norm).abs() < 1e-6);
                let back = linalg::product(&end, &linalg::inverse(&b));
                let back = Matrix::from_fn(p, p, |x, y| back[(x, y)] - f64::from(u8::from(x == y)));
                assert!(here.leap(&back).unwrap());
                let there = Evaluation::at(&set, &here.b).unwrap();
                assert!((here.loss - there.loss).abs() < 1e-12);
                assert!(here.gradient_norm() < 1e-8 && here.loss < loss);
            }
        }
    }
}
