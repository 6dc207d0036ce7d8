//! Medians and ranges over the seeds of an experiment.

use serde::Serialize;

use super::run::Run;
use crate::format::{median, two_digits};

/// Returns a quantile of sorted values, interpolated linearly. `fraction` is from 0 to 1.
///
/// # Panics
/// If there are no values.
pub fn quantile(sorted: &[f64], fraction: f64) -> f64 {
    let position = fraction * (sorted.len() - 1) as f64;
    let (below, above) = (position.floor() as usize, position.ceil() as usize);
    sorted[below] + (position - below as f64) * (sorted[above] - sorted[below])
}

/// A median and its range as text.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    pub median: String,
    /// Smallest and largest value; None if they are equal.
    pub range: Option<String>,
}

impl Cell {
    pub fn new(median: String, low: &str, high: &str) -> Self {
        let range = (low != high).then(|| {
            // A unit that both values have is written once.
            let number = low.rsplit_once(' ').and_then(|(number, unit)| {
                let shared = high.rsplit_once(' ')?.1 == unit;
                (shared && unit.chars().all(char::is_alphabetic)).then_some(number)
            });
            format!("{} – {high}", number.unwrap_or(low))
        });
        Self { median, range }
    }

    /// Returns a cell without a range.
    pub fn plain(text: impl Into<String>) -> Self {
        Self {
            median: text.into(),
            range: None,
        }
    }
}

impl std::fmt::Display for Cell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.range {
            Some(range) => write!(f, "{} [{range}]", self.median),
            None => f.write_str(&self.median),
        }
    }
}

/// Median and range of a number over seeds.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Range {
    pub median: f64,
    pub low: f64,
    pub high: f64,
}

impl Range {
    /// Computes the median, the smallest and the largest value.
    pub fn of(values: &[f64]) -> Self {
        Self {
            median: median(values),
            low: values.iter().fold(f64::INFINITY, |m, x| m.min(*x)),
            high: values.iter().fold(f64::NEG_INFINITY, |m, x| m.max(*x)),
        }
    }

    /// Formats the median and, if values differ, the range.
    pub fn show(&self, format: impl Fn(f64) -> String) -> Cell {
        Cell::new(format(self.median), &format(self.low), &format(self.high))
    }
}

/// Time to the goal over seeds. Seeds that do not reach the goal count as infinitely long.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct TimeToGoal {
    /// None if half of the seeds or more do not reach the goal.
    pub median: Option<f64>,
    /// Shortest and longest time of the seeds that reach the goal; None if there are none.
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// Number of seeds that reach the goal.
    pub reached: usize,
}

impl TimeToGoal {
    /// Summarizes the times of these runs.
    pub fn of(runs: &[&Run]) -> Self {
        let times: Vec<f64> = runs.iter().filter_map(|run| run.seconds_to_goal).collect();
        let all: Vec<f64> = runs
            .iter()
            .map(|run| run.seconds_to_goal.unwrap_or(f64::INFINITY))
            .collect();
        let range = (!times.is_empty()).then(|| Range::of(&times));
        Self {
            median: Some(median(&all)).filter(|median| median.is_finite()),
            low: range.map(|range| range.low),
            high: range.map(|range| range.high),
            reached: times.len(),
        }
    }

    /// Formats the median and the range. If some of `total` seeds do not reach the goal, the number
    /// of those that do is added to the range.
    pub fn show(&self, total: usize, format: impl Fn(f64) -> String) -> Cell {
        let (Some(low), Some(high)) = (self.low, self.high) else {
            return Cell::plain("not reached");
        };
        let median = self
            .median
            .map_or_else(|| "not reached".to_owned(), &format);
        let mut cell = Cell::new(median, &format(low), &format(high));
        if self.reached < total {
            let range = cell.range.unwrap_or_else(|| format(low));
            cell.range = Some(format!("{range}, {} of {total} reached", self.reached));
        }
        cell
    }
}

/// Time of Pham's algorithm to the goal divided by the time of another solver.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind", content = "times")]
pub enum Ratio {
    /// Both reached the goal.
    Exactly(f64),
    /// Lower bound, for example if only the other solver reached the goal.
    MoreThan(f64),
    /// Upper bound, for example if only Pham's algorithm reached the goal.
    LessThan(f64),
    /// Neither reached the goal.
    Unknown,
}

impl Ratio {
    /// Computes the ratio of one seed. A run that did not reach the goal gives a bound.
    fn of(run: &Run, pham: &Run) -> Self {
        let own = run.seconds_to_goal.unwrap_or(run.seconds);
        let times = pham.seconds_to_goal.unwrap_or(pham.seconds) / own;
        match (run.seconds_to_goal, pham.seconds_to_goal) {
            (Some(_), Some(_)) => Self::Exactly(times),
            (Some(_), None) => Self::MoreThan(times),
            (None, Some(_)) => Self::LessThan(times),
            (None, None) => Self::Unknown,
        }
    }

    /// Returns the lower and the upper bound.
    fn bounds(self) -> (f64, f64) {
        match self {
            Self::Exactly(times) => (times, times),
            Self::MoreThan(times) => (times, f64::INFINITY),
            Self::LessThan(times) => (0.0, times),
            Self::Unknown => (0.0, f64::INFINITY),
        }
    }

    /// Returns the ratio with these bounds. If both bounds are known and differ, the one is kept
    /// that says which solver is faster.
    fn between(low: f64, high: f64) -> Self {
        if low == high {
            Self::Exactly(low)
        } else if low > 0.0 && (low >= 1.0 || high.is_infinite()) {
            Self::MoreThan(low)
        } else if high < f64::INFINITY && (high <= 1.0 || low == 0.0) {
            Self::LessThan(high)
        } else {
            Self::Unknown
        }
    }

    /// Formats the ratio: "3.5×", "> 2.3×".
    pub fn show(self) -> String {
        match self {
            Self::Exactly(times) => format!("{}×", two_digits(times)),
            Self::MoreThan(times) => format!("> {}×", two_digits(times)),
            Self::LessThan(times) => format!("< {}×", two_digits(times)),
            Self::Unknown => "—".to_owned(),
        }
    }

    /// Describes the ratio: "3.5× faster", "more than 2.3× faster", "1.8× slower", "not
    /// determined".
    pub fn describe(self) -> String {
        let faster = |times: f64| format!("{}× faster", two_digits(times));
        let slower = |times: f64| format!("{}× slower", two_digits(1.0 / times));
        match self {
            Self::Exactly(times) if (0.95..=1.05).contains(&times) => "equally fast".to_owned(),
            Self::Exactly(times) if times > 1.0 => faster(times),
            Self::Exactly(times) => slower(times),
            Self::MoreThan(times) if times > 1.0 => format!("more than {}", faster(times)),
            Self::LessThan(times) if times < 1.0 => format!("more than {}", slower(times)),
            Self::MoreThan(_) | Self::LessThan(_) | Self::Unknown => "not determined".to_owned(),
        }
    }
}

/// Median and range over seeds of the time of Pham's algorithm divided by the time of another
/// solver on the same set.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Speedup {
    #[serde(flatten)]
    pub median: Ratio,
    pub low: Ratio,
    pub high: Ratio,
}

impl Speedup {
    /// Compares the runs that have the same seed.
    pub fn of(runs: &[&Run], pham: &[&Run]) -> Self {
        let ratios = runs.iter().filter_map(|run| {
            let pham = pham.iter().find(|pham| pham.seed == run.seed)?;
            Some(Ratio::of(run, pham))
        });
        Self::of_ratios(ratios.collect())
    }

    fn of_ratios(mut ratios: Vec<Ratio>) -> Self {
        // The bounds of the median are the medians of the bounds.
        let lows: Vec<f64> = ratios.iter().map(|ratio| ratio.bounds().0).collect();
        let highs: Vec<f64> = ratios.iter().map(|ratio| ratio.bounds().1).collect();
        let median = Ratio::between(median(&lows), median(&highs));
        let by_low = |x: &Ratio, y: &Ratio| x.bounds().0.total_cmp(&y.bounds().0);
        let by_high = |x: &Ratio, y: &Ratio| x.bounds().1.total_cmp(&y.bounds().1);
        ratios.sort_by(|x, y| by_low(x, y).then(by_high(x, y)));
        let low = ratios.first().copied().unwrap_or(Ratio::Unknown);
        ratios.sort_by(|x, y| by_high(x, y).then(by_low(x, y)));
        let high = ratios.last().copied().unwrap_or(Ratio::Unknown);
        Self { median, low, high }
    }

    /// Formats the median and, if the seeds differ, the range: "3.5× [2.1× – 4.0×]".
    pub fn show(&self) -> Cell {
        Cell::new(self.median.show(), &self.low.show(), &self.high.show())
    }

    /// Describes the median and, if the seeds differ, the range: "3.5× faster [2.1× – 4.0×]".
    pub fn describe(&self) -> Cell {
        Cell::new(self.median.describe(), &self.low.show(), &self.high.show())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_interpolate_between_sorted_values() {
        let values = [1.0, 2.0, 4.0, 8.0];
        assert_eq!(quantile(&values, 0.0), 1.0);
        assert_eq!(quantile(&values, 0.5), median(&values));
        assert_eq!(quantile(&values, 1.0), 8.0);
        assert!(quantile(&values, 0.25) <= quantile(&values, 0.75));
        assert_eq!(quantile(&[3.0], 0.25), 3.0);
    }

    #[test]
    fn unit_of_a_range_is_written_once() {
        let cell = |low, high| Cell::new("1 ms".to_owned(), low, high).to_string();
        assert_eq!(cell("1 ms", "3 ms"), "1 ms [1 – 3 ms]");
        assert_eq!(cell("1 µs", "3 ms"), "1 ms [1 µs – 3 ms]");
        assert_eq!(cell("> 1×", "> 3×"), "1 ms [> 1× – > 3×]");
        assert_eq!(cell("1 ms", "1 ms"), "1 ms");
    }

    #[test]
    fn seeds_without_the_goal_bound_the_median_ratio() {
        use Ratio::{Exactly, LessThan, MoreThan, Unknown};
        let median = |ratios: &[Ratio]| Speedup::of_ratios(ratios.to_vec()).median;
        assert_eq!(
            median(&[Exactly(2.0), Exactly(3.0), Exactly(9.0)]),
            Exactly(3.0)
        );
        // A bound on the far side of the median does not change it.
        assert_eq!(
            median(&[Exactly(2.0), Exactly(3.0), MoreThan(5.0)]),
            Exactly(3.0)
        );
        assert_eq!(
            median(&[LessThan(2.0), Exactly(3.0), Exactly(9.0)]),
            Exactly(3.0)
        );
        assert_eq!(
            median(&[Exactly(2.0), MoreThan(3.0), MoreThan(9.0)]),
            MoreThan(3.0)
        );
        assert_eq!(
            median(&[LessThan(0.1), LessThan(0.2), Exactly(9.0)]),
            LessThan(0.2)
        );
        assert_eq!(median(&[Unknown, Unknown, Exactly(1.0)]), Unknown);
        assert_eq!(median(&[]), Unknown);
        let range = Speedup::of_ratios(vec![MoreThan(5.0), Exactly(2.0), LessThan(3.0)]);
        assert_eq!((range.low, range.high), (LessThan(3.0), MoreThan(5.0)));
    }
}
