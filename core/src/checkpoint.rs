//! When B is worth saving, so that a solve that is cut short can be gone on with.

use std::time::Duration;

use crate::linalg::{Matrix, Scalar};
use crate::report::Record;

/// Losses nearer than this are equal: the last steps of a solve only move within rounding.
const SAME_LOSS: f64 = 1e-9;

/// Says what an observer should save, and when: every few seconds the best B so far, over all
/// starts. Given as [`Start::Given`](crate::Start::Given), it is gone on from.
///
/// ```
/// use std::ops::ControlFlow;
/// use std::time::Duration;
/// use codiag::{Checkpoint, Matrix, Record, Settings, Start, diagonalize, diagonalize_with, synthetic};
///
/// let set = synthetic::noisy(50, 5, 0.1, 0);
/// let mut checkpoint = Checkpoint::new(Duration::from_secs(60));
/// let mut file = None; // stands for one
/// let mut observer = |record: &Record, b: &Matrix| {
///     if let Some(best) = checkpoint.offer(record, b) {
///         file = Some(best.clone());
///     }
///     ControlFlow::Continue(())
/// };
/// diagonalize_with(&set, &Settings::default(), &mut observer)?;
/// // The solve took less than a minute: what it found is saved at its end.
/// let file = checkpoint.last().or(file).expect("there has been a point");
/// let settings = Settings::default().start(Start::Given(file)).tolerance(1e-7);
/// assert_eq!(diagonalize(&set, &settings)?.iterations, 0);
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Checkpoint<T = f64> {
    every: f64,
    /// In seconds since the solve began.
    last_saved: f64,
    lowest_loss: f64,
    best: Option<Matrix<T>>,
    saved: bool,
}

impl<T: Scalar> Checkpoint<T> {
    /// One that saves at most every so often.
    pub fn new(every: Duration) -> Self {
        Self {
            every: every.as_secs_f64(),
            last_saved: 0.0,
            lowest_loss: f64::INFINITY,
            best: None,
            saved: true,
        }
    }

    /// Hears of a point of the solve, as an [`Observer`](crate::Observer) does; returns what is to be
    /// saved now, if anything is. Points of a sample are ignored.
    pub fn offer(&mut self, record: &Record, b: &Matrix<T>) -> Option<&Matrix<T>> {
        if record.stage == crate::Stage::Sample {
            return None;
        }
        if record.loss <= self.lowest_loss + SAME_LOSS {
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

    /// The best B, if it has not been saved yet: for the end of a solve.
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

    /// A matrix that can be told from others.
    fn b(number: f64) -> Matrix {
        Matrix::diagonal(&[number])
    }

    #[test]
    fn saves_the_best_of_all_starts_every_few_seconds() {
        let mut checkpoint = Checkpoint::new(Duration::from_secs(10));
        assert_eq!(checkpoint.offer(&record(0, 1.0, 5.0), &b(1.0)), None);
        assert_eq!(
            checkpoint.offer(&record(0, 11.0, 3.0), &b(2.0)),
            Some(&b(2.0))
        );
        // Better, but too soon; then a second start, which is worse: the better one is saved.
        assert_eq!(checkpoint.offer(&record(0, 12.0, 2.0), &b(3.0)), None);
        assert_eq!(
            checkpoint.offer(&record(1, 22.0, 4.0), &b(4.0)),
            Some(&b(3.0))
        );
        // Nothing new to save, however long it takes.
        assert_eq!(checkpoint.offer(&record(1, 50.0, 3.5), &b(5.0)), None);
        assert_eq!(
            checkpoint.offer(&record(1, 51.0, 1.0), &b(6.0)),
            Some(&b(6.0))
        );
        assert_eq!(checkpoint.offer(&record(2, 52.0, 2.0), &b(7.0)), None);
        assert_eq!(checkpoint.last(), None);
    }

    #[test]
    fn the_last_is_the_best_that_was_not_saved() {
        let mut checkpoint = Checkpoint::new(Duration::from_secs(10));
        assert_eq!(checkpoint.clone().last(), None);
        checkpoint.offer(&record(0, 1.0, 5.0), &b(1.0));
        checkpoint.offer(&record(0, 2.0, 1.0), &b(2.0));
        checkpoint.offer(&record(1, 3.0, 4.0), &b(3.0));
        assert_eq!(checkpoint.last(), Some(b(2.0)));
    }

    #[test]
    fn losses_that_differ_by_rounding_are_equal_and_the_later_point_counts() {
        let mut checkpoint = Checkpoint::new(Duration::ZERO);
        checkpoint.offer(&record(0, 0.0, 1.0), &b(1.0));
        let next = checkpoint.offer(&record(0, 0.0, 1.0 + 1e-12), &b(2.0));
        assert_eq!(next, Some(&b(2.0)));
        // They do not add up.
        let next = checkpoint.offer(&record(0, 0.0, 1.0 + 1.5e-9), &b(3.0));
        assert_eq!(next, None);
    }

    #[test]
    fn samples_and_losses_that_are_no_numbers_are_ignored() {
        let mut checkpoint = Checkpoint::new(Duration::ZERO);
        let of_sample = Record {
            stage: crate::Stage::Sample,
            ..record(0, 1.0, -7.0)
        };
        assert_eq!(checkpoint.offer(&of_sample, &b(1.0)), None);
        assert_eq!(checkpoint.offer(&record(0, 2.0, f64::NAN), &b(2.0)), None);
        assert_eq!(
            checkpoint.offer(&record(0, 3.0, 1.0), &b(3.0)),
            Some(&b(3.0))
        );
    }
}
