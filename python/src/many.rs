//! Many independent problems at once.

use std::cell::{Cell, RefCell};
use std::ops::ControlFlow;
use std::time::Instant;

use codiag::{
    Diagonalization, Error, Matrix, MatrixSet, Record, Scalar, c64, diagonalize_with, jobs,
};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::answer::results;
use crate::convert::{Cube, shape};
use crate::errors::bad_set;
use crate::observer::SIGNAL_INTERVAL;
use crate::options::Options;

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
    options.set.n_jobs = Some(1);
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
    let solved = py.detach(|| solve_all(&problems, &options, threads))?;
    let name = |(k, solved): (usize, Result<Answer, Error>)| match solved
        .map_err(|error| bad_set(k, &error))?
    {
        Answer::Real(answer) => results(py, answer),
        Answer::Complex(answer) => results(py, answer),
    };
    solved.into_iter().map(name).collect()
}

/// Some of the answers, each with the number of its problem.
type Share = Vec<(usize, Result<Answer, Error>)>;

/// Solves all problems, several at a time. The calling thread, which may be the interpreter's main
/// thread, also looks for signals.
fn solve_all(
    problems: &[Problem<'_>],
    options: &Options,
    threads: Option<usize>,
) -> PyResult<Share> {
    let threads = threads.unwrap_or_else(rayon::current_num_threads);
    let job = |k: usize, tell: &mut dyn FnMut(Option<()>) -> ControlFlow<()>| {
        let tell = RefCell::new(tell);
        let stop = || (*tell.borrow_mut())(None).is_break();
        (k, solve_one(&problems[k], options, &stop))
    };
    let signals = Signals::default();
    let mut observer = |_: Option<()>| {
        if signals.have_come() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let (solved, _) = jobs::run(problems.len(), threads, &job, &mut observer);
    signals.raised.into_inner().map_or(Ok(solved), Err)
}

/// Looks for signals every few milliseconds.
struct Signals {
    looked: Cell<Instant>,
    raised: RefCell<Option<PyErr>>,
}

impl Default for Signals {
    fn default() -> Self {
        Self {
            looked: Cell::new(Instant::now()),
            raised: RefCell::new(None),
        }
    }
}

impl Signals {
    fn have_come(&self) -> bool {
        if self.raised.borrow().is_none() && self.looked.get().elapsed() >= SIGNAL_INTERVAL {
            self.looked.set(Instant::now());
            *self.raised.borrow_mut() = pending_signal().err();
        }
        self.raised.borrow().is_some()
    }
}

/// The exception of a signal that has come in.
fn pending_signal() -> PyResult<()> {
    #[allow(clippy::redundant_closure_for_method_calls)] // the method alone is not general enough
    Python::attach(|py| py.check_signals())
}

fn solve_one(
    problem: &Problem<'_>,
    options: &Options,
    stop: &dyn Fn() -> bool,
) -> Result<Answer, Error> {
    Ok(match problem.data {
        Data::Real(data) => Answer::Real(solve_data(problem, data, options, stop)?),
        Data::Complex(data) => Answer::Complex(solve_data(problem, data, options, stop)?),
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
