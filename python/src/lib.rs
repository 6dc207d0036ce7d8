//! The extension module `codiag._core`: conversion between NumPy and the library, release of the
//! interpreter's lock, errors and signals. Nothing numeric happens here.

mod cluster;
mod convert;
mod disk;
mod many;
mod observer;
mod options;
mod part;
mod program;
mod signals;
mod tracker;
mod words;

use std::time::{Duration, Instant};

use codiag::synthetic::{self, Sensors, Synthetic};
use codiag::{
    Criterion, Diagonalization, Error, Evaluation, MatrixSet, SetOptions, diagonalize_with,
};
use numpy::{PyArray2, PyArray3, PyReadonlyArray2, PyReadonlyArray3};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use convert::{cube, matrix_from, matrix_to, results, shape};
use observer::Watch;
use options::Options;
use words::{bad_input, bad_point};

/// Solves one problem; returns the fields of a result by name.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // arguments of Python functions are owned
fn solve<'py>(
    py: Python<'py>,
    c: PyReadonlyArray3<'py, f64>,
    weights: Option<Vec<f64>>,
    options: &Bound<'py, PyDict>,
    callback: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let options = Options::from_dict(options)?;
    let (n, p) = shape(&c);
    let data = c.as_slice()?;
    let mut watch = Watch::new(callback, &options);
    let clock = Instant::now();
    let solved = py.detach(|| {
        let set = MatrixSet::with_options(data, n, p, &options.for_set(weights))?;
        let answer = diagonalize_with(&set, &options.settings, &mut watch)?;
        Ok((answer, set.constant()))
    });
    finished(py, watch, solved, clock.elapsed())
}

/// The fields of a result by name, from an answer and the set's mean of log det; or what was raised
/// on the way to it.
fn finished(
    py: Python<'_>,
    watch: Watch,
    solved: Result<(Diagonalization, f64), Error>,
    elapsed: Duration,
) -> PyResult<Bound<'_, PyDict>> {
    let iterates = watch.finish()?;
    let (answer, mean_log_det) = solved.map_err(bad_input)?;
    let fields = results(py, answer)?;
    fields.set_item("mean_log_det", mean_log_det)?;
    // What of a call's time is the library's own.
    fields.set_item("seconds", elapsed.as_secs_f64())?;
    if let Some(iterates) = iterates {
        let iterates: PyResult<Vec<_>> = iterates.into_iter().map(|b| matrix_to(py, b)).collect();
        fields.set_item("iterates", iterates?)?;
    }
    Ok(fields)
}

/// The loss and the relative gradient at B.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // as above
fn criterion<'py>(
    py: Python<'py>,
    c: PyReadonlyArray3<'py, f64>,
    b: PyReadonlyArray2<'py, f64>,
    weights: Option<Vec<f64>>,
    name: &str,
    threads: Option<usize>,
) -> PyResult<(f64, Bound<'py, PyArray2<f64>>)> {
    let criterion: Criterion = name.parse().map_err(bad_input)?;
    let (n, p) = shape(&c);
    let (data, b) = (c.as_slice()?, matrix_from(&b)?);
    let here = py.detach(|| {
        let options = SetOptions::default()
            .weights(weights)
            .criterion(criterion)
            .threads(threads);
        let set = MatrixSet::with_options(data, n, p, &options)?;
        Evaluation::at(&set, &b)
    });
    let here = here.map_err(bad_point)?;
    Ok((here.loss, matrix_to(py, here.gradient)?))
}

/// Amari's distance of B A to a scaled permutation.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // as above
fn amari_distance(b: PyReadonlyArray2<'_, f64>, a: PyReadonlyArray2<'_, f64>) -> PyResult<f64> {
    let (b, a) = (matrix_from(&b)?, matrix_from(&a)?);
    if b.columns() != a.rows() || b.rows() != a.columns() {
        return Err(PyValueError::new_err(format!(
            "B A must be square, got shapes ({}, {}) and ({}, {})",
            b.rows(),
            b.columns(),
            a.rows(),
            a.columns()
        )));
    }
    Ok(synthetic::amari_distance(&b, &a))
}

/// The paper's synthetic matrices and the mixing that made them.
#[pyfunction]
#[allow(clippy::type_complexity)] // a pair of arrays
fn synthetic_set(
    py: Python<'_>,
    n: usize,
    p: usize,
    sigma: f64,
    seed: u64,
) -> PyResult<(Bound<'_, PyArray3<f64>>, Bound<'_, PyArray2<f64>>)> {
    let made = py.detach(|| Synthetic::new(n, p, sigma, seed));
    Ok((cube(py, (n, p), made.data)?, matrix_to(py, made.mixing)?))
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
    use super::cluster::{reducing_filters, solve_parts};
    #[pymodule_export]
    use super::disk::solve_file;
    #[pymodule_export]
    use super::many::solve_many;
    #[pymodule_export]
    use super::part::{Chunk, Part};
    #[pymodule_export]
    use super::program::program;
    #[pymodule_export]
    use super::signals::{
        apply, artefacts, cospectra, cumulants, epoch_covariances, lagged_covariances, remove,
        segment_covariances, separate,
    };
    #[pymodule_export]
    use super::tracker::Tracker;
    #[pymodule_export]
    use super::{amari_distance, criterion, meg, solve, synthetic_set};

    #[pymodule_export]
    #[allow(non_upper_case_globals)] // Python's own name for it
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
