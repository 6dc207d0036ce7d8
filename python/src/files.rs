//! Output files, written atomically.

use std::path::PathBuf;

use pyo3::prelude::*;

use crate::errors::system_error;

/// Raises `OSError` if the file cannot be written; removes temporary files of killed processes.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // arguments of Python functions are owned
pub(crate) fn check_writable(py: Python<'_>, path: PathBuf) -> PyResult<()> {
    py.detach(|| codiag_cli::check_writable(&path))
        .map_err(|error| system_error(&error, Some(&path)))
}

/// Copies a file atomically.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // arguments of Python functions are owned
pub(crate) fn copy_file(py: Python<'_>, source: PathBuf, target: PathBuf) -> PyResult<()> {
    py.detach(|| codiag_cli::copy_atomically(&source, &target))
        .map_err(|error| system_error(&error, Some(&target)))
}

/// Writes a file atomically.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // arguments of Python functions are owned
pub(crate) fn write_file(py: Python<'_>, path: PathBuf, content: &[u8]) -> PyResult<()> {
    py.detach(|| codiag_cli::write_atomically(&path, |out| out.write_all(content)))
        .map_err(|error| system_error(&error, Some(&path)))
}
