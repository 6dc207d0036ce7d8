//! Tests of sums over diagonals.

use crate::linalg::Triangle;
use crate::linalg::kernels::DiagonalFunction;
use crate::linalg::kernels::{LANES, diagonal_sum, line_point};

/// Weights that are all equal, zero at the end, partly equal, and all different.
fn weights() -> Vec<Vec<f64>> {
    let mut padded = vec![0.1; 2 * LANES];
    padded[10..].fill(0.0);
    let mixed = (0..2 * LANES).map(|i| if i % 3 == 0 { 0.05 } else { 0.01 });
    let different = (0..2 * LANES).map(|i| 0.01 + i as f64 / 100.0);
    vec![
        vec![0.1; 2 * LANES],
        padded,
        mixed.collect(),
        different.collect(),
    ]
}

#[test]
fn diagonal_sums_agree_with_plain_loops() {
    let (p, lanes) = (3, 2 * LANES);
    let number = |k: usize| 1e-3 + ((k * 37 + 11) % 23) as f64 * 10_f64.powi((k % 7) as i32 - 3);
    let block: Vec<f64> = (0..6 * lanes).map(number).collect();
    let nothing = vec![0.0; block.len()];
    for weights in weights() {
        for function in [DiagonalFunction::Log, DiagonalFunction::Square] {
            let term = |x: f64| match function {
                DiagonalFunction::Log => x.ln(),
                DiagonalFunction::Square => x * x,
            };
            let mut expected = 0.0;
            for a in 0..p {
                let row = &block[Triangle::new(p).diagonal(a) * lanes..][..lanes];
                let terms = row.iter().zip(&weights).map(|(x, w)| w * term(*x));
                expected += terms.sum::<f64>();
            }
            let along = line_point(function, p, &block, &nothing, &nothing, &weights, 1.0).sum;
            let sum = diagonal_sum(function, p, &block, &weights);
            for sum in [sum, along] {
                let error = (sum - expected).abs();
                assert!(error <= 1e-13 * expected.abs().max(1.0), "{sum} {expected}");
            }
        }
    }
}
