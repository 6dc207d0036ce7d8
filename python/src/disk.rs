//! Matrices that stay in a file.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Instant;

use codiag::npy::Numbers;
use codiag::working::{WorkingSet, diagonalize_working};
use codiag::{Error, MatrixFile, Memory, OnDisk, Reading, diagonalize_with};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::convert::results;
use crate::observer::Watch;
use crate::options::Options;
use crate::words::bad_input;

/// Where numbers lie in a file that is no .npy: offset, NumPy's name of their type, n, p.
type Layout = (u64, String, usize, usize);

/// Solves one problem whose matrices are in a file, within a budget of memory; in memory if there
/// is none, or room for all. `progress` is called with bytes read, bytes to read and seconds.
#[pyfunction]
#[allow(clippy::too_many_arguments)] // called by one function alone
#[allow(clippy::needless_pass_by_value)] // arguments of Python functions are owned
pub fn solve_file<'py>(
    py: Python<'py>,
    path: PathBuf,
    layout: Option<Layout>,
    memory: Option<&Bound<'py, PyAny>>,
    weights: Option<Vec<f64>>,
    options: &Bound<'py, PyDict>,
    callback: Option<Py<PyAny>>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let options = Options::from_dict(options)?;
    let memory = memory.map(budget).transpose()?;
    let mut watch = Watch::new(callback, &options);
    let raised = Mutex::new(None);
    let solved = py.detach(|| {
        let clock = Instant::now();
        let file = match layout {
            Some((offset, name, n, p)) => {
                MatrixFile::raw(path, offset, Numbers::parse(&name)?, n, p)
            }
            None => MatrixFile::open(path),
        }?;
        let for_set = options.for_set(weights);
        let (answer, mean_log_det) = match memory.filter(|memory| file.in_memory() > *memory) {
            None => {
                let set = file.read_set(&for_set)?;
                let answer = diagonalize_with(&set, &options.settings, &mut watch)?;
                (answer, set.constant())
            }
            Some(memory) => {
                let watcher = |reading: &Reading| follow(reading, progress.as_ref(), &raised);
                let mut set = OnDisk::new_watched(file, memory, &for_set, &watcher)?;
                let answer = diagonalize_working(&mut set, &options.settings, &mut watch)?;
                (answer, set.summary().constant)
            }
        };
        Ok::<_, Error>((answer, mean_log_det, clock.elapsed()))
    });
    watch.finish()?;
    if let Some(error) = raised.into_inner().ok().flatten() {
        return Err(error);
    }
    let (answer, mean_log_det, elapsed) = solved.map_err(bad_input)?;
    let fields = results(py, answer)?;
    fields.set_item("mean_log_det", mean_log_det)?;
    fields.set_item("seconds", elapsed.as_secs_f64())?;
    Ok(fields)
}

/// Looks for signals and shows how far a pass has come.
fn follow(
    reading: &Reading,
    progress: Option<&Py<PyAny>>,
    raised: &Mutex<Option<PyErr>>,
) -> ControlFlow<()> {
    let asked = Python::attach(|py| {
        py.check_signals()?;
        if let Some(progress) = progress {
            progress.call1(py, (reading.bytes, reading.total, reading.seconds))?;
        }
        Ok(())
    });
    match asked {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => {
            if let Ok(mut raised) = raised.lock() {
                raised.get_or_insert(error);
            }
            ControlFlow::Break(())
        }
    }
}

/// A number of bytes, or text such as "2GB".
fn budget(memory: &Bound<'_, PyAny>) -> PyResult<Memory> {
    if let Ok(bytes) = memory.extract::<u64>() {
        return Ok(Memory(bytes));
    }
    let text = memory.str()?.to_string();
    text.parse().map_err(bad_input)
}
