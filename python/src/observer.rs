//! What happens between two iterations: Ctrl-C, the caller's callback, stopping rules.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use codiag::{Matrix, Observer, Record, Reduction};
use pyo3::prelude::*;

use crate::convert::matrix_to;
use crate::options::Options;

/// How often signals are looked for. Asking needs the interpreter's lock, for which a busy thread
/// can make us wait for milliseconds: iterations of microseconds must not pay that each time.
pub const SIGNAL_INTERVAL: Duration = Duration::from_millis(10);

/// Follows a solve on behalf of Python.
pub struct Watch {
    callback: Option<Py<PyAny>>,
    stop_decrement: Option<f64>,
    iterates: Option<Vec<Matrix>>,
    error: Option<PyErr>,
    looked: Instant,
    checkpoint: Option<Checkpoint>,
}

/// B handed to a function every few seconds.
struct Checkpoint {
    save: Py<PyAny>,
    every: f64,
    last: Instant,
    lowest_loss: f64,
    /// From the channels to the dimensions in which B is found, if these differ.
    filters: Option<Matrix>,
}

/// Losses nearer than this are equal: the last steps of a solve only move within rounding.
const SAME_LOSS: f64 = 1e-9;

impl Checkpoint {
    /// With several starts, a later one does not replace the B of an earlier one before it is
    /// better.
    fn is_due(&mut self, record: &Record) -> bool {
        if record.loss > self.lowest_loss + SAME_LOSS {
            return false;
        }
        self.lowest_loss = self.lowest_loss.min(record.loss);
        let due = self.last.elapsed().as_secs_f64() >= self.every;
        if due {
            self.last = Instant::now();
        }
        due
    }

    fn save(&self, py: Python<'_>, b: &Matrix) -> PyResult<()> {
        let b = match &self.filters {
            Some(filters) => product(b, filters),
            None => b.clone(),
        };
        self.save.call1(py, (matrix_to(py, b)?,)).map(drop)
    }
}

fn product(a: &Matrix, b: &Matrix) -> Matrix {
    Matrix::from_fn(a.rows(), b.columns(), |row, column| {
        let terms = a.row(row).iter().enumerate();
        terms.map(|(k, x)| x * b[(k, column)]).sum()
    })
}

impl Watch {
    pub fn new(callback: Option<Py<PyAny>>, options: &Options) -> Self {
        Self {
            callback,
            stop_decrement: options.stop_decrement,
            iterates: options.keep_iterates.then(Vec::new),
            error: None,
            looked: Instant::now(),
            checkpoint: options.checkpoint.as_ref().map(|save| Checkpoint {
                save: Python::attach(|py| save.clone_ref(py)),
                every: options.checkpoint_every,
                last: Instant::now(),
                lowest_loss: f64::INFINITY,
                filters: None,
            }),
        }
    }

    /// Looks for nothing but signals.
    pub fn for_signals() -> Self {
        Self {
            callback: None,
            stop_decrement: None,
            iterates: None,
            error: None,
            looked: Instant::now(),
            checkpoint: None,
        }
    }

    /// The set was reduced: checkpoints are for the channels nevertheless.
    pub fn reduced_by(&mut self, reduction: &Reduction) {
        if let Some(checkpoint) = &mut self.checkpoint {
            checkpoint.filters = Some(reduction.filters().clone());
        }
    }

    /// What was raised on the way becomes the solve's end.
    fn or_stop(&mut self, asked: PyResult<bool>) -> bool {
        asked.unwrap_or_else(|raised| {
            self.error = Some(raised);
            true
        })
    }

    /// What was raised on the way, or the iterates if they were to be kept.
    pub fn finish(self) -> PyResult<Option<Vec<Matrix>>> {
        self.error.map_or(Ok(self.iterates), Err)
    }

    /// Whether the caller wants to stop.
    fn ask(&mut self, py: Python<'_>, record: &Record) -> PyResult<bool> {
        py.check_signals()?;
        self.looked = Instant::now();
        let Some(callback) = &self.callback else {
            return Ok(false);
        };
        let answer = callback.call1(
            py,
            (
                record.iteration,
                record.seconds,
                record.loss,
                record.gradient_norm,
                record.decrement,
                record.kind.name(),
                record.step,
                record.cg_iterations,
                record.passes,
            ),
        )?;
        answer.is_truthy(py)
    }
}

impl Observer for Watch {
    fn observe(&mut self, record: &Record, b: &Matrix) -> ControlFlow<()> {
        if let Some(iterates) = &mut self.iterates {
            iterates.push(b.clone());
        }
        let small = |threshold| record.iteration > 0 && record.decrement < threshold;
        let mut stop = self.stop_decrement.is_some_and(small);
        if self.callback.is_some() || self.looked.elapsed() >= SIGNAL_INTERVAL {
            let asked = Python::attach(|py| self.ask(py, record));
            stop |= self.or_stop(asked);
        }
        if let Some(checkpoint) = &mut self.checkpoint
            && checkpoint.is_due(record)
        {
            // One that cannot be written is said now, not after hours of work.
            let saved = Python::attach(|py| checkpoint.save(py, b));
            stop |= self.or_stop(saved.map(|()| false));
        }
        if stop {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}
