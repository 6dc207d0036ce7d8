//! Inspection of matrix sets.

use codiag::error::Remedy;
use codiag::{Error, Inspection, Inspector, MatrixSet, Rank, SetOptions, c64, inspect};

/// Well-conditioned positive definite matrices of size p × p.
fn well_conditioned(n: usize, p: usize) -> Vec<f64> {
    let entry = |i: usize, a: usize, b: usize| {
        let diagonal = if a == b { 2.0 + (i + a) as f64 } else { 0.0 };
        diagonal + 0.1 * ((a + b + i) % 3) as f64
    };
    let mut data = Vec::new();
    for i in 0..n {
        data.extend((0..p * p).map(|k| entry(i, k / p, k % p)));
    }
    data
}

/// Inspects the data and asserts that the constructor of a set agrees.
fn checked_inspection(data: &[f64], n: usize, p: usize) -> Inspection {
    let inspection = inspect(data, n, p).unwrap();
    let set = MatrixSet::new(data, n, p);
    assert_eq!(inspection.is_suitable(), set.is_ok(), "{inspection:?}");
    match set {
        Err(Error::NotFinite { matrix, .. }) => assert_eq!(inspection.not_finite[0], matrix),
        Err(Error::Asymmetric {
            matrix, asymmetry, ..
        }) => {
            assert_eq!(inspection.asymmetric[0], matrix);
            assert!(inspection.largest_asymmetry >= asymmetry);
        }
        Err(Error::NotPositiveDefinite { matrix, .. }) => {
            assert_eq!(Some(inspection.not_positive_definite[0]), matrix);
        }
        Err(Error::Range { power }) => assert_eq!(inspection.out_of_range, Some(power)),
        Err(other) => panic!("{other}"),
        Ok(_) => {}
    }
    inspection
}

#[test]
fn valid_set_is_described() {
    let mut data = well_conditioned(5, 3);
    data[9..18].copy_from_slice(&[8.0, 0.0, 0.0, 0.0, 4.0, 0.0, 0.0, 0.0, 2.0]);
    let (first, rest) = data.split_at_mut(18);
    rest[..9].copy_from_slice(&first[9..]);
    let inspection = checked_inspection(&data, 5, 3);
    assert_eq!((inspection.matrices, inspection.size), (5, 3));
    assert_eq!((inspection.mean_rank, inspection.smallest_rank), (3, 3));
    assert_eq!(inspection.duplicates, [(2, 1)]);
    assert_eq!(inspection.remedy, None);
    assert!((inspection.largest_condition_number.unwrap() - 4.0).abs() < 1e-12);
    assert!((1..3).contains(&inspection.worst_conditioned.unwrap()));
    assert!(inspection.median_condition_number.unwrap() <= 4.0);
    let smallest = inspection.smallest_eigenvalue.unwrap();
    assert!(smallest > 1.5 && smallest <= 2.0, "{smallest}");
    assert!(inspection.scale_ratio.unwrap() > 1.0);
}

#[test]
fn inspection_agrees_with_errors_of_the_constructor() {
    let with = |change: &dyn Fn(&mut [f64])| {
        let mut data = well_conditioned(6, 3);
        change(&mut data);
        checked_inspection(&data, 6, 3)
    };
    assert_eq!(with(&|c| c[9 + 4] = f64::INFINITY).not_finite, [1]);
    assert_eq!(with(&|c| c[18 + 1] += 1e-6).asymmetric, [2]);
    let rounding = with(&|c| c[18 + 1] += 1e-9);
    assert!(rounding.asymmetric.is_empty() && rounding.largest_asymmetry > 0.0);
    assert!(
        with(&|c| c.iter_mut().for_each(|x| *x *= 1e-280))
            .out_of_range
            .is_some()
    );
    // A clearly negative eigenvalue has no remedy.
    let negative = with(&|c| c[27] = -5.0);
    assert_eq!(negative.not_positive_definite, [3]);
    assert_eq!(negative.remedy, Some(Remedy::None));
}

#[test]
fn complex_matrices_are_inspected() {
    // The first matrix is Hermitian with eigenvalues 1 and 3; the second is symmetric, not
    // Hermitian.
    let (two, i) = (c64::new(2.0, 0.0), c64::I);
    let data = [two, i, -i, two, two, i, i, two];
    let inspection = inspect(&data, 2, 2).unwrap();
    assert_eq!((inspection.asymmetric, inspection.mean_rank), (vec![1], 2));
    assert!((inspection.smallest_eigenvalue.unwrap() - 1.0).abs() < 1e-14);
    assert!((inspection.largest_condition_number.unwrap() - 3.0).abs() < 1e-13);
    let inspection = inspect(&[two + i], 1, 1).unwrap();
    assert_eq!(inspection.asymmetric, [0]);
}

#[test]
fn suggested_remedies_make_the_set_valid() {
    // All matrices share a null space.
    let mut shared = well_conditioned(4, 3);
    for matrix in shared.chunks_exact_mut(9) {
        for k in 0..3 {
            matrix[6 + k] = 0.0;
            matrix[3 * k + 2] = 0.0;
        }
    }
    let inspection = checked_inspection(&shared, 4, 3);
    assert_eq!(inspection.remedy, Some(Remedy::Reduce { rank: 2 }));
    assert_eq!((inspection.mean_rank, inspection.smallest_rank), (2, 2));
    let reduced = SetOptions::default().n_components(Rank::Auto);
    assert!(MatrixSet::with_options(&shared, 4, 3, &reduced).is_ok());
    // A single matrix is singular.
    let mut single = well_conditioned(4, 3);
    single[9..18].fill(1.0);
    let inspection = checked_inspection(&single, 4, 3);
    let Some(Remedy::Shrink { shrinkage }) = inspection.remedy else {
        panic!("{inspection:?}");
    };
    assert_eq!((inspection.mean_rank, inspection.smallest_rank), (3, 1));
    let shrunk = SetOptions::default().shrinkage(shrinkage);
    assert!(MatrixSet::with_options(&single, 4, 3, &shrunk).is_ok());
}

#[test]
fn invalid_shapes_are_errors() {
    assert!(matches!(
        inspect::<f64>(&[], 0, 2),
        Err(Error::Shape { .. })
    ));
    assert!(matches!(inspect(&[1.0], 1, 2), Err(Error::Length { .. })));
    assert!(matches!(Inspector::<f64>::new(0), Err(Error::Shape { .. })));
    assert!(matches!(
        Inspector::<f64>::new(1 << 40),
        Err(Error::TooLarge { .. })
    ));
    let mut inspector = Inspector::new(2).unwrap();
    let short = inspector.add(&[1.0; 3]);
    assert!(matches!(short, Err(Error::MatrixLength { matrix: 0, .. })));
    assert!(matches!(inspector.finish(), Err(Error::Shape { .. })));
    // All matrices are invalid.
    let inspection = inspect(&[f64::NAN], 1, 1).unwrap();
    assert_eq!((inspection.mean_rank, inspection.scale_ratio), (0, None));
}
