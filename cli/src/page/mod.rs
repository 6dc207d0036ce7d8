//! Report pages: one self-contained file each, with nothing to fetch and nothing to run. Templates
//! escape all text by themselves.

mod components;
mod convergence;
pub mod diagonalize;
mod maps;
pub mod reproduce;
pub mod separate;
mod source;
pub mod stability;
mod style;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::figure::chart::{self, Chart};
use crate::figure::{self, heat};
use style::POLICY;

/// A whole page.
fn document(title: &str, body: &Markup) -> String {
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="color-scheme" content="light dark";
                title { (title) }
                link rel="icon" href="data:,";
                style { (verbatim(style::sheet())) }
            }
            body { main { (body) } }
        }
    };
    markup.into_string()
}

/// Text that goes into a page as it is: the style sheet and the figures, and nothing else. It is the
/// only way past the templates' escaping, and neither of the two holds text from outside that is not
/// escaped: the sheet is constant, and [`crate::figure`] escapes titles and labels itself.
fn verbatim(text: String) -> Markup {
    PreEscaped(text)
}

/// A chart, as large as it says.
fn drawing(title: &str, chart: &Chart) -> Markup {
    let (width, height) = (chart.width, chart.height);
    verbatim(figure::inline(width, height, title, &chart.draw()))
}

/// A line through numbers, as wide as a word.
fn sparkline(values: impl Iterator<Item = f64> + Clone, width: f64, height: f64) -> Markup {
    verbatim(chart::sparkline(values, width, height))
}

/// Values from −1 (blue) to 1 (red), as a picture that fills its place.
fn heat_map(
    rows: usize,
    columns: usize,
    description: &str,
    value: impl Fn(usize, usize) -> f64,
) -> Markup {
    html! { img.heat alt=(description) src=(heat::data(rows, columns, value)); }
}

/// A heading with its text below.
fn section(title: &str, body: &Markup) -> Markup {
    html! { section { h2 { (title) } (body) } }
}

/// Small facts side by side.
fn facts(facts: &[(&str, String)]) -> Markup {
    html! {
        dl.facts {
            @for (name, value) in facts {
                div { dt { (name) } dd { (value) } }
            }
        }
    }
}

/// What the result's user should know.
fn warnings(warnings: &[String]) -> Markup {
    html! {
        @for warning in warnings {
            p.warning role="note" { (warning) }
        }
    }
}

/// A table that scrolls where it is wider than the page; `class` may be empty. A heading may be two
/// lines.
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

/// A list of what the curves are.
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
    fn what_comes_from_outside_is_escaped() {
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
