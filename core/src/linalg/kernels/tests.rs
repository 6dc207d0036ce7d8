//! Tests of kernels against plain loops, with real and complex matrices, for sizes that exercise
//! all tiles.

mod hessian;
mod line;

use super::DiagonalFunction;
use super::*;
use crate::linalg::{Matrix, Scalar, Triangle, c64, log_abs_det, product, product_adjoint};
use hessian::hessians;

const SIZES: [(usize, usize); 8] = [
    (1, 8),
    (2, 8),
    (3, 16),
    (5, 24),
    (7, 8),
    (9, 40),
    (16, 8),
    (23, 24),
];

/// Returns the index of entry (a, b) of a triangle.
fn place(a: usize, b: usize) -> usize {
    Triangle::new(a.max(b) + 1).index(a, b)
}

/// Returns a reproducible pseudo-random number in (−1, 1).
fn number(k: usize) -> f64 {
    let x = (k as f64 * 0.754_877_666 + 0.3).fract() * 731.0;
    2.0 * x.fract() - 1.0
}

/// Returns a reproducible pseudo-random scalar.
fn scalar<T: Scalar>(k: usize) -> T {
    T::from_parts(number(k), number(k + 5000))
}

fn square<T: Scalar>(p: usize, seed: usize) -> Matrix<T> {
    Matrix::from_fn(p, p, |a, b| scalar(seed + a * p + b))
}

/// Returns a block of well-conditioned matrices, and the matrices themselves.
fn block<T: Scalar>(p: usize, lanes: usize) -> (Vec<f64>, Vec<Matrix<T>>) {
    let matrices: Vec<Matrix<T>> = (0..lanes)
        .map(|i| {
            let root = square(p, 1000 * i);
            let mut matrix = product_adjoint(&root, &root);
            let lift = |i: usize| T::from_real(1.0 + i as f64 / lanes as f64);
            (0..p).for_each(|a| matrix[(a, a)] += lift(i));
            matrix
        })
        .collect();
    let plane = Triangle::new(p).len() * lanes;
    let mut entries = vec![0.0; T::PLANES * plane];
    for (i, matrix) in matrices.iter().enumerate() {
        for a in 0..p {
            for b in 0..=a {
                entries[place(a, b) * lanes + i] = matrix[(a, b)].real();
                if b < a && T::PLANES == 2 {
                    entries[plane + place(a, b) * lanes + i] = matrix[(a, b)].imaginary();
                }
            }
        }
    }
    (entries, matrices)
}

/// Entry (a, b) of matrix i of a block of p×p matrices, b ≤ a.
fn entry<T: Scalar>(
    p: usize,
    entries: &[f64],
    lanes: usize,
    (a, b): (usize, usize),
    i: usize,
) -> T {
    let at = place(a, b) * lanes + i;
    let second = (T::PLANES - 1) * Triangle::new(p).len() * lanes;
    T::from_parts(entries[at], entries[second + at])
}

/// Asserts that every matrix of a block is the expected one.
fn assert_block<T: Scalar>(p: usize, entries: &[f64], lanes: usize, expected: &[Matrix<T>]) {
    for (i, matrix) in expected.iter().enumerate() {
        for (a, b) in Triangle::new(p).pairs() {
            assert_near(entry(p, entries, lanes, (a, b), i), matrix[(a, b)]);
        }
    }
}

/// Runs a test with real and with complex matrices.
macro_rules! both {
    ($($name:ident => $test:ident),* $(,)?) => {
        $(
            #[test]
            fn $name() {
                $test::<f64>();
                $test::<c64>();
            }
        )*
    };
}

both! {
    congruence_agrees_with_single_matrices => congruences,
    moments_agree_with_their_definition => moments,
    hessian_agrees_with_the_formula => hessians,
    pivots_multiply_to_the_determinant => pivots,
    line_point_and_advance_agree_with_congruences => quadratics,
    line_diagonals_agree_with_congruences => line,
    shear_of_a_pair_agrees_with_congruence => sheared,
    rotation_of_a_pair_agrees_with_congruence => rotated,
    combinations_and_correlations_are_adjoint => combinations,
}

fn weights(lanes: usize) -> Vec<f64> {
    (0..lanes).map(|i| 0.1 + number(i).abs()).collect()
}

fn assert_close(actual: f64, expected: f64) {
    let error = (actual - expected).abs();
    assert!(
        error <= 1e-11 * (1.0 + expected.abs()),
        "{actual} is not {expected}"
    );
}

fn assert_near<T: Scalar>(actual: T, expected: T) {
    assert!(
        (actual - expected).abs() <= 1e-11 * (1.0 + expected.abs()),
        "{actual} is not {expected}"
    );
}

fn congruences<T: Scalar>() {
    // The last size is transformed in panels, the last of which is not full.
    for (p, lanes) in SIZES.into_iter().chain([(4, 24), (6, 40), (53, 24)]) {
        let (entries, matrices) = block::<T>(p, lanes);
        for rows in [p, 1, p.div_ceil(2)] {
            let transform = Matrix::from_fn(rows, p, |a, b| scalar::<T>(77 + a * p + b));
            let mut result = vec![f64::NAN; T::PLANES * Triangle::new(rows).len() * lanes];
            let mut cross = vec![f64::NAN; T::PLANES * Triangle::new(p).len() * lanes];
            let task = Congruence {
                transform: &transform,
                input: &entries,
                lanes,
                matrices: lanes,
                square: &mut result,
                cross: (rows == p).then_some(&mut cross[..]),
            };
            congruence(task);
            let mut partial = vec![f64::NAN; result.len()];
            let partial_task = Congruence {
                transform: &transform,
                input: &entries,
                lanes,
                matrices: lanes - 7,
                square: &mut partial,
                cross: None,
            };
            congruence(partial_task);
            for (row, whole) in partial.chunks_exact(lanes).zip(result.chunks_exact(lanes)) {
                // Vectors without a matrix are not written, unless a vector holds eight numbers.
                let some = lanes - 7;
                assert_eq!(row[..some], whole[..some]);
                let rest = row[some..].iter().zip(&whole[some..]);
                assert!(rest.into_iter().all(|(x, y)| x.is_nan() || x == y));
            }
            let halves: Vec<Matrix<T>> = matrices.iter().map(|d| product(&transform, d)).collect();
            let whole = halves.iter().map(|half| product_adjoint(half, &transform));
            assert_block(rows, &result, lanes, &whole.collect::<Vec<_>>());
            if rows == p {
                let sum = |half: &Matrix<T>| {
                    Matrix::from_fn(p, p, |a, b| half[(a, b)] + half[(b, a)].conj())
                };
                let both: Vec<Matrix<T>> = halves.iter().map(sum).collect();
                assert_block(p, &cross, lanes, &both);
            }
        }
    }
}

fn moments<T: Scalar>() {
    for (p, lanes) in SIZES {
        let (entries, matrices) = block::<T>(p, lanes);
        let w = weights(lanes);
        let mut sums = MomentSums::<T>::new(p);
        accumulate_moments(DiagonalFunction::Log, p, &entries, &w, &mut sums);
        for a in 0..p {
            for b in 0..p {
                let sum = |f: &dyn Fn(&Matrix<T>) -> T| -> T {
                    matrices.iter().zip(&w).map(|(d, w)| f(d) * *w).sum()
                };
                let gamma = sum(&|d| d[(b, b)] / d[(a, a)]);
                assert_close(sums.gamma[(a, b)], gamma.real());
                let gradient = if a == b {
                    T::ZERO
                } else {
                    sum(&|d| d[(a, b)] / d[(a, a)])
                };
                assert_near(sums.gradient[(a, b)], gradient);
            }
        }
    }
}

fn pivots<T: Scalar>() {
    for (p, lanes) in SIZES {
        let (entries, matrices) = block::<T>(p, lanes);
        let (mut pivots, mut smallest) = (vec![0.0; p * lanes], vec![0.0; lanes]);
        cholesky_pivots(p, &entries, lanes, 1e-15, &mut pivots, &mut smallest);
        let mut logs = vec![0.0; lanes];
        sum_of_logs(&pivots, lanes, &mut logs);
        for (i, matrix) in matrices.iter().enumerate() {
            assert_close(logs[i], log_abs_det(matrix));
            assert!(smallest[i] > 0.0 && smallest[i] <= 1.0);
        }
    }
}

#[test]
fn pivot_ratio_detects_indefinite_matrices() {
    let (mut entries, _) = block::<f64>(3, 8);
    entries[place(2, 2) * 8 + 5] = -1.0;
    entries[place(0, 0) * 8 + 6] = 0.0;
    let (mut pivots, mut smallest) = (vec![0.0; 24], vec![0.0; 8]);
    cholesky_pivots(3, &entries, 8, 1e-15, &mut pivots, &mut smallest);
    assert!(smallest[5] < 0.0 && smallest[6] <= 1e-15 && smallest[4] > 1e-3);
    assert!(pivots.iter().all(|x| x.is_finite()));
}

#[test]
fn log_of_products_is_sum_of_logs() {
    let lanes = 8;
    let rows: Vec<f64> = (0..1500 * lanes)
        .map(|k| 10.0_f64.powf(60.0 * number(k)))
        .collect();
    let mut out = vec![0.0; lanes];
    sum_of_logs(&rows, lanes, &mut out);
    for (i, sum) in out.iter().enumerate() {
        let expected: f64 = rows.iter().skip(i).step_by(lanes).map(|x| x.ln()).sum();
        assert!((sum - expected).abs() < 1e-9);
    }
}

fn quadratics<T: Scalar>() {
    for (p, lanes) in SIZES {
        let (entries, matrices) = block::<T>(p, lanes);
        let w = weights(lanes);
        let e = Matrix::from_fn(p, p, |a, b| scalar::<T>(9 + a * p + b) * 0.1);
        let (mut cross, mut squared) = (vec![0.0; entries.len()], vec![0.0; entries.len()]);
        let task = Congruence {
            transform: &e,
            input: &entries,
            lanes,
            matrices: lanes,
            square: &mut squared,
            cross: Some(&mut cross),
        };
        congruence(task);
        let alpha = 0.7;
        let mut m = Matrix::from_fn(p, p, |a, b| e[(a, b)] * alpha);
        (0..p).for_each(|a| m[(a, a)] += T::ONE);
        let scale: Vec<f64> = (0..p).map(|a| 1.0 + a as f64).collect();
        let mut moved = entries.clone();
        advance(&mut moved, &cross, &squared, lanes, alpha, &scale);
        let mut logs = 0.0;
        for (i, matrix) in matrices.iter().enumerate() {
            let whole = product_adjoint(&product(&m, matrix), &m);
            for a in 0..p {
                logs += w[i] * whole[(a, a)].real().ln();
                for b in 0..=a {
                    let expected = whole[(a, b)] * (scale[a] * scale[b]);
                    assert_near(entry(p, &moved, lanes, (a, b), i), expected);
                }
            }
        }
        let at = |alpha| {
            line_point(
                DiagonalFunction::Log,
                p,
                &entries,
                &cross,
                &squared,
                &w,
                alpha,
            )
        };
        assert_close(at(alpha).sum, logs);
        let h = 1e-5;
        let first = (at(alpha + h).sum - at(alpha - h).sum) / (2.0 * h);
        let second = (at(alpha + h).first - at(alpha - h).first) / (2.0 * h);
        assert!((at(alpha).first - first).abs() < 1e-6 * (1.0 + first.abs()));
        assert!((at(alpha).second - second).abs() < 1e-6 * (1.0 + second.abs()));
    }
}

fn line<T: Scalar>() {
    for (p, lanes) in SIZES {
        let (entries, matrices) = block::<T>(p, lanes);
        let w = weights(lanes);
        let mut b = Matrix::from_fn(p, p, |a, c| scalar::<T>(5 + a * p + c) * 0.2);
        (0..p).for_each(|a| b[(a, a)] += T::ONE);
        let e = Matrix::from_fn(p, p, |a, c| scalar::<T>(9 + a * p + c) * 0.1);
        let f = product(&e, &b);
        let mut out = vec![0.0; 3 * p * lanes];
        line_diagonals(&b, &f, &entries, lanes, &mut out);
        for (i, matrix) in matrices.iter().enumerate() {
            let d = product_adjoint(&product(&b, matrix), &b);
            let (cross, square) = (product(&e, &d), product_adjoint(&product(&e, &d), &e));
            for a in 0..p {
                assert_close(out[a * lanes + i], d[(a, a)].real());
                assert_close(out[(p + a) * lanes + i], 2.0 * cross[(a, a)].real());
                assert_close(out[(2 * p + a) * lanes + i], square[(a, a)].real());
            }
        }
        let (mut d, mut cross) = (vec![0.0; entries.len()], vec![0.0; entries.len()]);
        let mut square = vec![0.0; entries.len()];
        let congruent =
            |m: &Matrix<T>, input: &[f64], out: &mut [f64], cross: Option<&mut [f64]>| {
                let task = Congruence {
                    transform: m,
                    input,
                    lanes,
                    matrices: lanes,
                    square: out,
                    cross,
                };
                congruence(task);
            };
        congruent(&b, &entries, &mut d, None);
        congruent(&e, &d, &mut square, Some(&mut cross));
        for alpha in [0.0, 0.7] {
            let whole = line_point(DiagonalFunction::Log, p, &d, &cross, &square, &w, alpha);
            let found = line_point_of_diagonals(DiagonalFunction::Log, p, &out, &w, alpha);
            assert_close(found.sum, whole.sum);
            assert_close(found.first, whole.first);
            assert_close(found.second, whole.second);
        }
    }
}

fn sheared<T: Scalar>() {
    for (p, lanes) in SIZES.into_iter().filter(|(p, _)| *p > 1) {
        for (a, b) in [(1, 0), (p - 1, 0), (p - 1, p - 2)] {
            let (mut entries, matrices) = block::<T>(p, lanes);
            let w = weights(lanes);
            let sums = pair_sums::<T>(DiagonalFunction::Log, p, &entries, &w, (a, b));
            let sum = |f: &dyn Fn(&Matrix<T>) -> T| -> T {
                matrices.iter().zip(&w).map(|(d, w)| f(d) * *w).sum()
            };
            assert_near(sums.gradient_ab, sum(&|d| d[(a, b)] / d[(a, a)]));
            assert_near(sums.gradient_ba, sum(&|d| d[(b, a)] / d[(b, b)]));
            assert_close(sums.gamma_ab, sum(&|d| d[(b, b)] / d[(a, a)]).real());
            assert_close(sums.gamma_ba, sum(&|d| d[(a, a)] / d[(b, b)]).real());
            let (ab, ba) = (T::from_parts(0.3, 0.1), T::from_parts(-0.2, 0.4));
            let mut m = Matrix::identity(p);
            (m[(a, b)], m[(b, a)]) = (ab, ba);
            transform_pair(p, &mut entries, lanes, (a, b), (1.0, ab, ba));
            let whole = matrices
                .iter()
                .map(|d| product_adjoint(&product(&m, d), &m));
            assert_block(p, &entries, lanes, &whole.collect::<Vec<_>>());
        }
    }
}

fn combinations<T: Scalar>() {
    for (p, lanes) in SIZES {
        let (entries, matrices) = block::<T>(p, lanes);
        let w = weights(lanes);
        let rows = T::PLANES * Triangle::new(p).len();
        let mut mean = vec![0.0; rows];
        combine(&entries, &w, &mut mean);
        let terms = matrices.iter().zip(&w).map(|(d, w)| d[(p - 1, 0)] * *w);
        assert_near(entry::<T>(p, &mean, 1, (p - 1, 0), 0), terms.sum());
        let count = 2 * LANES;
        let sketch: Vec<f64> = (0..count * rows).map(number).collect();
        let mut out = vec![0.0; count * lanes];
        correlate_many(&entries, lanes, &sketch, &mut out);
        for k in 0..count {
            let left: f64 = out[k * lanes..][..lanes]
                .iter()
                .zip(&w)
                .map(|(x, w)| x * w)
                .sum();
            let test_matrix = &sketch[k * rows..][..rows];
            let right: f64 = mean.iter().zip(test_matrix).map(|(x, s)| x * s).sum();
            assert_close(left, right);
        }
        // The second group has twice the coefficients of the first.
        let times = |k: usize| (1 + k / (lanes * LANES)) as f64;
        let coefficients = (0..count * lanes).map(|k| times(k) * w[k / LANES % lanes]);
        let coefficients: Vec<f64> = coefficients.collect();
        let mut many = vec![0.0; rows * count];
        combine_many(&entries, lanes, &coefficients, &mut many);
        for (x, mean) in many.chunks_exact(count).zip(&mean) {
            assert_close(x[3], *mean);
            assert_close(x[LANES + 5], 2.0 * mean);
        }
        let products = column_products(&many, &many, count);
        let expected = |j: usize, k: usize| {
            let rows = many.chunks_exact(count);
            rows.map(|row| row[j] * row[k]).sum::<f64>()
        };
        assert_close(products[3 * count + 9], expected(3, 9));
        assert_close(products[11 * count + 2], expected(11, 2));
    }
}

fn rotated<T: Scalar>() {
    let lanes = LANES;
    for p in [2, 3, 5, 8] {
        let (mut entries, matrices) = block::<T>(p, lanes);
        let (a, b) = (p - 1, (p - 1) / 2);
        // A sine of modulus 0.6.
        let (cosine, phase) = (0.8, T::from_parts(0.5, 0.7));
        let sine = phase * (0.6 / phase.abs());
        let mut m = Matrix::identity(p);
        (m[(a, a)], m[(b, b)]) = (T::from_real(cosine), T::from_real(cosine));
        (m[(a, b)], m[(b, a)]) = (sine, -sine.conj());
        let step = (cosine, sine, -sine.conj());
        transform_pair(p, &mut entries, lanes, (a, b), step);
        let whole = matrices
            .iter()
            .map(|d| product_adjoint(&product(&m, d), &m));
        assert_block(p, &entries, lanes, &whole.collect::<Vec<_>>());
    }
}
