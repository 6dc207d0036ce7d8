//! The Frobenius criterion over rotations, for matrices that need not be positive definite.

use std::ops::ControlFlow;

use codiag::backend::Chunk;
use codiag::cluster::{ClusterSet, Worker};
use codiag::synthetic::{amari_distance, indefinite};
use codiag::{
    Criterion, Diagonalization, Error, Evaluation, Hessian, Init, Matrix, MatrixSet, Memory,
    Method, OnDisk, Record, SetOptions, Settings, diagonalize, diagonalize_with,
};

use crate::on_disk::Npy;

const METHODS: [Method; 3] = [Method::Newton, Method::QuasiNewton, Method::Jacobi];

fn options() -> SetOptions {
    SetOptions::default().criterion(Criterion::Frobenius)
}

fn set(n: usize, p: usize, sigma: f64, seed: u64) -> MatrixSet {
    let (data, _) = indefinite(n, p, sigma, seed);
    MatrixSet::with_options(&data, n, p, &options()).unwrap()
}

fn solve(set: &MatrixSet, method: Method) -> Diagonalization {
    diagonalize(set, &Settings::default().method(method)).unwrap()
}

/// Matrices with most of their energy in a few linear combinations, like lagged covariances.
fn correlated(n: usize, p: usize, seed: u64) -> Vec<f64> {
    let (few, _) = indefinite(10, p, 0.3, seed);
    let (mut data, _) = indefinite(n, p, 1.0, seed + 1);
    for (i, matrix) in data.chunks_exact_mut(p * p).enumerate() {
        matrix.iter_mut().for_each(|x| *x *= 0.01);
        for (k, own) in few.chunks_exact(p * p).enumerate() {
            let factor = (0.1 * (i * (k + 1)) as f64).cos() / (k + 1) as f64;
            let pairs = matrix.iter_mut().zip(own);
            pairs.for_each(|(x, y)| *x += factor * y);
        }
    }
    data
}

/// exp(tE), by its series.
fn exponential(e: &Matrix, t: f64) -> Matrix {
    let p = e.rows();
    let mut power = Matrix::identity(p);
    let mut sum: Matrix = Matrix::identity(p);
    for k in 1..=24 {
        power = &power * e;
        power
            .as_mut_slice()
            .iter_mut()
            .for_each(|x| *x *= t / f64::from(k));
        for (x, y) in sum.as_mut_slice().iter_mut().zip(power.as_slice()) {
            *x += y;
        }
    }
    sum
}

fn antisymmetric(p: usize, seed: usize) -> Matrix {
    let number = |a: usize, b: usize| ((seed + a * 37 + b * 11) % 23) as f64 / 23.0 - 0.5;
    Matrix::from_fn(p, p, |a, b| number(a, b) - number(b, a))
}

#[test]
fn gradient_and_hessian_match_finite_differences_along_rotations() {
    let (n, p) = (12, 5);
    let set = set(n, p, 0.5, 3);
    let b = exponential(&antisymmetric(p, 5), 0.7);
    let e = antisymmetric(p, 2);
    let loss = |t: f64| {
        let here = Evaluation::at(&set, &(&exponential(&e, t) * &b)).unwrap();
        here.loss
    };
    // The loss is 1 − Σ d² / energy; `Hessian` holds the second derivatives of −¼ Σ d².
    let unit = 4.0 / set.constant();
    let here = Evaluation::at(&set, &b).unwrap();
    let h = 1e-4;
    let slope = (loss(h) - loss(-h)) / (2.0 * h);
    assert!((slope - here.gradient.dot(&e)).abs() < 1e-7);
    let curvature = (loss(h) - 2.0 * loss(0.0) + loss(-h)) / (h * h);
    let product = Hessian::at(&set, &b).unwrap().product(&e);
    // The second-order term of exp(tE) = I + tE + ½t²E² adds ⟨G, E²⟩.
    let retraction = here.gradient.dot(&(&e * &e));
    assert!((curvature - unit * e.dot(&product) - retraction).abs() < 1e-5);
}

#[test]
fn exact_sets_are_recovered() {
    for method in METHODS {
        let (data, q) = indefinite(30, 8, 0.0, 1);
        let set = MatrixSet::with_options(&data, 30, 8, &options()).unwrap();
        let result = solve(&set, method);
        assert!(result.status.is_converged(), "{method:?}");
        assert!(result.loss.abs() < 1e-12 && amari_distance(&result.b, &q.transpose()) < 1e-10);
        // Components are sorted by descending energy.
        let energy = |a: usize| -> f64 { (0..30).map(|i| result.powers[(i, a)].powi(2)).sum() };
        assert!((1..8).all(|a| energy(a - 1) >= energy(a)));
    }
}

#[test]
fn all_methods_reach_the_same_loss_and_stay_orthogonal() {
    for seed in 0..3 {
        let set = set(60, 12, 0.1, seed);
        let losses = METHODS.map(|method| {
            let result = solve(&set, method);
            assert!(result.status.is_converged(), "{method:?} {}", result.status);
            let gram = &result.b * &result.b.transpose();
            for a in 0..12 {
                for b in 0..12 {
                    let expected = f64::from(u8::from(a == b));
                    assert!((gram[(a, b)] - expected).abs() < 1e-12);
                }
            }
            let mean: f64 = result.residuals.iter().sum::<f64>() / 60.0;
            assert!((mean - result.loss).abs() < 1e-12);
            result.loss
        });
        for loss in losses {
            assert!((loss - losses[0]).abs() < 1e-9 && (0.0..1.0).contains(&loss));
        }
    }
}

#[test]
fn newton_converges_quadratically_on_noisy_sets() {
    // Small enough to be solved in double precision throughout.
    let set = set(100, 15, 0.6, 4);
    let settings = Settings::default().tol(1e-12);
    let result = diagonalize(&set, &settings).unwrap();
    assert!(result.status.is_converged());
    let norms: Vec<f64> = result.history.iter().map(|r| r.gradient_norm).collect();
    let last = norms.len() - 1;
    // Below 10⁻³, the order of convergence is at least 1.8.
    let start = norms.iter().position(|g| *g < 1e-3).unwrap();
    for k in start..last {
        assert!(
            norms[k + 1] < (1e2 * norms[k].powf(1.8)).max(1e-12),
            "{norms:?}"
        );
    }
}

#[test]
fn newton_starts_on_principal_combinations() {
    let (n, p) = (90, 16);
    for seed in 0..3 {
        let data = correlated(n, p, seed);
        let set = MatrixSet::with_options(&data, n, p, &options()).unwrap();
        let mut records = Vec::new();
        let mut observer = |record: &Record, _: &Matrix| {
            records.push(record.clone());
            ControlFlow::Continue(())
        };
        let settings = Settings::default().n_restarts(1);
        let result = diagonalize_with(&set, &settings, &mut observer).unwrap();
        assert!(result.status.is_converged());
        for start in 0..2 {
            let own = records.iter().filter(|record| record.start == start);
            let own: Vec<&Record> = own.collect();
            let sampled = own
                .iter()
                .take_while(|record| record.stage == codiag::Stage::Sample)
                .count();
            assert!(
                sampled > 1
                    && own[sampled..]
                        .iter()
                        .all(|record| record.stage != codiag::Stage::Sample)
            );
            // The full set is nearly solved by then.
            assert!(own[sampled].gradient_norm < 0.05, "{:?}", own[sampled]);
            assert!(own.len() - sampled <= 12, "{}", own.len() - sampled);
        }
        // Another method accepts the result as a minimum of the full set.
        let warm = Settings::default()
            .method(Method::QuasiNewton)
            .init(Init::Given(result.b.clone()))
            .tol(1e-7);
        assert_eq!(diagonalize(&set, &warm).unwrap().n_iter, 0);
    }
    // A solve from a given start begins on all matrices.
    let data = correlated(n, p, 0);
    let set = MatrixSet::with_options(&data, n, p, &options()).unwrap();
    let mut observer = |record: &Record, _: &Matrix| {
        assert!(record.stage != codiag::Stage::Sample);
        ControlFlow::Continue(())
    };
    let settings = Settings::default().init(Init::Identity);
    diagonalize_with(&set, &settings, &mut observer).unwrap();
}

#[test]
fn loss_is_invariant_under_units_and_rotations() {
    let (n, p) = (20, 6);
    let (data, _) = indefinite(n, p, 0.3, 2);
    let plain = MatrixSet::with_options(&data, n, p, &options()).unwrap();
    let expected = solve(&plain, Method::Newton);
    for unit in [1e-24, 1e12] {
        let scaled: Vec<f64> = data.iter().map(|x| unit * x).collect();
        let set = MatrixSet::with_options(&scaled, n, p, &options()).unwrap();
        let result = solve(&set, Method::Newton);
        assert!(result.status.is_converged());
        assert!((result.loss - expected.loss).abs() < 1e-11);
    }
    // The set Q C Qᵀ with the start B₀ Qᵀ has the same loss.
    let q = exponential(&antisymmetric(p, 9), 0.5);
    let set = MatrixSet::with_options(&plain.transform(&q), n, p, &options()).unwrap();
    let from = |start| Settings::default().init(start);
    let original = diagonalize(&plain, &from(Init::Identity)).unwrap();
    let rotated = diagonalize(&set, &from(Init::Given(q.transpose()))).unwrap();
    assert_eq!(rotated.status, original.status);
    assert!((rotated.loss - original.loss).abs() < 1e-10);
}

#[test]
fn singular_and_zero_matrices_are_accepted() {
    let (n, p) = (20, 6);
    let (mut more, _) = indefinite(n, p, 0.3, 2);
    more.extend([0.0; 36]);
    let mut singular = Matrix::zeros(p, p);
    singular[(0, 0)] = 1e-3;
    more.extend_from_slice(singular.as_slice());
    let set = MatrixSet::with_options(&more, n + 2, p, &options()).unwrap();
    assert!(solve(&set, Method::Newton).status.is_converged());
    let zeros = MatrixSet::with_options(&[0.0; 18], 2, 3, &options()).unwrap();
    let result = solve(&zeros, Method::Newton);
    assert!(result.status.is_converged() && result.loss == 0.0);
}

#[test]
fn disk_and_cluster_agree_with_memory() {
    let (n, p) = (300, 8);
    assert_backends_agree(&indefinite(n, p, 0.4, 5).0, n, p);
    // With a stage on principal combinations.
    assert_backends_agree(&correlated(n, 2 * p, 5), n, 2 * p);
}

fn assert_backends_agree(data: &[f64], n: usize, p: usize) {
    let mut silent = |_: &Record, _: &Matrix| ControlFlow::Continue(());
    let memory = MatrixSet::with_options(data, n, p, &options()).unwrap();
    let npy = Npy::double(data, n, p);
    for method in [Method::Newton, Method::QuasiNewton] {
        let settings = Settings::default().method(method);
        let expected = diagonalize(&memory, &settings).unwrap();
        let mut disk = OnDisk::new(npy.open(), Memory(8_000_000), &options()).unwrap();
        let from_disk =
            codiag::diagonalize_with_backend(&mut disk, &settings, &mut silent).unwrap();
        let workers = [0, 120].map(|first| {
            let end = if first == 0 { 120 } else { n };
            let own = &data[first * p * p..end * p * p];
            let chunk = Chunk::new(own, end - first, p, first, &options()).unwrap();
            Worker::of_chunks(vec![chunk], None, Some(1)).unwrap()
        });
        let descriptions: Vec<Vec<u8>> = workers.iter().map(Worker::describe).collect();
        let send = |request: &[u8]| workers.iter().map(|w| w.respond(request)).collect();
        let mut cluster = ClusterSet::new(&send, &descriptions, None).unwrap();
        let from_workers =
            codiag::diagonalize_with_backend(&mut cluster, &settings, &mut silent).unwrap();
        for result in [from_disk, from_workers] {
            assert_eq!(result.status, expected.status);
            assert!((result.loss - expected.loss).abs() < 1e-10);
            assert_eq!(result.residuals.len(), n);
        }
    }
}

#[test]
fn unsupported_methods_and_starts_are_errors() {
    let set = set(20, 4, 0.2, 1);
    let error = diagonalize(&set, &Settings::default().method(Method::Pham)).unwrap_err();
    let (criterion, method) = (Criterion::Frobenius, Method::Pham);
    assert_eq!(error, Error::Method { criterion, method });
    assert!(error.to_string().contains("Method::Jacobi"), "{error}");
    let likelihood = codiag::synthetic::noisy(20, 4, 0.1, 0);
    let jacobi = Settings::default().method(Method::Jacobi);
    assert!(diagonalize(&likelihood, &jacobi).is_err());
    let skewed = Init::Given(Matrix::diagonal(&[1.0, 2.0, 1.0, 1.0]));
    assert!(diagonalize(&set, &Settings::default().init(skewed)).is_err());
}

#[test]
fn starts_and_restarts_converge() {
    let set = set(20, 4, 0.2, 1);
    let result = solve(&set, Method::Newton);
    for start in [
        Init::Identity,
        Init::Whitener,
        Init::Given(result.b.clone()),
    ] {
        let warm = diagonalize(&set, &Settings::default().init(start)).unwrap();
        assert!(warm.status.is_converged() && warm.loss >= result.loss - 1e-9);
    }
    let several = diagonalize(&set, &Settings::default().n_restarts(2)).unwrap();
    assert!(several.start_losses.len() == 3 && several.loss <= result.loss + 1e-12);
}
