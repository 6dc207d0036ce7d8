//! Charts: curves or bars on two axes.

use std::fmt::Write;

use super::axis::Axis;
use super::{escape, text};

/// Points that are closer than this to the previous one, in pixels, are skipped.
const RESOLUTION: f64 = 0.6;

/// A curve. Styles 0 to 3 differ in color and dashes; styles 4 and 5 are thin and have no dot at
/// their end.
#[derive(Clone, Debug)]
pub struct Curve {
    pub name: String,
    pub style: usize,
    pub points: Vec<(f64, f64)>,
}

/// A region between two curves, drawn in the color of a style.
#[derive(Clone, Debug)]
pub struct Band {
    pub style: usize,
    /// Points on the x axis, with the lower and the upper end of the region.
    pub points: Vec<(f64, f64, f64)>,
}

/// A chart.
#[derive(Clone, Debug)]
pub struct Chart {
    pub title: String,
    pub x_label: String,
    pub y_label: String,
    pub x: Axis,
    pub y: Axis,
    pub curves: Vec<Curve>,
    /// Horizontal line with its label.
    pub goal: Option<(f64, String)>,
    /// Whether the first curve is drawn as bars from zero.
    pub bars: bool,
    pub width: f64,
    pub height: f64,
}

/// Data of an SVG path, and the position of its end.
type Path = (String, (f64, f64));

const LEFT: f64 = 62.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 44.0;

impl Chart {
    /// Draws the chart as SVG, with its upper left corner at the origin.
    pub fn draw(&self) -> String {
        self.draw_with_bands(&[])
    }

    /// Draws the chart with bands behind the curves.
    pub fn draw_with_bands(&self, bands: &[Band]) -> String {
        let mut out = String::new();
        let (right, bottom) = (self.width - RIGHT, self.height - BOTTOM);
        let title = "font-weight=\"600\" font-size=\"13\"";
        out += &text(LEFT, 18.0, "ink", title, &self.title);
        for (value, label) in &self.y.ticks {
            let y = self.y_position(*value);
            let _ = write!(
                out,
                "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{right}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>"
            );
            out += &text(
                LEFT - 7.0,
                y + 4.0,
                "soft",
                "text-anchor=\"end\" font-size=\"11\"",
                label,
            );
        }
        for (value, label) in &self.x.ticks {
            let x = self.x_position(*value);
            let _ = write!(
                out,
                "<line class=\"grid\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{TOP}\" y2=\"{bottom}\"/>"
            );
            let centered = "text-anchor=\"middle\" font-size=\"11\"";
            out += &text(x, bottom + 17.0, "soft", centered, label);
        }
        let (w, h) = (right - LEFT, bottom - TOP);
        let _ = write!(
            out,
            "<rect class=\"frame\" x=\"{LEFT}\" y=\"{TOP}\" width=\"{w:.1}\" height=\"{h:.1}\"/>"
        );
        let middle = f64::midpoint(LEFT, right);
        out += &text(
            middle,
            self.height - 9.0,
            "soft",
            "text-anchor=\"middle\"",
            &self.x_label,
        );
        let turned = format!(
            "text-anchor=\"middle\" transform=\"rotate(-90 12 {:.1})\"",
            TOP + h / 2.0
        );
        out += &text(12.0, TOP + h / 2.0, "soft", &turned, &self.y_label);
        if let Some((value, label)) = &self.goal {
            let y = self.y_position(*value);
            let _ = write!(
                out,
                "<line class=\"goal\" x1=\"{LEFT}\" x2=\"{right}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>"
            );
            let start = "text-anchor=\"start\" font-size=\"10\"";
            out += &text(LEFT + 5.0, y - 4.0, "soft", start, label);
        }
        for band in bands {
            out += &self.draw_band(band);
        }
        for (k, curve) in self.curves.iter().enumerate() {
            out += &if self.bars && k == 0 {
                self.draw_bars(curve)
            } else {
                self.draw_curve(curve)
            };
        }
        out
    }

    /// Returns the path through points, and the position of its end; None if there are no points.
    fn path(&self, points: impl ExactSizeIterator<Item = (f64, f64)>) -> Option<Path> {
        let mut path = String::new();
        let mut last: Option<(f64, f64)> = None;
        let count = points.len();
        for (k, point) in points.enumerate() {
            let (x, y) = (self.x_position(point.0), self.y_position(point.1));
            let near = last.is_some_and(|(a, b)| (x - a).hypot(y - b) < RESOLUTION);
            if near && k + 1 < count {
                continue;
            }
            let _ = write!(
                path,
                "{}{x:.1} {y:.1}",
                if last.is_none() { "M" } else { "L" }
            );
            last = Some((x, y));
        }
        last.map(|end| (path, end))
    }

    fn draw_band(&self, band: &Band) -> String {
        let upper = band.points.iter().map(|(x, _, high)| (*x, *high));
        let lower = band.points.iter().rev().map(|(x, low, _)| (*x, *low));
        let (Some((upper, _)), Some((lower, _))) = (self.path(upper), self.path(lower)) else {
            return String::new();
        };
        let lower = lower.replacen('M', "L", 1);
        format!(
            "<path class=\"band d{}\" d=\"{upper}{lower}Z\"/>",
            band.style
        )
    }

    fn draw_curve(&self, curve: &Curve) -> String {
        let Some((path, (x, y))) = self.path(curve.points.iter().copied()) else {
            return String::new();
        };
        let (name, style) = (escape(&curve.name), curve.style);
        // The dot at the end also makes a curve of a single point visible.
        format!(
            "<g class=\"series\"><title>{name}</title><path class=\"curve c{style}\" d=\"{path}\"/>\
             <circle class=\"d{style}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.6\"/></g>"
        )
    }

    fn draw_bars(&self, curve: &Curve) -> String {
        let zero = self.y_position(0.0);
        let spacing = (self.width - LEFT - RIGHT) / curve.points.len().max(1) as f64;
        let width = (spacing * 0.7).clamp(0.4, 14.0);
        let mut out = format!("<g class=\"series\"><title>{}</title>", escape(&curve.name));
        for (x, y) in &curve.points {
            let (left, end) = (self.x_position(*x) - width / 2.0, self.y_position(*y));
            let top = end.min(zero);
            let _ = write!(
                out,
                "<rect class=\"d{}\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" \
                 height=\"{:.1}\"/>",
                curve.style,
                end.max(zero) - top
            );
        }
        out + "</g>"
    }

    fn x_position(&self, value: f64) -> f64 {
        LEFT + self.x.position(value) * (self.width - LEFT - RIGHT)
    }

    fn y_position(&self, value: f64) -> f64 {
        let height = self.height - TOP - BOTTOM;
        TOP + (1.0 - self.y.position(value)) * height
    }
}

/// Returns a sample of a curve as a separate SVG.
pub fn legend_sample(style: usize) -> String {
    format!(
        "<svg viewBox=\"0 0 34 12\" aria-hidden=\"true\">{}</svg>",
        sample(style)
    )
}

/// Returns a sample of a curve for legends.
pub fn sample(style: usize) -> String {
    format!(
        "<path class=\"curve c{style}\" d=\"M0 6L26 6\"/><circle class=\"d{style}\" cx=\"26\" cy=\"6\" \
         r=\"3.6\"/>"
    )
}

/// Returns a sample of a curve with its band for legends.
pub fn sample_with_band(style: usize) -> String {
    format!(
        "<path class=\"band d{style}\" d=\"M0 0H26V12H0Z\"/>{}",
        sample(style)
    )
}

/// Returns a small line chart without axes.
pub fn sparkline(values: impl Iterator<Item = f64> + Clone, width: f64, height: f64) -> String {
    let count = values.clone().count();
    let top = values.clone().fold(f64::MIN_POSITIVE, f64::max);
    let bottom = values.clone().fold(0.0, f64::min);
    let mut path = String::new();
    // Draw at most two points per pixel.
    let stride = (count as f64 / (2.0 * width)).ceil().max(1.0) as usize;
    for (k, value) in values.enumerate().step_by(stride) {
        let x = k as f64 / (count.max(2) - 1) as f64 * (width - 2.0) + 1.0;
        let y = height - 1.0 - (value - bottom) / (top - bottom) * (height - 2.0);
        let _ = write!(path, "{}{x:.1} {y:.1}", if k == 0 { "M" } else { "L" });
    }
    format!(
        "<svg viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         aria-hidden=\"true\"><path class=\"curve c0\" style=\"stroke-width:1.3\" d=\"{path}\"/></svg>"
    )
}
