//! When a solve ends, and what it keeps.

use std::ops::ControlFlow;

use super::*;
use crate::matrices::InMemory;
use crate::synthetic;

/// Runs a test on a solve that stands at the identity.
fn at_identity(test: impl FnOnce(Iteration<'_, '_, f64>)) {
    let set = synthetic::noisy(10, 3, 0.1, 1);
    let settings = Settings::default();
    let mut working = InMemory::new(&set);
    let mut observer = |_: &Record, _: &Matrix| ControlFlow::Continue(());
    let progress = &mut Progress::new(set.summary(), &mut observer);
    let start = Beginning::at(Matrix::identity(3));
    test(Iteration::begin(&mut working, &settings, start, progress).unwrap());
}

#[test]
fn only_a_solve_without_progress_has_stalled() {
    at_identity(|mut here| {
        here.record(Step::START);
        let first = here.history[0].clone();
        let history = |count: usize, loss: f64, gradient_norm: f64| {
            let record = |k: usize| Record {
                loss: first.loss * loss.powi(k as i32),
                gradient_norm: first.gradient_norm * gradient_norm.powi(k as i32),
                ..first.clone()
            };
            (0..count).map(record).collect::<Vec<Record>>()
        };
        assert!(!has_stalled(&history(100, 1.0, 1.0)));
        assert!(has_stalled(&history(101, 1.0, 1.0)));
        assert!(has_stalled(&history(200, 1.0, 1.001)));
        // Slow linear convergence, and a loss that falls while the gradient does not.
        assert!(!has_stalled(&history(1000, 1.0, 0.9995)));
        assert!(!has_stalled(&history(1000, 1.0 - 1e-9, 1.0)));
    });
}

#[test]
fn non_finite_step_is_rolled_back() {
    at_identity(|mut here| {
        let (before, statistics) = (here.b.clone(), here.statistics.clone());
        let non_finite = |number: f64| {
            let mut statistics = statistics.clone();
            statistics.gradient[(0, 1)] = number;
            statistics
        };
        for number in [f64::INFINITY, f64::NAN] {
            here.replace(Matrix::zeros(3, 3), non_finite(number), -100.0, 0.0);
            assert!(here.is_lost());
            here.replace(before.clone(), statistics.clone(), 100.0, 0.0);
            assert!(!here.is_lost());
        }
        here.replace(Matrix::zeros(3, 3), non_finite(f64::NAN), -100.0, 0.0);
        assert_eq!(here.best().0, before);
    });
}
