//! The result of a solve: its fields, and the options that shape it.

use std::ops::ControlFlow;

use codiag::synthetic::{Sensors, Synthetic, meg, noisy};
use codiag::{
    Criterion, Init, Matrix, MatrixSet, Rank, Record, SetOptions, Settings, Status, StepKind,
    diagonalize, diagonalize_with,
};

#[test]
fn patterns_are_the_inverse_of_filters() {
    let result = diagonalize(&noisy(40, 8, 0.2, 1), &Settings::default()).unwrap();
    for a in 0..8 {
        for b in 0..8 {
            let dot: f64 = (0..8).map(|c| result.b[(a, c)] * result.a[(c, b)]).sum();
            assert!((dot - f64::from(u8::from(a == b))).abs() < 1e-12);
        }
    }
    assert!(result.condition_number() >= 1.0);
}

#[test]
fn canonical_form_has_unit_powers_sorted_by_variation_and_positive_patterns() {
    let set = noisy(40, 8, 0.2, 1);
    let result = diagonalize(&set, &Settings::default()).unwrap();
    let mut last = f64::INFINITY;
    for c in 0..8 {
        let powers: Vec<f64> = (0..40).map(|i| result.powers[(i, c)]).collect();
        let mean = powers.iter().sum::<f64>() / 40.0;
        assert!((mean - 1.0).abs() < 1e-12);
        let variation: f64 = powers.iter().map(|x| (x - 1.0).powi(2)).sum();
        assert!(variation <= last);
        last = variation;
        let largest = (0..8)
            .map(|k| result.a[(k, c)])
            .max_by(|x, y| x.abs().total_cmp(&y.abs()))
            .unwrap();
        assert!(largest > 0.0);
    }
    // Without the canonical form, the loss is unchanged.
    let settings = Settings::default().canonical(false);
    let raw = diagonalize(&set, &settings).unwrap();
    assert!((raw.loss - result.loss).abs() < 1e-13);
    assert_ne!(raw.b, result.b);
}

#[test]
fn diagonals_of_transformed_matrices_are_the_powers() {
    let generated = Synthetic::new(70, 6, 0.3, 0);
    let set = generated.set().unwrap();
    let result = diagonalize(&set, &Settings::default()).unwrap();
    let transformed = result.transform(&set);
    assert_eq!(transformed.len(), generated.data.len());
    for (i, (d, c)) in transformed
        .chunks_exact(36)
        .zip(generated.data.chunks_exact(36))
        .enumerate()
    {
        for a in 0..6 {
            assert!((d[a * 7] - result.powers[(i, a)]).abs() < 1e-10);
            for b in 0..6 {
                let mut expected = 0.0;
                for k in 0..6 {
                    for l in 0..6 {
                        expected += result.b[(a, k)] * c[k * 6 + l] * result.b[(b, l)];
                    }
                }
                assert!((d[a * 6 + b] - expected).abs() < 1e-10);
            }
        }
    }
}

#[test]
fn weighted_mean_of_residuals_is_the_loss() {
    let generated = Synthetic::new(30, 5, 0.3, 2);
    let weights: Vec<f64> = (0..30).map(|i| f64::from(i % 4)).collect();
    let options = SetOptions::default().weights(Some(weights));
    let set = MatrixSet::with_options(&generated.data, 30, 5, &options).unwrap();
    let result = diagonalize(&set, &Settings::default()).unwrap();
    assert!(result.residuals.iter().all(|r| *r > 0.0));
    let mean: f64 = result
        .residuals
        .iter()
        .zip(set.weights())
        .map(|(r, w)| r * w)
        .sum();
    assert!((mean - result.loss).abs() < 1e-14);
    assert!((result.history.last().unwrap().loss - result.loss).abs() < 1e-12);
}

#[test]
fn identifiability_names_the_least_separable_pair() {
    // Components 0 and 1 have proportional powers, so any mixture of them has the same loss.
    let p = 4;
    let mut data = Vec::new();
    for i in 0..20 {
        let x = 1.0 + f64::from(i % 5);
        let y = 1.0 + f64::from(i % 3);
        let z = 1.0 + f64::from(i % 7);
        data.extend_from_slice(Matrix::diagonal(&[x, 2.0 * x, y, z]).as_slice());
    }
    let set = MatrixSet::new(&data, 20, p).unwrap();
    let result = diagonalize(&set, &Settings::default()).unwrap();
    assert!(result.status.is_converged());
    let least_separable = result.identifiability.unwrap();
    assert!(least_separable.margin.abs() < 1e-9);
    let (a, b) = least_separable.pair;
    for c in [a, b] {
        // Their filters use the first two channels only.
        assert!(result.b[(c, 2)].abs() < 1e-6 && result.b[(c, 3)].abs() < 1e-6);
    }
}

#[test]
fn warm_start_at_the_result_takes_no_iterations() {
    let set = noisy(50, 9, 0.2, 1);
    for &method in Criterion::Likelihood.methods() {
        let settings = Settings::default().method(method);
        let cold = diagonalize(&set, &settings).unwrap();
        let warm = settings.init(Init::Given(cold.b.clone())).tol(1e-7);
        let repeated = diagonalize(&set, &warm).unwrap();
        assert_eq!((repeated.n_iter, repeated.status), (0, Status::Converged));
        let pairs = cold.b.as_slice().iter().zip(repeated.b.as_slice());
        assert!(pairs.map(|(x, y)| (x - y).abs()).fold(0.0, f64::max) < 1e-12);
    }
}

#[test]
fn observer_sees_every_iteration_and_can_stop() {
    let set = noisy(50, 9, 0.2, 1);
    for &method in Criterion::Likelihood.methods() {
        let settings = Settings::default().method(method);
        let mut seen: Vec<Record> = Vec::new();
        let result = diagonalize_with(&set, &settings, &mut |record: &Record, b: &Matrix| {
            assert_eq!(b.rows(), 9);
            seen.push(record.clone());
            ControlFlow::Continue(())
        })
        .unwrap();
        assert_eq!(seen, result.history);
        assert_eq!(seen.len(), result.n_iter + 1);
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
fn iteration_limit_is_respected() {
    let set = MatrixSet::new(&meg(Sensors::Gradiometers), 100, 40).unwrap();
    for &method in Criterion::Likelihood.methods() {
        for max_iter in [0, 2] {
            let settings = Settings::default().method(method).max_iter(max_iter);
            let result = diagonalize(&set, &settings).unwrap();
            assert_eq!(result.status, Status::MaxIter);
            assert_eq!(result.n_iter, max_iter);
        }
    }
}

#[test]
fn rounding_limited_solve_is_stalled() {
    for &method in Criterion::Likelihood.methods() {
        let settings = Settings::default()
            .method(method)
            .tol(1e-300)
            .max_iter(100_000);
        let result = diagonalize(&noisy(30, 6, 0.3, 3), &settings).unwrap();
        assert_eq!(result.status, Status::Stalled, "{method:?}");
        assert!(
            result.gradient_norm < 1e-12,
            "{method:?}: {:e}",
            result.gradient_norm
        );
    }
}

#[test]
fn restarts_return_the_lowest_loss() {
    let set = MatrixSet::new(&meg(Sensors::Magnetometers), 100, 40).unwrap();
    let run = || {
        let settings = Settings::default().n_restarts(3).tol(1e-6);
        diagonalize(&set, &settings).unwrap()
    };
    let result = run();
    assert_eq!(result.start_losses.len(), 4);
    let best = result
        .start_losses
        .iter()
        .copied()
        .fold(f64::INFINITY, f64::min);
    assert!((result.loss - best).abs() < 1e-10);
    let spread = result.start_losses.iter().copied().fold(0.0, f64::max) - best;
    assert!(spread > 1e-6, "all starts end at the same loss");
    assert_eq!(run().start_losses, result.start_losses);
}

/// Returns 5×5 matrices of rank 3 with a common range, and the set of 3×3 matrices from which they
/// are computed.
fn rank_deficient() -> (Vec<f64>, Synthetic) {
    let generated = Synthetic::new(25, 3, 0.1, 6);
    let embedding = Matrix::from_fn(5, 3, |a, b| {
        ((a * 4 + b * 3) % 5) as f64 - 1.5 + f64::from(u8::from(a == b))
    });
    let mut data = Vec::new();
    for c in generated.data.chunks_exact(9) {
        for x in 0..5 {
            for y in 0..5 {
                let mut sum = 0.0;
                for k in 0..3 {
                    for l in 0..3 {
                        sum += embedding[(x, k)] * c[k * 3 + l] * embedding[(y, l)];
                    }
                }
                data.push(sum);
            }
        }
    }
    (data, generated)
}

#[test]
fn rank_deficient_set_is_reduced_to_the_range_of_its_mean() {
    let (data, generated) = rank_deficient();
    let inner = diagonalize(&generated.set().unwrap(), &Settings::default()).unwrap();
    for rank in [Rank::Auto, Rank::Exactly(3)] {
        let options = SetOptions::default().n_components(rank);
        let set = MatrixSet::with_options(&data, 25, 5, &options).unwrap();
        assert_eq!((set.dimension(), set.channels()), (3, 5));
        let result = diagonalize(&set, &Settings::default()).unwrap();
        assert_eq!((result.b.rows(), result.b.columns()), (3, 5));
        assert_eq!((result.a.rows(), result.a.columns()), (5, 3));
        assert!((result.loss - inner.loss).abs() < 1e-10);
        for a in 0..3 {
            for b in 0..3 {
                let dot: f64 = (0..5).map(|c| result.b[(a, c)] * result.a[(c, b)]).sum();
                assert!((dot - f64::from(u8::from(a == b))).abs() < 1e-10);
            }
        }
        // The result is accepted as a warm start and by `transform`.
        let warm = Settings::default()
            .init(Init::Given(result.b.clone()))
            .tol(1e-7);
        assert_eq!(diagonalize(&set, &warm).unwrap().n_iter, 0);
        assert_eq!(result.transform(&set).len(), 25 * 9);
    }
}

#[test]
fn shrinkage_regularizes_a_singular_matrix() {
    let mut generated = Synthetic::new(10, 3, 0.2, 0);
    generated.data[9..18].copy_from_slice(&[1.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
    assert!(generated.set().is_err());
    let options = SetOptions::default().shrinkage(0.01);
    let set = MatrixSet::with_options(&generated.data, 10, 3, &options).unwrap();
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
fn single_matrix_and_single_channel_are_solved_without_iterating() {
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
