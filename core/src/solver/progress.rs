//! What an observer is told, whichever start and stage of a solve it comes from.

use std::ops::ControlFlow;
use std::time::Instant;

use crate::linalg::{self, Matrix, Scalar};
use crate::matrices::{Reduction, Summary};
use crate::report::{Observer, Record};

/// An observer, and where in a solve the records come from that it is shown.
pub(super) struct Progress<'o, T> {
    /// Which start the iteration under way belongs to.
    pub start: usize,
    /// Whether it looks at a sample of the matrices only.
    pub sample: bool,
    /// The loss of the best start so far, which a further one has to beat.
    pub to_beat: Option<f64>,
    observer: &'o mut dyn Observer<T>,
    clock: Instant,
    /// From the channels to the coordinates of the solver, if these differ.
    filters: Option<Matrix<T>>,
}

impl<'o, T: Scalar> Progress<'o, T> {
    /// A solve of a set begins now.
    pub fn new(summary: &Summary<T>, observer: &'o mut dyn Observer<T>) -> Self {
        Self {
            start: 0,
            sample: false,
            to_beat: None,
            observer,
            clock: Instant::now(),
            filters: summary.reduction.as_ref().map(Reduction::filters).cloned(),
        }
    }

    /// Seconds since the solve began.
    pub fn seconds(&self) -> f64 {
        self.clock.elapsed().as_secs_f64()
    }

    /// Shows a point to the observer, B in the channels of the input.
    pub fn show(&mut self, record: &Record, b: &Matrix<T>) -> ControlFlow<()> {
        match &self.filters {
            Some(filters) => self.observer.observe(record, &linalg::product(b, filters)),
            None => self.observer.observe(record, b),
        }
    }
}
