//! HTML report of `codiag diagonalize`.

use codiag::{Criterion, Scalar, SortBy};
use maud::{Markup, html};

use super::components::components;
use super::convergence::{convergence, verdict};
use super::provenance::Provenance;
use super::sections::Sections;
use super::solve::SolveResult;
use super::{Comparison, document, drawing, facts, warnings};
use crate::figure::axis::Axis;
use crate::figure::chart::{Chart, Curve};
use crate::format::{self, short};
use crate::number::{adjoint, is_complex};

/// Maximum number of bars that fit side by side.
pub(super) const MAX_BARS: usize = 500;

/// Content of the report.
pub struct Page<'a, T = f64> {
    /// Name of the matrices.
    pub input: &'a str,
    /// Number of matrices.
    pub matrices: usize,
    /// Number of rows of each matrix.
    pub size: usize,
    /// Weight of each matrix. Equal weights if None; they need not sum to 1.
    pub weights: Option<&'a [f64]>,
    /// Result of the solve.
    pub result: SolveResult<'a, T>,
    /// Name of the method, if known.
    pub method: Option<&'a str>,
    /// Order of the components, if known.
    pub sort_by: Option<SortBy>,
    /// Tolerance of the solve, if known.
    pub tol: Option<f64>,
    /// Duration of the solve, if known.
    pub seconds: Option<f64>,
    /// Warnings about the result.
    pub warnings: &'a [String],
    /// Comparison with channels and PCA; None if the matrices are not in memory.
    pub comparison: Option<&'a Comparison>,
    /// Settings and command.
    pub provenance: &'a Provenance,
    /// Whether the section about output files is shown.
    pub files: bool,
}

/// Returns the report as HTML.
pub fn render<T: Scalar>(page: &Page<'_, T>) -> String {
    let result = &page.result;
    let p = page.size;
    let numbers = if is_complex::<T>() { ", complex" } else { "" };
    let mut sections = Sections::default();
    sections.add("Convergence", convergence(result, page.tol));
    if page.size > 1 {
        sections.add("Comparison with channels and PCA", comparison(page));
    }
    sections.add("Residual of each matrix", residuals(result.residuals));
    sections.add("Components", components(result, page.weights, page.sort_by));
    if page.files {
        sections.add("Files", files::<T>(result.criterion));
    }
    let mut shown = vec![
        ("matrices", page.matrices.to_string()),
        ("size", format!("{p} × {p}{numbers}")),
        ("components", result.b.rows().to_string()),
        ("criterion", result.criterion.name().to_owned()),
    ];
    shown.extend(page.method.map(|method| ("method", method.to_owned())));
    shown.push(("iterations", result.n_iter.to_string()));
    shown.extend(page.seconds.map(|time| ("time", format::seconds(time))));
    shown.push((loss_name(result.criterion), format::loss(result.loss, 6)));
    shown.push(("gradient norm", short(result.gradient_norm)));
    let body = html! {
        header {
            h1 { "Joint diagonalization of " (page.input) }
            (verdict(result, page.tol))
            (page.provenance.details())
        }
        (sections.contents())
        (facts(&shown))
        (warnings(page.warnings))
        (sections.body())
        footer {
            "codiag " (env!("CARGO_PKG_VERSION")) ". " (loss_definition::<T>(result.criterion))
        }
    };
    document(&format!("codiag: {}", page.input), &body)
}

/// Channels, PCA and B, if the matrices are in memory.
fn comparison<T>(page: &Page<'_, T>) -> Markup {
    if let Some(comparison) = page.comparison {
        return comparison.markup();
    }
    html! {
        p {
            "Not available: comparing B with the channels and with PCA requires all matrices in memory."
        }
    }
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

/// Bar chart of the residuals.
fn residuals(residuals: &[f64]) -> Markup {
    let n = residuals.len();
    if n == 0 {
        return not_available();
    }
    // The axis reaches at least 1e-3, so that smaller residuals look small.
    let top = residuals.iter().fold(1e-3_f64, |m, x| m.max(*x));
    // Each bar shows the largest residual of its matrices.
    let stride = n.div_ceil(MAX_BARS);
    let bars = residuals.chunks(stride).enumerate().map(|(k, chunk)| {
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
    let largest = (0..n).max_by(|x, y| residuals[*x].total_cmp(&residuals[*y]));
    html! {
        @if let Some(i) = largest {
            p {
                "A residual is the contribution of a matrix to the loss; zero means exactly diagonal. Largest: matrix " (i) " ("
                (short(residuals[i])) "); median: "
                (short(format::median(residuals))) "."
            }
        }
        div.wide.scroll { div style="min-width:34rem" { (drawing(&chart.title, &chart)) } }
    }
}
