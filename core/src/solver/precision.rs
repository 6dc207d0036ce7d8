//! Control of rounding errors: recomputes the transformed matrices from B when updates have made
//! them inaccurate, and verifies that a gradient norm below the tolerance is not an artifact of
//! rounding.

use super::state::State;
use crate::Error;
use crate::backend::{Request, Sums};
use crate::data::Criterion;
use crate::init::SplitMix;
use crate::linalg::{self, Matrix, Scalar};
use crate::objective::{Drift, Point, gradient_distance, normalized};
use crate::tuning::TUNING;

/// Maximum number of evaluations that verify convergence if rounding errors may exceed the
/// tolerance.
const MAX_VERIFICATIONS: usize = 3;

impl<T: Scalar> State<'_, '_, T> {
    /// Recomputes the transformed matrices if their rounding errors are too large, and verifies
    /// convergence if the gradient norm is below the tolerance.
    pub fn check_precision(&mut self) -> Result<(), Error> {
        // Least squares is always evaluated on the original matrices. A stage in single precision
        // does not need accurate convergence.
        if self.is_least_squares() || self.is_single() {
            return Ok(());
        }
        self.recompute_if_drifted()?;
        if self.gradient_norm() <= self.settings.tol {
            self.verify_convergence()?;
        }
        Ok(())
    }

    fn recompute_if_drifted(&mut self) -> Result<(), Error> {
        // For the Frobenius criterion, rounding errors are relative to the energy of the whole set.
        if self.point.is_recomputed || self.backend.summary().criterion != Criterion::Likelihood {
            return Ok(());
        }
        let drifted = match self.point.drift(self.backend.summary()) {
            Drift::None => false,
            Drift::Possible => self.mean_has_drifted(TUNING.max_mean_drift)?,
            Drift::Large => true,
        };
        if drifted { self.recompute() } else { Ok(()) }
    }

    /// Verifies a gradient norm below the tolerance.
    ///
    /// Rounding errors accumulate in matrices that are updated from step to step. The matrices are
    /// recomputed unless a bound of these errors and the drift of the mean are both negligible
    /// relative to the tolerance. If the bound is not negligible even for recomputed matrices, the
    /// effect of rounding is measured as the difference between two evaluations with independent
    /// rounding errors, and the reported gradient norm is at least that difference.
    fn verify_convergence(&mut self) -> Result<(), Error> {
        let negligible = TUNING.tolerance_margin * self.settings.tol;
        let summary = self.backend.summary();
        let may_be_wrong = summary.criterion == Criterion::Likelihood
            && self.point.gradient_error(summary) > negligible;
        if !may_be_wrong {
            if !self.point.is_recomputed && self.mean_has_drifted(negligible)? {
                self.recompute()?;
                self.count_failed_verification();
            }
            return Ok(());
        }
        for trial in 0..MAX_VERIFICATIONS {
            let before = self.point.statistics.clone();
            if self.point.is_recomputed {
                self.perturb_b(trial);
            }
            self.recompute()?;
            let (summary, after) = (self.backend.summary(), &self.point.statistics);
            let rounding = gradient_distance(summary, self.settings, &before, after);
            // NaN is not negligible.
            let is_negligible = rounding <= negligible;
            if !is_negligible {
                self.gradient_rounding = self.gradient_rounding.max(rounding);
            }
            if is_negligible || self.gradient_norm() > self.settings.tol {
                break;
            }
        }
        self.count_failed_verification();
        Ok(())
    }

    fn count_failed_verification(&mut self) {
        if self.gradient_norm() > self.settings.tol {
            self.failed_verifications += 1;
        }
    }

    /// Changes the entries of B in their last digit, so that rounding errors of the next evaluation
    /// are independent.
    fn perturb_b(&mut self, seed: usize) {
        let mut random = SplitMix::new(seed as u64);
        for x in self.point.b.as_mut_slice() {
            *x = *x * (1.0 + 2.0 * f64::EPSILON * random.next());
        }
    }

    /// Whether the mean of the updated matrices differs from B C̄ Bᴴ by more than a fraction of its
    /// norm. For the likelihood, entries are relative to the powers of their components; over
    /// rotations, to the smaller power of the two.
    fn mean_has_drifted(&mut self, fraction: f64) -> Result<bool, Error> {
        let b = &self.point.b;
        let half = linalg::product(b, &self.backend.summary().mean);
        let expected = linalg::product_adjoint(&half, b);
        let p = expected.rows();
        let mut sums = Sums::default();
        self.backend
            .evaluate(&Request::Mean { b: b.clone() }, &mut sums)?;
        let actual: Matrix<T> = sums.packed_matrix(0, p);
        let unit = |a: usize| match self.backend.summary().criterion {
            Criterion::Likelihood => expected[(a, a)].real().sqrt(),
            _ => 1.0,
        };
        let units: Vec<f64> = (0..p).map(unit).collect();
        let (mut distance, mut size) = (0.0, 0.0);
        for (a, b) in (0..p).flat_map(|a| (0..p).map(move |b| (a, b))) {
            let (x, y) = (expected[(a, b)], actual[(a, b)]);
            let unit = if self.settings.orthogonal {
                units[a].min(units[b]).powi(2)
            } else {
                units[a] * units[b]
            };
            distance += ((x - y) / unit).norm_sqr();
            size += (x / (units[a] * units[b])).norm_sqr();
        }
        // NaN counts as drifted.
        let is_small = distance <= fraction * fraction * size;
        Ok(!is_small)
    }

    /// Recomputes the transformed matrices from B.
    pub fn recompute(&mut self) -> Result<(), Error> {
        let b = normalized(self.backend.summary(), self.settings, self.point.b.clone());
        self.add_passes(1.0);
        let hessian = self.joint_hessian;
        self.point = Point::at(self.backend, self.settings, b, &mut self.sums, hessian)?;
        Ok(())
    }
}
