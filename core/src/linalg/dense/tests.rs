//! Tests of products and decompositions.

use super::*;
use crate::linalg::small;

fn example(p: usize) -> Matrix {
    Matrix::from_fn(p, p, |a, b| {
        ((a * 7 + b * 13 + 3) % 11) as f64 / 11.0 + 2.0 * f64::from(u8::from(a == b))
    })
}

#[test]
fn inverse_and_determinant_agree_with_a_known_matrix() {
    let m = Matrix::from_rows(2, 2, vec![2.0, 1.0, 1.0, 3.0]);
    assert!((log_abs_det(&m) - 5.0_f64.ln()).abs() < 1e-14);
    let identity = product(&m, &inverse(&m));
    assert!((identity[(0, 0)] - 1.0).abs() < 1e-15 && identity[(0, 1)].abs() < 1e-15);
    let (log_det, inverse) = log_det_and_inverse(&m);
    assert!((log_det - 5.0_f64.ln()).abs() < 1e-14 && (inverse[(0, 0)] - 0.6).abs() < 1e-15);
}

#[test]
fn log_det_of_a_negative_determinant_is_minus_infinity() {
    let swapped = Matrix::from_rows(3, 3, vec![0.0, 2.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
    assert_eq!(log_det_and_inverse(&swapped).0, f64::NEG_INFINITY);
    let cycle = Matrix::from_rows(3, 3, vec![0.0, 2.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0]);
    assert!((log_det_and_inverse(&cycle).0 - 2.0_f64.ln()).abs() < 1e-15);
    let flipped = Matrix::diagonal(&[-1.0, -3.0, 1.0]);
    assert!((log_det_and_inverse(&flipped).0 - 3.0_f64.ln()).abs() < 1e-15);
    let singular = Matrix::from_fn(4, 4, |a, b| (a + b) as f64);
    assert!(log_det_and_inverse(&singular).0 < -30.0);
}

#[test]
fn inverse_and_log_det_agree_with_products() {
    for p in [1, 7, small::MAX_SIZE, 40] {
        // A row order that requires pivoting.
        let shift = Matrix::from_fn(p, p, |a, b| f64::from(u8::from(b == (a + 1) % p)));
        let m = product(&shift, &product_adjoint(&example(p), &example(p)));
        let m = product(&shift.transpose(), &product(&m, &shift));
        let (log_det, inverse) = log_det_and_inverse(&m);
        if log_det.is_finite() {
            assert!((log_det - log_abs_det(&m)).abs() < 1e-9, "{p}");
            let identity = product(&m, &inverse);
            for a in 0..p {
                for b in 0..p {
                    let expected = f64::from(u8::from(a == b));
                    assert!((identity[(a, b)] - expected).abs() < 1e-8, "{p}");
                }
            }
        }
    }
}

#[test]
fn gram_of_strided_rows_agrees_with_product() {
    let (p, stride, columns) = (13, 40, 29);
    let x: Vec<f64> = (0..p * stride)
        .map(|k| ((k * 37) % 101) as f64 - 50.0)
        .collect();
    let narrow = Matrix::from_fn(p, columns, |a, t| x[a * stride + t]);
    let expected = product_adjoint(&narrow, &narrow);
    let mut out = Matrix::identity(p);
    add_gram(out.as_mut_slice(), p, 0.5, &x, stride, columns);
    for a in 0..p {
        for b in 0..=a {
            let one = f64::from(u8::from(a == b));
            assert!((out[(a, b)] - one - 0.5 * expected[(a, b)]).abs() < 1e-9);
        }
    }
    let mut image = vec![0.0; 13 * columns];
    product_into(&example(13), narrow.as_slice(), columns, &mut image);
    assert_eq!(image, product(&example(13), &narrow).into_vec());
}

#[test]
fn eigenvectors_are_invariant_to_scaling_by_powers_of_two() {
    let p = 40;
    let half = Matrix::from_fn(p, p, |a, b| ((a * 7 + b * 13 + a * b) % 29) as f64 - 14.0);
    let m = product_adjoint(&half, &half);
    let (values, vectors) = hermitian_eigen(&m).unwrap();
    for exponent in [-200, -80, 80, 200] {
        let unit = 2.0_f64.powi(exponent);
        let scaled = Matrix::from_fn(p, p, |a, b| m[(a, b)] * unit);
        let (scaled_values, scaled_vectors) = hermitian_eigen(&scaled).unwrap();
        assert_eq!(vectors, scaled_vectors);
        for (x, y) in values.iter().zip(&scaled_values) {
            assert_eq!(x * unit, *y);
        }
    }
}

#[test]
fn rows_of_eigenvectors_diagonalize_the_matrix() {
    let m = example(6);
    let symmetric = product_adjoint(&m, &m);
    let (values, vectors) = hermitian_eigen(&symmetric).unwrap();
    let diagonal = product_adjoint(&product(&vectors, &symmetric), &vectors);
    for a in 0..6 {
        for b in 0..6 {
            let expected = if a == b { values[a] } else { 0.0 };
            assert!((diagonal[(a, b)] - expected).abs() < 1e-12);
        }
    }
}

#[test]
fn exponential_of_an_antisymmetric_matrix_is_a_rotation() {
    let angle = 2.5_f64;
    let e = Matrix::from_rows(2, 2, vec![0.0, -angle, angle, 0.0]);
    let q = unitary_exponential(&e);
    assert!((q[(0, 0)] - angle.cos()).abs() < 1e-14);
    assert!((q[(1, 0)] - angle.sin()).abs() < 1e-14);
}

/// Returns a complex matrix far from singular.
fn complex_example(p: usize) -> Matrix<c64> {
    Matrix::from_fn(p, p, |a, b| {
        let number = |k: usize| (k % 11) as f64 / 11.0 - 0.4;
        let on_diagonal = 2.0 * f64::from(u8::from(a == b));
        c64::new(
            number(a * 7 + b * 13 + 3) + on_diagonal,
            number(a * 5 + b * 3),
        )
    })
}

/// M Mᴴ + I.
fn hermitian_example(p: usize) -> Matrix<c64> {
    let m = complex_example(p);
    let mut hermitian = product_adjoint(&m, &m);
    add_to_diagonal(&mut hermitian, 1.0);
    hermitian
}

fn distance(x: &Matrix<c64>, y: &Matrix<c64>) -> f64 {
    let pairs = x.as_slice().iter().zip(y.as_slice());
    pairs.fold(0.0, |m, (x, y)| m.max((x - y).norm()))
}

/// Sizes below and above the largest size of the plain loops.
const SIZES: [usize; 5] = [1, 2, 5, small::MAX_SIZE, small::MAX_SIZE + 5];

#[test]
fn complex_products_agree_with_plain_loops() {
    for p in SIZES {
        let (x, y) = (complex_example(p), hermitian_example(p).adjoint());
        let y = Matrix::from_fn(p, p, |a, b| y[(a, b)] * x[(b, a)]);
        let (mut plain, mut adjoint) = (Matrix::zeros(p, p), Matrix::zeros(p, p));
        let mut both = Matrix::identity(p);
        let mut expected = both.clone();
        for a in 0..p {
            for b in 0..p {
                for k in 0..p {
                    plain[(a, b)] += x[(a, k)] * y[(k, b)];
                    adjoint[(a, b)] += x[(a, k)] * y[(b, k)].conj();
                    let terms = x[(a, k)] * y[(b, k)].conj() + y[(k, a)].conj() * x[(k, b)];
                    expected[(a, b)] += terms * 0.5;
                }
            }
        }
        assert!(distance(&product(&x, &y), &plain) < 1e-12, "{p}");
        assert!(distance(&product_adjoint(&x, &y), &adjoint) < 1e-12, "{p}");
        add_symmetric_product(&mut both, 0.5, &x, &y);
        assert!(distance(&both, &expected) < 1e-12, "{p}");
    }
}

#[test]
fn complex_inverses_and_determinants_agree() {
    for p in SIZES {
        let m = complex_example(p);
        assert!(
            distance(&product(&m, &inverse(&m)), &Matrix::identity(p)) < 1e-12,
            "{p}"
        );
        // |det m|² is the product of the squares of the singular values.
        let singular = singular_values(&m).unwrap();
        let expected: f64 = singular.iter().map(|x| x.ln()).sum();
        assert!((log_abs_det(&m) - expected).abs() < 1e-11, "{p}");
        let hermitian = product_adjoint(&m, &m);
        let values = hermitian_eigenvalues(&hermitian).unwrap();
        for (square, value) in values.iter().zip(singular.iter().rev()) {
            assert!((square - value * value).abs() < 1e-11, "{p}");
        }
    }
}

#[test]
fn complex_eigenvectors_diagonalize() {
    for p in SIZES {
        let hermitian = hermitian_example(p);
        let (values, vectors) = hermitian_eigen(&hermitian).unwrap();
        assert!(values.is_sorted());
        let whole = product_adjoint(&product(&vectors, &hermitian), &vectors);
        let diagonal: Vec<c64> = values.iter().map(|&x| c64::from_real(x)).collect();
        assert!(
            distance(&whole, &Matrix::diagonal(&diagonal)) < 1e-11,
            "{p}"
        );
        let gram = product_adjoint(&vectors, &vectors);
        assert!(distance(&gram, &Matrix::identity(p)) < 1e-12, "{p}");
    }
}

#[test]
fn complex_cholesky_factors_multiply_to_the_matrix() {
    for p in SIZES {
        let hermitian = hermitian_example(p);
        let factor = cholesky(&hermitian).unwrap();
        assert!(
            distance(&product_adjoint(&factor, &factor), &hermitian) < 1e-12,
            "{p}"
        );
        assert!((0..p).all(|a| factor.row(a)[a + 1..].iter().all(|x| *x == c64::ZERO)));
        let identity = product(&lower_inverse(&factor), &factor);
        assert!(distance(&identity, &Matrix::identity(p)) < 1e-12, "{p}");
    }
    assert!(cholesky(&Matrix::diagonal(&[c64::ONE, -c64::ONE])).is_none());
}

#[test]
fn exponential_of_an_antihermitian_matrix_is_unitary() {
    for p in SIZES {
        let m = complex_example(p);
        let e = Matrix::from_fn(p, p, |a, b| m[(a, b)] - m[(b, a)].conj());
        let q = unitary_exponential(&e);
        assert!(
            distance(&product_adjoint(&q, &q), &Matrix::identity(p)) < 1e-14,
            "{p}"
        );
        // E = Vᴴ diag(iλ) V for the eigenvalues λ of −iE.
        let rotated = Matrix::from_fn(p, p, |a, b| e[(a, b)] * c64::new(0.0, -1.0));
        let (values, vectors) = hermitian_eigen(&rotated).unwrap();
        let phases: Vec<c64> = values.iter().map(|&x| c64::from_polar(1.0, x)).collect();
        let half = product(&vectors.adjoint(), &Matrix::diagonal(&phases));
        assert!(distance(&q, &product(&half, &vectors)) < 1e-12, "{p}");
    }
}

#[test]
fn reorthogonalize_makes_a_nearly_unitary_matrix_unitary() {
    let (_, unitary) = hermitian_eigen(&hermitian_example(6)).unwrap();
    let mut near = unitary.clone();
    near.as_mut_slice()
        .iter_mut()
        .for_each(|x| *x *= 1.0 + 1e-8);
    let corrected = reorthogonalize(&near);
    assert!(
        distance(
            &product_adjoint(&corrected, &corrected),
            &Matrix::identity(6)
        ) < 1e-14
    );
}

#[test]
fn eigenvectors_are_real_or_span_the_plane_of_a_complex_pair() {
    let m = Matrix::from_rows(3, 3, vec![2.0, 1.0, 0.0, 0.0, 3.0, 1.0, 0.5, 0.0, -1.0]);
    let vectors = eigenvectors(&m).unwrap();
    let inner = product(&inverse(&vectors), &product(&m, &vectors));
    for a in 0..3 {
        for b in (0..3).filter(|b| *b != a) {
            assert!(inner[(a, b)].abs() < 1e-12);
        }
    }
    // A rotation in a plane, which has no real eigenvectors in it.
    let turn = Matrix::from_rows(3, 3, vec![0.0, -1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 2.0]);
    let vectors = eigenvectors(&turn).unwrap();
    assert!(log_abs_det(&vectors).is_finite());
    let inner = product(&inverse(&vectors), &product(&turn, &vectors));
    let blocks = (0..3).filter(|a| (inner[(*a, *a)] - 2.0).abs() < 1e-12);
    assert_eq!(blocks.count(), 1);
}

#[test]
fn decompositions_reproduce_the_matrix_at_all_sizes() {
    fn check_factors<T: Scalar>(m: &Matrix<T>) {
        let p = m.rows();
        let apart = |x: &Matrix<T>, y: &Matrix<T>| {
            let difference = Matrix::<T>::from_fn(p, p, |a, b| x[(a, b)] - y[(a, b)]);
            difference.norm()
        };
        let factor = cholesky(m).expect("positive definite");
        assert!(apart(&product_adjoint(&factor, &factor), m) < 1e-12, "{p}");
        assert!((0..p).all(|a| (a + 1..p).all(|b| factor[(a, b)] == T::ZERO)));
        let identity = product(&inverse(m), m);
        assert!(apart(&identity, &Matrix::identity(p)) < 1e-11, "{p}");
        let diagonal = (0..p).map(|a| 2.0 * factor[(a, a)].real().ln());
        let error = log_abs_det(m) - diagonal.sum::<f64>();
        assert!(error.abs() < 1e-11, "{p}");
    }
    for p in (1..=small::MAX_FACTOR_SIZE).chain([small::MAX_FACTOR_SIZE + 1, 20]) {
        let m = hermitian_example(p);
        check_factors(&m);
        check_factors(&Matrix::<f64>::from_fn(p, p, |a, b| m[(a, b)].re));
        let (values, vectors) = hermitian_eigen(&m).expect("it converges");
        assert!(values.is_sorted());
        let rotated = product_adjoint(&product(&vectors, &m), &vectors);
        let expected = Matrix::from_fn(p, p, |a, b| {
            c64::new(if a == b { values[a] } else { 0.0 }, 0.0)
        });
        assert!(distance(&rotated, &expected) < 1e-12 * values[p - 1], "{p}");
        let unit = product_adjoint(&vectors, &vectors);
        assert!(distance(&unit, &Matrix::identity(p)) < 1e-13 * p as f64);
        let (mut sum, other) = (m.clone(), complex_example(p));
        add_symmetric_product(&mut sum, 0.5, &m, &other);
        let left = product_adjoint(&m, &other);
        let right = product(&other.adjoint(), &m);
        let expected = Matrix::from_fn(p, p, |a, b| {
            m[(a, b)] + (left[(a, b)] + right[(a, b)]) * 0.5
        });
        assert!(distance(&sum, &expected) < 1e-11, "{p}");
    }
}

#[test]
fn singular_and_indefinite_matrices_have_no_factors() {
    for p in [2, small::MAX_FACTOR_SIZE + 1] {
        let mut m = Matrix::<f64>::identity(p);
        m[(p - 1, p - 1)] = -1.0;
        assert!(cholesky(&m).is_none(), "{p}");
        assert!((inverse(&m)[(p - 1, p - 1)] + 1.0).abs() < 1e-15);
        m[(p - 1, p - 1)] = 0.0;
        assert!(cholesky(&m).is_none() && !inverse(&m).is_finite(), "{p}");
        assert_eq!(log_abs_det(&m), f64::NEG_INFINITY);
        m[(0, 0)] = f64::NAN;
        assert!(cholesky(&m).is_none(), "{p}");
    }
}

#[test]
fn small_eigenvectors_agree_with_faer() {
    for p in 1..=small::MAX_SIZE {
        for unit in [1.0, 1e-200, 1e200] {
            let m = product_adjoint(&example(p), &example(p));
            // Eigenvalues of both signs.
            let m = Matrix::from_fn(p, p, |a, b| {
                let shift = f64::from(u8::from(a == b));
                unit * (m[(a.max(b), a.min(b))] - shift)
            });
            let (values, vectors) = small::symmetric_eigen(&m).unwrap();
            let expected = hermitian_eigenvalues(&m).unwrap();
            let largest = unit * 10.0 * p as f64;
            let pairs = values.iter().zip(&expected);
            let off = pairs.fold(0.0_f64, |off, (x, y)| off.max((x - y).abs()));
            assert!(off < 1e-14 * largest, "{p}: {off}");
            let whole = product_adjoint(&product(&vectors, &m), &vectors);
            let gram = product_adjoint(&vectors, &vectors);
            for (a, b) in (0..p).flat_map(|a| (0..p).map(move |b| (a, b))) {
                let same = f64::from(u8::from(a == b));
                assert!((whole[(a, b)] - same * values[a]).abs() < 1e-14 * largest);
                assert!((gram[(a, b)] - same).abs() < 1e-14);
            }
        }
    }
    let zero = small::symmetric_eigen(&Matrix::<f64>::zeros(3, 3)).unwrap();
    assert_eq!(zero, (vec![0.0; 3], Matrix::identity(3)));
    let broken = Matrix::from_rows(2, 2, vec![1.0, 0.0, 0.0, f64::NAN]);
    assert!(small::symmetric_eigen(&broken).is_none());
}
