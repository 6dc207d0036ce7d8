//! What a solver asks of the parts of a set, as it travels: a dictionary of NumPy arrays and numbers.
//!
//! A question carries all that its answer depends on: where the part should stand (B, and the
//! direction probed there) and what is wanted. So any copy of a part can answer it, whatever it was
//! asked before; that a part usually stands there already only saves the way.

use codiag::Matrix;
use numpy::{IntoPyArray, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::convert::{in_place, matrix_from, matrix_to};

/// The questions, by their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Sample,
    Balance,
    Correlate,
    Reset,
    Mean,
    Statistics,
    Hessian,
    Product,
    Probe,
    Slope,
    Advance,
    Ending,
    Tables,
}

impl Kind {
    const ALL: [(Self, &'static str); 13] = [
        (Self::Sample, "sample"),
        (Self::Balance, "balance"),
        (Self::Correlate, "correlate"),
        (Self::Reset, "reset"),
        (Self::Mean, "mean"),
        (Self::Statistics, "statistics"),
        (Self::Hessian, "hessian"),
        (Self::Product, "product"),
        (Self::Probe, "probe"),
        (Self::Slope, "slope"),
        (Self::Advance, "advance"),
        (Self::Ending, "ending"),
        (Self::Tables, "tables"),
    ];

    fn name(self) -> &'static str {
        let found = Self::ALL.iter().find(|(kind, _)| *kind == self);
        found.map_or("", |(_, name)| name)
    }

    fn from_name(name: &str) -> PyResult<Self> {
        let found = Self::ALL.iter().find(|(_, own)| *own == name);
        let unknown = || PyValueError::new_err(format!("there is no question {name:?}"));
        found.map(|(kind, _)| *kind).ok_or_else(unknown)
    }
}

/// One question; what it does not concern is None.
#[derive(Clone, Debug)]
pub struct Question {
    pub kind: Kind,
    /// Asked of every k-th matrix only.
    pub step: Option<usize>,
    /// The metric that balances the matrices.
    pub metric: Option<Matrix>,
    /// The B at which the part stands.
    pub b: Option<Matrix>,
    /// The direction probed there, or multiplied with the Hessian.
    pub e: Option<Matrix>,
    /// The B to advance to.
    pub next: Option<Matrix>,
    /// The step's length.
    pub alpha: Option<f64>,
    /// The eight matrices of a correlation, the scale of an advance, or mean powers.
    pub numbers: Option<Vec<f64>>,
}

impl Question {
    pub fn new(kind: Kind) -> Self {
        Self {
            kind,
            step: None,
            metric: None,
            b: None,
            e: None,
            next: None,
            alpha: None,
            numbers: None,
        }
    }

    pub fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        dict.set_item("kind", self.kind.name())?;
        if let Some(step) = self.step {
            dict.set_item("step", step)?;
        }
        let matrices = [
            ("metric", &self.metric),
            ("b", &self.b),
            ("e", &self.e),
            ("next", &self.next),
        ];
        for (name, matrix) in matrices {
            if let Some(matrix) = matrix {
                dict.set_item(name, matrix_to(py, matrix.clone())?)?;
            }
        }
        if let Some(alpha) = self.alpha {
            dict.set_item("alpha", alpha)?;
        }
        if let Some(numbers) = &self.numbers {
            dict.set_item("numbers", numbers.clone().into_pyarray(py))?;
        }
        Ok(dict)
    }

    pub fn from_dict(dict: &Bound<'_, PyDict>) -> PyResult<Self> {
        let kind: String = item(dict, "kind")?.extract()?;
        let matrix = |name: &str| -> PyResult<Option<Matrix>> {
            let Some(value) = dict.get_item(name)? else {
                return Ok(None);
            };
            let array: PyReadonlyArray2<'_, f64> = value.extract()?;
            matrix_from(&array).map(Some)
        };
        let numbers = match dict.get_item("numbers")? {
            Some(value) => {
                let array: PyReadonlyArray1<'_, f64> = value.extract()?;
                Some(in_place(&array)?.as_slice()?.to_vec())
            }
            None => None,
        };
        let number = |name: &str| -> PyResult<Option<f64>> {
            dict.get_item(name)?.map(|x| x.extract()).transpose()
        };
        Ok(Self {
            kind: Kind::from_name(&kind)?,
            step: dict.get_item("step")?.map(|x| x.extract()).transpose()?,
            metric: matrix("metric")?,
            b: matrix("b")?,
            e: matrix("e")?,
            next: matrix("next")?,
            alpha: number("alpha")?,
            numbers,
        })
    }
}

fn item<'py>(dict: &Bound<'py, PyDict>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    let missing = || PyValueError::new_err(format!("a question without {name:?}"));
    dict.get_item(name)?.ok_or_else(missing)
}
