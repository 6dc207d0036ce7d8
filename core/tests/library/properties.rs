//! Properties of every result, on random sets.

use codiag::{Evaluation, MatrixSet, Method, SetOptions, Settings, Status, diagonalize};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// Covariances of 2p random samples in p channels of random units, with random weights.
fn sets() -> impl Strategy<Value = (usize, usize, Vec<f64>, Vec<f64>)> {
    (1_usize..50, 1_usize..30, any::<u64>()).prop_map(|(n, p, seed)| {
        let mut state = seed;
        let mut uniform = move || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        let units: Vec<f64> = (0..p)
            .map(|_| 10.0_f64.powf(12.0 * uniform() - 6.0))
            .collect();
        let mut data = vec![0.0; n * p * p];
        for matrix in data.chunks_exact_mut(p * p) {
            for _ in 0..2 * p {
                // Sums of four uniform numbers are nearly normal.
                let x: Vec<f64> = units
                    .iter()
                    .map(|u| u * (uniform() + uniform() + uniform() + uniform() - 2.0))
                    .collect();
                for a in 0..p {
                    for b in 0..p {
                        matrix[a * p + b] += x[a] * x[b];
                    }
                }
            }
        }
        let weights = (0..n).map(|_| 0.1 + uniform()).collect();
        (n, p, data, weights)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn newton_converges_and_ends_no_higher_than_its_start((n, p, data, weights) in sets()) {
        let options = SetOptions::default().weights(Some(weights));
        let set = MatrixSet::with_options(&data, n, p, &options).unwrap();
        let result = diagonalize(&set, &Settings::default()).unwrap();
        prop_assert_eq!(result.status, Status::Converged, "ĝ {:e}", result.gradient_norm);
        prop_assert!(result.loss >= -1e-9);
        prop_assert!(result.loss <= result.history[0].loss + 1e-9);
        let here = Evaluation::at(&set, &result.b).unwrap();
        prop_assert!((here.loss - result.loss).abs() < 1e-9 * (1.0 + result.loss));
        prop_assert!(here.gradient.norm() / (p as f64).sqrt() < 1e-7);
    }

    #[test]
    fn other_methods_decrease_the_loss((n, p, data, weights) in sets()) {
        let options = SetOptions::default().weights(Some(weights));
        let set = MatrixSet::with_options(&data, n, p, &options).unwrap();
        for method in [Method::QuasiNewton, Method::Pham] {
            let settings = Settings::default().method(method).max_iter(5);
            let result = diagonalize(&set, &settings).unwrap();
            for pair in result.history.windows(2) {
                prop_assert!(pair[1].loss <= pair[0].loss + 1e-9);
            }
            prop_assert!(result.b.is_finite() && result.a.is_finite());
        }
    }

    #[test]
    fn orthogonal_solves_return_orthogonal_b((n, p, data, _) in sets()) {
        let set = MatrixSet::new(&data, n, p).unwrap();
        let settings = Settings::default().orthogonal(true).max_iter(20);
        let b = diagonalize(&set, &settings).unwrap().b;
        let gram = &b * &b.transpose();
        for x in 0..p {
            for y in 0..p {
                prop_assert!((gram[(x, y)] - f64::from(u8::from(x == y))).abs() < 1e-12);
            }
        }
    }
}
