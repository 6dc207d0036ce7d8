//! What is found, and how quickly.

use codiag::synthetic::amari_distance;
use codiag::{Init, Matrix, MatrixSet, Method, Scalar, Settings, Status, c64, diagonalize};

use super::plain::{fit, matrices, normalized};
use super::{
    METHODS, Number, delta, distance, near_identity, number, options, real_and_complex, set,
    set_of, solve,
};

real_and_complex!(
    exact_sets_are_recovered,
    both_minimizers_reach_one_loss_and_the_answer_is_in_canonical_form,
    newton_takes_fewer_iterations_than_acdc,
    large_residuals_are_no_obstacle_near_the_end,
    units_change_nothing,
    rotations_of_the_channels_are_undone,
    indefinite_singular_and_zero_matrices_are_taken,
    two_components_that_cancel_each_other_are_reported,
);

fn exact_sets_are_recovered<T: Number>() {
    for method in METHODS {
        for (n, p) in [(30, 8), (5, 3), (2, 4), (100, 20)] {
            // Two matrices have generalized eigenvectors of real ratios if one of them is definite.
            let (mut data, mixing) = T::mixed(n, p, 0.0, 1);
            if n == 2 {
                let definite = &mixing * &mixing.adjoint();
                // Symmetric to the last bit, which products need not be.
                for k in 0..p * p {
                    let (x, y) = (definite[(k / p, k % p)], definite[(k % p, k / p)].conj());
                    data[k] = (x + y) * 0.5;
                }
            }
            let answer = solve(&set_of(&data, p), method);
            assert!(answer.status.is_converged(), "{method:?} {n} {p}");
            let distance = amari_distance(&answer.b, &mixing);
            assert!(
                answer.loss.abs() < 1e-12 && distance < 1e-10,
                "{method:?} {distance}"
            );
        }
    }
}

fn both_minimizers_reach_one_loss_and_the_answer_is_in_canonical_form<T: Number>() {
    let (n, p) = (60, 8);
    for seed in 0..3 {
        let set = set::<T>(n, p, 0.2, seed);
        let losses = [Method::Newton, Method::Acdc].map(|method| {
            let answer = solve(&set, method);
            assert!(answer.status.is_converged(), "{method:?} {}", answer.status);
            let (diagonals, loss) = fit(&matrices(&set), &answer.a);
            assert!((answer.loss - loss).abs() < 1e-12);
            let mean: f64 = answer.residuals.iter().sum::<f64>() / n as f64;
            assert!((mean - loss).abs() < 1e-12);
            // Columns of unit norm, the diagonals of the fit, in descending order of energy.
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
            // The largest entry of each column is positive.
            for k in 0..p {
                let column = (0..p).map(|c| answer.a[(c, k)]);
                let largest = column.max_by(|x, y| x.abs().total_cmp(&y.abs())).unwrap();
                assert!(largest.imaginary().abs() < 1e-12 && largest.real() > 0.0);
            }
            answer.loss
        });
        assert!((losses[0] - losses[1]).abs() < 1e-10, "{losses:?}");
    }
}

fn newton_takes_fewer_iterations_than_acdc<T: Number>() {
    let settings = |method| Settings::default().method(method).tol(1e-6);
    for sigma in [0.1, 1.0] {
        for seed in 0..3 {
            let set = set::<T>(100, 20, sigma, seed);
            let newton = diagonalize(&set, &settings(Method::Newton)).unwrap();
            let acdc = diagonalize(&set, &settings(Method::Acdc)).unwrap();
            assert!(
                newton.status.is_converged() && newton.n_iter < 25,
                "{}",
                newton.n_iter
            );
            assert!(acdc.status.is_converged() && acdc.n_iter > newton.n_iter);
        }
    }
}

fn large_residuals_are_no_obstacle_near_the_end<T: Number>() {
    // Where the Gauss–Newton model alone takes up to some hundred iterations.
    let (n, p) = if T::PLANES == 1 { (100, 20) } else { (80, 12) };
    for seed in 0..4 {
        let settings = Settings::default().tol(1e-11).max_iter(80);
        let answer = diagonalize(&set::<T>(n, p, 3.0, seed), &settings).unwrap();
        let norms: Vec<f64> = answer.history.iter().map(|r| r.gradient_norm).collect();
        assert!(answer.status.is_converged(), "{} {norms:?}", answer.status);
        // The last step nearly doubles the exponent.
        let last = norms.len() - 1;
        let bound = 1e2 * norms[last - 1].powf(1.5);
        assert!(norms[last] < bound.max(1e-12), "{norms:?}");
    }
}

fn units_change_nothing<T: Number>() {
    let (n, p) = (20, 6);
    let (data, _) = T::mixed(n, p, 0.3, 2);
    for method in METHODS {
        let expected = solve(&set_of(&data, p), method);
        for unit in [1e-24, 1e12] {
            let scaled: Vec<T> = data.iter().map(|x| *x * unit).collect();
            let answer = solve(&set_of(&scaled, p), method);
            assert_eq!(answer.status, expected.status);
            assert!((answer.loss - expected.loss).abs() < 1e-11, "{method:?}");
            assert!(amari_distance(&answer.b, &expected.a) < 1e-6);
        }
    }
}

fn rotations_of_the_channels_are_undone<T: Number>() {
    let (n, p) = (25, 5);
    let plain = set::<T>(n, p, 0.5, 6);
    // A reflection and a permutation: unitary, and exact.
    let v: Vec<T> = (0..p).map(|k| number(3 * k + 1)).collect();
    let square: f64 = v.iter().map(|x| x.norm_sqr()).sum();
    let q = Matrix::from_fn(p, p, |a, b| {
        let a = (a + 2) % p;
        delta::<T>(a, b) - v[a] * v[b].conj() * (2.0 / square)
    });
    let turned = set_of(&plain.transform(&q), p);
    let start = near_identity(p, 9);
    for method in METHODS {
        let settings = |b: &Matrix<T>| Settings::default().method(method).init(Init::given(b));
        let expected = diagonalize(&plain, &settings(&start)).unwrap();
        let answer = diagonalize(&turned, &settings(&(&start * &q.adjoint()))).unwrap();
        assert_eq!(answer.status, expected.status, "{method:?}");
        assert!((answer.loss - expected.loss).abs() < 1e-10);
    }
}

fn reals<T: Scalar>(numbers: &[f64]) -> Vec<T> {
    numbers.iter().map(|x| T::from_real(*x)).collect()
}

fn indefinite_singular_and_zero_matrices_are_taken<T: Number>() {
    let (n, p) = (20, 6);
    let (mut data, _) = T::mixed(n, p, 0.3, 2);
    data.extend([T::ZERO; 36]);
    let mut singular = Matrix::zeros(p, p);
    singular[(0, 0)] = T::from_real(1e-3);
    data.extend_from_slice(singular.as_slice());
    // All share a null space, and a component that no matrix has.
    let (thin, _) = T::mixed(n, 4, 0.0, 5);
    let mut padded = Vec::new();
    for matrix in thin.chunks_exact(16) {
        let entry = |a: usize, b: usize| match a.max(b) {
            4 => T::ZERO,
            _ => matrix[4 * a + b],
        };
        padded.extend((0..25).map(|k| entry(k / 5, k % 5)));
    }
    for method in METHODS {
        let answer = solve(&set_of(&data, p), method);
        assert!(answer.status.is_converged(), "{method:?}");
        let nothing = solve(&set_of(&[T::ZERO; 18], 3), method);
        assert!(nothing.status.is_converged() && nothing.loss == 0.0 && nothing.b.is_finite());
        let one = solve(&set_of::<T>(&reals(&[-2.0, 3.0, 0.5]), 1), method);
        assert!(one.status.is_converged() && one.loss.abs() < 1e-15);
        assert_eq!(one.powers.as_slice(), [-2.0, 3.0, 0.5]);
        let single = solve(&set_of::<T>(&reals(&[1.0, 2.0, 2.0, -3.0]), 2), method);
        assert!(single.status.is_converged() && single.loss.abs() < 1e-12);
        let answer = solve(&set_of(&padded, 5), method);
        assert!(
            answer.loss < 1e-10 && answer.b.is_finite(),
            "{method:?} {}",
            answer.status
        );
    }
}

fn two_components_that_cancel_each_other_are_reported<T: Number>() {
    // e₀e₁ᵀ + e₁e₀ᵀ is the limit of ((e₀ + te₁)(e₀ + te₁)ᵀ − e₀e₀ᵀ)/t, and with e₀e₀ᵀ alone it is a set without
    // a best fit: its two components come ever closer.
    let data = reals::<T>(&[0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0]);
    let start = Matrix::from_rows(2, 2, vec![1.0, 0.3, 0.2, 1.0]);
    let settings = Settings::default().init(Init::Given(start));
    let answer = diagonalize(&set_of(&data, 2), &settings).unwrap();
    assert_eq!(
        answer.status,
        Status::Collinear,
        "{:?}",
        answer.history.last()
    );
    assert!(!answer.status.is_converged() && answer.b.is_finite());
    assert_eq!(answer.status.name(), "collinear columns");
}

#[test]
fn a_real_set_given_as_complex_has_the_same_answer() {
    let (n, p) = (40, 7);
    let (data, _) = f64::mixed(n, p, 0.5, 3);
    let real = MatrixSet::with_options(&data, n, p, &options()).unwrap();
    let set = set_of::<c64>(&reals(&data), p);
    let start = Init::Given(near_identity(p, 1));
    for method in METHODS {
        let settings = Settings::default().method(method).init(start.clone());
        let expected = diagonalize(&real, &settings).unwrap();
        let answer = diagonalize(&set, &settings).unwrap();
        assert_eq!(answer.status, expected.status, "{method:?}");
        assert!((answer.loss - expected.loss).abs() < 1e-11, "{method:?}");
        let b = Matrix::from_rows(p, p, reals::<c64>(expected.b.as_slice()));
        assert!(
            distance(&answer.b, &b) < 1e-6 * expected.b.norm(),
            "{method:?}"
        );
    }
}
