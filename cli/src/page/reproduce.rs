//! The report of `codiag reproduce`.

use maud::{Markup, html};

use super::{document, drawing, legend, section, table};
use crate::format;
use crate::reproduction::claims::{self, Verdict};
use crate::reproduction::experiments::{GOAL, Ratio};
use crate::reproduction::{HEADINGS, Results, cells, figure};

/// The page.
pub fn render(results: &Results) -> String {
    let body = html! {
        header {
            p.soft.small { "codiag reproduce" }
            h1 { "“Beyond Pham’s algorithm for joint diagonalization”, measured again" }
            p.lead {
                "Ablin, Cardoso & Gramfort (ESANN 2019) propose a quasi-Newton method for Pham’s criterion and \
                 compare it with Pham’s own algorithm on three data sets. These are their experiments, with all \
                 methods compiled and on equal terms, and with the Newton method of this program beside them."
            }
        }
        (headline(results))
        (section("The figure", &panels(results)))
        (section("What the paper claims, and what was measured", &claims_in_words(results)))
        (section("The numbers", &numbers(results)))
        (section("How it was measured", &method(results)))
        footer {
            "codiag " (env!("CARGO_PKG_VERSION")) ", " (results.machine) ". P. Ablin, J.-F. Cardoso, A. Gramfort, \
             “Beyond Pham’s algorithm for joint diagonalization”, ESANN 2019. D.-T. Pham, “Joint approximate \
             diagonalization of positive definite Hermitian matrices”, SIAM J. Matrix Anal. Appl. 22 (2001)."
        }
    };
    document("codiag: Beyond Pham’s algorithm, measured again", &body)
}

/// How the program and the paper's method compare with Pham's algorithm, one card per experiment.
fn headline(results: &Results) -> Markup {
    let speed = |experiment: &str, solver: &str| {
        let pham = results.runs_of(experiment, "pham");
        Ratio::of(&results.runs_of(experiment, solver), &pham).describe()
    };
    html! {
        dl.facts.three {
            @for experiment in &results.experiments {
                div {
                    dt { (experiment.title) ", against Pham’s algorithm" }
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
                @for chart in figure::charts(results).iter().flatten() {
                    (drawing(&format!("{}: {} against time", chart.title, chart.y_label), chart))
                }
            }
            figcaption {
                "Logarithmic axes; lower and further left is better; each curve ends in a dot. A loss is drawn \
                 above the minimum that its own curve tends to, because on (b) and (c) there are several and the \
                 methods do not all end in the same one: the table has the losses themselves. What is nearer than \
                 10⁻¹⁴ is rounding, and drawn at the bottom."
            }
        }
    }
}

fn claims_in_words(results: &Results) -> Markup {
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
                        @for cell in cells(row) { td { (cell) } }
                    }
                }
            }
        }
    };
    let headings = HEADINGS.each_ref().map(std::slice::from_ref);
    html! {
        (table(None, &headings, &bodies))
        p {
            "Ratio to Pham: how many times faster than Pham's algorithm ĝ came down to 1e-6. “> 3×” means that \
             Pham's algorithm had not reached it when its iterations ended; “< 1×” that the method had not. Where \
             final losses differ, the methods ended in different local minima: the lower is the better one."
        }
    }
}

fn method(results: &Results) -> Markup {
    let several = results
        .experiments
        .iter()
        .any(|experiment| experiment.sets.len() > 1);
    html! {
        @for experiment in &results.experiments {
            p { strong { (experiment.title) } ": " (experiment.description) "." }
        }
        p {
            "The first three solvers start from the whitener of the mean, as in the paper; the last one starts \
             where this program does by default. Every solve ran on "
            (format::count(results.threads, "thread", "threads"))
            ", of up to ten repetitions the fastest of each step counts, and times include the start. ĝ is the \
             norm of the relative gradient divided by √p, rows of B scaled to unit mean power; times are compared \
             at ĝ = " (format!("{GOAL:.0e}")) ". An iteration of Pham's algorithm is a sweep over all pairs."
        }
        @if several {
            p {
                "Numbers over several seeds are medians, with their range in brackets; the figure shows seed 0."
            }
        }
        p {
            "To repeat it: " code { "codiag reproduce" } "; with other seeds, "
            code { "codiag reproduce --seeds 5" } "; all numbers are in " code { "results.json" } " and "
            code { "history.csv" } "."
        }
    }
}
