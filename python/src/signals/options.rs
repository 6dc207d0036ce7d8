//! Conversion of Python's keyword arguments to the options of recordings.

use std::ops::Range;

use codiag::signals::{
    Bands, Components, Contrast, CovarianceOptions, Lags, Scale, SegmentLength, Segments,
    Separation, Shrinkage,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::errors::bad_input;
use crate::options::{Keywords, Options};

/// All options of a separation.
#[allow(clippy::field_reassign_with_default)] // it will grow
pub fn separation(options: &Bound<'_, PyDict>, solver: Options) -> PyResult<Separation> {
    let keywords = Keywords::new(options)?;
    // All are read, but only one is used.
    let (bands, segments) = (bands(&keywords)?, segments(&keywords)?);
    let lags = keywords.get::<Vec<usize>>("lags")?;
    let orthogonal = keywords.get("orthogonal")?.unwrap_or(true);
    let cumulants = keywords.get("cumulants")?.unwrap_or(false);
    let estimate = estimate(&keywords)?;
    // Used for error messages only.
    keywords.any("names");
    let mut separation = Separation::default();
    separation.n_components = components(&keywords)?;
    keywords.finish()?;
    separation.contrast = match (bands, lags) {
        // Bands of segments, if those were asked for.
        (Some(bands), _) => Contrast::Bands(
            bands.segment_length(Some(segments.length).filter(|cut| *cut != SegmentLength::Auto)),
        ),
        (None, Some(lags)) => {
            Contrast::Lags(Lags::new(lags).segments(segments).orthogonal(orthogonal))
        }
        (None, None) if cumulants => Contrast::Cumulants {
            bad_spans: segments.bad_spans,
        },
        (None, None) => Contrast::Segments(segments),
    };
    separation.center = estimate.center;
    separation.scale = estimate.scale;
    separation.shrinkage = estimate.shrinkage;
    separation.n_jobs = estimate.n_jobs;
    separation.solver = solver.settings;
    Ok(separation)
}

/// A number of components, or a fraction of the variance.
pub fn components(keywords: &Keywords<'_>) -> PyResult<Components> {
    if let Ok(number) = keywords.count("n_components") {
        return Ok(number.map_or(Components::All, Components::Count));
    }
    match keywords.get::<f64>("n_components")? {
        // A fraction above 1 is left to the library's check.
        Some(fraction) if fraction.fract() == 0.0 || fraction < 0.0 => {
            Err(PyValueError::new_err(format!(
                "n_components must be an integer, the number of components, or a fraction of \
                 the variance above 0 and below 1, got {fraction:?}"
            )))
        }
        Some(fraction) => Ok(Components::VarianceFraction(fraction)),
        None => Ok(Components::All),
    }
}

#[allow(clippy::field_reassign_with_default)] // it will grow
pub fn segments(keywords: &Keywords<'_>) -> PyResult<Segments> {
    let mut segments = Segments::default();
    let (count, length) = (keywords.count("n_segments")?, segment_length(keywords)?);
    segments.length = match (count, length) {
        (Some(_), Some(_)) => {
            return Err(PyValueError::new_err(
                "n_segments and segment_length exclude each other: pass one of them",
            ));
        }
        (Some(count), None) => SegmentLength::Count(count),
        (None, Some(length)) => length,
        (None, None) => SegmentLength::Auto,
    };
    segments.sfreq = keywords.get("sfreq")?;
    segments.overlap = keywords.get("overlap")?.unwrap_or(segments.overlap);
    segments.bad_spans = bad_spans(keywords)?;
    Ok(segments)
}

/// A number of samples, or a time such as "0.25s".
fn segment_length(keywords: &Keywords<'_>) -> PyResult<Option<SegmentLength>> {
    let Some(value) = keywords.any("segment_length") else {
        return Ok(None);
    };
    if let Ok(text) = value.cast::<PyString>() {
        let text = text.to_cow()?;
        if text.trim().parse::<f64>().is_ok() {
            return Err(PyValueError::new_err(format!(
                "segment_length must be an integer number of samples, or a time with its \
                 unit such as \"0.25s\", got {text:?}"
            )));
        }
        return text.parse().map(Some).map_err(bad_input);
    }
    if value.extract::<i64>().is_err() {
        return Err(PyTypeError::new_err(format!(
            "segment_length must be an integer number of samples, or a time such as \
             \"0.25s\", got {}",
            value.repr()?
        )));
    }
    Ok(keywords.count("segment_length")?.map(SegmentLength::Length))
}

/// The frequency bands; None without bands.
pub fn bands(keywords: &Keywords<'_>) -> PyResult<Option<Bands>> {
    let frequencies = keywords.get("bands")?;
    let sfreq = keywords.get("sfreq")?;
    let window_length = keywords.count("window_length")?;
    let window = keywords.get::<String>("window")?;
    let overlap = keywords.get("window_overlap")?;
    let bad_spans = bad_spans(keywords)?;
    let Some(frequencies) = frequencies else {
        return Ok(None);
    };
    let Some(sfreq) = sfreq else {
        return Err(PyValueError::new_err(
            "bands are in hertz: pass sfreq, the sampling frequency",
        ));
    };
    let mut bands = Bands::new(frequencies, sfreq);
    bands.window_length = window_length;
    if let Some(name) = window {
        bands.window = name.parse().map_err(bad_input)?;
    }
    bands.overlap = overlap.unwrap_or(bands.overlap);
    bands.bad_spans = bad_spans;
    Ok(Some(bands))
}

pub fn bad_spans(keywords: &Keywords<'_>) -> PyResult<Vec<Range<usize>>> {
    let spans: Vec<(usize, usize)> = keywords.get("bad_spans")?.unwrap_or_default();
    Ok(spans.into_iter().map(|(from, to)| from..to).collect())
}

#[allow(clippy::field_reassign_with_default)] // it will grow
pub fn estimate(keywords: &Keywords<'_>) -> PyResult<CovarianceOptions> {
    let mut estimate = CovarianceOptions::default();
    estimate.center = keywords.get("center")?.unwrap_or(estimate.center);
    estimate.scale = scale(keywords)?;
    estimate.shrinkage = shrinkage(keywords)?;
    estimate.n_jobs = keywords.count("n_jobs")?;
    Ok(estimate)
}

/// "rms", one group number per channel, or one factor per channel.
fn scale(keywords: &Keywords<'_>) -> PyResult<Scale> {
    let Some(value) = keywords.any("scale") else {
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

/// An amount, or the name of an estimator.
fn shrinkage(keywords: &Keywords<'_>) -> PyResult<Shrinkage> {
    let Some(value) = keywords.any("shrinkage") else {
        return Ok(Shrinkage::default());
    };
    if let Ok(name) = value.cast::<PyString>() {
        return name.to_cow()?.parse().map_err(bad_input);
    }
    let amount = keywords.get("shrinkage")?;
    Ok(amount.map_or(Shrinkage::default(), Shrinkage::Fixed))
}
