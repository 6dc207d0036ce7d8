//! The report of `codiag separate`.

use codiag::signals::{Piece, Separated, Spectrum};

use super::solve::{badge, convergence, verdict};
use super::{facts, page, section};
use crate::commands::separate::{SourceView, looks_like};
use crate::figure::chart::{Chart, Curve, sparkline};
use crate::figure::scale::{Scale, Unit};
use crate::figure::{escape, inline, topography};
use crate::words::{self, small};

/// Sources shown with figures of their own.
const SHOWN: usize = 24;
/// Hertz above which spectra are not shown.
const HIGHEST: f64 = 120.0;
/// Channels that are named as the strongest.
const STRONGEST: usize = 3;

/// What the page tells of.
pub struct Page<'a> {
    pub input: &'a str,
    pub samples: usize,
    pub rate: Option<f64>,
    /// One a channel.
    pub names: &'a [String],
    /// One a channel, where it is known.
    pub positions: &'a [Option<[f64; 2]>],
    /// Empty if sources are told apart by segments.
    pub bands: &'a [(f64, f64)],
    pub found: &'a Separated,
    pub views: &'a [SourceView],
    pub tolerance: f64,
    pub seconds: f64,
    pub warnings: &'a [String],
    pub excluded: &'a [usize],
}

/// The page.
pub fn render(told: &Page<'_>) -> String {
    let (found, answer) = (told.found, &told.found.diagonalization);
    let mut body = format!(
        "<header><h1>Sources of {}</h1>\n<p class=\"lead\">{} {}</p></header>\n",
        escape(told.input),
        badge(answer),
        escape(&verdict(answer, told.tolerance))
    );
    let (contrast, count) = match told.bands {
        [] => ("segments", answer.powers.rows()),
        bands => ("bands", bands.len()),
    };
    body += &facts(&[
        ("channels", found.channels().to_string()),
        ("samples", told.samples.to_string()),
        (
            "duration",
            told.rate.map_or_else(
                || "unknown".to_owned(),
                |rate| words::seconds(told.samples as f64 / rate),
            ),
        ),
        (contrast, count.to_string()),
        ("sources", found.components().to_string()),
        ("variance kept", percent(found.kept_variance)),
        ("iterations", answer.iterations.to_string()),
        ("time", words::seconds(told.seconds)),
    ]);
    for warning in told.warnings {
        body += &format!(
            "<p class=\"warning\" role=\"note\">{}</p>\n",
            escape(warning)
        );
    }
    body += &section("What looks like an artefact", &artefacts(told));
    body += &section("All sources", &table(told));
    body += &section("One by one", &sources(told));
    body += &section("Convergence", &convergence(answer, told.tolerance));
    body += &section("The files", FILES);
    body += &format!(
        "<footer>codiag {}. Sources are s = B x, in units of their own standard deviation; patterns are the \
         columns of A, in the units of the recording. Pham &amp; Cardoso (2001); Ablin, Cardoso &amp; Gramfort \
         (2019).</footer>",
        env!("CARGO_PKG_VERSION")
    );
    page(&format!("codiag: sources of {}", told.input), &body)
}

const FILES: &str = "<p><code>sources.npy</code> holds the sources, one a row; <code>filters.npy</code> B, one filter a \
row; <code>patterns.npy</code> A, one pattern a column (B A = I); <code>diagonals.npy</code> the power of each source \
(columns) in each segment or band (rows); <code>report.json</code> all numbers and settings of this page; \
<code>history.csv</code> one row an iteration; <code>cleaned.npy</code>, if sources were excluded, the recording without \
them.</p>\n";

fn percent(share: f64) -> String {
    match 100.0 * share {
        p if p >= 99.95 => "100 %".to_owned(),
        p if p >= 10.0 => format!("{p:.0} %"),
        p => format!("{p:.1} %"),
    }
}

fn artefacts(told: &Page<'_>) -> String {
    let Some(_) = told.rate else {
        return "<p>Without <code>--rate</code>, the samples per second, nothing can be said: a blink and a \
                heartbeat differ in how long they last.</p>\n"
            .to_owned();
    };
    let mut rows = String::new();
    let mut suspects = Vec::new();
    for (k, view) in told.views.iter().enumerate() {
        for artefact in &view.artefacts {
            rows += &format!(
                "<tr><td>{k}</td><td>{}</td><td>{}</td></tr>\n",
                looks_like(artefact),
                escape(&artefact.reason)
            );
        }
        if !view.artefacts.is_empty() {
            suspects.push(k.to_string());
        }
    }
    let removed = if told.excluded.is_empty() {
        String::new()
    } else {
        let sources: Vec<String> = told.excluded.iter().map(ToString::to_string).collect();
        format!(
            "<p><code>cleaned.npy</code> is the recording without source {}.</p>\n",
            sources.join(", ")
        )
    };
    if rows.is_empty() {
        return format!(
            "<p>None of the sources looks like blinks, a heartbeat, line noise or muscles.</p>\n{removed}"
        );
    }
    format!(
        "<div class=\"scroll\"><table class=\"words\"><thead><tr><th scope=\"col\">source</th>\
         <th scope=\"col\">looks like</th><th scope=\"col\">because</th></tr></thead><tbody>\n{rows}</tbody>\
         </table></div>\n<p>These are rules of thumb: look at the figures below before you believe them. \
         <code>--exclude {}</code> writes the recording without them.</p>\n{removed}",
        suspects.join(",")
    )
}

fn table(told: &Page<'_>) -> String {
    let (found, powers) = (told.found, &told.found.diagonalization.powers);
    let mut rows = String::new();
    for (k, view) in told.views.iter().enumerate() {
        let course = (0..powers.rows()).map(|i| powers[(i, k)]);
        let rival = found.rivals[k].map_or_else(
            || "<td></td><td></td>".to_owned(),
            |rival| format!("<td>{}</td><td>{}</td>", rival.source, small(rival.margin)),
        );
        let looks = view
            .artefacts
            .first()
            .map_or("", |artefact| looks_like(artefact));
        rows += &format!(
            "<tr><td>{k}</td><td>{}</td><td>{}</td><td>{}</td>{rival}<td>{looks}</td></tr>\n",
            sparkline(course, 160.0, 24.0),
            percent(found.variance_shares[k]),
            format_args!("{:.0} %", 100.0 * found.nonstationarity[k]),
        );
    }
    let over = if told.bands.is_empty() {
        "segments"
    } else {
        "bands"
    };
    format!(
        "<p>Sources come in the order of how much their power varies over the {over}. The rival of a source is the one \
         that is hardest to tell from it; a margin near zero means that any mixture of the two would serve as \
         well.</p>\n<div class=\"scroll\"><table><thead><tr><th scope=\"col\">source</th>\
         <th scope=\"col\">power over {over}</th><th scope=\"col\">share of<br>variance</th>\
         <th scope=\"col\">power<br>varies by</th><th scope=\"col\">rival</th><th scope=\"col\">margin</th>\
         <th scope=\"col\">looks like</th></tr></thead><tbody>\n{rows}</tbody></table></div>\n"
    )
}

fn sources(told: &Page<'_>) -> String {
    let mut out = String::new();
    for (k, view) in told.views.iter().enumerate().take(SHOWN) {
        let badge = view.artefacts.first().map_or_else(String::new, |artefact| {
            format!("<span class=\"badge bad\">{}</span>", looks_like(artefact))
        });
        let mut figures = trace(told, k, view) + &pattern(told, k) + &excerpt(told, view);
        if let Some(spectrum) = &view.spectrum {
            figures += &draw_spectrum(spectrum);
        }
        figures += &power(told, k);
        out += &format!(
            "<div class=\"source\"><h3>Source {k}{badge}</h3>\n<p class=\"soft small\">{}</p>\n\
             <div class=\"panels\">{figures}</div></div>\n",
            escape(&strongest(told, k))
        );
    }
    if told.views.len() > SHOWN {
        out += &format!(
            "<p>The other {} are in sources.npy and patterns.npy.</p>\n",
            told.views.len() - SHOWN
        );
    }
    out
}

fn strongest(told: &Page<'_>, k: usize) -> String {
    let a = told.found.patterns();
    let mut order: Vec<usize> = (0..a.rows()).collect();
    order.sort_by(|x, y| a[(*y, k)].abs().total_cmp(&a[(*x, k)].abs()));
    let names: Vec<&str> = order
        .iter()
        .take(STRONGEST)
        .map(|c| told.names[*c].as_str())
        .collect();
    let share = percent(told.found.variance_shares[k]);
    let channels = if names.len() == 1 {
        "channel"
    } else {
        "channels"
    };
    format!(
        "{share} of the variance; strongest at {channels} {}",
        names.join(", ")
    )
}

/// Seconds if the rate is known, samples otherwise.
fn time(told: &Page<'_>, sample: f64) -> f64 {
    told.rate.map_or(sample, |rate| sample / rate)
}

fn time_label(told: &Page<'_>) -> String {
    if told.rate.is_some() {
        "seconds"
    } else {
        "samples"
    }
    .to_owned()
}

/// An axis for numbers of either sign.
fn around(low: f64, high: f64) -> Scale {
    let (low, high) = (low.min(0.0), high.max(0.0));
    let margin = 0.06 * (high - low).max(f64::MIN_POSITIVE);
    Scale::linear(low - margin, high + margin, 4)
}

struct Drawing<'a> {
    title: &'a str,
    x: (Scale, String),
    y: (Scale, &'a str),
    points: Vec<(f64, f64)>,
    bars: bool,
    style: usize,
    size: (f64, f64),
}

fn draw(drawing: Drawing<'_>) -> String {
    let (width, height) = drawing.size;
    let chart = Chart {
        title: drawing.title.to_owned(),
        x_label: drawing.x.1,
        y_label: drawing.y.1.to_owned(),
        x: drawing.x.0,
        y: drawing.y.0,
        curves: vec![Curve {
            name: drawing.title.to_owned(),
            style: drawing.style,
            points: drawing.points,
        }],
        goal: None,
        bars: drawing.bars,
        width,
        height,
    };
    inline(width, height, drawing.title, &chart.draw())
}

const SMALL: (f64, f64) = (370.0, 220.0);

fn trace(told: &Page<'_>, k: usize, view: &SourceView) -> String {
    let places = view.envelope.len() as f64;
    let end = time(told, told.samples as f64);
    let points = view
        .envelope
        .iter()
        .enumerate()
        .flat_map(|(place, (low, high))| {
            let x = (place as f64 + 0.5) / places * end;
            // Down and up by turns, so that the line does not cross itself.
            let (first, second) = if place % 2 == 0 {
                (low, high)
            } else {
                (high, low)
            };
            [(x, *first), (x, *second)]
        })
        .collect();
    let low = view.envelope.iter().fold(0.0_f64, |m, x| m.min(x.0));
    let high = view.envelope.iter().fold(0.0_f64, |m, x| m.max(x.1));
    let drawn = draw(Drawing {
        title: &format!("Source {k} over the whole recording"),
        x: (Scale::linear(0.0, end, 10), time_label(told)),
        y: (around(low, high), "s"),
        points,
        bars: false,
        style: 4,
        size: (756.0, 220.0),
    });
    format!("<div class=\"wide scroll span2\"><div style=\"min-width:34rem\">{drawn}</div></div>")
}

fn excerpt(told: &Page<'_>, view: &SourceView) -> String {
    let (start, samples) = &view.excerpt;
    let points: Vec<(f64, f64)> = samples
        .iter()
        .enumerate()
        .map(|(t, x)| (time(told, (start + t) as f64), *x))
        .collect();
    let ends = (
        time(told, *start as f64),
        time(told, (start + samples.len()) as f64),
    );
    let low = samples.iter().fold(0.0_f64, |m, x| m.min(*x));
    let high = samples.iter().fold(0.0_f64, |m, x| m.max(*x));
    draw(Drawing {
        title: "Where it is strongest",
        x: (Scale::linear(ends.0, ends.1, 5), time_label(told)),
        y: (around(low, high), "s"),
        points,
        bars: false,
        style: 4,
        size: SMALL,
    })
}

fn draw_spectrum(spectrum: &Spectrum) -> String {
    // Nothing is said about the mean.
    let points: Vec<(f64, f64)> = spectrum
        .frequencies
        .iter()
        .zip(&spectrum.density)
        .filter(|(f, d)| **f > 0.0 && **f <= HIGHEST && d.is_finite() && **d > 0.0)
        .map(|(f, d)| (*f, *d))
        .collect();
    let (Some(first), Some(last)) = (points.first(), points.last()) else {
        return String::new();
    };
    let (from, to) = (first.0, last.0);
    let high = points.iter().fold(0.0_f64, |m, p| m.max(p.1));
    let low = points.iter().fold(high, |m, p| m.min(p.1)).max(1e-9 * high);
    draw(Drawing {
        title: "Spectrum",
        x: (Scale::linear(from, to, 6), "hertz".to_owned()),
        y: (
            Scale::logarithmic(low / 2.0, high * 2.0, Unit::None, 5),
            "power / Hz",
        ),
        points,
        bars: false,
        style: 4,
        size: SMALL,
    })
}

/// The middle of a segment, which may have gaps.
fn middle(piece: &Piece) -> f64 {
    let (first, last) = (piece.first(), piece.last());
    first
        .zip(last)
        .map_or(0.0, |(first, last)| 0.5 * (first.start + last.end) as f64)
}

fn power(told: &Page<'_>, k: usize) -> String {
    let powers = &told.found.diagonalization.powers;
    let n = powers.rows();
    let values = (0..n).map(|i| powers[(i, k)]);
    let high = values.clone().fold(0.0_f64, f64::max);
    let (title, x, points): (_, _, Vec<(f64, f64)>) = if told.bands.is_empty() {
        let middles = told
            .found
            .segments
            .iter()
            .map(|piece| time(told, middle(piece)));
        let scale = Scale::linear(0.0, time(told, told.samples as f64), 5);
        (
            "Power over time",
            (scale, time_label(told)),
            middles.zip(values).collect(),
        )
    } else {
        let edges = told.bands.iter().map(|(low, high)| 0.5 * (low + high));
        let top = told.bands.iter().fold(0.0_f64, |m, band| m.max(band.1));
        let scale = Scale::linear(0.0, top, 6);
        (
            "Power over the bands",
            (scale, "hertz".to_owned()),
            edges.zip(values).collect(),
        )
    };
    draw(Drawing {
        title,
        x,
        y: (Scale::linear(0.0, high * 1.06, 4), "power"),
        points,
        bars: true,
        style: 0,
        size: SMALL,
    })
}

fn pattern(told: &Page<'_>, k: usize) -> String {
    let a = told.found.patterns();
    let values: Vec<f64> = (0..a.rows()).map(|c| a[(c, k)]).collect();
    if let Some(head) = topography::draw(&values, told.positions, &format!("Pattern of source {k}"))
    {
        return format!("<figure>{head}</figure>");
    }
    let largest = values.iter().fold(f64::MIN_POSITIVE, |m, x| m.max(x.abs()));
    let points = values
        .iter()
        .enumerate()
        .map(|(c, x)| (c as f64, x / largest));
    draw(Drawing {
        title: "Pattern, of its largest entry",
        x: (
            Scale::linear(-0.5, values.len() as f64 - 0.5, 8),
            "channel".to_owned(),
        ),
        y: (Scale::linear(-1.08, 1.08, 4), "a"),
        points: points.collect(),
        bars: true,
        style: 3,
        size: SMALL,
    })
}
