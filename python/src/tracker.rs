//! Matrices that keep arriving.

use codiag::{Scalar, c64};
use numpy::{Element, IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2, PyReadonlyArray3};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::answer::{Answered, results};
use crate::convert::{Cube, Either, Square, cube, either, matrix_from, matrix_to, shape};
use crate::errors::bad_input;
use crate::observer::Watch;
use crate::options::tracker_settings;

/// What a tracker keeps: the matrices of its window, their own weights, and B.
type State<'py> = (
    Bound<'py, PyAny>,
    Bound<'py, PyArray1<f64>>,
    Option<Bound<'py, PyAny>>,
);

/// The library's tracker, of real or complex matrices; the package wraps it.
#[pyclass]
pub struct Tracker(Either<codiag::Tracker, codiag::Tracker<c64>>);

/// Python has brought all matrices of a tracker to one type.
const NOT_ALIKE: &str = "expected matrices of the type of those before";

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

    /// Goes on from a state, or from any other window and B.
    #[staticmethod]
    #[allow(clippy::needless_pass_by_value)] // arguments of Python functions are owned
    fn resume(
        options: &Bound<'_, PyDict>,
        c: Cube<'_>,
        weights: PyReadonlyArray1<'_, f64>,
        b: Option<Square<'_>>,
    ) -> PyResult<Self> {
        let settings = tracker_settings(options)?;
        let weights = weights.as_slice()?;
        let tracker = match (c, b) {
            (Cube::Real(c), None) => Either::Real(resumed(settings, &c, weights, None)?),
            (Cube::Complex(c), None) => Either::Complex(resumed(settings, &c, weights, None)?),
            (Cube::Real(c), Some(Square::Real(b))) => {
                Either::Real(resumed(settings, &c, weights, Some(&b))?)
            }
            (Cube::Complex(c), Some(Square::Complex(b))) => {
                Either::Complex(resumed(settings, &c, weights, Some(&b))?)
            }
            _ => return Err(PyTypeError::new_err(NOT_ALIKE)),
        };
        Ok(Self(tracker))
    }

    /// Takes matrices in and updates B; returns the fields of a result by name.
    #[allow(clippy::needless_pass_by_value)] // as above
    fn push<'py>(
        &mut self,
        c: Cube<'py>,
        weights: Option<Vec<f64>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let weights = weights.as_deref();
        match (&mut self.0, c) {
            (Either::Real(tracker), Cube::Real(c)) => pushed(tracker, &c, weights),
            (Either::Complex(tracker), Cube::Complex(c)) => pushed(tracker, &c, weights),
            _ => Err(PyTypeError::new_err(NOT_ALIKE)),
        }
    }

    /// The state from which another tracker can go on with the same numbers.
    fn state<'py>(&self, py: Python<'py>) -> PyResult<State<'py>> {
        either!(&self.0, tracker => state_of(py, tracker))
    }

    /// The weights with which the matrices of the window count.
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

fn pushed<'py, T: Answered>(
    tracker: &mut codiag::Tracker<T>,
    c: &PyReadonlyArray3<'py, T>,
    weights: Option<&[f64]>,
) -> PyResult<Bound<'py, PyDict>> {
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
    results(c.py(), pushed.map_err(bad_input)?)
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
