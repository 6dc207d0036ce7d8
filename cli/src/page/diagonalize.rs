//! HTML report of `codiag diagonalize`.

use codiag::backend::Summary;
use codiag::{Criterion, Diagonalization, Matrix, Scalar, SortBy};
use maud::{Markup, html};

use super::components::components;
use super::convergence::{convergence, verdict};
use super::{document, drawing, facts, heat_map, section, warnings};
use crate::figure::axis::Axis;
use crate::figure::chart::{Chart, Curve};
use crate::format::{self, short};
use crate::number::{adjoint, is_complex};

/// Bars that fit side by side.
pub(super) const MAX_BARS: usize = 500;

/// What the page tells of.
pub struct Page<'a, T> {
    pub input: &'a str,
    pub set: &'a Summary<T>,
    /// Equal weights if None; they need not sum to 1.
    pub weights: Option<&'a [f64]>,
    pub result: &'a Diagonalization<T>,
    pub method: &'a str,
    pub order: SortBy,
    pub tol: f64,
    pub seconds: f64,
    pub warnings: &'a [String],
}

/// The page.
pub fn render<T: Scalar>(page: &Page<'_, T>) -> String {
    let result = page.result;
    let p = page.set.channels();
    let numbers = if is_complex::<T>() { ", complex" } else { "" };
    let body = html! {
        header {
            h1 { "Joint diagonalization of " (page.input) }
            (verdict(result, page.tol))
        }
        (facts(&[
            ("matrices", page.set.len.to_string()),
            ("size", format!("{p} × {p}{numbers}")),
            ("components", result.b.rows().to_string()),
            ("criterion", result.criterion.name().to_owned()),
            ("method", page.method.to_owned()),
            ("iterations", result.n_iter.to_string()),
            ("time", format::seconds(page.seconds)),
            (loss_name(result.criterion), format::loss(result.loss, 6)),
            ("gradient norm", short(result.gradient_norm)),
        ]))
        (warnings(page.warnings))
        (section("Convergence", &convergence(result, page.tol)))
        (section("The mean matrix, before and after", &before_and_after(page)))
        (section("What is left of each matrix", &residuals(result)))
        (section("Components", &components(result, page.weights, page.order)))
        (section("The files", &files::<T>(result.criterion)))
        footer {
            "codiag " (env!("CARGO_PKG_VERSION")) ". " (meaning::<T>(result.criterion))
        }
    };
    document(&format!("codiag: {}", page.input), &body)
}

fn loss_name(criterion: Criterion) -> &'static str {
    match criterion {
        Criterion::Likelihood => "loss",
        _ => "loss (share of energy)",
    }
}

/// What the loss is, and who proposed it.
fn meaning<T: Scalar>(criterion: Criterion) -> String {
    let (image, orthogonal) = (
        adjoint::<T>(),
        if is_complex::<T>() {
            "unitary"
        } else {
            "orthogonal"
        },
    );
    match criterion {
        Criterion::Frobenius => {
            format!(
                "The loss is the share of the energy Σ w ‖C‖² that is off the diagonals of D = B C B{image}, over \
                 {orthogonal} B: zero when every D is diagonal, at most 1. Cardoso & Souloumiac (1996)."
            )
        }
        Criterion::LeastSquares => {
            format!(
                "The loss is the share of the energy Σ w ‖C‖² that the best fit of A Λ A{image} to each C leaves, Λ \
                 diagonal and B the inverse of A. Yeredor (2002); Tichavský & Yeredor (2009)."
            )
        }
        _ => {
            format!(
                "The loss is ½ Σ w (Σ log diag D − log det D) for D = B C B{image}: zero when every D is diagonal. \
                 Pham (2001); Ablin, Cardoso & Gramfort (2019)."
            )
        }
    }
}

fn files<T: Scalar>(criterion: Criterion) -> Markup {
    let power = match criterion {
        Criterion::LeastSquares => {
            html! { " the fitted power (the diagonal entry of Λ) of each component (columns) in each matrix (rows); " }
        }
        _ => {
            html! { " the power (the diagonal entry of B C B" (adjoint::<T>()) ") of each component (columns) in each matrix (rows); " }
        }
    };
    html! {
        p {
            code { "B.npy" } " holds the filters, one per row; " code { "A.npy" }
            " the patterns, one per column (B A = I); " code { "diagonals.npy" }
            (power) code { "report.json" }
            " all numbers and settings of this page; " code { "history.csv" } " one row per iteration."
        }
    }
}

pub(super) fn not_available() -> Markup {
    html! {
        p { "Left out: what is known of each matrix did not fit into the memory that was allowed." }
    }
}

/// The mean in the channels, and in the components.
fn before_and_after<T: Scalar>(page: &Page<'_, T>) -> Markup {
    let mean = &page.set.mean;
    let reduction = page.set.reduction.as_ref();
    // The mean may be reduced: its patterns bring it back to the channels.
    let before = reduction.map(|reduction| congruence(reduction.patterns(), mean));
    let before = before.as_ref().unwrap_or(mean);
    let after = congruence(&page.result.b, before);
    // A mean that need not be positive definite has no correlations.
    let (shown, unit): (fn(&Matrix<T>, &str) -> Markup, _) =
        if page.result.criterion.requires_definite() {
            (correlations, "As correlations, so that units do not matter")
        } else {
            (shares, "As shares of the largest entry")
        };
    let colors = if is_complex::<T>() {
        "the color is the magnitude of a complex number, and no color is zero"
    } else {
        "red is positive, blue negative, no color is zero"
    };
    html! {
        p { (unit) ": " (colors) "." }
        div.panels.two.heat-pair {
            (shown(before, "Before: the mean of the matrices"))
            (shown(&after, &format!("After: the mean of B C B{}", adjoint::<T>())))
        }
    }
}

/// M C Mᴴ.
fn congruence<T: Scalar>(m: &Matrix<T>, c: &Matrix<T>) -> Matrix<T> {
    &(m * c) * &m.adjoint()
}

/// What is drawn of a number: itself, or the magnitude of a complex one.
fn drawn<T: Scalar>(x: T) -> f64 {
    if is_complex::<T>() { x.abs() } else { x.real() }
}

/// Entries as shares of the largest.
fn shares<T: Scalar>(m: &Matrix<T>, caption: &str) -> Markup {
    let size = |x: &T| x.abs();
    let largest = m
        .as_slice()
        .iter()
        .map(size)
        .fold(f64::MIN_POSITIVE, f64::max);
    let share = |a: usize, b: usize| drawn(m[(a, b)]) / largest;
    relative(m.rows(), caption, "largest entry off the diagonal", share)
}

fn correlations<T: Scalar>(m: &Matrix<T>, caption: &str) -> Markup {
    let scale: Vec<f64> = (0..m.rows())
        .map(|a| m[(a, a)].real().max(f64::MIN_POSITIVE).sqrt())
        .collect();
    let correlation = |a: usize, b: usize| drawn(m[(a, b)]) / (scale[a] * scale[b]);
    relative(
        m.rows(),
        caption,
        "largest correlation off the diagonal",
        correlation,
    )
}

/// A p×p map of numbers from −1 to 1, and what is largest off its diagonal.
fn relative(p: usize, caption: &str, off: &str, value: impl Fn(usize, usize) -> f64) -> Markup {
    let mut largest = 0.0_f64;
    for a in 0..p {
        for b in 0..a {
            largest = largest.max(value(a, b).abs());
        }
    }
    html! {
        figure {
            (heat_map(p, p, caption, value))
            figcaption { (caption) "; " (off) " " (short(largest)) "." }
        }
    }
}

fn residuals<T: Scalar>(result: &Diagonalization<T>) -> Markup {
    let n = result.residuals.len();
    if n == 0 {
        return not_available();
    }
    // What is smaller is as good as zero, and drawn so.
    let top = result.residuals.iter().fold(1e-3_f64, |m, x| m.max(*x));
    // Of neighbours that would share a bar, the worst is drawn.
    let stride = n.div_ceil(MAX_BARS);
    let bars = result
        .residuals
        .chunks(stride)
        .enumerate()
        .map(|(k, chunk)| {
            let worst = chunk.iter().fold(0.0_f64, |m, x| m.max(*x));
            let middle = (k * stride) as f64 + (chunk.len() - 1) as f64 / 2.0;
            (middle, worst)
        });
    let chart = Chart {
        title: "Share of each matrix in the loss".to_owned(),
        x_label: "matrix".to_owned(),
        y_label: "residual".to_owned(),
        x: Axis::linear(-0.5, n as f64 - 0.5, 10),
        y: Axis::linear(0.0, top * 1.05, 5),
        curves: vec![Curve {
            name: "residual".to_owned(),
            style: 0,
            points: bars.collect(),
        }],
        goal: None,
        bars: true,
        width: 1080.0,
        height: 260.0,
    };
    let worst = (0..n).max_by(|x, y| result.residuals[*x].total_cmp(&result.residuals[*y]));
    html! {
        @if let Some(i) = worst {
            p {
                "Zero means exactly diagonal. Matrix " (i) " is furthest from it, at "
                (short(result.residuals[i])) "; the middle one is at "
                (short(format::median(&result.residuals))) "."
            }
        }
        div.wide.scroll { div style="min-width:34rem" { (drawing(&chart.title, &chart)) } }
    }
}
