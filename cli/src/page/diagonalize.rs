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

/// Maximum number of bars that fit side by side.
pub(super) const MAX_BARS: usize = 500;

/// Content of the report.
pub struct Page<'a, T> {
    pub input: &'a str,
    pub set: &'a Summary<T>,
    /// Equal weights if None; they need not sum to 1.
    pub weights: Option<&'a [f64]>,
    pub result: &'a Diagonalization<T>,
    pub method: &'a str,
    pub sort_by: SortBy,
    pub tol: f64,
    pub seconds: f64,
    pub warnings: &'a [String],
}

/// Renders the report.
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
        (section("Mean matrix, before and after", &before_and_after(page)))
        (section("Residual of each matrix", &residuals(result)))
        (section("Components", &components(result, page.weights, page.sort_by)))
        (section("Files", &files::<T>(result.criterion)))
        footer {
            "codiag " (env!("CARGO_PKG_VERSION")) ". " (loss_definition::<T>(result.criterion))
        }
    };
    document(&format!("codiag: {}", page.input), &body)
}

fn loss_name(criterion: Criterion) -> &'static str {
    match criterion {
        Criterion::Likelihood => "loss",
        _ => "loss (fraction of energy)",
    }
}

/// Definition of the loss, with references.
fn loss_definition<T: Scalar>(criterion: Criterion) -> String {
    let (transpose, orthogonal) = (
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
                "The loss is the fraction of the energy Σ w ‖C‖² in the off-diagonal entries of D = B C B{transpose}, over \
                 {orthogonal} B: zero when every D is diagonal, at most 1. Cardoso & Souloumiac (1996)."
            )
        }
        Criterion::LeastSquares => {
            format!(
                "The loss is the fraction of the energy Σ w ‖C‖² that remains after the best fit of A Λ A{transpose} to each C, with \
                 Λ diagonal and B the inverse of A. Yeredor (2002); Tichavský & Yeredor (2009)."
            )
        }
        _ => {
            format!(
                "The loss is ½ Σ w (Σ log diag D − log det D) for D = B C B{transpose}: zero when every D is diagonal. \
                 Pham (2001); Ablin, Cardoso & Gramfort (2019)."
            )
        }
    }
}

/// Lists the output files.
fn files<T: Scalar>(criterion: Criterion) -> Markup {
    let power = match criterion {
        Criterion::LeastSquares => {
            html! { ": the fitted power (the diagonal entry of Λ) of each component (columns) in each matrix (rows). " }
        }
        _ => {
            html! { ": the power (the diagonal entry of B C B" (adjoint::<T>()) ") of each component (columns) in each matrix (rows). " }
        }
    };
    html! {
        p {
            code { "B.npy" } ": the filters, one per row. " code { "A.npy" }
            ": the patterns, one per column (B A = I). " code { "diagonals.npy" }
            (power) code { "report.json" }
            ": all numbers and settings of this page. " code { "history.csv" } ": one row per iteration."
        }
    }
}

/// Replaces a section whose data were not kept.
pub(super) fn not_available() -> Markup {
    html! {
        p { "Not available: the values of each matrix did not fit into the memory limit (" code { "--memory" } ")." }
    }
}

/// Mean matrix of the channels and of the components.
fn before_and_after<T: Scalar>(page: &Page<'_, T>) -> Markup {
    let mean = &page.set.mean;
    let reduction = page.set.reduction.as_ref();
    // Map the mean of a reduced set back to the channels.
    let before = reduction.map(|reduction| congruence(reduction.patterns(), mean));
    let before = before.as_ref().unwrap_or(mean);
    let after = congruence(&page.result.b, before);
    // Correlations require a positive definite mean.
    let (shown, unit): (fn(&Matrix<T>, &str) -> Markup, _) =
        if page.result.criterion.requires_definite() {
            (correlations, "Correlations")
        } else {
            (relative_entries, "Entries relative to the largest entry")
        };
    let colors = if is_complex::<T>() {
        "the color is the magnitude of a complex number; no color is zero"
    } else {
        "red is positive, blue negative; no color is zero"
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

/// The value that is drawn: a real number itself, or the magnitude of a complex one.
fn drawn_value<T: Scalar>(x: T) -> f64 {
    if is_complex::<T>() { x.abs() } else { x.real() }
}

/// Heat map of the entries relative to the largest one.
fn relative_entries<T: Scalar>(m: &Matrix<T>, caption: &str) -> Markup {
    let size = |x: &T| x.abs();
    let largest = m
        .as_slice()
        .iter()
        .map(size)
        .fold(f64::MIN_POSITIVE, f64::max);
    let ratio = |a: usize, b: usize| drawn_value(m[(a, b)]) / largest;
    matrix_map(m.rows(), caption, "largest off-diagonal entry", ratio)
}

/// Heat map of a matrix as correlations.
fn correlations<T: Scalar>(m: &Matrix<T>, caption: &str) -> Markup {
    let scale: Vec<f64> = (0..m.rows())
        .map(|a| m[(a, a)].real().max(f64::MIN_POSITIVE).sqrt())
        .collect();
    let correlation = |a: usize, b: usize| drawn_value(m[(a, b)]) / (scale[a] * scale[b]);
    matrix_map(
        m.rows(),
        caption,
        "largest off-diagonal correlation",
        correlation,
    )
}

/// Heat map of a p × p matrix with entries from −1 to 1; the caption gives its largest off-diagonal
/// entry.
fn matrix_map(
    p: usize,
    caption: &str,
    largest_label: &str,
    value: impl Fn(usize, usize) -> f64,
) -> Markup {
    let mut largest = 0.0_f64;
    for a in 0..p {
        for b in 0..a {
            largest = largest.max(value(a, b).abs());
        }
    }
    html! {
        figure {
            (heat_map(p, p, caption, value))
            figcaption { (caption) "; " (largest_label) " " (short(largest)) "." }
        }
    }
}

/// Bar chart of the residuals.
fn residuals<T: Scalar>(result: &Diagonalization<T>) -> Markup {
    let n = result.residuals.len();
    if n == 0 {
        return not_available();
    }
    // The axis reaches at least 1e-3, so that smaller residuals look small.
    let top = result.residuals.iter().fold(1e-3_f64, |m, x| m.max(*x));
    // Each bar shows the largest residual of its matrices.
    let stride = n.div_ceil(MAX_BARS);
    let bars = result
        .residuals
        .chunks(stride)
        .enumerate()
        .map(|(k, chunk)| {
            let largest = chunk.iter().fold(0.0_f64, |m, x| m.max(*x));
            let middle = (k * stride) as f64 + (chunk.len() - 1) as f64 / 2.0;
            (middle, largest)
        });
    let chart = Chart {
        title: "Residual of each matrix".to_owned(),
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
    let largest = (0..n).max_by(|x, y| result.residuals[*x].total_cmp(&result.residuals[*y]));
    html! {
        @if let Some(i) = largest {
            p {
                "A residual is the contribution of a matrix to the loss; zero means exactly diagonal. Largest: matrix " (i) " ("
                (short(result.residuals[i])) "); median: "
                (short(format::median(&result.residuals))) "."
            }
        }
        div.wide.scroll { div style="min-width:34rem" { (drawing(&chart.title, &chart)) } }
    }
}
