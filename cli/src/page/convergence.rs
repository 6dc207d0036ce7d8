//! How a solve went: what the pages of `diagonalize` and `separate` both tell.

use codiag::{Diagonalization, Record, Scalar};
use maud::{Markup, html};

use super::drawing;
use crate::figure::axis::{Axis, Unit};
use crate::figure::chart::{Chart, Curve};
use crate::format::{count, short};

/// What is left of the loss is rounding below this.
const FLOOR: f64 = 1e-17;

/// The status, and what it means.
pub fn verdict<T: Scalar>(result: &Diagonalization<T>, tolerance: f64) -> Markup {
    let converged = result.status.is_converged();
    let (norm, tolerance) = (short(result.gradient_norm), short(tolerance));
    html! {
        p.lead {
            span.badge.good[converged].bad[!converged] { (result.status) }
            " "
            @if converged {
                "The gradient norm fell to " (norm) ", below the tolerance of " (tolerance)
                ": B is at a (local) minimum of the loss."
            } @else {
                "The gradient norm is " (norm) ", above the tolerance of " (tolerance)
                ": this B is the best found, not a minimum."
            }
        }
    }
}

/// Loss and gradient norm over the iterations, and how other starts ended.
pub fn convergence<T: Scalar>(result: &Diagonalization<T>, tolerance: f64) -> Markup {
    let history = &result.history;
    if history.len() < 2 {
        return html! { p { "The start was the result already: there was nothing to iterate." } };
    }
    let limit = history
        .iter()
        .fold(f64::INFINITY, |lowest, record| lowest.min(record.loss));
    let loss = chart(history, "Loss above its final value", "loss", 0, |record| {
        record.loss - limit
    });
    let mut gradient = chart(history, "Gradient norm", "ĝ", 3, |record| {
        record.gradient_norm
    });
    gradient.goal = Some((tolerance, "tolerance".to_owned()));
    let losses: Vec<String> = result
        .start_losses
        .iter()
        .map(|loss| format!("{loss:.6}"))
        .collect();
    html! {
        div.panels.two {
            (drawing(&loss.title, &loss))
            (drawing(&gradient.title, &gradient))
        }
        @if losses.len() > 1 {
            p {
                (count(losses.len(), "start", "starts")) " were tried; they ended at losses of "
                (losses.join(", ")) ". The lowest is shown."
            }
        }
    }
}

fn chart(
    history: &[Record],
    title: &str,
    y_label: &str,
    style: usize,
    value: impl Fn(&Record) -> f64,
) -> Chart {
    let last = history.last().map_or(0, |record| record.iteration).max(1);
    let points: Vec<(f64, f64)> = history
        .iter()
        .map(|record| (record.iteration as f64, value(record).max(FLOOR)))
        .collect();
    let above = points.iter().fold(FLOOR, |m, point| m.max(point.1));
    // The last point is its own limit: the axis ends below the last but it.
    let below = points
        .iter()
        .map(|point| point.1)
        .filter(|y| *y > FLOOR)
        .fold(above, f64::min);
    Chart {
        title: title.to_owned(),
        x_label: "iteration".to_owned(),
        y_label: y_label.to_owned(),
        x: Axis::linear(0.0, last as f64, 6),
        y: Axis::logarithmic(below / 3.0, above * 3.0, Unit::None, 6),
        curves: vec![Curve {
            name: title.to_owned(),
            style,
            points,
        }],
        goal: None,
        bars: false,
        width: 440.0,
        height: 270.0,
    }
}
