//! Figures as SVG, in light and dark colors.

pub mod axis;
pub mod chart;
pub mod heat;
pub mod topography;

/// Style sheet of figures. The light colors come first, for renderers without media queries. Curves
/// have the colors of Okabe & Ito, which color-blind readers can distinguish, and different dashes.
pub const STYLE: &str = "\
.ink{fill:#1d2430}.soft{fill:#5a6472}.paper{fill:#ffffff}
.grid{stroke:#e4e7ec;stroke-width:1}.frame{stroke:#b6bdc7;stroke-width:1;fill:none}
.goal{stroke:#8a93a0;stroke-width:1;stroke-dasharray:2 3}
.band{fill-opacity:.17;stroke:none}
.curve{fill:none;stroke-width:2;stroke-linejoin:round;stroke-linecap:round}
.c0{stroke:#0072b2}.c1{stroke:#d55e00}.c2{stroke:#009e73}.c3{stroke:#a4418a}
.c1{stroke-dasharray:7 4}.c2{stroke-dasharray:1.5 4}.c3{stroke-width:2.6}
.c4{stroke:#0072b2;stroke-width:1}.d4{fill:none}
.c5{stroke:#d55e00;stroke-width:1}.d5{fill:none}
.d0{fill:#0072b2}.d1{fill:#d55e00}.d2{fill:#009e73}.d3{fill:#a4418a}
";

/// Colors of figures in dark mode.
pub const DARK_STYLE: &str = "\
.band{fill-opacity:.24}
.ink{fill:#e7eaf0}.soft{fill:#a2abb8}.paper{fill:#14171c}
.grid{stroke:#2a2f38}.frame{stroke:#4b5563}.goal{stroke:#7d8794}
.c0{stroke:#56b4e9}.c1{stroke:#f0883e}.c2{stroke:#2fc79a}.c3{stroke:#e38fc9}
.c4{stroke:#56b4e9}
.c5{stroke:#f0883e}
.d0{fill:#56b4e9}.d1{fill:#f0883e}.d2{fill:#2fc79a}.d3{fill:#e38fc9}
";

/// Fonts of figures.
const FONTS: &str =
    "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'DejaVu Sans', sans-serif";

/// Escapes text for use between tags and in attributes.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// Returns an SVG for an HTML page that contains the style sheet.
pub fn inline(width: f64, height: f64, title: &str, content: &str) -> String {
    format!(
        "<svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{}\" \
         font-size=\"12\">{content}</svg>",
        escape(title)
    )
}

/// Returns an SVG file with its own style sheet and background.
pub fn standalone(width: f64, height: f64, title: &str, content: &str) -> String {
    let title = escape(title);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\" role=\"img\" aria-label=\"{title}\" \
         font-family=\"{FONTS}\" font-size=\"12\">\n<title>{title}</title>\n\
         <style>\n{STYLE}@media (prefers-color-scheme: dark) {{\n{DARK_STYLE}}}\n</style>\n\
         <rect class=\"paper\" width=\"{width}\" height=\"{height}\"/>\n{content}\n</svg>\n"
    )
}

/// Returns a line of text as SVG.
pub fn text(x: f64, y: f64, class: &str, attributes: &str, content: &str) -> String {
    format!(
        "<text x=\"{x:.1}\" y=\"{y:.1}\" class=\"{class}\" {attributes}>{}</text>",
        escape(content)
    )
}
