//! Checkpoints of a solve, from which it can be continued after an interruption.

use std::time::Duration;

use crate::linalg::{Matrix, Scalar};
use crate::report::Record;

/// Losses that differ by less than this are considered equal.
const LOSS_TOLERANCE: f64 = 1e-9;

/// Selects the B that an observer should save. At regular intervals, this is the B with the lowest
/// loss over all starting points so far. Pass it as [`Init::Given`](crate::Init::Given) to continue
/// the solve.
///
/// ```
/// use std::ops::ControlFlow;
/// use std::time::Duration;
/// use codiag::{Checkpoint, Matrix, Record, Settings, Init, diagonalize, diagonalize_with, synthetic};
///
/// let set = synthetic::noisy(50, 5, 0.1, 0);
/// let mut checkpoint = Checkpoint::new(Duration::from_secs(60));
/// let mut saved = None; // in an application, a file
/// let mut observer = |record: &Record, b: &Matrix| {
///     if let Some(best) = checkpoint.update(record, b) {
///         saved = Some(best.clone());
///     }
///     ControlFlow::Continue(())
/// };
/// diagonalize_with(&set, &Settings::default(), &mut observer)?;
/// // The solve took less than a minute, so its result has not been saved yet.
/// let saved = checkpoint.last().or(saved).expect("at least one point was observed");
/// let settings = Settings::default().init(Init::Given(saved)).tol(1e-7);
/// assert_eq!(diagonalize(&set, &settings)?.n_iter, 0);
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Checkpoint<T = f64> {
    every: f64,
    /// Time of the last save in seconds since the start of the solve.
    last_saved: f64,
    lowest_loss: f64,
    best: Option<Matrix<T>>,
    saved: bool,
}

impl<T: Scalar> Checkpoint<T> {
    /// Creates a checkpoint that is saved at most once per interval.
    pub fn new(every: Duration) -> Self {
        Self {
            every: every.as_secs_f64(),
            last_saved: 0.0,
            lowest_loss: f64::INFINITY,
            best: None,
            saved: true,
        }
    }

    /// Receives a point of the solve, like an [`Observer`](crate::Observer), and returns the B to
    /// save now, if any. Points of [`Stage::Sample`](crate::Stage::Sample) are ignored.
    pub fn update(&mut self, record: &Record, b: &Matrix<T>) -> Option<&Matrix<T>> {
        if record.stage == crate::Stage::Sample {
            return None;
        }
        if record.loss <= self.lowest_loss + LOSS_TOLERANCE {
            self.lowest_loss = self.lowest_loss.min(record.loss);
            self.best = Some(b.clone());
            self.saved = false;
        }
        if self.saved || record.seconds - self.last_saved < self.every {
            return None;
        }
        self.last_saved = record.seconds;
        self.saved = true;
        self.best.as_ref()
    }

    /// Returns the best B at the end of a solve, if it has not been saved yet.
    pub fn last(self) -> Option<Matrix<T>> {
        self.best.filter(|_| !self.saved)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::StepKind;

    fn record(start: usize, seconds: f64, loss: f64) -> Record {
        Record {
            start,
            stage: crate::Stage::Full,
            iteration: 0,
            seconds,
            loss,
            gradient_norm: 1.0,
            decrement: 1.0,
            kind: StepKind::Newton,
            step: 1.0,
            cg_iterations: 0,
            passes: 0.0,
        }
    }

    /// Returns a 1×1 matrix that is identified by its entry.
    fn b(number: f64) -> Matrix {
        Matrix::diagonal(&[number])
    }

    #[test]
    fn saves_the_best_of_all_starts_every_few_seconds() {
        let mut checkpoint = Checkpoint::new(Duration::from_secs(10));
        assert_eq!(checkpoint.update(&record(0, 1.0, 5.0), &b(1.0)), None);
        assert_eq!(
            checkpoint.update(&record(0, 11.0, 3.0), &b(2.0)),
            Some(&b(2.0))
        );
        // A better point comes too early to be saved. It is saved when a second start reports a
        // worse one.
        assert_eq!(checkpoint.update(&record(0, 12.0, 2.0), &b(3.0)), None);
        assert_eq!(
            checkpoint.update(&record(1, 22.0, 4.0), &b(4.0)),
            Some(&b(3.0))
        );
        // Nothing new to save.
        assert_eq!(checkpoint.update(&record(1, 50.0, 3.5), &b(5.0)), None);
        assert_eq!(
            checkpoint.update(&record(1, 51.0, 1.0), &b(6.0)),
            Some(&b(6.0))
        );
        assert_eq!(checkpoint.update(&record(2, 52.0, 2.0), &b(7.0)), None);
        assert_eq!(checkpoint.last(), None);
    }

    #[test]
    fn last_is_the_best_unsaved_point() {
        let mut checkpoint = Checkpoint::new(Duration::from_secs(10));
        assert_eq!(checkpoint.clone().last(), None);
        checkpoint.update(&record(0, 1.0, 5.0), &b(1.0));
        checkpoint.update(&record(0, 2.0, 1.0), &b(2.0));
        checkpoint.update(&record(1, 3.0, 4.0), &b(3.0));
        assert_eq!(checkpoint.last(), Some(b(2.0)));
    }

    #[test]
    fn later_point_wins_among_losses_equal_up_to_rounding() {
        let mut checkpoint = Checkpoint::new(Duration::ZERO);
        checkpoint.update(&record(0, 0.0, 1.0), &b(1.0));
        let next = checkpoint.update(&record(0, 0.0, 1.0 + 1e-12), &b(2.0));
        assert_eq!(next, Some(&b(2.0)));
        // Repeated increases within the tolerance do not accumulate.
        let next = checkpoint.update(&record(0, 0.0, 1.0 + 1.5e-9), &b(3.0));
        assert_eq!(next, None);
    }

    #[test]
    fn samples_and_nan_losses_are_ignored() {
        let mut checkpoint = Checkpoint::new(Duration::ZERO);
        let of_sample = Record {
            stage: crate::Stage::Sample,
            ..record(0, 1.0, -7.0)
        };
        assert_eq!(checkpoint.update(&of_sample, &b(1.0)), None);
        assert_eq!(checkpoint.update(&record(0, 2.0, f64::NAN), &b(2.0)), None);
        assert_eq!(
            checkpoint.update(&record(0, 3.0, 1.0), &b(3.0)),
            Some(&b(3.0))
        );
    }
}
