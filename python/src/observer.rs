//! What happens between two iterations: Ctrl-C, the caller's callback, stopping rules.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use codiag::{Matrix, Observer, Record};
use pyo3::prelude::*;

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
}

impl Watch {
    pub fn new(callback: Option<Py<PyAny>>, options: &Options) -> Self {
        Self {
            callback,
            stop_decrement: options.stop_decrement,
            iterates: options.keep_iterates.then(Vec::new),
            error: None,
            looked: Instant::now(),
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
        }
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
            match Python::attach(|py| self.ask(py, record)) {
                Ok(wanted) => stop |= wanted,
                Err(raised) => {
                    self.error = Some(raised);
                    stop = true;
                }
            }
        }
        if stop {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}
