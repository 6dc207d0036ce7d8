//! Newton's method: truncated conjugate gradients on the exact Hessian, and an exact line search.

use super::iteration::{Iteration, Step, Stride};
use super::radius::Radius;
use super::{Stepper, rotation};
use crate::Error;
use crate::direction::newton::{self, Direction, Effort, Group};
use crate::linalg::{Matrix, Scalar};
use crate::matrices::WorkingSet;
use crate::report::StepKind;
use crate::settings::Settings;
use crate::statistics::Hessian;

/// The residual of the Newton system may be this share of the gradient, or ĝ if that is less:
/// convergence is then quadratic.
const FORCING: f64 = 0.1;
/// Nor need it be less than what brings ĝ to this share of the tolerance.
const ENOUGH: f64 = 0.1;
/// Conjugate gradient iterations at most.
const MOST: usize = 100;
/// The same for few matrices, where they take as long as a pass.
const MOST_OF_FEW: usize = 20;
/// Below this ĝ the last systems are worth all of them: where components can hardly be told apart, fewer would
/// take ĝ down by the same factor at every step, and not by its square.
const NEAR: f64 = 1e-4;
/// Below this ĝ the chart's own curvature, which vanishes with the gradient, is left out.
const STRAIGHT: f64 = 1e-3;
/// The last step is taken without a search where it is expected to bring ĝ to this share of the tolerance.
const SURE: f64 = 0.1;
/// A step shorter than this was probed in vain: half the direction is tried instead.
const SHORTEST: f64 = 0.1;
/// A predicted change of the loss of so many times its rounding can be told from what came of it.
const TOLD: f64 = 10.0;
/// How often half the direction is tried.
const MAX_HALVINGS: usize = 40;

/// Newton's method.
pub(super) struct Newton<T> {
    /// Whether the exact Hessian is stored, as the set has been told, or applied by passes.
    stored: bool,
    /// It, or its memory, kept from step to step.
    hessian: Option<Hessian<T>>,
    /// Whether single precision is still to be thought of.
    may_round: bool,
    /// ĝ before the last step, if that was a full one.
    before_full_step: Option<f64>,
    radius: Radius,
}

impl<T: Scalar> Newton<T> {
    /// Decides whether there is room for the Hessian, and tells the set.
    pub fn new(set: &mut dyn WorkingSet<T>, settings: &Settings) -> Self {
        let (n, p) = (set.summary().len, set.summary().dimension());
        let fits = Hessian::<T>::bytes(p) <= settings.hessian_memory;
        let stored = fits && !passes_are_cheaper(n, p) && set.expect_hessian();
        Self {
            stored,
            hessian: None,
            may_round: stored,
            before_full_step: None,
            radius: Radius::default(),
        }
    }

    /// Whether a full step from here is sure to reach the tolerance: if convergence is quadratic, ĝ shrinks by the
    /// square of what it shrank by in the last step.
    fn arrives(&self, gradient_norm: f64, tolerance: f64) -> bool {
        self.before_full_step.is_some_and(|before| {
            gradient_norm * (gradient_norm / before).powi(2) <= SURE * tolerance
        })
    }

    /// Learns from a stride along a share of E how far the next ones may go.
    fn learn(
        &mut self,
        iteration: &Iteration<'_, '_, T>,
        direction: &Direction<T>,
        share: f64,
        stride: Stride,
    ) {
        let summary = iteration.set.summary();
        let unit = summary.criterion.loss_unit(summary);
        let predicted = unit * direction.predicted_change(share * stride.taken);
        if predicted.abs() > TOLD * stride.noise {
            let probed = share * stride.probed;
            let length = probed * direction.e.norm();
            self.radius
                .learn(length, probed == 1.0, stride.change, predicted);
        }
    }

    /// The direction from here; without room for the Hessian, each product is a pass over the set.
    fn direction(&mut self, iteration: &mut Iteration<'_, '_, T>) -> Result<Direction<T>, Error> {
        let summary = iteration.set.summary();
        let (n, p, criterion) = (summary.len, summary.dimension(), summary.criterion);
        let gradient_norm = iteration.gradient_norm();
        let enough = ENOUGH * iteration.settings.tolerance / gradient_norm;
        let effort = Effort {
            forcing: gradient_norm.max(enough).min(FORCING),
            most: most_iterations(n, gradient_norm),
        };
        // Over rotations only the antisymmetric part of the gradient vanishes at the solution, and
        // the chart's curvature remains.
        let (group, curved) = if iteration.settings.orthogonal {
            (Group::Rotations, true)
        } else {
            (Group::Linear, gradient_norm > STRAIGHT)
        };
        let statistics = &iteration.statistics;
        if !self.stored {
            let set = &mut *iteration.set;
            let product = |e: &Matrix<T>| Ok(set.hessian_product(&e.adjoint())?.adjoint());
            let found = newton::direction(criterion, statistics, group, effort, curved, product)?;
            iteration.count(found.iterations as f64 * 2.0 / 3.0);
            return Ok(found);
        }
        let hessian = self
            .hessian
            .get_or_insert_with(|| Hessian::unset(criterion, p));
        iteration.set.hessian(hessian)?;
        self.before_full_step = Some(gradient_norm);
        let product = |e: &Matrix<T>| Ok(hessian.adjoint_product(e));
        let found = newton::direction(criterion, statistics, group, effort, curved, product)?;
        iteration.count(2.0 / 3.0);
        Ok(found)
    }
}

impl<T: Scalar> Stepper<T> for Newton<T> {
    fn step(&mut self, iteration: &mut Iteration<'_, '_, T>) -> Result<Option<Step>, Error> {
        if std::mem::take(&mut self.may_round) {
            iteration.round_to_single();
        }
        let last = self.arrives(iteration.gradient_norm(), iteration.settings.tolerance);
        let direction = self.direction(iteration)?;
        let share = self.radius.share_of(&direction.e);
        let e = direction.e.scaled(share);
        let stride = if iteration.settings.orthogonal {
            rotation::rotate(iteration, &e)?
        } else if last && share == 1.0 && iteration.leap(&newton::retract(&e))? {
            Some(Stride::UNSEARCHED)
        } else {
            follow(iteration, e)?
        };
        if let Some(stride) = stride {
            self.learn(iteration, &direction, share, stride);
        }
        let length = stride.map(|stride| share * stride.taken);
        if length.is_none_or(|length| (length - 1.0).abs() >= 1e-3) {
            self.before_full_step = None;
        }
        Ok(length.map(|length| Step {
            cg_iterations: direction.iterations,
            ..Step::new(StepKind::Newton, length)
        }))
    }
}

/// Conjugate gradient iterations at most.
fn most_iterations(n: usize, gradient_norm: f64) -> usize {
    if gradient_norm <= NEAR {
        MOST
    } else {
        (3 * n / 10).clamp(MOST_OF_FEW, MOST)
    }
}

/// Whether, for very few large matrices, a pass over them reads less than the Hessian has.
fn passes_are_cheaper(n: usize, p: usize) -> bool {
    n <= 4 && p >= 64
}

/// Follows exp(E), to second order, to a minimizer along it.
fn follow<T: Scalar>(
    iteration: &mut Iteration<'_, '_, T>,
    mut e: Matrix<T>,
) -> Result<Option<Stride>, Error> {
    let mut probed = 1.0;
    for _ in 0..MAX_HALVINGS {
        let f = newton::retract(&e);
        if f.dot(&iteration.statistics.gradient) < 0.0 {
            let probe = iteration.set.probe(&f)?;
            iteration.count(1.0);
            let mut line = iteration.line(&f)?;
            let noise = line.noise;
            if let Some(trial) = line.minimize(1.0, 0.1)?
                && trial.alpha >= SHORTEST
            {
                iteration.advance(&f, &probe, trial, noise)?;
                return Ok(Some(Stride {
                    probed,
                    taken: probed * trial.alpha,
                    change: trial.change,
                    noise,
                }));
            }
        }
        e = e.scaled(0.5);
        probed *= 0.5;
    }
    Ok(None)
}

#[cfg(all(test, feature = "synthetic"))]
mod tests {
    use super::*;
    use crate::matrices::InMemory;
    use crate::{Criterion, Evaluation, MatrixSet, SetOptions, linalg, synthetic};

    #[test]
    fn short_steps_over_rotations_bring_what_the_model_predicts() {
        let (n, p) = (30, 6);
        for criterion in [Criterion::Likelihood, Criterion::Frobenius] {
            let options = SetOptions::default().criterion(criterion);
            let data = match criterion {
                Criterion::Frobenius => synthetic::indefinite(n, p, 0.3, 2).0,
                _ => synthetic::Synthetic::new(n, p, 0.3, 2).data,
            };
            let set = MatrixSet::with_options(&data, n, p, &options).unwrap();
            let mut working = InMemory::new(&set);
            working.reset(&Matrix::identity(p)).unwrap();
            let statistics = working.statistics().unwrap();
            let mut hessian = Hessian::unset(criterion, p);
            working.hessian(&mut hessian).unwrap();
            let effort = Effort {
                forcing: 0.1,
                most: 20,
            };
            let product = |e: &Matrix| Ok(hessian.adjoint_product(e));
            let found = newton::direction(
                criterion,
                &statistics,
                Group::Rotations,
                effort,
                true,
                product,
            );
            let found = found.unwrap();
            let loss = |share: f64| {
                let b = linalg::unitary_exponential(&found.e.scaled(share));
                Evaluation::at(&set, &b).unwrap().loss
            };
            let unit = criterion.loss_unit(set.summary());
            for share in [1e-3, 1e-2] {
                let ratio = (loss(share) - loss(0.0)) / (unit * found.predicted_change(share));
                assert!((ratio - 1.0).abs() < 2.0 * share, "{criterion:?}: {ratio}");
            }
        }
    }
}
