//! A solve of a set whose parts are held elsewhere. Questions and answers pass through Python as
//! bytes.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use codiag::backend::Backend;
use codiag::cluster::{ClusterSet, SendRequests, is_complex};
use codiag::{Error, Reduction, Scalar};
use numpy::{Element, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict};

use crate::answer::Answered;
use crate::convert::{Square, matrix_from, matrix_to};
use crate::errors::bad_input;
use crate::finished;
use crate::observer::Watch;
use crate::options::Options;

/// Solves for a set in parts, which have described themselves. `ask` puts a question to all parts and
/// returns their answers in order; `mean` is that of the whole set before its reduction, if it was
/// reduced.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // arguments of Python functions are owned
pub fn solve_parts<'py>(
    py: Python<'py>,
    ask: Py<PyAny>,
    parts: Vec<PyBackedBytes>,
    mean: Option<Square<'py>>,
    options: &Bound<'py, PyDict>,
    callback: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let options = Options::from_dict(options)?;
    let asking = ThroughPython {
        ask,
        raised: Mutex::new(None),
    };
    let complex = parts.first().is_some_and(|part| is_complex(part));
    match mean {
        None if complex => {
            let set = ClusterSet::complex(&asking, &parts, None);
            solve_set(py, set.map_err(bad_input)?, &asking, &options, callback)
        }
        None => {
            let set = ClusterSet::new(&asking, &parts, None);
            solve_set(py, set.map_err(bad_input)?, &asking, &options, callback)
        }
        Some(Square::Complex(mean)) => {
            let set = ClusterSet::complex(&asking, &parts, Some(reduction(&mean, &options)?));
            solve_set(py, set.map_err(bad_input)?, &asking, &options, callback)
        }
        Some(Square::Real(mean)) => {
            let set = ClusterSet::new(&asking, &parts, Some(reduction(&mean, &options)?));
            solve_set(py, set.map_err(bad_input)?, &asking, &options, callback)
        }
    }
}

fn solve_set<'py, T: Answered>(
    py: Python<'py>,
    set: ClusterSet<'_, ThroughPython, T>,
    asking: &ThroughPython,
    options: &Options,
    callback: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let mut set = set.with_n_jobs(options.set.n_jobs);
    let mut watch = Watch::new(callback, options);
    let clock = Instant::now();
    let solved = py.detach(|| {
        let answer = codiag::diagonalize_with_backend(&mut set, &options.settings, &mut watch)?;
        Ok((answer, set.summary().constant))
    });
    let mut raised = asking.raised.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(raised) = raised.take() {
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
    mean: Square<'py>,
    options: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyAny>> {
    let (py, options) = (options.py(), Options::from_dict(options)?);
    Ok(match mean {
        Square::Real(mean) => {
            matrix_to(py, reduction(&mean, &options)?.filters().clone())?.into_any()
        }
        Square::Complex(mean) => {
            matrix_to(py, reduction(&mean, &options)?.filters().clone())?.into_any()
        }
    })
}

fn reduction<T: Scalar + Element>(
    mean: &PyReadonlyArray2<'_, T>,
    options: &Options,
) -> PyResult<Reduction<T>> {
    let (criterion, rank) = (options.set.criterion, options.set.n_components);
    Reduction::of_sum(criterion, &matrix_from(mean)?, rank).map_err(bad_input)
}

/// Puts questions through Python.
struct ThroughPython {
    ask: Py<PyAny>,
    /// What was raised instead of an answer.
    raised: Mutex<Option<PyErr>>,
}

impl SendRequests for ThroughPython {
    fn send(&self, request: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
        let asked = Python::attach(|py| -> PyResult<Vec<Vec<u8>>> {
            let answers = self.ask.call1(py, (PyBytes::new(py, request),))?;
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
