//! Conversion of the library's errors to Python's exceptions.

use std::io::ErrorKind;
use std::path::Path;

use codiag::Error;
use codiag::npy::NpyError;
use pyo3::exceptions::{PyMemoryError, PyOSError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::option_names::Keywords;

const SOLVE: Keywords = Keywords {
    given_matrix: "init",
};
const POINT: Keywords = Keywords { given_matrix: "B" };

/// The exception for an error of a solve.
#[allow(clippy::needless_pass_by_value)] // for map_err
pub fn bad_input(error: Error) -> PyErr {
    exception(&error, error.render(&SOLVE))
}

/// The exception for an error of a function that takes a matrix B.
#[allow(clippy::needless_pass_by_value)] // for map_err
pub fn bad_point(error: Error) -> PyErr {
    exception(&error, error.render(&POINT))
}

/// The exception for an error of one of several sets.
pub fn bad_set(number: usize, error: &Error) -> PyErr {
    exception(error, format!("set {number}: {}", error.render(&SOLVE)))
}

fn exception(error: &Error, message: String) -> PyErr {
    match error {
        Error::Io(error) => system_error(error.get(), None),
        Error::File { path, error } => match &**error {
            Error::Io(error) => system_error(error.get(), Some(path)),
            other => exception(other, message),
        },
        Error::Npy(
            NpyError::Complex { .. } | NpyError::Records | NpyError::UnknownNumbers { .. },
        ) => PyTypeError::new_err(message),
        Error::OutOfMemory { .. } => PyMemoryError::new_err(message),
        // Not caused by the arguments.
        Error::InvalidResponse { .. }
        | Error::InvalidRequest
        | Error::External(_)
        | Error::Interrupted => PyRuntimeError::new_err(message),
        _ => PyValueError::new_err(message),
    }
}

/// An `OSError` of the subclass that Python chooses for the error number.
pub(crate) fn system_error(error: &std::io::Error, path: Option<&Path>) -> PyErr {
    // A converted error may have lost its number. These numbers are equal on all systems.
    let code = error.raw_os_error().or(match error.kind() {
        ErrorKind::NotFound => Some(2),
        ErrorKind::PermissionDenied => Some(13),
        ErrorKind::NotADirectory => Some(20),
        ErrorKind::IsADirectory => Some(21),
        ErrorKind::StorageFull => Some(28),
        ErrorKind::ReadOnlyFilesystem => Some(30),
        _ => None,
    });
    let Some(code) = code else {
        let path = path.map_or(String::new(), |path| format!("{}: ", path.display()));
        return PyOSError::new_err(format!("{path}{error}"));
    };
    let text = Python::attach(|py| -> PyResult<String> {
        py.import("os")?
            .call_method1("strerror", (code,))?
            .extract()
    });
    let text = text.unwrap_or_else(|_| error.to_string());
    match path {
        Some(path) => PyOSError::new_err((code, text, path.as_os_str().to_owned())),
        None => PyOSError::new_err((code, text)),
    }
}
