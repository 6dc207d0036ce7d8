//! Matrices that keep arriving.

use numpy::{
    IntoPyArray, PyArray1, PyArray2, PyArray3, PyReadonlyArray1, PyReadonlyArray2, PyReadonlyArray3,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::convert::{cube, matrix_from, matrix_to, results, shape};
use crate::observer::Watch;
use crate::options::tracker_settings;
use crate::words::bad_input;

/// What a tracker keeps: the matrices of its window, their own weights, and B.
type State<'py> = (
    Bound<'py, PyArray3<f64>>,
    Bound<'py, PyArray1<f64>>,
    Option<Bound<'py, PyArray2<f64>>>,
);

/// The library's tracker; the package wraps it.
#[pyclass]
pub struct Tracker {
    tracker: codiag::Tracker,
}

#[pymethods]
impl Tracker {
    #[new]
    fn new(p: usize, options: &Bound<'_, PyDict>) -> PyResult<Self> {
        let tracker = codiag::Tracker::new(p, tracker_settings(options)?).map_err(bad_input)?;
        Ok(Self { tracker })
    }

    /// Goes on from a state, or from any other window and B.
    #[staticmethod]
    #[allow(clippy::needless_pass_by_value)] // arguments of Python functions are owned
    fn resume(
        options: &Bound<'_, PyDict>,
        c: PyReadonlyArray3<'_, f64>,
        weights: PyReadonlyArray1<'_, f64>,
        b: Option<PyReadonlyArray2<'_, f64>>,
    ) -> PyResult<Self> {
        let b = b.as_ref().map(matrix_from).transpose()?;
        let (_, p) = shape(&c);
        let resumed = codiag::Tracker::resume(
            p,
            tracker_settings(options)?,
            c.as_slice()?,
            weights.as_slice()?,
            b,
        );
        let tracker = resumed.map_err(bad_input)?;
        Ok(Self { tracker })
    }

    /// Takes matrices in and updates B; returns the fields of a result by name.
    #[allow(clippy::needless_pass_by_value)] // as above
    fn push<'py>(
        &mut self,
        py: Python<'py>,
        c: PyReadonlyArray3<'py, f64>,
        weights: Option<Vec<f64>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let (_, p) = shape(&c);
        let channels = self.tracker.channels();
        if p != channels {
            return Err(PyValueError::new_err(format!(
                "expected matrices of size {channels} x {channels}, as before, got {p} x {p}"
            )));
        }
        let data = c.as_slice()?;
        let mut watch = Watch::for_signals();
        let tracker = &mut self.tracker;
        let pushed = py.detach(|| tracker.push_with(data, weights.as_deref(), &mut watch));
        watch.finish()?;
        results(py, pushed.map_err(bad_input)?)
    }

    /// The state from which another tracker can go on with the same numbers.
    fn state<'py>(&self, py: Python<'py>) -> PyResult<State<'py>> {
        let tracker = &self.tracker;
        let shape = (tracker.len(), tracker.channels());
        let b = tracker.b().cloned().map(|b| matrix_to(py, b)).transpose()?;
        let weights = tracker.weights().into_pyarray(py);
        Ok((cube(py, shape, tracker.matrices())?, weights, b))
    }

    /// The weights with which the matrices of the window count.
    fn decayed_weights<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.tracker.decayed_weights().into_pyarray(py)
    }
}
