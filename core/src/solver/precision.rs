//! Rounding errors: when the transformed matrices are recomputed from B, and whether a small gradient is
//! more than rounding.

use super::state::State;
use crate::Error;
use crate::backend::{Request, Sums};
use crate::data::Criterion;
use crate::init::SplitMix;
use crate::linalg::{self, Matrix, Scalar};
use crate::objective::{Drift, Point, in_gauge, mean_gradient_change};
use crate::tuning::TUNING;

/// How often a gradient is evaluated again where its rounding errors are as large as the tolerance.
const MAX_CONFIRMATIONS: usize = 3;

impl<T: Scalar> State<'_, '_, T> {
    /// Recomputes the transformed matrices where updates have made their rounding errors too large, and
    /// makes sure that a gradient below the tolerance is that of B.
    pub fn check_precision(&mut self) -> Result<(), Error> {
        // A fit is always evaluated on the original matrices. Single precision is a stage on the way.
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
        // Rounding errors of the Frobenius criterion are all relative to the energy of the whole set.
        if self.point.is_fresh || self.backend.summary().criterion != Criterion::Likelihood {
            return Ok(());
        }
        let drifted = match self.point.drift(self.backend.summary()) {
            Drift::None => false,
            Drift::Doubtful => self.mean_has_drifted(TUNING.max_mean_drift)?,
            Drift::Large => true,
        };
        if drifted { self.recompute() } else { Ok(()) }
    }

    /// The matrices were updated from step to step, and their rounding errors with them. Unless both a
    /// bound of these errors and the drift of the mean are negligible beside the tolerance, the
    /// matrices are recomputed. If the bound says that even then rounding may decide, its effect is
    /// measured, as the difference between two evaluations that are rounded independently. The gradient
    /// norm is then reported as no smaller than that.
    fn verify_convergence(&mut self) -> Result<(), Error> {
        let negligible = TUNING.tolerance_margin * self.settings.tol;
        let summary = self.backend.summary();
        let may_be_wrong = summary.criterion == Criterion::Likelihood
            && self.point.gradient_error(summary) > negligible;
        if !may_be_wrong {
            if !self.point.is_fresh && self.mean_has_drifted(negligible)? {
                self.recompute()?;
                self.count_failed_confirmation();
            }
            return Ok(());
        }
        for trial in 0..MAX_CONFIRMATIONS {
            let before = self.point.statistics.clone();
            if self.point.is_fresh {
                self.perturb_b(trial);
            }
            self.recompute()?;
            let (summary, after) = (self.backend.summary(), &self.point.statistics);
            let noise = mean_gradient_change(summary, self.settings, &before, after);
            // False for NaN.
            let is_negligible = noise <= negligible;
            if !is_negligible {
                self.gradient_rounding = self.gradient_rounding.max(noise);
            }
            if is_negligible || self.gradient_norm() > self.settings.tol {
                break;
            }
        }
        self.count_failed_confirmation();
        Ok(())
    }

    fn count_failed_confirmation(&mut self) {
        if self.gradient_norm() > self.settings.tol {
            self.failed_confirmations += 1;
        }
    }

    /// Changes the entries of B in their last digit, so that a new evaluation is rounded independently.
    fn perturb_b(&mut self, seed: usize) {
        let mut random = SplitMix::new(seed as u64);
        for x in self.point.b.as_mut_slice() {
            *x = *x * (1.0 + 2.0 * f64::EPSILON * random.next());
        }
    }

    /// Whether the mean of the updated matrices is farther from B C̄ Bᴴ than that fraction of its size.
    /// Where all components count alike, however weak, it is measured in units of their powers; over
    /// rotations, an entry of the gradient in units of the weaker one.
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
        // NaN counts as drifted.
        let is_small = apart <= fraction * fraction * size;
        Ok(!is_small)
    }

    /// Recomputes the transformed matrices from B.
    pub fn recompute(&mut self) -> Result<(), Error> {
        let b = in_gauge(self.backend.summary(), self.settings, self.point.b.clone());
        self.count(1.0);
        let hessian = self.joint_hessian;
        self.point = Point::at(self.backend, self.settings, b, &mut self.sums, hessian)?;
        Ok(())
    }
}
