//! Figure of the paper: loss above minimum and gradient norm against time, one column per
//! experiment.

use super::Results;
use super::experiments::GRADIENT_GOAL;
use crate::figure::axis::{Axis, Unit};
use crate::figure::chart::{Chart, Curve, sample};
use crate::figure::{self, text};

pub const PANEL_WIDTH: f64 = 380.0;
pub const PANEL_HEIGHT: f64 = 290.0;
/// Smallest loss above the minimum that is drawn; smaller values are rounding errors.
const LOSS_FLOOR: f64 = 1e-14;
/// Smallest gradient norm that is drawn.
const GRADIENT_FLOOR: f64 = 1e-11;

/// Returns two charts per experiment.
pub fn charts(results: &Results) -> Vec<[Chart; 2]> {
    let column = |experiment: &super::Experiment| {
        // Only seed 0 is drawn; the table has all seeds.
        let runs: Vec<_> = results
            .runs
            .iter()
            .filter(|run| run.experiment == experiment.key && run.seed == 0)
            .collect();
        let times = || {
            runs.iter()
                .flat_map(|run| run.history.iter().map(|r| r.seconds))
        };
        let first = times().fold(f64::INFINITY, f64::min).max(1e-7);
        let last = times().fold(0.0, f64::max);
        let x = Axis::logarithmic(first / 1.25, last * 1.25, Unit::Seconds, 6);
        let chart = |title: String, y_label: &str, floor: f64, goal, loss: bool| {
            let curves: Vec<Curve> = runs
                .iter()
                .filter_map(|run| {
                    let solver = results.solvers.iter().find(|s| s.key == run.solver)?;
                    let value = |record: &codiag::Record| {
                        if loss {
                            record.loss - run.local_minimum
                        } else {
                            record.gradient_norm
                        }
                    };
                    Some(Curve {
                        name: solver.name.to_owned(),
                        style: solver.style,
                        points: run
                            .history
                            .iter()
                            .map(|record| (record.seconds, value(record).max(floor)))
                            .collect(),
                    })
                })
                .collect();
            Chart {
                title,
                x_label: "time".to_owned(),
                y_label: y_label.to_owned(),
                x: x.clone(),
                y: Axis::logarithmic(floor, 30.0, Unit::None, 6),
                curves,
                goal,
                bars: false,
                width: PANEL_WIDTH,
                height: PANEL_HEIGHT,
            }
        };
        let goal = Some((GRADIENT_GOAL, format!("ĝ = {GRADIENT_GOAL:.0e}")));
        [
            chart(
                experiment.title.clone(),
                "loss above minimum (nats)",
                LOSS_FLOOR,
                None,
                true,
            ),
            chart(
                experiment.title.clone(),
                "gradient norm ĝ",
                GRADIENT_FLOOR,
                goal,
                false,
            ),
        ]
    };
    results.experiments.iter().map(column).collect()
}

/// Returns figure.svg.
pub fn standalone(results: &Results) -> String {
    let charts = charts(results);
    let (columns, legend_height, gap) = (charts.len() as f64, 40.0, 8.0);
    let width = columns * PANEL_WIDTH + gap;
    let height = 2.0 * PANEL_HEIGHT + legend_height + gap;
    let mut content = String::from("<g transform=\"translate(62 12)\">");
    let mut x = 0.0;
    for solver in &results.solvers {
        content += &format!("<g transform=\"translate({x} 0)\">{}", sample(solver.style));
        content += &text(36.0, 10.5, "ink", "font-size=\"13\"", solver.name);
        content += "</g>";
        // Estimate the width of the name in the widest of the fonts.
        x += 62.0 + 7.6 * solver.name.chars().count() as f64;
    }
    content += "</g>";
    for (k, pair) in charts.iter().enumerate() {
        for (row, chart) in pair.iter().enumerate() {
            let x = k as f64 * PANEL_WIDTH;
            let y = legend_height + row as f64 * PANEL_HEIGHT;
            content += &format!("\n<g transform=\"translate({x} {y})\">{}</g>", chart.draw());
        }
    }
    let title = "Loss above minimum and gradient norm against time, for each experiment and solver";
    figure::standalone(width, height, title, &content)
}
