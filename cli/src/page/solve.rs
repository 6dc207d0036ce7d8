//! The report of `codiag diagonalize`.

use codiag::working::Summary;
use codiag::{Diagonalization, Matrix};

use super::{facts, page, paragraph, section};
use crate::figure::chart::{Chart, Curve, sparkline};
use crate::figure::scale::{Scale, Unit};
use crate::figure::{escape, heat, inline};
use crate::words::{self, count, small};

/// Components shown with their own line.
const SHOWN: usize = 40;
/// Bars that fit side by side.
const MOST_BARS: usize = 500;
/// What is left of the loss is rounding below this.
const FLOOR: f64 = 1e-17;

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
    let n = solve.set.len;
    let (r, p) = (answer.b.rows(), solve.set.channels());
    let mut body = format!(
        "<header><h1>Joint diagonalization of {}</h1>\n<p class=\"lead\">{} {}</p></header>\n",
        escape(solve.input),
        badge(answer),
        escape(&verdict(answer, solve.tolerance))
    );
    body += &facts(&[
        ("matrices", n.to_string()),
        ("size", format!("{p} × {p}")),
        ("components", r.to_string()),
        ("method", solve.method.to_owned()),
        ("iterations", answer.iterations.to_string()),
        ("time", words::seconds(solve.seconds)),
        ("loss", words::loss(answer.loss, 6)),
        ("gradient norm", small(answer.gradient_norm)),
    ]);
    for warning in solve.warnings {
        body += &format!(
            "<p class=\"warning\" role=\"note\">{}</p>\n",
            escape(warning)
        );
    }
    body += &section("Convergence", &convergence(answer, solve.tolerance));
    body += &section(
        "The mean matrix, before and after",
        &before_and_after(solve),
    );
    body += &section("What is left of each matrix", &residuals(answer));
    body += &section("Components", &components(solve));
    body += &section("The files", FILES);
    body += &format!(
        "<footer>codiag {}. The loss is ½ Σ w (Σ log diag D − log det D) for D = B C Bᵀ: zero when every \
         D is diagonal. Pham (2001); Ablin, Cardoso &amp; Gramfort (2019).</footer>",
        env!("CARGO_PKG_VERSION")
    );
    page(&format!("codiag: {}", solve.input), &body)
}

const FILES: &str = "<p><code>B.npy</code> holds the filters, one a row; <code>A.npy</code> the patterns, one a \
column (B A = I); <code>diagonals.npy</code> the power of each component (columns) in each matrix (rows); \
<code>report.json</code> all numbers and settings of this page; <code>history.csv</code> one row an iteration.</p>\n";

const LEFT_OUT: &str =
    "Left out: what is known of each matrix did not fit into the memory that was allowed.";

pub(super) fn badge(answer: &Diagonalization) -> String {
    let class = if answer.status.converged() {
        "good"
    } else {
        "bad"
    };
    format!("<span class=\"badge {class}\">{}</span>", answer.status)
}

pub(super) fn verdict(answer: &Diagonalization, tolerance: f64) -> String {
    let norm = small(answer.gradient_norm);
    if answer.status.converged() {
        format!(
            "The gradient norm fell to {norm}, below the tolerance of {}: B is at a (local) minimum of the loss.",
            small(tolerance)
        )
    } else {
        format!(
            "The gradient norm is {norm}, above the tolerance of {}: this B is the best found, not a minimum.",
            small(tolerance)
        )
    }
}

pub(super) fn convergence(answer: &Diagonalization, tolerance: f64) -> String {
    let history = &answer.history;
    if history.len() < 2 {
        return paragraph("The start was the answer already: there was nothing to iterate.");
    }
    let last = history.last().map_or(0, |record| record.iteration).max(1) as f64;
    let limit = history
        .iter()
        .fold(f64::INFINITY, |m, record| m.min(record.loss));
    let chart =
        |title: &str, y_label: &str, style, goal, value: &dyn Fn(&codiag::Record) -> f64| {
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
            let chart = Chart {
                title: title.to_owned(),
                x_label: "iteration".to_owned(),
                y_label: y_label.to_owned(),
                x: Scale::linear(0.0, last, 6),
                y: Scale::logarithmic(below / 3.0, above * 3.0, Unit::None, 6),
                curves: vec![Curve {
                    name: title.to_owned(),
                    style,
                    points,
                }],
                goal,
                bars: false,
                width: 440.0,
                height: 270.0,
            };
            inline(440.0, 270.0, title, &chart.draw())
        };
    let goal = Some((tolerance, "tolerance".to_owned()));
    let loss = chart("Loss above its final value", "loss", 0, None, &|r| {
        r.loss - limit
    });
    let gradient = chart("Gradient norm", "ĝ", 3, goal, &|r| r.gradient_norm);
    let mut starts = String::new();
    if answer.start_losses.len() > 1 {
        let losses: Vec<String> = answer
            .start_losses
            .iter()
            .map(|x| format!("{x:.6}"))
            .collect();
        starts = paragraph(&format!(
            "{} were tried; they ended at losses of {}. The lowest is shown.",
            count(answer.start_losses.len(), "start", "starts"),
            losses.join(", ")
        ));
    }
    format!("<div class=\"panels two\">{loss}{gradient}</div>\n{starts}")
}

/// Correlations of the mean: between channels, and between components.
fn before_and_after(solve: &Solve<'_>) -> String {
    let mean = &solve.set.mean;
    let after = {
        // B acts on channels, the mean may be reduced: the answer's own patterns bring B there.
        let b = match &solve.set.reduction {
            Some(reduction) => crate::commands::product(&solve.answer.b, reduction.patterns()),
            None => solve.answer.b.clone(),
        };
        crate::commands::product(&crate::commands::product(&b, mean), &b.transpose())
    };
    let before = match &solve.set.reduction {
        Some(reduction) => {
            let patterns = reduction.patterns();
            crate::commands::product(
                &crate::commands::product(patterns, mean),
                &patterns.transpose(),
            )
        }
        None => mean.clone(),
    };
    let map = |m: &Matrix, caption: &str| {
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
        format!(
            "<figure>{}<figcaption>{caption}; largest correlation off the diagonal {}.</figcaption></figure>",
            heat::image(m.rows(), m.rows(), caption, correlation),
            small(largest)
        )
    };
    format!(
        "<p>As correlations, so that units do not matter: red is positive, blue negative, no colour is zero.</p>\
         <div class=\"panels two heat-pair\">{}{}</div>\n",
        map(&before, "Before: the mean of the matrices"),
        map(&after, "After: the mean of B C Bᵀ")
    )
}

fn residuals(answer: &Diagonalization) -> String {
    let n = answer.residuals.len();
    if n == 0 {
        return paragraph(LEFT_OUT);
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
    let sentence = worst.map_or_else(String::new, |i| {
        paragraph(&format!(
            "Zero means exactly diagonal. Matrix {i} is furthest from it, at {}; the middle one is at {}.",
            small(answer.residuals[i]),
            small(words::median(&answer.residuals))
        ))
    });
    let drawing = inline(1080.0, 260.0, &chart.title, &chart.draw());
    format!(
        "{sentence}<div class=\"wide scroll\"><div style=\"min-width:34rem\">{drawing}</div></div>\n"
    )
}

fn components(solve: &Solve<'_>) -> String {
    let powers = &solve.answer.powers;
    let (n, r) = (powers.rows(), powers.columns());
    if n == 0 {
        return paragraph(LEFT_OUT);
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
    let map = heat::image(
        r,
        columns,
        "power of each component in each matrix",
        |c, k| {
            let bin = k * n / columns..((k + 1) * n / columns);
            let count = bin.len() as f64;
            bin.map(|i| (powers[(i, c)] / means[c]).log2()).sum::<f64>() / count / 3.0
        },
    );
    let mut rows = String::new();
    for c in 0..r.min(SHOWN) {
        let relative = (0..n).map(|i| powers[(i, c)] / means[c]);
        let low = relative.clone().fold(f64::INFINITY, f64::min);
        let high = relative.clone().fold(0.0, f64::max);
        let spread = words::median(
            &relative
                .clone()
                .map(|x| (x - 1.0).abs())
                .collect::<Vec<_>>(),
        );
        rows += &format!(
            "<tr><td>{c}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
            sparkline(relative, 180.0, 26.0),
            small(low),
            small(high),
            small(spread)
        );
    }
    let more = if r > SHOWN {
        paragraph(&format!("The other {} are in diagonals.npy.", r - SHOWN))
    } else {
        String::new()
    };
    format!(
        "<p>Components come in the order of how much their power varies over the set: the first are the best \
         told apart. Below, one row a component, one column a matrix; red is above the component's mean, blue \
         below, full colour a factor of eight.</p>\n<div class=\"heat-wide\">{map}</div>\n\
         <div class=\"scroll\"><table><thead><tr><th scope=\"col\">component</th>\
         <th scope=\"col\">power over the set</th><th scope=\"col\">least</th><th scope=\"col\">most</th>\
         <th scope=\"col\">typical<br>deviation</th></tr></thead><tbody>\n{rows}</tbody></table></div>\n{more}"
    )
}
