//! An answer whose arrays are made when they are asked for: small problems are solved in less time than
//! it takes to make them all.

use codiag::{Diagonalization, Matrix, Record, RecordValue, Scalar, c64};
use numpy::{Element, IntoPyArray};
use pyo3::exceptions::{PyAttributeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyList, PyString};

use crate::convert::{Either, either, matrix_to};

/// What of an answer has not been asked for yet.
#[pyclass(module = "codiag._core")]
pub struct Answer {
    rest: Either<Diagonalization, Diagonalization<c64>>,
    /// What has been, by name: its memory has gone to the array.
    made: Option<Py<PyDict>>,
    /// What of the time of a call was the library's own.
    #[pyo3(get)]
    pub seconds: f64,
    /// Of the set, the mean of log det C.
    #[pyo3(get)]
    pub mean_log_det: f64,
}

#[pymethods]
impl Answer {
    /// Return a field of the result that is not among those handed over at once.
    fn get<'py>(&mut self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let made = if let Some(made) = &self.made {
            made.bind(py).clone()
        } else {
            let made = PyDict::new(py);
            self.made = Some(made.clone().unbind());
            made
        };
        if let Some(value) = made.get_item(name)? {
            return Ok(value);
        }
        let value = either!(&mut self.rest, rest => field(py, rest, name))?;
        made.set_item(name, &value)?;
        Ok(value)
    }
}

/// Numbers that can be kept as an [`Answer`].
pub trait Answered: Scalar + Element {
    fn keep(answer: Diagonalization<Self>) -> Either<Diagonalization<f64>, Diagonalization<c64>>;
}

impl Answered for f64 {
    fn keep(answer: Diagonalization) -> Either<Diagonalization, Diagonalization<c64>> {
        Either::Real(answer)
    }
}

impl Answered for c64 {
    fn keep(answer: Diagonalization<c64>) -> Either<Diagonalization, Diagonalization<c64>> {
        Either::Complex(answer)
    }
}

/// The attributes of a result by name: what is at hand, and, as `_answer`, the rest.
pub fn results<T: Answered>(
    py: Python<'_>,
    answer: Diagonalization<T>,
) -> PyResult<Bound<'_, PyDict>> {
    measured(py, answer, f64::NAN, f64::NAN)
}

/// The same of a call of so many seconds, for a set of that mean log det.
pub fn measured<T: Answered>(
    py: Python<'_>,
    mut answer: Diagonalization<T>,
    seconds: f64,
    mean_log_det: f64,
) -> PyResult<Bound<'_, PyDict>> {
    let fields = PyDict::new(py);
    fields.set_item(intern!(py, "criterion"), answer.criterion.name())?;
    fields.set_item(intern!(py, "status"), answer.status.name())?;
    fields.set_item(intern!(py, "converged"), answer.status.is_converged())?;
    fields.set_item(intern!(py, "n_iter"), answer.n_iter)?;
    fields.set_item(intern!(py, "loss"), answer.loss)?;
    fields.set_item(intern!(py, "gradient_norm"), answer.gradient_norm)?;
    let b = taken(&mut answer.b);
    fields.set_item(intern!(py, "B"), matrix_to(py, b)?)?;
    if let Some(found) = answer.stability.take() {
        fields.set_item("stability", found.values.into_pyarray(py))?;
        fields.set_item("matches", matrix_to(py, found.matches)?)?;
    }
    let rest = Answer {
        rest: T::keep(answer),
        made: None,
        seconds,
        mean_log_det,
    };
    fields.set_item(intern!(py, "_answer"), Py::new(py, rest)?)?;
    Ok(fields)
}

/// A matrix that is needed here no more.
fn taken<T: Scalar>(matrix: &mut Matrix<T>) -> Matrix<T> {
    std::mem::replace(matrix, Matrix::zeros(0, 0))
}

/// One of the fields that are made when they are asked for.
fn field<'py, T: Scalar + Element>(
    py: Python<'py>,
    answer: &mut Diagonalization<T>,
    name: &str,
) -> PyResult<Bound<'py, PyAny>> {
    Ok(match name {
        "A" => matrix_to(py, taken(&mut answer.a))?.into_any(),
        "powers" => matrix_to(py, taken(&mut answer.powers))?.into_any(),
        "residuals" => std::mem::take(&mut answer.residuals)
            .into_pyarray(py)
            .into_any(),
        "start_losses" => std::mem::take(&mut answer.start_losses)
            .into_pyarray(py)
            .into_any(),
        "identifiability" => {
            let hardest = answer.identifiability.as_ref();
            hardest
                .map(|i| (i.margin, i.pair))
                .into_pyobject(py)?
                .into_any()
        }
        "history" => history(py, &std::mem::take(&mut answer.history))?.into_any(),
        _ => return Err(PyAttributeError::new_err(name.to_owned())),
    })
}

/// The value of a field of a record.
pub fn value_to(py: Python<'_>, value: RecordValue) -> PyResult<Bound<'_, PyAny>> {
    Ok(match value {
        RecordValue::Flag(flag) => PyBool::new(py, flag).to_owned().into_any(),
        RecordValue::Count(count) => count.into_pyobject(py)?.into_any(),
        RecordValue::Number(number) => PyFloat::new(py, number).into_any(),
        RecordValue::Name(name) => PyString::new(py, name).into_any(),
        other => return Err(PyValueError::new_err(format!("a field that is {other:?}"))),
    })
}

/// One array per field of a record, a list if it is of names.
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
                columns.set_item(name, PyList::new(py, values?)?)?;
            }
        }
    }
    Ok(columns)
}
