//! Solves of resampled sets.

use codiag::{MatrixSet, Resample};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray2, PyReadonlyArray3};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::MIXED_TYPES;
use crate::convert::{MatrixArg, MatrixStack, matrix_from, shape};
use crate::errors::{bad_input, bad_point};
use crate::observer::Watch;
use crate::options::Options;
use crate::result::{ResultScalar, SolveResult};

/// For each resample its result and the similarity of its components with those of B.
type Resampled<'py> = Vec<(SolveResult, Bound<'py, PyArray1<f64>>)>;

/// Raises `MemoryError` if `count` resamples of n matrices of size p do not fit into memory.
#[pyfunction]
pub fn check_resamples(count: usize, n: usize, p: usize) -> PyResult<()> {
    Resample::<f64>::check_memory(count, n, p).map_err(bad_input)
}

/// Solves the resampled sets starting from B, each on one thread.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // arguments of Python functions are owned
pub fn resample<'py>(
    c: MatrixStack<'py>,
    b: MatrixArg<'py>,
    weights: Option<Vec<f64>>,
    draws: Vec<Vec<f64>>,
    options: &Bound<'py, PyDict>,
) -> PyResult<Resampled<'py>> {
    let options = Options::from_dict(options)?;
    match (c, b) {
        (MatrixStack::Real(c), MatrixArg::Real(b)) => {
            resample_array(&c, &b, weights, &draws, &options)
        }
        (MatrixStack::Complex(c), MatrixArg::Complex(b)) => {
            resample_array(&c, &b, weights, &draws, &options)
        }
        _ => Err(PyTypeError::new_err(MIXED_TYPES)),
    }
}

fn resample_array<'py, T: ResultScalar>(
    c: &PyReadonlyArray3<'py, T>,
    b: &PyReadonlyArray2<'py, T>,
    weights: Option<Vec<f64>>,
    draws: &[Vec<f64>],
    options: &Options,
) -> PyResult<Resampled<'py>> {
    let (py, (n, p)) = (c.py(), shape(c));
    let (data, b) = (c.as_slice()?, matrix_from(b)?);
    let mut watch = Watch::for_signals();
    let solved = py.detach(|| {
        let set =
            MatrixSet::with_options(data, n, p, &options.for_set(weights)).map_err(bad_input)?;
        let solved = codiag::resample(&set, &b, draws, &options.settings, &mut watch);
        solved.map_err(bad_point)
    });
    watch.finish()?;
    let result = |resample: Resample<T>| {
        let matches = resample.matches.into_pyarray(py);
        (SolveResult::new(resample.diagonalization), matches)
    };
    Ok(solved?.into_iter().map(result).collect())
}
