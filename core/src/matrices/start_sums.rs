//! What the spectral start asks of a block.

use super::Block;
use crate::linalg::Matrix;
use crate::linalg::kernels::{self, LANES, packed, packed_len};

/// A block of eight symmetric matrices as eight rows, such that the product of a row with a packed
/// matrix is their inner product: entries off the diagonal count twice.
pub fn inner_product_entries(eight: &[f64], p: usize) -> Vec<f64> {
    let rows = packed_len(p);
    let mut entries = vec![0.0; eight.len()];
    for a in 0..p {
        for b in 0..=a {
            let (row, times) = (packed(a, b), if a == b { 1.0 } else { 2.0 });
            for k in 0..LANES {
                entries[k * rows + row] = times * eight[row * LANES + k];
            }
        }
    }
    entries
}

/// As [`inner_product_entries`], for one matrix: the first of eight, the others zero.
pub fn one_of_eight(matrix: &Matrix) -> Vec<f64> {
    let p = matrix.rows();
    let mut eight = vec![0.0; packed_len(p) * LANES];
    for a in 0..p {
        for b in 0..=a {
            eight[packed(a, b) * LANES] = matrix[(a, b)];
        }
    }
    inner_product_entries(&eight, p)
}

/// 1 / s_i for the sizes s_i = ⟨Cⁱ, S⟩ / p of the matrices of a block, for the first of eight S.
pub fn inverse_sizes(p: usize, block: &Block, eight: &[f64]) -> Vec<f64> {
    let mut products = vec![0.0; LANES * block.lanes()];
    kernels::correlate_eight(&block.entries, eight, &mut products);
    let sizes = products[..block.matrices].iter();
    sizes.map(|s| p as f64 / s).collect()
}

/// Adds Σ_i w_i f_i Cⁱ over a block.
pub fn add_scaled(block: &Block, factors: &[f64], sums: &mut [f64]) {
    let mut coefficients = block.weights.clone();
    let pairs = coefficients.iter_mut().zip(factors);
    pairs.for_each(|(w, f)| *w *= f);
    kernels::combine(&block.entries, &coefficients, sums);
}

/// Adds Σ_i w_i f_i² ⟨Cⁱ, S⟩ Cⁱ over a block, for eight S.
pub fn add_correlations(block: &Block, factors: &[f64], eight: &[f64], sums: &mut [f64]) {
    let lanes = block.lanes();
    let mut products = vec![0.0; LANES * lanes];
    kernels::correlate_eight(&block.entries, eight, &mut products);
    let mut coefficients = vec![0.0; LANES * lanes];
    let rows = coefficients.chunks_exact_mut(LANES);
    for (i, (row, f)) in rows.zip(factors).enumerate() {
        let weight = block.weights[i] * f * f;
        for (k, x) in row.iter_mut().enumerate() {
            *x = weight * products[k * lanes + i];
        }
    }
    kernels::combine_eight(&block.entries, &coefficients, sums);
}
