//! The report of `codiag reproduce`.

use super::{legend, page, paragraph, section};
use crate::commands::reproduce::claims::{self, Verdict};
use crate::commands::reproduce::experiments::{GOAL, Ratio};
use crate::commands::reproduce::figure::{self, PANEL_HEIGHT, PANEL_WIDTH};
use crate::commands::reproduce::{HEADINGS, Results, cells};
use crate::figure::{escape, inline};

/// The page.
pub fn render(results: &Results) -> String {
    let mut body = String::from(
        "<header><p class=\"soft small\">codiag reproduce</p>\n\
         <h1>“Beyond Pham’s algorithm for joint diagonalization”, measured again</h1>\n\
         <p class=\"lead\">Ablin, Cardoso &amp; Gramfort (ESANN 2019) propose a quasi-Newton method for Pham’s \
         criterion and compare it with Pham’s own algorithm on three data sets. These are their experiments, \
         with all methods compiled and on equal terms, and with the Newton method of this program beside \
         them.</p></header>\n",
    );
    body += &headline(results);
    body += &section("The figure", &panels(results));
    body += &section(
        "What the paper claims, and what was measured",
        &claims_in_words(results),
    );
    body += &section("The numbers", &table(results));
    body += &section("How it was measured", &method(results));
    body += &format!(
        "<footer>codiag {}, {}. P. Ablin, J.-F. Cardoso, A. Gramfort, “Beyond Pham’s algorithm for joint \
         diagonalization”, ESANN 2019. D.-T. Pham, “Joint approximate diagonalization of positive definite \
         Hermitian matrices”, SIAM J. Matrix Anal. Appl. 22 (2001).</footer>",
        env!("CARGO_PKG_VERSION"),
        escape(&results.machine)
    );
    page("codiag: Beyond Pham’s algorithm, measured again", &body)
}

/// How the program and the paper's method compare with Pham's algorithm, one card an experiment.
fn headline(results: &Results) -> String {
    let cards: String = results
        .experiments
        .iter()
        .map(|experiment| {
            let pham = results.runs_of(experiment.key, "pham");
            let speed =
                |solver| Ratio::of(&results.runs_of(experiment.key, solver), &pham).in_words();
            format!(
                "<div><dt>{}, against Pham’s algorithm</dt><dd>codiag: {}</dd>\
                 <dd class=\"second\">the paper’s method: {}</dd></div>",
                escape(&experiment.title),
                escape(&speed("newton")),
                escape(&speed("quasi-newton"))
            )
        })
        .collect();
    format!("<dl class=\"facts three\">{cards}</dl>\n")
}

fn panels(results: &Results) -> String {
    let mut grid = String::new();
    for pair in figure::charts(results) {
        for chart in &pair {
            let title = format!("{}: {} against time", chart.title, chart.y_label);
            grid += &inline(PANEL_WIDTH, PANEL_HEIGHT, &title, &chart.draw());
            grid.push('\n');
        }
    }
    let names = results
        .solvers
        .iter()
        .map(|solver| (solver.name, solver.style));
    format!(
        "<figure>{}<div class=\"panels by-column\">\n{grid}</div>\n<figcaption>Logarithmic axes; lower and \
         further left is better; each curve ends in a dot. A loss is drawn above the minimum that its own curve \
         tends to, because on (b) and (c) there are several and the methods do not all end in the same one: the \
         table has the losses themselves. What is nearer than 10⁻¹⁴ is rounding, and drawn at the \
         bottom.</figcaption></figure>\n",
        legend(names)
    )
}

fn claims_in_words(results: &Results) -> String {
    claims::claims(results)
        .iter()
        .map(|claim| {
            let class = match claim.verdict {
                Verdict::Holds => " good",
                Verdict::DoesNotHold | Verdict::Partly => " bad",
                Verdict::NotMeasured => "",
            };
            format!(
                "<div class=\"claim\"><p><strong>{}</strong> <span class=\"badge{class}\">{}</span></p>\
                 <p>{}</p></div>\n",
                escape(&claim.statement),
                claim.verdict.name(),
                escape(&claim.measured)
            )
        })
        .collect()
}

fn table(results: &Results) -> String {
    let rows = results.rows();
    let mut out = String::from("<div class=\"scroll\"><table><thead><tr>");
    for heading in HEADINGS {
        out += &format!("<th scope=\"col\">{}</th>", escape(heading));
    }
    out += "</tr></thead>";
    for experiment in &results.experiments {
        out += &format!(
            "<tbody><tr><th colspan=\"{}\" scope=\"rowgroup\">{}</th></tr>\n",
            HEADINGS.len(),
            escape(&experiment.title)
        );
        for row in rows.iter().filter(|row| row.experiment == experiment.key) {
            let cells: String = cells(row)
                .iter()
                .map(|cell| format!("<td>{}</td>", escape(cell)))
                .collect();
            out += &format!("<tr>{cells}</tr>\n");
        }
        out += "</tbody>";
    }
    out += "</table></div>\n";
    out += &paragraph(
        "Ratio to Pham: how many times faster than Pham's algorithm ĝ came down to 1e-6. “> 3×” means that \
         Pham's algorithm had not reached it when its iterations ended; “< 1×” that the method had not. Where final losses differ, \
         the methods ended in different local minima: the lower is the better one.",
    );
    out
}

fn method(results: &Results) -> String {
    let mut out = String::new();
    for experiment in &results.experiments {
        out += &format!(
            "<p><strong>{}</strong>: {}.</p>\n",
            escape(&experiment.title),
            escape(&experiment.description)
        );
    }
    out += &paragraph(&format!(
        "The first three solvers start from the whitener of the mean, as in the paper; the last one starts where \
         this program does by default. Every solve ran on {}, of up to ten repetitions the fastest of each step counts, \
         and times include the start. ĝ is the norm of the relative gradient divided by √p, rows of B scaled to \
         unit mean power; times are compared at ĝ = {GOAL:.0e}. An iteration of Pham's algorithm is a sweep over \
         all pairs.",
        crate::words::count(results.threads, "thread", "threads")
    ));
    if results
        .experiments
        .iter()
        .any(|experiment| experiment.sets.len() > 1)
    {
        out += &paragraph(
            "Numbers over several seeds are medians, with their range in brackets; the figure shows seed 0.",
        );
    }
    out += "<p>To repeat it: <code>codiag reproduce</code>; with other seeds, <code>codiag reproduce --seeds \
            5</code>; all numbers are in <code>results.json</code> and <code>history.csv</code>.</p>\n";
    out
}
