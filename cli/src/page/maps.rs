//! Patterns as maps: of each type of channels, and of all sources at a glance.

use maud::{Markup, html};

use super::separate::{Page, shown};
use super::{stability, verbatim};
use crate::figure::topography;
use crate::source_view::looks_like;

/// What a type of channels is called, and in what unit and by what factor it is shown.
fn unit(kind: &str) -> (&str, &'static str, f64) {
    match kind {
        "mag" => ("magnetometers", "fT", 1e15),
        "grad" => (
            "gradiometers, of pairs the root of the sum of squares",
            "fT/cm",
            1e13,
        ),
        "eeg" => ("EEG", "µV", 1e6),
        "" => ("channels", "", 1.0),
        other => (other, "", 1.0),
    }
}

/// The types that have a map, that of which it says most first.
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

/// The values of one type of channels, and their places.
type Values = (Vec<f64>, Vec<Option<[f64; 2]>>);

fn of_kind(page: &Page<'_>, k: usize, kind: &str) -> Values {
    let a = page.found.patterns();
    let own = |c: &usize| page.types.get(*c).is_none_or(|own| own == kind);
    let channels = (0..a.rows()).filter(own);
    let places = |c: usize| page.positions.get(c).copied().flatten();
    channels.map(|c| (a[(c, k)], places(c))).unzip()
}

/// One map per type, with its colors explained; None if no channel has a place.
pub fn of_source(page: &Page<'_>, k: usize) -> Option<Markup> {
    let maps: Vec<Markup> = kinds(page)
        .iter()
        .filter_map(|kind| {
            let (values, places) = of_kind(page, k, kind);
            let (name, unit, factor) = unit(kind);
            let title = format!("Pattern of source {k}: {name}");
            let map = topography::draw(&values, &places, &title)?;
            let largest = topography::largest(&values, &places) * factor;
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

/// All sources, each with its map and what it looks like; None if no channel has a place.
pub fn grid(page: &Page<'_>) -> Option<Markup> {
    let kind = *kinds(page).first()?;
    let map = |k: usize| {
        let (values, places) = of_kind(page, k, kind);
        topography::draw(&values, &places, &format!("Pattern of source {k}"))
    };
    map(0)?;
    let (name, ..) = unit(kind);
    let result = &page.found.diagonalization;
    Some(html! {
        p {
            "The pattern of every source (" (name) "), each in colors of its own range: red is positive, blue negative. \
             Below it the share of the variance" @if result.stability.is_some() { ", the stability" }
            ", and the score of what it looks like."
        }
        div.grid-of-maps {
            @for (k, view) in page.views.iter().enumerate() {
                a href=[shown(page, k).then(|| format!("#source-{k}"))] class=[(!view.artifacts.is_empty()).then_some("flagged")] {
                    @if let Some(drawn) = map(k) { (verbatim(drawn)) }
                    strong { (k) } " "
                    span.soft { (format!("{:.1} %", 100.0 * page.found.explained_variance_ratio[k])) (stability::after(result, k)) }
                    @for artifact in &view.artifacts {
                        br;
                        span.badge.bad { (looks_like(artifact)) (format!(" {:.2}", artifact.score)) }
                    }
                }
            }
        }
    })
}
