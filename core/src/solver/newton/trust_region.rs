//! The trust region: the largest length of a step, updated from how well the model predicted the last
//! one (Nocedal & Wright, Numerical Optimization, section 4.1).
//!
//! The box constraint does not see that many entries are large at once, as they are for large matrices
//! whose components are hard to separate.

use crate::tuning::TUNING;

/// The largest length of a step.
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
    /// The fraction of a step of that length that may be taken.
    pub fn fraction(&self, length: f64) -> f64 {
        if length > self.radius {
            self.radius / length
        } else {
            1.0
        }
    }

    /// Updates the radius from the actual and the predicted change of the loss at a trial of that
    /// length; `is_full` if the trial was not cut short.
    pub fn update(&mut self, length: f64, is_full: bool, change: f64, predicted: f64) {
        // Both changes are negative, except beyond twice the model's minimizer, where any decrease is
        // better than predicted.
        if change > TUNING.shrink_ratio * predicted {
            self.radius = TUNING.shrink * length;
        } else if !is_full {
            let expand = change < TUNING.expand_ratio * predicted;
            self.radius = if expand {
                TUNING.expand * length
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
        // A full step that went well.
        assert_eq!(after(5.0, true, -0.9, -1.0), 5.0);
        assert_eq!(after(2.0, true, -0.5, -1.0), 5.0);
        // A step that was halved until it went down.
        assert!((after(2.0, false, -0.6, -1.0) - 2.0).abs() < 1e-12);
        // One that was cut short and went well, as the model says or better than that.
        assert!((after(2.0, false, -0.9, -1.0) - 3.0).abs() < 1e-12);
        assert!((after(2.2, false, -0.1, 0.2) - 3.3).abs() < 1e-12);
        // One that did not go well, cut short or not.
        assert!((after(3.0, false, -0.1, -1.0) - 2.1).abs() < 1e-12);
        assert!((after(1.0, true, -0.3, -1.0) - 0.7).abs() < 1e-12);
        assert_eq!(region.fraction(0.5), 1.0);
    }
}
