//! Solves of sets that are stored in a file.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Instant;

use codiag::backend::Backend;
use codiag::npy::Numbers;
use codiag::{
    Diagonalization, Error, MatrixFile, MatrixSet, Memory, OnDisk, ReadProgress, diagonalize_with,
};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::bad_input;
use crate::finished;
use crate::observer::Watch;
use crate::options::Options;
use crate::result::{ResultScalar, SolveResult};

/// Layout of a file without a header: offset in bytes, NumPy's name of the type, n, p.
type Layout = (u64, String, usize, usize);

/// Diagonalizes the matrices of a file: in memory if they fit into the memory limit or if there is
/// none, otherwise from disk. `progress` is called with bytes read, bytes to read and seconds.
#[pyfunction]
#[allow(clippy::too_many_arguments)] // called from one place in Python
#[allow(clippy::needless_pass_by_value)] // arguments of Python functions are owned
pub fn solve_file(
    py: Python<'_>,
    path: PathBuf,
    layout: Option<Layout>,
    memory: Option<&Bound<'_, PyAny>>,
    weights: Option<Vec<f64>>,
    options: &Bound<'_, PyDict>,
    callback: Option<Py<PyAny>>,
    progress: Option<Py<PyAny>>,
) -> PyResult<SolveResult> {
    let options = Options::from_dict(options)?;
    let memory = memory.map(memory_limit).transpose()?;
    let file = match layout {
        Some((offset, name, n, p)) => {
            Numbers::parse(&name).and_then(|numbers| MatrixFile::raw(path, offset, numbers, n, p))
        }
        None => MatrixFile::open(path),
    };
    let file = file.map_err(bad_input)?;
    let raised = Mutex::new(None);
    let observer = |reading: &ReadProgress| report(reading, progress.as_ref(), &raised);
    let clock = Instant::now();
    let memory = memory.filter(|memory| file.in_memory() > *memory);
    let for_set = options.for_set(weights);
    let result = if file.is_complex() {
        let mut watch = Watch::new(callback, &options);
        let solved = py.detach(|| match memory {
            None => solve_set(&file.read_complex_set(&for_set)?, &options, &mut watch),
            Some(memory) => {
                let mut set = OnDisk::complex_with_observer(file, memory, &for_set, observer)?;
                solve_backend(&mut set, &options, &mut watch)
            }
        });
        finished(watch, solved, clock.elapsed())
    } else {
        let mut watch = Watch::new(callback, &options);
        let solved = py.detach(|| match memory {
            None => solve_set(&file.read_set(&for_set)?, &options, &mut watch),
            Some(memory) => {
                let mut set = OnDisk::new_with_observer(file, memory, &for_set, observer)?;
                solve_backend(&mut set, &options, &mut watch)
            }
        });
        finished(watch, solved, clock.elapsed())
    };
    // An exception raised by the observer takes precedence over the error it caused.
    match raised.into_inner().ok().flatten() {
        Some(error) => Err(error),
        None => result,
    }
}

/// A result, and the weighted mean of log det of the matrices of the set.
type Solved<T> = Result<(Diagonalization<T>, f64), Error>;

fn solve_set<T: ResultScalar>(
    set: &MatrixSet<T>,
    options: &Options,
    watch: &mut Watch<T>,
) -> Solved<T> {
    let result = diagonalize_with(set, &options.settings, watch)?;
    Ok((result, set.constant()))
}

fn solve_backend<T: ResultScalar>(
    set: &mut dyn Backend<T>,
    options: &Options,
    watch: &mut Watch<T>,
) -> Solved<T> {
    let result = codiag::diagonalize_with_backend(set, &options.settings, watch)?;
    Ok((result, set.summary().constant))
}

/// Checks for signals and reports the progress of a data pass.
fn report(
    reading: &ReadProgress,
    progress: Option<&Py<PyAny>>,
    raised: &Mutex<Option<PyErr>>,
) -> ControlFlow<()> {
    let outcome = Python::attach(|py| {
        py.check_signals()?;
        if let Some(progress) = progress {
            progress.call1(py, (reading.bytes, reading.total, reading.seconds))?;
        }
        Ok(())
    });
    match outcome {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => {
            if let Ok(mut raised) = raised.lock() {
                raised.get_or_insert(error);
            }
            ControlFlow::Break(())
        }
    }
}

/// Parses a memory limit: a number of bytes, or text such as "2GB".
fn memory_limit(memory: &Bound<'_, PyAny>) -> PyResult<Memory> {
    if let Ok(bytes) = memory.extract::<u64>() {
        return Ok(Memory(bytes));
    }
    let text = memory.str()?.to_string();
    text.parse().map_err(bad_input)
}
