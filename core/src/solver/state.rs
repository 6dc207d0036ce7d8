//! The state of a solve, which all methods share: current point, history and termination tests.

use super::progress::Progress;
use crate::Error;
use crate::backend::{Backend, Sums};
use crate::data::Criterion;
use crate::linalg::{Matrix, Scalar};
use crate::objective::least_squares::{is_canceled, is_collinear, wedge};
use crate::objective::{Context, Point, normalized, quasi_newton, singular};
use crate::report::{Record, Stage, Status, StepKind};
use crate::settings::Settings;
use crate::tuning::TUNING;

/// Point at which a solve begins, with the history that led to it.
pub(super) struct InitialPoint<T> {
    pub b: Matrix<T>,
    /// Work so far, in data passes.
    pub passes: f64,
    /// The records so far; the last one belongs to B.
    pub history: Vec<Record>,
    /// Whether the last record is replaced by a new evaluation of B.
    pub record_again: bool,
}

impl<T> InitialPoint<T> {
    pub fn at(b: Matrix<T>) -> Self {
        Self {
            b,
            passes: 0.0,
            history: Vec::new(),
            record_again: true,
        }
    }
}

/// Outcome of one iteration of a method.
pub(super) enum Iteration {
    /// The method moved to another point.
    Moved(Step),
    /// The method found no lower loss.
    Stalled,
    /// The method ended the solve, possibly at a point that was not evaluated.
    Ended(Status),
}

/// The step that led to a point.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub kind: StepKind,
    /// The fraction of the direction that was taken.
    pub length: f64,
    pub cg_iterations: usize,
    /// The decrease predicted by the method itself, if that is more accurate than the quadratic
    /// model at the point reached.
    pub decrement: Option<f64>,
}

impl Step {
    /// Step of the first record: the point is the starting point.
    pub const START: Self = Self::new(StepKind::Init, 0.0);

    pub const fn new(kind: StepKind, length: f64) -> Self {
        Self {
            kind,
            length,
            cg_iterations: 0,
            decrement: None,
        }
    }

    /// Returns the step that led to a recorded point.
    fn to(record: &Record) -> Self {
        Self {
            cg_iterations: record.cg_iterations,
            ..Self::new(record.kind, record.step)
        }
    }
}

/// Outcome of a solve from one starting point.
pub(super) struct Outcome<T> {
    pub b: Matrix<T>,
    /// The point at B, if it is the last one that was evaluated.
    pub point: Option<Point<T>>,
    pub status: Status,
    pub history: Vec<Record>,
    /// The step from the last record to B, if B was not evaluated.
    pub step: Option<Step>,
}

impl<T> Outcome<T> {
    pub fn loss(&self) -> f64 {
        self.history.last().map_or(f64::INFINITY, |r| r.loss)
    }

    /// Whether the loss is lower than that of another outcome by more than rounding.
    pub fn is_lower(&self, other: &Self) -> bool {
        self.loss() < other.loss() - super::LOSS_ROUNDING * (1.0 + other.loss().abs())
    }
}

/// State of a running solve.
pub(super) struct State<'a, 'o, T: Scalar> {
    pub backend: &'a mut dyn Backend<T>,
    pub settings: &'a Settings,
    pub point: Point<T>,
    pub history: Vec<Record>,
    pub sums: Sums<T>,
    /// Whether the Hessian at the next point should be requested together with its gradient.
    pub joint_hessian: bool,
    /// Whether a step has led to a singular A.
    pub a_is_singular: bool,
    /// The final B, if it was not evaluated, and the step from the last recorded point to it, if
    /// there is one.
    pub unevaluated: Option<(Matrix<T>, Option<Step>)>,
    progress: &'a mut Progress<'o, T>,
    passes: f64,
    /// Smallest gradient norm since changes of the loss fell below rounding, and its B.
    best: Option<(f64, Matrix<T>)>,
    /// Number of iterations without a decrease of the gradient norm since changes of the loss fell
    /// below rounding.
    stalled: usize,
    /// Number of times that a recomputed gradient norm exceeded the tolerance.
    pub(super) failed_verifications: usize,
    /// The measured rounding error of the gradient; zero if it was not measured or is negligible.
    pub(super) gradient_rounding: f64,
    /// Number of consecutive points at which components of a fit cancel each other.
    canceled: usize,
    is_stopped: bool,
}

impl<'a, 'o, T: Scalar> State<'a, 'o, T> {
    /// Evaluates the starting point. Also returns the step that led there if it is still to be
    /// recorded.
    pub fn begin(
        backend: &'a mut dyn Backend<T>,
        settings: &'a Settings,
        initial: InitialPoint<T>,
        joint_hessian: bool,
        progress: &'a mut Progress<'o, T>,
    ) -> Result<(Self, Option<Step>), Error> {
        let InitialPoint {
            b,
            passes,
            mut history,
            record_again,
        } = initial;
        let step = record_again.then(|| history.pop().map_or(Step::START, |last| Step::to(&last)));
        // A stage begins exactly at the current point of the solve, which is not rescaled.
        let b = if record_again {
            normalized(backend.summary(), settings, b)
        } else {
            b
        };
        let mut sums = Sums::default();
        let point = Point::at(backend, settings, b, &mut sums, joint_hessian)?;
        if !point.loss.is_finite() {
            return Err(singular(backend.summary()));
        }
        let state = Self {
            backend,
            settings,
            point,
            history,
            sums,
            joint_hessian,
            a_is_singular: false,
            unevaluated: None,
            progress,
            passes: 1.0 + passes,
            best: None,
            stalled: 0,
            failed_verifications: 0,
            gradient_rounding: 0.0,
            canceled: 0,
            is_stopped: false,
        };
        Ok((state, step))
    }

    /// Returns the gradient norm, or its measured rounding error if that is larger.
    pub fn gradient_norm(&self) -> f64 {
        let computed = self
            .point
            .gradient_norm(self.backend.summary(), self.settings);
        // `f64::max` would ignore NaN.
        if computed < self.gradient_rounding {
            self.gradient_rounding
        } else {
            computed
        }
    }

    /// Returns the context of a step, and the current point.
    pub fn context(&mut self) -> (Context<'_, T>, &Point<T>) {
        let context = Context {
            backend: &mut *self.backend,
            settings: self.settings,
            final_tolerance: self.progress.final_tolerance,
            sums: &mut self.sums,
            passes: &mut self.passes,
            joint_hessian: self.joint_hessian,
        };
        (context, &self.point)
    }

    /// Adds to the work counter, in data passes.
    pub fn add_passes(&mut self, passes: f64) {
        self.passes += passes;
    }

    /// Records the point that a step has led to and passes it to the observer. Returns the status
    /// if the solve ends here.
    pub fn record(&mut self, step: Step) -> Option<Status> {
        if self.gradient_is_not_finite() {
            return Some(self.final_status(Status::Stalled));
        }
        let criterion = self.backend.summary().criterion;
        self.history.push(Record {
            start: self.progress.start,
            stage: self.progress.stage,
            iteration: self.history.len(),
            seconds: self.progress.seconds(),
            loss: criterion.clip_negative_rounding(self.point.loss),
            gradient_norm: self.gradient_norm(),
            decrement: step.decrement.unwrap_or_else(|| self.decrement()),
            kind: step.kind,
            step: step.length,
            cg_iterations: step.cg_iterations,
            passes: self.passes,
        });
        self.canceled = if self.is_canceled() {
            self.canceled + 1
        } else {
            0
        };
        let mut status = self.status();
        // The observer does not see the last point of a stage in single precision, which is
        // recorded again in double precision.
        if !self.is_stopped && (status.is_none() || self.progress.stage != Stage::Single) {
            self.is_stopped = self.report().is_break();
            status = self.status();
        }
        status.map(|status| self.final_status(status))
    }

    /// Stops the solve at the observer's request; it receives no further records.
    pub fn stop(&mut self) {
        self.is_stopped = true;
    }

    fn report(&mut self) -> std::ops::ControlFlow<()> {
        let record = self.history.last().expect("a point is recorded first");
        self.progress.report(record, &self.point.b)
    }

    /// Returns the predicted decrease ½ ⟨G, H̃⁻¹ G⟩ of the quasi-Newton model, which does not
    /// depend on the scale of the rows of B.
    fn decrement(&self) -> f64 {
        let floor = self.settings.lambda_min;
        let (summary, statistics) = (self.backend.summary(), &self.point.statistics);
        let criterion = summary.criterion;
        if criterion.is_least_squares() {
            let e = wedge::direction(statistics);
            return -0.5 * e.dot(&statistics.gradient) * criterion.loss_unit(summary);
        }
        if self.settings.orthogonal {
            let e = quasi_newton::rotation(criterion, statistics, floor);
            let decrement = -0.25 * e.dot(&statistics.rotation_gradient());
            decrement * criterion.loss_unit(summary)
        } else {
            let e = quasi_newton::direction(statistics, floor);
            -0.5 * e.dot(&statistics.gradient)
        }
    }

    /// Returns the status if the solve ends at the last record.
    fn status(&self) -> Option<Status> {
        let last = self.history.last().expect("a point is recorded first");
        let is_single = self.is_single();
        let patience = if is_single { 1 } else { TUNING.patience };
        if last.gradient_norm <= self.settings.tol {
            Some(Status::Converged)
        } else if self.is_stopped {
            Some(Status::Interrupted)
        } else if self.progress.cannot_improve(last)
            || self.stalled.max(self.failed_verifications) >= patience
            || (is_single && self.errors_have_grown())
        {
            Some(Status::Stalled)
        } else if last.iteration >= self.settings.max_iter {
            Some(Status::MaxIter)
        } else if self.canceled >= TUNING.max_canceled_iterations
            || (self.is_least_squares() && is_collinear(&self.point.b))
        {
            Some(Status::Collinear)
        } else if has_stalled(&self.history) {
            Some(Status::Stalled)
        } else {
            None
        }
    }

    /// Returns the status, or `Collinear` if the least-squares fit is degenerate.
    pub fn final_status(&self, status: Status) -> Status {
        let is_degenerate = self.a_is_singular || self.is_canceled();
        if self.is_least_squares() && status != Status::Interrupted && is_degenerate {
            return Status::Collinear;
        }
        status
    }

    pub(super) fn is_least_squares(&self) -> bool {
        self.backend.summary().criterion.is_least_squares()
    }

    /// Whether components of a least-squares fit cancel each other.
    fn is_canceled(&self) -> bool {
        let summary = self.backend.summary();
        self.is_least_squares() && is_canceled(&self.point.statistics.gamma, summary.constant)
    }

    /// Whether rounding errors of matrices in single precision have grown too much. They do not
    /// grow under rotations.
    fn errors_have_grown(&self) -> bool {
        let likelihood = self.backend.summary().criterion == Criterion::Likelihood;
        likelihood
            && !self.settings.orthogonal
            && self.point.error_variance() > TUNING.single_precision_max_error_variance
    }

    /// Moves to another point, at which the loss has changed by `change`. If the change is at most
    /// `rounding`, points are compared by their gradient norms instead of their losses.
    pub fn move_to(&mut self, point: Point<T>, change: f64, rounding: f64) {
        let norm = self.gradient_norm();
        let before = std::mem::replace(&mut self.point, point);
        self.gradient_rounding = 0.0;
        if norm.is_finite() && !self.gradient_norm().is_finite() {
            self.best = Some((norm, before.b));
            return;
        }
        if change.abs() > rounding {
            self.best = None;
            self.stalled = 0;
            return;
        }
        if self.best.as_ref().is_none_or(|(best, _)| norm < *best) {
            self.best = Some((norm, before.b));
        }
        let best = self.best.as_ref();
        let improved = best.is_some_and(|(best, _)| self.gradient_norm() < *best);
        self.stalled = if improved { 0 } else { self.stalled + 1 };
    }

    /// Moves to another point of a least-squares fit.
    pub fn move_to_fit(&mut self, point: Point<T>) {
        let criterion = self.backend.summary().criterion;
        let change = point.loss - self.point.loss;
        self.move_to(point, change, criterion.rounding(self.point.b.rows(), 0.0));
    }

    /// Whether the last step produced NaN or infinity, which can happen if the loss has no minimum.
    fn gradient_is_not_finite(&self) -> bool {
        self.best.is_some() && !self.gradient_norm().is_finite()
    }

    /// Returns the outcome: the last point, unless an earlier one has a smaller gradient norm.
    pub fn end(self, status: Status) -> Outcome<T> {
        let norm = self.gradient_norm();
        if let Some((b, step)) = self.unevaluated {
            return Outcome {
                b,
                point: None,
                status,
                history: self.history,
                step,
            };
        }
        let (b, point) = match self.best {
            Some((best, b)) if best < norm || norm.is_nan() => (b, None),
            _ => (self.point.b.clone(), Some(self.point)),
        };
        Outcome {
            b,
            point,
            status,
            history: self.history,
            step: None,
        }
    }

    /// Continues from the outcome of a stage in single precision, whose last point is evaluated
    /// again.
    pub fn resume(&mut self, outcome: Outcome<T>) -> Result<Step, Error> {
        self.is_stopped = outcome.status == Status::Interrupted;
        self.point.b = outcome.b;
        self.history = outcome.history;
        self.passes = self.history.last().map_or(0.0, |record| record.passes);
        let step = match outcome.step {
            Some(step) => step,
            None => self
                .history
                .pop()
                .map_or(Step::START, |last| Step::to(&last)),
        };
        (self.best, self.stalled, self.gradient_rounding) = (None, 0, 0.0);
        self.recompute()?;
        Ok(step)
    }

    /// Returns the backend and the progress.
    pub fn progress(&mut self) -> (&mut dyn Backend<T>, &mut Progress<'o, T>) {
        (&mut *self.backend, &mut *self.progress)
    }

    pub fn passes(&self) -> f64 {
        self.passes
    }

    /// Whether the transformed matrices are in single precision.
    pub fn is_single(&self) -> bool {
        self.backend.capabilities().epsilon > f64::EPSILON
    }

    /// Returns the tolerance of the whole solve, of which this may be a stage.
    pub fn final_tolerance(&self) -> f64 {
        self.progress.final_tolerance
    }

    /// Whether this solve is a stage on a sample.
    pub fn is_sample(&self) -> bool {
        self.progress.stage == Stage::Sample
    }
}

/// Whether the last `stall_iterations` iterations have decreased neither the smallest gradient norm
/// nor the loss. Slow linear convergence does not count as a stall, unless a digit takes ten
/// thousand iterations.
fn has_stalled(history: &[Record]) -> bool {
    let Some(split) = history.len().checked_sub(TUNING.stall_iterations) else {
        return false;
    };
    let (earlier, recent) = history.split_at(split);
    let Some(before) = earlier.last() else {
        return false;
    };
    let smallest = |records: &[Record]| {
        let norms = records.iter().map(|record| record.gradient_norm);
        norms.fold(f64::INFINITY, f64::min)
    };
    let lowest = recent.iter().map(|record| record.loss);
    let lowest = lowest.fold(f64::INFINITY, f64::min);
    smallest(recent) > (1.0 - TUNING.stall_gradient_decrease) * smallest(earlier)
        && before.loss - lowest <= TUNING.stall_loss_decrease * (1.0 + before.loss.abs())
}
