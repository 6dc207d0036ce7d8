//! From the keyword arguments of Python to the settings of the library.

use std::cell::Cell;
use std::time::Duration;

use codiag::{Init, Rank, SetOptions, Settings, TrackerSettings};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyDict, PyString};

use crate::convert::{MatrixArg, matrix_from};
use crate::errors::bad_input;

/// A dictionary of keyword arguments, which may leave out whatever stays at its default. One that
/// nobody asks for is refused.
pub struct Keywords<'py> {
    /// Taken out of the dictionary once: to look each name up there would take longer, for it must be made an object first.
    entries: Vec<Entry<'py>>,
}

struct Entry<'py> {
    name: PyBackedStr,
    value: Bound<'py, PyAny>,
    /// Whether it has been asked for.
    met: Cell<bool>,
}

impl<'py> Keywords<'py> {
    pub fn new(dict: &Bound<'py, PyDict>) -> PyResult<Self> {
        let entry = |(name, value): (Bound<'py, PyAny>, _)| -> PyResult<Entry<'py>> {
            Ok(Entry {
                name: name.extract()?,
                value,
                met: Cell::new(false),
            })
        };
        let entries: PyResult<_> = dict.iter().map(entry).collect();
        Ok(Self { entries: entries? })
    }

    /// An entry; None if it is absent or None.
    pub fn any(&self, name: &str) -> Option<&Bound<'py, PyAny>> {
        let entry = self.entries.iter().find(|entry| *entry.name == *name)?;
        entry.met.set(true);
        Some(&entry.value).filter(|value| !value.is_none())
    }

    /// The same as a value of some type; if it is none, an error that names it.
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
            PyTypeError::new_err(format!("{name}: {}", problem.value(value.py())))
        })
    }

    /// A number that cannot be negative.
    pub fn count(&self, name: &str) -> PyResult<Option<usize>> {
        let Some(value) = self.get::<i64>(name)? else {
            return Ok(None);
        };
        let counted = usize::try_from(value).map_err(|_| {
            PyValueError::new_err(format!("{name} must not be negative, got {value}"))
        })?;
        Ok(Some(counted))
    }

    /// Refuses what was not asked for.
    pub fn finish(self) -> PyResult<()> {
        match self.entries.iter().find(|entry| !entry.met.get()) {
            None => Ok(()),
            Some(Entry { name, .. }) => Err(PyTypeError::new_err(format!(
                "there is no option {:?}",
                &**name
            ))),
        }
    }
}

/// All choices of a solve.
pub struct Options {
    pub settings: Settings,
    /// How the set is made, but for its weights.
    pub set: SetOptions,
    /// Ends the solve when a sweep's decrement falls below this: the stopping rule of Pham's method
    /// in other packages.
    pub stop_decrement: Option<f64>,
    /// Ends the solve when the largest sine of a sweep's rotations is at most this: the stopping rule
    /// of Jacobi's method in other packages.
    pub stop_step: Option<f64>,
    /// Whether every B along the way is kept.
    pub keep_iterates: bool,
    /// Whether the callback is shown B, too.
    pub show_iterates: bool,
    /// Called with B every so often.
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

    /// What concerns the set of matrices.
    pub fn for_set(&self, weights: Option<Vec<f64>>) -> SetOptions {
        self.set.clone().weights(weights)
    }
}

/// What concerns a tracker, from a dictionary of its own.
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

/// To what dimension the set is reduced.
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
