//! What an answer holds, and how it can be asked for.

use std::ops::ControlFlow;

use codiag::synthetic::{Sensors, Synthetic, meg, noisy};
use codiag::{
    Criterion, Init, Matrix, MatrixSet, Rank, Record, SetOptions, Settings, Status, StepKind,
    diagonalize, diagonalize_with,
};

#[test]
fn filters_and_patterns_are_inverse() {
    let answer = diagonalize(&noisy(40, 8, 0.2, 1), &Settings::default()).unwrap();
    for a in 0..8 {
        for b in 0..8 {
            let dot: f64 = (0..8).map(|c| answer.b[(a, c)] * answer.a[(c, b)]).sum();
            assert!((dot - f64::from(u8::from(a == b))).abs() < 1e-12);
        }
    }
    assert!(answer.condition_number() >= 1.0);
}

#[test]
fn the_canonical_form_has_unit_powers_ordered_by_variation_and_positive_patterns() {
    let set = noisy(40, 8, 0.2, 1);
    let answer = diagonalize(&set, &Settings::default()).unwrap();
    let mut last = f64::INFINITY;
    for c in 0..8 {
        let powers: Vec<f64> = (0..40).map(|i| answer.powers[(i, c)]).collect();
        let mean = powers.iter().sum::<f64>() / 40.0;
        assert!((mean - 1.0).abs() < 1e-12);
        let variation: f64 = powers.iter().map(|x| (x - 1.0).powi(2)).sum();
        assert!(variation <= last);
        last = variation;
        let largest = (0..8)
            .map(|k| answer.a[(k, c)])
            .max_by(|x, y| x.abs().total_cmp(&y.abs()))
            .unwrap();
        assert!(largest > 0.0);
    }
    // The same components, if asked as the solver left them.
    let settings = Settings::default().canonical(false);
    let raw = diagonalize(&set, &settings).unwrap();
    assert!((raw.loss - answer.loss).abs() < 1e-13);
    assert_ne!(raw.b, answer.b);
}

#[test]
fn transform_gives_the_matrices_whose_diagonals_are_the_powers() {
    let made = Synthetic::new(70, 6, 0.3, 0);
    let set = made.set().unwrap();
    let answer = diagonalize(&set, &Settings::default()).unwrap();
    let transformed = answer.transform(&set);
    assert_eq!(transformed.len(), made.data.len());
    for (i, (d, c)) in transformed
        .chunks_exact(36)
        .zip(made.data.chunks_exact(36))
        .enumerate()
    {
        for a in 0..6 {
            assert!((d[a * 7] - answer.powers[(i, a)]).abs() < 1e-10);
            for b in 0..6 {
                let mut expected = 0.0;
                for k in 0..6 {
                    for l in 0..6 {
                        expected += answer.b[(a, k)] * c[k * 6 + l] * answer.b[(b, l)];
                    }
                }
                assert!((d[a * 6 + b] - expected).abs() < 1e-10);
            }
        }
    }
}

#[test]
fn residuals_are_the_matrices_shares_of_the_loss() {
    let made = Synthetic::new(30, 5, 0.3, 2);
    let weights: Vec<f64> = (0..30).map(|i| f64::from(i % 4)).collect();
    let options = SetOptions::default().weights(Some(weights));
    let set = MatrixSet::with_options(&made.data, 30, 5, &options).unwrap();
    let answer = diagonalize(&set, &Settings::default()).unwrap();
    assert!(answer.residuals.iter().all(|r| *r > 0.0));
    let mean: f64 = answer
        .residuals
        .iter()
        .zip(set.weights())
        .map(|(r, w)| r * w)
        .sum();
    assert!((mean - answer.loss).abs() < 1e-14);
    assert!((answer.history.last().unwrap().loss - answer.loss).abs() < 1e-12);
}

#[test]
fn the_pair_hardest_to_tell_apart_is_named() {
    // Components 0 and 1 have proportional powers: any mixture of them does as well.
    let p = 4;
    let mut data = Vec::new();
    for i in 0..20 {
        let x = 1.0 + f64::from(i % 5);
        let y = 1.0 + f64::from(i % 3);
        let z = 1.0 + f64::from(i % 7);
        data.extend_from_slice(Matrix::diagonal(&[x, 2.0 * x, y, z]).as_slice());
    }
    let set = MatrixSet::new(&data, 20, p).unwrap();
    let answer = diagonalize(&set, &Settings::default()).unwrap();
    assert!(answer.status.is_converged());
    let hardest = answer.identifiability.unwrap();
    assert!(hardest.margin.abs() < 1e-9);
    let (a, b) = hardest.pair;
    for c in [a, b] {
        // Their filters touch the first two channels only.
        assert!(answer.b[(c, 2)].abs() < 1e-6 && answer.b[(c, 3)].abs() < 1e-6);
    }
}

#[test]
fn a_warm_start_at_the_answer_returns_it_at_once() {
    let set = noisy(50, 9, 0.2, 1);
    for &method in Criterion::Likelihood.methods() {
        let settings = Settings::default().method(method);
        let cold = diagonalize(&set, &settings).unwrap();
        let warm = settings.init(Init::Given(cold.b.clone())).tol(1e-7);
        let again = diagonalize(&set, &warm).unwrap();
        assert_eq!((again.n_iter, again.status), (0, Status::Converged));
        let pairs = cold.b.as_slice().iter().zip(again.b.as_slice());
        assert!(pairs.map(|(x, y)| (x - y).abs()).fold(0.0, f64::max) < 1e-12);
    }
}

#[test]
fn the_observer_sees_every_iteration_and_can_stop() {
    let set = noisy(50, 9, 0.2, 1);
    for &method in Criterion::Likelihood.methods() {
        let settings = Settings::default().method(method);
        let mut seen: Vec<Record> = Vec::new();
        let answer = diagonalize_with(&set, &settings, &mut |record: &Record, b: &Matrix| {
            assert_eq!(b.rows(), 9);
            seen.push(record.clone());
            ControlFlow::Continue(())
        })
        .unwrap();
        assert_eq!(seen, answer.history);
        assert_eq!(seen.len(), answer.n_iter + 1);
        assert_eq!(seen[0].kind, StepKind::Init);
        assert!(
            seen.windows(2)
                .all(|r| r[0].seconds <= r[1].seconds && r[0].passes < r[1].passes)
        );

        let stopped = diagonalize_with(&set, &settings, &mut |record: &Record, _: &Matrix| {
            if record.iteration == 1 {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })
        .unwrap();
        assert_eq!((stopped.status, stopped.n_iter), (Status::Interrupted, 1));
    }
}

#[test]
fn limits_are_kept() {
    let set = MatrixSet::new(&meg(Sensors::Gradiometers), 100, 40).unwrap();
    for &method in Criterion::Likelihood.methods() {
        for max_iter in [0, 2] {
            let settings = Settings::default().method(method).max_iter(max_iter);
            let answer = diagonalize(&set, &settings).unwrap();
            assert_eq!(answer.status, Status::MaxIter);
            assert_eq!(answer.n_iter, max_iter);
        }
    }
}

#[test]
fn rounding_is_told_from_the_iteration_limit() {
    for &method in Criterion::Likelihood.methods() {
        let settings = Settings::default()
            .method(method)
            .tol(1e-300)
            .max_iter(100_000);
        let answer = diagonalize(&noisy(30, 6, 0.3, 3), &settings).unwrap();
        assert_eq!(answer.status, Status::Stalled, "{method:?}");
        assert!(
            answer.gradient_norm < 1e-12,
            "{method:?}: {:e}",
            answer.gradient_norm
        );
    }
}

#[test]
fn restarts_keep_the_best_of_all_losses() {
    let set = MatrixSet::new(&meg(Sensors::Magnetometers), 100, 40).unwrap();
    let run = || {
        let settings = Settings::default().n_restarts(3).tol(1e-6);
        diagonalize(&set, &settings).unwrap()
    };
    let answer = run();
    assert_eq!(answer.start_losses.len(), 4);
    let best = answer
        .start_losses
        .iter()
        .copied()
        .fold(f64::INFINITY, f64::min);
    assert!((answer.loss - best).abs() < 1e-10);
    let spread = answer.start_losses.iter().copied().fold(0.0, f64::max) - best;
    assert!(spread > 1e-6, "the starts are different ones");
    assert_eq!(run().start_losses, answer.start_losses);
}

/// Matrices of rank 3 in 5 channels, all with the same range.
fn deficient() -> (Vec<f64>, Synthetic) {
    let made = Synthetic::new(25, 3, 0.1, 6);
    let lift = Matrix::from_fn(5, 3, |a, b| {
        ((a * 4 + b * 3) % 5) as f64 - 1.5 + f64::from(u8::from(a == b))
    });
    let mut data = Vec::new();
    for c in made.data.chunks_exact(9) {
        for x in 0..5 {
            for y in 0..5 {
                let mut sum = 0.0;
                for k in 0..3 {
                    for l in 0..3 {
                        sum += lift[(x, k)] * c[k * 3 + l] * lift[(y, l)];
                    }
                }
                data.push(sum);
            }
        }
    }
    (data, made)
}

#[test]
fn sets_are_reduced_to_the_range_of_their_mean() {
    let (data, made) = deficient();
    let inner = diagonalize(&made.set().unwrap(), &Settings::default()).unwrap();
    for rank in [Rank::Auto, Rank::Exactly(3)] {
        let options = SetOptions::default().n_components(rank);
        let set = MatrixSet::with_options(&data, 25, 5, &options).unwrap();
        assert_eq!((set.dimension(), set.channels()), (3, 5));
        let answer = diagonalize(&set, &Settings::default()).unwrap();
        assert_eq!((answer.b.rows(), answer.b.columns()), (3, 5));
        assert_eq!((answer.a.rows(), answer.a.columns()), (5, 3));
        assert!((answer.loss - inner.loss).abs() < 1e-10);
        for a in 0..3 {
            for b in 0..3 {
                let dot: f64 = (0..5).map(|c| answer.b[(a, c)] * answer.a[(c, b)]).sum();
                assert!((dot - f64::from(u8::from(a == b))).abs() < 1e-10);
            }
        }
        // A warm start takes what an answer gives, and transform too.
        let warm = Settings::default()
            .init(Init::Given(answer.b.clone()))
            .tol(1e-7);
        assert_eq!(diagonalize(&set, &warm).unwrap().n_iter, 0);
        assert_eq!(answer.transform(&set).len(), 25 * 9);
    }
}

#[test]
fn shrinkage_lifts_single_singular_matrices() {
    let mut made = Synthetic::new(10, 3, 0.2, 0);
    made.data[9..18].copy_from_slice(&[1.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
    assert!(made.set().is_err());
    let options = SetOptions::default().shrinkage(0.01);
    let set = MatrixSet::with_options(&made.data, 10, 3, &options).unwrap();
    assert!((set.matrix(1)[(0, 0)] - (0.99 + 0.01)).abs() < 1e-15);
    assert!((set.matrix(1)[(0, 1)] - 0.99).abs() < 1e-15);
    assert!(
        diagonalize(&set, &Settings::default())
            .unwrap()
            .status
            .is_converged()
    );
}

#[test]
fn one_matrix_and_one_dimension_are_solved_by_the_start() {
    let single = diagonalize(&noisy(1, 6, 0.5, 0), &Settings::default()).unwrap();
    assert_eq!((single.status, single.n_iter), (Status::Converged, 0));
    assert!(single.loss.abs() < 1e-12);
    for &method in Criterion::Likelihood.methods() {
        let settings = Settings::default().method(method);
        let scalar = diagonalize(&MatrixSet::new(&[2.0, 3.0], 2, 1).unwrap(), &settings).unwrap();
        assert!(scalar.status.is_converged() && scalar.identifiability.is_none());
        assert!((scalar.b[(0, 0)] - 1.0 / 2.5_f64.sqrt()).abs() < 1e-14);
    }
}
