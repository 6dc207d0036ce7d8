//! Bounded work on sets of few matrices, whose loss has long, flat valleys.

use codiag::{Criterion, MatrixSet, SetOptions, Settings, Status, diagonalize};

/// Pseudo-random numbers from a multiplicative congruential generator.
struct Random(u64);

impl Random {
    /// Approximately standard normal.
    fn normal(&mut self) -> f64 {
        let mut uniform = || {
            self.0 = self.0 * 48_271 % 2_147_483_647;
            self.0 as f64 / 2_147_483_647.0
        };
        (0..12).map(|_| uniform()).sum::<f64>() - 6.0
    }
}

/// The matrices A Dⁱ Aᵀ with diagonal Dⁱ, plus symmetric noise.
fn noisy(n: usize, p: usize, contrast: f64, noise: f64, random: &mut Random) -> Vec<f64> {
    let mixing: Vec<f64> = (0..p * p).map(|_| random.normal()).collect();
    let mut data = Vec::new();
    for _ in 0..n {
        let diagonal: Vec<f64> = (0..p).map(|_| (contrast * random.normal()).exp()).collect();
        let errors: Vec<f64> = (0..p * p).map(|_| noise * random.normal()).collect();
        for (a, b) in (0..p).flat_map(|a| (0..p).map(move |b| (a, b))) {
            let terms = (0..p).map(|k| mixing[a * p + k] * diagonal[k] * mixing[b * p + k]);
            data.push(terms.sum::<f64>() + 0.5 * (errors[a * p + b] + errors[b * p + a]));
        }
    }
    data
}

/// Returns the status, the number of iterations and the number of Hessian products of a solve.
fn solve(data: &[f64], n: usize, p: usize) -> (Status, usize, usize) {
    let options = SetOptions::default().criterion(Criterion::LeastSquares);
    let set = MatrixSet::with_options(data, n, p, &options).unwrap();
    let result = diagonalize(&set, &Settings::default()).unwrap();
    let products = result.history.iter().map(|record| record.cg_iterations);
    (result.status, result.n_iter, products.sum())
}

#[test]
fn low_contrast_set_takes_a_bounded_number_of_hessian_products() {
    let (n, p) = (4, 16);
    for seed in 1..4 {
        let data = noisy(n, p, 0.05, 0.3, &mut Random(seed));
        let (status, iterations, products) = solve(&data, n, p);
        assert!(
            status.is_converged() || status == Status::Collinear,
            "{status}"
        );
        assert!(
            iterations < 600 && products < 80_000,
            "seed {seed}: {iterations} {products}"
        );
    }
}

#[test]
fn solve_ends_when_components_cancel_each_other() {
    // Three matrices of pure noise: components fit the noise by growing without bound.
    let (n, p) = (3, 16);
    for seed in 1..4 {
        let random = &mut Random(seed);
        let data = noisy(n, p, 0.0, 1.0, random);
        let (_, iterations, products) = solve(&data, n, p);
        assert!(
            iterations < 600 && products < 80_000,
            "seed {seed}: {iterations} {products}"
        );
    }
}
