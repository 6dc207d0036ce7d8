//! Solves of sets whose parts are held by workers. Requests and responses are sent by Python, as
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

use crate::convert::{MatrixArg, matrix_from, matrix_to};
use crate::errors::bad_input;
use crate::finished;
use crate::observer::Watch;
use crate::options::Options;
use crate::result::{ResultScalar, SolveResult};

/// Diagonalizes a set whose parts are described by `parts`. `send` sends a request to all parts and
/// returns their responses in order. `mean` is the mean of the whole set, if the set is reduced.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // arguments of Python functions are owned
pub fn solve_parts(
    py: Python<'_>,
    send: Py<PyAny>,
    parts: Vec<PyBackedBytes>,
    mean: Option<MatrixArg<'_>>,
    options: &Bound<'_, PyDict>,
    callback: Option<Py<PyAny>>,
) -> PyResult<SolveResult> {
    let options = Options::from_dict(options)?;
    let workers = PythonWorkers {
        send,
        raised: Mutex::new(None),
    };
    let complex = parts.first().is_some_and(|part| is_complex(part));
    match mean {
        None if complex => {
            let set = ClusterSet::complex(&workers, &parts, None);
            solve_set(py, set.map_err(bad_input)?, &workers, &options, callback)
        }
        None => {
            let set = ClusterSet::new(&workers, &parts, None);
            solve_set(py, set.map_err(bad_input)?, &workers, &options, callback)
        }
        Some(MatrixArg::Complex(mean)) => {
            let set = ClusterSet::complex(&workers, &parts, Some(reduction(&mean, &options)?));
            solve_set(py, set.map_err(bad_input)?, &workers, &options, callback)
        }
        Some(MatrixArg::Real(mean)) => {
            let set = ClusterSet::new(&workers, &parts, Some(reduction(&mean, &options)?));
            solve_set(py, set.map_err(bad_input)?, &workers, &options, callback)
        }
    }
}

fn solve_set<T: ResultScalar>(
    py: Python<'_>,
    set: ClusterSet<'_, PythonWorkers, T>,
    workers: &PythonWorkers,
    options: &Options,
    callback: Option<Py<PyAny>>,
) -> PyResult<SolveResult> {
    let mut set = set.with_n_jobs(options.set.n_jobs);
    let mut watch = Watch::new(callback, options);
    let clock = Instant::now();
    let solved = py.detach(|| {
        let result = codiag::diagonalize_with_backend(&mut set, &options.settings, &mut watch)?;
        Ok((result, set.summary().constant))
    });
    let mut raised = workers
        .raised
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    if let Some(raised) = raised.take() {
        // Write the last checkpoint. The exception takes precedence over an error here.
        let _ = watch.finish();
        return Err(raised);
    }
    finished(watch, solved, clock.elapsed())
}

/// Returns the filters that reduce a set with this mean.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // arguments of Python functions are owned
pub fn reducing_filters<'py>(
    mean: MatrixArg<'py>,
    options: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyAny>> {
    let (py, options) = (options.py(), Options::from_dict(options)?);
    Ok(match mean {
        MatrixArg::Real(mean) => {
            matrix_to(py, reduction(&mean, &options)?.filters().clone())?.into_any()
        }
        MatrixArg::Complex(mean) => {
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

/// Workers that receive requests through a Python function.
struct PythonWorkers {
    send: Py<PyAny>,
    /// Exception raised instead of a response.
    raised: Mutex<Option<PyErr>>,
}

impl SendRequests for PythonWorkers {
    fn send(&self, request: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
        let responses = Python::attach(|py| -> PyResult<Vec<Vec<u8>>> {
            let responses = self.send.call1(py, (PyBytes::new(py, request),))?;
            let responses: Vec<PyBackedBytes> = responses.extract(py)?;
            Ok(responses.iter().map(|response| response.to_vec()).collect())
        });
        responses.map_err(|raised| {
            let error = Error::external(raised.to_string());
            *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(raised);
            error
        })
    }
}
