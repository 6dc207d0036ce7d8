//! Stability of components in the reports.

use codiag::Stability;
use codiag::signals::Contrast;
use maud::{Markup, html};

use super::solve::{SolveResult, StabilityEstimate};
use crate::format;

/// Heading of the column of stabilities.
pub const HEADING: &[&str] = &["stability"];

/// Returns the stability of a component; None if it was not estimated.
pub fn value<T>(result: &SolveResult<'_, T>, component: usize) -> Option<f64> {
    Some(result.stability.as_ref()?.values[component])
}

/// Table cell with the stability of a component, marked if it is low.
pub fn cell<T>(result: &SolveResult<'_, T>, component: usize) -> Markup {
    html! {
        @if let Some(stability) = value(result, component) {
            td { (format!("{stability:.2}")) @if stability < Stability::STABLE { (mark()) } }
        }
    }
}

/// Badge beside the name of a component whose stability is low.
pub fn badge<T>(result: &SolveResult<'_, T>, component: usize) -> Markup {
    html! {
        @if let Some(stability) = value(result, component) && stability < Stability::STABLE {
            span.badge { "stability " (format!("{stability:.2}")) (mark()) }
        }
    }
}

/// Text with the stability of a component that follows another number, marked if it is low.
pub fn suffix<T>(result: &SolveResult<'_, T>, component: usize) -> Markup {
    html! {
        @if let Some(stability) = value(result, component) {
            ", " (format!("{stability:.2}")) @if stability < Stability::STABLE { (mark()) }
        }
    }
}

fn mark() -> Markup {
    html! { span title="may not be reproducible" { " ?" } }
}

/// Paragraph that explains the stability; empty if it was not estimated. `resampled` names what was
/// resampled.
pub fn explanation<T>(result: &SolveResult<'_, T>, resampled: &str) -> Markup {
    html! {
        @if let Some(found) = &result.stability {
            p {
                "Stability is " (definition(found, resampled)) ". " (summary(found)) "; components marked ? are below and may not \
                 be reproducible."
            }
        }
    }
}

/// Counts the stable components: "4 of 5 at least 0.9".
pub fn summary(found: &StabilityEstimate<'_>) -> String {
    let stable = found.values.iter().filter(|x| **x >= Stability::STABLE);
    format!(
        "{} of {} at least {}",
        stable.count(),
        found.values.len(),
        Stability::STABLE
    )
}

/// Names what is resampled for the stability of the sources of a recording.
pub fn resampled_in(contrast: &Contrast) -> &'static str {
    match contrast {
        Contrast::Bands(bands) if bands.segment_length.is_none() => {
            "blocks of the recording in time"
        }
        Contrast::Lags(_) | Contrast::Cumulants { .. } => "blocks of the recording in time",
        _ => "the segments, drawn with replacement",
    }
}

/// Defines the stability of this estimate.
pub fn definition(found: &StabilityEstimate<'_>, resampled: &str) -> String {
    let mut solves = Vec::new();
    if found.resamples > 0 {
        let resamples = format::count(found.resamples, "resample", "resamples");
        solves.push(format!("{resamples} of {resampled}"));
    }
    if found.starts > 0 {
        let starts = format::count(found.starts, "further start", "further starts");
        let margin = 100.0 * Stability::LOSS_MARGIN;
        solves.push(format!(
            "{starts} whose loss was within {margin} % of the lowest"
        ));
    }
    format!(
        "the median, over {}, of the absolute correlation of a component with its best match there, from 0 to 1",
        solves.join(" and ")
    )
}
