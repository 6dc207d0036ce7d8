//! The report of `codiag diagonalize`.

use codiag::working::Summary;
use codiag::{Diagonalization, Matrix};
use maud::{Markup, html};

use super::convergence::{convergence, verdict};
use super::{drawing, facts, heat_map, page, section, sparkline, table, warnings};
use crate::figure::chart::{Chart, Curve};
use crate::figure::scale::Scale;
use crate::words::{self, small};

/// Components shown with their own line.
const SHOWN: usize = 40;
/// Bars that fit side by side.
const MOST_BARS: usize = 500;

/// What the page tells of.
pub struct Solve<'a> {
    pub input: &'a str,
    pub set: &'a Summary,
    /// Equal weights if None; they need not sum to 1.
    pub weights: Option<&'a [f64]>,
    pub answer: &'a Diagonalization,
    pub method: &'a str,
    pub tolerance: f64,
    pub seconds: f64,
    pub warnings: &'a [String],
}

/// The page.
pub fn render(solve: &Solve<'_>) -> String {
    let answer = solve.answer;
    let p = solve.set.channels();
    let body = html! {
        header {
            h1 { "Joint diagonalization of " (solve.input) }
            (verdict(answer, solve.tolerance))
        }
        (facts(&[
            ("matrices", solve.set.len.to_string()),
            ("size", format!("{p} × {p}")),
            ("components", answer.b.rows().to_string()),
            ("method", solve.method.to_owned()),
            ("iterations", answer.iterations.to_string()),
            ("time", words::seconds(solve.seconds)),
            ("loss", words::loss(answer.loss, 6)),
            ("gradient norm", small(answer.gradient_norm)),
        ]))
        (warnings(solve.warnings))
        (section("Convergence", &convergence(answer, solve.tolerance)))
        (section("The mean matrix, before and after", &before_and_after(solve)))
        (section("What is left of each matrix", &residuals(answer)))
        (section("Components", &components(solve)))
        (section("The files", &files()))
        footer {
            "codiag " (env!("CARGO_PKG_VERSION")) ". The loss is ½ Σ w (Σ log diag D − log det D) for D = B C Bᵀ: \
             zero when every D is diagonal. Pham (2001); Ablin, Cardoso & Gramfort (2019)."
        }
    };
    page(&format!("codiag: {}", solve.input), &body)
}

fn files() -> Markup {
    html! {
        p {
            code { "B.npy" } " holds the filters, one per row; " code { "A.npy" }
            " the patterns, one per column (B A = I); " code { "diagonals.npy" }
            " the power of each component (columns) in each matrix (rows); " code { "report.json" }
            " all numbers and settings of this page; " code { "history.csv" } " one row per iteration."
        }
    }
}

fn left_out() -> Markup {
    html! {
        p { "Left out: what is known of each matrix did not fit into the memory that was allowed." }
    }
}

/// Correlations of the mean: between channels, and between components.
fn before_and_after(solve: &Solve<'_>) -> Markup {
    let mean = &solve.set.mean;
    let reduction = solve.set.reduction.as_ref();
    // The mean may be reduced: its patterns bring it back to the channels.
    let before = reduction.map(|reduction| congruence(reduction.patterns(), mean));
    let before = before.as_ref().unwrap_or(mean);
    let after = congruence(&solve.answer.b, before);
    html! {
        p { "As correlations, so that units do not matter: red is positive, blue negative, no colour is zero." }
        div.panels.two.heat-pair {
            (correlations(before, "Before: the mean of the matrices"))
            (correlations(&after, "After: the mean of B C Bᵀ"))
        }
    }
}

/// M C Mᵀ.
fn congruence(m: &Matrix, c: &Matrix) -> Matrix {
    &(m * c) * &m.transpose()
}

fn correlations(m: &Matrix, caption: &str) -> Markup {
    let scale: Vec<f64> = (0..m.rows())
        .map(|a| m[(a, a)].max(f64::MIN_POSITIVE).sqrt())
        .collect();
    let correlation = |a: usize, b: usize| m[(a, b)] / (scale[a] * scale[b]);
    let mut largest = 0.0_f64;
    for a in 0..m.rows() {
        for b in 0..a {
            largest = largest.max(correlation(a, b).abs());
        }
    }
    html! {
        figure {
            (heat_map(m.rows(), m.rows(), caption, correlation))
            figcaption { (caption) "; largest correlation off the diagonal " (small(largest)) "." }
        }
    }
}

fn residuals(answer: &Diagonalization) -> Markup {
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

fn components(solve: &Solve<'_>) -> Markup {
    let powers = &solve.answer.powers;
    let (n, r) = (powers.rows(), powers.columns());
    if n == 0 {
        return left_out();
    }
    let weight = |i: usize| solve.weights.map_or(1.0, |weights| weights[i]);
    let total: f64 = (0..n).map(weight).sum();
    let mean = |c: usize| {
        let sum: f64 = (0..n).map(|i| weight(i) * powers[(i, c)]).sum();
        sum / total
    };
    let means: Vec<f64> = (0..r).map(mean).collect();
    // More matrices than pixels are averaged, so that the picture stays true in the large.
    let columns = n.min(MOST_BARS);
    let described = "power of each component in each matrix";
    let map = heat_map(r, columns, described, |c, k| {
        let bin = k * n / columns..((k + 1) * n / columns);
        let count = bin.len() as f64;
        bin.map(|i| (powers[(i, c)] / means[c]).log2()).sum::<f64>() / count / 3.0
    });
    let relative = |c: usize| {
        let values: Vec<f64> = (0..n).map(|i| powers[(i, c)] / means[c]).collect();
        values
    };
    let rows = html! {
        tbody {
            @for c in 0..r.min(SHOWN) { (component(c, &relative(c))) }
        }
    };
    let headings: [&[&str]; 5] = [
        &["component"],
        &["power over the set"],
        &["least"],
        &["most"],
        &["typical", "deviation"],
    ];
    html! {
        p {
            "Components come in the order of how much their power varies over the set: the first are the \
             best told apart. Below, one row per component, one column per matrix; red is above the component's \
             mean, blue below, full colour a factor of eight."
        }
        div.heat-wide { (map) }
        (table(None, &headings, &rows))
        @if r > SHOWN {
            p { "The other " (r - SHOWN) " are in diagonals.npy." }
        }
    }
}

/// One row of the table, from the powers relative to their mean.
fn component(c: usize, relative: &[f64]) -> Markup {
    let low = relative.iter().fold(f64::INFINITY, |m, x| m.min(*x));
    let high = relative.iter().fold(0.0_f64, |m, x| m.max(*x));
    let deviations: Vec<f64> = relative.iter().map(|x| (x - 1.0).abs()).collect();
    html! {
        tr {
            td { (c) }
            td { (sparkline(relative.iter().copied(), 180.0, 26.0)) }
            td { (small(low)) }
            td { (small(high)) }
            td { (small(words::median(&deviations))) }
        }
    }
}
