//! Errors of invalid complex matrices.

use codiag::error::Remedy;
use codiag::synthetic::Synthetic;
use codiag::{Error, MatrixSet, SetOptions, c64};

/// The error of a set of ten 3 × 3 matrices after changing matrix 7.
fn error_of(change: impl Fn(&mut [c64])) -> Error {
    let mut generated = Synthetic::complex(10, 3, 0.2, 0);
    change(&mut generated.data[7 * 9..8 * 9]);
    generated.set().unwrap_err()
}

#[test]
fn non_finite_real_and_imaginary_parts_are_named() {
    let error = error_of(|c| c[5].im = f64::NAN);
    let expected = "matrix 7: the imaginary part of entry (1, 2) is NaN, not a finite number; correct it, or \
                    leave the matrix out";
    assert_eq!(error.to_string(), expected);
    let error = error_of(|c| c[3].re = f64::INFINITY);
    assert_eq!(
        error.to_string(),
        "matrix 7: entry (1, 0) is inf, not a finite number; correct it, or leave the matrix out"
    );
    let error = error_of(|c| c[4].im = f64::NEG_INFINITY);
    assert!(matches!(
        error,
        Error::NotFinite {
            row: 1,
            column: 1,
            imaginary: true,
            ..
        }
    ));
}

#[test]
fn matrices_that_are_not_hermitian_are_errors() {
    // Symmetric but not Hermitian.
    let error = error_of(|c| c[3] = c[1]);
    let Error::Asymmetric {
        matrix,
        row,
        column,
        complex,
        ..
    } = error
    else {
        panic!("{error}");
    };
    assert_eq!((matrix, row, column, complex), (7, 1, 0, true));
    assert!(
        error
            .to_string()
            .starts_with("matrix 7 is not Hermitian: entries (1, 0) and the conjugate of")
    );
    // An imaginary part on the diagonal counts as asymmetry.
    let error = error_of(|c| c[8].im = 1e-3);
    assert!(
        matches!(
            error,
            Error::Asymmetric {
                row: 2,
                column: 2,
                ..
            }
        ),
        "{error}"
    );
    // Asymmetry at the level of rounding is accepted.
    let mut generated = Synthetic::complex(10, 3, 0.2, 0);
    generated.data[0].im = 1e-12;
    generated.data[1] += c64::new(0.0, 1e-12);
    assert!(generated.set().is_ok());
    // With `symmetrize`, any asymmetry is averaged out.
    generated.data[1] += c64::new(0.0, 2e-3);
    let options = SetOptions::default().symmetrize(true);
    let set = MatrixSet::with_options(&generated.data, 10, 3, &options).unwrap();
    let c = set.matrix(0);
    assert_eq!(c[(0, 1)], c[(1, 0)].conj());
    assert!((c[(0, 1)] - (generated.data[1] + generated.data[3].conj()) * 0.5).norm() < 1e-15);
    assert_eq!(c[(0, 0)].im, 0.0);
}

#[test]
fn indefinite_matrix_is_named_with_a_remedy() {
    let error = error_of(|c| c[0] = c64::new(-1.0, 0.0));
    let Error::NotPositiveDefinite {
        matrix, eigenvalue, ..
    } = error
    else {
        panic!("{error}");
    };
    assert!(matrix == Some(7) && eigenvalue < -0.9);
    // Matrices of rank 1 with a common null space.
    let mut data = Vec::new();
    for k in 0..4 {
        let d = 1.0 + f64::from(k);
        data.extend([
            c64::new(d, 0.0),
            c64::new(0.0, d),
            c64::new(0.0, -d),
            c64::new(d, 0.0),
        ]);
    }
    let error = MatrixSet::new(&data, 4, 2).unwrap_err();
    assert!(
        matches!(
            error,
            Error::NotPositiveDefinite {
                remedy: Remedy::Reduce { rank: 1 },
                ..
            }
        ),
        "{error}"
    );
}
