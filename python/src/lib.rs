//! The extension module `codiag._core`: conversion between NumPy and the library, release of the
//! interpreter's lock, errors and signals. Nothing numeric happens here.

mod answer;
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

use answer::{Answered, measured};
use convert::{Cube, Square, cube, matrix_from, matrix_to, shape};
use errors::{bad_input, bad_point};
use observer::Watch;
use options::Options;

/// Solves one problem; returns the attributes of a result by name.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // arguments of Python functions are owned
fn solve<'py>(
    c: Cube<'py>,
    weights: Option<Vec<f64>>,
    options: &Bound<'py, PyDict>,
    callback: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let options = Options::from_dict(options)?;
    match c {
        Cube::Real(c) => solve_array(&c, weights, &options, callback),
        Cube::Complex(c) => solve_array(&c, weights, &options, callback),
    }
}

fn solve_array<'py, T: Answered>(
    c: &PyReadonlyArray3<'py, T>,
    weights: Option<Vec<f64>>,
    options: &Options,
    callback: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let (n, p) = shape(c);
    let data = c.as_slice()?;
    let mut watch = Watch::new(callback, options);
    let clock = Instant::now();
    let solved = c.py().detach(|| {
        // Without a reduction, what the solve takes is known before the set is made.
        if options.set.n_components == Rank::Full {
            MatrixSet::<T>::check_memory(n, p)?;
        }
        let set = MatrixSet::with_options(data, n, p, &options.for_set(weights))?;
        let answer = diagonalize_with(&set, &options.settings, &mut watch)?;
        Ok((answer, set.constant()))
    });
    finished(c.py(), watch, solved, clock.elapsed())
}

/// The fields of a result by name, from an answer and the set's mean of log det; or what was raised
/// on the way to it.
fn finished<T: Answered>(
    py: Python<'_>,
    watch: Watch<T>,
    solved: Result<(Diagonalization<T>, f64), Error>,
    elapsed: Duration,
) -> PyResult<Bound<'_, PyDict>> {
    let iterates = watch.finish()?;
    let (answer, mean_log_det) = solved.map_err(bad_input)?;
    let fields = measured(py, answer, elapsed.as_secs_f64(), mean_log_det)?;
    if let Some(iterates) = iterates {
        let iterates: PyResult<Vec<_>> = iterates.into_iter().map(|b| matrix_to(py, b)).collect();
        fields.set_item("iterates", iterates?)?;
    }
    Ok(fields)
}

/// The loss and the relative gradient at B, which is complex if the matrices are.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // as above
fn criterion<'py>(
    py: Python<'py>,
    c: Cube<'py>,
    b: Square<'py>,
    weights: Option<Vec<f64>>,
    name: &str,
    threads: Option<usize>,
) -> PyResult<(f64, Bound<'py, PyAny>)> {
    let criterion: Criterion = name.parse().map_err(bad_input)?;
    let options = SetOptions::default()
        .weights(weights)
        .criterion(criterion)
        .n_jobs(threads);
    match (c, b) {
        (Cube::Real(c), Square::Real(b)) => criterion_at(py, &c, &b, &options),
        (Cube::Complex(c), Square::Complex(b)) => criterion_at(py, &c, &b, &options),
        _ => Err(PyTypeError::new_err(NOT_ALIKE)),
    }
}

/// Python has brought both to one type.
const NOT_ALIKE: &str = "expected two real or two complex arrays";

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

/// Amari's distance of B A to a scaled permutation.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // as above
fn amari_distance(b: Square<'_>, a: Square<'_>) -> PyResult<f64> {
    match (b, a) {
        (Square::Real(b), Square::Real(a)) => distance(&matrix_from(&b)?, &matrix_from(&a)?),
        (Square::Complex(b), Square::Complex(a)) => distance(&matrix_from(&b)?, &matrix_from(&a)?),
        _ => Err(PyTypeError::new_err(NOT_ALIKE)),
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

/// The paper's synthetic matrices and the mixing that made them, or complex ones of their kind.
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

/// The MEG covariances.
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
    use super::answer::Answer;
    #[pymodule_export]
    use super::cluster::{reducing_filters, solve_parts};
    #[pymodule_export]
    use super::disk::solve_file;
    #[pymodule_export]
    use super::files::{copy_whole, try_place, write_whole};
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
    use super::signals::{
        apply, cospectra, cross_spectra, cumulants, drift_share, epoch_covariances, find_artifacts,
        lagged_covariances, remove, segment_covariances, separate,
    };
    #[pymodule_export]
    use super::tracker::Tracker;
    #[pymodule_export]
    use super::{amari_distance, criterion, meg, solve, synthetic_set};

    #[pymodule_export]
    #[allow(non_upper_case_globals)] // Python's own name for it
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
