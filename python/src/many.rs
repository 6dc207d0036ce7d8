//! Many independent problems at once.

use std::cell::{Cell, RefCell};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Instant;

use codiag::{Diagonalization, Error, Matrix, MatrixSet, Record, Scalar, c64, diagonalize_with};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rayon::ThreadPoolBuilder;
use rayon::prelude::*;

use crate::answer::results;
use crate::convert::{Cube, shape};
use crate::observer::SIGNAL_INTERVAL;
use crate::options::Options;
use crate::words::bad_set;

/// One of the problems, borrowed from its array.
struct Problem<'a> {
    data: Data<'a>,
    n: usize,
    p: usize,
    weights: Option<Vec<f64>>,
}

enum Data<'a> {
    Real(&'a [f64]),
    Complex(&'a [c64]),
}

enum Answer {
    Real(Diagonalization),
    Complex(Diagonalization<c64>),
}

/// The answers in order; None if a signal came first.
type Solved = Option<Vec<Result<Answer, Error>>>;

/// Solves all problems, each on one thread, so that an answer does not depend on how many run at a
/// time. `threads` says how many may; all of the machine's if None.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // arguments of Python functions are owned
pub fn solve_many<'py>(
    py: Python<'py>,
    sets: Vec<Cube<'py>>,
    weights: Vec<Option<Vec<f64>>>,
    options: &Bound<'py, PyDict>,
    threads: Option<usize>,
) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let mut options = Options::from_dict(options)?;
    options.set.threads = Some(1);
    let problems: PyResult<Vec<Problem<'_>>> = sets
        .iter()
        .zip(weights)
        .map(|(set, weights)| {
            let ((n, p), data) = match set {
                Cube::Real(set) => (shape(set), Data::Real(set.as_slice()?)),
                Cube::Complex(set) => (shape(set), Data::Complex(set.as_slice()?)),
            };
            Ok(Problem {
                data,
                n,
                p,
                weights,
            })
        })
        .collect();
    let problems = problems?;
    let solved = py.detach(|| match threads {
        Some(1) => here(&problems, &options),
        _ => watched(&problems, &options, threads),
    })?;
    let solved = solved.unwrap_or_default();
    let name = |(k, solved): (usize, Result<Answer, Error>)| match solved
        .map_err(|error| bad_set(k, &error))?
    {
        Answer::Real(answer) => results(py, answer),
        Answer::Complex(answer) => results(py, answer),
    };
    solved.into_iter().enumerate().map(name).collect()
}

/// Solves on this thread, which looks for signals itself: a thread of its own would begin without the memory that the last
/// call has left behind, and small problems would feel it.
fn here(problems: &[Problem<'_>], options: &Options) -> PyResult<Solved> {
    let (looked, raised) = (Cell::new(Instant::now()), RefCell::new(None));
    let stop = || {
        if raised.borrow().is_none() && looked.get().elapsed() >= SIGNAL_INTERVAL {
            looked.set(Instant::now());
            *raised.borrow_mut() = pending_signal().err();
        }
        raised.borrow().is_some()
    };
    let one = |problem| solve_one(problem, options, &stop);
    let solved = problems.iter().map(one).collect();
    raised.into_inner().map_or(Ok(solved), Err)
}

/// Solves on other threads while this one, which may be the interpreter's main thread, looks for
/// signals.
fn watched(
    problems: &[Problem<'_>],
    options: &Options,
    threads: Option<usize>,
) -> PyResult<Solved> {
    let stop = &AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (running, news) = channel::<()>();
        let worker = scope.spawn(move || {
            // Dropped at the end, whichever it is, and the receiver hears of it.
            let _running = running;
            solve_all(problems, options, threads, stop)
        });
        let mut raised = None;
        while let Err(RecvTimeoutError::Timeout) = news.recv_timeout(SIGNAL_INTERVAL) {
            if raised.is_none()
                && let Err(signal) = pending_signal()
            {
                raised = Some(signal);
                stop.store(true, Ordering::Relaxed);
            }
        }
        let solved = worker
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        raised.map_or(solved, Err)
    })
}

/// The exception of a signal that has come in.
fn pending_signal() -> PyResult<()> {
    #[allow(clippy::redundant_closure_for_method_calls)] // the method alone is not general enough
    Python::attach(|py| py.check_signals())
}

fn solve_all(
    problems: &[Problem<'_>],
    options: &Options,
    threads: Option<usize>,
    stop: &AtomicBool,
) -> PyResult<Solved> {
    let stop = || stop.load(Ordering::Relaxed);
    let one = |problem: &Problem<'_>| solve_one(problem, options, &stop);
    match threads {
        None => Ok(problems.par_iter().map(one).collect()),
        Some(count) => {
            let pool = ThreadPoolBuilder::new().num_threads(count).build();
            let pool = pool.map_err(|e| PyRuntimeError::new_err(e.to_string()))?;
            Ok(pool.install(|| problems.par_iter().map(one).collect()))
        }
    }
}

/// None once a signal has come in: the problems that are left are not begun.
fn solve_one(
    problem: &Problem<'_>,
    options: &Options,
    stop: &dyn Fn() -> bool,
) -> Option<Result<Answer, Error>> {
    if stop() {
        return None;
    }
    Some(match problem.data {
        Data::Real(data) => solve_data(problem, data, options, stop).map(Answer::Real),
        Data::Complex(data) => solve_data(problem, data, options, stop).map(Answer::Complex),
    })
}

fn solve_data<T: Scalar>(
    problem: &Problem<'_>,
    data: &[T],
    options: &Options,
    stop: &dyn Fn() -> bool,
) -> Result<Diagonalization<T>, Error> {
    let for_set = options.for_set(problem.weights.clone());
    let set = MatrixSet::with_options(data, problem.n, problem.p, &for_set)?;
    let mut observer = |_: &Record, _: &Matrix<T>| {
        if stop() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    diagonalize_with(&set, &options.settings, &mut observer)
}
