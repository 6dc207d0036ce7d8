//! When a checkpoint is due, and what is in it.

use std::time::{Duration, Instant};

use codiag::{Matrix, Record};

/// Losses nearer than this are equal: the last steps of a solve only move within rounding.
const SAME_LOSS: f64 = 1e-9;

/// Holds the best B so far, and says when it should be saved.
pub struct Checkpoint {
    every: Duration,
    last: Instant,
    lowest_loss: f64,
    best: Option<Matrix>,
    saved: bool,
}

impl Checkpoint {
    /// One that is due every so often.
    pub fn new(every: Duration) -> Self {
        Self {
            every,
            last: Instant::now(),
            lowest_loss: f64::INFINITY,
            best: None,
            saved: true,
        }
    }

    /// Hears of a point; returns the best B so far if it should be saved now.
    pub fn offer(&mut self, record: &Record, b: &Matrix) -> Option<&Matrix> {
        // With several starts, a later one does not replace the B of an earlier one before it is
        // better; and losses of a sample of the matrices compare with no others.
        if !record.sample && record.loss <= self.lowest_loss + SAME_LOSS {
            self.lowest_loss = self.lowest_loss.min(record.loss);
            self.best = Some(b.clone());
            self.saved = false;
        }
        if self.saved || self.last.elapsed() < self.every {
            return None;
        }
        self.last = Instant::now();
        self.saved = true;
        self.best.as_ref()
    }

    /// The best B, if it was not saved yet.
    pub fn last(self) -> Option<Matrix> {
        self.best.filter(|_| !self.saved)
    }
}

#[cfg(test)]
mod tests {
    use codiag::{Settings, diagonalize, synthetic};

    use super::*;

    fn record(loss: f64) -> Record {
        let set = synthetic::noisy(20, 2, 0.1, 0);
        let answer = diagonalize(&set, &Settings::default()).unwrap();
        let mut record = answer.history[0].clone();
        record.loss = loss;
        record
    }

    #[test]
    fn the_best_is_kept_and_saved_once() {
        let (first, better, worse) = ([1.0, 2.0, 3.0]).map(|x| Matrix::diagonal(&[x])).into();
        let mut always = Checkpoint::new(Duration::ZERO);
        assert_eq!(always.offer(&record(0.5), &first), Some(&first));
        assert_eq!(always.offer(&record(0.3), &better), Some(&better));
        assert_eq!(always.offer(&record(0.4), &worse), None);
        assert_eq!(always.last(), None);

        let mut never = Checkpoint::new(Duration::MAX);
        assert_eq!(never.offer(&record(0.3), &better), None);
        assert_eq!(never.offer(&record(0.5), &worse), None);
        let mut sample = record(0.1);
        sample.sample = true;
        assert_eq!(never.offer(&sample, &worse), None);
        assert_eq!(never.last(), Some(better));
    }
}
