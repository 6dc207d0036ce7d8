//! Every kernel against the plainest loops, for sizes that exercise all tiles.

use super::*;
use crate::criterion::Criterion;
use crate::linalg::{Matrix, Triangle, log_abs_det, product, product_transposed};

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

/// Where entry (a, b) of a triangle is.
fn place(a: usize, b: usize) -> usize {
    Triangle::new(a.max(b) + 1).index(a, b)
}

/// A repeatable number in (−1, 1).
fn number(k: usize) -> f64 {
    let x = (k as f64 * 0.754_877_666 + 0.3).fract() * 731.0;
    2.0 * x.fract() - 1.0
}

fn square(p: usize, seed: usize) -> Matrix {
    Matrix::from_fn(p, p, |a, b| number(seed + a * p + b))
}

/// A block of well-conditioned matrices, and the matrices.
fn block(p: usize, lanes: usize) -> (Vec<f64>, Vec<Matrix>) {
    let matrices: Vec<Matrix> = (0..lanes)
        .map(|i| {
            let root = square(p, 1000 * i);
            let mut matrix = product_transposed(&root, &root);
            (0..p).for_each(|a| matrix[(a, a)] += 1.0 + i as f64 / lanes as f64);
            matrix
        })
        .collect();
    let mut entries = vec![0.0; Triangle::new(p).len() * lanes];
    for (i, matrix) in matrices.iter().enumerate() {
        for a in 0..p {
            for b in 0..=a {
                entries[place(a, b) * lanes + i] = matrix[(a, b)];
            }
        }
    }
    (entries, matrices)
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

#[test]
fn congruence_is_that_of_each_matrix() {
    for (p, lanes) in SIZES {
        let (entries, matrices) = block(p, lanes);
        for rows in [p, 1, p.div_ceil(2)] {
            let transform = Matrix::from_fn(rows, p, |a, b| number(77 + a * p + b));
            let mut result = vec![0.0; Triangle::new(rows).len() * lanes];
            let mut cross = vec![0.0; Triangle::new(p).len() * lanes];
            let task = Congruence {
                transform: &transform,
                input: &entries,
                lanes,
                square: &mut result,
                cross: (rows == p).then_some(&mut cross[..]),
            };
            congruence(task, &mut Vec::new());
            for (i, matrix) in matrices.iter().enumerate() {
                let half = product(&transform, matrix);
                let whole = product_transposed(&half, &transform);
                for a in 0..rows {
                    for b in 0..=a {
                        assert_close(result[place(a, b) * lanes + i], whole[(a, b)]);
                        if rows == p {
                            let both = half[(a, b)] + half[(b, a)];
                            assert_close(cross[place(a, b) * lanes + i], both);
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn moments_are_the_sums_they_say() {
    for (p, lanes) in SIZES {
        let (entries, matrices) = block(p, lanes);
        let w = weights(lanes);
        let mut sums = MomentSums::new(p);
        accumulate_moments(
            Criterion::Likelihood,
            p,
            &entries,
            &w,
            &mut sums,
            &mut Vec::new(),
        );
        for a in 0..p {
            for b in 0..p {
                let sum = |f: &dyn Fn(&Matrix) -> f64| -> f64 {
                    matrices.iter().zip(&w).map(|(d, w)| w * f(d)).sum()
                };
                let gamma = sum(&|d| d[(b, b)] / d[(a, a)]);
                assert_close(sums.gamma[(a, b)], gamma);
                let gradient = if a == b {
                    0.0
                } else {
                    sum(&|d| d[(a, b)] / d[(a, a)])
                };
                assert_close(sums.gradient[(a, b)], gradient);
            }
        }
    }
}

#[test]
fn hessian_rows_and_products_are_those_of_the_formula() {
    for (p, lanes) in SIZES {
        let (entries, matrices) = block(p, lanes);
        let w = weights(lanes);
        let mut hessian = vec![0.0; hessian_len(p)];
        accumulate_hessian(
            Criterion::Likelihood,
            p,
            &entries,
            &w,
            &mut hessian,
            true,
            &mut Vec::new(),
        );
        let entry = |a: usize, b: usize, c: usize| -> f64 {
            let term = |d: &Matrix| {
                d[(b, c)] / d[(a, a)] - 2.0 * d[(a, b)] * d[(a, c)] / d[(a, a)].powi(2)
            };
            matrices.iter().zip(&w).map(|(d, w)| w * term(d)).sum()
        };
        let e = square(p, 5);
        let (groups, triangle) = (p.div_ceil(LANES), Triangle::new(p));
        let place = |a: usize, b: usize| (a / LANES * p + b) * LANES + a % LANES;
        let mut operand = vec![0.0; groups * p * LANES];
        let mut result = operand.clone();
        for a in 0..p {
            for b in 0..p {
                operand[place(a, b)] = e[(a, b)];
            }
        }
        hessian_times(p, &hessian, &operand, &mut result);
        let mut swept = Matrix::zeros(p, p);
        accumulate_product(
            Criterion::Likelihood,
            &e,
            &entries,
            &w,
            &mut swept,
            &mut Vec::new(),
        );
        for a in 0..p {
            for b in 0..p {
                let mut expected = 0.0;
                for c in 0..p {
                    let at = (a / LANES * Triangle::new(p).len() + triangle.index(b, c)) * LANES
                        + a % LANES;
                    assert_close(hessian[at], entry(a, b, c));
                    expected += entry(a, b, c) * e[(a, c)];
                }
                assert_close(result[place(a, b)], expected);
                assert_close(swept[(a, b)], expected);
            }
        }
    }
}

#[test]
fn pivots_multiply_to_the_determinant() {
    for (p, lanes) in SIZES {
        let (entries, matrices) = block(p, lanes);
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
fn a_matrix_that_is_not_positive_definite_has_a_share_that_says_so() {
    let (mut entries, _) = block(3, 8);
    entries[place(2, 2) * 8 + 5] = -1.0;
    entries[place(0, 0) * 8 + 6] = 0.0;
    let (mut pivots, mut smallest) = (vec![0.0; 24], vec![0.0; 8]);
    cholesky_pivots(3, &entries, 8, 1e-15, &mut pivots, &mut smallest);
    assert!(smallest[5] < 0.0 && smallest[6] <= 1e-15 && smallest[4] > 1e-3);
    assert!(pivots.iter().all(|x| x.is_finite()));
}

#[test]
fn logarithms_of_products_are_sums_of_logarithms() {
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

#[test]
fn slope_and_advance_follow_the_quadratics() {
    for (p, lanes) in SIZES {
        let (entries, matrices) = block(p, lanes);
        let w = weights(lanes);
        let e = Matrix::from_fn(p, p, |a, b| 0.1 * number(9 + a * p + b));
        let (mut cross, mut squared) = (vec![0.0; entries.len()], vec![0.0; entries.len()]);
        let task = Congruence {
            transform: &e,
            input: &entries,
            lanes,
            square: &mut squared,
            cross: Some(&mut cross),
        };
        congruence(task, &mut Vec::new());
        let alpha = 0.7;
        let m = Matrix::from_fn(p, p, |a, b| alpha * e[(a, b)] + f64::from(u8::from(a == b)));
        let scale: Vec<f64> = (0..p).map(|a| 1.0 + a as f64).collect();
        let mut moved = entries.clone();
        advance(&mut moved, &cross, &squared, lanes, alpha, &scale);
        let mut logs = 0.0;
        for (i, matrix) in matrices.iter().enumerate() {
            let whole = product_transposed(&product(&m, matrix), &m);
            for a in 0..p {
                logs += w[i] * whole[(a, a)].ln();
                for b in 0..=a {
                    let expected = scale[a] * scale[b] * whole[(a, b)];
                    assert_close(moved[place(a, b) * lanes + i], expected);
                }
            }
        }
        let at = |alpha| {
            line_point(
                Criterion::Likelihood,
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

#[test]
fn diagonals_of_a_line_are_those_of_the_congruences() {
    for (p, lanes) in SIZES {
        let (entries, matrices) = block(p, lanes);
        let w = weights(lanes);
        let b = Matrix::from_fn(p, p, |a, c| {
            0.2 * number(5 + a * p + c) + f64::from(u8::from(a == c))
        });
        let e = Matrix::from_fn(p, p, |a, c| 0.1 * number(9 + a * p + c));
        let f = product(&e, &b);
        let mut out = vec![0.0; 3 * p * lanes];
        line_diagonals(&b, &f, &entries, lanes, &mut out, &mut Vec::new());
        for (i, matrix) in matrices.iter().enumerate() {
            let d = product_transposed(&product(&b, matrix), &b);
            let (cross, square) = (product(&e, &d), product_transposed(&product(&e, &d), &e));
            for a in 0..p {
                assert_close(out[a * lanes + i], d[(a, a)]);
                assert_close(out[(p + a) * lanes + i], 2.0 * cross[(a, a)]);
                assert_close(out[(2 * p + a) * lanes + i], square[(a, a)]);
            }
        }
        // The slope of the ratios is that of the whole, but for the logarithms at 0.
        let (mut d, mut cross) = (vec![0.0; entries.len()], vec![0.0; entries.len()]);
        let mut square = vec![0.0; entries.len()];
        let congruent = |m: &Matrix, input: &[f64], out: &mut [f64], cross: Option<&mut [f64]>| {
            let task = Congruence {
                transform: m,
                input,
                lanes,
                square: out,
                cross,
            };
            congruence(task, &mut Vec::new());
        };
        congruent(&b, &entries, &mut d, None);
        congruent(&e, &d, &mut square, Some(&mut cross));
        let (powers, ratios) = out.split_at_mut(p * lanes);
        let both = ratios.chunks_exact_mut(p * lanes);
        both.for_each(|rows| rows.iter_mut().zip(&*powers).for_each(|(x, d)| *x /= d));
        let start = line_point(Criterion::Likelihood, p, &d, &cross, &square, &w, 0.0);
        for alpha in [0.0, 0.7] {
            let whole = line_point(Criterion::Likelihood, p, &d, &cross, &square, &w, alpha);
            let ratios = line_point_of_ratios(p, ratios, &w, alpha);
            assert_close(start.sum + ratios.sum, whole.sum);
            assert_close(ratios.first, whole.first);
            assert_close(ratios.second, whole.second);
        }
    }
}

#[test]
fn a_sheared_pair_is_a_congruence() {
    for (p, lanes) in SIZES.into_iter().filter(|(p, _)| *p > 1) {
        for (a, b) in [(1, 0), (p - 1, 0), (p - 1, p - 2)] {
            let (mut entries, matrices) = block(p, lanes);
            let w = weights(lanes);
            let sums = pair_sums(Criterion::Likelihood, p, &entries, &w, (a, b));
            let sum = |f: &dyn Fn(&Matrix) -> f64| -> f64 {
                matrices.iter().zip(&w).map(|(d, w)| w * f(d)).sum()
            };
            assert_close(sums.gradient_ab, sum(&|d| d[(a, b)] / d[(a, a)]));
            assert_close(sums.gradient_ba, sum(&|d| d[(a, b)] / d[(b, b)]));
            assert_close(sums.gamma_ab, sum(&|d| d[(b, b)] / d[(a, a)]));
            assert_close(sums.gamma_ba, sum(&|d| d[(a, a)] / d[(b, b)]));
            let mut m = Matrix::identity(p);
            m[(a, b)] = 0.3;
            m[(b, a)] = -0.2;
            shear_pair(p, &mut entries, lanes, (a, b), (0.3, -0.2));
            for (i, matrix) in matrices.iter().enumerate() {
                let whole = product_transposed(&product(&m, matrix), &m);
                for c in 0..p {
                    for d in 0..=c {
                        assert_close(entries[place(c, d) * lanes + i], whole[(c, d)]);
                    }
                }
            }
        }
    }
}

#[test]
fn combinations_and_correlations_are_adjoint() {
    for (p, lanes) in SIZES {
        let (entries, matrices) = block(p, lanes);
        let w = weights(lanes);
        let mut mean = vec![0.0; Triangle::new(p).len()];
        combine(&entries, &w, &mut mean);
        let expected: f64 = matrices
            .iter()
            .zip(&w)
            .map(|(d, w)| w * d[(p - 1, 0)])
            .sum();
        assert_close(mean[place(p - 1, 0)], expected);
        let probes: Vec<f64> = (0..LANES * Triangle::new(p).len()).map(number).collect();
        let mut out = vec![0.0; LANES * lanes];
        correlate_eight(&entries, &probes, &mut out);
        for k in 0..LANES {
            let left: f64 = out[k * lanes..][..lanes]
                .iter()
                .zip(&w)
                .map(|(x, w)| x * w)
                .sum();
            let probe = &probes[k * Triangle::new(p).len()..][..Triangle::new(p).len()];
            let right: f64 = mean.iter().zip(probe).map(|(x, s)| x * s).sum();
            assert_close(left, right);
        }
        let coefficients: Vec<f64> = (0..lanes * LANES).map(|k| w[k / LANES]).collect();
        let mut eight = vec![0.0; Triangle::new(p).len() * LANES];
        combine_eight(&entries, &coefficients, &mut eight);
        for (x, mean) in eight.chunks_exact(LANES).zip(&mean) {
            assert_close(x[3], *mean);
        }
    }
}

#[test]
fn a_rotated_pair_is_a_congruence() {
    let lanes = LANES;
    for p in [2, 3, 5, 8] {
        let (mut entries, matrices) = block(p, lanes);
        let (a, b) = (p - 1, (p - 1) / 2);
        let (c, s) = (0.8, 0.6);
        let mut m = Matrix::identity(p);
        (m[(a, a)], m[(a, b)], m[(b, a)], m[(b, b)]) = (c, s, -s, c);
        rotate_pair(p, &mut entries, lanes, (a, b), (c, s));
        for (i, matrix) in matrices.iter().enumerate() {
            let whole = product_transposed(&product(&m, matrix), &m);
            for x in 0..p {
                for y in 0..=x {
                    assert_close(entries[place(x, y) * lanes + i], whole[(x, y)]);
                }
            }
        }
    }
}
