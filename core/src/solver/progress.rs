//! What an observer is told, whichever start and stage of a solve it comes from.

use std::ops::ControlFlow;
use std::time::Instant;

use crate::linalg::{self, Matrix, Scalar};
use crate::matrices::{Reduction, Summary};
use crate::report::{Observer, Record};

/// The best start so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rival {
    pub loss: f64,
    /// A further start is given up where its loss, less so many times the decrease that the quadratic model
    /// predicts, is above.
    pub reach: f64,
}

/// What all starts of a solve have in common.
#[derive(Clone, Debug)]
pub(super) struct Trunk<T> {
    to_beat: Option<Rival>,
    provisional: bool,
    clock: Instant,
    /// From the channels to the coordinates of the solver, if these differ.
    filters: Option<Matrix<T>>,
}

impl<T: Scalar> Trunk<T> {
    /// One of several starts that are under way at a time, followed by an observer of its own.
    pub fn branch<'o>(&self, start: usize, observer: &'o mut dyn Observer<T>) -> Progress<'o, T> {
        Progress {
            start,
            sample: false,
            to_beat: self.to_beat,
            provisional: self.provisional,
            observer,
            clock: self.clock,
            filters: self.filters.clone(),
        }
    }
}

/// An observer, and where in a solve the records come from that it is shown.
pub(super) struct Progress<'o, T> {
    /// Which start the iteration under way belongs to.
    pub start: usize,
    /// Whether it looks at a sample of the matrices only.
    pub sample: bool,
    /// What a further start has to beat, if it is to be given up where it cannot be expected to.
    pub to_beat: Option<Rival>,
    /// Whether another solve begins where this one ends, which may then be in single precision.
    pub provisional: bool,
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
            provisional: false,
            observer,
            clock: Instant::now(),
            filters: summary.reduction.as_ref().map(Reduction::filters).cloned(),
        }
    }

    /// What several starts have in common that are under way at a time.
    pub fn trunk(&self) -> Trunk<T> {
        Trunk {
            to_beat: self.to_beat,
            provisional: self.provisional,
            clock: self.clock,
            filters: self.filters.clone(),
        }
    }

    /// Shows a point that the observer of a branch has been shown: B is in the channels already.
    pub fn pass_on(&mut self, record: &Record, b: &Matrix<T>) -> ControlFlow<()> {
        self.observer.observe(record, b)
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
