//! Progress reports to the observer, from all starts and stages of a solve.

use std::ops::ControlFlow;
use std::time::Instant;

use crate::backend::Summary;
use crate::data::Reduction;
use crate::linalg::{self, Matrix, Scalar};
use crate::report::{Observer, Record, Stage};

/// The best outcome so far, against which a running solve is compared.
#[derive(Clone, Copy, Debug)]
pub(super) struct BestSoFar {
    pub loss: f64,
    /// Multiple of the predicted decrease that a solve may still gain. A solve is stopped early if
    /// its loss minus this gain exceeds `loss`.
    pub gain_factor: f64,
}

/// The observer, and the start and stage to which its records belong.
pub(super) struct Progress<'o, T> {
    /// Number of the start.
    pub start: usize,
    pub stage: Stage,
    /// Tolerance of the whole solve.
    pub final_tolerance: f64,
    /// The best outcome so far, if restarts are stopped early when they are not expected to improve
    /// on it.
    pub best_so_far: Option<BestSoFar>,
    observer: &'o mut dyn Observer<T>,
    clock: Instant,
    /// The transformation from the channels to the coordinates of the solver, if these differ.
    frame: Option<Matrix<T>>,
}

/// State that solves from several starts share.
#[derive(Clone, Debug)]
pub(super) struct SharedProgress<T> {
    stage: Stage,
    final_tolerance: f64,
    best_so_far: Option<BestSoFar>,
    clock: Instant,
    frame: Option<Matrix<T>>,
}

impl<T: Scalar> SharedProgress<T> {
    /// Returns the progress of one of the starts, with its own observer.
    pub fn for_start<'b>(
        &self,
        start: usize,
        observer: &'b mut dyn Observer<T>,
    ) -> Progress<'b, T> {
        Progress {
            start,
            stage: self.stage,
            final_tolerance: self.final_tolerance,
            best_so_far: self.best_so_far,
            observer,
            clock: self.clock,
            frame: self.frame.clone(),
        }
    }
}

impl<'o, T: Scalar> Progress<'o, T> {
    /// Returns the progress of a new solve, whose clock starts now.
    pub fn new(
        summary: &Summary<T>,
        final_tolerance: f64,
        observer: &'o mut dyn Observer<T>,
    ) -> Self {
        Self {
            start: 0,
            stage: Stage::Full,
            final_tolerance,
            best_so_far: None,
            observer,
            clock: Instant::now(),
            frame: summary.reduction.as_ref().map(Reduction::filters).cloned(),
        }
    }

    /// Returns the progress of a stage, which is in the coordinates after B if there is one.
    pub fn for_stage(&mut self, stage: Stage, b: Option<&Matrix<T>>) -> Progress<'_, T> {
        let frame = match (b, &self.frame) {
            (Some(b), Some(frame)) => Some(linalg::product(b, frame)),
            (Some(b), None) => Some(b.clone()),
            (None, frame) => frame.clone(),
        };
        Progress {
            start: self.start,
            stage,
            final_tolerance: self.final_tolerance,
            best_so_far: self.best_so_far,
            observer: &mut *self.observer,
            clock: self.clock,
            frame,
        }
    }

    /// Returns the state that starts solved in parallel share.
    pub fn shared(&self) -> SharedProgress<T> {
        SharedProgress {
            stage: self.stage,
            final_tolerance: self.final_tolerance,
            best_so_far: self.best_so_far,
            clock: self.clock,
            frame: self.frame.clone(),
        }
    }

    /// Passes a record of one of several parallel starts to the observer; its B acts on the
    /// channels.
    pub fn forward(&mut self, record: &Record, b: &Matrix<T>) -> ControlFlow<()> {
        self.observer.observe(record, b)
    }

    /// Returns the time since the solve began, in seconds.
    pub fn seconds(&self) -> f64 {
        self.clock.elapsed().as_secs_f64()
    }

    /// Passes a point to the observer, with B transformed to act on the channels of the input.
    pub fn report(&mut self, record: &Record, b: &Matrix<T>) -> ControlFlow<()> {
        match &self.frame {
            Some(frame) => self.observer.observe(record, &linalg::product(b, frame)),
            None => self.observer.observe(record, b),
        }
    }

    /// Whether a restart is not expected to reach a lower loss than the best one. Losses on a
    /// sample are not comparable.
    pub fn cannot_improve(&self, last: &Record) -> bool {
        let comparable = last.iteration > 0 && self.stage != Stage::Sample;
        let best = self.best_so_far.filter(|_| comparable);
        best.is_some_and(|best| last.loss - best.gain_factor * last.decrement > best.loss)
    }
}
