//! Figures of one source.

use codiag::signals::{Contrast, Spans, Spectrum};
use maud::{Markup, html};

use super::maps;
use super::separate::Page;
use crate::figure::axis::{Axis, Unit};
use crate::figure::chart::{Chart, Curve};
use crate::source_view::{HISTOGRAM, SourceView};

/// Highest frequency in Hz at which spectra of physiological recordings are shown.
const MAX_FREQUENCY: f64 = 120.0;

/// Highest frequency in Hz at which the spectra of a recording are shown.
pub fn max_frequency(page: &Page<'_>) -> f64 {
    if page.sound {
        f64::INFINITY
    } else {
        MAX_FREQUENCY
    }
}

/// Draws all figures of a source.
pub fn figures(page: &Page<'_>, k: usize, view: &SourceView) -> Markup {
    html! {
        (trace(page, k, view))
        (pattern(page, k))
        (excerpt(page, view))
        @if let Some(spectrum) = &view.spectrum {
            (draw_spectrum_curves("Spectrum", &[("spectrum", 4, spectrum)], max_frequency(page), SMALL_SIZE))
        }
        (contrast_figure(page, k, view))
    }
}

/// Converts samples to seconds if the sampling frequency is known.
fn time(page: &Page<'_>, sample: f64) -> f64 {
    page.sfreq.map_or(sample, |sfreq| sample / sfreq)
}

/// Label of the time axis.
fn time_label(page: &Page<'_>) -> String {
    if page.sfreq.is_some() {
        "time (s)"
    } else {
        "samples"
    }
    .to_owned()
}

/// An axis that includes zero.
fn axis_with_zero(low: f64, high: f64) -> Axis {
    let (low, high) = (low.min(0.0), high.max(0.0));
    let margin = 0.06 * (high - low).max(f64::MIN_POSITIVE);
    Axis::linear(low - margin, high + margin, 4)
}

/// Description of a chart with one curve.
struct Drawing<'a> {
    title: &'a str,
    x: (Axis, String),
    y: (Axis, &'a str),
    points: Vec<(f64, f64)>,
    bars: bool,
    style: usize,
    size: (f64, f64),
    /// A second curve for comparison.
    reference: Option<Curve>,
}

/// Draws a chart.
fn draw(drawing: Drawing<'_>) -> Markup {
    let (width, height) = drawing.size;
    let chart = Chart {
        title: drawing.title.to_owned(),
        x_label: drawing.x.1,
        y_label: drawing.y.1.to_owned(),
        x: drawing.x.0,
        y: drawing.y.0,
        curves: std::iter::once(Curve {
            name: drawing.title.to_owned(),
            style: drawing.style,
            points: drawing.points,
        })
        .chain(drawing.reference)
        .collect(),
        goal: None,
        bars: drawing.bars,
        width,
        height,
    };
    super::drawing(drawing.title, &chart)
}

/// Width and height of a small chart.
const SMALL_SIZE: (f64, f64) = (370.0, 220.0);

/// Draws the whole recording of the source.
fn trace(page: &Page<'_>, k: usize, view: &SourceView) -> Markup {
    let bins = view.envelope.len() as f64;
    let end = time(page, page.samples as f64);
    let points = view
        .envelope
        .iter()
        .enumerate()
        .flat_map(|(bin, (low, high))| {
            let x = (bin as f64 + 0.5) / bins * end;
            // Alternate the direction so that the line does not cross itself.
            let (first, second) = if bin % 2 == 0 {
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
        title: &format!("{} over the whole recording", page.found.solve.name(k)),
        x: (Axis::linear(0.0, end, 10), time_label(page)),
        y: (axis_with_zero(low, high), "s"),
        points,
        bars: false,
        style: 4,
        size: (756.0, 220.0),
        reference: None,
    });
    html! { div.wide.scroll.span2 { div style="min-width:34rem" { (drawn) } } }
}

/// Draws a few seconds around the maximum of the source.
fn excerpt(page: &Page<'_>, view: &SourceView) -> Markup {
    let (start, samples) = &view.excerpt;
    let points: Vec<(f64, f64)> = samples
        .iter()
        .enumerate()
        .map(|(t, x)| (time(page, (start + t) as f64), *x))
        .collect();
    let ends = (
        time(page, *start as f64),
        time(page, (start + samples.len()) as f64),
    );
    let low = samples.iter().fold(0.0_f64, |m, x| m.min(*x));
    let high = samples.iter().fold(0.0_f64, |m, x| m.max(*x));
    draw(Drawing {
        title: "Excerpt around the maximum",
        x: (Axis::linear(ends.0, ends.1, 5), time_label(page)),
        y: (axis_with_zero(low, high), "s"),
        points,
        bars: false,
        style: 4,
        size: SMALL_SIZE,
        reference: None,
    })
}

/// Draws power spectra up to a frequency, each with a name and the style of its curve.
pub fn draw_spectrum_curves(
    title: &str,
    spectra: &[(&str, usize, &Spectrum)],
    max_frequency: f64,
    (width, height): (f64, f64),
) -> Markup {
    let curves: Vec<Curve> = spectra
        .iter()
        .map(|(name, style, spectrum)| Curve {
            name: (*name).to_owned(),
            style: *style,
            // The frequency 0 is omitted, because the spectrum ignores the mean.
            points: spectrum
                .frequencies
                .iter()
                .zip(&spectrum.density)
                .filter(|(f, d)| **f > 0.0 && **f <= max_frequency && d.is_finite() && **d > 0.0)
                .map(|(f, d)| (*f, *d))
                .collect(),
        })
        .collect();
    let points = || curves.iter().flat_map(|curve| &curve.points);
    let high = points().fold(0.0_f64, |m, p| m.max(p.1));
    let low = points().fold(high, |m, p| m.min(p.1)).max(1e-9 * high);
    let from = points().fold(f64::INFINITY, |m, p| m.min(p.0));
    let to = points().fold(0.0_f64, |m, p| m.max(p.0));
    if high <= 0.0 {
        return html! {};
    }
    let chart = Chart {
        title: title.to_owned(),
        x_label: "frequency (Hz)".to_owned(),
        y_label: "power / Hz".to_owned(),
        x: Axis::linear(from, to, 6),
        y: Axis::logarithmic(low / 2.0, high * 2.0, Unit::None, 5),
        curves,
        goal: None,
        bars: false,
        width,
        height,
    };
    super::drawing(title, &chart)
}

/// Middle of a segment, which may have gaps.
fn middle(piece: &Spans) -> f64 {
    let (first, last) = (piece.first(), piece.last());
    first
        .zip(last)
        .map_or(0.0, |(first, last)| 0.5 * (first.start + last.end) as f64)
}

/// Figure of the property by which the source is separated from others.
fn contrast_figure(page: &Page<'_>, k: usize, view: &SourceView) -> Markup {
    let powers = page.found.solve.powers;
    let values = (0..powers.rows()).map(|i| powers[(i, k)]);
    match page.contrast {
        Contrast::Lags(lags) => autocorrelation(page, &lags.lags, values),
        Contrast::Cumulants { .. } => distribution(view),
        Contrast::Bands(bands) => {
            // Average over segments.
            let count = bands.bands.len();
            let segments = (powers.rows() / count).max(1) as f64;
            let mut means = vec![0.0; count];
            values
                .enumerate()
                .for_each(|(i, x)| means[i % count] += x / segments);
            let middles = bands.bands.iter().map(|(low, high)| 0.5 * (low + high));
            let top = bands.bands.iter().fold(0.0_f64, |m, band| m.max(band.1));
            let axis = (Axis::linear(0.0, top, 6), "frequency (Hz)".to_owned());
            power("Power over the bands", axis, middles.zip(means).collect())
        }
        _ => {
            let pieces = page.found.segments.iter();
            let middles = pieces.map(|piece| time(page, middle(piece)));
            let scale = Axis::linear(0.0, time(page, page.samples as f64), 5);
            let axis = (scale, time_label(page));
            power("Power over time", axis, middles.zip(values).collect())
        }
    }
}

/// Draws powers as bars.
fn power(title: &str, x: (Axis, String), points: Vec<(f64, f64)>) -> Markup {
    let high = points.iter().fold(0.0_f64, |m, point| m.max(point.1));
    draw(Drawing {
        title,
        x,
        y: (Axis::linear(0.0, high * 1.06, 4), "power"),
        points,
        bars: true,
        style: 0,
        size: SMALL_SIZE,
        reference: None,
    })
}

/// Draws the autocorrelation at each lag, averaged over segments.
fn autocorrelation(page: &Page<'_>, lags: &[usize], values: impl Iterator<Item = f64>) -> Markup {
    let mut means = vec![0.0; lags.len()];
    let segments = page.found.segments.len().max(1) as f64;
    for (i, value) in values.enumerate() {
        means[i % lags.len()] += value / segments;
    }
    let largest = time(page, lags.iter().copied().max().unwrap_or(1) as f64);
    let points = lags.iter().map(|lag| time(page, *lag as f64)).zip(means);
    draw(Drawing {
        title: "Autocorrelation",
        x: (Axis::linear(0.0, 1.02 * largest, 5), time_label(page)),
        y: (Axis::linear(-1.06, 1.06, 4), "correlation"),
        points: points.collect(),
        bars: true,
        style: 0,
        size: SMALL_SIZE,
        reference: None,
    })
}

/// Draws the histogram of a source and the density of a Gaussian one.
fn distribution(view: &SourceView) -> Markup {
    let (reach, bins) = HISTOGRAM;
    let center = |bin: f64| 2.0 * reach * (bin + 0.5) / bins as f64 - reach;
    let points = (0..bins).map(|bin| (center(bin as f64), view.histogram[bin]));
    let normal = |x: f64| (-0.5 * x * x).exp() / std::f64::consts::TAU.sqrt();
    let curve = (0..4 * bins).map(|k| center(k as f64 / 4.0));
    let high = view.histogram.iter().fold(normal(0.0), |m, x| m.max(*x));
    draw(Drawing {
        title: "Distribution (line: Gaussian)",
        x: (
            Axis::linear(-reach, reach, 6),
            "standard deviations".to_owned(),
        ),
        y: (Axis::linear(0.0, high * 1.06, 4), "density"),
        points: points.collect(),
        bars: true,
        style: 0,
        size: SMALL_SIZE,
        reference: Some(Curve {
            name: "Gaussian".to_owned(),
            style: 4,
            points: curve.map(|x| (x, normal(x))).collect(),
        }),
    })
}

/// Draws the pattern as maps or, without positions, as bars.
fn pattern(page: &Page<'_>, k: usize) -> Markup {
    let a = page.found.solve.a;
    let values: Vec<f64> = (0..a.rows()).map(|c| a[(c, k)]).collect();
    if let Some(drawn) = maps::source_maps(page, k) {
        return drawn;
    }
    let largest = values.iter().fold(f64::MIN_POSITIVE, |m, x| m.max(x.abs()));
    let points = values
        .iter()
        .enumerate()
        .map(|(c, x)| (c as f64, x / largest));
    draw(Drawing {
        title: "Pattern, relative to its largest entry",
        x: (
            Axis::linear(-0.5, values.len() as f64 - 0.5, 8),
            "channel".to_owned(),
        ),
        y: (Axis::linear(-1.08, 1.08, 4), "a"),
        points: points.collect(),
        bars: true,
        style: 3,
        size: SMALL_SIZE,
        reference: None,
    })
}
