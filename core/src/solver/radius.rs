//! How far Newton's steps go: no farther than the quadratic model has turned out to hold.
//!
//! The bounds of single entries ([`direction`](crate::direction)) do not see that many entries are long at a time, as they are for large
//! matrices whose components can hardly be told apart. There E as a whole goes too far, is probed in vain, and is halved,
//! and so is the next one. So the solver remembers how long a step may be, as trust regions do: a step that brings much less than the model
//! predicted makes the next ones shorter, one that was cut short and brings what was predicted makes them longer.

use crate::linalg::{Matrix, Scalar};

/// Below this share of the predicted decrease the model does not hold as far as was probed; above that one it holds beyond.
const POOR: f64 = 0.4;
const GOOD: f64 = 0.8;
/// The length of the next steps is then that of this one, times so much.
const SHORTER: f64 = 0.7;
const LONGER: f64 = 1.5;

/// The largest ‖E‖ of a step.
pub(super) struct Radius(f64);

impl Default for Radius {
    /// Nothing is known of the model yet.
    fn default() -> Self {
        Self(f64::INFINITY)
    }
}

impl Radius {
    /// The share of E that may be taken.
    pub fn share_of<T: Scalar>(&self, e: &Matrix<T>) -> f64 {
        let length = e.norm();
        if length > self.0 {
            self.0 / length
        } else {
            1.0
        }
    }

    /// Learns from the change of the loss along what was probed, of a length, and the change that the model predicted; `whole` if that was all of
    /// E, and not cut short.
    pub fn learn(&mut self, length: f64, whole: bool, change: f64, predicted: f64) {
        // Beyond twice its minimizer the model predicts a rise, and the loss has fallen all the same: as good as can be.
        if change > POOR * predicted {
            self.0 = SHORTER * length;
        } else if !whole {
            let good = change < GOOD * predicted;
            self.0 = if good { LONGER * length } else { length };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_as_long_as_the_model_holds() {
        let e = Matrix::from_rows(2, 2, vec![0.0, 3.0, 4.0, 0.0]);
        let mut radius = Radius::default();
        let mut after = |length, whole, change, predicted| {
            radius.learn(length, whole, change, predicted);
            radius.share_of(&e) * e.norm()
        };
        // What went well as a whole says nothing of longer steps.
        assert_eq!(after(5.0, true, -0.9, -1.0), 5.0);
        assert_eq!(after(2.0, true, -0.5, -1.0), 5.0);
        // A step that was halved until it went down.
        assert!((after(2.0, false, -0.6, -1.0) - 2.0).abs() < 1e-12);
        // One that was cut short and went well, as the model says or better than that.
        assert!((after(2.0, false, -0.9, -1.0) - 3.0).abs() < 1e-12);
        assert!((after(2.2, false, -0.1, 0.2) - 3.3).abs() < 1e-12);
        // One that did not, cut short or not.
        assert!((after(3.0, false, -0.1, -1.0) - 2.1).abs() < 1e-12);
        assert!((after(1.0, true, -0.3, -1.0) - 0.7).abs() < 1e-12);
        // Shorter ones are left alone.
        let short = Matrix::from_rows(1, 1, vec![0.5]);
        assert_eq!(radius.share_of(&short), 1.0);
    }
}
