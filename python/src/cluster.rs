//! A solve of a set whose parts are held elsewhere. Questions and answers pass through Python as
//! bytes.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use codiag::cluster::{Ask, ClusterSet};
use codiag::working::{WorkingSet, diagonalize_working};
use codiag::{Error, Reduction};
use numpy::{PyArray2, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict};

use crate::convert::{matrix_from, matrix_to};
use crate::finished;
use crate::observer::Watch;
use crate::options::Options;
use crate::words::bad_input;

/// Solves for a set in parts, which have described themselves. `ask` puts a question to all parts and
/// returns their answers in order; `mean` is that of the whole set before its reduction, if it was
/// reduced.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // arguments of Python functions are owned
pub fn solve_parts<'py>(
    py: Python<'py>,
    ask: Py<PyAny>,
    parts: Vec<PyBackedBytes>,
    mean: Option<PyReadonlyArray2<'py, f64>>,
    options: &Bound<'py, PyDict>,
    callback: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let options = Options::from_dict(options)?;
    let reduction = mean.map(|mean| reduction(&mean, &options)).transpose()?;
    let through_python = ThroughPython {
        ask,
        raised: Mutex::new(None),
    };
    let mut set = ClusterSet::new(&through_python, &parts, reduction).map_err(bad_input)?;
    let mut watch = Watch::new(callback, &options);
    let clock = Instant::now();
    let solved = py.detach(|| {
        let answer = diagonalize_working(&mut set, &options.settings, &mut watch)?;
        Ok((answer, set.summary().constant))
    });
    let raised = through_python.raised.into_inner();
    if let Some(raised) = raised.unwrap_or_else(PoisonError::into_inner) {
        // The checkpoint is written all the same, as well as it can be.
        let _ = watch.finish();
        return Err(raised);
    }
    finished(py, watch, solved, clock.elapsed())
}

/// The filters to which a set with this mean is reduced.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // as above
pub fn reducing_filters<'py>(
    mean: PyReadonlyArray2<'py, f64>,
    options: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let reduction = reduction(&mean, &Options::from_dict(options)?)?;
    matrix_to(options.py(), reduction.filters().clone())
}

fn reduction(mean: &PyReadonlyArray2<'_, f64>, options: &Options) -> PyResult<Reduction> {
    let (criterion, rank) = (options.set.criterion, options.set.rank);
    Reduction::of_sum(criterion, &matrix_from(mean)?, rank).map_err(bad_input)
}

/// Puts questions through Python.
struct ThroughPython {
    ask: Py<PyAny>,
    /// What was raised instead of an answer.
    raised: Mutex<Option<PyErr>>,
}

impl Ask for ThroughPython {
    fn ask(&self, question: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
        let asked = Python::attach(|py| -> PyResult<Vec<Vec<u8>>> {
            let answers = self.ask.call1(py, (PyBytes::new(py, question),))?;
            let answers: Vec<PyBackedBytes> = answers.extract(py)?;
            Ok(answers.iter().map(|answer| answer.to_vec()).collect())
        });
        asked.map_err(|raised| {
            let error = Error::external(raised.to_string());
            *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(raised);
            error
        })
    }
}
