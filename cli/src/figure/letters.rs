//! The text of a figure as outlines, so that whoever draws it needs no fonts.
//!
//! It knows what [`text`](super::text) writes: one line of letters, written from left to right, that stand on
//! their own. The advances and kerning of the typeface place them; there is nothing to shape.

use std::fmt::Write;

use anyhow::{Context, Result};
use ttf_parser::{Face, GlyphId, OutlineBuilder};

/// The size of text that says none.
const SIZE: f32 = 12.0;

/// The typeface: DejaVu Sans, as carried in the program.
pub struct Letters {
    regular: Face<'static>,
    bold: Face<'static>,
}

impl Letters {
    /// Reads the typeface.
    pub fn new() -> Result<Self> {
        let face = |data| Face::parse(data, 0).context("the typeface cannot be read");
        Ok(Self {
            regular: face(dejavu::sans::regular())?,
            bold: face(dejavu::sans::bold())?,
        })
    }

    /// The figure with every `<text>` replaced by a `<path>`.
    pub fn outlined(&self, svg: &str) -> String {
        let mut out = String::new();
        let mut rest = svg;
        while let Some((before, found)) = rest.split_once("<text ") {
            out += before;
            let Some((line, after)) = found.split_once("</text>") else {
                return out;
            };
            if let Some((attributes, content)) = line.split_once('>') {
                out += &self.path(attributes, &unescape(content));
            }
            rest = after;
        }
        out + rest
    }

    fn path(&self, attributes: &str, content: &str) -> String {
        let number = |name| attribute(attributes, name).and_then(|x| x.parse::<f32>().ok());
        let kept = |name: &str| {
            let value = attribute(attributes, name);
            value.map_or_else(String::new, |value| format!(" {name}=\"{value}\""))
        };
        let face = if attribute(attributes, "font-weight").is_some() {
            &self.bold
        } else {
            &self.regular
        };
        let scale = number("font-size").unwrap_or(SIZE) / f32::from(face.units_per_em());
        let glyphs: Vec<GlyphId> = content
            .chars()
            .map(|letter| face.glyph_index(letter).unwrap_or_default())
            .collect();
        let mut places = vec![0.0];
        for (k, glyph) in glyphs.iter().enumerate() {
            let advance = f32::from(face.glyph_hor_advance(*glyph).unwrap_or(0));
            let nearer = glyphs
                .get(k + 1)
                .map_or(0.0, |next| kerning(face, *glyph, *next));
            places.push(places[k] + (advance + nearer) * scale);
        }
        let width = places[glyphs.len()];
        let before = match attribute(attributes, "text-anchor") {
            Some("middle") => 0.5 * width,
            Some("end") => width,
            _ => 0.0,
        };
        let mut outline = Outline {
            path: String::new(),
            origin: (0.0, number("y").unwrap_or(0.0)),
            scale,
        };
        for (glyph, place) in glyphs.iter().zip(&places) {
            outline.origin.0 = number("x").unwrap_or(0.0) - before + place;
            // A space has none.
            let _ = face.outline_glyph(*glyph, &mut outline);
        }
        format!(
            "<path{}{} d=\"{}\"/>",
            kept("class"),
            kept("transform"),
            outline.path
        )
    }
}

/// By how much two neighbours are moved apart, in the units of the typeface.
fn kerning(face: &Face<'_>, left: GlyphId, right: GlyphId) -> f32 {
    let tables = face.tables().kern.iter();
    let mut tables = tables.flat_map(|kern| kern.subtables);
    tables
        .find_map(|table| {
            table
                .glyphs_kerning(left, right)
                .filter(|_| table.horizontal)
        })
        .map_or(0.0, f32::from)
}

/// An attribute of a tag.
fn attribute<'a>(attributes: &'a str, name: &str) -> Option<&'a str> {
    let (_, value) = attributes.split_once(&format!("{name}=\""))?;
    value.split_once('"').map(|(value, _)| value)
}

/// What [`escape`](super::escape) was given.
fn unescape(text: &str) -> String {
    text.replace("&quot;", "\"")
        .replace("&gt;", ">")
        .replace("&lt;", "<")
        .replace("&amp;", "&")
}

/// Outlines as the path of an SVG, whose y grows downwards.
struct Outline {
    path: String,
    origin: (f32, f32),
    scale: f32,
}

impl Outline {
    fn point(&mut self, before: &str, x: f32, y: f32) {
        let (x, y) = (
            self.origin.0 + self.scale * x,
            self.origin.1 - self.scale * y,
        );
        let _ = write!(self.path, "{before}{x:.3} {y:.3}");
    }
}

impl OutlineBuilder for Outline {
    fn move_to(&mut self, x: f32, y: f32) {
        self.point("M", x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.point("L", x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        self.point("Q", x1, y1);
        self.point(" ", x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        self.point("C", x1, y1);
        self.point(" ", x2, y2);
        self.point(" ", x, y);
    }

    fn close(&mut self) {
        self.path.push('Z');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::text;

    /// The x of all points of the only path.
    fn xs(svg: &str) -> Vec<f32> {
        let path = attribute(svg, " d").unwrap();
        let numbers = path.split(|c: char| c.is_ascii_alphabetic() || c == ' ');
        let numbers = numbers.filter(|x| !x.is_empty());
        numbers.step_by(2).map(|x| x.parse().unwrap()).collect()
    }

    fn ends(svg: &str) -> (f32, f32) {
        let fold = |f: fn(f32, f32) -> f32, from| xs(svg).into_iter().fold(from, f);
        (
            fold(f32::min, f32::INFINITY),
            fold(f32::max, f32::NEG_INFINITY),
        )
    }

    #[test]
    fn text_is_anchored_where_it_says() {
        let letters = Letters::new().unwrap();
        let line = |anchor: &str| {
            let anchor = format!("text-anchor=\"{anchor}\"");
            ends(&letters.outlined(&text(100.0, 20.0, "ink", &anchor, "HHH")))
        };
        let (start, middle, end) = (line("start"), line("middle"), line("end"));
        let width = start.1 - start.0;
        assert!(
            start.0 > 100.0 && start.0 < 102.0 && width > 20.0,
            "{start:?}"
        );
        assert!(
            (f32::midpoint(middle.0, middle.1) - 100.0).abs() < 0.1,
            "{middle:?}"
        );
        assert!(end.1 < 100.0 && end.1 > 98.0, "{end:?}");
    }

    #[test]
    fn everything_else_stays() {
        let letters = Letters::new().unwrap();
        let turned = "font-size=\"24\" transform=\"rotate(-90 1 2)\"";
        let line = text(1.0, 2.0, "soft", turned, "a < b");
        let svg = format!("<g>{line}<circle r=\"1\"/></g>");
        let drawn = letters.outlined(&svg);
        assert!(drawn.starts_with("<g><path class=\"soft\" transform=\"rotate(-90 1 2)\" d=\"M"));
        assert!(drawn.ends_with("Z\"/><circle r=\"1\"/></g>"), "{drawn}");
        let small = letters.outlined(&text(1.0, 2.0, "soft", "", "a < b"));
        let ((a, b), (c, d)) = (ends(&drawn), ends(&small));
        assert!(((b - a) - 2.0 * (d - c)).abs() < 0.01);
    }

    #[test]
    fn neighbours_are_kerned_and_bold_is_wider() {
        let letters = Letters::new().unwrap();
        let width = |attributes: &str, content: &str| {
            let (a, b) = ends(&letters.outlined(&text(0.0, 0.0, "", attributes, content)));
            b - a
        };
        // AV is closer than the two letters apart from each other would be.
        let apart = |x: &str| width("", &format!("{x}H"));
        assert!(width("", "AVH") < apart("A") + apart("V") - width("", "H") - 0.2);
        assert!(width("font-weight=\"600\"", "mean") > width("", "mean"));
    }
}
