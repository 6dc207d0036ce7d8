//! The command line program, run from Python: the code of the Rust binary.

use std::ffi::OsString;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// Time between checks for signals.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(50);

/// Runs the program with `args`, which begin with its name; returns the exit code.
#[pyfunction]
#[pyo3(signature = (args, closed_output=false))]
pub(crate) fn program(py: Python<'_>, args: Vec<OsString>, closed_output: bool) -> PyResult<i32> {
    let interrupted = AtomicBool::new(false);
    let (sender, receiver) = channel();
    // Python handles Ctrl-C on its main thread only, so the program runs on another.
    std::thread::scope(|scope| {
        let interrupted = &interrupted;
        scope.spawn(move || {
            sender.send(codiag_cli::run_in_process(args, closed_output, interrupted))
        });
        // A receiver cannot be shared between threads, but it can be moved there and back.
        let mut receiver = receiver;
        loop {
            let (received, returned) =
                py.detach(move || (receiver.recv_timeout(SIGNAL_INTERVAL), receiver));
            receiver = returned;
            match received {
                Ok(code) => return Ok(code),
                Err(RecvTimeoutError::Timeout) => {
                    if py.check_signals().is_err() {
                        interrupted.store(true, Ordering::SeqCst);
                    }
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(PyRuntimeError::new_err(
                        "the program ended without an exit code",
                    ));
                }
            }
        }
    })
}
