//! Conversion of Python's keyword arguments to the settings of the library.

use std::cell::Cell;
use std::time::Duration;

use codiag::{Init, Rank, SetOptions, Settings, TrackerSettings};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyDict, PyString};

use crate::convert::{MatrixArg, matrix_from};
use crate::errors::bad_input;

/// A dictionary of keyword arguments, all optional. Unknown ones raise `TypeError`.
pub struct Keywords<'py> {
    /// Extracted once, because a lookup in the dictionary would have to create a Python string.
    entries: Vec<Entry<'py>>,
}

struct Entry<'py> {
    name: PyBackedStr,
    value: Bound<'py, PyAny>,
    /// Whether it was read.
    is_read: Cell<bool>,
}

impl<'py> Keywords<'py> {
    pub fn new(dict: &Bound<'py, PyDict>) -> PyResult<Self> {
        let entry = |(name, value): (Bound<'py, PyAny>, _)| -> PyResult<Entry<'py>> {
            Ok(Entry {
                name: name.extract()?,
                value,
                is_read: Cell::new(false),
            })
        };
        let entries: PyResult<_> = dict.iter().map(entry).collect();
        Ok(Self { entries: entries? })
    }

    /// An entry; None if it is absent or None.
    pub fn any(&self, name: &str) -> Option<&Bound<'py, PyAny>> {
        let entry = self.entries.iter().find(|entry| *entry.name == *name)?;
        entry.is_read.set(true);
        Some(&entry.value).filter(|value| !value.is_none())
    }

    /// The value of an entry; `TypeError` names an entry of another type.
    pub fn get<T>(&self, name: &str) -> PyResult<Option<T>>
    where
        T: for<'b> FromPyObject<'b, 'py, Error: Into<PyErr>>,
    {
        let Some(value) = self.any(name) else {
            return Ok(None);
        };
        let extracted: Result<T, _> = value.extract();
        extracted.map(Some).map_err(|problem| {
            let problem: PyErr = problem.into();
            wrong_type(name, value, &problem)
        })
    }

    /// An integer that is not negative.
    pub fn count(&self, name: &str) -> PyResult<Option<usize>> {
        let Some(value) = self.get::<i64>(name)? else {
            return Ok(None);
        };
        let counted = usize::try_from(value).map_err(|_| {
            PyValueError::new_err(format!("{name} must not be negative, got {value}"))
        })?;
        Ok(Some(counted))
    }

    /// Raises `TypeError` if an entry was not read.
    pub fn finish(self) -> PyResult<()> {
        match self.entries.iter().find(|entry| !entry.is_read.get()) {
            None => Ok(()),
            Some(Entry { name, .. }) => Err(PyTypeError::new_err(format!(
                "there is no option {:?}",
                &**name
            ))),
        }
    }
}

/// The error for a value of the wrong type; `problem` is Python's own, if none is better.
fn wrong_type(name: &str, value: &Bound<'_, PyAny>, problem: &PyErr) -> PyErr {
    let shown = value.repr().map(|text| text.to_string());
    let shown = shown.unwrap_or_else(|_| value.get_type().to_string());
    let text = problem.value(value.py()).to_string();
    let message = if text.contains("as an integer") {
        format!("{name} must be an integer, got {shown}")
    } else if text.contains("must be real number") {
        format!("{name} must be a number, got {shown}")
    } else if text.contains("cannot be cast as 'bool'") || text.contains("'bool'") {
        format!("{name} must be True or False, got {shown}")
    } else if text.contains("cannot be cast as 'str'") || text.contains("'str'") {
        format!("{name} must be a string, got {shown}")
    } else {
        format!("{name}: {text}")
    };
    PyTypeError::new_err(message)
}

/// All options of a solve.
pub struct Options {
    pub settings: Settings,
    /// Options of the set, except its weights.
    pub set: SetOptions,
    /// Threshold of the decrement of a sweep below which the solve ends: the stopping rule of
    /// Pham's method in other packages.
    pub stop_decrement: Option<f64>,
    /// Threshold of the largest sine of a sweep's rotations at which the solve ends: the stopping
    /// rule of Jacobi's method in other packages.
    pub stop_step: Option<f64>,
    /// Whether every B along the way is kept.
    pub keep_iterates: bool,
    /// Whether the callback receives B, too.
    pub show_iterates: bool,
    /// Function called with B regularly, and the time between calls.
    pub checkpoint: Option<(Py<PyAny>, Duration)>,
}

impl Options {
    pub fn from_dict(dict: &Bound<'_, PyDict>) -> PyResult<Self> {
        let keywords = Keywords::new(dict)?;
        let options = Self::read(&keywords)?;
        keywords.finish()?;
        Ok(options)
    }

    fn read(keywords: &Keywords<'_>) -> PyResult<Self> {
        Ok(Self {
            settings: settings(keywords)?,
            set: set_options(keywords)?,
            stop_decrement: keywords.get("stop_decrement")?,
            stop_step: keywords.get("stop_step")?,
            keep_iterates: keywords.get("keep_iterates")?.unwrap_or(false),
            show_iterates: keywords.get("show_iterates")?.unwrap_or(false),
            checkpoint: checkpoint(keywords)?,
        })
    }

    /// Options of the set of matrices.
    pub fn for_set(&self, weights: Option<Vec<f64>>) -> SetOptions {
        self.set.clone().weights(weights)
    }
}

/// Settings of a tracker.
pub fn tracker_settings(dict: &Bound<'_, PyDict>) -> PyResult<TrackerSettings> {
    let keywords = Keywords::new(dict)?;
    let Options { settings, set, .. } = Options::read(&keywords)?;
    let mut tracker = TrackerSettings::default();
    tracker.window = keywords.count("window")?.unwrap_or(tracker.window);
    tracker.forgetting = keywords.get("forgetting")?.unwrap_or(tracker.forgetting);
    keywords.finish()?;
    tracker.criterion = set.criterion;
    tracker.n_components = set.n_components;
    tracker.shrinkage = set.shrinkage;
    tracker.symmetrize = set.symmetrize;
    tracker.n_jobs = set.n_jobs;
    tracker.solve = settings;
    Ok(tracker)
}

fn settings(keywords: &Keywords<'_>) -> PyResult<Settings> {
    let mut settings = Settings::default();
    if let Some(name) = keywords.get::<PyBackedStr>("method")? {
        settings.method = name.parse().map_err(bad_input)?;
    }
    if let Some(init) = init(keywords)? {
        settings.init = init;
    }
    let flag = |name, default| -> PyResult<bool> { Ok(keywords.get(name)?.unwrap_or(default)) };
    let number = |name, default| -> PyResult<f64> { Ok(keywords.get(name)?.unwrap_or(default)) };
    let count = |name, default| -> PyResult<usize> { Ok(keywords.count(name)?.unwrap_or(default)) };
    settings.orthogonal = flag("orthogonal", settings.orthogonal)?;
    settings.tol = number("tol", settings.tol)?;
    settings.max_iter = count("max_iter", settings.max_iter)?;
    settings.lambda_min = number("lambda_min", settings.lambda_min)?;
    settings.max_halvings = count("max_halvings", settings.max_halvings)?;
    settings.n_restarts = count("n_restarts", settings.n_restarts)?;
    settings.n_resamples = count("n_resamples", settings.n_resamples)?;
    if let Some(name) = keywords.get::<PyBackedStr>("sort_by")? {
        settings.sort_by = name.parse().map_err(bad_input)?;
    }
    settings.canonical = flag("canonical", settings.canonical)?;
    settings.rescale = flag("rescale", settings.rescale)?;
    Ok(settings)
}

fn set_options(keywords: &Keywords<'_>) -> PyResult<SetOptions> {
    let mut options = SetOptions::default();
    if let Some(name) = keywords.get::<PyBackedStr>("criterion")? {
        options.criterion = name.parse().map_err(bad_input)?;
    }
    options.n_components = n_components(keywords)?;
    options.shrinkage = keywords.get("shrinkage")?.unwrap_or(options.shrinkage);
    options.symmetrize = keywords.get("symmetrize")?.unwrap_or(options.symmetrize);
    options.n_jobs = keywords.count("n_jobs")?;
    Ok(options)
}

fn init(keywords: &Keywords<'_>) -> PyResult<Option<Init>> {
    let Some(value) = keywords.any("init") else {
        return Ok(None);
    };
    if let Ok(name) = value.cast::<PyString>() {
        return name.to_cow()?.parse().map(Some).map_err(bad_input);
    }
    Ok(Some(match value.extract()? {
        MatrixArg::Real(given) => Init::Given(matrix_from(&given)?),
        MatrixArg::Complex(given) => Init::GivenComplex(matrix_from(&given)?),
    }))
}

fn checkpoint(keywords: &Keywords<'_>) -> PyResult<Option<(Py<PyAny>, Duration)>> {
    let every: f64 = keywords.get("checkpoint_every")?.unwrap_or(0.0);
    let Some(save) = keywords.any("checkpoint") else {
        return Ok(None);
    };
    let every = Duration::try_from_secs_f64(every)
        .map_err(|problem| PyValueError::new_err(format!("checkpoint_every: {problem}")))?;
    Ok(Some((save.clone().unbind(), every)))
}

/// Dimension to which the set is reduced.
fn n_components(keywords: &Keywords<'_>) -> PyResult<Rank> {
    let choices = || "n_components must be None, \"auto\" or a number from 1 to p";
    let Some(value) = keywords.any("n_components") else {
        return Ok(Rank::Full);
    };
    if let Ok(name) = value.cast::<PyString>() {
        return match &*name.to_cow()? {
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
