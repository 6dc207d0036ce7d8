//! Solves of many independent problems in parallel.

use std::cell::{Cell, RefCell};
use std::ops::ControlFlow;
use std::time::Instant;

use codiag::{
    Diagonalization, Error, Matrix, MatrixSet, Record, Scalar, c64, diagonalize_with, jobs,
};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::convert::{MatrixStack, shape};
use crate::errors::bad_set;
use crate::observer::SIGNAL_INTERVAL;
use crate::options::Options;
use crate::result::SolveResult;

/// One problem, borrowed from its array.
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

/// Solves all problems, each on one thread, so that results do not depend on `n_jobs`, the largest
/// number of problems solved at a time (None: number of hardware threads).
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // arguments of Python functions are owned
pub fn solve_many(
    py: Python<'_>,
    sets: Vec<MatrixStack<'_>>,
    weights: Vec<Option<Vec<f64>>>,
    options: &Bound<'_, PyDict>,
    n_jobs: Option<usize>,
) -> PyResult<Vec<SolveResult>> {
    let mut options = Options::from_dict(options)?;
    options.set.n_jobs = Some(1);
    let problems: PyResult<Vec<Problem<'_>>> = sets
        .iter()
        .zip(weights)
        .map(|(set, weights)| {
            let ((n, p), data) = match set {
                MatrixStack::Real(set) => (shape(set), Data::Real(set.as_slice()?)),
                MatrixStack::Complex(set) => (shape(set), Data::Complex(set.as_slice()?)),
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
    let solved = py.detach(|| solve_all(&problems, &options, n_jobs))?;
    let result = |(k, solved): (usize, Result<_, _>)| solved.map_err(|error| bad_set(k, &error));
    solved.into_iter().map(result).collect()
}

/// Results, each with the number of its problem.
type Solved = Vec<(usize, Result<SolveResult, Error>)>;

/// Solves all problems, several at a time. The calling thread also checks for signals, because it
/// may be the main thread of the interpreter.
fn solve_all(
    problems: &[Problem<'_>],
    options: &Options,
    n_jobs: Option<usize>,
) -> PyResult<Solved> {
    let n_jobs = n_jobs.unwrap_or_else(rayon::current_num_threads);
    let job = |k: usize, report: &mut dyn FnMut(Option<()>) -> ControlFlow<()>| {
        let report = RefCell::new(report);
        let stop = || (*report.borrow_mut())(None).is_break();
        (k, solve_one(&problems[k], options, &stop))
    };
    let signals = Signals::default();
    let mut observer = |_: Option<()>| {
        if signals.are_pending() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let (solved, _) = jobs::run(problems.len(), n_jobs, &job, &mut observer);
    signals.raised.into_inner().map_or(Ok(solved), Err)
}

/// Checks for signals every few milliseconds.
struct Signals {
    checked: Cell<Instant>,
    raised: RefCell<Option<PyErr>>,
}

impl Default for Signals {
    fn default() -> Self {
        Self {
            checked: Cell::new(Instant::now()),
            raised: RefCell::new(None),
        }
    }
}

impl Signals {
    fn are_pending(&self) -> bool {
        if self.raised.borrow().is_none() && self.checked.get().elapsed() >= SIGNAL_INTERVAL {
            self.checked.set(Instant::now());
            *self.raised.borrow_mut() = pending_signal().err();
        }
        self.raised.borrow().is_some()
    }
}

/// Returns the exception of a pending signal as an error.
fn pending_signal() -> PyResult<()> {
    #[allow(clippy::redundant_closure_for_method_calls)] // the method alone is not general enough
    Python::attach(|py| py.check_signals())
}

fn solve_one(
    problem: &Problem<'_>,
    options: &Options,
    stop: &dyn Fn() -> bool,
) -> Result<SolveResult, Error> {
    Ok(match problem.data {
        Data::Real(data) => SolveResult::new(solve_data(problem, data, options, stop)?),
        Data::Complex(data) => SolveResult::new(solve_data(problem, data, options, stop)?),
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
