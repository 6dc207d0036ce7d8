//! What the library finds wrong, as Python's exceptions and in Python's words.

use std::io::ErrorKind;
use std::path::Path;

use codiag::Error;
use codiag::error::{
    Conflict, Expected, MemoryRemedy, Remedy, Setting, StartProblem, asymmetric_entries,
    memory_shortage,
};
use codiag::npy::{NpyError, tuple};
use pyo3::exceptions::{PyMemoryError, PyOSError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;

/// The exception for an error of a solve.
#[allow(clippy::needless_pass_by_value)] // for map_err
pub fn bad_input(error: Error) -> PyErr {
    exception(&error, words(&error, "the start"))
}

/// The same where a given B is no start, but the point that was asked about.
#[allow(clippy::needless_pass_by_value)] // as above
pub fn bad_point(error: Error) -> PyErr {
    exception(&error, words(&error, "B"))
}

/// The same for one of several sets.
pub fn bad_set(number: usize, error: &Error) -> PyErr {
    exception(
        error,
        format!("set {number}: {}", words(error, "the start")),
    )
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
        // Nothing that a caller has given is wrong.
        Error::Answer { .. } | Error::Question | Error::External(_) | Error::Interrupted => {
            PyRuntimeError::new_err(message)
        }
        _ => PyValueError::new_err(message),
    }
}

/// An `OSError`, of the class that Python itself chooses for what the system says.
pub(crate) fn system_error(error: &std::io::Error, path: Option<&Path>) -> PyErr {
    // An error that has passed through other hands may have lost its number, which is the same on all
    // systems for these.
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
    let said = Python::attach(|py| -> PyResult<String> {
        py.import("os")?
            .call_method1("strerror", (code,))?
            .extract()
    });
    let said = said.unwrap_or_else(|_| error.to_string());
    match path {
        Some(path) => PyOSError::new_err((code, said, path.as_os_str().to_owned())),
        None => PyOSError::new_err((code, said)),
    }
}

/// An error in the names of Python; `given` is what a B that was passed is called. What needs no
/// such name is said as the library says it.
fn words(error: &Error, given: &str) -> String {
    match error {
        Error::Shape { shape } => format!(
            "expected n matrices of size p x p with n, p > 0, got shape {}",
            tuple(shape)
        ),
        Error::RecordingShape { epochs, shape } => format!(
            "expected {}channels x samples, none of them 0, got shape {}",
            if *epochs { "epochs x " } else { "" },
            tuple(shape)
        ),
        Error::Asymmetric {
            matrix,
            row,
            column,
            asymmetry,
            complex,
        } => format!(
            "matrix {matrix} is not {} of the largest entry (at most 1e-8 is taken as rounding); \
             symmetrize=True takes the mean of the two",
            asymmetric_entries(*complex, *row, *column, *asymmetry)
        ),
        Error::NotPositiveDefinite {
            matrix,
            eigenvalue,
            remedy,
        } => format!(
            "{} is not positive definite: its smallest eigenvalue is {eigenvalue:.3e}{}",
            matrix.map_or("the mean of the matrices".to_owned(), |matrix| format!(
                "matrix {matrix}"
            )),
            advice(*remedy)
        ),
        Error::StartShape {
            expected: (rows_expected, columns_expected),
            rows,
            columns,
        } => {
            format!("{given} must be {rows_expected} x {columns_expected}, got {rows} x {columns}")
        }
        Error::Start {
            problem: StartProblem::NotOrthogonal,
        } => format!("{given} must be orthogonal, as orthogonal=True asks, but it is not"),
        Error::Start {
            problem: StartProblem::Complex,
        } => format!("{given} must be real, as the matrices are, but it is complex"),
        Error::Start { problem } => {
            format!("{given} must be finite and invertible, but it is {problem}")
        }
        Error::Setting {
            setting,
            expected,
            value,
        } => format!(
            "{} must be {}, got {value}",
            name(*setting),
            choices(*expected)
        ),
        Error::Conflict(conflict) => conflict_words(*conflict),
        Error::Method { criterion, method } => format!(
            "criterion={:?} has the methods {}, not {:?}",
            criterion.name(),
            codiag::error::methods(*criterion),
            method.name()
        ),
        Error::Memory { smallest, given } => {
            format!("memory must be at least {smallest} for matrices of this size, got {given}")
        }
        Error::OutOfMemory {
            what,
            needed,
            available,
            remedy,
        } => format!(
            "{}{}",
            memory_shortage(what, *needed, *available),
            memory_advice(*remedy)
        ),
        Error::File { path, error } => format!("{}: {}", path.display(), words(error, given)),
        other => other.to_string(),
    }
}

fn advice(remedy: Remedy) -> String {
    match remedy {
        Remedy::Reduce { rank } => format!(
            "; all matrices share a null space (the mean has rank {rank}): reduce the set to its range \
             with rank=\"auto\" or rank={rank}"
        ),
        Remedy::Shrink { shrinkage } => format!(
            "; its companions do not share its null space: lift it with shrinkage, for instance \
             shrinkage={shrinkage:e}"
        ),
        _ => format!(
            "; only {} can take a set that is not positive definite",
            codiag::error::symmetric_criteria(|criterion| format!(
                "criterion={:?}",
                criterion.name()
            ))
        ),
    }
}

/// What would need less memory.
fn memory_advice(remedy: MemoryRemedy) -> String {
    match remedy {
        MemoryRemedy::Setting {
            setting,
            value,
            needs,
        } => format!("; {}={value} needs {needs}", name(setting)),
        MemoryRemedy::OnDisk => {
            "; use fewer matrices, or pass the path of a .npy file with memory=\"2GB\"".to_owned()
        }
        _ => String::new(),
    }
}

fn conflict_words(conflict: Conflict) -> String {
    match conflict {
        Conflict::OrthogonalPham => "orthogonal=True is not for method=\"pham\"".to_owned(),
        Conflict::OrthogonalReduced => "orthogonal=True is not for a set reduced by rank=, whose \
             axes are not those of the channels"
            .to_owned(),
        Conflict::OrthogonalLeastSquares => "orthogonal=True is not for \
             criterion=\"least-squares\": over rotations it is criterion=\"frobenius\""
            .to_owned(),
        Conflict::PairsNotInMemory => {
            "method=\"pham\" and method=\"jacobi\" are only for matrices in memory: \
             choose \"newton\" or \"quasi-newton\""
                .to_owned()
        }
        Conflict::OrderUntried => {
            "order=\"stability\" needs trials: pass stability=20, or restarts=".to_owned()
        }
        Conflict::StabilityNotInMemory => {
            "stability= is only for matrices in memory: restarts= are \
             tried wherever they are"
                .to_owned()
        }
        other => other.to_string(),
    }
}

/// A setting's keyword.
fn name(setting: Setting) -> String {
    match setting {
        Setting::Components => "n_components".to_owned(),
        Setting::SegmentLength => "segment_length".to_owned(),
        Setting::Segments => "segments".to_owned(),
        Setting::Tolerance => "tol".to_owned(),
        other => other.to_string(),
    }
}

fn choices(expected: Expected) -> String {
    match expected {
        Expected::OneOfOr(names, other) => {
            let names: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
            format!("{} or {other}", names.join(", "))
        }
        other => other.to_string(),
    }
}
