//! From the keyword arguments of Python to the settings of the library.

use codiag::{Rank, SetOptions, Settings, Start, TrackerSettings};
use numpy::PyReadonlyArray2;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::convert::{bad_input, matrix_from};

/// All choices of a solve.
pub struct Options {
    pub settings: Settings,
    pub rank: Rank,
    shrinkage: f64,
    /// Ends the solve when a sweep's decrement falls below this: the stopping rule of Pham's method
    /// in other packages.
    pub stop_decrement: Option<f64>,
    /// Whether every B along the way is kept.
    pub keep_iterates: bool,
    /// Called with B every few seconds.
    pub checkpoint: Option<Py<PyAny>>,
    /// How many.
    pub checkpoint_every: f64,
}

impl Options {
    /// From a dictionary that may leave out whatever stays at its default.
    pub fn from_dict(options: &Bound<'_, PyDict>) -> PyResult<Self> {
        let settings = Settings::default();
        let text = |name: &str| -> PyResult<Option<String>> { get(options, name) };
        let method = match text("method")? {
            Some(name) => name.parse().map_err(bad_input)?,
            None => settings.method,
        };
        Ok(Self {
            settings: Settings {
                method,
                start: start(options)?,
                orthogonal: get(options, "orthogonal")?.unwrap_or(settings.orthogonal),
                tolerance: get(options, "tol")?.unwrap_or(settings.tolerance),
                max_iterations: count(options, "max_iter")?.unwrap_or(settings.max_iterations),
                lambda_min: get(options, "lambda_min")?.unwrap_or(settings.lambda_min),
                max_halvings: count(options, "max_halvings")?.unwrap_or(settings.max_halvings),
                restarts: count(options, "restarts")?.unwrap_or(settings.restarts),
                canonical: get(options, "canonical")?.unwrap_or(settings.canonical),
                rescale: get(options, "rescale")?.unwrap_or(settings.rescale),
                threads: count(options, "threads")?,
                hessian_memory: settings.hessian_memory,
            },
            rank: rank(options)?,
            shrinkage: get(options, "shrinkage")?.unwrap_or(0.0),
            stop_decrement: get(options, "stop_decrement")?,
            keep_iterates: get(options, "keep_iterates")?.unwrap_or(false),
            checkpoint: get(options, "checkpoint")?,
            checkpoint_every: get(options, "checkpoint_every")?.unwrap_or(0.0),
        })
    }

    /// What concerns the set of matrices.
    pub fn for_set(&self, weights: Option<Vec<f64>>) -> SetOptions {
        SetOptions {
            weights,
            rank: self.rank,
            shrinkage: self.shrinkage,
            threads: self.settings.threads,
        }
    }

    /// What concerns a tracker, from the same dictionary.
    pub fn for_tracker(self, options: &Bound<'_, PyDict>) -> PyResult<TrackerSettings> {
        let defaults = TrackerSettings::default();
        Ok(TrackerSettings {
            window: count(options, "window")?.unwrap_or(defaults.window),
            forgetting: get(options, "forgetting")?.unwrap_or(defaults.forgetting),
            rank: self.rank,
            shrinkage: self.shrinkage,
            solve: self.settings,
        })
    }
}

/// An entry, None if it is absent or None; of the wrong type, an error that names it.
pub fn get<T>(options: &Bound<'_, PyDict>, name: &str) -> PyResult<Option<T>>
where
    T: for<'a, 'py> FromPyObject<'a, 'py, Error: Into<PyErr>>,
{
    let Some(value) = options.get_item(name)?.filter(|value| !value.is_none()) else {
        return Ok(None);
    };
    let extracted: Result<T, _> = value.extract();
    extracted.map(Some).map_err(|problem| {
        let problem: PyErr = problem.into();
        PyTypeError::new_err(format!("{name}: {}", problem.value(options.py())))
    })
}

/// A number that cannot be negative.
pub fn count(options: &Bound<'_, PyDict>, name: &str) -> PyResult<Option<usize>> {
    let Some(value) = get::<i64>(options, name)? else {
        return Ok(None);
    };
    let counted = usize::try_from(value);
    let counted = counted
        .map_err(|_| PyValueError::new_err(format!("{name} must not be negative, got {value}")))?;
    Ok(Some(counted))
}

fn start(options: &Bound<'_, PyDict>) -> PyResult<Start> {
    let Some(value) = options.get_item("start")? else {
        return Ok(Start::default());
    };
    if let Ok(name) = value.cast::<PyString>() {
        return name.to_cow()?.parse().map_err(bad_input);
    }
    let given: PyReadonlyArray2<'_, f64> = value.extract()?;
    Ok(Start::Given(matrix_from(&given)?))
}

/// To what dimension the set is reduced.
pub fn rank(options: &Bound<'_, PyDict>) -> PyResult<Rank> {
    let choices = || "rank must be \"full\", \"auto\" or a number from 1 to p";
    let Some(value) = options.get_item("rank")? else {
        return Ok(Rank::Full);
    };
    if let Ok(name) = value.cast::<PyString>() {
        return match &*name.to_cow()? {
            "full" => Ok(Rank::Full),
            "auto" => Ok(Rank::Auto),
            other => Err(PyValueError::new_err(format!(
                "{}, got {other:?}",
                choices()
            ))),
        };
    }
    let number: i64 = value
        .extract()
        .map_err(|_| PyTypeError::new_err(format!("{}, got {}", choices(), value.get_type())))?;
    match usize::try_from(number) {
        Ok(rank) if rank > 0 => Ok(Rank::Exactly(rank)),
        _ => Err(PyValueError::new_err(format!(
            "{}, got {number}",
            choices()
        ))),
    }
}
