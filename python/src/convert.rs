//! Between NumPy and the library.

use codiag::{Matrix, Scalar, c64};
use numpy::ndarray::{Array2, Array3, Dimension};
use numpy::{
    Element, IntoPyArray, PyArray2, PyArray3, PyReadonlyArray, PyReadonlyArray2, PyReadonlyArray3,
    PyUntypedArrayMethods,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Real or complex matrices, an array that Python has found to be (n, p, p).
#[derive(FromPyObject)]
pub enum MatrixStack<'py> {
    Real(PyReadonlyArray3<'py, f64>),
    Complex(PyReadonlyArray3<'py, c64>),
}

/// A real or complex matrix.
#[derive(FromPyObject)]
pub enum MatrixArg<'py> {
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
