//! Figure of the paper: loss above minimum and gradient norm against time, one column per
//! experiment.

use codiag::Record;

use super::Results;
use super::band;
use super::experiments::{Experiment, GRADIENT_GOAL};
use super::run::Run;
use crate::figure::axis::{Axis, Unit};
use crate::figure::chart::{Band, Chart, Curve, sample, sample_with_band};
use crate::figure::{self, text};

pub const PANEL_WIDTH: f64 = 380.0;
pub const PANEL_HEIGHT: f64 = 290.0;
/// Smallest loss above the minimum that is drawn; smaller values are rounding errors.
const LOSS_FLOOR: f64 = 1e-14;
/// Smallest gradient norm that is drawn.
const GRADIENT_FLOOR: f64 = 1e-11;

/// A chart of one experiment, with one curve and one band per solver.
pub struct Panel {
    pub chart: Chart,
    /// Empty if the experiment has a single seed.
    pub bands: Vec<Band>,
}

impl Panel {
    /// Draws the panel as SVG, with its upper left corner at the origin.
    pub fn draw(&self) -> String {
        self.chart.draw_with_bands(&self.bands)
    }
}

/// Quantity on the vertical axis.
#[derive(Clone, Copy)]
enum Quantity {
    Loss,
    Gradient,
}

impl Quantity {
    fn label(self) -> &'static str {
        match self {
            Self::Loss => "loss above minimum (nats)",
            Self::Gradient => "gradient norm ĝ",
        }
    }

    /// Returns the smallest value that is drawn.
    fn floor(self) -> f64 {
        match self {
            Self::Loss => LOSS_FLOOR,
            Self::Gradient => GRADIENT_FLOOR,
        }
    }

    fn value(self, run: &Run, record: &Record) -> f64 {
        match self {
            Self::Loss => record.loss - run.local_minimum,
            Self::Gradient => record.gradient_norm,
        }
    }

    /// Returns the times and values of a run.
    fn points(self, run: &Run) -> Vec<(f64, f64)> {
        let value = |record| self.value(run, record).max(self.floor());
        let records = run.history.iter();
        records
            .map(|record| (record.seconds, value(record)))
            .collect()
    }
}

/// Returns two panels per experiment.
pub fn panels(results: &Results) -> Vec<[Panel; 2]> {
    let column = |experiment: &Experiment| {
        let runs = results.runs.iter();
        let times = || {
            runs.clone()
                .filter(|run| run.experiment == experiment.key)
                .flat_map(|run| run.history.iter().map(|record| record.seconds))
        };
        let first = times().fold(f64::INFINITY, f64::min).max(1e-7);
        let last = times().fold(0.0, f64::max);
        let x = Axis::logarithmic(first / 1.25, last * 1.25, Unit::Seconds, 6);
        [Quantity::Loss, Quantity::Gradient]
            .map(|quantity| panel(results, experiment, quantity, x.clone()))
    };
    results.experiments.iter().map(column).collect()
}

fn panel(results: &Results, experiment: &Experiment, quantity: Quantity, x: Axis) -> Panel {
    let (mut curves, mut bands) = (Vec::new(), Vec::new());
    for solver in &results.solvers {
        let runs = results.runs_of(experiment.key, solver.key);
        let mut all: Vec<_> = runs.iter().map(|run| quantity.points(run)).collect();
        let Some(points) = (if all.len() == 1 { all.pop() } else { None }).or_else(|| {
            let combined = band::combine(&all)?;
            bands.push(Band {
                style: solver.style,
                points: combined.quartiles,
            });
            Some(combined.median)
        }) else {
            continue;
        };
        curves.push(Curve {
            name: solver.name.to_owned(),
            style: solver.style,
            points,
        });
    }
    let goal = matches!(quantity, Quantity::Gradient)
        .then(|| (GRADIENT_GOAL, format!("ĝ = {GRADIENT_GOAL:.0e}")));
    let chart = Chart {
        title: experiment.title.clone(),
        x_label: "time".to_owned(),
        y_label: quantity.label().to_owned(),
        x,
        y: Axis::logarithmic(quantity.floor(), 30.0, Unit::None, 6),
        curves,
        goal,
        bars: false,
        width: PANEL_WIDTH,
        height: PANEL_HEIGHT,
    };
    Panel { chart, bands }
}

/// Returns figure.svg.
pub fn standalone(results: &Results) -> String {
    let panels = panels(results);
    let (columns, legend_height, gap) = (panels.len() as f64, 40.0, 8.0);
    let note = results.band_note();
    let note_height = if note.is_some() { 22.0 } else { 0.0 };
    let width = columns * PANEL_WIDTH + gap;
    let height = 2.0 * PANEL_HEIGHT + legend_height + note_height + gap;
    let mut content = String::from("<g transform=\"translate(62 12)\">");
    let mut x = 0.0;
    for solver in &results.solvers {
        let sample = if results.has_bands() {
            sample_with_band(solver.style)
        } else {
            sample(solver.style)
        };
        content += &format!("<g transform=\"translate({x} 0)\">{sample}");
        content += &text(36.0, 10.5, "ink", "font-size=\"13\"", solver.name);
        content += "</g>";
        // Estimate the width of the name in the widest of the fonts.
        x += 62.0 + 7.6 * solver.name.chars().count() as f64;
    }
    content += "</g>";
    for (k, pair) in panels.iter().enumerate() {
        for (row, panel) in pair.iter().enumerate() {
            let x = k as f64 * PANEL_WIDTH;
            let y = legend_height + row as f64 * PANEL_HEIGHT;
            let drawn = panel.draw();
            content += &format!("\n<g transform=\"translate({x} {y})\">{drawn}</g>");
        }
    }
    if let Some(note) = note {
        content += &text(62.0, height - 12.0, "soft", "font-size=\"12\"", &note);
    }
    let title = "Loss above minimum and gradient norm against time, for each experiment and solver";
    figure::standalone(width, height, title, &content)
}
