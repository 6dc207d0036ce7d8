//! The result of a solve. Arrays become NumPy's when they are first read, because a small problem
//! is solved in less time than it takes to convert all of them.

use codiag::{Diagonalization, Identifiability, Matrix, Record, RecordValue, Scalar, c64};
use numpy::{Element, IntoPyArray};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyList, PyString};

use crate::convert::{Either, either, matrix_to};

type AnyMatrix = Either<Matrix, Matrix<c64>>;

/// The attributes of `codiag.Result`, for which it is the storage.
#[pyclass(module = "codiag._core")]
pub struct SolveResult {
    #[pyo3(get)]
    criterion: &'static str,
    #[pyo3(get)]
    status: &'static str,
    #[pyo3(get)]
    converged: bool,
    #[pyo3(get)]
    n_iter: usize,
    #[pyo3(get)]
    loss: f64,
    #[pyo3(get)]
    gradient_norm: f64,
    /// Seconds that the library took, without the conversion of arrays.
    #[pyo3(get)]
    seconds: f64,
    /// Weighted mean of log det C over the set.
    #[pyo3(get)]
    mean_log_det: f64,
    identifiability: Option<Identifiability>,
    b: Lazy<AnyMatrix>,
    a: Lazy<AnyMatrix>,
    powers: Lazy<Matrix>,
    residuals: Lazy<Vec<f64>>,
    start_losses: Lazy<Vec<f64>>,
    stability: Option<Lazy<Vec<f64>>>,
    matches: Option<Lazy<Matrix>>,
    history: Lazy<Vec<Record>>,
    iterates: Lazy<Option<Vec<AnyMatrix>>>,
}

#[pymethods]
impl SolveResult {
    #[getter(B)]
    fn b(&mut self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.b.get(py, any_matrix)
    }

    #[getter(A)]
    fn a(&mut self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.a.get(py, any_matrix)
    }

    #[getter]
    fn powers(&mut self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.powers.get(py, real_matrix)
    }

    #[getter]
    fn residuals(&mut self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.residuals.get(py, vector)
    }

    #[getter]
    fn start_losses(&mut self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.start_losses.get(py, vector)
    }

    #[getter]
    fn stability(&mut self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        let stability = self.stability.as_mut();
        stability.map(|lazy| lazy.get(py, vector)).transpose()
    }

    #[getter]
    fn matches(&mut self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        let matches = self.matches.as_mut();
        matches.map(|lazy| lazy.get(py, real_matrix)).transpose()
    }

    #[getter]
    fn history(&mut self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.history.get(py, |py, records| {
            Ok(history(py, &records)?.into_any().unbind())
        })
    }

    /// Every B along the way; None unless `keep_iterates` was set.
    #[getter]
    fn iterates(&mut self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.iterates.get(py, |py, iterates| {
            let arrays = iterates.map(|all| {
                let arrays = all.into_iter().map(|b| any_matrix(py, b));
                arrays.collect::<PyResult<Vec<_>>>()
            });
            arrays.transpose()?.into_py_any(py)
        })
    }

    #[getter]
    fn identifiability(&self) -> Option<(f64, (usize, usize))> {
        self.identifiability.as_ref().map(|i| (i.margin, i.pair))
    }
}

/// A value of the library until it is first read, and its Python object from then on.
enum Lazy<V> {
    /// None only while the value is being converted.
    Value(Option<V>),
    Object(Py<PyAny>),
}

impl<V> Lazy<V> {
    fn new(value: V) -> Self {
        Self::Value(Some(value))
    }

    fn get(
        &mut self,
        py: Python<'_>,
        convert: impl FnOnce(Python<'_>, V) -> PyResult<Py<PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        if let Self::Value(value) = self {
            let value = value.take();
            let value = value.ok_or_else(|| PyValueError::new_err("the value was lost"))?;
            *self = Self::Object(convert(py, value)?);
        }
        match self {
            Self::Object(object) => Ok(object.clone_ref(py)),
            Self::Value(_) => Err(PyValueError::new_err("the value was lost")),
        }
    }
}

fn any_matrix(py: Python<'_>, matrix: AnyMatrix) -> PyResult<Py<PyAny>> {
    either!(matrix, matrix => Ok(matrix_to(py, matrix)?.into_any().unbind()))
}

fn real_matrix(py: Python<'_>, matrix: Matrix) -> PyResult<Py<PyAny>> {
    Ok(matrix_to(py, matrix)?.into_any().unbind())
}

#[allow(clippy::unnecessary_wraps)] // has the type of the other conversions
fn vector(py: Python<'_>, numbers: Vec<f64>) -> PyResult<Py<PyAny>> {
    Ok(numbers.into_pyarray(py).into_any().unbind())
}

/// Types of matrix entries that results can have.
pub trait ResultScalar: Scalar + Element {
    fn any_matrix(matrix: Matrix<Self>) -> AnyMatrix;
}

impl ResultScalar for f64 {
    fn any_matrix(matrix: Matrix) -> AnyMatrix {
        Either::Real(matrix)
    }
}

impl ResultScalar for c64 {
    fn any_matrix(matrix: Matrix<c64>) -> AnyMatrix {
        Either::Complex(matrix)
    }
}

impl SolveResult {
    pub fn new<T: ResultScalar>(found: Diagonalization<T>) -> Self {
        let (stability, matches) = match found.stability {
            Some(stability) => (
                Some(Lazy::new(stability.values)),
                Some(Lazy::new(stability.matches)),
            ),
            None => (None, None),
        };
        Self {
            criterion: found.criterion.name(),
            status: found.status.name(),
            converged: found.status.is_converged(),
            n_iter: found.n_iter,
            loss: found.loss,
            gradient_norm: found.gradient_norm,
            seconds: f64::NAN,
            mean_log_det: f64::NAN,
            identifiability: found.identifiability,
            b: Lazy::new(T::any_matrix(found.b)),
            a: Lazy::new(T::any_matrix(found.a)),
            powers: Lazy::new(found.powers),
            residuals: Lazy::new(found.residuals),
            start_losses: Lazy::new(found.start_losses),
            stability,
            matches,
            history: Lazy::new(found.history),
            iterates: Lazy::new(None),
        }
    }

    /// Sets what is known of a single solve beside its result.
    pub fn with_details<T: ResultScalar>(
        mut self,
        seconds: f64,
        mean_log_det: f64,
        iterates: Option<Vec<Matrix<T>>>,
    ) -> Self {
        self.seconds = seconds;
        self.mean_log_det = mean_log_det;
        let iterates = iterates.map(|all| all.into_iter().map(T::any_matrix).collect());
        self.iterates = Lazy::new(iterates);
        self
    }
}

/// The value of a field of a record.
pub fn value_to(py: Python<'_>, value: RecordValue) -> PyResult<Bound<'_, PyAny>> {
    Ok(match value {
        RecordValue::Flag(flag) => PyBool::new(py, flag).to_owned().into_any(),
        RecordValue::Count(count) => count.into_pyobject(py)?.into_any(),
        RecordValue::Number(number) => PyFloat::new(py, number).into_any(),
        RecordValue::Name(name) => PyString::new(py, name).into_any(),
        other => {
            return Err(PyValueError::new_err(format!(
                "a record has a field of an unknown type: {other:?}"
            )));
        }
    })
}

/// One array per field of the records.
fn history<'py>(py: Python<'py>, records: &[Record]) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(py);
    let rows: Vec<_> = records.iter().map(Record::fields).collect();
    let Some(fields) = rows.first() else {
        return Ok(columns);
    };
    for (k, (name, first)) in fields.iter().enumerate() {
        let values = rows.iter().map(|row| row[k].1);
        let number = |value| match value {
            RecordValue::Number(number) => number,
            _ => f64::NAN,
        };
        let count = |value| match value {
            RecordValue::Count(count) => count as i64,
            _ => 0,
        };
        match first {
            RecordValue::Number(_) => {
                let numbers: Vec<f64> = values.map(number).collect();
                columns.set_item(name, numbers.into_pyarray(py))?;
            }
            RecordValue::Count(_) => {
                let counts: Vec<i64> = values.map(count).collect();
                columns.set_item(name, counts.into_pyarray(py))?;
            }
            _ => {
                let values: PyResult<Vec<_>> = values.map(|value| value_to(py, value)).collect();
                let list = PyList::new(py, values?)?;
                // Names become an array of text, which the crate `numpy` cannot make.
                let array = py.import("numpy")?.call_method1("asarray", (list,))?;
                columns.set_item(name, array)?;
            }
        }
    }
    Ok(columns)
}
