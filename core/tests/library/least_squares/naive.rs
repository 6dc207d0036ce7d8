//! Loss, gradient and methods against naive implementations.

use std::ops::ControlFlow;

use codiag::synthetic::amari_distance;
use codiag::{
    Evaluation, Init, Matrix, MatrixSet, Method, Record, Scalar, Settings, StepKind, diagonalize,
    diagonalize_with,
};

use super::{
    Number, delta, distance, near_identity, number, options, real_and_complex, set, solve,
};

real_and_complex!(
    loss_and_gradient_match_the_fit,
    acdc_matches_a_naive_implementation,
    uwedge_and_ffdiag_match_naive_implementations,
);

/// The inverse by Gauss–Jordan elimination with partial pivoting.
pub(super) fn inverse<T: Scalar>(m: &Matrix<T>) -> Matrix<T> {
    let p = m.rows();
    let mut work = Matrix::from_fn(
        p,
        2 * p,
        |a, b| {
            if b < p { m[(a, b)] } else { delta(a, b - p) }
        },
    );
    for k in 0..p {
        let size = |row: &usize| work[(*row, k)].abs();
        let pivot = (k..p).max_by(|x, y| size(x).total_cmp(&size(y))).unwrap();
        for c in 0..2 * p {
            let swapped = work[(k, c)];
            work[(k, c)] = work[(pivot, c)];
            work[(pivot, c)] = swapped;
        }
        let divisor = work[(k, k)];
        (0..2 * p).for_each(|c| work[(k, c)] /= divisor);
        for row in (0..p).filter(|row| *row != k) {
            let factor = work[(row, k)];
            for c in 0..2 * p {
                let own = work[(k, c)];
                work[(row, c)] -= factor * own;
            }
        }
    }
    Matrix::from_fn(p, p, |a, b| work[(a, p + b)])
}

pub(super) fn matrices<T: Scalar>(set: &MatrixSet<T>) -> Vec<Matrix<T>> {
    (0..set.len()).map(|i| set.matrix(i)).collect()
}

/// The best diagonals Λⁱ for A, from the normal equations of each matrix, and the residual fraction
/// of the energy.
pub(super) fn fit<T: Scalar>(matrices: &[Matrix<T>], a: &Matrix<T>) -> (Vec<Vec<f64>>, f64) {
    let p = a.rows();
    let gram = &a.adjoint() * a;
    let squared = Matrix::from_fn(p, p, |x, y| T::from_real(gram[(x, y)].norm_sqr()));
    let inverse = inverse(&squared);
    let (mut residual, mut total) = (0.0, 0.0);
    let mut all = Vec::new();
    for c in matrices {
        let inner = &(&a.adjoint() * c) * a;
        let dots = Matrix::from_fn(p, 1, |x, _| inner[(x, x)]);
        let diagonal = (&inverse * &dots).into_vec();
        let fit = &(a * &Matrix::diagonal(&diagonal)) * &a.adjoint();
        let rest = Matrix::from_fn(p, p, |x, y| c[(x, y)] - fit[(x, y)]);
        residual += rest.dot(&rest);
        total += c.dot(c);
        all.push(diagonal.iter().map(|x| x.real()).collect());
    }
    (all, residual / total)
}

/// A with columns scaled to unit norm.
pub(super) fn normalized<T: Scalar>(a: &Matrix<T>) -> Matrix<T> {
    let p = a.rows();
    let norm = |c: usize| {
        let squares = (0..p).map(|k| a[(k, c)].norm_sqr());
        squares.sum::<f64>().sqrt()
    };
    Matrix::from_fn(p, p, |k, c| a[(k, c)] / norm(c))
}

/// The iterates of a method and their records.
fn points<T: Scalar>(
    set: &MatrixSet<T>,
    method: Method,
    start: &Matrix<T>,
    max_iter: usize,
) -> Vec<(Matrix<T>, Record)> {
    let settings = Settings::default()
        .method(method)
        .init(Init::given(start))
        .max_iter(max_iter);
    let mut seen = Vec::new();
    let mut observer = |record: &Record, b: &Matrix<T>| {
        seen.push((b.clone(), record.clone()));
        ControlFlow::Continue(())
    };
    diagonalize_with(set, &settings, &mut observer).unwrap();
    seen
}

fn loss_and_gradient_match_the_fit<T: Number>() {
    let (n, p) = (11, 5);
    let (data, _) = T::mixed(n, p, 0.7, 3);
    let weights: Vec<f64> = (0..n).map(|i| 1.0 + (i % 3) as f64).collect();
    let set = MatrixSet::with_options(&data, n, p, &options().weights(weights.clone())).unwrap();
    let b = near_identity::<T>(p, 4);
    // A weight is equivalent to multiplying the matrix by its square root.
    let total: f64 = weights.iter().sum();
    let weighted: Vec<Matrix<T>> = matrices(&set)
        .iter()
        .zip(&weights)
        .map(|(c, w)| Matrix::from_fn(p, p, |x, y| c[(x, y)] * (w / total).sqrt()))
        .collect();
    let here = Evaluation::at(&set, &b).unwrap();
    assert!((here.loss - fit(&weighted, &inverse(&b)).1).abs() < 1e-12);
    for seed in [1, 5, 8] {
        let e = Matrix::from_fn(p, p, |x, y| number::<T>(seed + 3 * x + 7 * y));
        let loss = |t: f64| {
            let step = Matrix::from_fn(p, p, |x, y| e[(x, y)] * t + delta::<T>(x, y));
            Evaluation::at(&set, &(&step * &b)).unwrap().loss
        };
        let h = 1e-5;
        let slope = (loss(h) - loss(-h)) / (2.0 * h);
        assert!((slope - here.gradient.dot(&e)).abs() < 1e-8, "{slope}");
    }
    // The loss does not depend on the scales and phases of rows.
    let scaled = Matrix::from_fn(p, p, |a, c| b[(a, c)] * number::<T>(a + 1) * 30.0);
    assert!((Evaluation::at(&set, &scaled).unwrap().loss - here.loss).abs() < 1e-12);
}

fn acdc_matches_a_naive_implementation<T: Number>() {
    let (n, p) = (20, 5);
    let set = set::<T>(n, p, 0.6, 2);
    let all = matrices(&set);
    let start = near_identity(p, 2);
    let mut a = normalized(&inverse(&start));
    for (b, _) in &points(&set, Method::Acdc, &start, 3)[1..] {
        let (diagonals, _) = fit(&all, &a);
        for column in 0..p {
            let mut sum = Matrix::<T>::zeros(p, p);
            let mut energy = 0.0;
            for (c, own) in all.iter().zip(&diagonals) {
                energy += own[column].powi(2);
                for x in 0..p {
                    for y in 0..p {
                        let others = (0..p).filter(|k| *k != column);
                        let fit: T = others.map(|k| a[(x, k)] * a[(y, k)].conj() * own[k]).sum();
                        sum[(x, y)] += (c[(x, y)] - fit) * own[column];
                    }
                }
            }
            // The leading eigenvector, by power iteration on the matrix shifted to be positive
            // definite.
            let shift = sum.norm();
            (0..p).for_each(|x| sum[(x, x)] += T::from_real(shift));
            let mut vector = Matrix::from_fn(p, 1, |k, _| a[(k, column)]);
            for _ in 0..100_000 {
                vector = &sum * &vector;
                let norm = vector.norm();
                vector
                    .as_mut_slice()
                    .iter_mut()
                    .for_each(|x| *x = *x / norm);
            }
            let value = vector.dot(&(&sum * &vector)) - shift;
            let length = (value / energy).sqrt();
            (0..p).for_each(|k| a[(k, column)] = vector[(k, 0)] * length);
        }
        a = normalized(&a);
        assert!(amari_distance(b, &a) < 1e-7);
    }
}

/// Σ_i Dⁱ_bb Dⁱ_ab and Σ_i Dⁱ_aa Dⁱ_bb.
fn wedge_sums<T: Scalar>(all: &[Matrix<T>], b: &Matrix<T>) -> (Matrix<T>, Matrix) {
    let p = b.rows();
    let (mut y, mut z) = (Matrix::<T>::zeros(p, p), Matrix::<f64>::zeros(p, p));
    for c in all {
        let d = &(b * c) * &b.adjoint();
        for k in 0..p {
            for l in 0..p {
                y[(k, l)] += d[(k, l)] * d[(l, l)].real();
                z[(k, l)] += d[(k, k)].real() * d[(l, l)].real();
            }
        }
    }
    (y, z)
}

fn uwedge_and_ffdiag_match_naive_implementations<T: Number>() {
    let (n, p) = (20, 5);
    let set = set::<T>(n, p, 0.4, 4);
    let all = matrices(&set);
    let start = near_identity(p, 6);
    for method in [Method::Uwedge, Method::Ffdiag] {
        let mut b = inverse(&normalized(&inverse(&start)));
        for (found, record) in &points(&set, method, &start, 5)[1..] {
            let (y, z) = wedge_sums(&all, &b);
            // E minimizes ‖D + E diag D + diag D Eᴴ‖ for each pair of components. As in the papers,
            // U-WEDGE uses A = I − E with unit diagonal and FFDIAG uses W = E with zero diagonal.
            let e = Matrix::from_fn(p, p, |k, l| {
                let determinant = z[(k, k)] * z[(l, l)] - z[(k, l)].powi(2);
                if k == l {
                    return T::ZERO;
                }
                (y[(l, k)].conj() * z[(k, l)] - y[(k, l)] * z[(k, k)]) / determinant
            });
            b = if method == Method::Uwedge {
                let step = Matrix::from_fn(p, p, |k, l| delta::<T>(k, l) - e[(k, l)]);
                &inverse(&step) * &b
            } else {
                let length = f64::min(1.0 / e.norm(), 1.0);
                let step = Matrix::from_fn(p, p, |k, l| e[(k, l)] * length + delta::<T>(k, l));
                &step * &b
            };
            b = inverse(&normalized(&inverse(&b)));
            assert!(distance(found, &b) < 1e-9 * b.norm(), "{method:?}");
            assert_eq!(record.kind, StepKind::Wedge);
            assert!((record.loss - fit(&all, &inverse(&b)).1).abs() < 1e-10);
        }
        // At the end the equation of the method holds, and the loss is close to the nearest
        // minimum.
        let result = solve(&set, method);
        let from_there = Settings::default().init(Init::given(&result.b));
        let newton = diagonalize(&set, &from_there).unwrap();
        assert!(result.status.is_converged() && newton.status.is_converged());
        let (y, z) = wedge_sums(&all, &result.b);
        for k in 0..p {
            let others = (0..p).filter(|l| *l != k);
            assert!(
                others
                    .into_iter()
                    .all(|l| y[(k, l)].abs() < 1e-6 * z[(l, l)])
            );
        }
        assert!(newton.loss <= result.loss && result.loss < 2.0 * newton.loss);
    }
}
