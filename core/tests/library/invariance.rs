//! Invariance of results under units, transforms, order, weights, threads and ways of construction.

use std::ops::ControlFlow;

use codiag::synthetic::{Synthetic, noisy};
use codiag::{
    Criterion, Diagonalization, Error, Evaluation, Init, Matrix, MatrixSet, Method, Rank, Record,
    SetOptions, Settings, Status, diagonalize, diagonalize_with,
};

fn solve(set: &MatrixSet) -> Diagonalization {
    let result = diagonalize(set, &Settings::default()).unwrap();
    assert_eq!(result.status, Status::Converged);
    result
}

fn largest_difference(x: &Matrix, y: &Matrix) -> f64 {
    let pairs = x.as_slice().iter().zip(y.as_slice());
    pairs.map(|(x, y)| (x - y).abs()).fold(0.0, f64::max)
}

fn product(x: &Matrix, y: &Matrix) -> Matrix {
    Matrix::from_fn(x.rows(), y.columns(), |a, b| {
        (0..x.columns()).map(|k| x[(a, k)] * y[(k, b)]).sum()
    })
}

/// The matrices T Cⁱ Tᵀ.
fn transformed(generated: &Synthetic, t: &Matrix) -> Vec<f64> {
    let p = generated.p;
    generated
        .data
        .chunks_exact(p * p)
        .flat_map(|c| {
            let c = Matrix::from_rows(p, p, c.to_vec());
            product(&product(t, &c), &t.transpose()).into_vec()
        })
        .collect()
}

#[test]
fn units_only_rescale_b() {
    let generated = Synthetic::new(60, 10, 0.1, 3);
    let reference = solve(&generated.set().unwrap());
    for scale in [1e-24, 1e12] {
        let data: Vec<f64> = generated.data.iter().map(|x| x * scale).collect();
        let result = solve(&MatrixSet::new(&data, 60, 10).unwrap());
        assert!((result.loss - reference.loss).abs() < 1e-10);
        let rescaled = Matrix::from_fn(10, 10, |a, b| result.b[(a, b)] * scale.sqrt());
        assert!(largest_difference(&rescaled, &reference.b) < 1e-6);
    }
}

#[test]
fn channel_units_only_rescale_columns_of_b() {
    let generated = Synthetic::new(60, 10, 0.1, 3);
    let reference = solve(&generated.set().unwrap());
    let units: Vec<f64> = (0..10)
        .map(|c| if c % 2 == 0 { 1e6 } else { 1.0 })
        .collect();
    let data = transformed(&generated, &Matrix::diagonal(&units));
    let result = solve(&MatrixSet::new(&data, 60, 10).unwrap());
    assert!((result.loss - reference.loss).abs() < 1e-9);
    // Rows agree up to sign, which depends on the largest entry of each pattern.
    let rescaled = Matrix::from_fn(10, 10, |a, c| result.b[(a, c)] * units[c]);
    for a in 0..10 {
        let sign = if rescaled[(a, 0)] * reference.b[(a, 0)] < 0.0 {
            -1.0
        } else {
            1.0
        };
        for c in 0..10 {
            assert!((sign * rescaled[(a, c)] - reference.b[(a, c)]).abs() < 1e-6);
        }
    }
}

#[test]
fn invertible_transform_of_the_set_is_undone_by_b() {
    let generated = Synthetic::new(40, 7, 0.1, 2);
    let t = Matrix::from_fn(7, 7, |a, b| {
        0.2 * ((a * 5 + b * 3) % 7) as f64 + 2.0 * f64::from(u8::from(a == b))
    });
    let moved = MatrixSet::new(&transformed(&generated, &t), 40, 7).unwrap();
    for &method in Criterion::Likelihood.methods() {
        let settings = |start| {
            Settings::default()
                .method(method)
                .init(Init::Given(start))
                .tol(1e-10)
                .canonical(false)
        };
        // The set T C Tᵀ with the start B₀ T⁻¹ leads to B T⁻¹; here B₀ = T.
        let first = diagonalize(&moved, &settings(Matrix::identity(7))).unwrap();
        let second = diagonalize(&generated.set().unwrap(), &settings(t.clone())).unwrap();
        assert_eq!(first.status, second.status, "{method:?}");
        assert!((first.loss - second.loss).abs() < 1e-11, "{method:?}");
        let difference = largest_difference(&product(&first.b, &t), &second.b);
        assert!(difference < 1e-7, "{method:?}: {difference:e}");
    }
}

#[test]
fn result_is_invariant_under_order_duplication_and_equivalent_weights() {
    let generated = Synthetic::new(30, 6, 0.1, 9);
    let reference = solve(&generated.set().unwrap());
    let matrices: Vec<&[f64]> = generated.data.chunks_exact(36).collect();

    let reversed: Vec<&[f64]> = matrices.iter().rev().copied().collect();
    let twice: Vec<&[f64]> = matrices.iter().chain(&matrices).copied().collect();
    for order in [&reversed, &twice] {
        let set = MatrixSet::from_matrices(6, order, &SetOptions::default()).unwrap();
        let result = solve(&set);
        assert!((result.loss - reference.loss).abs() < 1e-11);
        assert!(largest_difference(&result.b, &reference.b) < 1e-6);
    }

    // Weight 2 is equivalent to a duplicate matrix.
    let repeated: Vec<&[f64]> = matrices.iter().chain(&matrices[..1]).copied().collect();
    let set = MatrixSet::from_matrices(6, &repeated, &SetOptions::default()).unwrap();
    let mut weights = vec![1.0; 30];
    weights[0] = 2.0;
    let options = SetOptions::default().weights(Some(weights));
    let weighted = MatrixSet::from_matrices(6, &matrices, &options).unwrap();
    let (first, second) = (solve(&set), solve(&weighted));
    assert!((first.loss - second.loss).abs() < 1e-11);
    assert!(largest_difference(&first.b, &second.b) < 1e-6);

    // Weight 0 is equivalent to leaving the matrix out.
    let mut weights = vec![1.0; 30];
    weights[4] = 0.0;
    let options = SetOptions::default().weights(Some(weights));
    let weighted = MatrixSet::from_matrices(6, &matrices, &options).unwrap();
    let without: Vec<&[f64]> = [&matrices[..4], &matrices[5..]].concat();
    let set = MatrixSet::from_matrices(6, &without, &SetOptions::default()).unwrap();
    let (first, second) = (solve(&set), solve(&weighted));
    assert!((first.loss - second.loss).abs() < 1e-11);
    assert!(largest_difference(&first.b, &second.b) < 1e-6);
}

#[test]
fn results_are_bitwise_equal_for_all_thread_counts() {
    let set = noisy(700, 20, 0.2, 0);
    for &method in Criterion::Likelihood.methods() {
        let run = |threads| {
            let settings = Settings::default().method(method).max_iter(40);
            let set = set.clone().with_n_jobs(threads);
            let result = diagonalize(&set, &settings).unwrap();
            (
                result.b,
                result.loss.to_bits(),
                result.gradient_norm.to_bits(),
            )
        };
        let one = run(1);
        for threads in [2, 3, 8] {
            assert_eq!(run(threads), one, "{method:?} on {threads} threads");
        }
    }
}

#[test]
fn all_constructors_build_the_same_set() {
    let generated = Synthetic::new(150, 5, 0.2, 0);
    let options = SetOptions::default();
    let slice = solve(&generated.set().unwrap());
    let matrices = generated.data.chunks_exact(25).map(<[f64]>::to_vec);
    let iterator = solve(&MatrixSet::from_matrices(5, matrices, &options).unwrap());
    let threaded = SetOptions::default().n_jobs(Some(2));
    let parallel = solve(&MatrixSet::with_options(&generated.data, 150, 5, &threaded).unwrap());
    assert_eq!(slice.b, iterator.b);
    assert_eq!(slice.b, parallel.b);
    let wrong_length = [
        &generated.data[..25],
        &generated.data[..25],
        &generated.data[..20],
    ];
    assert_eq!(
        MatrixSet::from_matrices(5, wrong_length, &options).unwrap_err(),
        Error::MatrixLength {
            matrix: 2,
            size: 5,
            actual: 20
        }
    );
    // Shapes beyond the address space.
    let huge = 1 << 32;
    for error in [
        MatrixSet::<f64>::new(&[], huge, huge).unwrap_err(),
        MatrixSet::from_matrices(huge, [[1.0]], &options).unwrap_err(),
    ] {
        assert!(matches!(error, Error::TooLarge { .. }), "{error}");
    }
}

/// The units of the channels differ by up to twelve orders of magnitude. The recorded losses are
/// those of B, and the loss at the minimum does not depend on the units, for starts that mix the
/// channels and for starts that do not.
#[test]
fn reported_loss_matches_b_for_badly_scaled_channels() {
    let (n, p) = (40, 6);
    let generated = Synthetic::new(n, p, 0.1, 3);
    let reference = solve(&generated.set().unwrap());
    let unit = |c: usize| 10.0_f64.powi([6, -6, 0, 3, -2, 5][c]);
    let units: Vec<f64> = (0..p).map(unit).collect();
    let set = MatrixSet::new(&transformed(&generated, &Matrix::diagonal(&units)), n, p).unwrap();
    // An even mixture of these channels would lose all but the strongest to rounding, so the
    // channels are first divided by the square roots of their units.
    let mixing =
        |a: usize, c: usize| ((3 * a + 5 * c) % 7) as f64 - 2.5 + f64::from(u8::from(a == c));
    let mixed = Matrix::from_fn(p, p, |a, c| mixing(a, c) / units[c].sqrt());
    for method in [Method::Newton, Method::QuasiNewton, Method::Pham] {
        for start in [
            Init::Spectral,
            Init::Whitener,
            Init::Identity,
            Init::Given(mixed.clone()),
        ] {
            let settings = Settings::default().method(method).init(start.clone());
            let result = diagonalize(&set, &settings).unwrap();
            let here = Evaluation::at(&set, &result.b).unwrap();
            let last = result.history.last().unwrap().loss;
            let case = format!("{method:?} from {start:?}: {} {last}", result.loss);
            assert!(result.status.is_converged(), "{case}");
            assert!((result.loss - here.loss).abs() < 1e-10, "{case}");
            assert!((result.loss - last).abs() < 1e-9, "{case}");
            assert!((result.loss - reference.loss).abs() < 1e-9, "{case}");
        }
    }
}

/// With a single matrix no pair of components is identifiable. Pham's steps are then nearly
/// singular and amplify the rounding errors of a bad start.
#[test]
fn recorded_loss_matches_b_after_nearly_singular_pham_steps() {
    let p = 6;
    let mut largest_error = 0.0_f64;
    for seed in 0..40 {
        let generated = Synthetic::new(1, p, 0.0, seed);
        let unit = |a: usize| 10.0_f64.powi(((a * 5 + seed as usize) % 11) as i32 - 5);
        let units: Vec<f64> = (0..p).map(unit).collect();
        let data = transformed(&generated, &Matrix::diagonal(&units));
        let options = SetOptions::default().n_components(Rank::Auto);
        let set = MatrixSet::with_options(&data, 1, p, &options).unwrap();
        let mixed = Synthetic::new(1, p, 0.0, seed + 1000).mixing;
        let settings = Settings::default()
            .method(Method::Pham)
            .init(Init::Given(mixed));
        let mut observer = |record: &Record, b: &Matrix| {
            if record.loss < 0.1 {
                let exact = Evaluation::at(&set, b).unwrap().loss;
                largest_error = largest_error.max((record.loss - exact).abs());
            }
            ControlFlow::Continue(())
        };
        diagonalize_with(&set, &settings, &mut observer).unwrap();
    }
    assert!(largest_error < 1e-8, "{largest_error:e}");
}
