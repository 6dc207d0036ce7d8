//! The figures of one source.

use codiag::signals::{Piece, Spectrum};
use maud::{Markup, html};

use super::separate::Page;
use super::verbatim;
use crate::figure::chart::{Chart, Curve};
use crate::figure::scale::{Scale, Unit};
use crate::figure::topography;
use crate::sources::SourceView;

/// Hertz above which spectra are not shown.
const HIGHEST: f64 = 120.0;

/// All of them.
pub fn figures(told: &Page<'_>, k: usize, view: &SourceView) -> Markup {
    html! {
        (trace(told, k, view))
        (pattern(told, k))
        (excerpt(told, view))
        @if let Some(spectrum) = &view.spectrum { (draw_spectrum(spectrum)) }
        (power(told, k))
    }
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

fn draw(drawing: Drawing<'_>) -> Markup {
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
    super::drawing(drawing.title, &chart)
}

const SMALL: (f64, f64) = (370.0, 220.0);

fn trace(told: &Page<'_>, k: usize, view: &SourceView) -> Markup {
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
    html! { div.wide.scroll.span2 { div style="min-width:34rem" { (drawn) } } }
}

fn excerpt(told: &Page<'_>, view: &SourceView) -> Markup {
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

fn draw_spectrum(spectrum: &Spectrum) -> Markup {
    // Nothing is said about the mean.
    let points: Vec<(f64, f64)> = spectrum
        .frequencies
        .iter()
        .zip(&spectrum.density)
        .filter(|(f, d)| **f > 0.0 && **f <= HIGHEST && d.is_finite() && **d > 0.0)
        .map(|(f, d)| (*f, *d))
        .collect();
    let (Some(first), Some(last)) = (points.first(), points.last()) else {
        return html! {};
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

fn power(told: &Page<'_>, k: usize) -> Markup {
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

fn pattern(told: &Page<'_>, k: usize) -> Markup {
    let a = told.found.patterns();
    let values: Vec<f64> = (0..a.rows()).map(|c| a[(c, k)]).collect();
    if let Some(head) = topography::draw(&values, told.positions, &format!("Pattern of source {k}"))
    {
        return html! { figure { (verbatim(head)) } };
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
