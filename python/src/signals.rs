//! Recordings: from signals to matrices and sources, and back.

use std::ops::Range;

use codiag::Error;
use codiag::signals::{
    self, ArtefactKind, Bands, Components, Contrast, CovarianceOptions, Covariances, Cut, Epochs,
    Recording, Reference, Scale, Segments, Separated, Separation, Shrinkage, View,
};
use numpy::ndarray::{ArrayView2, ArrayViewMut2, s};
use numpy::{
    IntoPyArray, PyArray1, PyArray3, PyReadonlyArray1, PyReadonlyArray2, PyReadonlyArray3,
    PyReadwriteArray2, PyUntypedArrayMethods,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::convert::{cube, matrix_from, results};
use crate::observer::Watch;
use crate::options::{Keywords, Options};
use crate::words::bad_input;

/// A NumPy array of channels x samples, in any order, read where it is.
struct Channels<'a>(ArrayView2<'a, f64>);

impl Recording for Channels<'_> {
    fn channels(&self) -> usize {
        self.0.nrows()
    }

    fn samples(&self) -> usize {
        self.0.ncols()
    }

    fn read(&self, span: Range<usize>, out: &mut [f64]) -> Result<(), Error> {
        let mut out = ArrayViewMut2::from_shape((self.channels(), span.len()), out)
            .map_err(Error::external)?;
        out.assign(&self.0.slice(s![.., span]));
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
    // The library's own check: no recording is empty.
    if x.shape().contains(&0) {
        View::new(&[], x.shape()[0], x.shape()[1]).map_err(bad_input)?;
    }
    Ok(Channels(x.as_array()))
}

fn epochs<'a>(x: &'a PyReadonlyArray3<'_, f64>) -> PyResult<Epochs<'a>> {
    let shape = x.shape();
    Epochs::new(x.as_slice()?, shape[0], shape[1], shape[2]).map_err(bad_input)
}

/// Matrices, and by how much each was shrunk.
type Matrices<'py> = (Bound<'py, PyArray3<f64>>, Bound<'py, PyArray1<f64>>);

fn matrices(py: Python<'_>, made: Covariances) -> PyResult<Matrices<'_>> {
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
    let keywords = Keywords::new(options);
    let (segments, estimate) = (segments(&keywords)?, estimate(&keywords)?);
    keywords.finish()?;
    let recording = channels(&x)?;
    let made = py.detach(|| signals::segment_covariances(&recording, &segments, &estimate));
    matrices(py, made.map_err(bad_input)?)
}

/// One covariance per epoch, or one per class.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // as above
pub fn epoch_covariances<'py>(
    py: Python<'py>,
    x: PyReadonlyArray3<'py, f64>,
    labels: Option<Vec<usize>>,
    options: &Bound<'py, PyDict>,
) -> PyResult<Matrices<'py>> {
    let keywords = Keywords::new(options);
    let estimate = estimate(&keywords)?;
    keywords.finish()?;
    let epochs = epochs(&x)?;
    let made = py.detach(|| signals::epoch_covariances(&epochs, labels.as_deref(), &estimate));
    matrices(py, made.map_err(bad_input)?)
}

/// One cospectrum per band.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // as above
pub fn cospectra<'py>(
    py: Python<'py>,
    x: PyReadonlyArray2<'py, f64>,
    options: &Bound<'py, PyDict>,
) -> PyResult<Matrices<'py>> {
    let keywords = Keywords::new(options);
    let Some(bands) = bands(&keywords)? else {
        return Err(PyValueError::new_err("bands must be pairs of frequencies"));
    };
    let estimate = estimate(&keywords)?;
    keywords.finish()?;
    let recording = channels(&x)?;
    let made = py.detach(|| signals::cospectra(&recording, &bands, &estimate));
    matrices(py, made.map_err(bad_input)?)
}

/// Separates a recording, or epochs; returns the fields of a result by name, and those that only a
/// separation has. `options` are about signals, `solver` is as for `solve`.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // as above
pub fn separate<'py>(
    py: Python<'py>,
    x: Signals<'py>,
    labels: Option<Vec<usize>>,
    options: &Bound<'py, PyDict>,
    solver: &Bound<'py, PyDict>,
    callback: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let solver = Options::from_dict(solver)?;
    let mut watch = Watch::new(callback, &solver);
    let separation = separation(options, solver)?;
    let separated = match &x {
        Signals::Recording(x) => {
            let recording = channels(x)?;
            py.detach(|| separation.fit_with(&recording, &mut watch))
        }
        Signals::Epochs(x) => {
            let epochs = epochs(x)?;
            py.detach(|| separation.fit_epochs(&epochs, labels.as_deref(), &mut watch))
        }
    };
    watch.finish()?;
    fields(py, separated.map_err(bad_input)?)
}

fn fields(py: Python<'_>, separated: Separated) -> PyResult<Bound<'_, PyDict>> {
    let fields = results(py, separated.diagonalization)?;
    fields.set_item("variance_share", separated.variance_shares.into_pyarray(py))?;
    fields.set_item(
        "nonstationarity",
        separated.nonstationarity.into_pyarray(py),
    )?;
    let rivals: Vec<_> = separated
        .rivals
        .iter()
        .map(|rival| rival.map(|rival| (rival.source, rival.margin)))
        .collect();
    fields.set_item("rivals", rivals)?;
    fields.set_item("kept_variance", separated.kept_variance)?;
    fields.set_item("shrinkages", separated.shrinkages.into_pyarray(py))?;
    let spans = |piece: &Vec<Range<usize>>| -> Vec<_> {
        piece.iter().map(|span| (span.start, span.end)).collect()
    };
    let segments: Vec<_> = separated.segments.iter().map(spans).collect();
    fields.set_item("segments", segments)?;
    Ok(fields)
}

/// Writes M x to `out`.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // as above
pub fn apply(
    py: Python<'_>,
    matrix: PyReadonlyArray2<'_, f64>,
    x: PyReadonlyArray2<'_, f64>,
    mut out: PyReadwriteArray2<'_, f64>,
    threads: Option<usize>,
) -> PyResult<()> {
    let (matrix, recording) = (matrix_from(&matrix)?, channels(&x)?);
    let mut out = out.as_array_mut();
    let applied = py.detach(|| {
        signals::apply(&matrix, &recording, threads, &mut |at, part| {
            write(&mut out, at, part)
        })
    });
    applied.map_err(bad_input)
}

/// Writes x without some of its sources to `out`.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // as above
pub fn remove(
    py: Python<'_>,
    filters: PyReadonlyArray2<'_, f64>,
    patterns: PyReadonlyArray2<'_, f64>,
    exclude: Vec<usize>,
    x: PyReadonlyArray2<'_, f64>,
    mut out: PyReadwriteArray2<'_, f64>,
    threads: Option<usize>,
) -> PyResult<()> {
    let (filters, patterns) = (matrix_from(&filters)?, matrix_from(&patterns)?);
    let recording = channels(&x)?;
    let mut out = out.as_array_mut();
    let removed = py.detach(|| {
        let mut sink = |at: usize, part: &codiag::Matrix| write(&mut out, at, part);
        signals::remove(
            &filters, &patterns, &exclude, &recording, threads, &mut sink,
        )
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

/// A reference channel: its name, what it shows, and its samples.
type Shown<'py> = (String, String, PyReadonlyArray1<'py, f64>);

/// What a source looks like: kind, score and reason.
type Likeness = (&'static str, f64, String);

/// For each source what it looks like: kind, score and reason, the likeliest first.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // as above
pub fn artefacts(
    py: Python<'_>,
    sources: PyReadonlyArray2<'_, f64>,
    rate: f64,
    references: Vec<Shown<'_>>,
) -> PyResult<Vec<Vec<Likeness>>> {
    let references: PyResult<Vec<Reference<'_>>> = references
        .iter()
        .map(|(name, kind, signal)| {
            let (kind, signal) = (artefact_kind(kind)?, signal.as_slice()?);
            Ok(Reference::new(name, kind, signal))
        })
        .collect();
    let (references, samples) = (references?, sources.shape()[1]);
    let sources = sources.as_slice()?;
    Ok(py.detach(|| {
        let rows = sources.chunks_exact(samples.max(1));
        let one = |source| {
            let found = signals::artefacts(source, rate, &references);
            let described = found
                .into_iter()
                .map(|a| (a.kind.name(), a.score, a.reason));
            described.collect()
        };
        rows.map(one).collect()
    }))
}

fn artefact_kind(name: &str) -> PyResult<ArtefactKind> {
    let kinds = [
        ArtefactKind::Blink,
        ArtefactKind::Heartbeat,
        ArtefactKind::LineNoise,
        ArtefactKind::Muscle,
    ];
    let found = kinds.into_iter().find(|kind| kind.name() == name);
    found.ok_or_else(|| {
        let names = kinds.map(|kind| format!("{:?}", kind.name())).join(", ");
        PyValueError::new_err(format!("a reference shows one of {names}, got {name:?}"))
    })
}

#[allow(clippy::field_reassign_with_default)] // it will grow
fn separation(options: &Bound<'_, PyDict>, solver: Options) -> PyResult<Separation> {
    let keywords = Keywords::new(options);
    // Both are read, though one is used.
    let (bands, segments) = (bands(&keywords)?, segments(&keywords)?);
    let estimate = estimate(&keywords)?;
    let mut separation = Separation::default();
    separation.components = components(&keywords)?;
    keywords.finish()?;
    separation.contrast = match bands {
        Some(bands) => Contrast::Bands(bands),
        None => Contrast::Segments(segments),
    };
    separation.center = estimate.center;
    separation.scale = estimate.scale;
    separation.shrinkage = estimate.shrinkage;
    separation.threads = estimate.threads;
    separation.solver = solver.settings;
    Ok(separation)
}

/// A whole number of components, or a share of the variance.
fn components(keywords: &Keywords<'_, '_>) -> PyResult<Components> {
    if let Ok(number) = keywords.count("n_components") {
        return Ok(number.map_or(Components::All, Components::Number));
    }
    match keywords.get::<f64>("n_components")? {
        // A number that is negative.
        Some(share) if share.fract() == 0.0 => Err(PyValueError::new_err(format!(
            "n_components must be a number of components, or a share between 0 and 1, got {share}"
        ))),
        Some(share) => Ok(Components::Share(share)),
        None => Ok(Components::All),
    }
}

#[allow(clippy::field_reassign_with_default)] // it will grow
fn segments(keywords: &Keywords<'_, '_>) -> PyResult<Segments> {
    let mut segments = Segments::default();
    if let Some(count) = keywords.count("segments")? {
        segments.cut = Cut::Count(count);
    }
    if let Some(length) = keywords.count("segment_length")? {
        segments.cut = Cut::Length(length);
    }
    segments.overlap = keywords.get("overlap")?.unwrap_or(segments.overlap);
    segments.exclude = exclude(keywords)?;
    Ok(segments)
}

/// None if there are no bands.
fn bands(keywords: &Keywords<'_, '_>) -> PyResult<Option<Bands>> {
    let frequencies = keywords.get("bands")?;
    let rate = keywords.get("rate")?;
    let window_length = keywords.count("window_length")?;
    let window = keywords.get::<String>("window")?;
    let overlap = keywords.get("window_overlap")?;
    let exclude = exclude(keywords)?;
    let Some(frequencies) = frequencies else {
        return Ok(None);
    };
    let Some(rate) = rate else {
        return Err(PyValueError::new_err(
            "bands are in hertz: pass rate, the samples per second",
        ));
    };
    let mut bands = Bands::new(frequencies, rate);
    bands.window_length = window_length;
    if let Some(name) = window {
        bands.window = name.parse().map_err(bad_input)?;
    }
    bands.overlap = overlap.unwrap_or(bands.overlap);
    bands.exclude = exclude;
    Ok(Some(bands))
}

fn exclude(keywords: &Keywords<'_, '_>) -> PyResult<Vec<Range<usize>>> {
    let spans: Vec<(usize, usize)> = keywords.get("exclude")?.unwrap_or_default();
    Ok(spans.into_iter().map(|(from, to)| from..to).collect())
}

#[allow(clippy::field_reassign_with_default)] // it will grow
fn estimate(keywords: &Keywords<'_, '_>) -> PyResult<CovarianceOptions> {
    let mut estimate = CovarianceOptions::default();
    estimate.center = keywords.get("center")?.unwrap_or(estimate.center);
    estimate.scale = scale(keywords)?;
    estimate.shrinkage = shrinkage(keywords)?;
    estimate.threads = keywords.count("threads")?;
    Ok(estimate)
}

/// "rms", one group per channel (whole numbers), or one factor per channel.
fn scale(keywords: &Keywords<'_, '_>) -> PyResult<Scale> {
    let Some(value) = keywords.any("scale")? else {
        return Ok(Scale::Unchanged);
    };
    if let Ok(name) = value.cast::<PyString>() {
        return match &*name.to_cow()? {
            "rms" => Ok(Scale::UnitRms),
            other => Err(PyValueError::new_err(format!(
                "scale must be None, \"rms\", or one name or factor per channel, got {other:?}"
            ))),
        };
    }
    if let Ok(groups) = value.extract::<Vec<usize>>() {
        return Ok(Scale::Groups(groups));
    }
    let factors = value.extract().map(Scale::Given);
    factors.map_err(|_| PyTypeError::new_err("scale must be one number per channel"))
}

/// A number, or the name of a way to find it.
fn shrinkage(keywords: &Keywords<'_, '_>) -> PyResult<Shrinkage> {
    let Some(value) = keywords.any("shrinkage")? else {
        return Ok(Shrinkage::default());
    };
    if let Ok(name) = value.cast::<PyString>() {
        return name.to_cow()?.parse().map_err(bad_input);
    }
    let amount = keywords.get("shrinkage")?;
    Ok(amount.map_or(Shrinkage::default(), Shrinkage::Fixed))
}
