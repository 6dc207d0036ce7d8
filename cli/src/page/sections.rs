//! Sections of a report and its table of contents.

use maud::{Markup, html};

/// Sections in their order.
#[derive(Default)]
pub struct Sections(Vec<Section>);

struct Section {
    title: &'static str,
    /// Anchors inside of the section.
    anchors: Vec<String>,
    body: Markup,
}

impl Sections {
    /// Adds a section.
    pub fn add(&mut self, title: &'static str, body: Markup) {
        self.add_with_anchors(title, Vec::new(), body);
    }

    /// Adds a section whose body has elements with these ids, which the table of contents links.
    pub fn add_with_anchors(&mut self, title: &'static str, anchors: Vec<String>, body: Markup) {
        self.0.push(Section {
            title,
            anchors,
            body,
        });
    }

    /// The table of contents.
    pub fn contents(&self) -> Markup {
        html! {
            nav.contents aria-label="Contents" {
                ul {
                    @for section in &self.0 {
                        li {
                            a href=(format!("#{}", anchor(section.title))) { (section.title) }
                            @for id in &section.anchors { " " a.small href=(format!("#{id}")) { (id) } }
                        }
                    }
                }
            }
        }
    }

    /// All sections with their headings.
    pub fn body(&self) -> Markup {
        html! {
            @for section in &self.0 {
                section id=(anchor(section.title)) { h2 { (section.title) } (section.body) }
            }
        }
    }
}

/// Anchor of a title: its letters in lower case, with hyphens between words.
fn anchor(title: &str) -> String {
    let lower = title.to_lowercase();
    let words = lower.split(|c: char| !c.is_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    words.join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_link_every_section() {
        let mut sections = Sections::default();
        sections.add("How diagonal are they?", html! { p { "a" } });
        sections.add_with_anchors("Sources", vec!["S00".to_owned()], html! {});
        let (contents, body) = (
            sections.contents().into_string(),
            sections.body().into_string(),
        );
        for id in ["how-diagonal-are-they", "sources"] {
            assert!(contents.contains(&format!("href=\"#{id}\"")), "{contents}");
            assert!(body.contains(&format!("id=\"{id}\"")), "{body}");
        }
        assert!(contents.contains("href=\"#S00\""));
    }
}
