//! Least squares of Hermitian sets: Cⁱ ≈ A Λⁱ Aᴴ, with real diagonal Λⁱ.

use std::ops::ControlFlow;

use codiag::synthetic::{amari_distance, mixed, mixed_complex};
use codiag::working::{InMemory, WorkingSet, diagonalize_working};
use codiag::{
    Criterion, Diagonalization, Evaluation, Matrix, MatrixSet, Memory, Method, OnDisk, Rank,
    Record, SetOptions, Settings, Start, c64, diagonalize, diagonalize_with,
};

use super::{antihermitian, distance, exponential, near_identity, number};
use crate::on_disk::Npy;

const METHODS: [Method; 4] = [Method::Newton, Method::Acdc, Method::Uwedge, Method::Ffdiag];

fn options() -> SetOptions {
    SetOptions::default().criterion(Criterion::LeastSquares)
}

fn set_of(data: &[c64], p: usize) -> MatrixSet<c64> {
    MatrixSet::with_options(data, data.len() / (p * p), p, &options()).unwrap()
}

fn set(n: usize, p: usize, sigma: f64, seed: u64) -> MatrixSet<c64> {
    set_of(&mixed_complex(n, p, sigma, seed).0, p)
}

fn solve(set: &MatrixSet<c64>, method: Method) -> Diagonalization<c64> {
    diagonalize(set, &Settings::default().method(method)).unwrap()
}

fn matrices(set: &MatrixSet<c64>) -> Vec<Matrix<c64>> {
    (0..set.len()).map(|i| set.matrix(i)).collect()
}

/// The inverse, by elimination without regard to speed.
fn inverse(m: &Matrix<c64>) -> Matrix<c64> {
    let p = m.rows();
    let identity = Matrix::<c64>::identity(p);
    let mut work = Matrix::from_fn(p, 2 * p, |a, b| {
        if b < p {
            m[(a, b)]
        } else {
            identity[(a, b - p)]
        }
    });
    for k in 0..p {
        let size = |row: &usize| work[(*row, k)].norm();
        let pivot = (k..p).max_by(|x, y| size(x).total_cmp(&size(y))).unwrap();
        for c in 0..2 * p {
            let swapped = work[(k, c)];
            work[(k, c)] = work[(pivot, c)];
            work[(pivot, c)] = swapped;
        }
        let by = work[(k, k)];
        (0..2 * p).for_each(|c| work[(k, c)] /= by);
        for row in (0..p).filter(|row| *row != k) {
            let factor = work[(row, k)];
            (0..2 * p).for_each(|c| {
                let own = work[(k, c)];
                work[(row, c)] -= factor * own;
            });
        }
    }
    Matrix::from_fn(p, p, |a, b| work[(a, p + b)])
}

/// The best diagonals for an A, and the share of energy that they leave.
fn plain_fit(matrices: &[Matrix<c64>], a: &Matrix<c64>) -> (Vec<Vec<f64>>, f64) {
    let p = a.rows();
    let gram = &a.adjoint() * a;
    let squared = Matrix::from_fn(p, p, |x, y| c64::from(gram[(x, y)].norm_sqr()));
    let inverse = inverse(&squared);
    let (mut left, mut total) = (0.0, 0.0);
    let mut all = Vec::new();
    for c in matrices {
        let inner = &(&a.adjoint() * c) * a;
        let dots = Matrix::from_fn(p, 1, |x, _| inner[(x, x)]);
        let diagonal = (&inverse * &dots).into_vec();
        let fit = &(a * &Matrix::diagonal(&diagonal)) * &a.adjoint();
        let rest = Matrix::from_fn(p, p, |x, y| c[(x, y)] - fit[(x, y)]);
        left += rest.dot(&rest);
        total += c.dot(c);
        all.push(diagonal.iter().map(|x| x.re).collect());
    }
    (all, left / total)
}

/// Columns of unit norm.
fn normalized(a: &Matrix<c64>) -> Matrix<c64> {
    let p = a.rows();
    let norm = |c: usize| {
        let squares = (0..p).map(|k| a[(k, c)].norm_sqr());
        squares.sum::<f64>().sqrt()
    };
    Matrix::from_fn(p, p, |k, c| a[(k, c)] / norm(c))
}

#[test]
fn loss_and_gradient_are_those_of_the_fit() {
    let p = 5;
    let set = set(11, p, 0.7, 3);
    let b = near_identity(p, 0.3);
    let here = Evaluation::at(&set, &b).unwrap();
    let (_, loss) = plain_fit(&matrices(&set), &inverse(&b));
    assert!((here.loss - loss).abs() < 1e-12);
    for seed in [1, 5, 8] {
        let e = Matrix::from_fn(p, p, |x, y| number(seed + 3 * x + 7 * y));
        let loss = |t: f64| {
            let mut step = Matrix::from_fn(p, p, |x, y| e[(x, y)] * t);
            (0..p).for_each(|a| step[(a, a)] += c64::ONE);
            Evaluation::at(&set, &(&step * &b)).unwrap().loss
        };
        let h = 1e-5;
        let slope = (loss(h) - loss(-h)) / (2.0 * h);
        assert!((slope - here.gradient.dot(&e)).abs() < 1e-8, "{slope}");
    }
    // Scales and phases of rows change nothing.
    let turned = Matrix::from_fn(p, p, |a, c| number(a + 1) * b[(a, c)]);
    assert!((Evaluation::at(&set, &turned).unwrap().loss - here.loss).abs() < 1e-12);
}

#[test]
fn a_real_set_given_as_complex_has_the_same_answer() {
    let (n, p) = (40, 7);
    let (data, _) = mixed(n, p, 0.5, 3);
    let real = MatrixSet::with_options(&data, n, p, &options()).unwrap();
    let data: Vec<c64> = data.into_iter().map(c64::from).collect();
    let set = set_of(&data, p);
    let start = Matrix::from_fn(p, p, |a, b| near_identity(p, 0.2)[(a, b)].re);
    for method in METHODS {
        let settings = Settings::default()
            .method(method)
            .start(Start::Given(start.clone()));
        let expected = diagonalize(&real, &settings).unwrap();
        let answer = diagonalize(&set, &settings).unwrap();
        assert_eq!(answer.iterations, expected.iterations, "{method:?}");
        assert!((answer.loss - expected.loss).abs() < 1e-12, "{method:?}");
        let b = expected.b.as_slice().iter().copied().map(c64::from);
        let b = Matrix::from_rows(p, p, b.collect());
        assert!(
            distance(&answer.b, &b) < 1e-8 * expected.b.norm(),
            "{method:?}"
        );
    }
}

#[test]
fn exact_sets_are_recovered() {
    for method in METHODS {
        for (n, p) in [(30, 8), (5, 3), (60, 16)] {
            let (data, mixing) = mixed_complex(n, p, 0.0, 1);
            let answer = solve(&set_of(&data, p), method);
            assert!(answer.status.converged(), "{method:?} {n} {p}");
            let distance = amari_distance(&answer.b, &mixing);
            assert!(
                answer.loss.abs() < 1e-12 && distance < 1e-10,
                "{method:?} {distance}"
            );
        }
    }
}

#[test]
fn both_minimizers_reach_one_loss_and_the_answer_is_in_canonical_form() {
    let (n, p) = (60, 8);
    for seed in 0..3 {
        let set = set(n, p, 0.8, seed);
        let losses = [Method::Newton, Method::Acdc].map(|method| {
            let answer = solve(&set, method);
            assert!(answer.status.converged(), "{method:?} {}", answer.status);
            let (diagonals, loss) = plain_fit(&matrices(&set), &answer.a);
            assert!((answer.loss - loss).abs() < 1e-12);
            let mean: f64 = answer.residuals.iter().sum::<f64>() / n as f64;
            assert!((mean - loss).abs() < 1e-12);
            let mut energies = vec![0.0; p];
            for (i, diagonal) in diagonals.iter().enumerate() {
                for (a, x) in diagonal.iter().enumerate() {
                    assert!((answer.powers[(i, a)] - x).abs() < 1e-9);
                    energies[a] += x * x;
                }
            }
            assert!(energies.is_sorted_by(|x, y| x >= y));
            assert!(distance(&normalized(&answer.a), &answer.a) < 1e-12);
            let product = &answer.b * &answer.a;
            assert!(distance(&product, &Matrix::identity(p)) < 1e-11);
            for k in 0..p {
                let column = (0..p).map(|c| answer.a[(c, k)]);
                let largest = column.max_by(|x, y| x.norm().total_cmp(&y.norm()));
                assert!(largest.is_some_and(|z| z.im.abs() < 1e-12 && z.re > 0.0));
            }
            answer.loss
        });
        assert!((losses[0] - losses[1]).abs() < 1e-10, "{losses:?}");
    }
}

#[test]
fn large_residuals_are_no_obstacle_near_the_end() {
    // Where the exact Hessian takes over from the Gauss–Newton model.
    for seed in 0..4 {
        let settings = Settings::default().tolerance(1e-11).max_iterations(40);
        let answer = diagonalize(&set(80, 12, 3.0, seed), &settings).unwrap();
        let norms: Vec<f64> = answer.history.iter().map(|r| r.gradient_norm).collect();
        assert!(answer.status.converged(), "{} {norms:?}", answer.status);
        let last = norms.len() - 1;
        let bound = 1e2 * norms[last - 1].powf(1.5);
        assert!(norms[last] < bound.max(1e-14), "{norms:?}");
    }
}

/// The points that a method passes through from a start.
fn points(
    set: &MatrixSet<c64>,
    method: Method,
    start: &Matrix<c64>,
    most: usize,
) -> Vec<Matrix<c64>> {
    let settings = Settings::default()
        .method(method)
        .start(Start::given(start))
        .max_iterations(most);
    let mut seen = Vec::new();
    let mut observer = |_: &Record, b: &Matrix<c64>| {
        seen.push(b.clone());
        ControlFlow::Continue(())
    };
    diagonalize_with(set, &settings, &mut observer).unwrap();
    seen
}

#[test]
fn acdc_is_that_of_a_plain_implementation() {
    let p = 4;
    let set = set(20, p, 0.6, 2);
    let all = matrices(&set);
    let start = near_identity(p, 0.3);
    let mut a = normalized(&inverse(&start));
    for b in &points(&set, Method::Acdc, &start, 3)[1..] {
        let (diagonals, _) = plain_fit(&all, &a);
        for column in 0..p {
            let mut sum = Matrix::zeros(p, p);
            let mut energy = 0.0;
            for (c, own) in all.iter().zip(&diagonals) {
                energy += own[column].powi(2);
                for x in 0..p {
                    for y in 0..p {
                        let others = (0..p).filter(|k| *k != column);
                        let fit: c64 = others.map(|k| a[(x, k)] * a[(y, k)].conj() * own[k]).sum();
                        sum[(x, y)] += (c[(x, y)] - fit) * own[column];
                    }
                }
            }
            // The leading eigenvector, by powers of the matrix lifted to be positive definite.
            let lift = sum.norm();
            (0..p).for_each(|x| sum[(x, x)] += c64::from(lift));
            let mut vector = Matrix::from_fn(p, 1, |k, _| a[(k, column)]);
            for _ in 0..100_000 {
                vector = &sum * &vector;
                let norm = vector.norm();
                vector.as_mut_slice().iter_mut().for_each(|x| *x /= norm);
            }
            let value = vector.dot(&(&sum * &vector)) - lift;
            let length = (value / energy).sqrt();
            (0..p).for_each(|k| a[(k, column)] = vector[(k, 0)] * length);
        }
        a = normalized(&a);
        assert!(amari_distance(b, &a) < 1e-7);
    }
}

#[test]
fn uwedge_and_ffdiag_are_those_of_a_plain_implementation() {
    let p = 5;
    let set = set(20, p, 0.4, 4);
    let all = matrices(&set);
    let start = near_identity(p, 0.2);
    for method in [Method::Uwedge, Method::Ffdiag] {
        let mut b = inverse(&normalized(&inverse(&start)));
        for found in &points(&set, method, &start, 5)[1..] {
            // The best fit of D by −(E diag D + diag D Eᴴ), pair by pair.
            let mut y = Matrix::<c64>::zeros(p, p);
            let mut z = Matrix::<f64>::zeros(p, p);
            for c in &all {
                let d = &(&b * c) * &b.adjoint();
                for k in 0..p {
                    for l in 0..p {
                        y[(k, l)] += d[(k, l)] * d[(l, l)].re;
                        z[(k, l)] += d[(k, k)].re * d[(l, l)].re;
                    }
                }
            }
            let e = Matrix::from_fn(p, p, |k, l| {
                let determinant = z[(k, k)] * z[(l, l)] - z[(k, l)].powi(2);
                match k == l {
                    true => c64::ZERO,
                    false => (y[(l, k)].conj() * z[(k, l)] - y[(k, l)] * z[(k, k)]) / determinant,
                }
            });
            let identity = Matrix::<c64>::identity(p);
            b = if method == Method::Uwedge {
                let step = Matrix::from_fn(p, p, |k, l| identity[(k, l)] - e[(k, l)]);
                &inverse(&step) * &b
            } else {
                let length = f64::min(1.0 / e.norm(), 1.0);
                let step = Matrix::from_fn(p, p, |k, l| identity[(k, l)] + e[(k, l)] * length);
                &step * &b
            };
            b = inverse(&normalized(&inverse(&b)));
            assert!(distance(found, &b) < 1e-9 * b.norm(), "{method:?}");
        }
        // It leaves little more than the minimum.
        let (answer, newton) = (solve(&set, method), solve(&set, Method::Newton));
        assert!(answer.status.converged(), "{method:?}");
        assert!(newton.loss <= answer.loss && answer.loss < 2.0 * newton.loss);
    }
}

#[test]
fn unitary_transforms_of_the_channels_are_undone() {
    let p = 5;
    let plain = set(25, p, 0.5, 6);
    let q = exponential(&antihermitian(p, 3), 0.6);
    let turned = set_of(&plain.transform(&q), p);
    let start = near_identity(p, 0.2);
    for method in METHODS {
        let settings = |b: &Matrix<c64>| Settings::default().method(method).start(Start::given(b));
        let expected = diagonalize(&plain, &settings(&start)).unwrap();
        let answer = diagonalize(&turned, &settings(&(&start * &q.adjoint()))).unwrap();
        assert_eq!(answer.iterations, expected.iterations, "{method:?}");
        assert!((answer.loss - expected.loss).abs() < 1e-10);
    }
}

#[test]
fn from_disk_as_from_memory_and_on_any_number_of_threads() {
    let (n, p) = (300, 6);
    let cases = METHODS.map(|method| (method, 0.4));
    let mut silent = |_: &Record, _: &Matrix<c64>| ControlFlow::Continue(());
    for (method, sigma) in cases.into_iter().chain([(Method::Newton, 2.0)]) {
        let (data, _) = mixed_complex(n, p, sigma, 5);
        let settings = Settings::default().method(method);
        let expected = diagonalize(&set_of(&data, p), &settings).unwrap();
        assert!(expected.status.converged(), "{method:?}");
        let threaded = MatrixSet::with_options(&data, n, p, &options().threads(3)).unwrap();
        assert_eq!(diagonalize(&threaded, &settings).unwrap().b, expected.b);
        let npy = Npy::complex(&data, n, p);
        let mut disk = OnDisk::complex(npy.open(), Memory(8_000_000), &options()).unwrap();
        let answer = diagonalize_working(&mut disk, &settings, &mut silent).unwrap();
        assert_eq!(answer.iterations, expected.iterations, "{method:?}");
        assert!((answer.loss - expected.loss).abs() < 1e-12);
        assert!(distance(&answer.powers, &expected.powers) < 1e-6);
    }
}

#[test]
fn the_exact_hessian_from_disk_is_that_of_memory() {
    let (n, p) = (50, 5);
    let (data, _) = mixed_complex(n, p, 1.0, 9);
    let (b, e) = (near_identity(p, 0.2), antihermitian(p, 4));
    let mut memory = InMemory::new(&set_of(&data, p));
    memory.reset(&b).unwrap();
    let npy = Npy::complex(&data, n, p);
    let mut disk = OnDisk::complex(npy.open(), Memory(8_000_000), &options()).unwrap();
    disk.reset(&b).unwrap();
    let (x, y) = (
        memory.hessian_product(&e).unwrap(),
        disk.hessian_product(&e).unwrap(),
    );
    assert!(distance(&x, &y) < 1e-10 * x.norm());
}

#[test]
fn sets_without_full_rank_and_indefinite_ones_are_reduced() {
    // Channel 3 is i times channel 0 plus channel 1.
    let n = 40;
    let (data, mixing) = mixed_complex(n, 3, 0.0, 6);
    let mut lift = Matrix::zeros(4, 3);
    (0..3).for_each(|a| lift[(a, a)] = c64::ONE);
    (lift[(3, 0)], lift[(3, 1)]) = (c64::I, c64::ONE);
    let lifted = data.chunks_exact(9).flat_map(|matrix| {
        let c = Matrix::from_rows(3, 3, matrix.to_vec());
        (&(&lift * &c) * &lift.adjoint()).into_vec()
    });
    let data: Vec<c64> = lifted.collect();
    let options = options().rank(Rank::Auto);
    let set = MatrixSet::with_options(&data, n, 4, &options).unwrap();
    assert_eq!((set.channels(), set.dimension()), (4, 3));
    let answer = solve(&set, Method::Newton);
    assert!(answer.loss.abs() < 1e-12);
    assert!(amari_distance(&answer.b, &(&lift * &mixing)) < 1e-9);
    let rotations = options.criterion(Criterion::Frobenius);
    let set = MatrixSet::with_options(&data, n, 4, &rotations).unwrap();
    let answer = solve(&set, Method::Newton);
    let gram = &answer.b * &answer.b.adjoint();
    assert!(distance(&gram, &Matrix::identity(3)) < 1e-12);
}
