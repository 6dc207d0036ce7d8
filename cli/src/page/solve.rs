//! The report of `codiag diagonalize`.

use codiag::backend::Summary;
use codiag::{Criterion, Diagonalization, Matrix, Scalar, SortBy};
use maud::{Markup, html};

use super::components::components;
use super::convergence::{convergence, verdict};
use super::{drawing, facts, heat_map, page, section, warnings};
use crate::figure::chart::{Chart, Curve};
use crate::figure::scale::Scale;
use crate::number::{adjoint, is_complex};
use crate::words::{self, small};

/// Bars that fit side by side.
pub(super) const MOST_BARS: usize = 500;

/// What the page tells of.
pub struct Solve<'a, T> {
    pub input: &'a str,
    pub set: &'a Summary<T>,
    /// Equal weights if None; they need not sum to 1.
    pub weights: Option<&'a [f64]>,
    pub answer: &'a Diagonalization<T>,
    pub method: &'a str,
    pub order: SortBy,
    pub tol: f64,
    pub seconds: f64,
    pub warnings: &'a [String],
}

/// The page.
pub fn render<T: Scalar>(solve: &Solve<'_, T>) -> String {
    let answer = solve.answer;
    let p = solve.set.channels();
    let numbers = if is_complex::<T>() { ", complex" } else { "" };
    let body = html! {
        header {
            h1 { "Joint diagonalization of " (solve.input) }
            (verdict(answer, solve.tol))
        }
        (facts(&[
            ("matrices", solve.set.len.to_string()),
            ("size", format!("{p} × {p}{numbers}")),
            ("components", answer.b.rows().to_string()),
            ("criterion", answer.criterion.name().to_owned()),
            ("method", solve.method.to_owned()),
            ("iterations", answer.n_iter.to_string()),
            ("time", words::seconds(solve.seconds)),
            (loss_name(answer.criterion), words::loss(answer.loss, 6)),
            ("gradient norm", small(answer.gradient_norm)),
        ]))
        (warnings(solve.warnings))
        (section("Convergence", &convergence(answer, solve.tol)))
        (section("The mean matrix, before and after", &before_and_after(solve)))
        (section("What is left of each matrix", &residuals(answer)))
        (section("Components", &components(answer, solve.weights, solve.order)))
        (section("The files", &files::<T>(answer.criterion)))
        footer {
            "codiag " (env!("CARGO_PKG_VERSION")) ". " (meaning::<T>(answer.criterion))
        }
    };
    page(&format!("codiag: {}", solve.input), &body)
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

pub(super) fn left_out() -> Markup {
    html! {
        p { "Left out: what is known of each matrix did not fit into the memory that was allowed." }
    }
}

/// The mean in the channels, and in the components.
fn before_and_after<T: Scalar>(solve: &Solve<'_, T>) -> Markup {
    let mean = &solve.set.mean;
    let reduction = solve.set.reduction.as_ref();
    // The mean may be reduced: its patterns bring it back to the channels.
    let before = reduction.map(|reduction| congruence(reduction.patterns(), mean));
    let before = before.as_ref().unwrap_or(mean);
    let after = congruence(&solve.answer.b, before);
    // A mean that need not be positive definite has no correlations.
    let (shown, unit): (fn(&Matrix<T>, &str) -> Markup, _) =
        if solve.answer.criterion.requires_definite() {
            (correlations, "As correlations, so that units do not matter")
        } else {
            (shares, "As shares of the largest entry")
        };
    let colours = if is_complex::<T>() {
        "the colour is the magnitude of a complex number, and no colour is zero"
    } else {
        "red is positive, blue negative, no colour is zero"
    };
    html! {
        p { (unit) ": " (colours) "." }
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
            figcaption { (caption) "; " (off) " " (small(largest)) "." }
        }
    }
}

fn residuals<T: Scalar>(answer: &Diagonalization<T>) -> Markup {
    let n = answer.residuals.len();
    if n == 0 {
        return left_out();
    }
    // What is smaller is as good as zero, and drawn so.
    let top = answer.residuals.iter().fold(1e-3_f64, |m, x| m.max(*x));
    // Of neighbours that would share a bar, the worst is drawn.
    let stride = n.div_ceil(MOST_BARS);
    let bars = answer
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
        x: Scale::linear(-0.5, n as f64 - 0.5, 10),
        y: Scale::linear(0.0, top * 1.05, 5),
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
    let worst = (0..n).max_by(|x, y| answer.residuals[*x].total_cmp(&answer.residuals[*y]));
    html! {
        @if let Some(i) = worst {
            p {
                "Zero means exactly diagonal. Matrix " (i) " is furthest from it, at "
                (small(answer.residuals[i])) "; the middle one is at "
                (small(words::median(&answer.residuals))) "."
            }
        }
        div.wide.scroll { div style="min-width:34rem" { (drawing(&chart.title, &chart)) } }
    }
}
