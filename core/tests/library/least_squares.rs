//! Least squares, for symmetric matrices that need not be positive definite.

use std::ops::ControlFlow;

use codiag::cluster::{ClusterSet, Part};
use codiag::error::Conflict;
use codiag::synthetic::{amari_distance, mixed};
use codiag::working::{Chunk, diagonalize_working};
use codiag::{
    Criterion, Diagonalization, Error, Evaluation, Hessian, Matrix, MatrixSet, Memory, Method,
    OnDisk, Rank, Record, Reduction, SetOptions, Settings, Start, Status, StepKind, diagonalize,
    diagonalize_with,
};

use crate::on_disk::Npy;

const METHODS: [Method; 4] = [Method::Newton, Method::Acdc, Method::Uwedge, Method::Ffdiag];

fn options() -> SetOptions {
    SetOptions::default().criterion(Criterion::LeastSquares)
}

fn set_of(data: &[f64], p: usize) -> MatrixSet {
    MatrixSet::with_options(data, data.len() / (p * p), p, &options()).unwrap()
}

fn set(n: usize, p: usize, sigma: f64, seed: u64) -> MatrixSet {
    set_of(&mixed(n, p, sigma, seed).0, p)
}

fn solve(set: &MatrixSet, method: Method) -> Diagonalization {
    diagonalize(set, &Settings::default().method(method)).unwrap()
}

/// A number for each place, neither zero nor regular.
fn number(k: usize) -> f64 {
    ((k * 37 + 11) % 23) as f64 / 11.5 - 1.0
}

fn near_identity(p: usize, seed: usize) -> Matrix {
    Matrix::from_fn(p, p, |a, b| {
        0.2 * number(seed + a * p + b) + f64::from(u8::from(a == b))
    })
}

/// The inverse, by elimination without regard to speed.
fn inverse(m: &Matrix) -> Matrix {
    let p = m.rows();
    let mut work = Matrix::from_fn(p, 2 * p, |a, b| {
        if b < p {
            m[(a, b)]
        } else {
            f64::from(u8::from(b - p == a))
        }
    });
    for k in 0..p {
        let pivot = (k..p)
            .max_by(|x, y| work[(*x, k)].abs().total_cmp(&work[(*y, k)].abs()))
            .unwrap();
        for c in 0..2 * p {
            let swapped = work[(k, c)];
            work[(k, c)] = work[(pivot, c)];
            work[(pivot, c)] = swapped;
        }
        let by = work[(k, k)];
        (0..2 * p).for_each(|c| work[(k, c)] /= by);
        for row in (0..p).filter(|row| *row != k) {
            let factor = work[(row, k)];
            (0..2 * p).for_each(|c| work[(row, c)] -= factor * work[(k, c)]);
        }
    }
    Matrix::from_fn(p, p, |a, b| work[(a, p + b)])
}

fn matrices(set: &MatrixSet) -> Vec<Matrix> {
    (0..set.len()).map(|i| set.matrix(i)).collect()
}

/// The best diagonals for an A, and the share of energy that they leave: by the normal equations of each
/// matrix.
fn plain_fit(matrices: &[Matrix], a: &Matrix) -> (Vec<Vec<f64>>, f64) {
    let p = a.rows();
    let gram = &a.transpose() * a;
    let inverse = inverse(&Matrix::from_fn(p, p, |x, y| gram[(x, y)].powi(2)));
    let (mut left, mut total) = (0.0, 0.0);
    let mut all = Vec::new();
    for c in matrices {
        let inner = &(&a.transpose() * c) * a;
        let dots = Matrix::from_fn(p, 1, |x, _| inner[(x, x)]);
        let diagonal: Vec<f64> = (&inverse * &dots).into_vec();
        let fit = &(a * &Matrix::diagonal(&diagonal)) * &a.transpose();
        let rest = Matrix::from_fn(p, p, |x, y| c[(x, y)] - fit[(x, y)]);
        left += rest.dot(&rest);
        total += c.dot(c);
        all.push(diagonal);
    }
    (all, left / total)
}

/// Columns of unit norm.
fn normalized(a: &Matrix) -> Matrix {
    let p = a.rows();
    let norm = |c: usize| (0..p).map(|k| a[(k, c)].powi(2)).sum::<f64>().sqrt();
    Matrix::from_fn(p, p, |k, c| a[(k, c)] / norm(c))
}

#[test]
fn loss_and_gradient_are_those_of_the_fit() {
    let (n, p) = (11, 5);
    let (data, _) = mixed(n, p, 0.7, 3);
    let weights: Vec<f64> = (0..n).map(|i| 1.0 + (i % 3) as f64).collect();
    let set = MatrixSet::with_options(&data, n, p, &options().weights(weights.clone())).unwrap();
    let b = near_identity(p, 4);
    // Weights are as good as matrices times their roots.
    let total: f64 = weights.iter().sum();
    let weighed: Vec<Matrix> = matrices(&set)
        .iter()
        .zip(&weights)
        .map(|(c, w)| Matrix::from_fn(p, p, |x, y| c[(x, y)] * (w / total).sqrt()))
        .collect();
    let here = Evaluation::at(&set, &b).unwrap();
    assert!((here.loss - plain_fit(&weighed, &inverse(&b)).1).abs() < 1e-12);
    for seed in [1, 5, 8] {
        let e = Matrix::from_fn(p, p, |x, y| number(seed + 3 * x + 7 * y));
        let loss = |t: f64| {
            let step = Matrix::from_fn(p, p, |x, y| f64::from(u8::from(x == y)) + t * e[(x, y)]);
            Evaluation::at(&set, &(&step * &b)).unwrap().loss
        };
        let h = 1e-5;
        let slope = (loss(h) - loss(-h)) / (2.0 * h);
        assert!((slope - here.gradient.dot(&e)).abs() < 1e-8, "{slope}");
    }
    // The scale of rows changes nothing.
    let scaled = b.clone().scale_rows(&[2.0, -1.0, 0.1, 30.0, 1.0]);
    assert!((Evaluation::at(&set, &scaled).unwrap().loss - here.loss).abs() < 1e-12);
    let refused = Hessian::at(&set, &b).unwrap_err();
    assert_eq!(refused, Error::Conflict(Conflict::LeastSquaresHessian));
}

#[test]
fn exact_sets_are_recovered() {
    for method in METHODS {
        for (n, p) in [(30, 8), (5, 3), (2, 4), (100, 20)] {
            // Two matrices have real generalised eigenvectors if one of them is definite.
            let (mut data, mixing) = mixed(n, p, 0.0, 1);
            if n == 2 {
                let definite = &mixing * &mixing.transpose();
                data[..p * p].copy_from_slice(definite.as_slice());
            }
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
    let (n, p) = (60, 10);
    for seed in 0..3 {
        let set = set(n, p, 0.8, seed);
        let losses = [Method::Newton, Method::Acdc].map(|method| {
            let answer = solve(&set, method);
            assert!(answer.status.converged(), "{method:?} {}", answer.status);
            let (diagonals, loss) = plain_fit(&matrices(&set), &answer.a);
            assert!((answer.loss - loss).abs() < 1e-12);
            let mean: f64 = answer.residuals.iter().sum::<f64>() / n as f64;
            assert!((mean - loss).abs() < 1e-12);
            // Columns of unit norm, the diagonals of the fit, in descending order of energy.
            let unit = normalized(&answer.a);
            let mut energies = vec![0.0; p];
            for (i, diagonal) in diagonals.iter().enumerate() {
                for (a, x) in diagonal.iter().enumerate() {
                    assert!((answer.powers[(i, a)] - x).abs() < 1e-9);
                    energies[a] += x * x;
                }
            }
            assert!(energies.is_sorted_by(|x, y| x >= y));
            for (x, y) in unit.as_slice().iter().zip(answer.a.as_slice()) {
                assert!((x - y).abs() < 1e-12);
            }
            let product = &answer.b * &answer.a;
            assert!((product[(1, 1)] - 1.0).abs() < 1e-12);
            answer.loss
        });
        assert!((losses[0] - losses[1]).abs() < 1e-10, "{losses:?}");
    }
}

#[test]
fn acdc_is_that_of_a_plain_implementation() {
    let (n, p) = (20, 5);
    let set = set(n, p, 0.6, 2);
    let all = matrices(&set);
    let start = near_identity(p, 2);
    let settings = Settings::default()
        .method(Method::Acdc)
        .start(Start::Given(start.clone()))
        .max_iterations(3);
    let mut seen = Vec::new();
    let mut observer = |_: &Record, b: &Matrix| {
        seen.push(b.clone());
        ControlFlow::Continue(())
    };
    diagonalize_with(&set, &settings, &mut observer).unwrap();
    let mut a = normalized(&inverse(&start));
    for b in &seen[1..] {
        let (diagonals, _) = plain_fit(&all, &a);
        for column in 0..p {
            let mut sum = Matrix::zeros(p, p);
            let mut energy = 0.0;
            for (c, own) in all.iter().zip(&diagonals) {
                energy += own[column].powi(2);
                for x in 0..p {
                    for y in 0..p {
                        let others = (0..p).filter(|k| *k != column);
                        let fit: f64 = others.map(|k| own[k] * a[(x, k)] * a[(y, k)]).sum();
                        sum[(x, y)] += own[column] * (c[(x, y)] - fit);
                    }
                }
            }
            // The leading eigenvector, by powers of the matrix lifted to be positive definite.
            let lift = sum.norm();
            (0..p).for_each(|x| sum[(x, x)] += lift);
            let mut vector = Matrix::from_fn(p, 1, |k, _| a[(k, column)]);
            for _ in 0..100_000 {
                vector = &sum * &vector;
                let norm = vector.norm();
                vector.as_mut_slice().iter_mut().for_each(|x| *x /= norm);
            }
            let value = vector.dot(&(&sum * &vector)) - lift;
            let length = (value / energy).sqrt();
            (0..p).for_each(|k| a[(k, column)] = length * vector[(k, 0)]);
        }
        a = normalized(&a);
        assert!(amari_distance(b, &a) < 1e-7);
    }
}

#[test]
fn uwedge_and_ffdiag_are_those_of_a_plain_implementation() {
    let (n, p) = (20, 5);
    let set = set(n, p, 0.4, 4);
    let all = matrices(&set);
    let start = near_identity(p, 6);
    for method in [Method::Uwedge, Method::Ffdiag] {
        let settings = Settings::default()
            .method(method)
            .start(Start::Given(start.clone()))
            .max_iterations(5);
        let mut seen = Vec::new();
        let mut observer = |record: &Record, b: &Matrix| {
            seen.push((b.clone(), record.kind, record.loss));
            ControlFlow::Continue(())
        };
        diagonalize_with(&set, &settings, &mut observer).unwrap();
        let mut b = inverse(&normalized(&inverse(&start)));
        for (found, kind, loss) in &seen[1..] {
            let mut y = Matrix::<f64>::zeros(p, p);
            let mut z = Matrix::<f64>::zeros(p, p);
            for c in &all {
                let d = &(&b * c) * &b.transpose();
                for k in 0..p {
                    for l in 0..p {
                        y[(k, l)] += d[(l, l)] * d[(k, l)];
                        z[(k, l)] += d[(k, k)] * d[(l, l)];
                    }
                }
            }
            // As in the papers: A of unit diagonal for U-WEDGE, W of zero diagonal for FFDIAG.
            let step = Matrix::from_fn(p, p, |k, l| {
                let determinant = z[(k, k)] * z[(l, l)] - z[(k, l)].powi(2);
                match method {
                    _ if k == l => f64::from(u8::from(method == Method::Uwedge)),
                    Method::Uwedge => (z[(k, k)] * y[(k, l)] - z[(k, l)] * y[(l, k)]) / determinant,
                    _ => (z[(k, l)] * y[(l, k)] - z[(k, k)] * y[(k, l)]) / determinant,
                }
            });
            b = if method == Method::Uwedge {
                &inverse(&step) * &b
            } else {
                let length = f64::min(1.0 / step.norm(), 1.0);
                let factor = Matrix::from_fn(p, p, |k, l| {
                    f64::from(u8::from(k == l)) + length * step[(k, l)]
                });
                &factor * &b
            };
            b = inverse(&normalized(&inverse(&b)));
            for (x, y) in found.as_slice().iter().zip(b.as_slice()) {
                assert!((x - y).abs() < 1e-9 * (1.0 + y.abs()), "{method:?}");
            }
            assert_eq!(*kind, StepKind::Wedge);
            assert!((loss - plain_fit(&all, &inverse(&b)).1).abs() < 1e-10);
        }
        // Where they stop, their equation holds.
        let answer = solve(&set, method);
        assert!(answer.status.converged());
        for k in 0..p {
            for l in (0..p).filter(|l| *l != k) {
                let mut sums = (0.0, 0.0);
                for c in &all {
                    let d = &(&answer.b * c) * &answer.b.transpose();
                    sums.0 += d[(l, l)] * d[(k, l)];
                    sums.1 += d[(l, l)].powi(2);
                }
                assert!((sums.0 / sums.1).abs() < 1e-6);
            }
        }
        let newton = solve(&set, Method::Newton);
        assert!(newton.loss <= answer.loss && answer.loss < 2.0 * newton.loss);
    }
}

#[test]
fn few_iterations_where_acdc_takes_many() {
    let settings = |method| Settings::default().method(method).tolerance(1e-6);
    for (sigma, most) in [(0.1, 5), (1.0, 8)] {
        for seed in 0..3 {
            let set = set(100, 20, sigma, seed);
            let newton = diagonalize(&set, &settings(Method::Newton)).unwrap();
            let acdc = diagonalize(&set, &settings(Method::Acdc)).unwrap();
            assert!(
                newton.status.converged() && newton.iterations <= most,
                "{}",
                newton.iterations
            );
            assert!(acdc.status.converged() && acdc.iterations > newton.iterations);
        }
    }
}

#[test]
fn large_residuals_are_no_obstacle_near_the_end() {
    // Where the Gauss–Newton model alone takes up to some hundred iterations.
    for seed in 0..6 {
        let settings = Settings::default().tolerance(1e-11).max_iterations(40);
        let answer = diagonalize(&set(100, 20, 3.0, seed), &settings).unwrap();
        let norms: Vec<f64> = answer.history.iter().map(|r| r.gradient_norm).collect();
        assert!(answer.status.converged(), "{} {norms:?}", answer.status);
        // The last step nearly doubles the exponent.
        let last = norms.len() - 1;
        let bound = 1e2 * norms[last - 1].powf(1.5);
        assert!(norms[last] < bound.max(1e-14), "{norms:?}");
    }
}

#[test]
fn units_change_nothing() {
    let (n, p) = (20, 6);
    let (data, _) = mixed(n, p, 0.3, 2);
    for method in METHODS {
        let expected = solve(&set_of(&data, p), method);
        for unit in [1e-24, 1e12] {
            let scaled: Vec<f64> = data.iter().map(|x| unit * x).collect();
            let answer = solve(&set_of(&scaled, p), method);
            assert_eq!(answer.status, expected.status);
            assert_eq!(answer.iterations, expected.iterations, "{method:?}");
            assert!((answer.loss - expected.loss).abs() < 1e-12);
            assert!(amari_distance(&answer.b, &expected.a) < 1e-7);
        }
    }
}

#[test]
fn rotations_of_the_channels_are_undone() {
    let (n, p) = (25, 5);
    let plain = set(n, p, 0.5, 6);
    // A reflection and a permutation: orthogonal, and exact.
    let v: Vec<f64> = (0..p).map(|k| number(3 * k + 1)).collect();
    let square: f64 = v.iter().map(|x| x * x).sum();
    let q = Matrix::from_fn(p, p, |a, b| {
        let a = (a + 2) % p;
        f64::from(u8::from(a == b)) - 2.0 * v[a] * v[b] / square
    });
    let turned = set_of(&plain.transform(&q), p);
    let start = near_identity(p, 9);
    for method in METHODS {
        let settings = |b: Matrix| Settings::default().method(method).start(Start::Given(b));
        let expected = diagonalize(&plain, &settings(start.clone())).unwrap();
        let answer = diagonalize(&turned, &settings(&start * &q.transpose())).unwrap();
        assert_eq!(answer.iterations, expected.iterations, "{method:?}");
        assert!((answer.loss - expected.loss).abs() < 1e-10);
    }
}

#[test]
fn indefinite_singular_and_zero_matrices_are_taken() {
    let (n, p) = (20, 6);
    let (mut data, _) = mixed(n, p, 0.3, 2);
    data.extend([0.0; 36]);
    let mut singular = Matrix::zeros(p, p);
    singular[(0, 0)] = 1e-3;
    data.extend_from_slice(singular.as_slice());
    for method in METHODS {
        assert!(
            solve(&set_of(&data, p), method).status.converged(),
            "{method:?}"
        );
        let nothing = solve(&set_of(&[0.0; 18], 3), method);
        assert!(nothing.status.converged() && nothing.loss == 0.0 && nothing.b.is_finite());
        let one = solve(&set_of(&[-2.0, 3.0, 0.5], 1), method);
        assert!(one.status.converged() && one.loss.abs() < 1e-15);
        assert_eq!(one.powers.as_slice(), [-2.0, 3.0, 0.5]);
        let single = solve(&set_of(&[1.0, 2.0, 2.0, -3.0], 2), method);
        assert!(single.status.converged() && single.loss.abs() < 1e-12);
        // All share a null space, and a component that no matrix has.
        let (thin, _) = mixed(n, 4, 0.0, 5);
        let mut padded = Vec::new();
        for matrix in thin.chunks_exact(16) {
            let entry = |a: usize, b: usize| if a.max(b) < 4 { matrix[4 * a + b] } else { 0.0 };
            padded.extend((0..25).map(|k| entry(k / 5, k % 5)));
        }
        let answer = solve(&set_of(&padded, 5), method);
        assert!(
            answer.loss < 1e-10 && answer.b.is_finite(),
            "{method:?} {}",
            answer.status
        );
    }
}

#[test]
fn two_components_that_cancel_each_other_are_reported() {
    // e₀e₁ᵀ + e₁e₀ᵀ is the limit of ((e₀ + te₁)(e₀ + te₁)ᵀ − e₀e₀ᵀ)/t, and with e₀e₀ᵀ alone it is a set without
    // a best fit: its two components come ever closer.
    let data = [0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0];
    let start = Matrix::from_rows(2, 2, vec![1.0, 0.3, 0.2, 1.0]);
    let settings = Settings::default().start(Start::Given(start));
    let answer = diagonalize(&set_of(&data, 2), &settings).unwrap();
    assert_eq!(
        answer.status,
        Status::Collinear,
        "{:?}",
        answer.history.last()
    );
    assert!(!answer.status.converged() && answer.b.is_finite());
    assert_eq!(answer.status.name(), "collinear columns");
}

#[test]
fn the_same_bits_on_any_number_of_threads() {
    let (data, _) = mixed(700, 8, 0.5, 7);
    for method in METHODS {
        let bits = |threads: usize| {
            let options = options().threads(threads);
            let set = MatrixSet::with_options(&data, 700, 8, &options).unwrap();
            let answer = solve(&set, method);
            (answer.b.into_vec(), answer.loss, answer.iterations)
        };
        assert_eq!(bits(1), bits(3), "{method:?}");
    }
}

#[test]
fn from_disk_and_from_two_parts_as_from_memory() {
    let (n, p) = (300, 8);
    let (data, _) = mixed(n, p, 0.4, 5);
    let mut silent = |_: &Record, _: &Matrix| ControlFlow::Continue(());
    let noisy = mixed(n, p, 2.0, 6).0;
    let cases = METHODS.map(|method| (method, &data));
    let slow = [(Method::Newton, &noisy)];
    for (method, data) in cases.into_iter().chain(slow) {
        let (memory, npy) = (set_of(data, p), Npy::double(data, n, p));
        let settings = Settings::default().method(method);
        let expected = diagonalize(&memory, &settings).unwrap();
        let mut disk = OnDisk::new(npy.open(), Memory(4_000_000), &options()).unwrap();
        let from_disk = diagonalize_working(&mut disk, &settings, &mut silent).unwrap();
        let parts = [0, 120].map(|first| {
            let end = if first == 0 { 120 } else { n };
            let own = &data[first * p * p..end * p * p];
            let chunk = Chunk::new(own, end - first, p, first, &options()).unwrap();
            Part::of_chunks(vec![chunk], None, Some(1)).unwrap()
        });
        let described: Vec<Vec<u8>> = parts.iter().map(Part::describe).collect();
        let ask = |question: &[u8]| parts.iter().map(|part| part.answer(question)).collect();
        let mut cluster = ClusterSet::new(&ask, &described, None).unwrap();
        let of_parts = diagonalize_working(&mut cluster, &settings, &mut silent).unwrap();
        for answer in [from_disk, of_parts] {
            assert_eq!(answer.iterations, expected.iterations, "{method:?}");
            assert!((answer.loss - expected.loss).abs() < 1e-12);
            for (x, y) in answer
                .powers
                .as_slice()
                .iter()
                .zip(expected.powers.as_slice())
            {
                assert!((x - y).abs() < 1e-6 * (1.0 + y.abs()));
            }
            for (x, y) in answer.residuals.iter().zip(&expected.residuals) {
                assert!((x - y).abs() < 1e-9);
            }
        }
    }
}

#[test]
fn methods_starts_and_what_is_refused() {
    let set = set(20, 4, 0.2, 1);
    let refused = diagonalize(&set, &Settings::default().method(Method::Pham)).unwrap_err();
    assert!(refused.to_string().contains("\"acdc\""), "{refused}");
    let orthogonal = diagonalize(&set, &Settings::default().orthogonal(true)).unwrap_err();
    assert_eq!(
        orthogonal,
        Error::Conflict(Conflict::OrthogonalLeastSquares)
    );
    let answer = solve(&set, Method::Newton);
    for start in [
        Start::Identity,
        Start::Whitener,
        Start::Given(answer.b.clone()),
    ] {
        let again = diagonalize(&set, &Settings::default().start(start)).unwrap();
        assert!(again.status.converged() && again.loss >= answer.loss - 1e-9);
    }
    let again = Settings::default().start(Start::Given(answer.b.clone()));
    assert_eq!(diagonalize(&set, &again).unwrap().iterations, 0);
    let several = diagonalize(&set, &Settings::default().restarts(2)).unwrap();
    assert!(several.start_losses.len() == 3 && several.loss <= answer.loss + 1e-12);
    let margin = answer.identifiability.unwrap().margin;
    assert!((0.0..=1.0).contains(&margin));
}

/// Five channels, of which three are seen by the sources: Cⁱ = L Mⁱ Lᵀ.
fn lifted(data: &[f64]) -> (Vec<f64>, Matrix) {
    let lift = Matrix::from_fn(5, 3, |a, b| number(4 * a + b + 1));
    let lifted = data.chunks_exact(9).flat_map(|matrix| {
        let c = Matrix::from_rows(3, 3, matrix.to_vec());
        (&(&lift * &c) * &lift.transpose()).into_vec()
    });
    (lifted.collect(), lift)
}

#[test]
fn fewer_sources_than_channels_are_fitted_in_the_channels() {
    let n = 30;
    let (data, mixing) = mixed(n, 3, 0.0, 2);
    let (data, lift) = lifted(&data);
    for criterion in [Criterion::LeastSquares, Criterion::Frobenius] {
        let options = SetOptions::default().criterion(criterion).rank(Rank::Auto);
        let set = MatrixSet::with_options(&data, n, 5, &options).unwrap();
        assert_eq!((set.channels(), set.dimension()), (5, 3));
        let answer = diagonalize(&set, &Settings::default()).unwrap();
        assert!(answer.status.converged());
        assert_eq!((answer.b.rows(), answer.b.columns()), (3, 5));
        // Its own answer is a start in the channels of the input.
        let again = Settings::default().start(Start::Given(answer.b.clone()));
        assert_eq!(diagonalize(&set, &again).unwrap().iterations, 0);
        let identity = &answer.b * &answer.a;
        for k in 0..9 {
            let expected = f64::from(u8::from(k % 4 == 0));
            assert!((identity.as_slice()[k] - expected).abs() < 1e-11);
        }
        if criterion == Criterion::Frobenius {
            let gram = &answer.b * &answer.b.transpose();
            let off = Matrix::from_fn(3, 3, |a, b| gram[(a, b)] - f64::from(u8::from(a == b)));
            assert!(off.norm() < 1e-12);
            continue;
        }
        assert!(answer.loss.abs() < 1e-12);
        assert!(amari_distance(&answer.b, &(&lift * &mixing)) < 1e-9);
        // Of unit columns in the channels, and a fit of the matrices as they came.
        let fit = |i: usize, x: usize, y: usize| -> f64 {
            (0..3)
                .map(|k| answer.powers[(i, k)] * answer.a[(x, k)] * answer.a[(y, k)])
                .sum()
        };
        for (i, matrix) in data.chunks_exact(25).enumerate() {
            for (k, x) in matrix.iter().enumerate() {
                assert!((fit(i, k / 5, k % 5) - x).abs() < 1e-9);
            }
        }
        let norm: f64 = (0..5).map(|c| answer.a[(c, 1)].powi(2)).sum();
        assert!((norm - 1.0).abs() < 1e-12);
        let (npy, mut silent) = (Npy::double(&data, n, 5), |_: &Record, _: &Matrix| {
            ControlFlow::Continue(())
        });
        let mut disk = OnDisk::new(npy.open(), Memory(4_000_000), &options).unwrap();
        let there = diagonalize_working(&mut disk, &Settings::default(), &mut silent).unwrap();
        assert!(amari_distance(&there.b, &answer.a) < 1e-9);
    }
}

#[test]
fn a_rank_is_that_of_the_matrices_and_not_of_their_mean() {
    // Their mean is zero.
    let data = [1.0, 0.0, 0.0, 0.0, -1.0, 0.0, 0.0, 0.0];
    let set = |rank| MatrixSet::with_options(&data, 2, 2, &options().rank(rank));
    assert_eq!(set(Rank::Auto).unwrap().dimension(), 1);
    let error = set(Rank::Exactly(2)).unwrap_err().to_string();
    assert!(error.contains("2 for a set of rank 1"), "{error}");
    // The leading dimensions of noisy matrices, which have all.
    let (noisy, _) = mixed(20, 6, 0.3, 3);
    let reduced = options().rank(Rank::Exactly(4));
    let set = MatrixSet::with_options(&noisy, 20, 6, &reduced).unwrap();
    let answer = solve(&set, Method::Newton);
    assert!(answer.status.converged() && answer.b.rows() == 4);
    // Matrices of nothing are left as they are.
    let zeros = MatrixSet::with_options(&[0.0; 18], 2, 3, &options().rank(Rank::Auto)).unwrap();
    assert_eq!(zeros.dimension(), 3);
}

#[test]
fn parts_share_the_reduction_of_the_whole() {
    let n = 40;
    let (data, _) = lifted(&mixed(n, 3, 0.2, 7).0);
    let options = options().rank(Rank::Auto);
    let whole = MatrixSet::with_options(&data, n, 5, &options).unwrap();
    let expected = solve(&whole, Method::Newton);
    let chunks = [(0, 15), (15, n)].map(|(first, end)| {
        let own = &data[first * 25..end * 25];
        Chunk::new(own, end - first, 5, first, &options).unwrap()
    });
    let mut sum = Matrix::zeros(5, 5);
    for chunk in &chunks {
        let share = chunk.weight() / n as f64;
        let own = chunk.range_sum();
        let pairs = sum.as_mut_slice().iter_mut().zip(own.as_slice());
        pairs.for_each(|(x, y)| *x += share * y);
    }
    let reduction = Reduction::of_sum(Criterion::LeastSquares, &sum, Rank::Auto).unwrap();
    let part =
        |chunk: Chunk| Part::of_chunks(vec![chunk], Some(reduction.filters()), Some(1)).unwrap();
    let parts = chunks.map(part);
    let described: Vec<Vec<u8>> = parts.iter().map(Part::describe).collect();
    let ask = |question: &[u8]| parts.iter().map(|part| part.answer(question)).collect();
    let mut cluster = ClusterSet::new(&ask, &described, Some(reduction.clone())).unwrap();
    let mut silent = |_: &Record, _: &Matrix| ControlFlow::Continue(());
    let answer = diagonalize_working(&mut cluster, &Settings::default(), &mut silent).unwrap();
    assert!((answer.loss - expected.loss).abs() < 1e-12);
    assert!(amari_distance(&answer.b, &expected.a) < 1e-6);
}
