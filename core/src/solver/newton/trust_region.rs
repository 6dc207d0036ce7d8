//! The trust region: a bound of the length of a step, updated from the ratio of actual to predicted
//! decrease in the last one (Nocedal & Wright, Numerical Optimization, section 4.1).
//!
//! It complements the box constraint, which bounds single entries but not their number: for large
//! matrices whose components are hard to separate, many entries are large at once.

use crate::tuning::TUNING;

/// A trust region, initially unbounded.
pub(super) struct TrustRegion {
    radius: f64,
}

impl Default for TrustRegion {
    fn default() -> Self {
        let radius = f64::INFINITY;
        Self { radius }
    }
}

impl TrustRegion {
    /// Returns the fraction of a step of this length that is within the region.
    pub fn fraction(&self, length: f64) -> f64 {
        if length > self.radius {
            self.radius / length
        } else {
            1.0
        }
    }

    /// Updates the radius from the actual and the predicted change of the loss after a step of this
    /// length. `is_full` is false if the step was shortened.
    pub fn update(&mut self, length: f64, is_full: bool, change: f64, predicted: f64) {
        // Both changes are negative, except beyond twice the minimizer of the model, where any
        // decrease exceeds the prediction.
        if change > TUNING.shrink_ratio * predicted {
            self.radius = TUNING.shrink_factor * length;
        } else if !is_full {
            let expand = change < TUNING.expand_ratio * predicted;
            self.radius = if expand {
                TUNING.expand_factor * length
            } else {
                length
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn radius_follows_the_reduction_ratio() {
        let mut region = TrustRegion::default();
        let mut after = |length, is_full, change, predicted| {
            region.update(length, is_full, change, predicted);
            region.fraction(5.0) * 5.0
        };
        // Full steps with sufficient decrease.
        assert_eq!(after(5.0, true, -0.9, -1.0), 5.0);
        assert_eq!(after(2.0, true, -0.5, -1.0), 5.0);
        // A shortened step with moderate decrease.
        assert!((after(2.0, false, -0.6, -1.0) - 2.0).abs() < 1e-12);
        // Shortened steps whose decrease is as predicted or larger.
        assert!((after(2.0, false, -0.9, -1.0) - 3.0).abs() < 1e-12);
        assert!((after(2.2, false, -0.1, 0.2) - 3.3).abs() < 1e-12);
        // Steps with insufficient decrease, shortened or full.
        assert!((after(3.0, false, -0.1, -1.0) - 2.1).abs() < 1e-12);
        assert!((after(1.0, true, -0.3, -1.0) - 0.7).abs() < 1e-12);
        assert_eq!(region.fraction(0.5), 1.0);
    }
}
