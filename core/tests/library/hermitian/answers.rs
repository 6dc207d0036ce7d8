//! What diagonalizations of Hermitian sets have in common with those of real ones.

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
fn a_real_set_given_as_complex_has_the_same_answer() {
    let (n, p) = (60, 8);
    let made = Synthetic::new(n, p, 0.1, 1);
    let real = made.set().unwrap();
    let set = MatrixSet::new(&complex(&made.data), n, p).unwrap();
    let b = Matrix::from_fn(p, p, |a, c| {
        number(a * p + c).re + f64::from(u8::from(a == c))
    });
    let here = Evaluation::at(&real, &b).unwrap();
    let b = Matrix::from_rows(p, p, complex(b.as_slice()));
    let there = Evaluation::at(&set, &b).unwrap();
    assert!((here.loss - there.loss).abs() < 1e-12);
    assert!((here.gradient.norm() - there.gradient.norm()).abs() < 1e-12 * here.gradient.norm());
    for method in METHODS {
        let settings = Settings::default().method(method).tol(1e-12);
        let expected = diagonalize(&real, &settings).unwrap();
        let answer = diagonalize(&set, &settings).unwrap();
        assert!((answer.loss - expected.loss).abs() < 1e-11, "{method:?}");
        let b = Matrix::from_rows(p, p, complex(expected.b.as_slice()));
        assert!(
            distance(&answer.b, &b) < 1e-9 * expected.b.norm(),
            "{method:?}"
        );
        assert!(
            distance(&answer.powers, &expected.powers) < 1e-8,
            "{method:?}"
        );
    }
    let rotations = Settings::default().orthogonal(true).tol(1e-11);
    let expected = diagonalize(&real, &rotations).unwrap();
    let answer = diagonalize(&set, &rotations).unwrap();
    assert!((answer.loss - expected.loss).abs() < 1e-11);
}

#[test]
fn exact_sets_are_recovered_by_every_method() {
    for (n, p) in [(30, 5), (60, 12)] {
        let made = Synthetic::complex(n, p, 0.0, 2);
        let set = made.set().unwrap();
        for method in METHODS {
            let settings = Settings::default().method(method).tol(1e-13);
            let answer = diagonalize(&set, &settings).unwrap();
            let distance = amari_distance(&answer.b, &made.mixing);
            assert!(distance < 1e-10, "{method:?} p {p}: {distance:e}");
            assert!(answer.loss.abs() < 1e-11);
        }
    }
}

#[test]
fn all_methods_reach_one_loss_on_noisy_sets() {
    let set = hermitian(100, 6, 0.1, 5);
    let newton = solve(&set, Method::Newton);
    for method in METHODS {
        let answer = solve(&set, method);
        assert!(answer.status.is_converged(), "{method:?}");
        assert!((answer.loss - newton.loss).abs() < 1e-10, "{method:?}");
        assert!(
            distance(&answer.b, &newton.b) < 1e-6 * newton.b.norm(),
            "{method:?}"
        );
    }
    // Dividing by ω instead of ω − 1 takes many times the sweeps.
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
        // Once it is small, each ĝ is about the square of the one before it, until rounding.
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
fn answers_are_equivariant_and_canonical() {
    let made = Synthetic::complex(40, 5, 0.1, 3);
    let answer = solve(&made.set().unwrap(), Method::Newton);
    let t = near_identity(5, 0.6);
    let there = solve(&transformed(&made, &t), Method::Newton);
    assert!((answer.loss - there.loss).abs() < 1e-11);
    assert!(distance(&answer.powers, &there.powers) < 1e-7);
    // B T⁻¹, up to the phases that make the patterns canonical: those of T A.
    let patterns = &t * &answer.a;
    assert!(amari_distance(&there.b, &patterns) < 1e-8);
    for a in [&answer.a, &there.a] {
        for k in 0..5 {
            let column: Vec<c64> = (0..5).map(|c| a[(c, k)]).collect();
            let largest = column.iter().max_by(|x, y| x.norm().total_cmp(&y.norm()));
            let largest = largest.unwrap();
            assert!(largest.im == 0.0 && largest.re > 0.0);
        }
    }
    let identity = Matrix::<c64>::identity(5);
    assert!(distance(&(&answer.b * &answer.a), &identity) < 1e-12);
    // Unit mean powers, which are the diagonals of B C Bᴴ.
    let set = made.set().unwrap();
    let d = answer.transform(&set);
    for (i, matrix) in d.chunks_exact(25).enumerate() {
        for a in 0..5 {
            assert!((matrix[a * 6] - answer.powers[(i, a)]).norm() < 1e-12);
        }
    }
}

#[test]
fn phases_and_scales_of_a_start_change_nothing() {
    let set = hermitian(40, 5, 0.2, 3);
    let expected = solve(&set, Method::Newton);
    let b = Matrix::from_fn(5, 5, |a, c| number(a + 1) * expected.b[(a, c)]);
    let settings = Settings::default().init(Init::given(&b));
    let answer = diagonalize(&set, &settings).unwrap();
    assert_eq!(answer.n_iter, 0);
    assert!(distance(&answer.b, &expected.b) < 1e-12 * expected.b.norm());
}

#[test]
fn unitary_answers_stay_unitary() {
    let set = hermitian(50, 7, 0.1, 9);
    let mut losses = Vec::new();
    for method in [Method::Newton, Method::QuasiNewton] {
        let settings = Settings::default().method(method).orthogonal(true);
        let answer = diagonalize(&set, &settings).unwrap();
        assert!(answer.status.is_converged(), "{method:?}");
        let gram = &answer.b * &answer.b.adjoint();
        assert!(distance(&gram, &Matrix::identity(7)) < 1e-12);
        losses.push(answer.loss);
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
            let answer = diagonalize(&set, &Settings::default().method(method)).unwrap();
            assert!(answer.status.is_converged(), "{method:?}");
            let gram = &answer.b * &answer.b.adjoint();
            assert!(distance(&gram, &Matrix::identity(p)) < 1e-12);
            if sigma == 0.0 {
                assert!(amari_distance(&answer.b, &q.adjoint()) < 1e-8, "{method:?}");
            }
            losses.push(answer.loss);
        }
        assert!(losses.iter().all(|loss| (loss - losses[0]).abs() < 1e-10));
    }
}

#[test]
fn every_start_reaches_the_answer() {
    let set = hermitian(60, 6, 0.1, 8);
    let expected = solve(&set, Method::Newton).loss;
    for start in [
        Init::Whitener,
        Init::Identity,
        Init::Given(Matrix::identity(6)),
        Init::GivenComplex(near_identity(6, 0.2)),
    ] {
        let answer = diagonalize(&set, &Settings::default().init(start.clone())).unwrap();
        assert!(answer.status.is_converged(), "{start:?}");
        assert!((answer.loss - expected).abs() < 1e-9, "{start:?}");
    }
    let answer = diagonalize(&set, &Settings::default().n_restarts(2)).unwrap();
    assert_eq!(answer.start_losses.len(), 3);
    let rotations = Settings::default().orthogonal(true).n_restarts(1);
    assert_eq!(diagonalize(&set, &rotations).unwrap().start_losses.len(), 2);
}

#[test]
fn rank_weights_and_shrinkage_work_on_complex_sets() {
    // Channel 3 is i times channel 0 plus channel 1.
    let made = Synthetic::complex(40, 3, 0.2, 6);
    let mut lift = Matrix::zeros(4, 3);
    (0..3).for_each(|a| lift[(a, a)] = c64::ONE);
    (lift[(3, 0)], lift[(3, 1)]) = (c64::I, c64::ONE);
    let mut data = Vec::new();
    for matrix in made.data.chunks_exact(9) {
        let c = Matrix::from_rows(3, 3, matrix.to_vec());
        data.extend((&(&lift * &c) * &lift.adjoint()).into_vec());
    }
    let weights: Vec<f64> = (0..40).map(|i| 1.0 + f64::from(i % 3)).collect();
    let plain = SetOptions::default().weights(weights);
    assert!(MatrixSet::with_options(&data, 40, 4, &plain).is_err());
    let reduced = plain.clone().n_components(Rank::Auto);
    let set = MatrixSet::with_options(&data, 40, 4, &reduced).unwrap();
    assert_eq!((set.channels(), set.dimension()), (4, 3));
    let answer = solve(&set, Method::Newton);
    assert_eq!((answer.b.rows(), answer.b.columns()), (3, 4));
    assert!(distance(&(&answer.b * &answer.a), &Matrix::identity(3)) < 1e-11);
    let whole = MatrixSet::with_options(&made.data, 40, 3, &plain).unwrap();
    let expected = solve(&whole, Method::Newton);
    assert!((answer.loss - expected.loss).abs() < 1e-10);
    assert!(amari_distance(&answer.b, &(&lift * &expected.a)) < 1e-7);
    // Its own answer is a start in the channels of the input.
    let again = Settings::default().init(Init::given(&answer.b));
    assert_eq!(diagonalize(&set, &again).unwrap().n_iter, 0);
    let shrunk = MatrixSet::with_options(&data, 40, 4, &plain.shrinkage(0.1)).unwrap();
    let c = shrunk.matrix(3);
    let trace: f64 = (0..4).map(|a| data[3 * 16 + a * 5].re).sum();
    assert!((c[(1, 1)] - (data[3 * 16 + 5] * 0.9 + 0.1 * trace / 4.0)).norm() < 1e-12);
    assert!((c[(3, 1)] - data[3 * 16 + 13] * 0.9).norm() < 1e-12);
}

#[test]
fn threads_change_no_bit_and_samples_lead_to_the_same_loss() {
    // Large enough for several groups of blocks and for a stage on a sample.
    let made = Synthetic::complex(2400, 8, 0.3, 1);
    let solve = |threads: usize| {
        let set = made.set().unwrap().with_n_jobs(threads);
        let mut samples = 0;
        let mut observer = |record: &Record, _: &Matrix<c64>| {
            samples += usize::from(record.stage == codiag::Stage::Sample);
            ControlFlow::Continue(())
        };
        let answer = diagonalize_with(&set, &Settings::default(), &mut observer).unwrap();
        (answer, samples)
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
    let answer = diagonalize_with(&set, &Settings::default(), &mut observer).unwrap();
    assert_eq!(answer.status, Status::Interrupted);
    let last = checkpoint.last().unwrap();
    let again = Settings::default().init(Init::given(&last));
    assert!(diagonalize(&set, &again).unwrap().status.is_converged());
}

#[test]
fn without_room_for_the_hessian_passes_lead_to_the_same_answer() {
    let set = hermitian(40, 6, 0.1, 2);
    let expected = solve(&set, Method::Newton);
    let settings = Settings::default().hessian_memory(0).tol(1e-9);
    let answer = diagonalize(&set, &settings).unwrap();
    assert!((answer.loss - expected.loss).abs() < 1e-11);
    assert!(distance(&answer.b, &expected.b) < 1e-7 * expected.b.norm());
}

#[test]
fn a_real_start_serves_a_complex_set_but_not_the_reverse() {
    let start = Init::given(&near_identity(3, 0.1));
    let settings = Settings::default().init(start);
    let error = diagonalize(&noisy(20, 3, 0.1, 0), &settings).unwrap_err();
    let words = "B must be real, as the matrices are, but it is complex";
    assert_eq!(error.to_string(), words);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn newton_converges_on_random_sets(n in 1_usize..40, p in 1_usize..20, seed in any::<u64>()) {
        let set = hermitian(n, p, 1.0, seed);
        let answer = diagonalize(&set, &Settings::default()).unwrap();
        prop_assert_eq!(answer.status, Status::Converged, "ĝ {:e}", answer.gradient_norm);
        prop_assert!(answer.loss >= -1e-9);
        prop_assert!(answer.loss <= answer.history[0].loss + 1e-9);
        let here = Evaluation::at(&set, &answer.b).unwrap();
        prop_assert!((here.loss - answer.loss).abs() < 1e-9 * (1.0 + answer.loss));
        prop_assert!(here.gradient.norm() / (p as f64).sqrt() < 1e-7);
        let mean = answer.residuals.iter().sum::<f64>() / n as f64;
        prop_assert!((mean - answer.loss).abs() < 1e-9 * (1.0 + answer.loss));
    }

    #[test]
    fn the_other_methods_decrease_the_loss(n in 1_usize..40, p in 1_usize..20, seed in any::<u64>()) {
        let set = hermitian(n, p, 1.0, seed);
        for method in [Method::QuasiNewton, Method::Pham] {
            let settings = Settings::default().method(method).max_iter(5);
            let answer = diagonalize(&set, &settings).unwrap();
            for pair in answer.history.windows(2) {
                prop_assert!(pair[1].loss <= pair[0].loss + 1e-9);
            }
            prop_assert!(answer.b.is_finite() && answer.a.is_finite());
        }
    }
}
