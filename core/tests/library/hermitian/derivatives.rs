//! Gradient and Hessian against finite differences in complex directions.

use codiag::backend::{Backend, InMemory, Request, Sums, Update};
use codiag::synthetic::{hermitian, indefinite_complex};
use codiag::{Criterion, Evaluation, Hessian, Matrix, MatrixSet, SetOptions, c64};

use super::{antihermitian, exponential, near_identity, number};

const P: usize = 6;

fn direction(seed: usize) -> Matrix<c64> {
    Matrix::from_fn(P, P, |a, b| {
        if a == b {
            c64::ZERO
        } else {
            number(seed + a * P + b)
        }
    })
}

/// The loss at (I + sE + tF)B.
fn loss(
    set: &MatrixSet<c64>,
    b: &Matrix<c64>,
    (s, e): (f64, &Matrix<c64>),
    (t, f): (f64, &Matrix<c64>),
) -> f64 {
    let mut m = Matrix::from_fn(P, P, |x, y| e[(x, y)] * s + f[(x, y)] * t);
    (0..P).for_each(|a| m[(a, a)] += 1.0);
    Evaluation::at(set, &(&m * b)).unwrap().loss
}

#[test]
fn gradient_matches_finite_differences() {
    let set = hermitian(15, P, 0.5, 7);
    let b = near_identity(P, 0.3);
    let (e, h) = (direction(3), 1e-6);
    let at = |t: f64| loss(&set, &b, (t, &e), (0.0, &e));
    let difference = (at(h) - at(-h)) / (2.0 * h);
    let gradient = Evaluation::at(&set, &b).unwrap().gradient;
    let slope = gradient.dot(&e);
    assert!(
        (difference - slope).abs() < 1e-8 * slope.abs().max(1.0),
        "{difference} {slope}"
    );
    // The loss does not depend on the scales and phases of rows.
    let diagonal = Matrix::diagonal(&(0..P).map(number).collect::<Vec<_>>());
    let scaled = Matrix::from_fn(P, P, |a, c| diagonal[(a, a)] * b[(a, c)]);
    let moved = Evaluation::at(&set, &scaled).unwrap();
    assert!((moved.loss - at(0.0)).abs() < 1e-12);
    assert!((0..P).all(|a| gradient[(a, a)] == c64::ZERO));
}

#[test]
fn hessian_matches_finite_differences() {
    let set = hermitian(15, P, 0.5, 7);
    let b = near_identity(P, 0.3);
    let (e, f, h) = (direction(3), direction(71), 1e-4);
    let at = |s: f64, t: f64| loss(&set, &b, (s, &e), (t, &f));
    let difference = (at(h, h) - at(h, -h) - at(-h, h) + at(-h, -h)) / (4.0 * h * h);
    let mut hessian = Hessian::at(&set, &b).unwrap();
    let product = hessian.product(&e);
    let form = f.dot(&product);
    assert!(
        (difference - form).abs() < 1e-5 * form.abs().max(1.0),
        "{difference} {form}"
    );
    // The Hessian is real-linear and symmetric, but not complex-linear.
    assert!((e.dot(&hessian.product(&f)) - form).abs() < 1e-12 * form.abs().max(1.0));
    let rotated = Matrix::from_fn(P, P, |a, c| c64::I * e[(a, c)]);
    let rotated_product = hessian.product(&rotated);
    assert!(
        (0..P * P).any(
            |k| (rotated_product.as_slice()[k] - c64::I * product.as_slice()[k]).norm() > 1e-3
        )
    );
    // A data pass gives the product without the term Eᴴ of the log-determinant.
    let mut working = InMemory::new(&set);
    let request = Request::HessianProduct { b, e: e.clone() };
    let mut sums = Sums::default();
    working.evaluate(&request, &mut sums).unwrap();
    let sums = sums.moments_mut().0;
    let by_pass = |a: usize, c: usize| {
        if a == c {
            c64::ZERO
        } else {
            sums[(a, c)] + e[(c, a)].conj()
        }
    };
    assert!(super::distance(&Matrix::from_fn(P, P, by_pass), &product) < 1e-12);
}

#[test]
fn frobenius_gradient_matches_finite_differences_along_unitary_matrices() {
    let options = SetOptions::default().criterion(Criterion::Frobenius);
    let (data, _) = indefinite_complex(12, P, 0.5, 3);
    let set = MatrixSet::with_options(&data, 12, P, &options).unwrap();
    let b = exponential(&antihermitian(P, 5), 0.7);
    let e = antihermitian(P, 2);
    let at = |t: f64| Evaluation::at(&set, &(&exponential(&e, t) * &b)).unwrap();
    let h = 1e-5;
    let difference = (at(h).loss - at(-h).loss) / (2.0 * h);
    let slope = at(0.0).gradient.dot(&e);
    assert!(
        (difference - slope).abs() < 1e-7 * slope.abs().max(1.0),
        "{difference} {slope}"
    );
}

#[test]
fn line_and_update_requests_agree_with_recomputed_points() {
    let mut set = InMemory::new(&hermitian(20, P, 0.5, 3));
    let (b, e, alpha) = (near_identity(P, 0.2), direction(40), 0.3);
    let mut evaluate = |request: Request<c64>| {
        let mut sums = Sums::default();
        set.evaluate(&request, &mut sums).unwrap();
        sums
    };
    let point = |b: &Matrix<c64>, update| Request::Point {
        b: b.clone(),
        update,
        hessian: false,
    };
    let start = evaluate(point(&b, None)).numbers()[0];
    let (b_of, e_of) = (b.clone(), e.clone());
    let line = evaluate(Request::Line { b: b_of, e: e_of });
    assert!((line.numbers()[2 * P] - start).abs() < 1e-12);
    let update = Update {
        from: b.clone(),
        e: e.clone(),
        alpha,
        scale: vec![1.0; P],
    };
    let next = update.point();
    let along = evaluate(Request::LinePoint { b, e, alpha });
    let mut updated = evaluate(point(&next, Some(update)));
    let mut recomputed = evaluate(point(&next, None));
    assert!((along.numbers()[0] - recomputed.numbers()[0]).abs() < 1e-11);
    assert!((updated.numbers()[0] - recomputed.numbers()[0]).abs() < 1e-11);
    let (updated, recomputed) = (updated.moments_mut().0, recomputed.moments_mut().0);
    assert!(super::distance(updated, recomputed) < 1e-11);
}
