//! How surely components come again, as the pages show it.

use codiag::signals::Contrast;
use codiag::{Diagonalization, Stability};
use maud::{Markup, html};

use crate::format;

/// The heading of the column.
pub const HEADING: &[&str] = &["stability"];

/// The stability of a component; None if nothing was tried.
pub fn of<T>(result: &Diagonalization<T>, component: usize) -> Option<f64> {
    Some(result.stability.as_ref()?.values[component])
}

/// The cell of a component, marked if it may not come again.
pub fn cell<T>(result: &Diagonalization<T>, component: usize) -> Markup {
    html! {
        @if let Some(stability) = of(result, component) {
            td { (format!("{stability:.2}")) @if stability < Stability::STABLE { (mark()) } }
        }
    }
}

/// A badge beside the name of a component that may not come again.
pub fn badge<T>(result: &Diagonalization<T>, component: usize) -> Markup {
    html! {
        @if let Some(stability) = of(result, component) && stability < Stability::STABLE {
            span.badge { "stability " (format!("{stability:.2}")) (mark()) }
        }
    }
}

/// The stability of a component behind another number, marked if it may not come again.
pub fn after<T>(result: &Diagonalization<T>, component: usize) -> Markup {
    html! {
        @if let Some(stability) = of(result, component) {
            ", " (format!("{stability:.2}")) @if stability < Stability::STABLE { (mark()) }
        }
    }
}

fn mark() -> Markup {
    html! { span title="may not come again" { " ?" } }
}

/// What the numbers are, of resamples of something; nothing if nothing was tried.
pub fn explanation<T>(result: &Diagonalization<T>, resampled: &str) -> Markup {
    html! {
        @if let Some(found) = &result.stability {
            p {
                "Stability is " (definition(found, resampled)) ". " (summary(found)) "; the others, marked by ?, may not \
                 come again."
            }
        }
    }
}

/// How many components came again, and in what was tried.
pub fn summary(found: &Stability) -> String {
    let stable = found.values.iter().filter(|x| **x >= Stability::STABLE);
    format!(
        "{} of {} at least {}",
        stable.count(),
        found.values.len(),
        Stability::STABLE
    )
}

/// What is drawn to learn how surely the sources of a recording come again.
pub fn of_recording(contrast: &Contrast) -> &'static str {
    match contrast {
        Contrast::Bands(bands) if bands.segment_length.is_none() => {
            "the recording, its blocks of time weighed anew"
        }
        Contrast::Lags(_) | Contrast::Cumulants { .. } => {
            "the recording, its blocks of time weighed anew"
        }
        _ => "the segments, drawn with replacement",
    }
}

/// What the number is.
pub fn definition(found: &Stability, resampled: &str) -> String {
    let mut tried = Vec::new();
    if found.resamples() > 0 {
        let resamples = format::count(found.resamples(), "resample", "resamples");
        tried.push(format!("{resamples} of {resampled}"));
    }
    if found.starts > 0 {
        let starts = format::count(found.starts, "further start", "further starts");
        let margin = 100.0 * Stability::LOSS_MARGIN;
        tried.push(format!(
            "{starts} whose loss came within {margin} % of the lowest"
        ));
    }
    format!(
        "the median, over {}, of how much a component is like the one that matches it there, from 0 to 1",
        tried.join(" and ")
    )
}
