//! Between NumPy and the library.

use codiag::{Diagonalization, Matrix, Record, Scalar, Value, c64};
use numpy::ndarray::{Array2, Array3, Dimension};
use numpy::{
    Element, IntoPyArray, PyArray2, PyArray3, PyReadonlyArray, PyReadonlyArray2, PyReadonlyArray3,
    PyUntypedArrayMethods,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyList, PyString};

/// Real or complex matrices, an array that Python has found to be (n, p, p).
#[derive(FromPyObject)]
pub enum Cube<'py> {
    Real(PyReadonlyArray3<'py, f64>),
    Complex(PyReadonlyArray3<'py, c64>),
}

/// A real or complex matrix.
#[derive(FromPyObject)]
pub enum Square<'py> {
    Real(PyReadonlyArray2<'py, f64>),
    Complex(PyReadonlyArray2<'py, c64>),
}

/// One of two, as the matrices are real or complex.
pub enum Either<R, C> {
    Real(R),
    Complex(C),
}

/// The same expression of either.
macro_rules! either {
    ($value:expr, $inner:ident => $result:expr) => {
        match $value {
            $crate::convert::Either::Real($inner) => $result,
            $crate::convert::Either::Complex($inner) => $result,
        }
    };
}
pub(crate) use either;

/// n and p of an array that Python has found to be (n, p, p).
pub fn shape<T: Element>(c: &PyReadonlyArray3<'_, T>) -> (usize, usize) {
    (c.shape()[0], c.shape()[1])
}

/// An array that can be read in place: a copy, if it came over a network into the midst of a buffer
/// and is not aligned.
pub fn in_place<'py, T: Element, D: Dimension>(
    array: &PyReadonlyArray<'py, T, D>,
) -> PyResult<PyReadonlyArray<'py, T, D>> {
    if array.as_slice().is_ok() {
        return Ok(array.clone());
    }
    let copy = array.call_method1("copy", ("C",))?;
    copy.extract()
}

/// A copy of a small matrix.
pub fn matrix_from<T: Scalar + Element>(array: &PyReadonlyArray2<'_, T>) -> PyResult<Matrix<T>> {
    let &[rows, columns] = array.shape() else {
        return Err(PyValueError::new_err("expected a matrix"));
    };
    // Row after row, however the array lies in memory.
    let numbers = array.as_array().iter().copied().collect();
    Ok(Matrix::from_rows(rows, columns, numbers))
}

/// A matrix as an array, without a copy.
pub fn matrix_to<T: Scalar + Element>(
    py: Python<'_>,
    matrix: Matrix<T>,
) -> PyResult<Bound<'_, PyArray2<T>>> {
    let shape = (matrix.rows(), matrix.columns());
    let array = Array2::from_shape_vec(shape, matrix.into_vec());
    let array = array.map_err(|e| PyValueError::new_err(e.to_string()))?;
    Ok(array.into_pyarray(py))
}

/// n matrices as an array (n, p, p), without a copy.
pub fn cube<T: Scalar + Element>(
    py: Python<'_>,
    (n, p): (usize, usize),
    data: Vec<T>,
) -> PyResult<Bound<'_, PyArray3<T>>> {
    let array = Array3::from_shape_vec((n, p, p), data);
    let array = array.map_err(|e| PyValueError::new_err(e.to_string()))?;
    Ok(array.into_pyarray(py))
}

/// The fields of a result by name.
pub fn results<T: Scalar + Element>(
    py: Python<'_>,
    answer: Diagonalization<T>,
) -> PyResult<Bound<'_, PyDict>> {
    let fields = PyDict::new(py);
    fields.set_item("criterion", answer.criterion.name())?;
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
    if let Some(found) = answer.stability {
        fields.set_item("stability", found.values.into_pyarray(py))?;
        fields.set_item("matches", matrix_to(py, found.matches)?)?;
    } else {
        fields.set_item("stability", py.None())?;
    }
    fields.set_item("B", matrix_to(py, answer.b)?)?;
    fields.set_item("A", matrix_to(py, answer.a)?)?;
    Ok(fields)
}

/// The value of a field of a record.
pub fn value_to(py: Python<'_>, value: Value) -> PyResult<Bound<'_, PyAny>> {
    Ok(match value {
        Value::Flag(flag) => PyBool::new(py, flag).to_owned().into_any(),
        Value::Count(count) => count.into_pyobject(py)?.into_any(),
        Value::Number(number) => PyFloat::new(py, number).into_any(),
        Value::Name(name) => PyString::new(py, name).into_any(),
        other => return Err(PyValueError::new_err(format!("a field that is {other:?}"))),
    })
}

/// One array per field of a record, a list if it is of names. No record of a history is one of a sample, so
/// that field is left out.
fn history<'py>(py: Python<'py>, records: &[Record]) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(py);
    let rows: Vec<_> = records.iter().map(Record::fields).collect();
    let Some(fields) = rows.first() else {
        return Ok(columns);
    };
    for (k, (name, first)) in fields.iter().enumerate() {
        let values = rows.iter().map(|row| row[k].1);
        let number = |value| match value {
            Value::Number(number) => number,
            _ => f64::NAN,
        };
        let count = |value| match value {
            Value::Count(count) => count as i64,
            _ => 0,
        };
        match first {
            _ if *name == "sample" => {}
            Value::Number(_) => {
                let numbers: Vec<f64> = values.map(number).collect();
                columns.set_item(name, numbers.into_pyarray(py))?;
            }
            Value::Count(_) => {
                let counts: Vec<i64> = values.map(count).collect();
                columns.set_item(name, counts.into_pyarray(py))?;
            }
            _ => {
                let values: PyResult<Vec<_>> = values.map(|value| value_to(py, value)).collect();
                columns.set_item(name, PyList::new(py, values?)?)?;
            }
        }
    }
    Ok(columns)
}
