//! Topographic maps of patterns: one per type of channels, and an overview of all sources.

use maud::{Markup, html};

use super::separate::{Page, has_figures};
use super::{stability, verbatim};
use crate::figure::topography;
use crate::source_view::looks_like;

/// Name of a type of channels, its unit, and the factor from SI units to it.
pub fn unit(kind: &str) -> (&str, &'static str, f64) {
    match kind {
        "mag" => ("magnetometers", "fT", 1e15),
        "grad" => (
            "gradiometers (root of the sum of squares of each pair)",
            "fT/cm",
            1e13,
        ),
        "eeg" => ("EEG", "µV", 1e6),
        "" => ("channels", "", 1.0),
        other => (other, "", 1.0),
    }
}

/// Returns the types of channels in the order of their maps.
fn kinds<'a>(page: &'a Page<'_>) -> Vec<&'a str> {
    if page.types.is_empty() {
        return vec![""];
    }
    let mut kinds: Vec<&str> = page.types.iter().map(String::as_str).collect();
    let rank = |kind: &str| {
        ["mag", "eeg", "grad"]
            .iter()
            .position(|k| *k == kind)
            .unwrap_or(3)
    };
    kinds.sort_by_key(|kind| (rank(kind), (*kind).to_owned()));
    kinds.dedup();
    kinds
}

/// Values of one type of channels, and their positions.
type Values = (Vec<f64>, Vec<Option<[f64; 2]>>);

/// Returns the pattern entries of source k for one type of channels, and their positions.
fn values_of_kind(page: &Page<'_>, k: usize, kind: &str) -> Values {
    let a = page.found.solve.a;
    let own = |c: &usize| page.types.get(*c).is_none_or(|own| own == kind);
    let channels = (0..a.rows()).filter(own);
    let position = |c: usize| page.positions.get(c).copied().flatten();
    channels.map(|c| (a[(c, k)], position(c))).unzip()
}

/// Draws one map per type of channels, with a color bar; None if no channel has a position.
pub fn source_maps(page: &Page<'_>, k: usize) -> Option<Markup> {
    let maps: Vec<Markup> = kinds(page)
        .iter()
        .filter_map(|kind| {
            let (values, positions) = values_of_kind(page, k, kind);
            let (name, unit, factor) = unit(kind);
            let title = format!("Pattern of {}: {name}", page.found.solve.name(k));
            let map = topography::draw(&values, &positions, &title)?;
            let largest = topography::largest(&values, &positions) * factor;
            Some(html! {
                figure {
                    (verbatim(map))
                    (verbatim(topography::color_bar(largest, unit)))
                    figcaption { (name) }
                }
            })
        })
        .collect();
    (!maps.is_empty()).then(|| html! { @for map in &maps { (map) } })
}

/// Draws a map of every source with its suspected artifacts; None if no channel has a position.
pub fn overview(page: &Page<'_>) -> Option<Markup> {
    let kind = *kinds(page).first()?;
    let map = |k: usize| {
        let (values, positions) = values_of_kind(page, k, kind);
        topography::draw(
            &values,
            &positions,
            &format!("Pattern of {}", page.found.solve.name(k)),
        )
    };
    map(0)?;
    let (name, ..) = unit(kind);
    let result = &page.found.solve;
    Some(html! {
        p {
            "Pattern of every source (" (name) "), each scaled to its own range: red is positive, blue negative. \
             Below each map: the fraction of the variance" @if result.stability.is_some() { ", the stability" }
            " and the scores of suspected artifacts."
        }
        div.grid-of-maps {
            @for (k, view) in page.views.iter().enumerate() {
                a href=[has_figures(page, k).then(|| format!("#{}", page.found.solve.name(k)))] class=[(!view.artifacts.is_empty()).then_some("flagged")] {
                    @if let Some(drawn) = map(k) { (verbatim(drawn)) }
                    strong { (page.found.solve.name(k)) } " "
                    span.soft { (format!("{:.1} %", 100.0 * page.found.explained_variance_ratio[k])) (stability::suffix(result, k)) }
                    @for artifact in &view.artifacts {
                        br;
                        span.badge.bad { (looks_like(artifact)) (format!(" {:.2}", artifact.score)) }
                    }
                }
            }
        }
    })
}
