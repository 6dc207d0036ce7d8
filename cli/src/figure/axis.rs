//! Axes: positions of values and ticks.

use crate::format;

/// An axis, linear or logarithmic.
#[derive(Clone, Debug)]
pub struct Axis {
    low: f64,
    high: f64,
    logarithmic: bool,
    /// Values and labels of the ticks.
    pub ticks: Vec<(f64, String)>,
}

/// Maximum number of ticks of a linear axis.
const MAX_TICKS: usize = 1000;

/// Unit of the tick labels of a logarithmic axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Unit {
    None,
    Seconds,
}

impl Axis {
    /// Returns a logarithmic axis from `low` to `high`, both positive.
    pub fn logarithmic(low: f64, high: f64, unit: Unit, max_ticks: usize) -> Self {
        let high = if high > low { high } else { low * 10.0 };
        let (first, last) = (low.log10().ceil() as i32, high.log10().floor() as i32);
        let decades = (last - first + 1).max(0) as usize;
        let label = |exponent| match unit {
            Unit::Seconds => format::decade_of_seconds(exponent),
            Unit::None => format::power_of_ten(exponent),
        };
        let ticks = if decades < 2 {
            // With fewer than two powers of ten, use 1, 2 and 5 times each power.
            (first - 1..=last)
                .flat_map(|exponent| [1, 2, 5].map(|m| f64::from(m) * 10_f64.powi(exponent)))
                .filter(|x| (low..=high).contains(x))
                .map(|x| match unit {
                    Unit::Seconds => (x, brief_seconds(x)),
                    Unit::None => (x, format::short(x)),
                })
                .collect()
        } else {
            let stride = decades.div_ceil(max_ticks).max(1);
            (first..=last)
                // Use multiples of the stride, so that neighboring figures have equal ticks.
                .filter(|exponent| exponent.rem_euclid(stride as i32) == 0)
                .map(|exponent| (10_f64.powi(exponent), label(exponent)))
                .collect()
        };
        Self {
            low,
            high,
            logarithmic: true,
            ticks,
        }
    }

    /// Returns a linear axis from `low` to `high` with ticks at round numbers.
    pub fn linear(low: f64, high: f64, max_ticks: usize) -> Self {
        let high = if high > low { high } else { low + 1.0 };
        let rough = (high - low) / max_ticks as f64;
        let power = 10_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0]
            .map(|m| m * power)
            .into_iter()
            .find(|step| *step >= rough * 0.999)
            .unwrap_or(10.0 * power);
        let digits = (-step.log10().floor()).max(0.0) as usize;
        let ticks = ((low / step).ceil() as i64..=(high / step + 1e-9).floor() as i64)
            // An axis with an infinite end has no last tick.
            .take(MAX_TICKS)
            .map(|k| (k as f64 * step, format!("{:.digits$}", k as f64 * step)))
            .collect();
        Self {
            low,
            high,
            logarithmic: false,
            ticks,
        }
    }

    /// Returns the position of a value from 0 to 1; values outside of the axis are moved to its
    /// ends.
    pub fn position(&self, value: f64) -> f64 {
        let fraction = if self.logarithmic {
            (value.max(self.low) / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        fraction.clamp(0.0, 1.0)
    }
}

/// Formats seconds with one digit and a unit: 20 ms.
fn brief_seconds(value: f64) -> String {
    let (unit, factor) = match value {
        v if v < 0.99e-3 => ("µs", 1e6),
        v if v < 0.99 => ("ms", 1e3),
        _ => ("s", 1.0),
    };
    format!("{} {unit}", (value * factor * 10.0).round() / 10.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(scale: &Axis) -> Vec<&str> {
        scale
            .ticks
            .iter()
            .map(|(_, label)| label.as_str())
            .collect()
    }

    #[test]
    fn ticks_are_round_and_few() {
        let wide = Axis::logarithmic(1e-14, 20.0, Unit::None, 6);
        assert_eq!(labels(&wide), ["10⁻¹²", "10⁻⁹", "10⁻⁶", "10⁻³", "1"]);
        let narrow = Axis::logarithmic(0.004, 0.03, Unit::Seconds, 5);
        assert_eq!(labels(&narrow), ["5 ms", "10 ms", "20 ms"]);
        assert_eq!(
            labels(&Axis::linear(0.0, 99.0, 5)),
            ["0", "20", "40", "60", "80"]
        );
        assert_eq!(
            labels(&Axis::linear(0.0, 0.5, 5)),
            ["0.0", "0.1", "0.2", "0.3", "0.4", "0.5"]
        );
    }

    #[test]
    fn axis_with_infinite_end_has_finitely_many_ticks() {
        for high in [f64::MAX, f64::INFINITY, f64::NAN] {
            assert!(Axis::linear(0.0, high, 5).ticks.len() <= MAX_TICKS);
        }
    }

    #[test]
    fn positions_stay_within_the_axis() {
        let scale = Axis::logarithmic(1e-4, 1.0, Unit::None, 5);
        assert!((scale.position(1e-2) - 0.5).abs() < 1e-12);
        assert_eq!(scale.position(-1.0), 0.0);
        assert_eq!(scale.position(9.0), 1.0);
        assert_eq!(Axis::linear(2.0, 4.0, 3).position(3.0), 0.5);
    }
}
