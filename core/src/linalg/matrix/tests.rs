//! Tests of panics, products and formatting.

use super::*;
use crate::linalg::c64;

fn example() -> Matrix {
    Matrix::from_rows(2, 2, vec![1.0, 2.0, 3.0, 4.0])
}

/// Returns the message with which `act` panics.
fn panic_of<R>(act: impl FnOnce() -> R + std::panic::UnwindSafe) -> String {
    let payload = std::panic::catch_unwind(act).err().expect("a panic");
    match payload.downcast::<String>() {
        Ok(message) => *message,
        Err(payload) => payload.downcast::<&str>().unwrap().to_string(),
    }
}

#[test]
fn indices_out_of_range_panic() {
    let columns = panic_of(|| example()[(0, 3)]);
    assert_eq!(columns, "entry (0, 3) is out of range for a 2 x 2 matrix");
    let rows = panic_of(|| example()[(2, 0)] = 1.0);
    assert_eq!(rows, "entry (2, 0) is out of range for a 2 x 2 matrix");
    // The row offset overflows and wraps around to 0.
    assert!(panic_of(|| example()[(1 << 63, 0)]).contains("for a 2 x 2 matrix"));
    assert!(panic_of(|| example().row(2).len()).contains("row 2"));
    assert!(panic_of(|| Matrix::<f64>::zeros(2, 0).row(2).len()).contains("row 2"));
}

#[test]
fn mismatched_shapes_panic() {
    let dot = panic_of(|| example().dot(&Matrix::zeros(1, 4)));
    assert_eq!(
        dot,
        "shapes do not match: inner product of a 2 x 2 and a 1 x 4 matrix"
    );
    let scaled = panic_of(|| example().scale_rows(&[1.0]));
    assert_eq!(
        scaled,
        "expected one factor per row, got 1 factors for 2 rows"
    );
    let product = panic_of(|| example() * Matrix::zeros(3, 2));
    assert_eq!(
        product,
        "shapes do not match: product of a 2 x 2 and a 3 x 2 matrix"
    );
    let rows = panic_of(|| Matrix::from_rows(2, 2, vec![0.0; 3]));
    assert_eq!(rows, "a 2 x 2 matrix has 4 entries, not 3");
}

#[test]
fn overflowing_sizes_panic() {
    let huge = 1 << 32;
    for message in [
        panic_of(|| Matrix::<f64>::zeros(huge, huge)),
        panic_of(|| Matrix::<f64>::identity(huge)),
        panic_of(|| Matrix::from_rows(huge, huge, Vec::<f64>::new())),
        panic_of(|| Matrix::from_fn(huge, huge, |_, _| 0.0)),
    ] {
        assert!(
            message.starts_with("the number of entries of a ") && message.ends_with(" overflows"),
            "{message}"
        );
    }
}

#[test]
fn products_accept_values_and_references() {
    let (m, n) = (example(), Matrix::from_rows(2, 1, vec![5.0, 6.0]));
    let expected = Matrix::from_rows(2, 1, vec![17.0, 39.0]);
    assert_eq!(&m * &n, expected);
    assert_eq!(&m * n.clone(), expected);
    assert_eq!(m.clone() * &n, expected);
    assert_eq!(m * n, expected);
}

#[test]
fn complex_inner_products_agree_with_parts() {
    let number = |a: usize, b: usize| c64::new(a as f64 - 1.5, (a * b) as f64 + 0.5);
    let (x, y) = (
        Matrix::from_fn(3, 4, number),
        Matrix::from_fn(3, 4, |a, b| number(b, a)),
    );
    let mut expected = 0.0;
    for (x, y) in x.as_slice().iter().zip(y.as_slice()) {
        expected += (x * y.conj()).re;
    }
    assert!((x.dot(&y) - expected).abs() < 1e-12);
    let squares: f64 = x.as_slice().iter().map(c64::norm_sqr).sum();
    assert!((x.norm() - squares.sqrt()).abs() < 1e-12);
    assert_eq!(x.adjoint().adjoint(), x);
    assert_eq!(x.adjoint()[(2, 1)], x[(1, 2)].conj());
    assert_eq!(x.transpose()[(2, 1)], x[(1, 2)]);
    let scaled = x.clone().scale_rows(&[1.0, -2.0, 0.5]);
    assert_eq!(scaled[(1, 3)], x[(1, 3)] * -2.0);
    assert!(x.is_finite());
    let mut broken = x;
    broken[(1, 1)].im = f64::NAN;
    assert!(!broken.is_finite());
}

#[test]
fn columns_are_aligned() {
    let m = Matrix::from_rows(2, 2, vec![1.0, -20.25, 300.0, 0.5]);
    assert_eq!(
        m.to_string(),
        "[   1.0000 -20.2500 ]\n[ 300.0000   0.5000 ]"
    );
    let small = Matrix::from_rows(1, 2, vec![1e-9, -2e-7]);
    assert_eq!(format!("{small:.1}"), "[ 1.0e-9 -2.0e-7 ]");
    let complex = Matrix::from_rows(2, 1, vec![c64::new(1.0, -2.0), c64::new(10.0, 0.0)]);
    assert_eq!(format!("{complex:.0}"), "[  1-2i ]\n[ 10+0i ]");
    assert_eq!(Matrix::<f64>::zeros(0, 0).to_string(), "");
}

#[test]
fn large_matrices_are_abbreviated() {
    let m = Matrix::from_fn(12, 3, |a, _| a as f64);
    let text = format!("{m:.0}");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 9);
    assert_eq!(
        (lines[3], lines[4], lines[5]),
        ("[  3  3  3 ]", "[  ⋮  ⋮  ⋮ ]", "[  8  8  8 ]")
    );
    let wide = format!("{:.0}", m.transpose());
    assert_eq!(wide.lines().next(), Some("[ 0 1 2 3 … 8 9 10 11 ]"));
    let both = Matrix::<f64>::identity(11).to_string();
    assert!(both.lines().nth(4).unwrap().contains('⋱'));
}
