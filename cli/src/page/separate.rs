//! The report of `codiag separate`.

use codiag::SortBy;
use codiag::signals::{Artifact, Contrast, Evidence, SeparationResult, Thresholds};
use maud::{Markup, html};

use super::convergence::{convergence, verdict};
use super::{document, facts, maps, section, source, sparkline, stability, table, warnings};
use crate::commands::separate::Methods;
use crate::format::{self, short};
use crate::source_view::{SourceView, looks_like};

/// Sources shown with figures of their own, beside those that look like artifacts or were excluded.
const SHOWN: usize = 24;
/// Channels that are named as the strongest.
const STRONGEST: usize = 3;

/// What the page tells of.
pub struct Page<'a> {
    pub input: &'a str,
    pub samples: usize,
    pub rate: Option<f64>,
    /// One per channel.
    pub names: &'a [String],
    /// One per channel, where it is known.
    pub positions: &'a [Option<[f64; 2]>],
    /// One per channel, empty where it is not known: each type has its own maps and units.
    pub types: &'a [String],
    pub methods: &'a Methods,
    pub thresholds: &'a Thresholds,
    /// The file of the recording without the sources excluded.
    pub cleaned: &'a str,
    /// What sources are page apart by.
    pub contrast: &'a Contrast,
    pub order: SortBy,
    pub found: &'a SeparationResult,
    pub views: &'a [SourceView],
    pub tol: f64,
    pub seconds: f64,
    pub warnings: &'a [String],
    pub excluded: &'a [usize],
}

/// The page.
pub fn render(page: &Page<'_>) -> String {
    let (found, result) = (page.found, &page.found.diagonalization);
    let (contrast, count) = match page.contrast {
        Contrast::Bands(_) => ("bands", result.powers.rows()),
        Contrast::Lags(lags) => ("lags", lags.lags.len()),
        Contrast::Cumulants { .. } => ("cumulants", result.powers.rows()),
        _ => ("segments", result.powers.rows()),
    };
    let duration = page.rate.map_or_else(
        || "unknown".to_owned(),
        |rate| format::seconds(page.samples as f64 / rate),
    );
    let body = html! {
        header {
            h1 { "Sources of " (page.input) }
            (verdict(result, page.tol))
        }
        (facts(&[
            ("channels", found.n_channels().to_string()),
            ("samples", page.samples.to_string()),
            ("duration", duration),
            (contrast, count.to_string()),
            ("sources", found.n_components().to_string()),
            ("variance kept", percent(found.explained_variance_ratio_total)),
            ("iterations", result.n_iter.to_string()),
            ("time", format::seconds(page.seconds)),
        ]))
        (warnings(page.warnings))
        @if let Some(grid) = maps::grid(page) { (section("At a glance", &grid)) }
        (section("What looks like an artifact", &find_artifacts(page)))
        @if page.rate.is_some() { (section("Scores", &scores(page))) }
        (section("All sources", &all_sources(page)))
        (section("One by one", &one_by_one(page)))
        (section("Convergence", &convergence(result, page.tol)))
        (section("Methods, in words", &methods(page.methods)))
        (section("The files", &files(page)))
        footer {
            "codiag " (env!("CARGO_PKG_VERSION")) ". Sources are s = B x, in units of their own standard deviation; \
             patterns are the columns of A, in the units of the recording. " (literature(page.contrast))
        }
    };
    document(&format!("codiag: sources of {}", page.input), &body)
}

fn literature(contrast: &Contrast) -> &'static str {
    match contrast {
        Contrast::Lags(lags) if lags.lags.len() == 1 => "Tong, Soon, Huang & Liu (1990).",
        Contrast::Lags(_) => "Belouchrani, Abed-Meraim, Cardoso & Moulines (1997).",
        Contrast::Cumulants { .. } => "Cardoso & Souloumiac (1993).",
        _ => "Pham & Cardoso (2001); Ablin, Cardoso & Gramfort (2019).",
    }
}

fn methods(methods: &Methods) -> Markup {
    html! {
        p { (methods.text) }
        ul.small {
            @for reference in &methods.references { li { (reference) } }
        }
    }
}

fn files(page: &Page<'_>) -> Markup {
    let diagonals = match page.contrast {
        Contrast::Lags(_) => "the autocorrelation of each source (columns) at each lag (rows)",
        Contrast::Cumulants { .. } => {
            "the diagonal entries of each source (columns) in each cumulant matrix (rows)"
        }
        _ => "the power of each source (columns) in each segment or band (rows)",
    };
    html! {
        p {
            code { "sources.npy" } " holds the sources, one per row; " code { "filters.npy" }
            " B, one filter per row; " code { "patterns.npy" } " A, one pattern per column (B A = I); "
            code { "diagonals.npy" } " " (diagonals) "; "
            code { "report.json" } " all numbers and settings of this page; " code { "history.csv" }
            " one row per iteration; " code { (page.cleaned) }
            ", if sources were excluded, the recording without them."
        }
    }
}

fn percent(share: f64) -> String {
    match 100.0 * share {
        p if p >= 99.95 => "100 %".to_owned(),
        p if p >= 10.0 => format!("{p:.0} %"),
        p => format!("{p:.1} %"),
    }
}

fn numbers(sources: impl Iterator<Item = usize>, between: &str) -> String {
    let sources: Vec<String> = sources.map(|source| source.to_string()).collect();
    sources.join(between)
}

fn find_artifacts(page: &Page<'_>) -> Markup {
    if page.rate.is_none() {
        return html! {
            p {
                "Without " code { "--rate" } ", the samples per second, nothing can be said: a blink and a \
                 heartbeat differ in how long they last."
            }
        };
    }
    let views = || page.views.iter().enumerate();
    let suspects = views().filter(|(_, view)| !view.artifacts.is_empty());
    let suspects = numbers(suspects.map(|(k, _)| k), ",");
    let rows = html! {
        tbody {
            @for (k, view) in views() {
                @for artifact in &view.artifacts {
                    tr { td { (k) } td { (looks_like(artifact)) } td { (artifact.reason) } }
                }
            }
        }
    };
    let headings: [&[&str]; 3] = [&["source"], &["looks like"], &["because"]];
    html! {
        @if suspects.is_empty() {
            p { "None of the sources looks like blinks, a heartbeat, line noise or muscles." }
        } @else {
            (table(Some("words"), &headings, &rows))
            p {
                "These are rules of thumb: look at the figures below before you believe them. "
                code { "--exclude " (suspects) } " writes the recording without them."
            }
        }
        @if !page.excluded.is_empty() {
            p {
                code { (page.cleaned) } " is the recording without source "
                (numbers(page.excluded.iter().copied(), ", ")) "."
            }
        }
    }
}

/// What a column of scores is called: in two lines, a kind and what shows it.
fn scored_by(score: &Artifact) -> [String; 2] {
    let by = match &score.evidence {
        Evidence::Correlation(name) => format!("with {name}"),
        Evidence::Phase(name) => format!("phase, {name}"),
        _ => "by form".to_owned(),
    };
    [score.kind.name().to_owned(), by]
}

/// Every source's score for every kind.
fn scores(page: &Page<'_>) -> Markup {
    let Some(widest) = page
        .views
        .iter()
        .map(|view| &view.scores)
        .max_by_key(|scores| scores.len())
    else {
        return html! {};
    };
    let columns: Vec<[String; 2]> = widest.iter().map(scored_by).collect();
    let cell = |view: &SourceView, column: &[String; 2]| {
        let score = view.scores.iter().find(|score| scored_by(score) == *column);
        html! {
            @match score {
                Some(score) if score.score >= page.thresholds.of(score) => {
                    td title=(score.reason) { strong { (format!("{:.2}", score.score)) } }
                }
                Some(score) => { td.soft title=(score.reason) { (format!("{:.2}", score.score)) } }
                None => { td {} }
            }
        }
    };
    let names: Vec<[&str; 2]> = columns
        .iter()
        .map(|[kind, by]| [kind.as_str(), by.as_str()])
        .collect();
    let mut headings: Vec<&[&str]> = vec![&["source"]];
    headings.extend(names.iter().map(|name| &name[..]));
    let rows = html! {
        tbody {
            tr {
                td.soft { "threshold" }
                @for score in widest { td.soft { (format!("{:.2}", page.thresholds.of(score))) } }
            }
            @for (k, view) in page.views.iter().enumerate() {
                tr {
                    td { (k) }
                    @for column in &columns { (cell(view, column)) }
                }
            }
        }
    };
    html! {
        p {
            "From 0 to 1; what reaches its threshold (" code { "--thresholds" } ") is in bold. Where a reference channel \
             shows a kind, the form of a source does not decide about it."
        }
        (table(None, &headings, &rows))
    }
}

/// What a source is page apart by, in words: the headings of what is drawn and of the number that orders the
/// sources, the order, and what a rival is.
struct Distinction {
    curve: Option<&'static [&'static str]>,
    number: &'static [&'static str],
    order: &'static str,
    least_separable: &'static str,
}

fn distinction(contrast: &Contrast) -> Distinction {
    let mixture = "a margin near zero means that any mixture of the two would serve as well.";
    match contrast {
        Contrast::Lags(lags) if lags.lags.len() == 1 => Distinction {
            curve: None,
            number: &["auto-", "correlation"],
            order: "their autocorrelation at the lag",
            least_separable: mixture,
        },
        Contrast::Lags(_) => Distinction {
            curve: Some(&["autocorrelation over lags"]),
            number: &["sum of", "squares"],
            order: "the sum of their squared autocorrelations",
            least_separable: mixture,
        },
        Contrast::Cumulants { .. } => Distinction {
            curve: Some(&["distribution"]),
            number: &["kurtosis"],
            order: "their kurtosis, which is 0 for a Gaussian source",
            least_separable: "a margin near zero means that both are Gaussian, and any mixture of them would serve as well.",
        },
        Contrast::Bands(_) => Distinction {
            curve: Some(&["power over bands"]),
            number: &["power", "varies by"],
            order: "how much their power varies over the bands",
            least_separable: mixture,
        },
        _ => Distinction {
            curve: Some(&["power over segments"]),
            number: &["power", "varies by"],
            order: "how much their power varies over the segments",
            least_separable: mixture,
        },
    }
}

fn all_sources(page: &Page<'_>) -> Markup {
    let by = distinction(page.contrast);
    let mut headings: Vec<&[&str]> = vec![&["source"]];
    headings.extend(by.curve);
    headings.extend([&["share of", "variance"][..], by.number]);
    let result = &page.found.diagonalization;
    headings.extend(result.stability.as_ref().map(|_| stability::HEADING));
    headings.extend([&["rival"][..], &["margin"], &["looks like"]]);
    let rows = html! {
        tbody {
            @for (k, view) in page.views.iter().enumerate() { (row(page, k, view, by.curve.is_some())) }
        }
    };
    html! {
        p {
            "Sources come in the order of "
            (if page.order == SortBy::Stability { "their stability" } else { by.order }) ". The rival of a source is the one that is hardest to tell \
             from it; " (by.least_separable)
        }
        (stability::explanation(result, stability::of_recording(page.contrast)))
        (table(None, &headings, &rows))
    }
}

fn row(page: &Page<'_>, k: usize, view: &SourceView, drawn: bool) -> Markup {
    let (found, powers) = (page.found, &page.found.diagonalization.powers);
    let entries = || (0..powers.rows()).map(|i| powers[(i, k)]);
    let (curve, number): (Vec<f64>, String) = match page.contrast {
        Contrast::Lags(lags) if lags.lags.len() == 1 => {
            let mean = entries().sum::<f64>() / powers.rows() as f64;
            (Vec::new(), format!("{mean:.3}"))
        }
        Contrast::Lags(_) => {
            let squares: f64 = entries().map(|x| x * x).sum();
            (entries().collect(), format!("{squares:.2}"))
        }
        Contrast::Cumulants { .. } => {
            let kurtosis = found.kurtosis.get(k).copied().unwrap_or(f64::NAN);
            (view.histogram.clone(), format!("{kurtosis:.2}"))
        }
        _ => {
            let varies = format!("{:.0} %", 100.0 * found.nonstationarity[k]);
            (entries().collect(), varies)
        }
    };
    let rival = found.least_separable[k];
    html! {
        tr {
            td { (k) }
            @if drawn { td { (sparkline(curve.iter().copied(), 160.0, 24.0)) } }
            td { (percent(found.explained_variance_ratio[k])) }
            td { (number) }
            (stability::cell(&found.diagonalization, k))
            td { @if let Some(rival) = rival { (rival.partner) } }
            td { @if let Some(rival) = rival { (short(rival.margin)) } }
            td { @if let Some(artifact) = view.artifacts.first() { (looks_like(artifact)) } }
        }
    }
}

/// Whether a source has figures of its own.
pub fn shown(page: &Page<'_>, k: usize) -> bool {
    k < SHOWN || !page.views[k].artifacts.is_empty() || page.excluded.contains(&k)
}

fn one_by_one(page: &Page<'_>) -> Markup {
    let left = (0..page.views.len()).filter(|k| !shown(page, *k)).count();
    html! {
        @for (k, view) in page.views.iter().enumerate().filter(|(k, _)| shown(page, *k)) {
            div.source id=(format!("source-{k}")) {
                h3 {
                    "Source " (k)
                    @if let Some(artifact) = view.artifacts.first() {
                        span.badge.bad { (looks_like(artifact)) }
                    }
                    (stability::badge(&page.found.diagonalization, k))
                }
                p.soft.small { (percent(page.found.explained_variance_ratio[k])) " of the variance; " (strongest(page, k)) }
                div.panels { (source::figures(page, k, view)) }
            }
        }
        @if left > 0 {
            p { "The other " (left) " are in sources.npy and patterns.npy." }
        }
    }
}

/// The channels at which a source is strongest, of each type apart: volts and teslas do not compare.
fn strongest(page: &Page<'_>, k: usize) -> String {
    let a = page.found.patterns();
    let mut kinds: Vec<&str> = page.types.iter().map(String::as_str).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let kinds = if kinds.is_empty() { vec![""] } else { kinds };
    let parts: Vec<String> = kinds
        .iter()
        .map(|kind| {
            let of_kind = |c: &usize| page.types.get(*c).is_none_or(|own| own == kind);
            let mut order: Vec<usize> = (0..a.rows()).filter(of_kind).collect();
            order.sort_by(|x, y| a[(*y, k)].abs().total_cmp(&a[(*x, k)].abs()));
            let names: Vec<&str> = order
                .iter()
                .take(STRONGEST)
                .map(|c| page.names[*c].as_str())
                .collect();
            let several = if names.len() == 1 { "" } else { "s" };
            let kind = if kind.is_empty() {
                String::new()
            } else {
                format!("{kind} ")
            };
            format!("{kind}channel{several} {}", names.join(", "))
        })
        .collect();
    format!("strongest at {}", parts.join("; "))
}
