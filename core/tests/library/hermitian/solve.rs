//! Solves of Hermitian sets: properties that they share with real ones.

use std::ops::ControlFlow;

use codiag::synthetic::{Synthetic, amari_distance, hermitian, indefinite_complex, noisy};
use codiag::{
    Checkpoint, Criterion, Diagonalization, Evaluation, Init, Matrix, MatrixSet, Method, Rank,
    Record, SetOptions, Settings, Status, c64, diagonalize, diagonalize_with,
};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::{distance, near_identity, number, transformed};

const METHODS: [Method; 3] = [Method::Newton, Method::QuasiNewton, Method::Pham];

fn solve(set: &MatrixSet<c64>, method: Method) -> Diagonalization<c64> {
    diagonalize(set, &Settings::default().method(method).tol(1e-9)).unwrap()
}

fn complex(data: &[f64]) -> Vec<c64> {
    data.iter().map(|x| c64::new(*x, 0.0)).collect()
}

#[test]
fn real_set_stored_as_complex_gives_the_real_result() {
    let (n, p) = (60, 8);
    let generated = Synthetic::new(n, p, 0.1, 1);
    let real = generated.set().unwrap();
    let set = MatrixSet::new(&complex(&generated.data), n, p).unwrap();
    let b = Matrix::from_fn(p, p, |a, c| {
        number(a * p + c).re + f64::from(u8::from(a == c))
    });
    let expected = Evaluation::at(&real, &b).unwrap();
    let b = Matrix::from_rows(p, p, complex(b.as_slice()));
    let found = Evaluation::at(&set, &b).unwrap();
    assert!((expected.loss - found.loss).abs() < 1e-12);
    let norm = expected.gradient.norm();
    assert!((norm - found.gradient.norm()).abs() < 1e-12 * norm);
    for method in METHODS {
        let settings = Settings::default().method(method).tol(1e-12);
        let expected = diagonalize(&real, &settings).unwrap();
        let result = diagonalize(&set, &settings).unwrap();
        assert!((result.loss - expected.loss).abs() < 1e-11, "{method:?}");
        let b = Matrix::from_rows(p, p, complex(expected.b.as_slice()));
        assert!(
            distance(&result.b, &b) < 1e-9 * expected.b.norm(),
            "{method:?}"
        );
        assert!(
            distance(&result.powers, &expected.powers) < 1e-8,
            "{method:?}"
        );
    }
    let rotations = Settings::default().orthogonal(true).tol(1e-11);
    let expected = diagonalize(&real, &rotations).unwrap();
    let result = diagonalize(&set, &rotations).unwrap();
    assert!((result.loss - expected.loss).abs() < 1e-11);
}

#[test]
fn exact_sets_are_recovered_by_every_method() {
    for (n, p) in [(30, 5), (60, 12)] {
        let generated = Synthetic::complex(n, p, 0.0, 2);
        let set = generated.set().unwrap();
        for method in METHODS {
            let settings = Settings::default().method(method).tol(1e-13);
            let result = diagonalize(&set, &settings).unwrap();
            let distance = amari_distance(&result.b, &generated.mixing);
            assert!(distance < 1e-10, "{method:?} p {p}: {distance:e}");
            assert!(result.loss.abs() < 1e-11);
        }
    }
}

#[test]
fn all_methods_reach_the_same_loss_on_noisy_sets() {
    let set = hermitian(100, 6, 0.1, 5);
    let newton = solve(&set, Method::Newton);
    for method in METHODS {
        let result = solve(&set, method);
        assert!(result.status.is_converged(), "{method:?}");
        assert!((result.loss - newton.loss).abs() < 1e-10, "{method:?}");
        assert!(
            distance(&result.b, &newton.b) < 1e-6 * newton.b.norm(),
            "{method:?}"
        );
    }
    // Pham's update divides by ω − 1; dividing by ω takes many times more sweeps.
    let sweeps = solve(&hermitian(100, 5, 0.1, 0), Method::Pham).n_iter;
    assert!(sweeps < 40, "{sweeps}");
}

#[test]
fn newton_converges_quadratically_on_noisy_sets() {
    for seed in 0..5 {
        let set = hermitian(60, 10, 0.1, seed);
        let settings = Settings::default().tol(1e-13);
        let history = diagonalize(&set, &settings).unwrap().history;
        let norms: Vec<f64> = history.iter().map(|record| record.gradient_norm).collect();
        // Near the minimum, each ĝ is about the square of the previous one, down to rounding.
        let last = norms
            .windows(2)
            .filter(|pair| pair[0] < 1e-3 && pair[0] > 1e-7);
        assert!(last.clone().count() >= 1);
        for pair in last {
            assert!(
                pair[1] < 500.0 * pair[0].powi(2) + 1e-12,
                "seed {seed}: {norms:?}"
            );
        }
    }
}

#[test]
fn results_are_equivariant_and_canonical() {
    let generated = Synthetic::complex(40, 5, 0.1, 3);
    let result = solve(&generated.set().unwrap(), Method::Newton);
    let t = near_identity(5, 0.6);
    let other = solve(&transformed(&generated, &t), Method::Newton);
    assert!((result.loss - other.loss).abs() < 1e-11);
    assert!(distance(&result.powers, &other.powers) < 1e-7);
    // The filters become B T⁻¹ and the patterns T A, up to the phases of the canonical form.
    let patterns = &t * &result.a;
    assert!(amari_distance(&other.b, &patterns) < 1e-8);
    for a in [&result.a, &other.a] {
        for k in 0..5 {
            let column: Vec<c64> = (0..5).map(|c| a[(c, k)]).collect();
            let largest = column.iter().max_by(|x, y| x.norm().total_cmp(&y.norm()));
            let largest = largest.unwrap();
            assert!(largest.im == 0.0 && largest.re > 0.0);
        }
    }
    let identity = Matrix::<c64>::identity(5);
    assert!(distance(&(&result.b * &result.a), &identity) < 1e-12);
    // Powers are the diagonals of B Cⁱ Bᴴ.
    let set = generated.set().unwrap();
    let d = result.transform(&set);
    for (i, matrix) in d.chunks_exact(25).enumerate() {
        for a in 0..5 {
            assert!((matrix[a * 6] - result.powers[(i, a)]).norm() < 1e-12);
        }
    }
}

#[test]
fn phases_and_scales_of_a_start_do_not_matter() {
    let set = hermitian(40, 5, 0.2, 3);
    let expected = solve(&set, Method::Newton);
    let b = Matrix::from_fn(5, 5, |a, c| number(a + 1) * expected.b[(a, c)]);
    let settings = Settings::default().init(Init::given(&b));
    let result = diagonalize(&set, &settings).unwrap();
    assert_eq!(result.n_iter, 0);
    assert!(distance(&result.b, &expected.b) < 1e-12 * expected.b.norm());
}

#[test]
fn orthogonal_solves_return_unitary_b() {
    let set = hermitian(50, 7, 0.1, 9);
    let mut losses = Vec::new();
    for method in [Method::Newton, Method::QuasiNewton] {
        let settings = Settings::default().method(method).orthogonal(true);
        let result = diagonalize(&set, &settings).unwrap();
        assert!(result.status.is_converged(), "{method:?}");
        let gram = &result.b * &result.b.adjoint();
        assert!(distance(&gram, &Matrix::identity(7)) < 1e-12);
        losses.push(result.loss);
    }
    assert!((losses[0] - losses[1]).abs() < 1e-9);
}

#[test]
fn frobenius_methods_agree_and_recover_exact_sets() {
    let options = SetOptions::default().criterion(Criterion::Frobenius);
    for (sigma, p) in [(0.0, 6), (0.1, 6)] {
        let (data, q) = indefinite_complex(40, p, sigma, 4);
        let set = MatrixSet::with_options(&data, 40, p, &options).unwrap();
        let mut losses = Vec::new();
        for method in [Method::Newton, Method::QuasiNewton, Method::Jacobi] {
            let result = diagonalize(&set, &Settings::default().method(method)).unwrap();
            assert!(result.status.is_converged(), "{method:?}");
            let gram = &result.b * &result.b.adjoint();
            assert!(distance(&gram, &Matrix::identity(p)) < 1e-12);
            if sigma == 0.0 {
                assert!(amari_distance(&result.b, &q.adjoint()) < 1e-8, "{method:?}");
            }
            losses.push(result.loss);
        }
        assert!(losses.iter().all(|loss| (loss - losses[0]).abs() < 1e-10));
    }
}

#[test]
fn all_starts_reach_the_same_loss() {
    let set = hermitian(60, 6, 0.1, 8);
    let expected = solve(&set, Method::Newton).loss;
    for start in [
        Init::Whitener,
        Init::Identity,
        Init::Given(Matrix::identity(6)),
        Init::GivenComplex(near_identity(6, 0.2)),
    ] {
        let result = diagonalize(&set, &Settings::default().init(start.clone())).unwrap();
        assert!(result.status.is_converged(), "{start:?}");
        assert!((result.loss - expected).abs() < 1e-9, "{start:?}");
    }
    let result = diagonalize(&set, &Settings::default().n_restarts(2)).unwrap();
    assert_eq!(result.start_losses.len(), 3);
    let rotations = Settings::default().orthogonal(true).n_restarts(1);
    assert_eq!(diagonalize(&set, &rotations).unwrap().start_losses.len(), 2);
}

#[test]
fn rank_weights_and_shrinkage_work_on_complex_sets() {
    // Channel 3 is i times channel 0 plus channel 1.
    let generated = Synthetic::complex(40, 3, 0.2, 6);
    let mut embedding = Matrix::zeros(4, 3);
    (0..3).for_each(|a| embedding[(a, a)] = c64::ONE);
    (embedding[(3, 0)], embedding[(3, 1)]) = (c64::I, c64::ONE);
    let mut data = Vec::new();
    for matrix in generated.data.chunks_exact(9) {
        let c = Matrix::from_rows(3, 3, matrix.to_vec());
        data.extend((&(&embedding * &c) * &embedding.adjoint()).into_vec());
    }
    let weights: Vec<f64> = (0..40).map(|i| 1.0 + f64::from(i % 3)).collect();
    let plain = SetOptions::default().weights(weights);
    assert!(MatrixSet::with_options(&data, 40, 4, &plain).is_err());
    let reduced = plain.clone().n_components(Rank::Auto);
    let set = MatrixSet::with_options(&data, 40, 4, &reduced).unwrap();
    assert_eq!((set.channels(), set.dimension()), (4, 3));
    let result = solve(&set, Method::Newton);
    assert_eq!((result.b.rows(), result.b.columns()), (3, 4));
    assert!(distance(&(&result.b * &result.a), &Matrix::identity(3)) < 1e-11);
    let full_rank = MatrixSet::with_options(&generated.data, 40, 3, &plain).unwrap();
    let expected = solve(&full_rank, Method::Newton);
    assert!((result.loss - expected.loss).abs() < 1e-10);
    assert!(amari_distance(&result.b, &(&embedding * &expected.a)) < 1e-7);
    // The result is accepted as a start, in channel coordinates.
    let warm = Settings::default().init(Init::given(&result.b));
    assert_eq!(diagonalize(&set, &warm).unwrap().n_iter, 0);
    let shrunk = MatrixSet::with_options(&data, 40, 4, &plain.shrinkage(0.1)).unwrap();
    let c = shrunk.matrix(3);
    let trace: f64 = (0..4).map(|a| data[3 * 16 + a * 5].re).sum();
    assert!((c[(1, 1)] - (data[3 * 16 + 5] * 0.9 + 0.1 * trace / 4.0)).norm() < 1e-12);
    assert!((c[(3, 1)] - data[3 * 16 + 13] * 0.9).norm() < 1e-12);
}

#[test]
fn results_with_a_sample_stage_are_bitwise_equal_for_all_thread_counts() {
    // Large enough for several groups of blocks and for a sample stage.
    let generated = Synthetic::complex(2400, 8, 0.3, 1);
    let solve = |threads: usize| {
        let set = generated.set().unwrap().with_n_jobs(threads);
        let mut samples = 0;
        let mut observer = |record: &Record, _: &Matrix<c64>| {
            samples += usize::from(record.stage == codiag::Stage::Sample);
            ControlFlow::Continue(())
        };
        let result = diagonalize_with(&set, &Settings::default(), &mut observer).unwrap();
        (result, samples)
    };
    let (one, samples) = solve(1);
    let (many, _) = solve(3);
    assert!(samples > 0 && one.status.is_converged());
    assert_eq!(one.b, many.b);
    assert_eq!(one.loss.to_bits(), many.loss.to_bits());
}

#[test]
fn observers_see_complex_matrices_and_can_stop() {
    let set = hermitian(50, 6, 0.3, 0);
    let mut checkpoint = Checkpoint::new(std::time::Duration::from_secs(3600));
    let mut observer = |record: &Record, b: &Matrix<c64>| {
        checkpoint.update(record, b);
        if record.iteration == 1 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let result = diagonalize_with(&set, &Settings::default(), &mut observer).unwrap();
    assert_eq!(result.status, Status::Interrupted);
    let last = checkpoint.last().unwrap();
    let warm = Settings::default().init(Init::given(&last));
    assert!(diagonalize(&set, &warm).unwrap().status.is_converged());
}

#[test]
fn hessian_products_by_data_passes_lead_to_the_same_result() {
    let set = hermitian(40, 6, 0.1, 2);
    let expected = solve(&set, Method::Newton);
    let settings = Settings::default().hessian_memory(0).tol(1e-9);
    let result = diagonalize(&set, &settings).unwrap();
    assert!((result.loss - expected.loss).abs() < 1e-11);
    assert!(distance(&result.b, &expected.b) < 1e-7 * expected.b.norm());
}

#[test]
fn complex_start_of_a_real_set_is_an_error() {
    let start = Init::given(&near_identity(3, 0.1));
    let settings = Settings::default().init(start);
    let error = diagonalize(&noisy(20, 3, 0.1, 0), &settings).unwrap_err();
    let message = "B must be real, as the matrices are, but it is complex";
    assert_eq!(error.to_string(), message);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn newton_converges_on_random_sets(n in 1_usize..40, p in 1_usize..20, seed in any::<u64>()) {
        let set = hermitian(n, p, 1.0, seed);
        let result = diagonalize(&set, &Settings::default()).unwrap();
        prop_assert_eq!(result.status, Status::Converged, "ĝ {:e}", result.gradient_norm);
        prop_assert!(result.loss >= -1e-9);
        prop_assert!(result.loss <= result.history[0].loss + 1e-9);
        let here = Evaluation::at(&set, &result.b).unwrap();
        prop_assert!((here.loss - result.loss).abs() < 1e-9 * (1.0 + result.loss));
        prop_assert!(here.gradient.norm() / (p as f64).sqrt() < 1e-7);
        let mean = result.residuals.iter().sum::<f64>() / n as f64;
        prop_assert!((mean - result.loss).abs() < 1e-9 * (1.0 + result.loss));
    }

    #[test]
    fn other_methods_decrease_the_loss(n in 1_usize..40, p in 1_usize..20, seed in any::<u64>()) {
        let set = hermitian(n, p, 1.0, seed);
        for method in [Method::QuasiNewton, Method::Pham] {
            let settings = Settings::default().method(method).max_iter(5);
            let result = diagonalize(&set, &settings).unwrap();
            for pair in result.history.windows(2) {
                prop_assert!(pair[1].loss <= pair[0].loss + 1e-9);
            }
            prop_assert!(result.b.is_finite() && result.a.is_finite());
        }
    }
}
