//! Output files that are written completely or not at all.

use std::path::PathBuf;

use pyo3::prelude::*;

use crate::errors::system_error;

/// Raises what the system says to a file there; removes what killed programs left in its folder.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // arguments of Python functions are owned
pub(crate) fn try_place(py: Python<'_>, path: PathBuf) -> PyResult<()> {
    py.detach(|| codiag_cli::check_writable(&path))
        .map_err(|error| system_error(&error, Some(&path)))
}

/// Copies a file, completely or not at all.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // arguments of Python functions are owned
pub(crate) fn copy_whole(py: Python<'_>, source: PathBuf, target: PathBuf) -> PyResult<()> {
    py.detach(|| codiag_cli::copy_atomically(&source, &target))
        .map_err(|error| system_error(&error, Some(&target)))
}

/// Writes a file, completely or not at all.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // arguments of Python functions are owned
pub(crate) fn write_whole(py: Python<'_>, path: PathBuf, content: &[u8]) -> PyResult<()> {
    py.detach(|| codiag_cli::write_atomically(&path, |out| out.write_all(content)))
        .map_err(|error| system_error(&error, Some(&path)))
}
