//! Recordings: matrices of signals, and sources.

mod options;

use std::ops::Range;

use codiag::signals::{
    self, Artifact, ArtifactDetector, ArtifactKind, Bands, CovarianceOptions, Covariances, Epochs,
    Evidence, Lags, Recording, RecordingView, ReferenceChannel, SegmentLength, SeparationResult,
    Thresholds,
};
use codiag::{Error, Scalar, c64};
use numpy::ndarray::{ArrayView2, ArrayViewMut2, s};
use numpy::{
    Element, IntoPyArray, PyArray1, PyArray2, PyArray3, PyReadonlyArray1, PyReadonlyArray2,
    PyReadonlyArray3, PyReadwriteArray2, PyUntypedArrayMethods,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::convert::{cube, matrix_from, matrix_to};
use crate::errors::bad_input;
use crate::observer::Watch;
use crate::options::{Keywords, Options};
use crate::result::SolveResult;
use options::{bad_spans, bands, components, estimate, segments, separation};

/// A NumPy array of channels x samples in any memory order, read in place.
struct Channels<'a>(ArrayView2<'a, f64>);

impl Recording for Channels<'_> {
    fn channels(&self) -> usize {
        self.0.nrows()
    }

    fn samples(&self) -> usize {
        self.0.ncols()
    }

    fn read(&self, span: Range<usize>, out: &mut [f64]) -> Result<(), Error> {
        let length = span.len();
        let some = self.0.slice(s![.., span]);
        if some.rows().into_iter().all(|row| row.as_slice().is_some()) {
            // Copying row by row is several times faster than `assign`.
            for (row, out) in some
                .rows()
                .into_iter()
                .zip(out.chunks_exact_mut(length.max(1)))
            {
                out.copy_from_slice(row.as_slice().unwrap_or_default());
            }
            return Ok(());
        }
        let mut out =
            ArrayViewMut2::from_shape((self.channels(), length), out).map_err(Error::external)?;
        out.assign(&some);
        Ok(())
    }
}

/// One recording, or epochs.
#[derive(FromPyObject)]
pub enum Signals<'py> {
    Recording(PyReadonlyArray2<'py, f64>),
    Epochs(PyReadonlyArray3<'py, f64>),
}

fn channels<'a>(x: &'a PyReadonlyArray2<'_, f64>) -> PyResult<Channels<'a>> {
    // Lets the library raise its error for an empty recording.
    if x.shape().contains(&0) {
        RecordingView::new(&[], x.shape()[0], x.shape()[1]).map_err(bad_input)?;
    }
    Ok(Channels(x.as_array()))
}

fn epochs<'a>(x: &'a PyReadonlyArray3<'_, f64>) -> PyResult<Epochs<'a>> {
    let shape = x.shape();
    Epochs::new(x.as_slice()?, shape[0], shape[1], shape[2]).map_err(bad_input)
}

/// Matrices, and the shrinkage of each.
type Matrices<'py, T = f64> = (Bound<'py, PyArray3<T>>, Bound<'py, PyArray1<f64>>);

fn matrices<T: Scalar + Element>(
    py: Python<'_>,
    made: Covariances<T>,
) -> PyResult<Matrices<'_, T>> {
    let shrinkages = made.shrinkages.into_pyarray(py);
    Ok((cube(py, (made.n, made.p), made.data)?, shrinkages))
}

/// One covariance per segment.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // arguments of Python functions are owned
pub fn segment_covariances<'py>(
    py: Python<'py>,
    x: PyReadonlyArray2<'py, f64>,
    options: &Bound<'py, PyDict>,
) -> PyResult<Matrices<'py>> {
    let keywords = Keywords::new(options)?;
    let (segments, estimate) = (segments(&keywords)?, estimate(&keywords)?);
    keywords.finish()?;
    let recording = channels(&x)?;
    let made = py.detach(|| signals::segment_covariances(&recording, &segments, &estimate));
    matrices(py, made.map_err(bad_input)?)
}

/// One covariance per epoch, or one per class.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // arguments of Python functions are owned
pub fn epoch_covariances<'py>(
    py: Python<'py>,
    x: PyReadonlyArray3<'py, f64>,
    y: Option<Vec<usize>>,
    options: &Bound<'py, PyDict>,
) -> PyResult<Matrices<'py>> {
    let keywords = Keywords::new(options)?;
    let estimate = estimate(&keywords)?;
    keywords.finish()?;
    let epochs = epochs(&x)?;
    let made = py.detach(|| signals::epoch_covariances(&epochs, y.as_deref(), &estimate));
    matrices(py, made.map_err(bad_input)?)
}

/// One cospectrum per band.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // arguments of Python functions are owned
pub fn cospectra<'py>(
    py: Python<'py>,
    x: PyReadonlyArray2<'py, f64>,
    options: &Bound<'py, PyDict>,
) -> PyResult<Matrices<'py>> {
    let (recording, (bands, estimate)) = (channels(&x)?, spectral(options)?);
    let made = py.detach(|| signals::cospectra(&recording, &bands, &estimate));
    matrices(py, made.map_err(bad_input)?)
}

/// One cross-spectrum per band.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // arguments of Python functions are owned
pub fn cross_spectra<'py>(
    py: Python<'py>,
    x: PyReadonlyArray2<'py, f64>,
    options: &Bound<'py, PyDict>,
) -> PyResult<Matrices<'py, c64>> {
    let (recording, (bands, estimate)) = (channels(&x)?, spectral(options)?);
    let made = py.detach(|| signals::cross_spectra(&recording, &bands, &estimate));
    matrices(py, made.map_err(bad_input)?)
}

/// Options of cospectra and cross-spectra.
fn spectral(options: &Bound<'_, PyDict>) -> PyResult<(Bands, CovarianceOptions)> {
    let keywords = Keywords::new(options)?;
    let Some(bands) = bands(&keywords)? else {
        return Err(PyValueError::new_err(
            "bands must be pairs of frequencies in hertz, such as [(1, 4), (4, 8)]",
        ));
    };
    let cut = segments(&keywords)?.length;
    let bands = bands.segment_length(Some(cut).filter(|cut| *cut != SegmentLength::Auto));
    let estimate = estimate(&keywords)?;
    keywords.finish()?;
    Ok((bands, estimate))
}

/// Fraction of the variance that slow drifts have.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // arguments of Python functions are owned
pub fn drift_fraction(
    py: Python<'_>,
    x: PyReadonlyArray2<'_, f64>,
    sfreq: f64,
    bad_spans: Vec<(usize, usize)>,
) -> PyResult<f64> {
    let recording = channels(&x)?;
    let spans: Vec<Range<usize>> = bad_spans.into_iter().map(|(from, to)| from..to).collect();
    let fraction = py.detach(|| signals::drift_fraction(&recording, sfreq, &spans));
    fraction.map_err(bad_input)
}

/// One lagged covariance per lag, segment by segment; for epochs, class by class.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // arguments of Python functions are owned
pub fn lagged_covariances<'py>(
    py: Python<'py>,
    x: Signals<'py>,
    y: Option<Vec<usize>>,
    lags: Vec<usize>,
    options: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyArray3<f64>>> {
    let keywords = Keywords::new(options)?;
    let (segments, estimate) = (segments(&keywords)?, estimate(&keywords)?);
    keywords.finish()?;
    let made = match &x {
        Signals::Recording(x) => {
            let (recording, lags) = (channels(x)?, Lags::new(lags).segments(segments));
            py.detach(|| signals::lagged_covariances(&recording, &lags, &estimate))
        }
        Signals::Epochs(x) => {
            let (epochs, y) = (epochs(x)?, y.as_deref());
            py.detach(|| signals::epoch_lagged_covariances(&epochs, y, &lags, &estimate))
        }
    };
    Ok(matrices(py, made.map_err(bad_input)?)?.0)
}

/// Cumulant matrices of a whitened recording, or of epochs, and the whitener.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // arguments of Python functions are owned
#[allow(clippy::type_complexity)] // a pair of arrays
pub fn cumulants<'py>(
    py: Python<'py>,
    x: Signals<'py>,
    options: &Bound<'py, PyDict>,
) -> PyResult<(Bound<'py, PyArray3<f64>>, Bound<'py, PyArray2<f64>>)> {
    let keywords = Keywords::new(options)?;
    let (components, bad_spans) = (components(&keywords)?, bad_spans(&keywords)?);
    let estimate = estimate(&keywords)?;
    keywords.finish()?;
    let made = match &x {
        Signals::Recording(x) => {
            let recording = channels(x)?;
            py.detach(|| signals::cumulants(&recording, components, &bad_spans, &estimate))
        }
        Signals::Epochs(x) => {
            let epochs = epochs(x)?;
            py.detach(|| signals::epoch_cumulants(&epochs, components, &estimate))
        }
    };
    let made = made.map_err(bad_input)?;
    Ok((
        matrices(py, made.matrices)?.0,
        matrix_to(py, made.whitener)?,
    ))
}

/// Separates a recording or epochs; returns the solver's result, and the quantities that only a
/// separation has, by name. `options` concern the signals, `solver` is as for `solve`.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // arguments of Python functions are owned
pub fn separate<'py>(
    py: Python<'py>,
    x: Signals<'py>,
    y: Option<Vec<usize>>,
    options: &Bound<'py, PyDict>,
    solver: &Bound<'py, PyDict>,
    callback: Option<Py<PyAny>>,
) -> PyResult<(SolveResult, Bound<'py, PyDict>)> {
    let solver = Options::from_dict(solver)?;
    let mut watch = Watch::new(callback, &solver);
    let names: Option<Vec<String>> = match options.get_item("names")? {
        Some(names) if !names.is_none() => Some(names.extract()?),
        _ => None,
    };
    let separation = separation(options, solver)?;
    let separated = match &x {
        Signals::Recording(x) => {
            let recording = channels(x)?;
            py.detach(|| separation.fit_with(&recording, &mut watch))
        }
        Signals::Epochs(x) => {
            let epochs = epochs(x)?;
            py.detach(|| separation.fit_epochs(&epochs, y.as_deref(), &mut watch))
        }
    };
    watch.finish()?;
    let mut separated = separated.map_err(|error| bad_recording(error, names))?;
    let found = details(py, &mut separated)?;
    Ok((SolveResult::new(separated.diagonalization), found))
}

/// An error that names a channel by its name, if it has one.
fn bad_recording(error: Error, names: Option<Vec<String>>) -> PyErr {
    match (&error, names) {
        (
            Error::SampleNotFinite {
                channel,
                sample,
                value,
            },
            Some(names),
        ) if *channel < names.len() => PyValueError::new_err(format!(
            "channel {}, sample {sample} is {value}, not a finite number: mark the channel as bad, or \
             annotate the span as BAD",
            names[*channel]
        )),
        _ => bad_input(error),
    }
}

/// The quantities that only a separation has, by name.
fn details<'py>(py: Python<'py>, separated: &mut SeparationResult) -> PyResult<Bound<'py, PyDict>> {
    use std::mem::take;
    let fields = PyDict::new(py);
    fields.set_item(
        "explained_variance_ratio",
        take(&mut separated.explained_variance_ratio).into_pyarray(py),
    )?;
    fields.set_item(
        "nonstationarity",
        take(&mut separated.nonstationarity).into_pyarray(py),
    )?;
    fields.set_item("kurtosis", take(&mut separated.kurtosis).into_pyarray(py))?;
    let margins: Vec<_> = separated
        .least_separable
        .iter()
        .map(|margin| margin.map(|margin| (margin.partner, margin.margin)))
        .collect();
    fields.set_item("least_separable", margins)?;
    fields.set_item(
        "explained_variance_ratio_total",
        separated.explained_variance_ratio_total,
    )?;
    fields.set_item("scale", take(&mut separated.scale).into_pyarray(py))?;
    fields.set_item(
        "shrinkages",
        take(&mut separated.shrinkages).into_pyarray(py),
    )?;
    let spans = |piece: &Vec<Range<usize>>| -> Vec<_> {
        piece.iter().map(|span| (span.start, span.end)).collect()
    };
    let segments: Vec<_> = separated.segments.iter().map(spans).collect();
    fields.set_item("segments", segments)?;
    Ok(fields)
}

/// Writes M x to `out`.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // arguments of Python functions are owned
pub fn apply(
    py: Python<'_>,
    matrix: PyReadonlyArray2<'_, f64>,
    x: PyReadonlyArray2<'_, f64>,
    mut out: PyReadwriteArray2<'_, f64>,
    n_jobs: Option<usize>,
) -> PyResult<()> {
    let (matrix, recording) = (matrix_from(&matrix)?, channels(&x)?);
    let mut out = out.as_array_mut();
    let applied = py.detach(|| {
        signals::apply(&matrix, &recording, n_jobs, &mut |at, part| {
            write(&mut out, at, part)
        })
    });
    applied.map_err(bad_input)
}

/// Writes x without some of its sources to `out`.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // arguments of Python functions are owned
pub fn remove(
    py: Python<'_>,
    filters: PyReadonlyArray2<'_, f64>,
    patterns: PyReadonlyArray2<'_, f64>,
    exclude: Vec<usize>,
    x: PyReadonlyArray2<'_, f64>,
    mut out: PyReadwriteArray2<'_, f64>,
    n_jobs: Option<usize>,
) -> PyResult<()> {
    let (filters, patterns) = (matrix_from(&filters)?, matrix_from(&patterns)?);
    let recording = channels(&x)?;
    let mut out = out.as_array_mut();
    let removed = py.detach(|| {
        let mut sink = |at: usize, part: &codiag::Matrix| write(&mut out, at, part);
        signals::remove(&filters, &patterns, &exclude, &recording, n_jobs, &mut sink)
    });
    removed.map_err(bad_input)
}

fn write(out: &mut ArrayViewMut2<'_, f64>, at: usize, part: &codiag::Matrix) -> Result<(), Error> {
    let shape = (part.rows(), part.columns());
    let part = ArrayView2::from_shape(shape, part.as_slice());
    let part = part.map_err(Error::external)?;
    out.slice_mut(s![.., at..at + shape.1]).assign(&part);
    Ok(())
}

/// A reference channel: its name, the artifact that it shows, and its samples.
type Reference<'py> = (String, String, PyReadonlyArray1<'py, f64>);

/// An artifact that a source resembles: kind, score, reason, reference channel and measure.
type ArtifactFields = (
    &'static str,
    f64,
    String,
    Option<String>,
    Option<&'static str>,
);

fn fields_of(artifact: &Artifact) -> ArtifactFields {
    let measure = match artifact.evidence {
        Evidence::Correlation(_) => Some("correlation"),
        Evidence::Phase(_) => Some("phase"),
        _ => None,
    };
    (
        artifact.kind.name(),
        artifact.score,
        artifact.reason.clone(),
        artifact.evidence.reference().map(str::to_owned),
        measure,
    )
}

/// Of a source: all scores with their thresholds, and the artifacts that it resembles by descending
/// score.
type Scored = (Vec<(ArtifactFields, f64)>, Vec<ArtifactFields>);

/// Scores of each source for every kind of artifact.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // arguments of Python functions are owned
pub fn find_artifacts(
    py: Python<'_>,
    sources: PyReadonlyArray2<'_, f64>,
    sfreq: f64,
    references: Vec<Reference<'_>>,
    thresholds: &Bound<'_, PyDict>,
) -> PyResult<Vec<Scored>> {
    let references: PyResult<Vec<ReferenceChannel<'_>>> = references
        .iter()
        .map(|(name, kind, signal)| {
            let (kind, signal) = (artifact_kind(kind)?, signal.as_slice()?);
            Ok(ReferenceChannel::new(name, kind, signal))
        })
        .collect();
    let (references, samples) = (references?, sources.shape()[1]);
    let thresholds = chosen_thresholds(thresholds)?;
    let sources = sources.as_slice()?;
    Ok(py.detach(|| {
        let detector = ArtifactDetector::new(sfreq, &references);
        let one = |source| {
            let scores = detector.scores(source);
            let flagged = thresholds.flagged(&scores);
            let scored = scores.iter().map(|a| (fields_of(a), thresholds.of(a)));
            (scored.collect(), flagged.iter().map(fields_of).collect())
        };
        sources.chunks_exact(samples.max(1)).map(one).collect()
    }))
}

fn chosen_thresholds(chosen: &Bound<'_, PyDict>) -> PyResult<Thresholds> {
    let mut thresholds = Thresholds::default();
    for (name, value) in chosen {
        let (name, value): (String, f64) = (name.extract()?, value.extract()?);
        let place = match name.as_str() {
            "blink" => &mut thresholds.blink,
            "heartbeat" => &mut thresholds.heartbeat,
            "line noise" => &mut thresholds.line_noise,
            "muscle" => &mut thresholds.muscle,
            "correlation" => &mut thresholds.correlation,
            "phase" => &mut thresholds.phase,
            _ => {
                return Err(PyValueError::new_err(format!(
                    "thresholds must have the names \"blink\", \"heartbeat\", \"line noise\", \"muscle\", \
                     \"correlation\" or \"phase\", got {name:?}"
                )));
            }
        };
        if value.is_nan() {
            return Err(PyValueError::new_err(format!(
                "the threshold of {name:?} must be a number, got nan"
            )));
        }
        *place = value;
    }
    Ok(thresholds)
}

fn artifact_kind(name: &str) -> PyResult<ArtifactKind> {
    let kinds = ArtifactKind::ALL;
    let found = kinds.into_iter().find(|kind| kind.name() == name);
    found.ok_or_else(|| {
        let names = kinds.map(|kind| format!("{:?}", kind.name())).join(", ");
        PyValueError::new_err(format!(
            "the kind of a reference must be one of {names}, got {name:?}"
        ))
    })
}
