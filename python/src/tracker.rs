//! A tracker of matrices that arrive one after the other.

use codiag::{Scalar, c64};
use numpy::{Element, IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2, PyReadonlyArray3};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::convert::{Either, MatrixArg, MatrixStack, cube, either, matrix_from, matrix_to, shape};
use crate::errors::bad_input;
use crate::observer::Watch;
use crate::options::tracker_settings;
use crate::result::{ResultScalar, SolveResult};

/// State of a tracker: the matrices of its window, their own weights, and B.
type State<'py> = (
    Bound<'py, PyAny>,
    Bound<'py, PyArray1<f64>>,
    Option<Bound<'py, PyAny>>,
);

/// The library's tracker, of real or complex matrices; the package wraps it.
#[pyclass]
pub struct Tracker(Either<codiag::Tracker, codiag::Tracker<c64>>);

/// Raised if the Python code has not converted all matrices to one type.
const MIXED_TYPES: &str = "expected matrices of the type of those before";

#[pymethods]
impl Tracker {
    #[new]
    fn new(p: usize, options: &Bound<'_, PyDict>, complex: bool) -> PyResult<Self> {
        let settings = tracker_settings(options)?;
        let tracker = if complex {
            codiag::Tracker::new(p, settings).map(Either::Complex)
        } else {
            codiag::Tracker::new(p, settings).map(Either::Real)
        };
        tracker.map(Self).map_err(bad_input)
    }

    /// Resumes from a state, or from any other window and B.
    #[staticmethod]
    #[allow(clippy::needless_pass_by_value)] // arguments of Python functions are owned
    fn resume(
        options: &Bound<'_, PyDict>,
        c: MatrixStack<'_>,
        weights: PyReadonlyArray1<'_, f64>,
        b: Option<MatrixArg<'_>>,
    ) -> PyResult<Self> {
        let settings = tracker_settings(options)?;
        let weights = weights.as_slice()?;
        let tracker = match (c, b) {
            (MatrixStack::Real(c), None) => Either::Real(resumed(settings, &c, weights, None)?),
            (MatrixStack::Complex(c), None) => {
                Either::Complex(resumed(settings, &c, weights, None)?)
            }
            (MatrixStack::Real(c), Some(MatrixArg::Real(b))) => {
                Either::Real(resumed(settings, &c, weights, Some(&b))?)
            }
            (MatrixStack::Complex(c), Some(MatrixArg::Complex(b))) => {
                Either::Complex(resumed(settings, &c, weights, Some(&b))?)
            }
            _ => return Err(PyTypeError::new_err(MIXED_TYPES)),
        };
        Ok(Self(tracker))
    }

    /// Adds matrices to the window and updates B.
    #[allow(clippy::needless_pass_by_value)] // arguments of Python functions are owned
    fn push(&mut self, c: MatrixStack<'_>, weights: Option<Vec<f64>>) -> PyResult<SolveResult> {
        let weights = weights.as_deref();
        match (&mut self.0, c) {
            (Either::Real(tracker), MatrixStack::Real(c)) => pushed(tracker, &c, weights),
            (Either::Complex(tracker), MatrixStack::Complex(c)) => pushed(tracker, &c, weights),
            _ => Err(PyTypeError::new_err(MIXED_TYPES)),
        }
    }

    /// The state from which another tracker can resume with identical numbers.
    fn state<'py>(&self, py: Python<'py>) -> PyResult<State<'py>> {
        either!(&self.0, tracker => state_of(py, tracker))
    }

    /// The weights of the matrices of the window, including the forgetting.
    fn decayed_weights<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        either!(&self.0, tracker => tracker.decayed_weights()).into_pyarray(py)
    }

    /// Whether the matrices are complex.
    #[getter]
    fn is_complex(&self) -> bool {
        matches!(self.0, Either::Complex(_))
    }
}

fn resumed<T: Scalar + Element>(
    settings: codiag::TrackerSettings,
    c: &PyReadonlyArray3<'_, T>,
    weights: &[f64],
    b: Option<&PyReadonlyArray2<'_, T>>,
) -> PyResult<codiag::Tracker<T>> {
    let (_, p) = shape(c);
    let b = b.map(matrix_from).transpose()?;
    codiag::Tracker::resume(p, settings, c.as_slice()?, weights, b).map_err(bad_input)
}

fn pushed<T: ResultScalar>(
    tracker: &mut codiag::Tracker<T>,
    c: &PyReadonlyArray3<'_, T>,
    weights: Option<&[f64]>,
) -> PyResult<SolveResult> {
    let ((_, p), channels) = (shape(c), tracker.channels());
    if p != channels {
        return Err(PyValueError::new_err(format!(
            "expected matrices of size {channels} x {channels}, as before, got {p} x {p}"
        )));
    }
    let data = c.as_slice()?;
    let mut watch = Watch::for_signals();
    let pushed = c
        .py()
        .detach(|| tracker.push_with(data, weights, &mut watch));
    watch.finish()?;
    Ok(SolveResult::new(pushed.map_err(bad_input)?))
}

fn state_of<'py, T: Scalar + Element>(
    py: Python<'py>,
    tracker: &codiag::Tracker<T>,
) -> PyResult<State<'py>> {
    let shape = (tracker.len(), tracker.channels());
    let b = tracker.b().cloned().map(|b| matrix_to(py, b)).transpose()?;
    let weights = tracker.weights().into_pyarray(py);
    let matrices = cube(py, shape, tracker.matrices())?.into_any();
    Ok((matrices, weights, b.map(Bound::into_any)))
}
