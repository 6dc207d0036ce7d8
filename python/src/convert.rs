//! Conversion between NumPy's arrays and matrices of the library.

use codiag::{Matrix, Scalar, c64};
use numpy::ndarray::{Array2, Array3, Dimension};
use numpy::{
    Element, IntoPyArray, PyArray2, PyArray3, PyReadonlyArray, PyReadonlyArray2, PyReadonlyArray3,
    PyUntypedArrayMethods,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Real or complex matrices, an array whose shape (n, p, p) the Python code has checked.
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

/// One of two variants, for real or complex matrices.
pub enum Either<R, C> {
    Real(R),
    Complex(C),
}

/// Evaluates an expression for either variant.
macro_rules! either {
    ($value:expr, $inner:ident => $result:expr) => {
        match $value {
            $crate::convert::Either::Real($inner) => $result,
            $crate::convert::Either::Complex($inner) => $result,
        }
    };
}
pub(crate) use either;

/// n and p of an array of shape (n, p, p).
pub fn shape<T: Element>(c: &PyReadonlyArray3<'_, T>) -> (usize, usize) {
    (c.shape()[0], c.shape()[1])
}

/// An array that can be read in place: a copy if it is not aligned, as arrays in network buffers
/// may be.
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
    let array = in_place(array)?;
    let &[rows, columns] = array.shape() else {
        return Err(PyValueError::new_err("expected a matrix"));
    };
    Ok(Matrix::from_rows(rows, columns, array.as_slice()?.to_vec()))
}

/// Converts a matrix to an array without copying.
pub fn matrix_to<T: Scalar + Element>(
    py: Python<'_>,
    matrix: Matrix<T>,
) -> PyResult<Bound<'_, PyArray2<T>>> {
    let shape = (matrix.rows(), matrix.columns());
    let array = Array2::from_shape_vec(shape, matrix.into_vec());
    let array = array.map_err(|e| PyValueError::new_err(e.to_string()))?;
    Ok(array.into_pyarray(py))
}

/// Converts n matrices to an array (n, p, p) without copying.
pub fn cube<T: Scalar + Element>(
    py: Python<'_>,
    (n, p): (usize, usize),
    data: Vec<T>,
) -> PyResult<Bound<'_, PyArray3<T>>> {
    let array = Array3::from_shape_vec((n, p, p), data);
    let array = array.map_err(|e| PyValueError::new_err(e.to_string()))?;
    Ok(array.into_pyarray(py))
}
