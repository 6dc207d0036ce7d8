//! HTML reports: self-contained files without scripts or external resources. The templates escape
//! all text.

mod comparison;
mod components;
mod convergence;
pub mod diagonalize;
mod maps;
pub mod provenance;
mod removal;
pub mod reproduce;
mod sections;
pub mod separate;
pub mod solve;
mod source;
pub mod stability;
mod style;

pub use comparison::Comparison;
use maud::{DOCTYPE, Markup, PreEscaped, html};
pub use removal::Removal;

use crate::figure::chart::{self, Chart};
use crate::figure::{self, heat};
use style::CONTENT_SECURITY_POLICY;

/// A complete HTML document.
fn document(title: &str, body: &Markup) -> String {
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content=(CONTENT_SECURITY_POLICY);
                meta name="color-scheme" content="light dark";
                title { (title) }
                link rel="icon" href="data:,";
                style { (verbatim(style::style_sheet())) }
            }
            body { main { (body) } }
        }
    };
    markup.into_string()
}

/// Inserts text without escaping. Used only for the style sheet, which is constant, and for
/// figures, whose titles and labels are escaped by [`crate::figure`].
fn verbatim(text: String) -> Markup {
    PreEscaped(text)
}

/// A chart in its own size.
fn drawing(title: &str, chart: &Chart) -> Markup {
    let (width, height) = (chart.width, chart.height);
    verbatim(figure::inline(width, height, title, &chart.draw()))
}

/// A small line chart without axes.
fn sparkline(values: impl Iterator<Item = f64> + Clone, width: f64, height: f64) -> Markup {
    verbatim(chart::sparkline(values, width, height))
}

/// A picture of values from −1 (blue) to 1 (red).
fn heat_map(
    rows: usize,
    columns: usize,
    description: &str,
    value: impl Fn(usize, usize) -> f64,
) -> Markup {
    html! { img.heat alt=(description) src=(heat::data_url(rows, columns, value)); }
}

/// A section with a heading.
fn section(title: &str, body: &Markup) -> Markup {
    html! { section { h2 { (title) } (body) } }
}

/// A grid of names and values.
fn facts(facts: &[(&str, String)]) -> Markup {
    html! {
        dl.facts {
            @for (name, value) in facts {
                div { dt { (name) } dd { (value) } }
            }
        }
    }
}

/// Warnings about the result.
fn warnings(warnings: &[String]) -> Markup {
    html! {
        @for warning in warnings {
            p.warning role="note" { (warning) }
        }
    }
}

/// A table that scrolls if it is wider than the page. A heading may have several lines.
fn table(class: Option<&str>, headings: &[&[&str]], rows: &Markup) -> Markup {
    html! {
        div.scroll {
            table class=[class] {
                thead {
                    tr {
                        @for lines in headings {
                            th scope="col" {
                                @for (k, line) in lines.iter().enumerate() {
                                    @if k > 0 { br; }
                                    (line)
                                }
                            }
                        }
                    }
                }
                (rows)
            }
        }
    }
}

/// A legend of curves.
fn legend<'a>(entries: impl Iterator<Item = (&'a str, usize)>) -> Markup {
    html! {
        ul.legend {
            @for (name, style) in entries {
                li { (verbatim(chart::legend_sample(style))) (name) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped() {
        let body = section("a < b", &facts(&[("x & y", "<script>".to_owned())]));
        let text = document("\"title\" <b>", &body);
        assert!(text.contains("<h2>a &lt; b</h2>"), "{text}");
        assert!(text.contains("<dt>x &amp; y</dt><dd>&lt;script&gt;</dd>"));
        assert!(text.contains("<title>&quot;title&quot; &lt;b&gt;</title>"));
        assert!(!text.contains("<script"));
        let picture = heat_map(1, 1, "a \"b\"", |_, _| 1.0).into_string();
        assert!(picture.contains("alt=\"a &quot;b&quot;\""));
    }
}
