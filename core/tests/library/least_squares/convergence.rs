//! Recovery, convergence and canonical form.

use codiag::synthetic::amari_distance;
use codiag::{Init, Matrix, MatrixSet, Method, Scalar, Settings, Status, c64, diagonalize};

use super::naive::{fit, matrices, normalized};
use super::{
    METHODS, Number, delta, distance, near_identity, number, options, real_and_complex, set,
    set_of, solve,
};

real_and_complex!(
    exact_sets_are_recovered,
    newton_and_acdc_reach_the_same_loss_in_canonical_form,
    newton_takes_fewer_iterations_than_acdc,
    newton_converges_superlinearly_with_large_residuals,
    loss_and_filters_are_invariant_under_units,
    loss_is_invariant_under_rotations_of_the_channels,
    indefinite_singular_and_zero_matrices_are_accepted,
    cancelling_components_are_reported_as_collinear,
);

fn exact_sets_are_recovered<T: Number>() {
    for method in METHODS {
        for (n, p) in [(30, 8), (5, 3), (2, 4), (100, 20)] {
            // Two matrices have real generalized eigenvalues if one of them is definite.
            let (mut data, mixing) = T::mixed(n, p, 0.0, 1);
            if n == 2 {
                let definite = &mixing * &mixing.adjoint();
                // Products are not exactly symmetric in floating point.
                for k in 0..p * p {
                    let (x, y) = (definite[(k / p, k % p)], definite[(k % p, k / p)].conj());
                    data[k] = (x + y) * 0.5;
                }
            }
            let result = solve(&set_of(&data, p), method);
            assert!(result.status.is_converged(), "{method:?} {n} {p}");
            let distance = amari_distance(&result.b, &mixing);
            assert!(
                result.loss.abs() < 1e-12 && distance < 1e-10,
                "{method:?} {distance}"
            );
        }
    }
}

fn newton_and_acdc_reach_the_same_loss_in_canonical_form<T: Number>() {
    let (n, p) = (60, 8);
    for seed in 0..3 {
        let set = set::<T>(n, p, 0.2, seed);
        let losses = [Method::Newton, Method::Acdc].map(|method| {
            let result = solve(&set, method);
            assert!(result.status.is_converged(), "{method:?} {}", result.status);
            let (diagonals, loss) = fit(&matrices(&set), &result.a);
            assert!((result.loss - loss).abs() < 1e-12);
            let mean: f64 = result.residuals.iter().sum::<f64>() / n as f64;
            assert!((mean - loss).abs() < 1e-12);
            // Powers are the diagonals of the fit; components are sorted by descending energy.
            let mut energies = vec![0.0; p];
            for (i, diagonal) in diagonals.iter().enumerate() {
                for (a, x) in diagonal.iter().enumerate() {
                    assert!((result.powers[(i, a)] - x).abs() < 1e-9);
                    energies[a] += x * x;
                }
            }
            assert!(energies.is_sorted_by(|x, y| x >= y));
            assert!(distance(&normalized(&result.a), &result.a) < 1e-12);
            let product = &result.b * &result.a;
            assert!(distance(&product, &Matrix::identity(p)) < 1e-11);
            // The largest entry of each column is positive.
            for k in 0..p {
                let column = (0..p).map(|c| result.a[(c, k)]);
                let largest = column.max_by(|x, y| x.abs().total_cmp(&y.abs())).unwrap();
                assert!(largest.imaginary().abs() < 1e-12 && largest.real() > 0.0);
            }
            result.loss
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

fn newton_converges_superlinearly_with_large_residuals<T: Number>() {
    // The Gauss–Newton model alone takes up to a few hundred iterations on these sets.
    let (n, p) = if T::PLANES == 1 { (100, 20) } else { (80, 12) };
    for seed in 0..4 {
        let settings = Settings::default().tol(1e-11).max_iter(80);
        let result = diagonalize(&set::<T>(n, p, 3.0, seed), &settings).unwrap();
        let norms: Vec<f64> = result.history.iter().map(|r| r.gradient_norm).collect();
        assert!(result.status.is_converged(), "{} {norms:?}", result.status);
        // The last step converges superlinearly.
        let last = norms.len() - 1;
        let bound = 1e2 * norms[last - 1].powf(1.5);
        assert!(norms[last] < bound.max(1e-12), "{norms:?}");
    }
}

fn loss_and_filters_are_invariant_under_units<T: Number>() {
    let (n, p) = (20, 6);
    let (data, _) = T::mixed(n, p, 0.3, 2);
    for method in METHODS {
        let expected = solve(&set_of(&data, p), method);
        for unit in [1e-24, 1e12] {
            let scaled: Vec<T> = data.iter().map(|x| *x * unit).collect();
            let result = solve(&set_of(&scaled, p), method);
            assert_eq!(result.status, expected.status);
            assert!((result.loss - expected.loss).abs() < 1e-11, "{method:?}");
            assert!(amari_distance(&result.b, &expected.a) < 1e-6);
        }
    }
}

fn loss_is_invariant_under_rotations_of_the_channels<T: Number>() {
    let (n, p) = (25, 5);
    let plain = set::<T>(n, p, 0.5, 6);
    // A unitary matrix: a reflection followed by a permutation.
    let v: Vec<T> = (0..p).map(|k| number(3 * k + 1)).collect();
    let square: f64 = v.iter().map(|x| x.norm_sqr()).sum();
    let q = Matrix::from_fn(p, p, |a, b| {
        let a = (a + 2) % p;
        delta::<T>(a, b) - v[a] * v[b].conj() * (2.0 / square)
    });
    let rotated = set_of(&plain.transform(&q), p);
    let start = near_identity(p, 9);
    for method in METHODS {
        let settings = |b: &Matrix<T>| Settings::default().method(method).init(Init::given(b));
        let expected = diagonalize(&plain, &settings(&start)).unwrap();
        let result = diagonalize(&rotated, &settings(&(&start * &q.adjoint()))).unwrap();
        assert_eq!(result.status, expected.status, "{method:?}");
        assert!((result.loss - expected.loss).abs() < 1e-10);
    }
}

fn reals<T: Scalar>(numbers: &[f64]) -> Vec<T> {
    numbers.iter().map(|x| T::from_real(*x)).collect()
}

fn indefinite_singular_and_zero_matrices_are_accepted<T: Number>() {
    let (n, p) = (20, 6);
    let (mut data, _) = T::mixed(n, p, 0.3, 2);
    data.extend([T::ZERO; 36]);
    let mut singular = Matrix::zeros(p, p);
    singular[(0, 0)] = T::from_real(1e-3);
    data.extend_from_slice(singular.as_slice());
    // Matrices with a common null space.
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
        let result = solve(&set_of(&data, p), method);
        assert!(result.status.is_converged(), "{method:?}");
        let zeros = solve(&set_of(&[T::ZERO; 18], 3), method);
        assert!(zeros.status.is_converged() && zeros.loss == 0.0 && zeros.b.is_finite());
        let scalars = solve(&set_of::<T>(&reals(&[-2.0, 3.0, 0.5]), 1), method);
        assert!(scalars.status.is_converged() && scalars.loss.abs() < 1e-15);
        assert_eq!(scalars.powers.as_slice(), [-2.0, 3.0, 0.5]);
        let single = solve(&set_of::<T>(&reals(&[1.0, 2.0, 2.0, -3.0]), 2), method);
        assert!(single.status.is_converged() && single.loss.abs() < 1e-12);
        let result = solve(&set_of(&padded, 5), method);
        assert!(
            result.loss < 1e-10 && result.b.is_finite(),
            "{method:?} {}",
            result.status
        );
    }
}

fn cancelling_components_are_reported_as_collinear<T: Number>() {
    // e₀e₁ᵀ + e₁e₀ᵀ is the limit of ((e₀ + te₁)(e₀ + te₁)ᵀ − e₀e₀ᵀ)/t for t → 0. Together with
    // e₀e₀ᵀ it is a set without a best fit: its two components become collinear.
    let data = reals::<T>(&[0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0]);
    let start = Matrix::from_rows(2, 2, vec![1.0, 0.3, 0.2, 1.0]);
    let settings = Settings::default().init(Init::Given(start));
    let result = diagonalize(&set_of(&data, 2), &settings).unwrap();
    assert_eq!(
        result.status,
        Status::Collinear,
        "{:?}",
        result.history.last()
    );
    assert!(!result.status.is_converged() && result.b.is_finite());
    assert_eq!(result.status.name(), "collinear");
}

#[test]
fn real_set_stored_as_complex_gives_the_real_result() {
    let (n, p) = (40, 7);
    let (data, _) = f64::mixed(n, p, 0.5, 3);
    let real = MatrixSet::with_options(&data, n, p, &options()).unwrap();
    let set = set_of::<c64>(&reals(&data), p);
    let start = Init::Given(near_identity(p, 1));
    for method in METHODS {
        let settings = Settings::default().method(method).init(start.clone());
        let expected = diagonalize(&real, &settings).unwrap();
        let result = diagonalize(&set, &settings).unwrap();
        assert_eq!(result.status, expected.status, "{method:?}");
        assert!((result.loss - expected.loss).abs() < 1e-11, "{method:?}");
        let b = Matrix::from_rows(p, p, reals::<c64>(expected.b.as_slice()));
        assert!(
            distance(&result.b, &b) < 1e-6 * expected.b.norm(),
            "{method:?}"
        );
    }
}
