//! Synthetic sets and the Amari distance.

use codiag::synthetic::{Sensors, Synthetic, amari_distance, meg};
use codiag::{Error, Matrix, MatrixSet};

#[test]
fn amari_distance_is_zero_for_scaled_permutations_and_at_most_one() {
    let a = Matrix::from_rows(2, 2, vec![1.0, 2.0, 3.0, 5.0]);
    // The inverse, with its rows swapped.
    let swapped = Matrix::from_rows(2, 2, vec![3.0, -1.0, -5.0, 2.0]);
    assert!(amari_distance(&swapped.scale_rows(&[-3.0, 1e5]), &a) < 1e-10);
    let mixed = Matrix::from_rows(2, 2, vec![1.0, 1.0, 1.0, -1.0]);
    assert!((amari_distance(&mixed, &Matrix::identity(2)) - 1.0).abs() < 1e-15);
    assert_eq!(
        amari_distance(&Matrix::<f64>::identity(1), &Matrix::identity(1)),
        0.0
    );
}

#[test]
fn equal_seeds_give_equal_data() {
    let (x, y) = (Synthetic::new(3, 4, 0.1, 7), Synthetic::new(3, 4, 0.1, 7));
    assert_eq!(x.data, y.data);
    assert_ne!(x.data, Synthetic::new(3, 4, 0.1, 8).data);
}

#[test]
fn sets_too_large_for_memory_are_errors() {
    for (n, p) in [(1_000_000_000, 100), (1 << 32, 1 << 32), (usize::MAX, 1)] {
        let errors = [
            Synthetic::try_new(n, p, 0.1, 0).unwrap_err(),
            Synthetic::try_complex(n, p, 0.1, 0).unwrap_err(),
        ];
        for error in errors {
            assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
        }
    }
    assert!(matches!(
        Synthetic::try_new(0, 3, 0.1, 0),
        Err(Error::Shape { .. })
    ));
}

#[test]
fn mean_of_meg_covariances_has_unit_diagonal() {
    for sensors in [Sensors::Magnetometers, Sensors::Gradiometers] {
        let set = MatrixSet::new(&meg(sensors), 100, 40).unwrap();
        for a in 0..40 {
            assert!((set.mean()[(a, a)] - 1.0).abs() < 1e-5);
        }
    }
}
