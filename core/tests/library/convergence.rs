//! Convergence of the methods: rates, losses and statuses.

use codiag::synthetic::{Sensors, Synthetic, amari_distance, meg, noisy};
use codiag::{
    Criterion, Diagonalization, Evaluation, Init, Matrix, MatrixSet, Method, Record, SetOptions,
    Settings, Stage, Status, diagonalize,
};

#[allow(clippy::needless_pass_by_value)] // callers build the settings in place
fn solve(set: &MatrixSet, settings: Settings) -> Diagonalization {
    diagonalize(set, &settings).unwrap()
}

fn with(method: Method, tolerance: f64) -> Settings {
    Settings::default().method(method).tol(tolerance)
}

fn gradients(result: &Diagonalization) -> Vec<f64> {
    result.history.iter().map(|r| r.gradient_norm).collect()
}

#[test]
fn exact_sets_recover_the_mixing() {
    for &method in Criterion::Likelihood.methods() {
        for seed in 0..3 {
            let generated = Synthetic::new(60, 12, 0.0, seed);
            let result = solve(&generated.set().unwrap(), with(method, 1e-12));
            let distance = amari_distance(&result.b, &generated.mixing);
            assert!(distance < 1e-10, "{method:?} seed {seed}: {distance:e}");
            assert!(result.loss.abs() < 1e-11);
        }
    }
}

#[test]
fn methods_converge_quadratically_on_exact_sets() {
    let set = noisy(100, 20, 0.0, 5);
    for method in [Method::Newton, Method::QuasiNewton, Method::Pham] {
        let settings = with(method, 1e-12).init(Init::Whitener);
        let result = solve(&set, settings);
        let gradients = gradients(&result);
        // First iteration after which all gradient norms are at most 0.03.
        let near = gradients.iter().rposition(|g| *g > 0.03).unwrap() + 1;
        let steps: Vec<(f64, f64)> = gradients[near..]
            .windows(2)
            .map(|pair| (pair[0], pair[1]))
            .collect();
        assert!(!steps.is_empty() && result.n_iter < 50, "{method:?}");
        for (before, after) in steps {
            assert!(
                after < 100.0 * before * before + 1e-11,
                "{method:?}: {before} {after}"
            );
        }
    }
}

#[test]
fn row_wise_loss_decreases_monotonically_to_the_minimum() {
    for (seed, complex) in [(1, false), (2, false), (3, true)] {
        let settings = with(Method::RowWise, 1e-6).max_iter(3000);
        let (losses, found, expected) = if complex {
            let set = codiag::synthetic::hermitian(60, 5, 0.2, seed);
            let found = diagonalize(&set, &settings).unwrap();
            let expected = diagonalize(&set, &Settings::default()).unwrap();
            (found.history, found.loss, expected.loss)
        } else {
            let set = noisy(60, 5, 0.2, seed);
            let found = solve(&set, settings);
            let expected = solve(&set, Settings::default());
            (found.history, found.loss, expected.loss)
        };
        assert!(
            losses
                .windows(2)
                .all(|pair| pair[1].loss <= pair[0].loss + 1e-12)
        );
        assert!((found - expected).abs() < 1e-8, "{found} {expected}");
    }
}

#[test]
fn newton_converges_quadratically_on_noisy_sets() {
    for seed in 0..5 {
        let result = solve(&noisy(100, 40, 0.1, seed), with(Method::Newton, 1e-10));
        assert_eq!(result.status, Status::Converged);
        let gradients = gradients(&result);
        let below = |x: f64| gradients.iter().position(|g| *g < x).unwrap();
        assert!(
            below(1e-10) - below(1e-3) <= 6,
            "seed {seed}: {gradients:?}"
        );
    }
}

#[test]
fn quasi_newton_converges_linearly_on_noisy_sets() {
    let settings = with(Method::QuasiNewton, 1e-7).init(Init::Whitener);
    let result = solve(&noisy(100, 20, 0.1, 1), settings);
    assert!(result.status.is_converged());
    // Near the minimum all steps are full and reduce the gradient by a constant factor on average.
    let last = &result.history[result.history.len() - 10..];
    assert!(last.iter().all(|record| record.step == 1.0));
    let factor = (last[9].gradient_norm / last[0].gradient_norm).powf(1.0 / 9.0);
    assert!((0.1..0.95).contains(&factor), "{factor}");
}

#[test]
fn all_methods_reach_the_same_loss() {
    // Start near a minimum, so that all methods converge to it.
    let set = noisy(100, 40, 0.1, 0);
    let near = solve(&set, with(Method::Newton, 1e-3));
    let losses: Vec<f64> = Criterion::Likelihood
        .methods()
        .iter()
        .map(|&method| {
            let settings = with(method, 1e-8).init(Init::Given(near.b.clone()));
            let result = solve(&set, settings);
            assert!(result.status.is_converged(), "{method:?}");
            result.loss
        })
        .collect();
    assert!((losses[0] - losses[1]).abs() < 1e-10 && (losses[0] - losses[2]).abs() < 1e-10);
}

#[test]
fn loss_never_increases() {
    let meg = MatrixSet::new(&meg(Sensors::Magnetometers), 100, 40).unwrap();
    for set in [&noisy(50, 10, 0.5, 1), &meg] {
        for &method in Criterion::Likelihood.methods() {
            for orthogonal in [false, true] {
                if orthogonal && matches!(method, Method::Pham | Method::RowWise) {
                    continue;
                }
                let settings = with(method, 1e-8).orthogonal(orthogonal).max_iter(30);
                let result = solve(set, settings);
                for pair in result.history.windows(2) {
                    let single = pair.iter().any(|record| record.stage == Stage::Single);
                    let rounding = if single { 1e-6 } else { 1e-11 };
                    let allowed = pair[0].loss + rounding;
                    assert!(pair[1].loss <= allowed, "{method:?} {pair:?}");
                }
            }
        }
    }
}

#[test]
fn newton_converges_on_meg() {
    for sensors in [Sensors::Magnetometers, Sensors::Gradiometers] {
        let set = MatrixSet::new(&meg(sensors), 100, 40).unwrap();
        let result = solve(&set, Settings::default());
        assert_eq!(result.status, Status::Converged, "{sensors:?}");
        assert!(result.gradient_norm <= 1e-8);
    }
}

#[test]
fn newton_mean_loss_is_as_low_as_that_of_the_paper_method() {
    for sigma in [0.1, 0.3] {
        let (mut newton_mean, mut paper_mean) = (0.0, 0.0);
        for seed in 0..20 {
            let set = noisy(100, 40, sigma, seed);
            let newton = solve(&set, with(Method::Newton, 1e-6));
            let paper = with(Method::QuasiNewton, 1e-6)
                .init(Init::Whitener)
                .max_iter(5000);
            let quasi_newton = solve(&set, paper);
            assert!(newton.status.is_converged() && quasi_newton.status.is_converged());
            newton_mean += newton.loss / 20.0;
            paper_mean += quasi_newton.loss / 20.0;
        }
        // The methods may reach different local minima of a set, so means are compared.
        assert!(
            newton_mean < 1.005 * paper_mean,
            "sigma {sigma}: {newton_mean} {paper_mean}"
        );
    }
}

#[test]
fn hessian_products_by_data_passes_lead_to_the_same_minimum() {
    let set = noisy(40, 12, 0.1, 0);
    let settings = with(Method::Newton, 1e-10);
    let stored = solve(&set, settings.clone());
    let by_passes = solve(&set, settings.hessian_memory(0));
    assert!(stored.status.is_converged() && by_passes.status.is_converged());
    assert!((stored.loss - by_passes.loss).abs() < 1e-11);
    let pairs = stored.b.as_slice().iter().zip(by_passes.b.as_slice());
    assert!(pairs.map(|(x, y)| (x - y).abs()).fold(0.0, f64::max) < 1e-7);
}

#[test]
fn orthogonal_solves_stay_orthogonal_and_end_at_a_stationary_point() {
    for method in [Method::QuasiNewton, Method::Newton] {
        let set = noisy(30, 8, 0.5, 4);
        let settings = with(method, 1e-9).orthogonal(true).max_iter(3000);
        let result = solve(&set, settings);
        assert_eq!(result.status, Status::Converged, "{method:?}");
        for a in 0..8 {
            for b in 0..8 {
                let dot: f64 = (0..8).map(|c| result.b[(a, c)] * result.b[(b, c)]).sum();
                assert!((dot - f64::from(u8::from(a == b))).abs() < 1e-12);
            }
        }
        let gradient = Evaluation::at(&set, &result.b).unwrap().gradient;
        for a in 0..8 {
            for b in 0..8 {
                assert!((gradient[(a, b)] - gradient[(b, a)]).abs() < 1e-7);
            }
        }
    }
}

#[test]
fn newton_over_rotations_converges_quadratically() {
    let settings = with(Method::Newton, 1e-11).orthogonal(true);
    let result = solve(&noisy(30, 8, 0.5, 4), settings);
    let gradients = gradients(&result);
    let below = |x: f64| gradients.iter().position(|g| *g < x).unwrap();
    assert!(below(1e-10) - below(1e-2) <= 7, "{gradients:?}");
}

#[test]
fn common_principal_components_are_recovered_exactly() {
    // With an orthogonal mixing, the unconstrained and the orthogonal minima agree.
    let p = 6;
    let (c, s) = (0.6_f64, 0.8_f64);
    let mut q = Matrix::identity(p);
    for a in 0..p - 1 {
        let mut rotation = Matrix::identity(p);
        (rotation[(a, a)], rotation[(a, a + 1)]) = (c, s);
        (rotation[(a + 1, a)], rotation[(a + 1, a + 1)]) = (-s, c);
        q = &rotation * &q;
    }
    let mut data = Vec::new();
    for i in 0..20 {
        for x in 0..p {
            for y in 0..p {
                data.push(
                    (0..p)
                        .map(|k| q[(k, x)] * q[(k, y)] * (1.0 + ((i * 7 + k * k * 3) % 11) as f64))
                        .sum::<f64>(),
                );
            }
        }
    }
    let set = MatrixSet::new(&data, 20, p).unwrap();
    let settings = Settings::default().orthogonal(true);
    let result = solve(&set, settings);
    assert!(result.loss.abs() < 1e-12);
    let mixing = Matrix::from_fn(p, p, |x, k| q[(k, x)]);
    assert!(amari_distance(&result.b, &mixing) < 1e-7);
}

#[test]
fn records_of_zero_matrices_are_finite() {
    for criterion in Criterion::for_any_symmetric() {
        let options = SetOptions::default().criterion(criterion);
        let set = MatrixSet::with_options(&[0.0; 18], 2, 3, &options).unwrap();
        for &method in criterion.methods() {
            let result = diagonalize(&set, &Settings::default().method(method)).unwrap();
            assert_eq!(
                (result.loss, result.gradient_norm),
                (0.0, 0.0),
                "{method:?}"
            );
            let finite = |record: &Record| record.decrement.is_finite() && record.loss == 0.0;
            assert!(result.history.iter().all(finite), "{method:?}");
        }
    }
}

/// One source in three channels: all columns of A become collinear.
#[test]
fn collinear_least_squares_fit_returns_finite_b() {
    let pattern = [1.0, -0.5, 2.0];
    let powers = [1.0, 0.3, 2.0, 0.7];
    let entries = |power: f64| (0..9).map(move |k| power * pattern[k / 3] * pattern[k % 3]);
    let data: Vec<f64> = powers.into_iter().flat_map(entries).collect();
    let options = SetOptions::default().criterion(Criterion::LeastSquares);
    let set = MatrixSet::with_options(&data, powers.len(), 3, &options).unwrap();
    for &method in Criterion::LeastSquares.methods() {
        for start in [Init::Identity, Init::Spectral, Init::Whitener] {
            let settings = Settings::default().method(method).init(start);
            let result = diagonalize(&set, &settings).unwrap();
            assert!(result.b.is_finite() && result.a.is_finite(), "{method:?}");
            assert!(result.loss.is_finite(), "{method:?}");
        }
    }
}

/// After restarts the transformed matrices are recomputed at the best B, whose rows Pham's sweeps
/// leave unnormalized.
#[test]
fn pham_gradient_norm_is_normalized_after_restarts() {
    let set = noisy(30, 5, 0.1, 1);
    let far = Matrix::from_fn(5, 5, |a, c| {
        ((3 * a + 2 * c) % 7) as f64 - 2.0 + 4.0 * f64::from(u8::from(a == c))
    });
    let settings = Settings::default()
        .method(Method::Pham)
        .init(Init::Given(far));
    let single = diagonalize(&set, &settings).unwrap();
    let restarted = diagonalize(&set, &settings.n_restarts(2)).unwrap();
    assert!(single.status.is_converged() && restarted.status.is_converged());
    assert!(
        restarted.gradient_norm <= 1e-8,
        "{}",
        restarted.gradient_norm
    );
}

#[test]
fn rotations_converge_where_rounding_hides_the_change_of_the_loss() {
    for seed in 0..1500 {
        let set = noisy(5, 6, 1.0, seed);
        let result = diagonalize(&set, &Settings::default().orthogonal(true)).unwrap();
        assert!(
            result.status.is_converged(),
            "seed {seed}: {}",
            result.status
        );
    }
}
