//! Observer of a solve: Ctrl-C, the caller's callback, stopping rules, checkpoints.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use codiag::{Checkpoint, Matrix, Observer, Record, Scalar};
use numpy::Element;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::convert::matrix_to;
use crate::options::Options;
use crate::result::value_to;

/// Time between checks for signals. A check needs the interpreter's lock, which may take
/// milliseconds if another thread is busy: too long for iterations of microseconds.
pub const SIGNAL_INTERVAL: Duration = Duration::from_millis(10);

/// Observer of a solve on behalf of Python.
pub struct Watch<T = f64> {
    callback: Option<Py<PyAny>>,
    stop_decrement: Option<f64>,
    stop_step: Option<f64>,
    iterates: Option<Vec<Matrix<T>>>,
    show_iterates: bool,
    error: Option<PyErr>,
    checked: Instant,
    checkpoint: Option<(Py<PyAny>, Checkpoint<T>)>,
}

impl<T: Scalar + Element> Watch<T> {
    pub fn new(callback: Option<Py<PyAny>>, options: &Options) -> Self {
        let checkpoint = options.checkpoint.as_ref().map(|(save, every)| {
            let save = Python::attach(|py| save.clone_ref(py));
            (save, Checkpoint::new(*every))
        });
        Self {
            callback,
            stop_decrement: options.stop_decrement,
            stop_step: options.stop_step,
            iterates: options.keep_iterates.then(Vec::new),
            show_iterates: options.show_iterates,
            checkpoint,
            ..Self::for_signals()
        }
    }

    /// An observer that only checks for signals.
    pub fn for_signals() -> Self {
        Self {
            callback: None,
            stop_decrement: None,
            stop_step: None,
            iterates: None,
            show_iterates: false,
            error: None,
            checked: Instant::now(),
            checkpoint: None,
        }
    }

    /// Stores an exception, which ends the solve.
    fn or_stop(&mut self, asked: PyResult<bool>) -> bool {
        asked.unwrap_or_else(|raised| {
            self.error.get_or_insert(raised);
            true
        })
    }

    /// Saves the best B, if it has not been saved yet. Returns the iterates if they were kept, or
    /// the first exception.
    pub fn finish(mut self) -> PyResult<Option<Vec<Matrix<T>>>> {
        if let Some((save, checkpoint)) = self.checkpoint.take()
            && let Some(best) = checkpoint.last()
        {
            let saved = Python::attach(|py| saved(py, &save, &best));
            self.or_stop(saved);
        }
        self.error.map_or(Ok(self.iterates), Err)
    }

    /// Whether the callback stops the solve.
    fn ask(&mut self, py: Python<'_>, record: &Record, b: &Matrix<T>) -> PyResult<bool> {
        py.check_signals()?;
        self.checked = Instant::now();
        let Some(callback) = &self.callback else {
            return Ok(false);
        };
        let fields = PyDict::new(py);
        for (name, value) in record.fields() {
            fields.set_item(name, value_to(py, value)?)?;
        }
        if self.show_iterates {
            fields.set_item("B", matrix_to(py, b.clone())?)?;
        }
        callback.call(py, (), Some(&fields))?.is_truthy(py)
    }
}

/// Calls a function that saves B; the solve continues.
fn saved<T: Scalar + Element>(py: Python<'_>, save: &Py<PyAny>, b: &Matrix<T>) -> PyResult<bool> {
    save.call1(py, (matrix_to(py, b.clone())?,))?;
    Ok(false)
}

impl<T: Scalar + Element> Observer<T> for Watch<T> {
    fn observe(&mut self, record: &Record, b: &Matrix<T>) -> ControlFlow<()> {
        let mut stop = false;
        if record.stage != codiag::Stage::Sample {
            if let Some(iterates) = &mut self.iterates {
                iterates.push(b.clone());
            }
            let by_decrement = |threshold| record.decrement < threshold;
            let by_step = |threshold| record.step <= threshold;
            stop = record.iteration > 0
                && (self.stop_decrement.is_some_and(by_decrement)
                    || self.stop_step.is_some_and(by_step));
        }
        if self.callback.is_some() || self.checked.elapsed() >= SIGNAL_INTERVAL {
            let asked = Python::attach(|py| self.ask(py, record, b));
            stop |= self.or_stop(asked);
        }
        if let Some((save, checkpoint)) = &mut self.checkpoint
            && let Some(best) = checkpoint.update(record, b)
        {
            // A checkpoint that cannot be written ends the solve immediately.
            let saved = Python::attach(|py| saved(py, save, best));
            stop |= self.or_stop(saved);
        }
        if stop {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}
