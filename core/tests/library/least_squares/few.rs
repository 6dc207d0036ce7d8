//! Sets of few matrices, whose fits have long valleys, end after a bounded amount of work.

use codiag::{Criterion, MatrixSet, SetOptions, Settings, Status, diagonalize};

/// Numbers that look random and are the same everywhere (a multiplicative congruential generator).
struct Random(u64);

impl Random {
    /// About normally distributed.
    fn normal(&mut self) -> f64 {
        let mut uniform = || {
            self.0 = self.0 * 48_271 % 2_147_483_647;
            self.0 as f64 / 2_147_483_647.0
        };
        (0..12).map(|_| uniform()).sum::<f64>() - 6.0
    }
}

/// n matrices A Dⁱ Aᵀ + noise, Dⁱ diagonal.
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

/// The matrix products with a Hessian that all of the solves took.
fn solve(data: &[f64], n: usize, p: usize) -> (Status, usize, usize) {
    let options = SetOptions::default().criterion(Criterion::LeastSquares);
    let set = MatrixSet::with_options(data, n, p, &options).unwrap();
    let result = diagonalize(&set, &Settings::default()).unwrap();
    let products = result.history.iter().map(|record| record.cg_iterations);
    (result.status, result.n_iter, products.sum())
}

#[test]
fn low_contrast_takes_a_bounded_number_of_products() {
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
fn components_that_cancel_each_other_end_the_solve() {
    // Noise alone, which three matrices let components fit by growing without end.
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
