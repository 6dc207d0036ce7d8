//! The extension module `codiag._core`: conversion between NumPy and the library, release of the
//! interpreter's lock, errors and signals. Nothing numeric happens here.

mod cluster;
mod convert;
mod disk;
mod errors;
mod files;
mod many;
mod observer;
mod option_names;
mod options;
mod part;
mod program;
mod report;
mod resample;
mod result;
mod signals;
mod tracker;

use std::time::{Duration, Instant};

use codiag::synthetic::{self, Sensors, Synthetic};
use codiag::{
    Criterion, Diagonalization, Error, Evaluation, Matrix, MatrixSet, Rank, Scalar, SetOptions,
    diagonalize_with,
};
use numpy::{Element, PyArray3, PyReadonlyArray2, PyReadonlyArray3};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use convert::{MatrixArg, MatrixStack, cube, matrix_from, matrix_to, shape};
use errors::{bad_input, bad_point};
use observer::Watch;
use options::Options;
use result::{ResultScalar, SolveResult};

/// Solves one problem whose matrices are in memory.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // arguments of Python functions are owned
fn solve(
    c: MatrixStack<'_>,
    weights: Option<Vec<f64>>,
    options: &Bound<'_, PyDict>,
    callback: Option<Py<PyAny>>,
) -> PyResult<SolveResult> {
    let options = Options::from_dict(options)?;
    match c {
        MatrixStack::Real(c) => solve_array(&c, weights, &options, callback),
        MatrixStack::Complex(c) => solve_array(&c, weights, &options, callback),
    }
}

fn solve_array<T: ResultScalar>(
    c: &PyReadonlyArray3<'_, T>,
    weights: Option<Vec<f64>>,
    options: &Options,
    callback: Option<Py<PyAny>>,
) -> PyResult<SolveResult> {
    let (n, p) = shape(c);
    let data = c.as_slice()?;
    let mut watch = Watch::new(callback, options);
    let clock = Instant::now();
    let solved = c.py().detach(|| {
        // Without a reduction, the memory needed is known before the set is made.
        if options.set.n_components == Rank::Full {
            MatrixSet::<T>::check_memory(n, p)?;
        }
        let set = MatrixSet::with_options(data, n, p, &options.for_set(weights))?;
        let result = diagonalize_with(&set, &options.settings, &mut watch)?;
        Ok((result, set.constant()))
    });
    finished(watch, solved, clock.elapsed())
}

/// The result of a solve, given the solver's result and the set's weighted mean of log det; or the
/// error that ended it.
fn finished<T: ResultScalar>(
    watch: Watch<T>,
    solved: Result<(Diagonalization<T>, f64), Error>,
    elapsed: Duration,
) -> PyResult<SolveResult> {
    let iterates = watch.finish()?;
    let (found, mean_log_det) = solved.map_err(bad_input)?;
    let result = SolveResult::new(found);
    Ok(result.with_details(elapsed.as_secs_f64(), mean_log_det, iterates))
}

/// The loss and the relative gradient at B, which is complex if the matrices are.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // arguments of Python functions are owned
fn criterion<'py>(
    py: Python<'py>,
    c: MatrixStack<'py>,
    b: MatrixArg<'py>,
    weights: Option<Vec<f64>>,
    name: &str,
    n_jobs: Option<usize>,
) -> PyResult<(f64, Bound<'py, PyAny>)> {
    let criterion: Criterion = name.parse().map_err(bad_input)?;
    let options = SetOptions::default()
        .weights(weights)
        .criterion(criterion)
        .n_jobs(n_jobs);
    match (c, b) {
        (MatrixStack::Real(c), MatrixArg::Real(b)) => criterion_at(py, &c, &b, &options),
        (MatrixStack::Complex(c), MatrixArg::Complex(b)) => criterion_at(py, &c, &b, &options),
        _ => Err(PyTypeError::new_err(MIXED_TYPES)),
    }
}

/// Raised if the Python code has not converted both arrays to one type.
const MIXED_TYPES: &str = "expected two real or two complex arrays";

fn criterion_at<'py, T: Scalar + Element>(
    py: Python<'py>,
    c: &PyReadonlyArray3<'py, T>,
    b: &PyReadonlyArray2<'py, T>,
    options: &SetOptions,
) -> PyResult<(f64, Bound<'py, PyAny>)> {
    let (n, p) = shape(c);
    let (data, b) = (c.as_slice()?, matrix_from(b)?);
    let here = py.detach(|| {
        let set = MatrixSet::with_options(data, n, p, options)?;
        Evaluation::at(&set, &b)
    });
    let here = here.map_err(bad_point)?;
    Ok((here.loss, matrix_to(py, here.gradient)?.into_any()))
}

/// Amari distance of B A to a scaled permutation.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // arguments of Python functions are owned
fn amari_distance(b: MatrixArg<'_>, a: MatrixArg<'_>) -> PyResult<f64> {
    match (b, a) {
        (MatrixArg::Real(b), MatrixArg::Real(a)) => distance(&matrix_from(&b)?, &matrix_from(&a)?),
        (MatrixArg::Complex(b), MatrixArg::Complex(a)) => {
            distance(&matrix_from(&b)?, &matrix_from(&a)?)
        }
        _ => Err(PyTypeError::new_err(MIXED_TYPES)),
    }
}

fn distance<T: Scalar>(b: &Matrix<T>, a: &Matrix<T>) -> PyResult<f64> {
    if b.columns() != a.rows() || b.rows() != a.columns() {
        return Err(PyValueError::new_err(format!(
            "B A must be square, got shapes ({}, {}) and ({}, {})",
            b.rows(),
            b.columns(),
            a.rows(),
            a.columns()
        )));
    }
    Ok(synthetic::amari_distance(b, a))
}

/// Synthetic matrices of the paper, real or complex, and their mixing matrix.
#[pyfunction]
fn synthetic_set(
    py: Python<'_>,
    n: usize,
    p: usize,
    sigma: f64,
    seed: u64,
    complex: bool,
) -> PyResult<(Bound<'_, PyAny>, Bound<'_, PyAny>)> {
    if complex {
        let made = py.detach(|| Synthetic::try_complex(n, p, sigma, seed));
        synthetic_arrays(py, made.map_err(bad_input)?)
    } else {
        let made = py.detach(|| Synthetic::try_new(n, p, sigma, seed));
        synthetic_arrays(py, made.map_err(bad_input)?)
    }
}

fn synthetic_arrays<T: Scalar + Element>(
    py: Python<'_>,
    made: Synthetic<T>,
) -> PyResult<(Bound<'_, PyAny>, Bound<'_, PyAny>)> {
    let data = cube(py, (made.n, made.p), made.data)?;
    Ok((data.into_any(), matrix_to(py, made.mixing)?.into_any()))
}

/// MEG covariances.
#[pyfunction]
fn meg(py: Python<'_>, magnetometers: bool) -> PyResult<Bound<'_, PyArray3<f64>>> {
    let sensors = if magnetometers {
        Sensors::Magnetometers
    } else {
        Sensors::Gradiometers
    };
    cube(py, (100, 40), synthetic::meg(sensors))
}

/// The extension module.
#[pymodule]
mod _core {
    #[pymodule_export]
    use super::cluster::{reducing_filters, solve_parts};
    #[pymodule_export]
    use super::disk::solve_file;
    #[pymodule_export]
    use super::files::{check_writable, copy_file, write_file};
    #[pymodule_export]
    use super::many::solve_many;
    #[pymodule_export]
    use super::part::{Chunk, Worker};
    #[pymodule_export]
    use super::program::program;
    #[pymodule_export]
    use super::report::{result_report, separation_report};
    #[pymodule_export]
    use super::resample::{check_resamples, resample};
    #[pymodule_export]
    use super::result::SolveResult;
    #[pymodule_export]
    use super::signals::{
        apply, cospectra, cross_spectra, cumulants, drift_fraction, epoch_covariances,
        find_artifacts, lagged_covariances, remove, segment_covariances, separate,
    };
    #[pymodule_export]
    use super::tracker::Tracker;
    #[pymodule_export]
    use super::{amari_distance, criterion, meg, solve, synthetic_set};

    #[pymodule_export]
    #[allow(non_upper_case_globals)] // Python's own name for it
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
