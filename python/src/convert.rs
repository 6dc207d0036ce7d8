//! Between NumPy and the library.

use codiag::{Diagonalization, Error, Matrix, Record};
use numpy::ndarray::{Array2, Array3, Dimension};
use numpy::{
    IntoPyArray, PyArray2, PyArray3, PyReadonlyArray, PyReadonlyArray2, PyReadonlyArray3,
    PyUntypedArrayMethods,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Bad input is a `ValueError` with the library's own message.
#[allow(clippy::needless_pass_by_value)] // for map_err
pub fn bad_input(error: Error) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// n and p of an array that Python has found to be (n, p, p).
pub fn shape(c: &PyReadonlyArray3<'_, f64>) -> (usize, usize) {
    (c.shape()[0], c.shape()[1])
}

/// An array that can be read in place: a copy, if it came over a network into the midst of a buffer
/// and is not aligned.
pub fn in_place<'py, D: Dimension>(
    array: &PyReadonlyArray<'py, f64, D>,
) -> PyResult<PyReadonlyArray<'py, f64, D>> {
    if array.as_slice().is_ok() {
        return Ok(array.clone());
    }
    let copy = array.call_method1("copy", ("C",))?;
    copy.extract()
}

/// A copy of a small matrix.
pub fn matrix_from(array: &PyReadonlyArray2<'_, f64>) -> PyResult<Matrix> {
    let &[rows, columns] = array.shape() else {
        return Err(PyValueError::new_err("expected a matrix"));
    };
    let numbers = in_place(array)?.as_slice()?.to_vec();
    Ok(Matrix::from_rows(rows, columns, numbers))
}

/// A matrix as an array, without a copy.
pub fn matrix_to(py: Python<'_>, matrix: Matrix) -> PyResult<Bound<'_, PyArray2<f64>>> {
    let shape = (matrix.rows(), matrix.columns());
    let array = Array2::from_shape_vec(shape, matrix.into_vec());
    let array = array.map_err(|e| PyValueError::new_err(e.to_string()))?;
    Ok(array.into_pyarray(py))
}

/// n matrices as an array (n, p, p), without a copy.
pub fn cube(
    py: Python<'_>,
    (n, p): (usize, usize),
    data: Vec<f64>,
) -> PyResult<Bound<'_, PyArray3<f64>>> {
    let array = Array3::from_shape_vec((n, p, p), data);
    let array = array.map_err(|e| PyValueError::new_err(e.to_string()))?;
    Ok(array.into_pyarray(py))
}

/// The fields of a result by name.
pub fn results(py: Python<'_>, answer: Diagonalization) -> PyResult<Bound<'_, PyDict>> {
    let fields = PyDict::new(py);
    fields.set_item("status", answer.status.name())?;
    fields.set_item("converged", answer.status.converged())?;
    fields.set_item("n_iter", answer.iterations)?;
    fields.set_item("loss", answer.loss)?;
    fields.set_item("gradient_norm", answer.gradient_norm)?;
    let hardest = answer.identifiability.map(|i| (i.margin, i.pair));
    fields.set_item("identifiability", hardest)?;
    fields.set_item("history", history(py, &answer.history)?)?;
    fields.set_item("residuals", answer.residuals.into_pyarray(py))?;
    fields.set_item("powers", matrix_to(py, answer.powers)?)?;
    fields.set_item("start_losses", answer.start_losses.into_pyarray(py))?;
    fields.set_item("B", matrix_to(py, answer.b)?)?;
    fields.set_item("A", matrix_to(py, answer.a)?)?;
    Ok(fields)
}

/// One array a column.
fn history<'py>(py: Python<'py>, records: &[Record]) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(py);
    let numbers = |of: fn(&Record) -> f64| -> Vec<f64> { records.iter().map(of).collect() };
    let counts =
        |of: fn(&Record) -> usize| -> Vec<i64> { records.iter().map(|r| of(r) as i64).collect() };
    columns.set_item("iteration", counts(|r| r.iteration).into_pyarray(py))?;
    columns.set_item("seconds", numbers(|r| r.seconds).into_pyarray(py))?;
    columns.set_item("loss", numbers(|r| r.loss).into_pyarray(py))?;
    columns.set_item(
        "gradient_norm",
        numbers(|r| r.gradient_norm).into_pyarray(py),
    )?;
    columns.set_item("decrement", numbers(|r| r.decrement).into_pyarray(py))?;
    let kinds: Vec<&str> = records.iter().map(|r| r.kind.name()).collect();
    columns.set_item("kind", kinds)?;
    columns.set_item("step", numbers(|r| r.step).into_pyarray(py))?;
    columns.set_item(
        "cg_iterations",
        counts(|r| r.cg_iterations).into_pyarray(py),
    )?;
    columns.set_item("passes", numbers(|r| r.passes).into_pyarray(py))?;
    Ok(columns)
}
