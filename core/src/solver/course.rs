//! The state that all methods share: where the iteration stands, and what it has seen.

use std::time::Instant;

use super::Begin;
use crate::Error;
use crate::direction::quasi_newton;
use crate::linalg::{self, Matrix};
use crate::line_search::Point;
use crate::matrices::{Probe, Summary, WorkingSet};
use crate::report::{Observer, Record, Status, StepKind};
use crate::settings::Settings;
use crate::statistics::Statistics;
use crate::update;

/// Iterations without a smaller ĝ, once changes of the loss are rounding, before giving up.
const PATIENCE: usize = 3;

/// A solve under way.
pub(crate) struct Course<'a, S: WorkingSet> {
    pub set: &'a mut S,
    pub settings: &'a Settings,
    pub b: Matrix,
    pub loss: f64,
    pub statistics: Statistics,
    pub history: Vec<Record>,
    observer: &'a mut dyn Observer,
    clock: Instant,
    passes: f64,
    /// The point of smallest ĝ since changes of the loss became rounding.
    best: Option<(f64, Matrix)>,
    fruitless: usize,
    /// How often ĝ turned out to be rounding below the tolerance.
    disappointments: usize,
}

impl<'a, S: WorkingSet> Course<'a, S> {
    /// Brings the set to the start.
    pub fn begin(
        set: &'a mut S,
        settings: &'a Settings,
        Begin { b, passes, clock }: Begin,
        observer: &'a mut dyn Observer,
    ) -> Result<Self, Error> {
        let Summary {
            mean, mean_log_det, ..
        } = set.summary();
        let mean_log_det = *mean_log_det;
        let b = if settings.rescale && !settings.orthogonal {
            update::normalize(b, mean)
        } else {
            b
        };
        let log_powers = set.reset(&b)?;
        let loss = 0.5 * (log_powers - mean_log_det) - linalg::log_abs_det(&b);
        let statistics = set.statistics()?;
        Ok(Self {
            set,
            settings,
            b,
            loss,
            statistics,
            history: Vec::new(),
            observer,
            clock,
            passes: 1.0 + passes,
            best: None,
            fruitless: 0,
            disappointments: 0,
        })
    }

    /// ĝ here; over rotations, that of the antisymmetric part.
    pub fn gradient_norm(&self) -> f64 {
        if self.settings.orthogonal {
            let p = self.statistics.gradient.rows() as f64;
            self.statistics.rotation_gradient().norm() / p.sqrt()
        } else {
            self.statistics.gradient_norm()
        }
    }

    /// Counts work, in transforms of the set.
    pub fn count(&mut self, passes: f64) {
        self.passes += passes;
    }

    /// Records the point reached, shows it to the observer, and says whether it is the last.
    pub fn arrive(
        &mut self,
        kind: StepKind,
        step: f64,
        cg_iterations: usize,
    ) -> Result<Option<Status>, Error> {
        let decrement = self.decrement();
        self.arrive_with(decrement, kind, step, cg_iterations)
    }

    /// ½ ⟨G, H̃⁻¹ G⟩, free of the gauge.
    fn decrement(&self) -> f64 {
        let floor = self.settings.lambda_min;
        if self.settings.orthogonal {
            let e = quasi_newton::rotation(&self.statistics, floor);
            -0.25 * e.dot(&self.statistics.rotation_gradient())
        } else {
            let e = quasi_newton::direction(&self.statistics, floor);
            -0.5 * e.dot(&self.statistics.gradient)
        }
    }

    /// As [`arrive`](Self::arrive), where the method knows its own decrement.
    pub fn arrive_with(
        &mut self,
        decrement: f64,
        kind: StepKind,
        step: f64,
        cg_iterations: usize,
    ) -> Result<Option<Status>, Error> {
        if self.gradient_norm() <= self.settings.tolerance {
            self.confirm()?;
        }
        let record = Record {
            start: 0,
            sample: false,
            iteration: self.history.len(),
            seconds: self.clock.elapsed().as_secs_f64(),
            loss: self.loss,
            gradient_norm: self.gradient_norm(),
            decrement,
            kind,
            step,
            cg_iterations,
            passes: self.passes,
        };
        let iteration = record.iteration;
        let gradient_norm = record.gradient_norm;
        let stop = self.observer.observe(&record, &self.b).is_break();
        self.history.push(record);
        Ok(if gradient_norm <= self.settings.tolerance {
            Some(Status::Converged)
        } else if stop {
            Some(Status::Stopped)
        } else if self.fruitless.max(self.disappointments) >= PATIENCE {
            Some(Status::NoFurtherDecrease)
        } else if iteration >= self.settings.max_iterations {
            Some(Status::IterationLimit)
        } else {
            None
        })
    }

    /// Makes sure that ĝ is that of B: the matrices Dⁱ have come here step by step, and rounding
    /// has come with them. Their mean tells how much; if it may matter, they are made anew.
    fn confirm(&mut self) -> Result<(), Error> {
        if self.history.is_empty() {
            return Ok(());
        }
        let expected = linalg::product_transposed(
            &linalg::product(&self.b, &self.set.summary().mean),
            &self.b,
        );
        let actual = self.set.mean()?;
        let pairs = expected.as_slice().iter().zip(actual.as_slice());
        let drift = pairs.map(|(x, y)| (x - y).powi(2)).sum::<f64>().sqrt();
        if drift <= 0.1 * self.settings.tolerance * expected.norm() {
            return Ok(());
        }
        self.set.reset(&self.b)?;
        self.count(1.0);
        self.statistics = self.set.statistics()?;
        if self.gradient_norm() > self.settings.tolerance {
            self.disappointments += 1;
        }
        Ok(())
    }

    /// Moves to the point found along the probed direction `e`.
    pub fn advance(
        &mut self,
        e: &Matrix,
        probe: &Probe,
        point: Point,
        noise: f64,
    ) -> Result<(), Error> {
        let scale = if self.settings.rescale && !self.settings.orthogonal {
            update::gauge(probe, point.alpha)
        } else {
            vec![1.0; e.rows()]
        };
        let statistics = self.set.advance(point.alpha, &scale)?;
        let mut b = update::advanced(&self.b, e, point.alpha, &scale);
        if self.settings.orthogonal {
            b = linalg::reorthogonalize(&b);
        }
        self.replace(b, statistics, point.change, noise);
        Ok(())
    }

    /// Takes a new point, at which the loss has changed by `change`. Where that is not more than
    /// `noise`, the loss cannot tell which point is better any more, and ĝ decides.
    pub fn replace(&mut self, b: Matrix, statistics: Statistics, change: f64, noise: f64) {
        let here = self.gradient_norm();
        let old_b = std::mem::replace(&mut self.b, b);
        self.statistics = statistics;
        self.loss += change;
        if change.abs() > noise {
            self.best = None;
            self.fruitless = 0;
            return;
        }
        if self.best.as_ref().is_none_or(|(best, _)| here < *best) {
            self.best = Some((here, old_b));
        }
        let improved = self
            .best
            .as_ref()
            .is_some_and(|(best, _)| self.gradient_norm() < *best);
        self.fruitless = if improved { 0 } else { self.fruitless + 1 };
    }

    /// The B to return, its statistics if the set stands at it, and the history: the last point,
    /// unless an earlier one was better.
    pub fn best(self) -> (Matrix, Option<Statistics>, Vec<Record>) {
        let here = self.gradient_norm();
        match self.best {
            Some((gradient_norm, b)) if gradient_norm < here => (b, None, self.history),
            _ => (self.b, Some(self.statistics), self.history),
        }
    }
}
