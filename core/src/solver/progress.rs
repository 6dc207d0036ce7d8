//! What an observer is told, whichever start and stage of a solve it comes from.

use std::ops::ControlFlow;
use std::time::Instant;

use crate::backend::Summary;
use crate::data::Reduction;
use crate::linalg::{self, Matrix, Scalar};
use crate::report::{Observer, Record, Stage};

/// The best start so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct BestSoFar {
    pub loss: f64,
    /// A further start is given up where its loss, less this multiple of the decrease that the quadratic
    /// model predicts, is above.
    pub reach: f64,
}

/// An observer, and where in a solve the records come from that it is shown.
pub(super) struct Progress<'o, T> {
    /// The number of the start.
    pub start: usize,
    pub stage: Stage,
    /// The tolerance of the whole solve.
    pub final_tolerance: f64,
    /// What a further start has to beat, if it is given up where it is not expected to.
    pub to_beat: Option<BestSoFar>,
    observer: &'o mut dyn Observer<T>,
    clock: Instant,
    /// From the channels to the coordinates of the solver, if these differ.
    frame: Option<Matrix<T>>,
}

/// What several starts have in common.
#[derive(Clone, Debug)]
pub(super) struct Shared<T> {
    stage: Stage,
    final_tolerance: f64,
    to_beat: Option<BestSoFar>,
    clock: Instant,
    frame: Option<Matrix<T>>,
}

impl<T: Scalar> Shared<T> {
    /// Of one of the starts, followed by an observer of its own.
    pub fn for_start<'b>(
        &self,
        start: usize,
        observer: &'b mut dyn Observer<T>,
    ) -> Progress<'b, T> {
        Progress {
            start,
            stage: self.stage,
            final_tolerance: self.final_tolerance,
            to_beat: self.to_beat,
            observer,
            clock: self.clock,
            frame: self.frame.clone(),
        }
    }
}

impl<'o, T: Scalar> Progress<'o, T> {
    /// A solve of a set begins now.
    pub fn new(
        summary: &Summary<T>,
        final_tolerance: f64,
        observer: &'o mut dyn Observer<T>,
    ) -> Self {
        Self {
            start: 0,
            stage: Stage::Full,
            final_tolerance,
            to_beat: None,
            observer,
            clock: Instant::now(),
            frame: summary.reduction.as_ref().map(Reduction::filters).cloned(),
        }
    }

    /// A stage of the solve, in the coordinates that B leads to if there is one.
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
            to_beat: self.to_beat,
            observer: &mut *self.observer,
            clock: self.clock,
            frame,
        }
    }

    /// What several starts that are solved at a time have in common.
    pub fn shared(&self) -> Shared<T> {
        Shared {
            stage: self.stage,
            final_tolerance: self.final_tolerance,
            to_beat: self.to_beat,
            clock: self.clock,
            frame: self.frame.clone(),
        }
    }

    /// Shows a record of one of several starts: B is in the channels already.
    pub fn forward(&mut self, record: &Record, b: &Matrix<T>) -> ControlFlow<()> {
        self.observer.observe(record, b)
    }

    /// Seconds since the solve began.
    pub fn seconds(&self) -> f64 {
        self.clock.elapsed().as_secs_f64()
    }

    /// Shows a point to the observer, B in the channels of the input.
    pub fn show(&mut self, record: &Record, b: &Matrix<T>) -> ControlFlow<()> {
        match &self.frame {
            Some(frame) => self.observer.observe(record, &linalg::product(b, frame)),
            None => self.observer.observe(record, b),
        }
    }

    /// Whether a further start is not expected to end lower than the best one. Losses on a sample
    /// compare with no other.
    pub fn cannot_win(&self, last: &Record) -> bool {
        let comparable = last.iteration > 0 && self.stage != Stage::Sample;
        let best = self.to_beat.filter(|_| comparable);
        best.is_some_and(|best| last.loss - best.reach * last.decrement > best.loss)
    }
}
