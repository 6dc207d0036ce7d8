//! HTML report of `codiag separate`.

use codiag::SortBy;
use codiag::signals::{Artifact, Contrast, Evidence, SeparationResult, Spans, Thresholds};
use maud::{Markup, html};

use super::convergence::{convergence, verdict};
use super::provenance::Provenance;
use super::sections::Sections;
use super::solve::SolveResult;
use super::{Removal, document, facts, maps, source, sparkline, stability, table, warnings};
use crate::commands::separate::Methods;
use crate::format::{self, short};
use crate::source_view::{SourceView, looks_like};

/// Number of sources shown with figures, in addition to those that look like artifacts or were
/// excluded.
const MAX_SOURCES_WITH_FIGURES: usize = 24;
/// Number of strongest channels that are named for each source.
const STRONGEST_CHANNELS: usize = 3;

/// Content of the report.
pub struct Page<'a> {
    pub input: &'a str,
    pub samples: usize,
    /// Sampling frequency in Hz.
    pub sfreq: Option<f64>,
    /// Whether the recording is sound: spectra are shown up to the Nyquist frequency, and there are
    /// no sections about physiological artifacts.
    pub sound: bool,
    /// Name of each channel.
    pub names: &'a [String],
    /// Position of each channel on the head, if known.
    pub positions: &'a [Option<[f64; 2]>],
    /// Type of each channel, empty if unknown; each type has its own maps and units.
    pub types: &'a [String],
    pub methods: Option<&'a Methods>,
    pub thresholds: &'a Thresholds,
    /// File of the recording without the excluded sources, if it is written.
    pub cleaned_file: Option<&'a str>,
    /// Property by which sources are separated.
    pub contrast: &'a Contrast,
    pub sort_by: SortBy,
    pub found: Sources<'a>,
    pub views: &'a [SourceView],
    pub tol: f64,
    pub seconds: Option<f64>,
    pub warnings: &'a [String],
    /// Recording before and after the removal of the excluded sources, if there are some.
    pub removal: Option<&'a Removal>,
    pub excluded: &'a [usize],
    pub provenance: &'a Provenance,
    /// Whether the section about output files is shown.
    pub files: bool,
}

/// Sampling frequency in Hz above which a recording without channel types and reference channels is
/// taken for sound.
const MIN_SOUND_SFREQ: f64 = 2000.0;

/// Whether a recording is sound: its sampling frequency is high, and nothing says that it is
/// physiological.
pub fn is_sound(sfreq: Option<f64>, types: &[String], without_references: bool) -> bool {
    let typed = types.iter().any(|kind| !kind.is_empty());
    let fast = sfreq.is_some_and(|sfreq| sfreq > MIN_SOUND_SFREQ);
    fast && !typed && without_references
}

/// Sources of a recording.
pub struct Sources<'a> {
    /// Result of the solve.
    pub solve: SolveResult<'a>,
    /// Fraction of the variance that each source explains.
    pub explained_variance_ratio: &'a [f64],
    /// Fraction of the variance that all sources explain.
    pub explained_variance_ratio_total: f64,
    /// Variation of the power of each source; empty for lags and cumulants.
    pub nonstationarity: &'a [f64],
    /// Excess kurtosis of each source; empty except for cumulants.
    pub kurtosis: &'a [f64],
    /// Least separable partner of each source, and the margin.
    pub least_separable: Vec<Option<(usize, f64)>>,
    /// Samples of each segment.
    pub segments: &'a [Spans],
}

impl<'a> From<&'a SeparationResult> for Sources<'a> {
    fn from(found: &'a SeparationResult) -> Self {
        let least = found.least_separable.iter();
        Self {
            solve: (&found.diagonalization).into(),
            explained_variance_ratio: &found.explained_variance_ratio,
            explained_variance_ratio_total: found.explained_variance_ratio_total,
            nonstationarity: &found.nonstationarity,
            kurtosis: &found.kurtosis,
            least_separable: least
                .map(|least| least.map(|least| (least.partner, least.margin)))
                .collect(),
            segments: &found.segments,
        }
    }
}

/// Renders the report.
pub fn render(page: &Page<'_>) -> String {
    let (found, result) = (&page.found, &page.found.solve);
    let (contrast, count) = match page.contrast {
        Contrast::Bands(_) => ("bands", result.powers.rows()),
        Contrast::Lags(lags) => ("lags", lags.lags.len()),
        Contrast::Cumulants { .. } => ("cumulants", result.powers.rows()),
        _ => ("segments", result.powers.rows()),
    };
    let duration = page.sfreq.map_or_else(
        || "unknown".to_owned(),
        |sfreq| format::seconds(page.samples as f64 / sfreq),
    );
    let mut sections = Sections::default();
    if let Some(grid) = maps::overview(page) {
        sections.add("Overview", grid);
    }
    if let Some(removal) = page.removal {
        sections.add("Before and after", removal.markup(page));
    }
    if !page.sound {
        sections.add("Suspected artifacts", suspected_artifacts(page));
        if page.sfreq.is_some() {
            sections.add("Artifact scores", scores(page));
        }
    }
    sections.add("All sources", all_sources(page));
    let shown = (0..page.views.len()).filter(|k| has_figures(page, *k));
    sections.add_with_anchors(
        "Individual sources",
        shown.map(|k| page.found.solve.name(k)).collect(),
        individual_sources(page),
    );
    sections.add("Convergence", convergence(result, Some(page.tol)));
    if let Some(text) = page.methods {
        sections.add("Methods", methods(text));
    }
    if page.files {
        sections.add("Files", files(page));
    }
    let mut shown = vec![
        ("channels", result.b.columns().to_string()),
        ("samples", page.samples.to_string()),
        ("duration", duration),
        (contrast, count.to_string()),
        ("sources", result.b.rows().to_string()),
        (
            "explained variance",
            percent(found.explained_variance_ratio_total),
        ),
        ("iterations", result.n_iter.to_string()),
    ];
    shown.extend(page.seconds.map(|time| ("time", format::seconds(time))));
    let body = html! {
        header {
            h1 { "Sources of " (page.input) }
            (verdict(result, Some(page.tol)))
            (page.provenance.details())
        }
        (sections.contents())
        (facts(&shown))
        (warnings(page.warnings))
        (sections.body())
        footer {
            "codiag " (env!("CARGO_PKG_VERSION")) ". Sources are s = B x, scaled to unit variance. \
             Patterns are the columns of A, in the units of the recording. " (literature(page.contrast))
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
            code { "sources.npy" } ": the sources, one per row. " code { "filters.npy" }
            ": B, one filter per row. " code { "patterns.npy" } ": A, one pattern per column (B A = I). "
            code { "diagonals.npy" } ": " (diagonals) ". "
            code { "report.json" } ": all numbers and settings of this page. " code { "history.csv" }
            ": one row per iteration."
            @if let Some(file) = page.cleaned_file { " " code { (file) } ": the recording without the excluded sources." }
        }
    }
}

fn percent(fraction: f64) -> String {
    match 100.0 * fraction {
        p if p >= 99.95 => "100 %".to_owned(),
        p if p >= 10.0 => format!("{p:.0} %"),
        p => format!("{p:.1} %"),
    }
}

fn suspected_artifacts(page: &Page<'_>) -> Markup {
    if page.sfreq.is_none() {
        return html! {
            p {
                "Artifacts cannot be detected without the sampling frequency"
                @if page.files { " (" code { "--sfreq" } ")" } "."
            }
        };
    }
    let views = || page.views.iter().enumerate();
    let suspected = views().filter(|(_, view)| !view.artifacts.is_empty());
    let suspected: Vec<String> = suspected.map(|(k, _)| page.found.solve.name(k)).collect();
    let rows = html! {
        tbody {
            @for (k, view) in views() {
                @for artifact in &view.artifacts {
                    tr { td { (link(page, k)) } td { (looks_like(artifact)) } td { (artifact.reason) } }
                }
            }
        }
    };
    let headings: [&[&str]; 3] = [&["source"], &["looks like"], &["reason"]];
    html! {
        @if suspected.is_empty() {
            p { "No source looks like blinks, a heartbeat, line noise or muscle activity." }
        } @else {
            (table(Some("words"), &headings, &rows))
            p {
                "These scores are heuristics: check the figures below before you remove a source. "
                @if page.files { code { "--exclude " (suspected.join(",")) } " writes the recording without these sources." }
            }
        }
    }
}

/// Heading of a column of scores in two lines: the kind of artifact and the evidence.
fn score_heading(score: &Artifact) -> [String; 2] {
    let evidence = match &score.evidence {
        Evidence::Correlation(name) => format!("correlation, {name}"),
        Evidence::Phase(name) => format!("phase, {name}"),
        _ => "waveform".to_owned(),
    };
    [score.kind.name().to_owned(), evidence]
}

/// Table of the scores of all sources for all kinds of artifacts.
fn scores(page: &Page<'_>) -> Markup {
    let Some(widest) = page
        .views
        .iter()
        .map(|view| &view.scores)
        .max_by_key(|scores| scores.len())
    else {
        return html! {};
    };
    let columns: Vec<[String; 2]> = widest.iter().map(score_heading).collect();
    let cell = |view: &SourceView, column: &[String; 2]| {
        let score = view
            .scores
            .iter()
            .find(|score| score_heading(score) == *column);
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
                    td { (link(page, k)) }
                    @for column in &columns { (cell(view, column)) }
                }
            }
        }
    };
    html! {
        p {
            "Scores range from 0 to 1; those that reach their threshold " @if page.files { "(" code { "--thresholds" } ") " } "are bold. If a reference \
             channel records a kind of artifact, waveform scores for this kind are shown but not used."
        }
        (table(None, &headings, &rows))
    }
}

/// Texts of the table of sources that depend on the contrast.
struct ContrastTexts {
    /// Heading of the column of sparklines, if there is one.
    curve: Option<&'static [&'static str]>,
    /// Heading of the number by which sources are sorted.
    number: &'static [&'static str],
    /// Description of this number.
    order: &'static str,
    /// Explanation of the margin.
    margin: &'static str,
}

fn contrast_texts(contrast: &Contrast) -> ContrastTexts {
    let mixture = "A margin near zero means that any mixture of the two sources fits as well.";
    match contrast {
        Contrast::Lags(lags) if lags.lags.len() == 1 => ContrastTexts {
            curve: None,
            number: &["auto-", "correlation"],
            order: "their autocorrelation at the lag",
            margin: mixture,
        },
        Contrast::Lags(_) => ContrastTexts {
            curve: Some(&["autocorrelation over lags"]),
            number: &["sum of", "squares"],
            order: "the sum of their squared autocorrelations",
            margin: mixture,
        },
        Contrast::Cumulants { .. } => ContrastTexts {
            curve: Some(&["distribution"]),
            number: &["kurtosis"],
            order: "their excess kurtosis, which is 0 for a Gaussian source",
            margin: "A margin near zero means that both sources are Gaussian, so any mixture of them fits as well.",
        },
        Contrast::Bands(_) => ContrastTexts {
            curve: Some(&["power over bands"]),
            number: &["power", "varies by"],
            order: "how much their power varies over the bands",
            margin: mixture,
        },
        _ => ContrastTexts {
            curve: Some(&["power over segments"]),
            number: &["power", "varies by"],
            order: "how much their power varies over the segments",
            margin: mixture,
        },
    }
}

fn all_sources(page: &Page<'_>) -> Markup {
    let texts = contrast_texts(page.contrast);
    let mut headings: Vec<&[&str]> = vec![&["source"]];
    headings.extend(texts.curve);
    headings.extend([&["explained", "variance"][..], texts.number]);
    let result = &page.found.solve;
    headings.extend(result.stability.as_ref().map(|_| stability::HEADING));
    headings.extend([&["least separable", "partner"][..], &["margin"]]);
    if !page.sound {
        headings.push(&["looks like"]);
    }
    let rows = html! {
        tbody {
            @for (k, view) in page.views.iter().enumerate() { (row(page, k, view, texts.curve.is_some())) }
        }
    };
    html! {
        p {
            "Sources are sorted by "
            (if page.sort_by == SortBy::Stability { "their stability" } else { texts.order }) ". The least separable partner of a source is the one that is \
             hardest to distinguish from it. " (texts.margin)
        }
        (stability::explanation(result, stability::resampled_in(page.contrast)))
        (table(None, &headings, &rows))
    }
}

fn row(page: &Page<'_>, k: usize, view: &SourceView, drawn: bool) -> Markup {
    let (found, powers) = (&page.found, page.found.solve.powers);
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
            let varies = format!(
                "{:.0} %",
                100.0 * found.nonstationarity.get(k).copied().unwrap_or(f64::NAN)
            );
            (entries().collect(), varies)
        }
    };
    let closest = found.least_separable[k];
    html! {
        tr {
            td { (link(page, k)) }
            @if drawn { td { (sparkline(curve.iter().copied(), 160.0, 24.0)) } }
            td { (percent(found.explained_variance_ratio[k])) }
            td { (number) }
            (stability::cell(&found.solve, k))
            td { @if let Some((partner, _)) = closest { (link(page, partner)) } }
            td { @if let Some((_, margin)) = closest { (short(margin)) } }
            @if !page.sound {
                td { @if let Some(artifact) = view.artifacts.first() { (looks_like(artifact)) } }
            }
        }
    }
}

/// Name of a source, with a link to its figures if it has some.
fn link(page: &Page<'_>, k: usize) -> Markup {
    let name = page.found.solve.name(k);
    html! {
        @if has_figures(page, k) { a href=(format!("#{name}")) { (name) } } @else { (name) }
    }
}

/// Whether a source has its own figures.
pub fn has_figures(page: &Page<'_>, k: usize) -> bool {
    k < MAX_SOURCES_WITH_FIGURES
        || !page.views[k].artifacts.is_empty()
        || page.excluded.contains(&k)
}

fn individual_sources(page: &Page<'_>) -> Markup {
    let without_figures = (0..page.views.len())
        .filter(|k| !has_figures(page, *k))
        .count();
    html! {
        @for (k, view) in page.views.iter().enumerate().filter(|(k, _)| has_figures(page, *k)) {
            div.source id=(page.found.solve.name(k)) {
                h3 {
                    (page.found.solve.name(k))
                    @if let Some(artifact) = view.artifacts.first() {
                        span.badge.bad { (looks_like(artifact)) }
                    }
                    (stability::badge(&page.found.solve, k))
                }
                p.soft.small { (percent(page.found.explained_variance_ratio[k])) " of the variance; " (strongest_channels(page, k)) }
                div.panels { (source::figures(page, k, view)) }
            }
        }
        @if without_figures > 0 {
            p { "The other " (without_figures) " sources are not shown" @if page.files { "; they are in sources.npy and patterns.npy" } "." }
        }
    }
}

/// Names the channels with the largest pattern entries, separately for each type because units
/// differ.
fn strongest_channels(page: &Page<'_>, k: usize) -> String {
    let a = page.found.solve.a;
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
                .take(STRONGEST_CHANNELS)
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
