//! HTML reports of results and separations, by the functions that the program uses.

use codiag::error::Error;
use codiag::signals::{
    ArtifactKind, Bands, Contrast, Lags, RecordingView, ReferenceChannel, Segments, Spans,
};
use codiag::{Criterion, Matrix, MatrixSet, Rank, Scalar, SetOptions, SortBy, Stability, Status};
use codiag_cli::report::{
    self, Comparison, DiagonalizationReport, HistoryPoint, Provenance, SeparationReport,
    SolveResult, Sources, StabilityEstimate,
};
use numpy::{Element, PyReadonlyArray1, PyReadonlyArray2, PyReadonlyArray3, PyUntypedArrayMethods};
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::convert::matrix_from;
use crate::errors::bad_input;

/// Matrices of a result: C-contiguous, real or complex.
#[derive(FromPyObject)]
pub enum Matrices<'py> {
    Real(PyReadonlyArray3<'py, f64>),
    Complex(PyReadonlyArray3<'py, codiag::c64>),
}

/// Fields of a result or of a separation by name.
struct Fields<'a, 'py>(&'a Bound<'py, PyDict>);

impl<'py> Fields<'_, 'py> {
    /// Returns a field; None if it is None.
    fn optional<T>(&self, name: &str) -> PyResult<Option<T>>
    where
        T: for<'b> FromPyObject<'b, 'py, Error: Into<PyErr>>,
    {
        match self.0.get_item(name)? {
            Some(value) if !value.is_none() => value.extract().map(Some).map_err(Into::into),
            _ => Ok(None),
        }
    }

    fn get<T>(&self, name: &str) -> PyResult<T>
    where
        T: for<'b> FromPyObject<'b, 'py, Error: Into<PyErr>>,
    {
        let missing = || PyKeyError::new_err(name.to_owned());
        self.optional(name)?.ok_or_else(missing)
    }

    fn numbers(&self, name: &str) -> PyResult<Vec<f64>> {
        let array: Option<PyReadonlyArray1<'py, f64>> = self.optional(name)?;
        let numbers = array.map(|array| array.as_array().to_vec());
        Ok(numbers.unwrap_or_default())
    }

    fn matrix<T: Scalar + Element>(&self, name: &str) -> PyResult<Matrix<T>> {
        matrix_from(&self.get::<PyReadonlyArray2<'py, T>>(name)?)
    }

    fn name<T: std::str::FromStr<Err = Error>>(&self, name: &str) -> PyResult<T> {
        self.get::<String>(name)?.parse().map_err(bad_input)
    }
}

/// Result of a solve as Python holds it.
struct StoredResult<T> {
    b: Matrix<T>,
    a: Matrix<T>,
    criterion: Criterion,
    status: Status,
    n_iter: usize,
    loss: f64,
    gradient_norm: f64,
    powers: Matrix,
    residuals: Vec<f64>,
    start_losses: Vec<f64>,
    identifiability: Option<(f64, (usize, usize))>,
    condition_number: f64,
    history: Vec<HistoryPoint>,
    stability: Vec<f64>,
    /// Number of trials that the stability was estimated from.
    trials: usize,
}

impl<T: Scalar + Element> StoredResult<T> {
    fn new(dict: &Bound<'_, PyDict>) -> PyResult<Self> {
        let fields = Fields(dict);
        let status: String = fields.get("status")?;
        let iterations: Vec<usize> = fields.get("iterations")?;
        let points = iterations.into_iter();
        let points = points.zip(fields.numbers("losses")?);
        let points = points.zip(fields.numbers("gradient_norms")?);
        Ok(Self {
            b: fields.matrix("B")?,
            a: fields.matrix("A")?,
            criterion: fields.name("criterion")?,
            status: status_named(&status)?,
            n_iter: fields.get("n_iter")?,
            loss: fields.get("loss")?,
            gradient_norm: fields.get("gradient_norm")?,
            powers: fields.matrix("powers")?,
            residuals: fields.numbers("residuals")?,
            start_losses: fields.numbers("start_losses")?,
            identifiability: fields.optional("identifiability")?,
            condition_number: fields.get("condition_number")?,
            history: points
                .map(|((iteration, loss), gradient_norm)| HistoryPoint {
                    iteration,
                    loss,
                    gradient_norm,
                })
                .collect(),
            stability: fields.numbers("stability")?,
            trials: fields.optional("trials")?.unwrap_or(0),
        })
    }

    fn view(&self) -> SolveResult<'_, T> {
        let stability = (!self.stability.is_empty()).then(|| {
            let starts = self.close_restarts().min(self.trials);
            StabilityEstimate {
                values: &self.stability,
                resamples: self.trials - starts,
                starts,
            }
        });
        SolveResult {
            b: &self.b,
            a: &self.a,
            criterion: self.criterion,
            status: self.status,
            n_iter: self.n_iter,
            loss: self.loss,
            gradient_norm: self.gradient_norm,
            powers: &self.powers,
            residuals: &self.residuals,
            start_losses: &self.start_losses,
            identifiability: self.identifiability,
            condition_number: self.condition_number,
            history: self.history.clone(),
            stability,
        }
    }

    /// Number of starts other than the best one whose loss is close enough to the lowest for the
    /// stability.
    fn close_restarts(&self) -> usize {
        let losses = || self.start_losses.iter();
        let lowest = losses().copied().fold(f64::INFINITY, f64::min);
        let limit = lowest + Stability::LOSS_MARGIN * lowest.abs();
        losses()
            .filter(|loss| **loss <= limit)
            .count()
            .saturating_sub(1)
    }
}

fn status_named(name: &str) -> PyResult<Status> {
    let all = [
        Status::Converged,
        Status::MaxIter,
        Status::Stalled,
        Status::Interrupted,
        Status::Collinear,
    ];
    let found = all.into_iter().find(|status| status.name() == name);
    found.ok_or_else(|| PyValueError::new_err(format!("unknown status {name:?}")))
}

/// Returns the report of a result as HTML. `result` has its fields by name; `options` has title,
/// matrices (their number), sample_weight, shrinkage, tol, seconds, command and settings.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // arguments of Python functions are owned
pub fn result_report(
    py: Python<'_>,
    result: &Bound<'_, PyDict>,
    c: Option<Matrices<'_>>,
    options: &Bound<'_, PyDict>,
) -> PyResult<String> {
    match c {
        Some(Matrices::Complex(c)) => {
            result_page(py, &StoredResult::new(result)?, Some(&c), options)
        }
        Some(Matrices::Real(c)) => result_page(py, &StoredResult::new(result)?, Some(&c), options),
        None if Fields(result).get::<bool>("complex")? => {
            result_page::<codiag::c64>(py, &StoredResult::new(result)?, None, options)
        }
        None => result_page::<f64>(py, &StoredResult::new(result)?, None, options),
    }
}

fn result_page<T: Scalar + Element>(
    py: Python<'_>,
    stored: &StoredResult<T>,
    c: Option<&PyReadonlyArray3<'_, T>>,
    options: &Bound<'_, PyDict>,
) -> PyResult<String> {
    let fields = Fields(options);
    let (title, matrices): (String, usize) = (fields.get("title")?, fields.get("matrices")?);
    let weights: Option<Vec<f64>> = fields.optional("sample_weight")?;
    let shrinkage: f64 = fields.optional("shrinkage")?.unwrap_or(0.0);
    let (tol, seconds) = (fields.optional("tol")?, fields.optional("seconds")?);
    let provenance = provenance(&fields)?;
    let size = stored.b.columns();
    let set_options = SetOptions::default()
        .criterion(stored.criterion)
        .weights(weights.clone())
        .shrinkage(shrinkage)
        .symmetrize(true)
        .n_components(if stored.b.rows() < size {
            Rank::Exactly(stored.b.rows())
        } else {
            Rank::Full
        });
    let data = match c {
        Some(c) => {
            if c.shape()[1] != size {
                return Err(PyValueError::new_err(format!(
                    "C has matrices of {} rows, but B has {size} columns",
                    c.shape()[1]
                )));
            }
            Some((c.as_slice()?, c.shape()[0]))
        }
        None => None,
    };
    let page = py.detach(|| -> Result<String, Error> {
        let set = match data {
            Some((data, n)) => Some(MatrixSet::with_options(data, n, size, &set_options)?),
            None => None,
        };
        let solve = stored.view();
        let comparison = set.and_then(|set| Comparison::of(&set, &solve));
        let warnings = report::diagonalization_warnings(&solve);
        Ok(report::diagonalization(&DiagonalizationReport {
            input: &title,
            matrices,
            size,
            weights: weights.as_deref(),
            result: solve,
            method: None,
            sort_by: None,
            tol,
            seconds,
            warnings: &warnings,
            comparison: comparison.as_ref(),
            provenance: &provenance,
            files: false,
        }))
    });
    page.map_err(bad_input)
}

fn provenance(fields: &Fields<'_, '_>) -> PyResult<Provenance> {
    Ok(Provenance {
        command: fields.optional("command")?,
        settings: fields.optional("settings")?.unwrap_or_default(),
    })
}

/// A reference channel: its name, the kind of artifact that it records, and its samples.
type Reference<'py> = (String, String, PyReadonlyArray1<'py, f64>);

/// Returns the report of a separation as HTML. `x` is the recording, channels x samples and
/// C-contiguous. `result` has the fields of the result by name, `found` those of the separation,
/// and `options` what is known of the recording and what is shown.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // arguments of Python functions are owned
pub fn separation_report(
    py: Python<'_>,
    x: PyReadonlyArray2<'_, f64>,
    result: &Bound<'_, PyDict>,
    found: &Bound<'_, PyDict>,
    options: &Bound<'_, PyDict>,
) -> PyResult<String> {
    let stored = StoredResult::<f64>::new(result)?;
    let (found, options) = (Fields(found), Fields(options));
    let spans: Vec<Vec<(usize, usize)>> = found.get("segments")?;
    let segments: Vec<Spans> = spans
        .into_iter()
        .map(|piece| piece.into_iter().map(|(from, to)| from..to).collect())
        .collect();
    let ratio = found.numbers("explained_variance_ratio")?;
    let (nonstationarity, kurtosis) = (
        found.numbers("nonstationarity")?,
        found.numbers("kurtosis")?,
    );
    let title: String = options.get("title")?;
    let sfreq: Option<f64> = options.optional("sfreq")?;
    let names: Vec<String> = options.get("names")?;
    let positions: Vec<Option<[f64; 2]>> = options.optional("positions")?.unwrap_or_default();
    let types: Vec<String> = options.optional("types")?.unwrap_or_default();
    let bad_spans: Vec<[usize; 2]> = options.optional("bad_spans")?.unwrap_or_default();
    let exclude: Vec<usize> = options.optional("exclude")?.unwrap_or_default();
    let named: Vec<Reference<'_>> = options.optional("references")?.unwrap_or_default();
    let references: PyResult<Vec<ReferenceChannel<'_>>> = named
        .iter()
        .map(|(name, kind, signal)| {
            let known = ArtifactKind::ALL.into_iter().find(|k| k.name() == kind);
            let unknown = || PyValueError::new_err(format!("unknown kind of artifact {kind:?}"));
            let kind = known.ok_or_else(unknown)?;
            Ok(ReferenceChannel::new(name, kind, signal.as_slice()?))
        })
        .collect();
    let (references, contrast, sort_by) = (
        references?,
        contrast(&found, sfreq)?,
        found.name::<SortBy>("sort_by")?,
    );
    let sources = Sources {
        solve: stored.view(),
        explained_variance_ratio: &ratio,
        explained_variance_ratio_total: found.get("explained_variance_ratio_total")?,
        nonstationarity: &nonstationarity,
        kurtosis: &kurtosis,
        least_separable: found.get("least_separable")?,
        segments: &segments,
    };
    let (tol, seconds) = (options.get("tol")?, options.optional("seconds")?);
    let provenance = provenance(&options)?;
    let recording = RecordingView::new(x.as_slice()?, x.shape()[0], x.shape()[1]);
    let recording = recording.map_err(bad_input)?;
    let page = py.detach(|| {
        report::separation(SeparationReport {
            input: &title,
            recording: &recording,
            sfreq,
            names: &names,
            positions: &positions,
            types: &types,
            bad_spans: &bad_spans,
            references: &references,
            contrast: &contrast,
            sort_by,
            sources,
            tol,
            seconds,
            exclude: &exclude,
            provenance: &provenance,
        })
    });
    page.map_err(bad_input)
}

/// The property by which sources were separated, as far as the report shows it.
fn contrast(found: &Fields<'_, '_>, sfreq: Option<f64>) -> PyResult<Contrast> {
    if let Some(lags) = found.optional::<Vec<usize>>("lags")? {
        return Ok(Contrast::Lags(Lags::new(lags)));
    }
    if let Some(bands) = found.optional::<Vec<(f64, f64)>>("bands")? {
        return Ok(Contrast::Bands(Bands::new(bands, sfreq.unwrap_or(1.0))));
    }
    if found.numbers("kurtosis")?.is_empty() {
        return Ok(Contrast::Segments(Segments::default()));
    }
    Ok(Contrast::Cumulants {
        bad_spans: Vec::new(),
    })
}
