//! Each kind of invalid input has its own error, with the numbers that describe it.

use codiag::error::{Conflict, InitProblem, Remedy, Setting};
use codiag::synthetic::{Synthetic, noisy};
use codiag::{
    Criterion, Error, Init, Matrix, MatrixSet, Method, Rank, SetOptions, Settings, diagonalize,
};

fn options(change: impl FnOnce(&mut SetOptions)) -> SetOptions {
    let mut options = SetOptions::default();
    change(&mut options);
    options
}

fn settings_error(change: impl FnOnce(&mut Settings)) -> Error {
    let mut settings = Settings::default();
    change(&mut settings);
    diagonalize(&noisy(8, 3, 0.3, 0), &settings).unwrap_err()
}

#[test]
fn empty_sets_and_wrong_lengths_are_errors() {
    for (n, p) in [(0, 3), (3, 0), (0, 0)] {
        assert_eq!(
            MatrixSet::<f64>::new(&[], n, p).unwrap_err(),
            Error::Shape {
                shape: vec![n, p, p]
            }
        );
    }
    let error = MatrixSet::new(&[1.0; 11], 3, 2).unwrap_err();
    assert!(matches!(
        error,
        Error::Length {
            expected: 12,
            actual: 11,
            ..
        }
    ));
    let none: [Vec<f64>; 0] = [];
    assert!(matches!(
        MatrixSet::from_matrices(2, none, &SetOptions::default()),
        Err(Error::Shape { .. })
    ));
    let ragged = [vec![1.0; 4], vec![1.0; 9]];
    assert!(matches!(
        MatrixSet::from_matrices(2, ragged, &SetOptions::default()),
        Err(Error::MatrixLength {
            matrix: 1,
            size: 2,
            actual: 9,
        })
    ));
}

#[test]
fn non_finite_entries_are_located() {
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let mut generated = Synthetic::new(100, 4, 0.1, 0);
        generated.data[73 * 16 + 2 * 4 + 3] = bad;
        let error = generated.set().unwrap_err();
        let Error::NotFinite {
            matrix,
            row,
            column,
            value,
            ..
        } = error
        else {
            panic!("{error}");
        };
        assert_eq!((matrix, row, column), (73, 2, 3));
        assert_eq!(value.to_bits(), bad.to_bits());
    }
}

#[test]
fn asymmetry_is_relative_to_the_largest_entry() {
    let mut generated = Synthetic::new(20, 4, 0.1, 0);
    let matrix = &mut generated.data[5 * 16..6 * 16];
    let largest = matrix.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
    let before = matrix[1];
    matrix[1] = before + 1e-6 * largest;
    let error = generated.set().unwrap_err();
    let Error::Asymmetric {
        matrix,
        row,
        column,
        asymmetry,
        ..
    } = error
    else {
        panic!("{error}");
    };
    assert_eq!((matrix, row, column), (5, 1, 0));
    assert!((asymmetry - 1e-6).abs() < 1e-8);
    // Asymmetry by rounding is removed.
    generated.data[5 * 16 + 1] = before + 1e-10 * largest;
    let set = generated.set().unwrap();
    assert_eq!(set.matrix(5)[(0, 1)], set.matrix(5)[(1, 0)]);
}

#[test]
fn singular_and_indefinite_matrices_are_reported_with_a_remedy() {
    let mut generated = Synthetic::new(20, 3, 0.3, 0);
    generated.data[7 * 9..8 * 9].copy_from_slice(&[1.0, 2.0, 0.0, 2.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
    let error = generated.set().unwrap_err();
    let Error::NotPositiveDefinite {
        matrix,
        eigenvalue,
        remedy,
    } = error
    else {
        panic!("{error}");
    };
    // No acceptable shrinkage makes an eigenvalue of −1 positive.
    assert_eq!((matrix, remedy), (Some(7), Remedy::None));
    assert!((eigenvalue + 1.0).abs() < 1e-12);
    for (smallest, shrinkage) in [(0.0, 1e-3), (-1e-4, 1e-3), (-2e-3, 1e-2), (-0.03, 0.1)] {
        generated.data[7 * 9..8 * 9]
            .copy_from_slice(Matrix::diagonal(&[1.0, smallest, 1.0]).as_slice());
        let error = generated.set().unwrap_err();
        assert!(
            error.to_string().contains("SetOptions::shrinkage"),
            "{error}"
        );
        let Error::NotPositiveDefinite { remedy, .. } = error else {
            panic!("{error}");
        };
        assert_eq!(remedy, Remedy::Shrink { shrinkage });
        let shrunk = options(|o| o.shrinkage = shrinkage);
        assert!(MatrixSet::with_options(&generated.data, 20, 3, &shrunk).is_ok());
    }

    // All matrices have rank 1 in two channels.
    let data: Vec<f64> = (1..5)
        .flat_map(|k| [1.0, 2.0, 2.0, 4.0].map(|x| x * f64::from(k)))
        .collect();
    let error = MatrixSet::new(&data, 4, 2).unwrap_err();
    assert!(error.to_string().contains("Rank::Auto"), "{error}");
    assert!(matches!(
        error,
        Error::NotPositiveDefinite {
            remedy: Remedy::Reduce { rank: 1 },
            ..
        }
    ));
    let reduced =
        MatrixSet::with_options(&data, 4, 2, &options(|o| o.n_components = Rank::Auto)).unwrap();
    assert_eq!(reduced.dimension(), 1);

    let zeros = MatrixSet::new(&[0.0; 8], 2, 2).unwrap_err();
    assert!(matches!(
        zeros,
        Error::NotPositiveDefinite {
            matrix: Some(0),
            ..
        }
    ));
}

#[test]
fn weights_ranks_and_shrinkage_are_checked() {
    let generated = Synthetic::new(4, 3, 0.3, 0);
    let error = |o: SetOptions| MatrixSet::with_options(&generated.data, 4, 3, &o).unwrap_err();
    let weights = |w: Vec<f64>| error(options(|o| o.weights = Some(w)));
    assert_eq!(
        weights(vec![1.0; 3]),
        Error::WeightsLength {
            expected: 4,
            actual: 3
        }
    );
    assert_eq!(
        weights(vec![1.0, -1.0, 1.0, 1.0]),
        Error::Weight {
            index: 1,
            value: -1.0
        }
    );
    assert!(matches!(
        weights(vec![1.0, 1.0, f64::NAN, 1.0]),
        Error::Weight { index: 2, .. }
    ));
    assert_eq!(weights(vec![0.0; 4]), Error::WeightsZero);
    for rank in [0, 4] {
        let error = error(options(|o| o.n_components = Rank::Exactly(rank)));
        assert!(matches!(
            error,
            Error::Setting {
                setting: Setting::Rank,
                ..
            }
        ));
    }
    for shrinkage in [-0.1, 1.1, f64::NAN] {
        let error = error(options(|o| o.shrinkage = shrinkage));
        assert!(matches!(
            error,
            Error::Setting {
                setting: Setting::Shrinkage,
                ..
            }
        ));
    }
}

#[test]
fn starting_points_are_checked() {
    let start = |b: Matrix| settings_error(|s| s.init = Init::Given(b));
    assert!(matches!(
        start(Matrix::identity(2)),
        Error::InitShape {
            expected: (3, 3),
            rows: 2,
            columns: 2
        }
    ));
    assert_eq!(
        start(Matrix::zeros(3, 3)),
        Error::Init {
            problem: InitProblem::Singular
        }
    );
    let ones = Matrix::from_fn(3, 3, |_, _| 1.0);
    assert_eq!(
        start(ones),
        Error::Init {
            problem: InitProblem::Singular
        }
    );
    let nan = Matrix::from_fn(3, 3, |_, _| f64::NAN);
    assert_eq!(
        start(nan),
        Error::Init {
            problem: InitProblem::NotFinite
        }
    );
    let skewed = settings_error(|s| {
        s.orthogonal = true;
        s.init = Init::Given(Matrix::diagonal(&[1.0, 2.0, 3.0]));
    });
    assert!(skewed.to_string().contains("orthogonal"), "{skewed}");
    // Starting points of any scale are accepted.
    let tiny = Settings::default().init(Init::Given(Matrix::diagonal(&[1e-12, 1.0, 1e9])));
    assert!(
        diagonalize(&noisy(8, 3, 0.3, 0), &tiny)
            .unwrap()
            .status
            .is_converged()
    );
    for scale in [1e200, 1e-200, f64::MAX, 5e-324] {
        let start = Init::Given(Matrix::diagonal(&[scale, 1.0, 1.0 / scale.max(1e-300)]));
        let all = Init::Given(Matrix::diagonal(&[scale; 3]));
        for start in [start, all] {
            for criterion in [Criterion::Likelihood, Criterion::LeastSquares] {
                let options = SetOptions::default().criterion(criterion);
                let generated = Synthetic::new(8, 3, 0.3, 0);
                let set = MatrixSet::with_options(&generated.data, 8, 3, &options).unwrap();
                let solved = diagonalize(&set, &Settings::default().init(start.clone())).unwrap();
                assert!(solved.loss.is_finite() && solved.b.is_finite());
            }
        }
    }
}

#[test]
fn energy_fractions_are_not_negative() {
    for criterion in [Criterion::Frobenius, Criterion::LeastSquares] {
        for seed in 0..20 {
            let generated = Synthetic::new(1, 6, 0.3, seed);
            let options = SetOptions::default().criterion(criterion);
            let set = MatrixSet::with_options(&generated.data, 1, 6, &options).unwrap();
            let solved = diagonalize(&set, &Settings::default()).unwrap();
            assert!(solved.loss >= 0.0, "{}", solved.loss);
            assert!(solved.history.iter().all(|record| record.loss >= 0.0));
            assert!(solved.residuals.iter().all(|residual| *residual >= 0.0));
        }
    }
}

#[test]
fn settings_are_checked() {
    for tolerance in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let error = settings_error(|s| s.tol = tolerance);
        assert!(matches!(
            error,
            Error::Setting {
                setting: Setting::Tol,
                ..
            }
        ));
    }
    assert!(matches!(
        settings_error(|s| s.lambda_min = 0.0),
        Error::Setting {
            setting: Setting::LambdaMin,
            ..
        }
    ));
    assert!(matches!(
        MatrixSet::with_options(&[1.0], 1, 1, &SetOptions::default().n_jobs(0)),
        Err(Error::Setting {
            setting: Setting::NJobs,
            ..
        })
    ));
    for method in [Method::Pham, Method::RowWise] {
        let error = settings_error(|s| {
            s.orthogonal = true;
            s.method = method;
        });
        assert_eq!(error, Error::Conflict(Conflict::OrthogonalMethod(method)));
    }
    let error = "gauss".parse::<Method>().unwrap_err();
    assert!(error.to_string().contains("\"quasi-newton\""), "{error}");
    assert!("spectre".parse::<Init>().is_err());
    assert_eq!("pham".parse::<Method>().unwrap(), Method::Pham);
}

#[test]
fn matrices_out_of_range_are_errors() {
    for scale in [1e-320, 1e-290, 1e290, 1e305] {
        let mut generated = Synthetic::new(4, 3, 0.3, 0);
        generated.data.iter_mut().for_each(|x| *x *= scale);
        let error = generated.set().unwrap_err();
        assert!(matches!(error, Error::Range { .. }), "{scale:e}: {error}");
    }
    for scale in [1e-200, 1e200] {
        let mut generated = Synthetic::new(4, 3, 0.3, 0);
        generated.data.iter_mut().for_each(|x| *x *= scale);
        let result = diagonalize(&generated.set().unwrap(), &Settings::default()).unwrap();
        assert!(result.status.is_converged());
    }
}

#[test]
fn energies_out_of_range_are_errors() {
    let scaled = |criterion: Criterion, scale: f64| {
        let mut generated = Synthetic::new(6, 4, 0.3, 0);
        generated.data.iter_mut().for_each(|x| *x *= scale);
        let options = SetOptions::default().criterion(criterion);
        MatrixSet::with_options(&generated.data, 6, 4, &options)
    };
    for criterion in Criterion::for_any_symmetric() {
        for scale in [1e-100, 1e-75, 1e75, 1e100] {
            let error = scaled(criterion, scale).unwrap_err();
            assert!(matches!(error, Error::Energy { .. }), "{scale:e}: {error}");
        }
        for method in criterion.methods() {
            let settings = Settings::default().method(*method);
            for scale in [2.0_f64.powi(-220), 2.0_f64.powi(220)] {
                let result = diagonalize(&scaled(criterion, scale).unwrap(), &settings).unwrap();
                assert!(result.loss.is_finite() && result.gradient_norm.is_finite());
            }
        }
    }
}

#[test]
fn negative_eigenvalue_is_an_error_for_any_rank() {
    let auto = options(|o| o.n_components = Rank::Auto);
    let one = [1.0, 2.0, 2.0, 1.0];
    let two = [1.0, 0.0, 0.0, 1.0, 5.0, 0.0, 0.0, -3.0];
    for data in [&one[..], &two] {
        let error = MatrixSet::with_options(data, data.len() / 4, 2, &auto).unwrap_err();
        let Error::NotPositiveDefinite {
            matrix: None,
            eigenvalue,
            remedy: Remedy::None,
        } = error
        else {
            panic!("{error}");
        };
        assert!((eigenvalue + 1.0).abs() < 1e-12);
        // The error without a rank suggests no reduction either.
        let error = MatrixSet::new(data, data.len() / 4, 2).unwrap_err();
        let remedy = Remedy::None;
        assert!(matches!(error, Error::NotPositiveDefinite { remedy: r, .. } if r == remedy));
    }
    // Positive in one matrix and negative in another: the mean is semidefinite.
    for unit in [1e-24, 1.0, 1e12] {
        let data = [1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, -1.0].map(|x| unit * x);
        let error = MatrixSet::with_options(&data, 2, 2, &auto).unwrap_err();
        let Error::NotPositiveDefinite {
            matrix: Some(1), ..
        } = error
        else {
            panic!("{error}");
        };
    }
}

#[test]
fn asymmetry_of_single_precision_is_removed_by_symmetrize() {
    let mut generated = Synthetic::new(5, 3, 0.3, 0);
    generated.data[9 + 1] *= 1.0 + 4e-8;
    let largest = generated.data[9..18]
        .iter()
        .fold(0.0_f64, |m, x| m.max(x.abs()));
    generated.data[9 + 1] += 4e-8 * largest;
    assert!(matches!(
        generated.set().unwrap_err(),
        Error::Asymmetric { matrix: 1, .. }
    ));
    let symmetrize = options(|o| o.symmetrize = true);
    let set = MatrixSet::with_options(&generated.data, 5, 3, &symmetrize).unwrap();
    let mean = 0.5 * (generated.data[9 + 1] + generated.data[9 + 3]);
    assert_eq!(set.matrix(1)[(0, 1)], mean);
    // Entries that are not finite are not reported as an asymmetry.
    generated.data[9 + 1] = f64::INFINITY;
    assert!(matches!(
        MatrixSet::with_options(&generated.data, 5, 3, &symmetrize),
        Err(Error::NotFinite { matrix: 1, .. })
    ));
}
