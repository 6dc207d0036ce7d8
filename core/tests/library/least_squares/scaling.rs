//! Scaling of the matrices and of the channels.

use codiag::{Criterion, Init, MatrixSet, SetOptions, Settings, diagonalize};

use super::{Number, distance, real_and_complex};

real_and_complex!(
    scaling_the_matrices_scales_only_the_powers,
    loss_is_not_negative_for_badly_scaled_channels,
);

fn scaling_the_matrices_scales_only_the_powers<T: Number>() {
    // Large enough for row blocks in single precision, with real and with complex matrices.
    let (n, p) = (12, 64);
    let (data, _) = T::mixed(n, p, 1.0, 3);
    for criterion in [Criterion::LeastSquares, Criterion::Frobenius] {
        let options = SetOptions::default().criterion(criterion);
        let mut settings = Settings::default().tol(1e-6);
        if criterion == Criterion::Frobenius {
            settings = settings.init(Init::Identity).max_iter(5);
        }
        let scaled = |exponent: i32| {
            let scale = 2.0_f64.powi(exponent);
            data.iter().map(|x| *x * scale).collect::<Vec<T>>()
        };
        let set = MatrixSet::with_options(&data, n, p, &options).unwrap();
        let expected = diagonalize(&set, &settings).unwrap();
        let from_disk = T::from_disk(&T::file(&data, n, p), &options, &settings);
        for exponent in [-200, -100, -81, 60, 101, 200] {
            let data = scaled(exponent);
            let set = MatrixSet::with_options(&data, n, p, &options).unwrap();
            let mut results = vec![(diagonalize(&set, &settings).unwrap(), &expected)];
            if exponent.abs() == 200 {
                let result = T::from_disk(&T::file(&data, n, p), &options, &settings);
                results.push((result, &from_disk));
            }
            for (result, expected) in results {
                let case = format!("{criterion:?}, 2^{exponent}");
                assert_eq!(result.status, expected.status, "{case}");
                assert_eq!(result.n_iter, expected.n_iter, "{case}");
                assert!((result.loss - expected.loss).abs() < 1e-12, "{case}");
                assert!(distance(&result.b, &expected.b) < 1e-8, "{case}");
                // Scaling by even powers of two is exact; square roots of odd powers are rounded.
                if exponent % 2 == 0 {
                    assert_eq!(result.loss, expected.loss, "{case}");
                    assert_eq!(result.b, expected.b, "{case}");
                }
                let scale = 2.0_f64.powi(exponent);
                let powers = result.powers.as_slice().iter().map(|x| x / scale);
                for (x, y) in powers.zip(expected.powers.as_slice()) {
                    assert!((x - y).abs() < 1e-6 * (1.0 + y.abs()), "{case}: {x} {y}");
                }
            }
        }
    }
}

/// If the Gram matrix of the fit is numerically singular, the loss is computed from the returned
/// diagonals.
fn loss_is_not_negative_for_badly_scaled_channels<T: Number>() {
    let (n, p) = (12, 8);
    for seed in 0..4 {
        let (mut data, _) = T::mixed(n, p, 0.0, seed);
        let unit =
            |channel: usize| 10.0_f64.powi(((5 * channel + 3 * seed as usize) % 13) as i32 - 6);
        for matrix in data.chunks_exact_mut(p * p) {
            for (k, x) in matrix.iter_mut().enumerate() {
                *x = *x * (unit(k / p) * unit(k % p));
            }
        }
        let options = SetOptions::default().criterion(Criterion::LeastSquares);
        let set = MatrixSet::with_options(&data, n, p, &options).unwrap();
        let result = diagonalize(&set, &Settings::default()).unwrap();
        // The set can be diagonalized exactly.
        assert!(result.loss.abs() < 1e-8, "seed {seed}: {:e}", result.loss);
        assert!(result.loss > -1e-13, "seed {seed}: {:e}", result.loss);
        assert!(
            result.status.is_converged(),
            "seed {seed}: {}",
            result.status
        );
    }
}
