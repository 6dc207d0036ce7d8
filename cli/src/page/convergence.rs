//! Status and convergence of a solve, for the reports of `diagonalize` and `separate`.

use maud::{Markup, html};

use super::drawing;
use super::solve::{HistoryPoint, SolveResult};
use crate::figure::axis::{Axis, Unit};
use crate::figure::chart::{Chart, Curve};
use crate::format::{count, short};

/// Loss above its minimum that is considered rounding.
const LOSS_FLOOR: f64 = 1e-17;

/// Status of the solve and its meaning.
pub fn verdict<T>(result: &SolveResult<'_, T>, tolerance: Option<f64>) -> Markup {
    let converged = result.status.is_converged();
    let (norm, tolerance) = (short(result.gradient_norm), tolerance.map(short));
    html! {
        p.lead {
            span.badge.good[converged].bad[!converged] { (result.status) }
            " "
            "The gradient norm is " (norm)
            @if let Some(tolerance) = tolerance {
                (if converged { ", below" } else { ", above" }) " the tolerance of " (tolerance)
            }
            (if converged { ". B is a local minimum of the loss." } else { ". B is the best point found, not a minimum." })
        }
    }
}

/// Loss and gradient norm over the iterations, and the final losses of all starts.
pub fn convergence<T>(result: &SolveResult<'_, T>, tolerance: Option<f64>) -> Markup {
    let history = &result.history[..];
    if history.len() < 2 {
        let text = if result.status.is_converged() {
            "Converged at the starting point (0 iterations)."
        } else {
            "The solve stopped before its first iteration."
        };
        return html! { p { (text) } };
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
    gradient.goal = tolerance.map(|tolerance| (tolerance, "tolerance".to_owned()));
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
                (count(losses.len(), "start", "starts")) " were run, with final losses "
                (losses.join(", ")) ". The result with the lowest loss is shown."
            }
        }
    }
}

/// Chart of one quantity over the iterations.
fn chart(
    history: &[HistoryPoint],
    title: &str,
    y_label: &str,
    style: usize,
    value: impl Fn(&HistoryPoint) -> f64,
) -> Chart {
    let last = history.last().map_or(0, |record| record.iteration).max(1);
    let points: Vec<(f64, f64)> = history
        .iter()
        .map(|record| (record.iteration as f64, value(record).max(LOSS_FLOOR)))
        .collect();
    let above = points.iter().fold(LOSS_FLOOR, |m, point| m.max(point.1));
    // The last point is at the floor: scale the axis by the other points.
    let below = points
        .iter()
        .map(|point| point.1)
        .filter(|y| *y > LOSS_FLOOR)
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
