//! HTML report of `codiag reproduce`.

use maud::{Markup, html};

use super::{document, legend, section, table, verbatim};
use crate::figure::inline;
use crate::format;
use crate::reproduction::claims::{self, Verdict};
use crate::reproduction::experiments::GRADIENT_GOAL;
use crate::reproduction::figure::{self, Panel};
use crate::reproduction::summary::Speedup;
use crate::reproduction::{HEADINGS, Results, cells};

/// Renders the report.
pub fn render(results: &Results) -> String {
    let body = html! {
        header {
            p.soft.small { "codiag reproduce" }
            h1 { "Reproduction of “Beyond Pham’s algorithm for joint diagonalization”" }
            p.lead {
                "Ablin, Cardoso & Gramfort (ESANN 2019) propose a quasi-Newton method for Pham’s criterion and \
                 compare it with Pham’s algorithm on three data sets. This report repeats their experiments. All methods are \
                 compiled and share their numerical kernels. The Newton method of codiag is added for comparison."
            }
        }
        (headline(results))
        (section("Figure", &panels(results)))
        (section("Claims of the paper and measurements", &claims_section(results)))
        (section("Results", &numbers(results)))
        (section("Protocol", &method(results)))
        footer {
            "codiag " (env!("CARGO_PKG_VERSION")) ", " (results.machine) ". P. Ablin, J.-F. Cardoso, A. Gramfort, \
             “Beyond Pham’s algorithm for joint diagonalization”, ESANN 2019. D.-T. Pham, “Joint approximate \
             diagonalization of positive definite Hermitian matrices”, SIAM J. Matrix Anal. Appl. 22 (2001)."
        }
    };
    document("codiag: reproduction of Beyond Pham’s algorithm", &body)
}

/// Median speed relative to Pham's algorithm, one card per experiment.
fn headline(results: &Results) -> Markup {
    let speed = |experiment: &str, solver: &str| {
        let pham = results.runs_of(experiment, "pham");
        let speedup = Speedup::of(&results.runs_of(experiment, solver), &pham);
        speedup.median.describe()
    };
    let several = results.has_bands();
    html! {
        dl.facts.three {
            @for experiment in &results.experiments {
                div {
                    dt { (experiment.title) ", compared with Pham’s algorithm" @if several { " (median)" } }
                    dd { "codiag: " (speed(experiment.key, "newton")) }
                    dd.second { "the paper’s method: " (speed(experiment.key, "quasi-newton")) }
                }
            }
        }
    }
}

fn panels(results: &Results) -> Markup {
    let solvers = results.solvers.iter();
    html! {
        figure {
            (legend(solvers.map(|solver| (solver.name, solver.style))))
            div.panels.by-column {
                @for panel in figure::panels(results).iter().flatten() {
                    (panel_drawing(panel))
                }
            }
            figcaption {
                @if let Some(note) = results.band_note() { (note) " " }
                "Logarithmic axes; lower and further left is better; a dot marks the end of each curve. Each loss is drawn \
                 relative to the local minimum that its run approaches, because (b) and (c) have several local minima and \
                 the methods do not all reach the same one. The table has the final losses. Differences below 10⁻¹⁴ are \
                 rounding errors and are drawn at the bottom."
            }
        }
    }
}

fn panel_drawing(panel: &Panel) -> Markup {
    let chart = &panel.chart;
    let title = format!("{}: {} against time", chart.title, chart.y_label);
    verbatim(inline(chart.width, chart.height, &title, &panel.draw()))
}

fn claims_section(results: &Results) -> Markup {
    let good = |verdict| verdict == Verdict::Holds;
    let bad = |verdict| matches!(verdict, Verdict::DoesNotHold | Verdict::Partly);
    html! {
        @for claim in claims::claims(results) {
            div.claim {
                p {
                    strong { (claim.statement) }
                    " "
                    span.badge.good[good(claim.verdict)].bad[bad(claim.verdict)] { (claim.verdict.name()) }
                }
                p { (claim.measured) }
            }
        }
    }
}

fn numbers(results: &Results) -> Markup {
    let rows = results.rows();
    let bodies = html! {
        @for experiment in &results.experiments {
            tbody {
                tr { th colspan=(HEADINGS.len()) scope="rowgroup" { (experiment.title) } }
                @for row in rows.iter().filter(|row| row.experiment == experiment.key) {
                    tr {
                        @for cell in cells(row) {
                            td {
                                (cell.median)
                                @if let Some(range) = cell.range { br; span.soft.small { (range) } }
                            }
                        }
                    }
                }
            }
        }
    };
    let headings = HEADINGS.each_ref().map(std::slice::from_ref);
    html! {
        (table(None, &headings, &bodies))
        p {
            @if results.has_bands() {
                "Each cell has the median and, below it, the smallest and the largest value. "
            }
            "Speedup over Pham: time of Pham’s algorithm to reach ĝ = 1e-6 divided by the time of the method. “> 3×” means that \
             Pham’s algorithm did not reach it within its iterations; “< 1×” means that the method did not. Different \
             final losses are different local minima; lower is better."
        }
    }
}

fn method(results: &Results) -> Markup {
    html! {
        @for experiment in &results.experiments {
            p { strong { (experiment.title) } ": " (experiment.description) "; " (experiment.count()) "." }
        }
        p {
            "The first three solvers start from the whitener of the mean, as in the paper; the last one uses the default \
             starting point of codiag (spectral). Every solve ran on "
            (format::count(results.n_jobs, "thread", "threads"))
            ". Each run was repeated up to ten times, long runs less often, and the fastest time of each step is \
             used. Times include the computation of the starting point. ĝ is the norm of the relative gradient divided by √p, with rows of B \
             scaled to unit mean power; times are compared at ĝ = " (format!("{GRADIENT_GOAL:.0e}")) ". An iteration \
             of Pham's algorithm is a sweep over all pairs. Losses of iterations in single precision were computed \
             again in double precision, outside of the measured time."
        }
        @if results.has_bands() {
            p {
                "All solvers run on the same sets: in (a) and (b) one random set per seed; in (c) one set, with its \
                 channels in a different random order each time (order 0 is the original one). The whitener does not \
                 depend on the order of the channels, except for rounding errors, because it is computed from \
                 eigenvectors. In (c), ranges of the first three solvers therefore show the variation of the times, \
                 and whether rounding errors lead to another minimum."
            }
            p {
                "In the figure, the runs of a solver are combined on a common logarithmic grid of times: each run \
                 contributes its latest value at that time, its first value before its beginning, and its final value \
                 after its end. Quantiles are interpolated between logarithms. In the table and in the claims, numbers \
                 are medians with the range from the smallest to the largest value, and a speedup is the median of \
                 the ratios on equal sets."
            }
        }
        p {
            "To repeat this: " code { "codiag reproduce" } "; with a single seed: "
            code { "codiag reproduce --seeds 1" } ". All numbers are in " code { "results.json" } " and "
            code { "history.csv" } "."
        }
    }
}
