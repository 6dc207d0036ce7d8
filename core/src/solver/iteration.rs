//! The state that all methods share: where the iteration stands, and what it has seen.

mod standing;
#[cfg(all(test, feature = "synthetic"))]
mod tests;

use super::least_squares;
use super::progress::Progress;
use crate::Error;
use crate::direction::quasi_newton;
use crate::error::{Remedy, StartProblem};
use crate::least_squares::{Point, is_cancelled, is_collinear, wedge};
use crate::linalg::{self, Matrix, Scalar};
use crate::line_search::{Line, Trial};
use crate::matrices::{Probe, Summary, WorkingSet};
use crate::report::{Record, Status, StepKind};
use crate::rounding::CarriedErrors;
use crate::settings::Settings;
use crate::statistics::Statistics;
use crate::update;
use standing::Matrices;

/// Iterations without a smaller ĝ, once changes of the loss are rounding, before giving up.
const PATIENCE: usize = 3;

/// Number of consecutive iterations with components that cancel each other after which a fit ends.
const MAX_CANCELLED_ITERATIONS: usize = 10;

/// Number of iterations, and the relative decrease of ĝ and of the loss over them, below which a solve ends.
const STALL_ITERATIONS: usize = 100;
const STALL_GRADIENT_DECREASE: f64 = 0.01;
const STALL_LOSS_DECREASE: f64 = 1e-10;

/// How much larger changes of the loss must be in single precision to be more than rounding. The errors of the
/// matrices have signs as they fall, so that most of them cancel.
const COARSER: f64 = f32::EPSILON as f64 / f64::EPSILON / 16.0;

/// Where one solve begins.
pub(super) struct Beginning<T> {
    pub b: Matrix<T>,
    /// What it took to get there, in transforms of the set.
    pub passes: f64,
    /// The records of the way there, if it was on the whole set.
    pub earlier: Vec<Record>,
}

impl<T> Beginning<T> {
    /// At a point that took no passes.
    pub fn at(b: Matrix<T>) -> Self {
        Self {
            b,
            passes: 0.0,
            earlier: Vec::new(),
        }
    }
}

/// The step that led to a point.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub kind: StepKind,
    /// The share of the direction that was taken.
    pub length: f64,
    pub cg_iterations: usize,
    /// The decrease that the step itself predicted, where a method knows better than the quadratic
    /// model at the point reached.
    pub decrement: Option<f64>,
}

impl Step {
    /// The one that led to a recorded point.
    fn to(record: &Record) -> Self {
        Self {
            cg_iterations: record.cg_iterations,
            ..Self::new(record.kind, record.step)
        }
    }

    /// No step: the point is the start.
    pub const START: Self = Self::new(StepKind::Start, 0.0);

    pub const fn new(kind: StepKind, length: f64) -> Self {
        Self {
            kind,
            length,
            cg_iterations: 0,
            decrement: None,
        }
    }
}

/// How far a search along a direction E went.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stride {
    /// The share of E that was probed.
    pub probed: f64,
    /// The share of E that was taken.
    pub taken: f64,
    /// The change of the loss.
    pub change: f64,
    /// What of it may be rounding.
    pub noise: f64,
}

impl Stride {
    /// All of E, without a look at the loss.
    pub const UNSEARCHED: Self = Self {
        probed: 1.0,
        taken: 1.0,
        change: 0.0,
        noise: f64::INFINITY,
    };
}

/// A solve under way.
pub(super) struct Iteration<'a, 'o, T: Scalar> {
    pub set: &'a mut dyn WorkingSet<T>,
    pub settings: &'a Settings,
    pub b: Matrix<T>,
    pub loss: f64,
    pub statistics: Statistics<T>,
    pub history: Vec<Record>,
    /// The step that led to where the solve begins.
    pub first: Step,
    /// What rounding has left in the matrices where the set stands.
    pub errors: CarriedErrors,
    matrices: Matrices,
    progress: &'a mut Progress<'o, T>,
    passes: f64,
    /// The point of smallest ĝ since changes of the loss became rounding.
    best: Option<(f64, Matrix<T>)>,
    /// How many iterations have not found a smaller ĝ since then.
    stalled: usize,
    /// How often ĝ turned out to be above the tolerance once the Dⁱ were made anew.
    failed_confirmations: usize,
    /// What rounding has been measured to change in ĝ here; zero if it was not, or does not matter.
    gradient_rounding: f64,
    /// How many of the last points were fits with components that cancel each other.
    cancelled: usize,
    /// Whether a step has led to an A without an inverse.
    pub dependent: bool,
    /// Whether the observer asked to stop.
    stopped: bool,
}

impl<'a, 'o, T: Scalar> Iteration<'a, 'o, T> {
    /// Brings the set to the start.
    pub fn begin(
        set: &'a mut dyn WorkingSet<T>,
        settings: &'a Settings,
        beginning: Beginning<T>,
        progress: &'a mut Progress<'o, T>,
    ) -> Result<Self, Error> {
        let Beginning {
            b,
            passes,
            earlier: mut history,
        } = beginning;
        // The point is recorded again, as it is measured here.
        let first = history.pop().map_or(Step::START, |last| Step::to(&last));
        let criterion = set.summary().criterion;
        let b = in_gauge(set.summary(), settings, b);
        let diagonal_sum = set.reset(&b)?;
        let loss = criterion.loss(set.summary(), diagonal_sum, linalg::log_abs_det(&b));
        if !loss.is_finite() {
            return Err(singular(set.summary()));
        }
        let statistics = least_squares::statistics(set, settings)?;
        Ok(Self {
            errors: CarriedErrors::fresh(&b, &set.summary().mean),
            set,
            settings,
            b,
            loss,
            statistics,
            history,
            first,
            matrices: Matrices::Fresh,
            progress,
            passes: 1.0 + passes,
            best: None,
            stalled: 0,
            failed_confirmations: 0,
            gradient_rounding: 0.0,
            cancelled: 0,
            dependent: false,
            stopped: false,
        })
    }

    /// ĝ here; over rotations, that of the antisymmetric part. No smaller than what rounding is known to change in it.
    pub fn gradient_norm(&self) -> f64 {
        let summary = self.set.summary();
        let criterion = summary.criterion;
        let orthogonal = self.settings.orthogonal;
        let computed = criterion.stopping_measure(&self.statistics, orthogonal, summary);
        // As an operand of `max`, NaN would be lost.
        if computed < self.gradient_rounding {
            self.gradient_rounding
        } else {
            computed
        }
    }

    /// Counts work, in transforms of the set.
    pub fn count(&mut self, passes: f64) {
        self.passes += passes;
    }

    /// The loss along a direction that has been probed.
    pub fn line<'e>(&'e mut self, e: &'e Matrix<T>) -> Result<Line<'e, T>, Error> {
        let mut line = Line::new(self.set, e)?;
        if self.matrices == Matrices::Single {
            line.noise *= COARSER;
        }
        Ok(line)
    }

    /// Writes down the point that a step has led to.
    pub fn record(&mut self, step: Step) {
        let record = Record {
            start: self.progress.start,
            sample: self.progress.sample,
            iteration: self.history.len(),
            seconds: self.progress.seconds(),
            loss: self
                .set
                .summary()
                .criterion
                .without_negative_rounding(self.loss),
            gradient_norm: self.gradient_norm(),
            decrement: step.decrement.unwrap_or_else(|| self.decrement()),
            kind: step.kind,
            step: step.length,
            cg_iterations: step.cg_iterations,
            passes: self.passes,
        };
        self.history.push(record);
        self.cancelled = if self.is_cancelled() {
            self.cancelled + 1
        } else {
            0
        };
    }

    /// ½ ⟨G, H̃⁻¹ G⟩, free of the gauge.
    fn decrement(&self) -> f64 {
        let floor = self.settings.lambda_min;
        let summary = self.set.summary();
        let criterion = summary.criterion;
        if criterion.fits_originals() {
            let e = wedge::direction(&self.statistics);
            return -0.5 * e.dot(&self.statistics.gradient) * criterion.loss_unit(summary);
        }
        if self.settings.orthogonal {
            let e = quasi_newton::rotation(criterion, &self.statistics, floor);
            let decrement = -0.25 * e.dot(&self.statistics.rotation_gradient());
            decrement * criterion.loss_unit(summary)
        } else {
            let e = quasi_newton::direction(&self.statistics, floor);
            -0.5 * e.dot(&self.statistics.gradient)
        }
    }

    /// Shows the last record to the observer.
    pub fn observe(&mut self) {
        let record = self.history.last().expect("a point is recorded first");
        self.stopped = self.progress.show(record, &self.b).is_break();
    }

    /// Why the iteration ends here, if it does.
    pub fn status(&self) -> Option<Status> {
        let last = self.history.last().expect("a point is recorded first");
        if last.gradient_norm <= self.settings.tolerance {
            Some(Status::Converged)
        } else if self.stopped {
            Some(Status::Stopped)
        } else if self
            .progress
            .to_beat
            // Losses on a sample compare with no other.
            .filter(|_| last.iteration > 0 && !last.sample)
            .is_some_and(|best| last.loss - best.reach * last.decrement > best.loss)
        {
            // It cannot be expected to win.
            Some(Status::NoFurtherDecrease)
        } else if self.stalled.max(self.failed_confirmations) >= PATIENCE {
            Some(Status::NoFurtherDecrease)
        } else if last.iteration >= self.settings.max_iterations {
            Some(Status::IterationLimit)
        } else if self.cancelled >= MAX_CANCELLED_ITERATIONS
            || (self.set.summary().criterion.fits_originals() && is_collinear(&self.b))
        {
            Some(Status::Collinear)
        } else if has_stalled(&self.history) {
            Some(Status::NoFurtherDecrease)
        } else {
            None
        }
    }

    /// The same in view of where a fit has ended: a point that is none is never called an answer.
    pub fn verdict(&self, status: Status) -> Status {
        let fit = self.set.summary().criterion.fits_originals();
        if fit && status != Status::Stopped && (self.dependent || self.is_cancelled()) {
            return Status::Collinear;
        }
        status
    }

    /// Whether components of a fit cancel each other here.
    fn is_cancelled(&self) -> bool {
        let summary = self.set.summary();
        summary.criterion.fits_originals() && is_cancelled(&self.statistics.gamma, summary.constant)
    }

    /// Moves to another point of a fit, at which the set stands.
    pub fn fit(&mut self, point: Point<T>) {
        let criterion = self.set.summary().criterion;
        let (change, noise) = (
            point.loss - self.loss,
            criterion.rounding(self.b.rows(), 0.0),
        );
        self.replace(point.b, point.statistics, change, noise);
        self.loss = point.loss;
    }

    /// Moves to where a trial along the probed direction `e` has been.
    pub fn advance(
        &mut self,
        e: &Matrix<T>,
        probe: &Probe,
        trial: Trial,
        noise: f64,
    ) -> Result<(), Error> {
        let scale = if self.settings.rescale && !self.settings.orthogonal {
            update::gauge(self.set.summary().criterion, probe, trial.alpha)
        } else {
            vec![1.0; e.rows()]
        };
        let statistics = self.set.advance(trial.alpha, &scale)?;
        self.errors.step(e, trial.alpha, &scale);
        let mut b = update::advanced(&self.b, e, trial.alpha, &scale);
        if self.settings.orthogonal {
            b = linalg::reorthogonalize(&b);
            self.errors.turn(&b, &self.set.summary().mean);
        }
        self.replace(b, statistics, trial.change, noise);
        Ok(())
    }

    /// Takes a new point, at which the loss has changed by `change`. Where that is not more than
    /// `noise`, the loss cannot tell which point is better any more, and ĝ decides.
    pub fn replace(&mut self, b: Matrix<T>, statistics: Statistics<T>, change: f64, noise: f64) {
        let here = self.gradient_norm();
        let old_b = std::mem::replace(&mut self.b, b);
        if self.matrices == Matrices::Fresh {
            self.matrices = Matrices::Moved;
        }
        self.statistics = statistics;
        self.gradient_rounding = 0.0;
        self.loss += change;
        if here.is_finite() && !self.gradient_norm().is_finite() {
            self.best = Some((here, old_b));
            return;
        }
        if change.abs() > noise {
            self.best = None;
            self.stalled = 0;
            return;
        }
        if self.best.as_ref().is_none_or(|(best, _)| here < *best) {
            self.best = Some((here, old_b));
        }
        let improved = self
            .best
            .as_ref()
            .is_some_and(|(best, _)| self.gradient_norm() < *best);
        self.stalled = if improved { 0 } else { self.stalled + 1 };
    }

    /// Whether the last step has led to where numbers end, as it may where the loss has no minimum; the point before it is the best.
    pub fn is_lost(&self) -> bool {
        self.best.is_some() && !self.gradient_norm().is_finite()
    }

    /// The B to return, its statistics if the set stands at it, and the history: the last point,
    /// unless an earlier one was better.
    pub fn best(self) -> (Matrix<T>, Option<Statistics<T>>, Vec<Record>) {
        let here = self.gradient_norm();
        match self.best {
            Some((gradient_norm, b)) if gradient_norm < here || here.is_nan() => {
                (b, None, self.history)
            }
            _ if self.matrices == Matrices::Single => (self.b, None, self.history),
            _ => (self.b, Some(self.statistics), self.history),
        }
    }
}

/// Whether the last iterations have decreased neither the smallest ĝ nor the loss. Slow linear convergence does not count:
/// it decreases ĝ by more than that within that number of iterations, unless a digit takes ten thousand.
fn has_stalled(history: &[Record]) -> bool {
    let Some(middle) = history.len().checked_sub(STALL_ITERATIONS) else {
        return false;
    };
    let (earlier, recent) = history.split_at(middle);
    let Some(before) = earlier.last() else {
        return false;
    };
    let smallest = |records: &[Record]| {
        let norms = records.iter().map(|record| record.gradient_norm);
        norms.fold(f64::INFINITY, f64::min)
    };
    let lowest = recent.iter().map(|record| record.loss);
    let lowest = lowest.fold(f64::INFINITY, f64::min);
    smallest(recent) > (1.0 - STALL_GRADIENT_DECREASE) * smallest(earlier)
        && before.loss - lowest <= STALL_LOSS_DECREASE * (1.0 + before.loss.abs())
}

/// B in the gauge, if that is wanted.
pub(super) fn in_gauge<T: Scalar>(
    summary: &Summary<T>,
    settings: &Settings,
    b: Matrix<T>,
) -> Matrix<T> {
    if !settings.rescale || settings.orthogonal {
        return b;
    }
    let gauge = summary.criterion.gauge(&b, &summary.mean);
    b.scale_rows(&gauge)
}

/// The complaint about a set that passed for one that the criterion takes, but is singular to rounding.
pub(super) fn singular<T: Scalar>(summary: &Summary<T>) -> Error {
    let values = linalg::symmetric_eigenvalues(&summary.mean);
    match values {
        Some(values) if summary.criterion.requires_definite() => Error::NotPositiveDefinite {
            matrix: None,
            eigenvalue: values[0],
            remedy: Remedy::None,
        },
        _ => Error::Start {
            problem: StartProblem::Singular,
        },
    }
}
